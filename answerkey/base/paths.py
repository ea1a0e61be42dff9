"""The paths that the stages of a project read and write, relative to its folder, each named once.

Users of the library name their own folders. A path that only one stage uses is in its script.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
_COPIES = _PACKAGE / "shipped"  # setup.py makes them
IS_CLONE = not _COPIES.is_dir()
SHIPPED = _PACKAGE.parent if IS_CLONE else _COPIES  # the files that the package has for projects

PIPELINE = Path("dvc.yaml")
CODE = Path("code.yaml")  # in a project that is not a clone: answerkey/base/digests.py

DATABASES = Path("data/databases")
SUITE_DATABASES = Path("data/test_suites")
ROLLOUTS = Path("data/rollouts")
CORRECTIONS = Path("data/corrections")
VERDICTS = Path("data/verdicts")
PRODUCT = Path("data/questions")
EXPORTS = Path("data/exports")
WIDENED = EXPORTS / "widened"  # databases, if export_trainers widens their schemas
COUNTS = Path("metrics/counts.json")

# Between stages. JSON if a file may have no records: DVC warns about each empty file.
INTERIM = Path("data/interim")
SCHEMAS = INTERIM / "schemas.jsonl"
LOADED_QUESTIONS = INTERIM / "questions.jsonl"
CORPORA = INTERIM / "corpora.json"
HELD_OUT = INTERIM / "held_out.json"
JUDGED = INTERIM / "judged"
SPLIT_QUESTIONS = INTERIM / "splits.jsonl"
SELECTION = INTERIM / "selection"
VALIDATION = INTERIM / "validation.json"
PASS_RATES = INTERIM / "pass_rates.json"
REPAIRS = INTERIM / "repairs.jsonl"

# Folders of shards.
GOLD_ANSWERS = INTERIM / "gold_answers"
PARSED = INTERIM / "parsed"
AUDIT = INTERIM / "audit"
TEST_SUITES = INTERIM / "test_suites"


def name_page(page: str) -> str:
    """The path of a page of the docs: in a clone as it is, else that of the package's copy."""
    return page if IS_CLONE else str(SHIPPED / page)


def find_exported_databases(root: Path = Path()) -> Path:
    """Return the folder of the databases for a project's exports: the widened ones, if
    export_trainers made them."""
    widened = root / WIDENED
    return widened if (widened / "manifest.json").is_file() else root / DATABASES
