"""The table of measured precision: of the questions that have a flag, how many have wrong gold.

`benchmarks/gold_flags.py` makes `data/flag_precision.json` from questions that people or a model
have judged. It holds counts alone:

    {"questions": 3000, "wrong": 300,
     "flags": {"cross_join": {"flagged": 10, "wrong": 9, "precision": 0.9,
                              "kinds": {"no_condition": {"flagged": 4, "wrong": 4,
                                                         "precision": 1.0}}}}}
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.dataset import Question
from answerkey.errors import InputError
from answerkey.records import Finding, encode_findings, read_json
from answerkey.risk.verdicts import Key, Verdict, choose_verdicts

_EXPECTED = "expected what benchmarks/gold_flags.py writes"
# What is said of gold itself, what a question shares with others, and what models make of it, which
# depends on the models: no signs of wrong gold.
_NO_SIGNS = frozenset(
    {
        "gold_risk",
        "judged_wrong",
        "judged_right",
        "duplicate_question",
        "near_duplicate_question",
        "paraphrase_of",
        "question_in_both_splits",
        "template_in_both_splits",
        "schema_in_both_splits",
        "overlap",
        "always_solved",
        "never_solved",
    }
)


class Sign(NamedTuple):
    """A flag that may tell wrong gold, and the kind of its evidence; None: it has no kinds."""

    code: str
    kind: str | None


class Count(NamedTuple):
    """So many questions, and of those with wrong gold."""

    questions: int
    wrong: int


class FlagPrecision(NamedTuple):
    """The counts of all judged questions, of those with each flag, and of those with each sign."""

    judged: Count
    flags: dict[str, Count]
    signs: dict[Sign, Count]


def list_signs(flags: Iterable[dict[str, Any]]) -> list[Sign]:
    """The signs among the flags of a question, each once, in their order.

    >>> list_signs([{"code": "latent_tie", "evidence": {"kind": "text"}},
    ...             {"code": "paraphrase_of", "evidence": {}}])
    [Sign(code='latent_tie', kind='text')]

    The kind is what the evidence has as `kind`, or the reading of a latent ambiguity.
    """
    signs = {}
    for flag in flags:
        code, evidence = flag["code"], flag["evidence"]
        name = "reading" if code == "latent_ambiguity" else "kind"
        if code not in _NO_SIGNS:
            signs[Sign(code, evidence.get(name))] = None
    return list(signs)


def count_signs(questions: Iterable[tuple[list[Sign], bool]]) -> FlagPrecision:
    """The counts of judged questions, each with its signs and whether its gold is wrong."""
    judged = Count(0, 0)
    flags: dict[str, Count] = {}
    signs: dict[Sign, Count] = {}
    for found, is_wrong in questions:
        judged = _add(judged, is_wrong)
        for code in {sign.code for sign in found}:
            flags[code] = _add(flags.get(code, Count(0, 0)), is_wrong)
        for sign in found:
            if sign.kind is not None:
                signs[sign] = _add(signs.get(sign, Count(0, 0)), is_wrong)
    return FlagPrecision(judged, flags, signs)


def _add(count: Count, is_wrong: bool) -> Count:
    return Count(count.questions + 1, count.wrong + is_wrong)


def encode_flag_precision(table: FlagPrecision) -> dict[str, Any]:
    """Return the table as its file has it: flags by name, kinds by name."""
    kinds: dict[str, dict[str, Any]] = {}
    for sign, count in sorted(table.signs.items()):
        kinds.setdefault(sign.code, {})[sign.kind] = _encode_count(count)
    return {
        **table.judged._asdict(),
        "flags": {
            flag: {**_encode_count(count), "kinds": kinds.get(flag, {})}
            for flag, count in sorted(table.flags.items())
        },
    }


def _encode_count(count: Count) -> dict[str, Any]:
    return {
        "flagged": count.questions,
        "wrong": count.wrong,
        "precision": round(count.wrong / count.questions, 4),
    }


def read_flag_precision(path: Path) -> FlagPrecision:
    """Return the table of a file. It may count flags that no probe raises any more.

    Raises:
        FileNotFoundError: where there is none.
        InputError: with the file and the flag, where it is no such table.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"No {path}: {_EXPECTED}: see compare_questions.flag_precision in params"
        )
    values = read_json(path)
    judged = _decode_count(values, "questions", f"{path}")
    if not 0 < judged.wrong < judged.questions:
        raise InputError(f"{path}: expected some wrong questions, and some right, found {judged}")
    entries = values.get("flags")
    if not isinstance(entries, dict):
        raise InputError(f"{path}: flags: {_EXPECTED}, found {entries!r:.80}")
    flags: dict[str, Count] = {}
    signs: dict[Sign, Count] = {}
    for name, entry in entries.items():
        where = f"{path}: {name}"
        count = _decode_count(entry, "flagged", where)
        kinds = entry.get("kinds", {})
        if not isinstance(kinds, dict):
            raise InputError(f"{where}: kinds: {_EXPECTED}, found {kinds!r:.80}")
        of_kinds = {
            kind: _decode_count(values, "flagged", f"{where}: {kind}")
            for kind, values in kinds.items()
        }
        flags[name] = count
        signs |= {Sign(name, kind): count for kind, count in of_kinds.items()}
    return FlagPrecision(judged, flags, signs)


def _decode_count(entry: Any, name: str, where: str) -> Count:
    values = [entry.get(key) for key in (name, "wrong")] if isinstance(entry, dict) else [None]
    if not all(type(value) is int for value in values) or not 0 <= values[1] <= values[0]:
        raise InputError(f"{where}: {_EXPECTED}: {name} and wrong, found {entry!r:.80}")
    return Count(*values)


# Gold risk: the probability that the gold SQL of a question is wrong, from its flags.
#
#     risk = 1 - (1 - base) * product of (1 - precision) / (1 - base) over its flags
#
# - base: the share of wrong gold among all judged questions. A question without flags has this
#   risk.
# - precision of a flag: (wrong + 2 * base) / (flagged + 2), so that one that was seen seldom stays
#   near the base. Where its evidence has a kind: (wrong + 2 * precision of the flag) / (flagged +
#   2),
#   by the counts of that kind. The counts are those of `answerkey.risk.gold_risk`.
# - A flag that was never measured, or whose precision is not above the base, counts nothing.
#
# So a question with one flag has the risk that was measured for that flag, and each further flag
# takes a share of what is left.
#
# This is a noisy-or with a leak (Henrion: Some practical issues in constructing belief networks,
# 1989), each of its probabilities an m-estimate (Cestnik: Estimating probabilities, 1990).
# `benchmarks/gold_flags.py` compares it with naive Bayes on databases that it was not counted on.


_PRIOR = 2  # questions that the prior counts for
_DIGITS = 4


class Weighed(NamedTuple):
    """A sign, and its precision drawn to the prior."""

    sign: Sign
    precision: float


def find_base(table: FlagPrecision) -> float:
    """The share of wrong gold among all judged questions."""
    return table.judged.wrong / table.judged.questions


def estimate_precision(table: FlagPrecision, sign: Sign) -> float | None:
    """The precision of a sign, drawn to the prior; None where its flag was never measured."""
    count = table.flags.get(sign.code)
    if count is None:
        return None
    precision = _draw(count, find_base(table))
    of_kind = table.signs.get(sign)
    return precision if of_kind is None else _draw(of_kind, precision)


def _draw(count: Count, prior: float) -> float:
    return (count.wrong + _PRIOR * prior) / (count.questions + _PRIOR)


def weigh_signs(table: FlagPrecision, signs: Iterable[Sign]) -> list[Weighed]:
    """The signs that speak against gold, the strongest first."""
    base = find_base(table)
    weighed = [
        Weighed(sign, precision)
        for sign in signs
        if (precision := estimate_precision(table, sign)) is not None and precision > base
    ]
    return sorted(weighed, key=lambda each: (-each.precision, each.sign.code))


def estimate_risk(table: FlagPrecision, weighed: Iterable[Weighed]) -> float:
    """The gold risk of a question with these signs, from 0 to 1.

    >>> table = FlagPrecision(Count(1000, 100), {"cross_join": Count(8, 7)}, {})
    >>> estimate_risk(table, [])
    0.1
    >>> estimate_risk(table, weigh_signs(table, [Sign("cross_join", None)]))
    0.72
    """
    right = 1 - find_base(table)
    left = right
    for each in weighed:
        left *= (1 - each.precision) / right
    return round(1 - left, _DIGITS)


def describe_risk(risk: float, weighed: Iterable[Weighed]) -> dict[str, Any]:
    """The evidence of a gold risk: the flags that made it, the strongest first."""
    flags = [
        {
            "code": each.sign.code,
            **({} if each.sign.kind is None else {"kind": each.sign.kind}),
            "precision": round(each.precision, _DIGITS),
        }
        for each in weighed
    ]
    return {"risk": risk, "flags": flags}


# The assessment of gold: a question gets its gold risk, and the flags that follow from it.
#
# A verdict goes before all that flags say: the risk of a query that was judged right is 0, that
# of one that was judged wrong is 1, and no flag `gold_risk` is raised.


_RISKS = {"right": 0.0, "wrong": 1.0}
_NAMED = 3  # void verdicts that the log names


class Assessment:
    """Assesses one question after another, and knows then which verdicts were about none.

    min_gold_risk: the risk from which on a question has the flag `gold_risk`.
    """

    def __init__(
        self, table: FlagPrecision, verdicts: Iterable[Verdict], *, min_gold_risk: float
    ) -> None:
        self._table = table
        self._verdicts = list(verdicts)
        self._by_key = choose_verdicts(self._verdicts)
        self._min_gold_risk = min_gold_risk
        self._asked: set[Key] = set()
        self._databases: set[str] = set()
        self._at_risk = 0

    def assess(self, question: Question) -> Question:
        """Return the question with its risk, and with the flag that follows from it. One without an
        answer has no flags, and so no risk."""
        key = question.database_name, question.question_text, question.gold_sql
        self._databases.add(question.database_name)
        if key in self._by_key:
            self._asked.add(key)
        if question.answer_type is None:
            return question
        risk, findings = self._judge(key, question.flags)
        self._at_risk += risk >= self._min_gold_risk
        return question._replace(gold_risk=risk, flags=question.flags + encode_findings(findings))

    def _judge(self, key: Key, flags: list[dict[str, Any]]) -> tuple[float, list[Finding]]:
        verdict = self._by_key.get(key)
        if verdict is not None:
            return _RISKS[verdict.verdict], [verdict.finding]
        weighed = weigh_signs(self._table, list_signs(flags))
        risk = estimate_risk(self._table, weighed)
        if risk < self._min_gold_risk:
            return risk, []
        return risk, [Finding("gold_risk", describe_risk(risk, weighed))]

    def describe(self) -> list[str]:
        """The lines of the log, when all questions are known."""
        others = [each for each in self._verdicts if each.database_name not in self._databases]
        void = [
            verdict
            for verdict in self._verdicts
            if verdict.database_name in self._databases and verdict.key not in self._asked
        ]
        lines = [f"{self._at_risk} questions have a gold risk of {self._min_gold_risk:g} or more"]
        if self._verdicts:
            used = len(self._verdicts) - len(others) - len(void)
            lines.append(f"{used} verdicts, {len(others)} verdicts of other databases")
        if void:
            named = ", ".join(verdict.where for verdict in void[:_NAMED])
            lines.append(
                f"{len(void)} verdicts are void, since no question has their text and gold SQL now:"
                f" {named}{', ...' if len(void) > _NAMED else ''}"
            )
        return lines
