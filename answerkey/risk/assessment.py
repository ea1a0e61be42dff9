"""The assessment of gold: a question gets its gold risk, and the flags that follow from it.

A verdict goes before all that flags say: the risk of a query that was judged right is 0, that of
one that was judged wrong is 1, and no flag `gold_risk` is raised.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from answerkey.core.findings import Finding, encode_findings
from answerkey.core.flags import FLAG_PLACES, Flag
from answerkey.core.joined import JoinedQuestion
from answerkey.risk.flag_precision import FlagPrecision, list_signs
from answerkey.risk.gold_risk import describe_risk, estimate_risk, weigh_signs
from answerkey.risk.verdicts import Key, Verdict, choose_verdicts

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

    def assess(self, question: JoinedQuestion) -> JoinedQuestion:
        """The question with its risk and its flags, all in the order of the vocabulary. One that
        has no answer has no flags, and so no risk."""
        key = question.database_name, question.question_text, question.gold_sql
        self._databases.add(question.database_name)
        if key in self._by_key:
            self._asked.add(key)
        if question.answer_type is None:
            return question
        risk, findings = self._judge(key, question.flags)
        self._at_risk += risk >= self._min_gold_risk
        flags = question.flags + encode_findings(findings)
        flags.sort(key=lambda flag: FLAG_PLACES[Flag(flag["code"])])
        return question._replace(gold_risk=risk, flags=flags)

    def _judge(self, key: Key, flags: list[dict[str, Any]]) -> tuple[float, list[Finding]]:
        verdict = self._by_key.get(key)
        if verdict is not None:
            return _RISKS[verdict.verdict], [verdict.finding]
        weighed = weigh_signs(self._table, list_signs(flags))
        risk = estimate_risk(self._table, weighed)
        if risk < self._min_gold_risk:
            return risk, []
        return risk, [Finding(Flag.GOLD_RISK, describe_risk(risk, weighed))]

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
