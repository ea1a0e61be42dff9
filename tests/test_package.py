"""answerkey: the functions of the contract by one name each, imported when they are asked for."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys

import pytest

import answerkey
from tests.shared.paths import ROOT

PARAMETERS = {  # those without a default
    "assign_splits": ["questions"],
    "classify_answer_type": ["gold_answer"],
    "classify_difficulty": ["tables_involved"],
    "compute_gold_answer": ["gold_sql", "db_path"],
    "download_spider_databases": ["db_ids", "output_dir"],
    "extract_tables_involved": ["gold_sql"],
    "load": ["source"],
    "load_spider_questions": ["db_ids"],
    "validate_dataset": ["questions", "db_paths"],
}


def list_loaded(program: str) -> set[str]:
    """The modules beyond those of a bare interpreter that a program leaves loaded."""
    program = f"import sys; before = set(sys.modules); {program}; print(*set(sys.modules) - before)"
    command = [sys.executable, "-S", "-c", program]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(("name", "expected"), PARAMETERS.items(), ids=PARAMETERS)
def test_function_of_the_contract_has_its_parameters(name: str, expected: list[str]) -> None:
    parameters = inspect.signature(getattr(answerkey, name)).parameters.values()
    assert [p.name for p in parameters if p.default is inspect.Parameter.empty] == expected
    options = [p for p in parameters if p.default is not inspect.Parameter.empty]
    assert all(option.kind is inspect.Parameter.KEYWORD_ONLY for option in options)


def test_every_public_name_is_known_to_readers_of_the_code() -> None:
    tree = ast.parse((ROOT / "answerkey/__init__.py").read_text(encoding="utf-8"))
    written = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module != "importlib"
        for alias in node.names
    }
    assert written.keys() == set(answerkey.__all__) == {*PARAMETERS, "ValidationError"}
    for name, module in written.items():
        assert getattr(answerkey, name) is getattr(sys.modules[module], name)
    assert set(answerkey.__all__) <= set(dir(answerkey))


def test_unknown_name_is_refused() -> None:
    with pytest.raises(AttributeError, match="'answerkey' has no attribute 'compute_answer'"):
        answerkey.compute_answer  # noqa: B018
    with pytest.raises(ImportError, match="compute_answer"):
        exec("from answerkey import compute_answer")


def test_import_of_the_package_loads_nothing_else() -> None:
    assert list_loaded("import answerkey") == {"answerkey"}


def test_name_loads_what_it_needs_and_no_more() -> None:
    loaded = list_loaded("from answerkey import compute_gold_answer")
    stdlib = {*sys.stdlib_module_names, "__mp_main__"}
    others = {name for name in loaded if name.partition(".")[0] not in stdlib}
    assert "answerkey.engines.answers" in others
    outside = {name for name in others if not name.startswith("answerkey.engines")}
    base = {
        f"answerkey.base{name}"
        for name in ("", ".errors", ".kinds", ".paths", ".reasons", ".secrets")
    }
    assert outside == {"answerkey"} | base
