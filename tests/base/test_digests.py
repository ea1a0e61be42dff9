"""Digests of the installed code: what moves them, and who is refused for it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from answerkey.base import digests
from answerkey.base.digests import check_code, digest_stage, list_parts
from answerkey.base.errors import InputError
from answerkey.project.record import record_installed
from tests.shared.paths import ROOT

DOCSTRING = ('"""', '"""Changed. ')
CODE = ("import annotations\n", "import annotations\n\nCHANGED = True\n")
PRECISION = ('"questions"', ' "questions"')
# All but those that open no database: engines other than SQLite read queries with sqlglot.
OF_SQLGLOT = set(list_parts()) - {"classify_difficulty", "select_questions", "export_dataset"}
# What is changed in a file, and the stages whose digest moves.
CHANGES = {
    "a docstring": ("answerkey/engines/sqlite/guard.py", DOCSTRING, set()),
    "the log": ("answerkey/base/log.py", CODE, set()),
    "a doubt": (
        "answerkey/doubts/answers.py",
        CODE,
        {"audit_gold_answers", "compare_questions"},
    ),
    "what shards of answers run": (
        "answerkey/gold/execution.py",
        CODE,
        {"compute_gold_answers"},
    ),
    "the page": ("answerkey/report/templates/report.css", ("{", " {"), {"report_dataset"}),
    "counts of precision": ("data/flag_precision.json", PRECISION, {"compare_questions"}),
    "the card": ("templates/card.md.j2", ("\n", "\n\n"), {"export_trainers", "export_huggingface"}),
    "what none has": ("data/verdicts/README.md", ("#", "##"), set()),
}


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("digests")
    shutil.copy(ROOT / "dvc.yaml", folder)
    (folder / "data").mkdir()
    shutil.copy(ROOT / "data/flag_precision.json", folder / "data")
    for name in ("answerkey", "templates", "data/corrections", "data/verdicts"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    """Hash files again in each test, and after it."""
    digests.hash_part.cache_clear()
    yield
    digests.hash_part.cache_clear()


def read_digests(root: Path) -> dict[str, str]:
    """The digests of the code in a folder."""
    digests.hash_part.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digests, "ROOT", root)
        patch.setattr(digests, "SHIPPED", root)
        return {name: digest_stage(parts) for name, parts in list_parts().items()}


@pytest.fixture(scope="module")
def known() -> dict[str, str]:
    return read_digests(ROOT)


def list_moved(before: dict[str, str], after: dict[str, str]) -> set[str]:
    assert before.keys() == after.keys()
    return {name for name in before if before[name] != after[name]}


def test_digests_are_the_same_wherever_the_code_lies(clone: Path, known: dict[str, str]) -> None:
    assert known == read_digests(clone)
    assert all(re.fullmatch(r"[0-9a-f]{16}", digest) for digest in known.values())
    assert len(set(known.values())) == len(known)


@pytest.mark.parametrize("what", CHANGES)
def test_digest_moves_for_the_code_that_a_stage_runs_alone(
    clone: Path, known: dict[str, str], what: str
) -> None:
    name, (before, after), moved = CHANGES[what]
    own = (clone / name).read_text(encoding="utf-8")
    assert before in own
    (clone / name).write_text(own.replace(before, after, 1), encoding="utf-8")
    try:
        assert list_moved(known, read_digests(clone)) == moved
    finally:
        (clone / name).write_text(own, encoding="utf-8")


def test_version_of_sqlglot_moves_those_of_stages_that_import_it(
    known: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = tmp_path / "sqlglot-99.0.dist-info/METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: sqlglot\nVersion: 99.0\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert list_moved(known, read_digests(ROOT)) == OF_SQLGLOT


def write_code(**others: str) -> None:
    """A code.yaml of the installed code, with other digests of some stages."""
    record = record_installed(files={}, params=[])
    record.stages.update(others)
    Path("code.yaml").write_text(record.encode(), encoding="utf-8")


@pytest.mark.usefixtures("here")
def test_only_the_stage_whose_code_is_other_is_refused() -> None:
    check_code()  # a clone has no code.yaml
    write_code()
    check_code()
    write_code(parse_gold_sql="0" * 16)
    check_code("compute_gold_answers")
    check_code("a_stage_of_the_owner")
    for stages in (["parse_gold_sql"], []):
        with pytest.raises(
            InputError, match=r"for parse_gold_sql: run `answerkey upgrade`"
        ) as told:
            check_code(*stages)
        assert "\n" not in str(told.value)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("text", ["", "- a\n", "answerkey: 0.1.0\n", "<<<<<<< HEAD\n"])
def test_code_that_is_none_is_named(text: str) -> None:
    Path("code.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"code\.yaml"):
        check_code("parse_gold_sql")
