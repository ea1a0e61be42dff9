"""How the releases of corpora are laid out: a layout is what differs between them, by name.

To add one, add a Layout to LAYOUTS: docs/corpora.md shows how.
"""

from __future__ import annotations

from dataclasses import dataclass

SPIDER = "spider"  # where an entry names no layout
DIFFICULTY = "difficulty"  # how the record of where a question comes from names it
GRADING_METHOD = "grading_method"  # a rule of comparison, as in ReViSQL's BIRD-Verified

# What the pipeline itself writes of where a question comes from.
SOURCE_FIELDS = (
    *("corpus", "repo_id", "revision", "file", "index", "db_id", "correction"),
    DIFFICULTY,
)


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of the fields of a row, and where databases lie.

    databases: the folders below the root that have ID/ID.sqlite or ID/schema.sql; a database is in
        one of them, and its train and validation may have one each.
    evidence: the field with what a question presupposes and its text does not say, if there is one.
        A row may lack it, or have null or blank text there.
    difficulty: the field with the corpus's own word for how difficult a question is, if there is
        one.
    kept: further fields that go into the record of where a question comes from, where a row has
        them: the corpus's own id, a grading_method.

    Raises:
        ValueError: where a kept field has the name of one that the pipeline writes.
    """

    question: str
    gold_sql: str
    databases: tuple[str, ...]
    db_id: str = "db_id"
    evidence: str | None = None
    difficulty: str | None = None
    kept: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if taken := sorted(set(self.kept) & set(SOURCE_FIELDS)):
            raise ValueError(f"Layout: kept has {taken[0]!r}, which the pipeline writes itself")

    @property
    def required(self) -> tuple[str, str, str]:
        """The fields that every row has as text: database, gold SQL, question."""
        return (self.db_id, self.gold_sql, self.question)

    @property
    def optional(self) -> tuple[str, ...]:
        """The fields that a row may lack."""
        return (*filter(None, [self.evidence, self.difficulty]), *self.kept)


LAYOUTS = {
    # The release of Spider (Yu et al., 2018), and what was made in its image.
    SPIDER: Layout(
        question="question", gold_sql="query", databases=("database",), kept=(GRADING_METHOD,)
    ),
    # Spider-Syn (Gan et al., 2021): the words of a question replaced by synonyms.
    "spider_syn": Layout(
        question="SpiderSynQuestion",
        gold_sql="query",
        databases=("database",),
        kept=("SpiderQuestion", GRADING_METHOD),
    ),
    # The release of BIRD (Li et al., 2023); question_id and difficulty are those of its dev set.
    "bird": Layout(
        question="question",
        gold_sql="SQL",
        databases=("train_databases", "dev_databases"),
        evidence="evidence",
        difficulty="difficulty",
        kept=("question_id", GRADING_METHOD),
    ),
    # The release of SynSQL-2.5M (Li et al., 2025: OmniSQL). Its chains of thought are not kept.
    "synsql": Layout(
        question="question",
        gold_sql="sql",
        databases=("databases",),
        evidence="external_knowledge",
        difficulty="sql_complexity",
        kept=("question_style", GRADING_METHOD),
    ),
}
