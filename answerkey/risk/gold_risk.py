"""Gold risk: the probability that the gold SQL of a question is wrong.

    risk = 1 - (1 - base) * (1 - strongest sign of its query) * (1 - agreement of models)

- base: the share of wrong gold among judged questions of this corpus and this hardness. The longer
  a query, the more of it can be wrong: on Spider 5 % of the easy ones and 23 % of the extra hard.
- sign: a flag, with the kind of its evidence. Its strength is the share of right questions that it
  takes away: 1 - (1 - precision) / (1 - base). Signs of one query say the same thing again, so only
  the strongest counts.
- agreement of models comes from another side, so it counts beside a sign.

Each precision is an m-estimate (Cestnik: Estimating probabilities, 1990), drawn to what is known of
wider cases: the kind to its flag, the flag to the base, a corpus to all corpora.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count
from answerkey.base.records import Finding, encode_findings, read_json
from answerkey.dataset import Question
from answerkey.risk.verdicts import RIGHT, WRONG, Key, Verdict, choose_verdicts

AGREEMENT = "models_agree_otherwise"
# Flags that are no sign of wrong gold: what is said of gold itself, what a question shares with
# others, what models make of it, and what its suite shows (how much an answer proves, and that a
# text may be read in two ways, is no fault of the query).
NO_SIGNS = frozenset(
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
        "latent_ambiguity",
        "weak_answer",
    }
)
_OF_KIND = 2  # judged questions that count for the wider case: of a kind or a flag,
_OF_CORPUS = 30  # of a sign in one corpus,
_OF_HARDNESS = 100  # of a hardness in one corpus
_MOST = 0.95  # of a base that is lifted by hardness
_DIGITS = 4
_EXPECTED = "expected what benchmarks/gold_flags.py writes"


class Sign(NamedTuple):
    """A flag that may tell wrong gold, and the kind of its evidence; None: it has no kinds."""

    code: str
    kind: str | None


class Count(NamedTuple):
    """So many judged questions, and of these with wrong gold."""

    questions: int = 0
    wrong: int = 0

    def plus(self, other: Count) -> Count:
        return Count(self.questions + other.questions, self.wrong + other.wrong)

    def draw(self, prior: float, weight: float) -> float:
        """Return the share that is wrong, drawn to the prior by so many questions.

        >>> Count(8, 8).draw(0.5, 2)
        0.9
        """
        return (self.wrong + weight * prior) / (self.questions + weight)


NONE = Count()


@dataclass(slots=True)
class Counts:
    """The judged questions of a corpus: all, by hardness, by flag, and by flag and kind."""

    judged: Count = NONE
    hardness: dict[str, Count] = field(default_factory=dict)
    flags: dict[str, Count] = field(default_factory=dict)
    kinds: dict[Sign, Count] = field(default_factory=dict)

    def merge(self, other: Counts) -> None:
        self.judged = self.judged.plus(other.judged)
        for name in ("hardness", "flags", "kinds"):
            own = getattr(self, name)
            for key, count in getattr(other, name).items():
                own[key] = own.get(key, NONE).plus(count)

    @property
    def base(self) -> float:
        return self.judged.wrong / self.judged.questions


def list_signs(flags: Iterable[Mapping[str, Any]]) -> list[Sign]:
    """Return the signs among the flags of a question, each once, in their order.

    >>> list_signs([{"code": "latent_tie", "evidence": {"kind": "text"}},
    ...             {"code": "paraphrase_of", "evidence": {}}])
    [Sign(code='latent_tie', kind='text')]
    """
    signs = [Sign(flag["code"], flag["evidence"].get("kind")) for flag in flags]
    return [sign for sign in dict.fromkeys(signs) if sign.code not in NO_SIGNS]


class Strength(NamedTuple):
    """A sign, its precision in the corpus, and the share of right questions that it takes away."""

    sign: Sign
    precision: float
    strength: float


class Risk(NamedTuple):
    """A gold risk, from 0 to 1; the base that it started from; its signs, the strongest first."""

    risk: float
    base: float
    signs: list[Strength]

    def describe(self) -> dict[str, Any]:
        """Return the evidence: the risk, its base rate, and the signs that made it."""
        flags = [
            {
                "code": sign.code,
                **({} if sign.kind is None else {"kind": sign.kind}),
                "precision": round(precision, _DIGITS),
            }
            for sign, precision, _ in self.signs
        ]
        return {"risk": self.risk, "base": round(self.base, _DIGITS), "flags": flags}


class RiskTable:
    """How often gold with each sign is wrong, counted by corpus.

    >>> hardness = {"easy": Count(900, 45), "extra": Count(100, 80)}
    >>> spider = Counts(Count(1000, 125), hardness, {"cross_join": Count(100, 80)})
    >>> table = RiskTable({"spider": spider})
    >>> table.estimate("spider", "easy", []).risk
    0.0507
    >>> table.estimate("spider", "easy", [Sign("cross_join", None)]).risk > 0.7
    True
    """

    def __init__(self, corpora: Mapping[str, Counts]) -> None:
        self.corpora = dict(corpora)
        self.pooled = Counts()
        for counts in corpora.values():
            self.pooled.merge(counts)

    def estimate(self, corpus: str, hardness: str | None, signs: Iterable[Sign]) -> Risk:
        """Return the gold risk. A corpus that nobody judged has the base and the signs
        of all corpora together."""
        own = self.corpora.get(corpus, self.pooled)
        base = self._find_base(own, hardness)
        found = [self._weigh(own, sign) for sign in signs if sign.code in self.pooled.flags]
        found = [each for each in found if each.strength > 0]
        found.sort(key=lambda each: (-each.strength, each.sign.code))
        of_models = [each.strength for each in found if each.sign.code == AGREEMENT]
        of_query = [each.strength for each in found if each.sign.code != AGREEMENT]
        left = (1 - base) * (1 - max(of_query, default=0)) * (1 - max(of_models, default=0))
        return Risk(round(1 - left, _DIGITS), base, found)

    def _find_base(self, own: Counts, hardness: str | None) -> float:
        of_all = self.pooled.hardness.get(hardness or "", NONE).draw(self.pooled.base, _OF_HARDNESS)
        expected = min(_MOST, own.base * of_all / self.pooled.base)
        return own.hardness.get(hardness or "", NONE).draw(expected, _OF_HARDNESS)

    def _weigh(self, own: Counts, sign: Sign) -> Strength:
        pooled = self.pooled
        precision = pooled.flags[sign.code].draw(pooled.base, _OF_KIND)
        if sign in pooled.kinds:
            precision = pooled.kinds[sign].draw(precision, _OF_KIND)
        right = (1 - precision) / (1 - pooled.base)
        if own is not pooled:
            count = own.flags.get(sign.code) if sign.kind is None else own.kinds.get(sign)
            precision = (count or NONE).draw(1 - (1 - own.base) * right, _OF_CORPUS)
            right = (1 - precision) / (1 - own.base)
        return Strength(sign, precision, 1 - right)


def read_risk_table(path: Path) -> RiskTable:
    """Return the table of a file.

    Raises:
        FileNotFoundError: if there is none.
        InputError: if it is no such table.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"No {path}: {_EXPECTED}: see compare_questions.flag_precision in params"
        )
    try:
        corpora = {
            name: _read_counts(entry) for name, entry in read_json(path, is_own=False).items()
        }
        # Some questions are wrong, and some right, or else nothing can be told from the others.
        is_table = corpora and all(0 < counts.base < 1 for counts in corpora.values())
    except (AttributeError, KeyError, TypeError, ZeroDivisionError):
        is_table = False
    if not is_table:
        raise InputError(f"{path}: {_EXPECTED}: questions and wrong of each corpus, hardness, flag")
    return RiskTable(corpora)


def _read_counts(entry: dict[str, Any]) -> Counts:
    flags = entry["flags"]
    return Counts(
        _read_count(entry),
        {name: _read_count(each) for name, each in entry["hardness"].items()},
        {code: _read_count(each) for code, each in flags.items()},
        {
            Sign(code, kind): _read_count(each)
            for code, of_flag in flags.items()
            for kind, each in of_flag["kinds"].items()
        },
    )


def _read_count(entry: dict[str, int]) -> Count:
    return Count(entry["questions"], entry["wrong"])


_RISKS = {RIGHT: 0.0, WRONG: 1.0}
# A hard query of a corpus with much wrong gold has a high risk whatever it says. It is flagged only
# if its own signs take away half of what is right.
_MIN_STRENGTH = 0.5
_NAMED = 3  # void verdicts that the log names


class Assessment:
    """Assesses one question after another, and knows then which verdicts were about none.

    min_gold_risk: the risk from which on a question with a strong sign has the flag `gold_risk`.
    """

    def __init__(
        self, table: RiskTable, verdicts: Iterable[Verdict], *, min_gold_risk: float
    ) -> None:
        self._table = table
        self._verdicts = list(verdicts)
        self._by_key = choose_verdicts(self._verdicts)
        self._min_gold_risk = min_gold_risk
        self._asked: set[Key] = set()
        self._databases: set[str] = set()
        self._flagged = 0

    def assess(self, question: Question) -> Question:
        """Return the question with its risk, and with the flag that follows from it. One without an
        answer has no flags, and so no risk."""
        key = question.database_name, question.question_text, question.gold_sql
        self._databases.add(question.database_name)
        verdict = self._by_key.get(key)
        if verdict is not None:
            self._asked.add(key)
        if question.answer_type is None:
            return question
        if verdict is not None:
            risk, findings = _RISKS[verdict.verdict], [verdict.finding]
        else:
            risk, findings = self._estimate(question)
        return question._replace(gold_risk=risk, flags=question.flags + encode_findings(findings))

    def _estimate(self, question: Question) -> tuple[float, list[Finding]]:
        signs = list_signs(question.flags)
        found = self._table.estimate(question.corpus, question.hardness, signs)
        strongest = max((sign.strength for sign in found.signs), default=0)
        if found.risk < self._min_gold_risk or strongest < _MIN_STRENGTH:
            return found.risk, []
        self._flagged += 1
        return found.risk, [Finding("gold_risk", found.describe())]

    def describe(self) -> list[str]:
        """Return the lines of the log, when all questions are known."""
        flagged = spell_count(self._flagged, "question")
        lines = [f"{flagged} with a gold risk of {self._min_gold_risk:g} or more"]
        here = [each for each in self._verdicts if each.database_name in self._databases]
        void = [verdict.where for verdict in here if verdict.key not in self._asked]
        if self._verdicts:
            others = spell_count(len(self._verdicts) - len(here), "verdict")
            verdicts = spell_count(len(here) - len(void), "verdict")
            lines.append(f"{verdicts}, {others} of other databases")
        if void:
            lines.append(
                f"{spell_count(len(void), 'void verdict')}, of texts and gold SQL that no question"
                f" has now: {', '.join(void[:_NAMED])}"
            )
        return lines
