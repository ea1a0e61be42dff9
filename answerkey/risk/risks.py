"""Two risks: the stored answer is not what a question asks for, or gold SQL is not.

    risk = 1 - (1 - base) * (1 - strongest sign of its query) * (1 - agreement of models)

`answer_risk` decides which questions are left out, since rewards and evaluation use answers alone.
`sql_risk` is stored beside the SQL, for those who train on its text: a query may have another
meaning than its question and still give the right answer on this database.

- base: the share of wrong gold among judged questions of this corpus and hardness that have no
  sign.
  A longer query has more parts that can be wrong: 3 % of Spider's easy queries without a sign are
  wrong, and 15 % of the extra hard ones.
- sign: a flag, with the kind of its evidence and what its repair answers; or a reading that gives
  another answer. Its strength is the share of right questions that it removes:
  1 - (1 - precision) / (1 - base). Signs of one query often repeat the same fact, so only the
  strongest one counts. So its precision is measured on the questions whose strongest sign it is:
  otherwise a weak sign that often occurs with a strong one would get the strong one's precision. A
  sign whose repair has gold's rows does not change the answer risk.
- agreement of models is independent evidence, so it counts beside a sign.

Each precision is an m-estimate (Cestnik: Estimating probabilities, 1990). It is smoothed toward the
precision of the other questions of the next broader case: from the repair's answer to the kind,
from the kind to the flag, from the flag to the base, from a corpus to all corpora. Only questions
of databases and corpora that were not used to make a sign's rule are counted: on the others, a rule
fits by construction.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count
from answerkey.base.records import Finding, encode_findings, read_json
from answerkey.dataset import Question
from answerkey.doubts.catalogue import DOUBTS
from answerkey.engines.answers import answer_rows
from answerkey.engines.executions import is_void
from answerkey.risk.verdicts import (
    OTHER,
    RIGHT,
    SAME,
    Execution,
    Key,
    Verdict,
    choose_verdicts,
    list_keys,
    name_pair,
)

if TYPE_CHECKING:
    from answerkey.doubts.repairs import Repair

AGREEMENT = "models_agree_otherwise"
READING = "reading"  # the code of a sign that is no flag: a reading that gives another answer
# The signs of wrong gold: doubts, two flags that are none, and what models say.
SIGNS = frozenset(
    {doubt.name for doubt in DOUBTS if doubt.is_sign}
    | {"conflicting_gold", "not_reproducible", AGREEMENT}
)
# How many judged questions the broader case counts as, for a kind, a repair or a flag. With 2, a
# sign that was right in three of three cases has a risk below 0.65, and in four of four a higher
# one.
_OF_CASE = 2
_OF_CORPUS = 30  # the same for a sign in one corpus
_OF_HARDNESS = 100  # the same for a hardness in one corpus
_MOST_OF_BASE = 0.95  # the highest base after it is raised by hardness
_DIGITS = 4
_EXPECTED = "expected what benchmarks/gold_flags.py writes"


class Sign(NamedTuple):
    """Possible evidence of wrong gold: a flag, or READING; the kind of its evidence, or the rule of
    the reading; and whether its repair's answer is SAME as gold's or OTHER (None: no repair)."""

    code: str
    kind: str | None = None
    answers: str | None = None

    def list_cases(self) -> list[Sign]:
        """Return the broader cases of the sign, the broadest first, and the sign itself.

        >>> [case.kind for case in Sign("join_fan_out", "added").list_cases()]
        [None, 'added']
        """
        wide = [Sign(self.code), Sign(self.code, None, self.answers), self]
        return list(dict.fromkeys(wide))


class Count(NamedTuple):
    """The number of judged questions, and how many of them have wrong gold."""

    questions: int = 0
    wrong: int = 0

    def plus(self, other: Count) -> Count:
        return Count(self.questions + other.questions, self.wrong + other.wrong)

    def minus(self, part: Count) -> Count:
        return Count(self.questions - part.questions, self.wrong - part.wrong)

    def draw(self, prior: float, weight: float) -> float:
        """Return the share of wrong gold, smoothed as if `weight` more questions had the share
        `prior`.

        >>> Count(8, 8).draw(0.5, 2)
        0.9
        """
        return (self.wrong + weight * prior) / (self.questions + weight)


NONE = Count()


@dataclass(slots=True)
class Counts:
    """The judged questions of a corpus: all of them; those without a sign, by hardness; and those
    with one, by their strongest sign and its broader cases."""

    judged: Count = NONE
    unsigned: dict[str, Count] = field(default_factory=dict)
    signs: dict[Sign, Count] = field(default_factory=dict)

    def merge(self, other: Counts) -> None:
        self.judged = self.judged.plus(other.judged)
        for name in ("unsigned", "signs"):
            own = getattr(self, name)
            for key, count in getattr(other, name).items():
                own[key] = own.get(key, NONE).plus(count)

    @property
    def base(self) -> float:
        """Return the share of wrong gold among questions without a sign; among all if each has
        one."""
        unsigned = reduce(Count.plus, self.unsigned.values(), NONE)
        return unsigned.draw(self.judged.wrong / self.judged.questions, _OF_CASE)


def list_signs(
    flags: Iterable[Mapping[str, Any]], repairs: Iterable[Mapping[str, Any]]
) -> list[Sign]:
    """Return the signs of a question, each once, in their order: flags, and readings that give
    another answer and that no flag names.

    >>> flags = [{"code": "cross_join", "evidence": {}}, {"code": "paraphrase_of", "evidence": {}}]
    >>> for sign in list_signs(flags, [{"rule": "any_case", "answers": "other"}]):
    ...     print(*sign)
    cross_join None None
    reading any_case other
    """
    evidences = [(flag["code"], flag["evidence"]) for flag in flags]
    signs = [
        Sign(code, evidence.get("kind"), evidence.get("answers"))
        for code, evidence in evidences
        if code in SIGNS
    ]
    named = {(evidence or {}).get("repair") for _, evidence in evidences}
    signs += [
        Sign(READING, repair["rule"], OTHER)
        for repair in repairs
        if repair["answers"] == OTHER and repair["rule"] not in named and "+" not in repair["rule"]
    ]
    return list(dict.fromkeys(signs))


class Strength(NamedTuple):
    """A sign, its precision in the corpus, and the share of right questions that it removes."""

    sign: Sign
    precision: float
    strength: float


class Risk(NamedTuple):
    """A risk, from 0 to 1; its base; and its signs, the strongest first."""

    risk: float
    base: float
    signs: list[Strength]

    def describe(self) -> dict[str, Any]:
        """Return the evidence: the risk, its base rate, and the signs that raised it."""
        signs = [
            {
                **{name: part for name, part in each.sign._asdict().items() if part is not None},
                "precision": round(each.precision, _DIGITS),
            }
            for each in self.signs
        ]
        return {"risk": self.risk, "base": round(self.base, _DIGITS), "signs": signs}


class RiskTable:
    """How often gold with each sign is wrong, by corpus.

    >>> unsigned = {"easy": Count(800, 8), "extra": Count(100, 12)}
    >>> spider = Counts(Count(1000, 100), unsigned, {Sign("cross_join"): Count(100, 80)})
    >>> table = RiskTable({"spider": spider})
    >>> table.estimate("spider", "easy", []).risk
    0.0102
    >>> table.estimate("spider", "easy", [Sign("cross_join")]).risk > 0.7
    True
    """

    def __init__(self, corpora: Mapping[str, Counts]) -> None:
        self.corpora = dict(corpora)
        self.pooled = Counts()
        for counts in corpora.values():
            self.pooled.merge(counts)

    def estimate(self, corpus: str, hardness: str | None, signs: Iterable[Sign]) -> Risk:
        """Return the risk. A corpus without verdicts uses the base and signs of all corpora
        together."""
        base = self._find_base(self._find_own(corpus), hardness)
        known = [each for each in self.weigh(corpus, signs) if each.strength > 0]
        of_models = [each.strength for each in known if each.sign.code == AGREEMENT]
        of_query = [each.strength for each in known if each.sign.code != AGREEMENT]
        left = (1 - base) * (1 - max(of_query, default=0)) * (1 - max(of_models, default=0))
        return Risk(round(1 - left, _DIGITS), base, known)

    def weigh(self, corpus: str, signs: Iterable[Sign]) -> list[Strength]:
        """Return the strengths of the signs that raise the risk, the strongest first."""
        own = self._find_own(corpus)
        known = [self._weigh(own, sign) for sign in signs if Sign(sign.code) in self.pooled.signs]
        return sorted(known, key=lambda each: (-each.strength, *map(str, each.sign)))

    def _find_own(self, corpus: str) -> Counts:
        return self.corpora.get(corpus, self.pooled)

    def _find_base(self, own: Counts, hardness: str | None) -> float:
        of_all = self.pooled.unsigned.get(hardness or "", NONE).draw(self.pooled.base, _OF_HARDNESS)
        expected = min(_MOST_OF_BASE, own.base * of_all / self.pooled.base)
        return own.unsigned.get(hardness or "", NONE).draw(expected, _OF_HARDNESS)

    def _weigh(self, own: Counts, sign: Sign) -> Strength:
        pooled, precision = self.pooled, self.pooled.base
        counts = [pooled.signs.get(case, NONE) for case in sign.list_cases()]
        for count, narrower in zip(counts, [*counts[1:], NONE], strict=True):
            precision = count.minus(narrower).draw(precision, _OF_CASE)  # each question once
        right = (1 - precision) / (1 - pooled.base)
        if own is not pooled:
            precision = own.signs.get(sign, NONE).draw(1 - (1 - own.base) * right, _OF_CORPUS)
            right = (1 - precision) / (1 - own.base)
        return Strength(sign, precision, 1 - right)


class Risks(NamedTuple):
    """The two tables: of answers, and of SQL."""

    answers: RiskTable
    sql: RiskTable

    def estimate_answer(self, corpus: str, hardness: str | None, signs: Iterable[Sign]) -> Risk:
        """Return the answer_risk. A sign whose repair has gold's rows does not count for it."""
        signs = [sign for sign in signs if sign.answers != SAME]
        return self.answers.estimate(corpus, hardness, signs)

    def estimate_sql(self, corpus: str, hardness: str | None, signs: Iterable[Sign]) -> Risk:
        """Return the sql_risk."""
        return self.sql.estimate(corpus, hardness, signs)


def read_risks(path: Path) -> Risks:
    """Return the tables of a file.

    Raises:
        FileNotFoundError: there is no such file.
        InputError: it has no such tables.
    """
    if not path.is_file():
        raise FileNotFoundError(
            f"No {path}: {_EXPECTED}: see compare_questions.flag_precision in params"
        )
    try:
        corpora = read_json(path, is_own=False)
        tables = [
            {name: _read_counts(entry[target]) for name, entry in corpora.items()}
            for target in Risks._fields
        ]
        # Without both wrong and right questions, no sign can be measured.
        is_table = all(
            table
            and sum(counts.judged.wrong for counts in table.values()) > 0
            and all(counts.base < 1 for counts in table.values())
            for table in tables
        )
    except (AttributeError, KeyError, TypeError, ZeroDivisionError):
        is_table = False
    if not is_table:
        raise InputError(f"{path}: {_EXPECTED}: questions and wrong of each corpus, hardness, sign")
    return Risks(*map(RiskTable, tables))


def _read_counts(entry: dict[str, Any]) -> Counts:
    counts = Counts(_read_count(entry))
    counts.unsigned = {name: _read_count(each) for name, each in entry["unsigned"].items()}
    for each in entry["signs"]:
        sign, count = Sign(each["code"], each["kind"], each["answers"]), _read_count(each)
        counts.merge(Counts(signs=dict.fromkeys(sign.list_cases(), count)))
    return counts


def _read_count(entry: dict[str, Any]) -> Count:
    return Count(entry["questions"], entry["wrong"])


# A hard query of a corpus with much wrong gold has a high risk even without signs. It is flagged
# only if its own signs remove half of the right questions.
_MIN_STRENGTH = 0.5
_NAMED = 3  # outdated verdicts in the log


class Assessment:
    """Assesses one question after another. At the end it knows which verdicts matched no question.

    executions: the results of the queries of verdicts on their databases, by `name_pair`. A verdict
        that they contradict does not count: the question has the risk of one without a verdict.
    min_answer_risk: a question with a strong sign and at least this risk gets the flag
        `answer_risk`.
    """

    def __init__(
        self,
        risks: Risks,
        verdicts: Iterable[Verdict],
        executions: Mapping[str, Execution],
        *,
        min_answer_risk: float,
    ) -> None:
        self._risks = risks
        self._executions = executions
        self._unconfirmed: list[str] = []
        self._verdicts = list(verdicts)
        self._by_key = choose_verdicts(self._verdicts)
        self._min_answer_risk = min_answer_risk
        self._asked: set[Key] = set()
        self._databases: set[str] = set()
        self._flagged = 0

    def assess(self, question: Question) -> Question:
        """Return the question with its risk and the flags that follow from it. A question without
        an answer has no flags, and so no risk."""
        verdict = self._find_verdict(question)
        if question.answer_type is None:
            return question
        signs = list_signs(question.flags, question.repairs or ())
        known = question.corpus, question.hardness, signs
        of_sql = self._risks.estimate_sql(*known)
        repairs = _rank_repairs(question, of_sql)
        why = verdict and self._explain_contradiction(question, verdict)
        if verdict is not None and why is None:
            risks, findings = verdict.risks, [verdict.finding]
        else:
            of_answer = self._risks.estimate_answer(*known)
            risks, findings = (of_answer.risk, of_sql.risk), self._decide(of_answer)
        if verdict is not None and why is not None:
            self._unconfirmed.append(verdict.where)
            if not any(flag["code"] == "unconfirmed" for flag in question.flags):
                evidence = {"judgement": verdict.verdict, "here": why, **verdict.finding.evidence}
                findings.append(Finding("unconfirmed", evidence))
        flags = question.flags + encode_findings(findings)
        return question._replace(
            answer_risk=risks[0], sql_risk=risks[1], flags=flags, repairs=repairs
        )

    def _find_verdict(self, question: Question) -> Verdict | None:
        """Return the verdict about a question. A verdict on a text that a correction replaced no
        longer counts, but is not reported as outdated: it may be the reason for the correction."""
        keys, keys_before = list_keys(question)
        self._databases.update(database for database, _ in keys)
        self._asked.update(self._by_key.keys() & {*keys, *keys_before})
        return next(filter(None, map(self._by_key.get, keys)), None)

    def _explain_contradiction(self, question: Question, verdict: Verdict) -> str | None:
        """Return how the database at hand contradicts a verdict; None if it does not, or if the
        verdict was not executed."""
        if verdict.verdict == RIGHT:
            has_void_answer = is_void(answer_rows(question.gold_answer))
            return verdict.explain_contradiction(
                Execution(answers=SAME, is_void=has_void_answer, detail="")
            )
        pair = question.database_name, question.gold_sql, verdict.sql or ""
        execution = self._executions.get(name_pair(*pair))
        return None if execution is None else verdict.explain_contradiction(execution)

    def _decide(self, of_answer: Risk) -> list[Finding]:
        strongest = max((each.strength for each in of_answer.signs), default=0)
        if of_answer.risk < self._min_answer_risk or strongest < _MIN_STRENGTH:
            return []
        self._flagged += 1
        return [Finding("answer_risk", of_answer.describe())]

    def describe(self) -> list[str]:
        """Return the lines of the log, after all questions are assessed."""
        flagged = spell_count(self._flagged, "question")
        lines = [f"{flagged} with an answer risk of {self._min_answer_risk:g} or more"]
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
        if self._unconfirmed:
            lines.append(
                f"{spell_count(len(self._unconfirmed), 'verdict')} not taken, since the database"
                f" here is not the one that was read: {', '.join(self._unconfirmed[:_NAMED])}"
            )
        return lines


def _rank_repairs(question: Question, of_sql: Risk) -> list[Repair] | None:
    """Return the repairs of a question: first those with another answer than gold, and among these
    first those of the strongest sign."""
    strengths: defaultdict[str | None, float] = defaultdict(float)
    rules = {
        (flag["code"], flag["evidence"].get("kind")): flag["evidence"].get("repair")
        for flag in question.flags
    }
    for each in of_sql.signs:
        rule = each.sign.kind if each.sign.code == READING else rules.get(each.sign[:2])
        strengths[rule] = max(strengths[rule], each.strength)
    return question.repairs and sorted(
        question.repairs,
        key=lambda repair: (repair["answers"] == SAME, -strengths[repair["rule"]]),
    )
