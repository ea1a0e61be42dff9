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

from answerkey.core.errors import InputError
from answerkey.core.flags import Flag
from answerkey.core.records import read_json

_EXPECTED = "expected what benchmarks/gold_flags.py writes"
# What is said of gold itself, what a question shares with others, and what models make of it, which
# depends on the models: no signs of wrong gold.
_NO_SIGNS = frozenset(
    {
        Flag.GOLD_RISK,
        Flag.JUDGED_WRONG,
        Flag.JUDGED_RIGHT,
        Flag.DUPLICATE_QUESTION,
        Flag.NEAR_DUPLICATE_QUESTION,
        Flag.PARAPHRASE_OF,
        Flag.QUESTION_IN_BOTH_SPLITS,
        Flag.TEMPLATE_IN_BOTH_SPLITS,
        Flag.SCHEMA_IN_BOTH_SPLITS,
        Flag.OVERLAP,
        Flag.ALWAYS_SOLVED,
        Flag.NEVER_SOLVED,
    }
)


class Sign(NamedTuple):
    """A flag that may tell wrong gold, and the kind of its evidence; None: it has no kinds."""

    code: Flag
    kind: str | None


class Count(NamedTuple):
    """So many questions, and of those with wrong gold."""

    questions: int
    wrong: int


class FlagPrecision(NamedTuple):
    """The counts of all judged questions, of those with each flag, and of those with each sign."""

    judged: Count
    flags: dict[Flag, Count]
    signs: dict[Sign, Count]


def list_signs(flags: Iterable[dict[str, Any]]) -> list[Sign]:
    """The signs among the flags of a question, each once, in their order.

    >>> list_signs([{"code": "latent_tie", "evidence": {"kind": "text"}},
    ...             {"code": "paraphrase_of", "evidence": {}}])
    [Sign(code=<Flag.LATENT_TIE: 'latent_tie'>, kind='text')]

    The kind is what the evidence has as `kind`, or the reading of a latent ambiguity.
    """
    signs = {}
    for flag in flags:
        code, evidence = Flag(flag["code"]), flag["evidence"]
        name = "reading" if code is Flag.LATENT_AMBIGUITY else "kind"
        if code not in _NO_SIGNS:
            signs[Sign(code, evidence.get(name))] = None
    return list(signs)


def count_signs(questions: Iterable[tuple[list[Sign], bool]]) -> FlagPrecision:
    """The counts of judged questions, each with its signs and whether its gold is wrong."""
    judged = Count(0, 0)
    flags: dict[Flag, Count] = {}
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
    """The table as its file has it: flags in the order of the vocabulary, kinds by name."""
    kinds: dict[Flag, dict[str, Any]] = {}
    for sign, count in sorted(table.signs.items()):
        kinds.setdefault(sign.code, {})[sign.kind] = _encode_count(count)
    return {
        **table.judged._asdict(),
        "flags": {
            str(flag): {**_encode_count(table.flags[flag]), "kinds": kinds.get(flag, {})}
            for flag in Flag
            if flag in table.flags
        },
    }


def _encode_count(count: Count) -> dict[str, Any]:
    return {
        "flagged": count.questions,
        "wrong": count.wrong,
        "precision": round(count.wrong / count.questions, 4),
    }


def read_flag_precision(path: Path) -> FlagPrecision:
    """The table of a file. Flags that are unknown here are passed over: they may be of an earlier
    version.

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
    flags: dict[Flag, Count] = {}
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
        if name in set(Flag):
            flag = Flag(name)
            flags[flag] = count
            signs |= {Sign(flag, kind): count for kind, count in of_kinds.items()}
    return FlagPrecision(judged, flags, signs)


def _decode_count(entry: Any, name: str, where: str) -> Count:
    values = [entry.get(key) for key in (name, "wrong")] if isinstance(entry, dict) else [None]
    if not all(type(value) is int for value in values) or not 0 <= values[1] <= values[0]:
        raise InputError(f"{where}: {_EXPECTED}: {name} and wrong, found {entry!r:.80}")
    return Count(*values)
