"""What a value of params.yaml may be, each kind with the words that say so."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, WrapValidator

from answerkey.core.cells import read_share
from answerkey.core.flags import Flag
from answerkey.core.question import DIFFICULTIES, HARDNESS_LEVELS

METHODS = TABLES, SPIDER, SOURCE, PASS_RATE = ("tables", "spider", "source", "pass_rate")
SCOPES = DATASET, SPLIT = ("dataset", "split")


class Policy(StrEnum):
    """What params may say of a flag."""

    EXCLUDE = "exclude"
    FLAG = "flag"
    ACCEPT_TIES = "accept_ties"
    OFF = "off"


TIE_FLAGS = (Flag.TIE_AT_LIMIT, Flag.LIMIT_WITHOUT_ORDER)  # which alone may be accept_ties


def expect(words: str) -> WrapValidator:
    """Say in these words what a value may be; a value within it has words of its own."""

    def check(value: Any, validate: Callable[[Any], Any]) -> Any:
        try:
            return validate(value)
        except ValidationError as error:
            places = [details["loc"] for details in error.errors()]
            if all(place and place[-1] != "[key]" for place in places):
                raise
        raise ValueError(f"expected {words}, found {value!r}{_explain_text(value)}")

    return WrapValidator(check)


def _explain_text(value: Any) -> str:
    """What to write where YAML takes a number for text, as it does 1e-6."""
    try:
        number = float(value) if isinstance(value, str) else math.nan
    except ValueError:
        return ""
    if not math.isfinite(number):
        return ""
    written = int(number) if number.is_integer() else number
    return f", a text for YAML: write {yaml.safe_dump(written).split()[0]}"


def _expect_word(words: Iterable[str]) -> WrapValidator:
    """Say which words a value may be."""
    *first, last = words
    return expect(f"{', '.join(first)} or {last}")


def _check_names(names: Iterable[str]) -> AfterValidator:
    """All of these keys, of which a mapping has some."""

    def check(values: Mapping[str, Any]) -> Mapping[str, Any]:
        if missing := [name for name in names if name not in values]:
            raise ValueError(f"no {missing[0]}")
        return values

    return AfterValidator(check)


def _check_flags(policies: Any) -> Any:
    if not isinstance(policies, Mapping):
        raise ValueError(f"expected one policy for each flag, found {policies!r}")
    unknown = sorted(str(name) for name in policies if name not in set(Flag))
    missing = sorted(set(Flag) - set(policies))
    if unknown or missing:
        raise ValueError(
            "expected one policy for each flag;"
            f" unknown: {', '.join(unknown) or 'none'}; missing: {', '.join(missing) or 'none'}"
        )
    return policies


def _check_ties(policies: Mapping[Flag, Policy]) -> Mapping[Flag, Policy]:
    for flag, policy in policies.items():
        if policy is Policy.ACCEPT_TIES and flag not in TIE_FLAGS:
            raise ValueError(
                f"{flag}: expected exclude, flag or off, found accept_ties, which only"
                f" {' and '.join(TIE_FLAGS)} may be"
            )
    return policies


def _check_corpus(corpus: Any) -> Any:
    names = [corpus] if isinstance(corpus, str) else corpus
    if not isinstance(names, list) or not names or not all(isinstance(n, str) for n in names):
        raise ValueError(f"expected a name, or a list of names, found {corpus!r}")
    return corpus


def _check_sum(shares: Mapping[str, float]) -> Mapping[str, float]:
    total = sum(map(read_share, shares.values()))
    if total != 1:
        raise ValueError(f"expected a sum of 1, found {float(total):g}: {dict(shares)}")
    return shares


Whole = Annotated[int, Field(strict=True), expect("a whole number")]
From0 = Annotated[int, Field(strict=True, ge=0), expect("a whole number from 0")]
From1 = Annotated[int, Field(strict=True, ge=1), expect("a whole number from 1")]
FromMillion = Annotated[
    int, Field(strict=True, ge=1_000_000), expect("a whole number from 1000000")
]
NumberFrom0 = Annotated[
    float, Field(strict=True, ge=0, allow_inf_nan=False), expect("a number from 0")
]
Ratio = Annotated[float, Field(strict=True, ge=0, le=1), expect("a number from 0 to 1")]
Share = Annotated[float, Field(strict=True, ge=0, le=1), expect("a share from 0 to 1")]
Text = Annotated[str, Field(strict=True, min_length=1), expect("a text")]
OptionalText = Annotated[str | None, Field(strict=True, min_length=1), expect("a text, or null")]
Names = Annotated[
    list[Annotated[str, Field(strict=True, min_length=1)]] | None,
    expect("a list of corpora, or null"),
]
RepoId = Annotated[
    str,
    Field(strict=True, pattern=r"^[\w.-]+/[\w.-]+$"),
    expect("a repository of the hub, such as org/name"),
]
Version = Annotated[
    str, Field(strict=True, pattern=r"^\d+\.\d+\.\d+$"), expect("a version, such as 1.0.0")
]
Date = Annotated[
    str,
    Field(strict=True, pattern=r"^\d{4}-\d{2}-\d{2}$"),
    expect('a date in quotes, such as "2026-11-23"'),
]
Policies = Annotated[
    dict[
        Flag,
        Annotated[
            Policy,
            BeforeValidator(lambda value: "off" if value is False else value),  # a bare off in YAML
            expect(f"exclude, flag or off, or accept_ties for {' and '.join(TIE_FLAGS)}"),
        ],
    ],
    BeforeValidator(_check_flags),
    AfterValidator(_check_ties),
]
Method = Annotated[Literal[*METHODS], _expect_word(METHODS)]
Engine = Annotated[Literal["local", "ray"], expect("local or ray")]
Corpus = Annotated[Any, BeforeValidator(_check_corpus)]
Corpora = Annotated[dict[str, Any], expect("an entry for each corpus")]
_Level = Annotated[Literal[*DIFFICULTIES], _expect_word(DIFFICULTIES)]
HardnessLevels = Annotated[
    dict[Literal[*HARDNESS_LEVELS], _Level],
    _check_names(HARDNESS_LEVELS),
    expect(f"a difficulty for each of {', '.join(HARDNESS_LEVELS)}"),
]
SourceLevels = Annotated[dict[Text, _Level], expect(f"a mapping to {', '.join(DIFFICULTIES)}")]
DifficultyShares = Annotated[
    dict[Literal[*DIFFICULTIES], Share],
    _check_names(DIFFICULTIES),
    expect(f"{', '.join(DIFFICULTIES)}, or null"),
    AfterValidator(_check_sum),
]
Scope = Annotated[Literal[*SCOPES], expect("dataset or split")]
CorpusShares = Annotated[
    dict[Annotated[str, Field(strict=True, min_length=1)], Share],
    Field(min_length=1),
    expect("a share for each corpus, as in {spider: 0.5, bird: 0.5}, or null"),
    AfterValidator(_check_sum),
]
