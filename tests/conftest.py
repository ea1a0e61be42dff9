"""What tests share: worlds that have run, the same examples of a property on every run, how many
processes run them, pages that a run rewrites, and the rule by which the gate skips nothing.

A test that lacks a program or a package skips, with a reason that begins with `needs`. Where
ANSWERKEY_REQUIRE_ALL is set, it fails instead.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from tests.shared.checkout import commit, make_checkout, run
from tests.shared.databases import make_database
from tests.shared.paths import ROOT

if TYPE_CHECKING:
    from tests.shared.export_world import ExportWorld

# A shared machine may be slow at any moment. What has passed passes again: new examples are looked
# for where somebody means to, with `pytest --hypothesis-profile=search`.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("search", deadline=None, max_examples=1000)
settings.load_profile("repeatable")


# A process takes one token of Ray for all its clusters, the one of the first.
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex())

SLOW_TEST_S = 3600  # the limit of a slow test; that of the others stands in pyproject.toml


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that brings tables and numbers of the docs up to date: see CONTRIBUTING.md."""
    parser.addoption("--rewrite", action="store_true", help="write into pages what belongs there")


@pytest.fixture
def expect_page(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """A check that a page is what the code makes of it; with --rewrite, it is made so."""

    def check(name: str, text: str) -> None:
        if request.config.getoption("rewrite"):
            (ROOT / name).write_text(text, encoding="utf-8")
        words = f"run this test with --rewrite, which writes into {name} what belongs there"
        assert (ROOT / name).read_text(encoding="utf-8") == text, words

    return check


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to stand in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let slow tests take longer."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW_TEST_S))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """The report of a test; where nothing may be missing, that of a missing tool is a failure."""
    report = yield
    if report.skipped and "ANSWERKEY_REQUIRE_ALL" in os.environ:
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        if reason.startswith("needs "):
            report.outcome = "failed"
            report.longrepr = f"{reason}, and ANSWERKEY_REQUIRE_ALL is set"
    return report


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """None, for as many processes as xdist says; for a single file none, since one would run it."""
    is_one_file = len(config.args) == 1 and Path(config.args[0].partition("::")[0]).is_file()
    return 0 if is_one_file else None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what is left out: where several processes run, pytest does not count it."""
    if config.option.markexpr == "not slow":
        terminalreporter.write_line("Left out: tests that take minutes, run by pytest -m slow")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout that has run, its result committed: to copy, not to change."""
    folder = make_checkout(tmp_path_factory.mktemp("finished") / "answerkey")
    run(folder, "dvc", "repro")
    commit(folder, "Whatever a change of code moved")
    return folder


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with what an index gets of a checkout: a source distribution, and its wheel."""
    folder = make_checkout(tmp_path_factory.mktemp("distributions") / "checkout")
    run(folder, "python", "-m", "build", "--no-isolation", "--outdir", "../dist")
    shutil.rmtree(folder)
    return folder.parent / "dist"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a world whose product is built: to copy, not to change."""
    from tests.shared.project_world import build_world  # needs the pipeline

    return build_world(tmp_path_factory.mktemp("built"), "export_dataset")


@pytest.fixture(scope="session")
def exported(tmp_path_factory: pytest.TempPathFactory) -> ExportWorld:
    """A small project whose exports are built: to read and to copy, not to change."""
    from tests.shared.export_world import ExportWorld  # needs the pipeline

    return ExportWorld(tmp_path_factory.mktemp("exported"))


@pytest.fixture
def inside(exported: ExportWorld, monkeypatch: pytest.MonkeyPatch) -> ExportWorld:
    """The project of `exported` as the current folder, where rewards look for databases."""
    for name in ("ANSWERKEY_DATABASES", "ANSWERKEY_TEST_SUITES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(exported.folder)
    return exported


@pytest.fixture
def ships(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where rewards look for databases, with one: two ships, Sun and Tern."""
    path = tmp_path / "data" / "databases" / "ships" / "ships.sqlite"
    path.parent.mkdir(parents=True)
    make_database(
        path,
        "CREATE TABLE ship (name TEXT, weight REAL);"
        " INSERT INTO ship VALUES ('Sun', 55.5), ('Tern', 40.0)",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANSWERKEY_DATABASES", raising=False)
    return tmp_path / "data" / "databases"
