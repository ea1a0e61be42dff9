"""Answerkey: text-to-SQL corpora with gold answers that were executed, audited and versioned.

>>> from answerkey import classify_answer_type, classify_difficulty
>>> classify_answer_type(["Sun", "Tern"]), classify_difficulty(["ship", "visit", "port"])
('list', 'medium')

What can be imported from here, in the order of the pipeline:

- download_spider_databases: the path of each database, made where it is missing.
- load_spider_questions: one record a source question.
- assign_splits: the same records with a split and an id.
- compute_gold_answer: what gold SQL returns on its database, as a JSON value.
- classify_answer_type: integer, float, string, list or table.
- extract_tables_involved: the tables and views that SQL reads.
- classify_difficulty: easy, medium or hard by the number of tables.
- load: the questions of a dataset that was made, and folders of its databases, for a reward.
- validate_dataset: every error of a dataset, in words; and ValidationError, which holds them all.

`answerkey.reward` scores predictions. It needs the standard library alone, and so do assign_splits,
compute_gold_answer and classify_answer_type; `load` needs the extra `load`, and the others need the
extra `pipeline`. Nothing is imported before it is asked for.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from answerkey.corpus.downloads import download_spider_databases
    from answerkey.corpus.loading import load_spider_questions
    from answerkey.corpus.splits import assign_splits
    from answerkey.engines.answers import classify_answer_type
    from answerkey.engines.gold_answers import compute_gold_answer
    from answerkey.loading import load
    from answerkey.sections.classify_difficulty import classify_difficulty
    from answerkey.sql.parsed_query import extract_tables_involved
    from answerkey.validation.checks import ValidationError
    from answerkey.validation.dataset import validate_dataset

_MODULES = {
    "ValidationError": "answerkey.validation.checks",
    "assign_splits": "answerkey.corpus.splits",
    "classify_answer_type": "answerkey.engines.answers",
    "classify_difficulty": "answerkey.sections.classify_difficulty",
    "compute_gold_answer": "answerkey.engines.gold_answers",
    "download_spider_databases": "answerkey.corpus.downloads",
    "extract_tables_involved": "answerkey.sql.parsed_query",
    "load": "answerkey.loading",
    "load_spider_questions": "answerkey.corpus.loading",
    "validate_dataset": "answerkey.validation.dataset",
}

__all__ = [
    "ValidationError",
    "assign_splits",
    "classify_answer_type",
    "classify_difficulty",
    "compute_gold_answer",
    "download_spider_databases",
    "extract_tables_involved",
    "load",
    "load_spider_questions",
    "validate_dataset",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
