"""The choice among all usable questions: a verdict each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from answerkey.core.cells import (
    Cell,
    CorpusCell,
    Group,
    Solution,
    count_cells,
    count_corpora,
)
from answerkey.core.dossier import Dossier, read_dossiers
from answerkey.core.reasons import Flag
from answerkey.core.records import hash_value
from answerkey.selection.candidates import Candidate, Candidates
from answerkey.selection.picks import pick
from answerkey.selection.policies import Policy
from answerkey.selection.supply import check_size
from answerkey.selection.targets import Targets, find_largest
from answerkey.selection.usability import find_reason


class Verdict(IntEnum):
    """What becomes of a question; there may be millions, so that it is a byte."""

    UNUSABLE = 0
    NOT_PICKED = 1
    CAPPED = 2  # by max_per_canonical_sql
    SELECTED = 3


def make_candidate(number: int, dossier: Dossier, *, has_canonical_sql: bool) -> Candidate:
    """What selection looks at; canonical SQL is '' where nobody will look at it."""
    source, parsed = dossier.source, dossier.parsed
    return Candidate(
        number,
        Group(
            source["split"],
            dossier.difficulty,
            source["database_name"],
            dossier.outcome["answer_type"],
            source["source"]["corpus"],
        ),
        dossier.question_id,
        hash_value(parsed["template"])[:16],
        hash_value(parsed["canonical_sql"])[:16] if has_canonical_sql else "",
    )


def survey_questions(
    policies: Mapping[Flag, Policy], *, seed: int, has_canonical_sql: bool
) -> tuple[bytearray, Candidates]:
    """A first pass over all questions: their verdicts as long as none is picked, and the usable
    ones by their number."""
    verdicts = bytearray()

    def list_usable() -> Iterator[Candidate]:
        for number, dossier in enumerate(read_dossiers()):
            is_usable = find_reason(dossier, policies) is None
            verdicts.append(Verdict.NOT_PICKED if is_usable else Verdict.UNUSABLE)
            if is_usable:
                yield make_candidate(number, dossier, has_canonical_sql=has_canonical_sql)

    candidates = Candidates(list_usable(), seed=seed)
    return verdicts, candidates


@dataclass(frozen=True, slots=True)
class Choice:
    """The verdict of each question, in their order; the supply, also by cell and by corpus, and
    what it was solved to."""

    verdicts: bytearray
    supply: Counter[Group]
    cells: dict[Cell, int]
    corpora: dict[CorpusCell, int]
    solution: Solution

    def explain(self, dossier: Dossier, verdict: int) -> str:
        """Why a usable question is not selected."""
        if verdict == Verdict.CAPPED:
            return "max_per_canonical_sql: enough questions of this database have this SQL"
        cell = (dossier.source["split"], dossier.difficulty)
        taken = (
            f"{cell[0]} {cell[1]}: the targets take {self.solution.counts[cell]}"
            f" of {self.cells[cell]} usable questions"
        )
        if not self.corpora:
            return taken
        place = (dossier.source["split"], dossier.source["source"]["corpus"])
        return (
            f"{taken}; {place[0]} corpus {place[1]}: {self.solution.corpora[place]}"
            f" of {self.corpora[place]}"
        )


def choose(
    verdicts: bytearray,
    candidates: Candidates,
    targets: Targets,
    *,
    max_per_canonical_sql: int | None,
) -> Choice:
    """The choice among the candidates, with their verdicts as they are then.

    Raises:
        TargetsNotMetError: where the targets ask for more than there is.
    """
    for number in candidates.cap_paraphrases(max_per_canonical_sql):
        verdicts[number] = Verdict.CAPPED
    supply = candidates.count(
        by_database=targets.max_per_database is not None,
        by_answer_type=targets.max_answer_type_share is not None,
        by_corpus=bool(targets.corpora),
    )
    solution = find_largest(supply, targets)
    check_size(supply, targets, solution)
    for number in pick(candidates, solution, targets):
        verdicts[number] = Verdict.SELECTED
    corpora = count_corpora(supply, targets.corpora)
    return Choice(verdicts, supply, count_cells(supply), corpora, solution)
