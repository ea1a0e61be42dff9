"""Explain doubts in words: the doubt itself, the repair's answer beside gold's, and the risk that
gold is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from answerkey.alternatives.rules import DOUBTS
from answerkey.base.errors import OTHER_VERSION, InputError
from answerkey.base.log import make_printable, spell_count
from answerkey.dataset import RISK_MEANINGS, Question
from answerkey.engines.answers import answer_rows
from answerkey.flags import DIALECT_DIFFERS, EXPLANATIONS

if TYPE_CHECKING:
    from answerkey.alternatives.shown import Difference
    from answerkey.doubts.repairs import Repair
    from answerkey.risk.repairs import RepairedQuestion

_ANSWER_ROWS, _ROW_CHARACTERS = 6, 500  # of gold's answer in a terminal

SENTENCES = {
    **EXPLANATIONS,
    **DOUBTS,
    "models_agree": "Most models answer otherwise than the query.",  # a reading of its suite
}


def find_doubts(rule: str, flags: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the code of the flag that names a repair, or the rule itself if it is a reading that
    no flag names. If two rules were tested together, return one for each. SENTENCES explains them.

    >>> flags = [{"code": "group_by_non_key", "evidence": {"repair": "grouped_by_key"}}]
    >>> find_doubts("grouped_by_key", flags), find_doubts("grouped_by_key+any_case", flags)
    (['group_by_non_key'], ['group_by_non_key', 'any_case'])
    """
    codes = {flag["evidence"].get("repair"): flag["code"] for flag in flags}
    return [codes.get(name, name) for name in rule.split("+")]


def explain_doubts(rule: str, flags: Iterable[Mapping[str, Any]]) -> str:
    """Return the doubts behind a repair, in sentences.

    Raises:
        InputError: no rule has this name.
    """
    codes = find_doubts(rule, flags)
    if unknown := [code for code in codes if code not in SENTENCES]:
        raise InputError(f"no rule is called {', '.join(unknown)}: {OTHER_VERSION}")
    return " ".join(SENTENCES[code] for code in codes)


def explain_difference(repair: Repair) -> str:
    """Return a sentence that says whether, and how, a repair's answer differs from gold's.

    Raises:
        InputError: the record does not say how they differ.
    """
    if repair["answers"] == "same":
        return "Both give the same answer here: gold SQL is in doubt, and not the answer."
    if "difference" not in repair:
        raise InputError(f"a repair has no `difference`: {OTHER_VERSION}")
    return describe_difference(repair["difference"])


def describe_difference(difference: Difference) -> str:
    """
    >>> order = {"differs": "order", "counts": [9, 9], "lacking": [0, 0], "from_row": 4}
    >>> describe_difference(order)
    'The answers differ: the same 9 rows, in another order from row 4 on.'
    >>> describe_difference({"differs": "repeats", "counts": [9, 1], "lacking": [1, 0]})
    'The answers differ in how often rows stand: gold has 9 rows, the other 1.'
    >>> describe_difference({"differs": "rows", "counts": [9, 1], "lacking": [9, 1]})
    'The answers differ: gold has 9 rows, the other 1; in gold alone 9, in the other 1.'
    """
    counts, lacking = difference["counts"], difference["lacking"]
    rows = f"gold has {spell_count(counts[0], 'row', ',')}, the other {counts[1]:,}"
    match difference["differs"]:
        case "order":
            same = spell_count(counts[0], "row", ",")
            from_row = f"{difference['from_row']:,}"
            return f"The answers differ: the same {same}, in another order from row {from_row} on."
        case "repeats":
            return f"The answers differ in how often rows stand: {rows}."
        case "rows" if counts == [1, 1]:
            return "The answers differ."
        case "rows":
            alone = f"in gold alone {lacking[0]:,}, in the other {lacking[1]:,}"
            return f"The answers differ: {rows}; {alone}."


def describe_repeats(difference: Difference, side: int) -> list[str]:
    """Return how often each shown row of a side occurs in both answers; [] if each row occurs in
    only one answer, and once.

    >>> describe_repeats({"differs": "repeats", "counts": [3, 1], "lacking": [1, 0],
    ...     "times": [[[3, 1]], []]}, 0)
    ['3 in gold, 1 in the other']
    """
    pairs = difference["times"][side] if "times" in difference else []
    return [f"{gold:,} in gold, {other:,} in the other" for gold, other in pairs]


def count_shown(difference: Difference, side: int) -> int:
    """Return how many rows of a side are complete; the first of them are shown."""
    if difference["differs"] == "order":
        return difference["counts"][side] - difference["from_row"] + 1
    return difference["lacking"][side]


def spell_risk(risk: float) -> str:
    """Return a risk in two digits, rounded down: 0.50 is shown only for 0.5 or more, as the run
    decides.

    >>> spell_risk(0.4962), spell_risk(0.5), spell_risk(0.29), spell_risk(1.0)
    ('0.49', '0.50', '0.29', '1.00')
    """
    hundredths = math.floor(round(100 * risk, 9))
    return f"{hundredths / 100:.2f}"


def describe_repaired(record: RepairedQuestion) -> str:
    """Return a question and its likeliest repair, as lines of text."""
    repair, *others = record["repairs"]
    lines = [
        f"{record['question_id']}: answer_risk {spell_risk(record['answer_risk'])},"
        f" sql_risk {spell_risk(record['sql_risk'])}",
        *_show_question(record),
        *_show_repair(repair, record["flags"]),
    ]
    if others:
        more = spell_count(len(others), "more repair")
        lines.append(f"  {more}: answerkey explain {record['question_id']}")
    return "\n".join(lines)


def _show_question(record: Mapping[str, Any]) -> Iterator[str]:
    for name in ("question_text", "evidence", "now", "gold_sql"):
        if text := record.get(name):
            yield _show(name.removesuffix("_text").removesuffix("_sql"), text)


def _show_repair(
    repair: Repair, flags: Sequence[Mapping[str, Any]], *, like: Repair | None = None
) -> Iterator[str]:
    """like: a repair with the same answer, whose rows were already shown."""
    codes = dict.fromkeys([*find_doubts(repair["rule"], flags), repair["rule"]])
    yield _show("repair", repair["sql"])
    yield _show("reason", f"{explain_doubts(repair['rule'], flags)} ({', '.join(codes)})")
    if like is not None:
        yield _show("answers", f"The same rows as {like['rule']}.")
        return
    yield _show("answers", explain_difference(repair))
    if repair["answers"] == "other":
        yield from _show_difference(repair)


def _show_difference(repair: Repair) -> Iterator[str]:
    """Yield the rows of each side as JSON, one per line; JSON distinguishes text from numbers."""
    difference = repair["difference"]
    for side, rows in enumerate((repair["gold_rows"], repair["repair_rows"])):
        owner = ("gold", "repair")[side]
        name = f"{owner} rows" if difference["differs"] == "order" else f"only {owner}"
        times = describe_repeats(difference, side)
        for row_index, row in enumerate(rows):
            note = f": {times[row_index]}" if times else ""
            yield _show("" if row_index else name, json.dumps(row, ensure_ascii=False) + note)
        if left := count_shown(difference, side) - len(rows):
            yield _show("", f"and {spell_count(left, 'more row', ',')}")


def _show(name: str, text: str) -> str:
    return f"  {name:<12}{make_printable(text)}"


def explain_question(question: Question, why: Sequence[str | None] | None) -> str:
    """Return the risks, flags and repairs of a question, as lines of text.

    why: stage, reason and detail of its exclusion, if it is excluded.
    """
    lines = [f"{question.question_id}: {'usable' if why is None else f'left out: {why[1]}'}"]
    lines += [*_show_question(question._asdict()), *_show_answer(question)]
    for name, meaning in RISK_MEANINGS.items():
        risk = getattr(question, name)
        line = "none: it has no answer"
        if risk is not None and (why is None or why[1] != DIALECT_DIFFERS):
            line = f"{spell_risk(risk)}, {meaning}"
        lines.append(_show(name, line))
    lines += [_show("flag", f"{SENTENCES[code]} ({code})") for code in _list_codes(question)]
    for flag in question.flags:
        if flag["code"] == DIALECT_DIFFERS:
            lines += _show_dialect(flag["evidence"])
        if flag["code"].startswith("judged_"):
            lines.append(_show("judged", _describe_decision(flag["evidence"])))
            if sql := flag["evidence"].get("sql"):
                lines.append(_show("", sql))
    if (correction := question.source.get("correction")) is not None:
        lines.append(_show("corrected", _describe_decision(correction)))
        lines += [_show("before", text) for text in correction.get("original", {}).values()]
    alike: dict[str, Repair] = {}
    for repair in question.repairs or ():
        first = alike.setdefault(_code_answer(repair), repair)
        lines += [
            "",
            *_show_repair(repair, question.flags, like=None if first is repair else first),
        ]
    return "\n".join(lines)


def _show_answer(question: Question) -> Iterator[str]:
    """Yield the first rows of gold's answer as JSON, which distinguishes text from numbers."""
    if question.answer_type is None:
        return
    rows = answer_rows(question.gold_answer)
    for row_index, row in enumerate(rows[:_ANSWER_ROWS]):
        text = json.dumps(row, ensure_ascii=False)
        cut = text if len(text) <= _ROW_CHARACTERS else f"{text[:_ROW_CHARACTERS]} ..."
        yield _show("" if row_index else "answer", cut)
    if not rows:
        yield _show("answer", "no row")
    if (left := len(rows) - _ANSWER_ROWS) > 0:
        yield _show("", f"and {spell_count(left, 'more row', ',')}")


def _code_answer(repair: Repair) -> str:
    """Return a text that is equal for repairs whose answers differ from gold's in the same way."""
    names = ("answers", "difference", "gold_rows", "repair_rows")
    return json.dumps([repair.get(name) for name in names])


def _describe_decision(decision: Mapping[str, Any]) -> str:
    """Return the reason of a verdict or a correction, with its author and date."""
    who = " ".join(filter(None, (decision.get("source"), decision.get("date"))))
    return " ".join(filter(None, (decision["reason"], who and f"({who})")))


def _show_dialect(evidence: Mapping[str, Any]) -> Iterator[str]:
    """Yield the original gold SQL, and its results in its own engine and in SQLite."""
    yield _show(evidence["dialect"], evidence["source_sql"])
    yield _show("differs", evidence.get("error") or evidence["detail"])
    for side in ("there", "here"):
        if (rows := evidence.get(side)) is not None:
            yield _show(side, json.dumps(rows, ensure_ascii=False))


def _list_codes(question: Question) -> list[str]:
    return list(dict.fromkeys(flag["code"] for flag in question.flags))


def find_questions(questions: Iterable[Question], ids: Sequence[str]) -> list[Question]:
    """Return the questions of these ids, in the order of the ids.

    Raises:
        InputError: names the ids that no question has.
    """
    wanted = set(ids)
    by_id = {
        question.question_id: question for question in questions if question.question_id in wanted
    }
    if missing := [name for name in ids if name not in by_id]:
        raise InputError(
            f"no question {', '.join(missing)}: expected question_ids, as answerkey repairs and"
            " reports/dataset.html show them"
        )
    return [by_id[name] for name in ids]
