"""`answerkey init`: what it writes, what it leaves alone, and that nothing stays of what failed."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from answerkey.base.digests import check_code, digest_stage, list_parts
from answerkey.base.errors import InputError
from answerkey.base.paths import PIPELINE
from answerkey.command import main
from answerkey.project.files import FOLDERS
from answerkey.project.init import init_project
from answerkey.sections.whole_file import read_params
from tests.shared.checkout import hash_tree, run
from tests.shared.paths import ROOT
from tests.shared.shop_world import write_shop

OURS = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))
# Of our dvc.yaml, what a project's has not, or has in another place.
OTHER_DEPS = ("answerkey/", "data/sample", "${", "templates/")


def read_stages(folder: Path) -> dict[str, dict]:
    return yaml.safe_load((folder / PIPELINE).read_text(encoding="utf-8"))["stages"]


def list_files(folder: Path) -> set[str]:
    """The files that are neither git's nor DVC's."""
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {path.as_posix() for path in paths if path.parts[0] not in (".git", ".dvc")}


def test_project_has_what_it_needs_and_nothing_of_the_sample(made: Path) -> None:
    stages = {f"stages/{path.name}" for path in (ROOT / "stages").glob("*.py")}
    names = ("conversion.md", "train.jsonl", "databases/shop/shop.sqlite")
    corpus = {"data/local/shop.dvc", *(f"data/local/shop/{name}" for name in names)}
    assert list_files(made) == {
        *(".dvcignore", ".gitignore", "README.md", "code.yaml", "dvc.yaml", "params.yaml"),
        *("pyproject.toml", "requirements.lock", "tests/test_dataset.py"),
        *(f"{folder}/README.md" for folder in FOLDERS),
        *stages,
        *corpus,
    }
    for path in made.rglob("*"):
        if path.is_file() and path.suffix in (".yaml", ".toml", ".lock", ".md"):
            words = path.read_text(encoding="utf-8")
            assert not re.search(r"data/sample|corpora\.sample|\bsample:", words), path


def test_stages_are_ours_and_depend_on_their_digests(made: Path) -> None:
    stages = read_stages(made)
    assert list(stages) == list(OURS["stages"])
    for name, stage in stages.items():
        ours = OURS["stages"][name]
        assert stage.keys() - {"params"} == ours.keys() - {"params"}
        for key in stage.keys() - {"deps", "params"}:
            assert stage[key] == ours[key]
        params = [*ours.get("params", []), {"code.yaml": [name]}]
        assert sorted(map(str, stage["params"])) == sorted(map(str, params))
        kept = [dep for dep in ours["deps"] if not dep.startswith(OTHER_DEPS)]
        assert [dep for dep in stage["deps"] if dep in ours["deps"]] == kept
        assert len(set(stage["deps"])) == len(stage["deps"])
    assert "${corpora.shop.root}" in stages["load_questions"]["deps"]
    assert "templates" in stages["export_trainers"]["deps"]
    for script in (ROOT / "stages").glob("*.py"):
        assert (made / "stages" / script.name).read_bytes() == script.read_bytes()


def test_digests_are_those_of_the_installed_code(project: Path) -> None:
    code = yaml.safe_load((project / "code.yaml").read_text(encoding="utf-8"))
    assert {name: code[name] for name in OURS["stages"]} == {
        name: digest_stage(parts) for name, parts in list_parts().items()
    }
    check_code()


def test_lock_and_project_pin_what_is_installed(made: Path) -> None:
    pytest.importorskip("duckdb", reason="needs the extra `duckdb`")
    lines = (made / "requirements.lock").read_text(encoding="utf-8").splitlines()
    pins = {Requirement(line).name: line for line in lines if not line.startswith("#")}
    (dependency,) = tomllib.loads((made / "pyproject.toml").read_text())["project"]["dependencies"]
    assert dependency == pins["answerkey"]
    ours = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    assert {pins[name] for name in ("dvc", "sqlglot", "duckdb", "sqlglotc")} <= set(ours)
    assert "pytest" not in pins


def test_corpus_of_the_project_is_set_and_shared(project: Path) -> None:
    params = read_params()
    assert (params.corpus, params.select_questions.preset) == ("shop", "small")
    assert run(project, "dvc", "config", "core.remote").stdout.strip() == "beside"
    assert run(project, "dvc", "status", "data/local/shop.dvc").stdout.startswith("Data and")
    run(project, "dvc", "push", "-q")
    assert (project.parent / "project-storage").is_dir()
    ignored = run(project, "git", "status", "--porcelain", "-uall").stdout
    assert "data/local/shop/" not in ignored


def test_sample_is_copied_where_it_is_asked_for(here: Path) -> None:
    told = init_project(here / "demo", sample=True)
    assert told.splitlines()[-3:] == ["Next:", "  cd demo", "  dvc repro"]
    assert hash_tree(here / "demo/data/sample", ".") == hash_tree(ROOT / "data/sample", ".")
    stages = read_stages(here / "demo")
    roots = [dep for dep in stages["download_databases"]["deps"] if "corpora." in dep]
    assert roots == ["${corpora.sample.root}"]


def test_bare_project_says_how_to_make_its_corpus(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    database, questions = write_shop(here / "theirs")
    assert main(["init", "own"]) == 0
    first, command, last = capsys.readouterr().out.splitlines()[-3:]
    assert (first, last) == ("  cd own", "  dvc repro")
    command = command.split("#")[0].replace("shop.duckdb", str(database))
    command = command.replace("questions.xlsx", str(questions))
    done = run(here / "own", "python", "-m", *command.split())
    assert "corpora.shop is new" in done.stdout
    said = run(here / "own", "python", "-m", "stages.download_databases").stderr
    assert "1 database (1 made" in said
    assert "warning" not in said.replace("warning: git ignores", "")
    for stage in ("download_databases", "load_questions"):
        deps = read_stages(here / "own")[stage]["deps"]
        assert [dep for dep in deps if "corpora." in dep] == ["${corpora.shop.root}"]


def test_what_is_there_stays_and_is_named(here: Path) -> None:
    database, questions = write_shop(here / "theirs")
    run(here, "git", "init", "-q")
    own = here / "teams/our shop"
    (own / "tests").mkdir(parents=True)
    for name in ("README.md", "pyproject.toml", "tests/test_ours.py"):
        (own / name).write_text("# Ours.\n", encoding="utf-8")
    before = hash_tree(own, ".")
    told = init_project(own, databases=[str(database)], questions=questions)
    kept = re.findall(r"^kept as it is: (.+)$", told, re.MULTILINE)
    assert kept == ["README.md", "pyproject.toml"]
    assert before.items() <= hash_tree(own, ".").items()
    assert not (own / ".git").exists()
    assert (own / ".dvc").is_dir()
    url = run(own, "dvc", "config", "remote.beside.url").stdout.strip()
    assert (own / ".dvc" / url).resolve() == here.parent / "our shop-storage"


@pytest.mark.parametrize("name", ["dvc.yaml", "params.yaml", "code.yaml"])
def test_project_of_somebody_is_refused(here: Path, name: str) -> None:
    (here / name).write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=rf"has {name}, and `answerkey init` replaces nothing"):
        init_project(here, sample=True)
    assert [path.name for path in here.iterdir()] == [name]


def break_database(folder: Path) -> None:
    (folder / "shop.db").write_bytes(b"SQLite format 3\x00 no more")


def break_questions(folder: Path) -> None:
    (folder / "questions.json").write_text("[{]", encoding="utf-8")


def occupy_stage(folder: Path) -> None:
    (folder / "own/stages").mkdir(parents=True)
    (folder / "own/stages/load_questions.py").write_text("ours = 1\n", encoding="utf-8")


def break_git(folder: Path) -> None:
    """A `.git` that names no repository: DVC cannot start in it."""
    (folder / "own").mkdir()
    (folder / "own/.git").write_text("gitdir: nowhere\n", encoding="utf-8")


SPOILED = [break_database, break_questions, occupy_stage, break_git]


def test_word_of_git_is_handed_on_in_one_line(here: Path) -> None:
    break_git(here)
    with pytest.raises(InputError, match=r"^git rev-parse --git-dir: fatal: not a git repo[^\n]+$"):
        init_project(here / "own", sample=True)


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda each: each.__name__)
def test_failed_init_leaves_nothing_behind(here: Path, spoil) -> None:
    database, questions = write_shop(here)
    spoil(here)
    before = {path: path.is_dir() or path.read_bytes() for path in here.rglob("*")}
    with pytest.raises(InputError):
        init_project(here / "own", databases=[str(database)], questions=questions)
    assert {path: path.is_dir() or path.read_bytes() for path in here.rglob("*")} == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sample", "--corpus", "spider"], "expected one of --sample"),
        (["--questions", "questions.json"], "expected --database and --questions"),
        (["--database", "shop.db"], "expected --database and --questions"),
        (["--corpus", "nothing"], "expected one of sample, local"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(
    here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    write_shop(here)
    with pytest.raises(SystemExit):
        main(["init", "own", *arguments])
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not (here / "own").exists()


def test_project_without_git_has_dvc_alone(
    here: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path_factory.mktemp("no_programs")))
    assert shutil.which("git") is None
    init_project(here / "own", sample=True)
    assert not (here / "own/.git").exists()
    assert "no_scm" in (here / "own/.dvc/config").read_text(encoding="utf-8").lower()
