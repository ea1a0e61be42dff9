"""Answerkey: text-to-SQL corpora with gold answers that were executed, audited and versioned.

The functions that the stages run, one by one:

    from answerkey import compute_gold_answer

Nothing is imported before it is asked for: `import answerkey.reward` takes the standard library
alone, and the others need the extra `pipeline`.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from answerkey.corpus.downloads import download_spider_databases
    from answerkey.corpus.loaded_questions import load_spider_questions
    from answerkey.corpus.splits import assign_splits
    from answerkey.selection.difficulty_rule import classify_difficulty
    from answerkey.sql.tables import extract_tables_involved
    from answerkey.sqlite.answers import classify_answer_type
    from answerkey.sqlite.gold_answers import compute_gold_answer
    from answerkey.validation.checks import ValidationError
    from answerkey.validation.dataset import validate_dataset

_MODULES = {
    "ValidationError": "answerkey.validation.checks",
    "assign_splits": "answerkey.corpus.splits",
    "classify_answer_type": "answerkey.sqlite.answers",
    "classify_difficulty": "answerkey.selection.difficulty_rule",
    "compute_gold_answer": "answerkey.sqlite.gold_answers",
    "download_spider_databases": "answerkey.corpus.downloads",
    "extract_tables_involved": "answerkey.sql.tables",
    "load_spider_questions": "answerkey.corpus.loaded_questions",
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
