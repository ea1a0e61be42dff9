"""The assessment of gold: each question gets its gold risk, and the flag that follows from it.

A verdict goes before all that flags say: the risk of a query that was judged right is 0, that of
one that was judged wrong is 1, and no flag `gold_risk` is raised.
"""

from __future__ import annotations

from collections.abc import Iterable

from answerkey.base.records import Finding, encode_findings
from answerkey.dataset import Question
from answerkey.risk.gold_risk import RiskTable, list_signs
from answerkey.risk.verdicts import Key, Verdict, choose_verdicts

_RISKS = {"right": 0.0, "wrong": 1.0}
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
        if found.risk < self._min_gold_risk or found.strongest < _MIN_STRENGTH:
            return found.risk, []
        self._flagged += 1
        return found.risk, [Finding("gold_risk", found.describe())]

    def describe(self) -> list[str]:
        """Return the lines of the log, when all questions are known."""
        lines = [f"{self._flagged} questions have a gold risk of {self._min_gold_risk:g} or more"]
        here = [each for each in self._verdicts if each.database_name in self._databases]
        void = [verdict.where for verdict in here if verdict.key not in self._asked]
        if self._verdicts:
            others = len(self._verdicts) - len(here)
            lines.append(f"{len(here) - len(void)} verdicts, {others} verdicts of other databases")
        if void:
            lines.append(
                f"{len(void)} verdicts are void, since no question has their text and gold SQL now:"
                f" {', '.join(void[:_NAMED])}"
            )
        return lines
