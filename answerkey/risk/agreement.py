"""Measure how far two readers of the same questions agree beyond chance, and list disagreements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from answerkey.base.errors import InputError
from answerkey.base.log import align, make_printable, spell_count
from answerkey.dataset import Question
from answerkey.risk.verdicts import (
    VERDICT_WORDS,
    WRONG,
    Key,
    Verdict,
    choose_verdicts,
    find_texts_before,
    list_keys,
    read_verdict_file,
)


class Agreement(NamedTuple):
    """questions: how many both have read; same: how many have equal verdicts.

    kappa, kappa_of_wrong: Cohen's kappa over all verdicts, and over wrong or not. None if both
        readers give every question the same verdict, so that chance alone would agree as well.
    """

    questions: int
    same: int
    kappa: float | None
    kappa_of_wrong: float | None


def find_agreement(pairs: Sequence[tuple[str, str]]) -> Agreement:
    """Return the agreement of two readers; pairs: the two verdicts on each question.

    >>> find_agreement([("right", "right"), ("wrong", "ambiguous"), ("wrong", "wrong")])
    Agreement(questions=3, same=2, kappa=0.5, kappa_of_wrong=0.4)
    """
    return Agreement(
        len(pairs),
        sum(left == right for left, right in pairs),
        find_kappa(pairs),
        find_kappa([(left == WRONG, right == WRONG) for left, right in pairs]),
    )


def find_kappa(pairs: Sequence[tuple[Hashable, Hashable]]) -> float | None:
    """Return Cohen's kappa (1960), to four digits: 1 if two readers always agree, 0 if they agree
    as often as two readers who guess with the same shares of verdicts.

    >>> find_kappa([("a", "a"), ("b", "b"), ("a", "b"), ("b", "b")])
    0.5
    >>> find_kappa([("a", "a")]) is None
    True
    """
    firsts, seconds = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    # Whole numbers: the agreement and the agreement by chance, times the number of pairs squared.
    agreed = len(pairs) * sum(left == right for left, right in pairs)
    by_chance = sum(count * seconds[verdict] for verdict, count in firsts.items())
    most = len(pairs) ** 2
    return None if by_chance == most else round((agreed - by_chance) / (most - by_chance), 4)


def describe_agreement(agreement: Agreement) -> str:
    """
    >>> describe_agreement(Agreement(3, 2, 0.5, None))
    '3 questions read twice, 2 alike: kappa 0.50, of wrong or not none'
    """
    kappas = (
        "none" if kappa is None else f"{kappa:.2f}"
        for kappa in (agreement.kappa, agreement.kappa_of_wrong)
    )
    questions = spell_count(agreement.questions, "question", ",")
    words = ", of wrong or not ".join(kappas)
    return f"{questions} read twice, {agreement.same:,} alike: kappa {words}"


# Two files of verdicts


class Said(TypedDict):
    """The verdict of a reader on a question; sql, answers: as a verdict has them."""

    file: str
    verdict: str
    reason: str
    source: str
    sql: str | None
    answers: str | None


class Disagreement(TypedDict):
    """A question on which two readers differ.

    question_id, question_text, gold_sql: None if no run here has the question; then the text is
        that of the verdicts, if they quote it.
    """

    question_id: str | None
    database_name: str
    question_text: str | None
    gold_sql: str | None
    readers: list[Said]


class VerdictComparison(NamedTuple):
    """Two files of verdicts, side by side.

    alone: for each file, how many questions only that file has.
    counts: how many questions have each pair of verdicts.
    """

    files: list[str]
    agreement: Agreement
    alone: list[int]
    counts: dict[tuple[str, str], int]
    differ: list[Disagreement]

    def list_ids(self) -> list[str]:
        """Return the ids of the questions on which the readers differ.

        Raises:
            InputError: no run here has one of them.
        """
        ids = [each["question_id"] for each in self.differ]
        if missing := ids.count(None):
            questions = spell_count(missing, "question")
            raise InputError(f"no ids of {questions} that no run here has: `dvc repro` makes them")
        return [name for name in ids if name is not None]

    def describe(self) -> dict[str, Any]:
        """Return the comparison as JSON."""
        counts = [
            {"verdicts": list(verdicts), "questions": count}
            for verdicts, count in self.counts.items()
        ]
        return {
            "files": self.files,
            **self.agreement._asdict(),
            "alone": self.alone,
            "counts": counts,
            "differ": self.differ,
        }


def compare_verdicts(
    left: Path, right: Path, questions: Iterable[Question] = ()
) -> VerdictComparison:
    """Compare the verdicts of two files. If a file has several about one query, the valid one
    counts.

    questions: those of a run. They name the questions, also those that a correction has replaced.

    Raises:
        InputError: a file has no verdict, or an invalid line.
    """
    sides = [choose_verdicts(_read_some(path)) for path in (left, right)]
    both = [key for key in sides[0] if key in sides[1]]
    pairs = [(sides[0][key].verdict, sides[1][key].verdict) for key in both]
    known = dict(_name_questions(questions))
    differ = [
        _describe(known.get(key), sides[0][key], sides[1][key], (left, right))
        for key, (first, second) in zip(both, pairs, strict=True)
        if first != second
    ]
    counts = Counter(pairs)
    order = [(first, second) for first in VERDICT_WORDS for second in VERDICT_WORDS]
    return VerdictComparison(
        [str(left), str(right)],
        find_agreement(pairs),
        [len(side) - len(both) for side in sides],
        {pair: counts[pair] for pair in order if counts[pair]},
        sorted(differ, key=lambda each: (each["database_name"], each["question_id"] or "")),
    )


def _read_some(path: Path) -> list[Verdict]:
    if not path.is_file():
        raise InputError(f"No file {path}: expected verdicts, a line of JSON each")
    verdicts = read_verdict_file(path)
    if not verdicts:
        raise InputError(f"{path}: expected verdicts, a line of JSON each, found none")
    return verdicts


def _name_questions(questions: Iterable[Question]) -> Iterator[tuple[Key, Disagreement]]:
    """Yield each question by the keys that a verdict about it may have: of its text and SQL before
    a correction, and of its present ones."""
    for question in questions:
        keys, keys_before = list_keys(question)
        now = question.question_text, question.gold_sql
        for (text, sql), named in ((find_texts_before(question), keys_before), (now, keys)):
            for key in named:
                yield (
                    key,
                    {
                        "question_id": question.question_id,
                        "database_name": question.database_name,
                        "question_text": text,
                        "gold_sql": sql,
                        "readers": [],
                    },
                )


def _describe(
    known: Disagreement | None, first: Verdict, second: Verdict, paths: tuple[Path, Path]
) -> Disagreement:
    readers: list[Said] = [
        {
            "file": str(path),
            "verdict": verdict.verdict,
            "reason": verdict.reason,
            "source": verdict.source,
            "sql": verdict.sql,
            "answers": verdict.answers,
        }
        for path, verdict in zip(paths, (first, second), strict=True)
    ]
    named: Disagreement = known or {
        "question_id": None,
        "database_name": first.database_name,
        "question_text": first.question_text or second.question_text,
        "gold_sql": first.gold_sql or second.gold_sql,
        "readers": [],
    }
    return {**named, "readers": readers}


def describe_comparison(comparison: VerdictComparison) -> str:
    """Return a comparison as lines of text: agreement, counts, and disagreements."""
    left, right = comparison.files
    alone = " and ".join(
        f"{count:,} in {file}"
        for count, file in zip(comparison.alone, comparison.files, strict=True)
    )
    rows = [(left, right, "questions")]
    rows += [(*verdicts, f"{count:,}") for verdicts, count in comparison.counts.items()]
    lines = [describe_agreement(comparison.agreement)]
    if any(comparison.alone):
        lines.append(f"read once: {alone}")
    lines += ["", align(rows)]
    for each in comparison.differ:
        lines += ["", each["question_id"] or f"a question of {each['database_name']}"]
        texts = {"question": each["question_text"], "gold": each["gold_sql"]}
        lines += [_show(name, text) for name, text in texts.items() if text]
        for reader in each["readers"]:
            lines.append(_show(reader["verdict"], reader["reason"] or "no reason"))
            if reader["sql"]:
                lines.append(_show("", reader["sql"]))
    return "\n".join(lines)


def _show(name: str, text: str) -> str:
    return f"  {name:<12}{make_printable(text)}"
