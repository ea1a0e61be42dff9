"""answerkey.load: the same questions from every source, and folders on which gold SQL is right."""

from __future__ import annotations

import gc
import hashlib
import re
import shutil
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import answerkey
from answerkey.base.errors import InputError
from answerkey.base.log import spell_count
from answerkey.loading import LoadedSplit
from answerkey.reward import RewardPool
from tests.shared.checkout import commit, hash_tree, run
from tests.shared.export_world import ExportWorld
from tests.shared.hub_server import run_hubs

COMMIT = "c" * 40
EXPORT = "data/exports/huggingface"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for what is fetched and unpacked; no other folder is said to a reward."""
    for name in ("ANSWERKEY_DATABASES", "ANSWERKEY_TEST_SUITES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def large(exported: ExportWorld, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose databases are too large for its export."""
    folder = tmp_path_factory.mktemp("large")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        world = exported.copy(folder)
        world.change("export_huggingface.max_packed_bytes", 0)
        world.run("export_huggingface")
    return folder


def check_loaded(loaded: LoadedSplit, exported: ExportWorld) -> None:
    """The questions are all there, and gold SQL is right on their databases and suites."""
    ids = [question["question_id"] for question in loaded.questions]
    assert ids == [question["question_id"] for question in exported.questions("eval")]
    assert any(question["test_suite"] for question in loaded.questions)
    batch = {name: [row[name] for row in loaded.questions] for name in loaded.questions[0]}
    with RewardPool(workers=1, **loaded.folders) as pool:
        assert pool.score_completions(batch.pop("completion"), **batch) == [1.0] * len(ids)


def test_checkout_is_used_as_it_lies(exported: ExportWorld, cache: Path) -> None:
    loaded = answerkey.load(exported.folder, split="eval")
    check_loaded(loaded, exported)
    assert loaded.databases == exported.folder / "data/databases"
    assert loaded.test_suites == exported.folder / "data/test_suites"
    assert not cache.exists()


def test_export_by_itself_is_unpacked_once(exported: ExportWorld, cache: Path) -> None:
    folder = shutil.copytree(exported.exports / "huggingface", cache.parent / "anywhere")
    loaded = answerkey.load(folder, split="eval")
    check_loaded(loaded, exported)
    assert loaded.databases.parent == loaded.test_suites.parent == cache / "files"
    assert {
        path: sha256
        for path, sha256 in hash_tree(exported.folder / "data/databases", ".").items()
        if path != "manifest.json"
    } == hash_tree(loaded.databases, ".")
    before = {path: path.stat().st_mtime_ns for path in cache.rglob("*")}
    answerkey.load(folder, split="train")
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*")} == before
    first, second, *_ = sorted(loaded.test_suites.rglob("*.sqlite"))
    first.write_bytes(second.read_bytes())
    second.unlink()
    check_loaded(answerkey.load(folder, split="eval"), exported)
    after = {path: path.stat().st_mtime_ns for path in cache.rglob("*")}
    assert {path for path in before if after[path] != before[path]} == {first, second, first.parent}


def test_hub_repository_is_fetched(
    exported: ExportWorld, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    folder = exported.exports / "huggingface"
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    with run_hubs(monkeypatch, cache / "hub") as start:
        hub = start({"org/questions": {COMMIT: files}}, {"org/questions": {"main": COMMIT}})
        monkeypatch.setattr(constants, "ENDPOINT", hub.endpoint)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache / "hub"))
        template = f"{hub.endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        loaded = answerkey.load("org/questions", split="eval", revision="main")
        with pytest.raises(FileNotFoundError, match="no dataset of this name on the hub"):
            answerkey.load("org/nothing")
    check_loaded(loaded, exported)
    assert hub.count_fetched("README.md") == 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of DVC's dependencies
@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")  # DVC's own index
def test_dvc_repository_is_fetched_from_its_remote(
    exported: ExportWorld, large: Path, cache: Path
) -> None:
    repository = cache.parent / "repository"
    shutil.copytree(large / "data", repository / "data")
    run(repository, "git", "init", "-q", "-b", "main")
    run(repository, "dvc", "init", "-q")
    run(repository, "dvc", "remote", "add", "-q", "-d", "team", str(cache.parent / "remote"))
    run(repository, "dvc", "add", "-q", EXPORT, "data/databases", "data/test_suites")
    run(repository, "dvc", "push", "-q")
    commit(repository, "A dataset")
    shutil.rmtree(repository / ".dvc/cache")
    shutil.rmtree(repository / "data/exports/huggingface")
    loaded = answerkey.load(f"file://{repository}", split="eval", revision="main")
    check_loaded(loaded, exported)
    head = run(repository, "git", "rev-parse", "HEAD").stdout.strip()
    fetched = sorted(path.name for path in (cache / "dvc" / head / "data").iterdir())
    assert fetched == ["databases", "exports", "test_suites"]
    shutil.rmtree(cache.parent / "remote")
    assert answerkey.load(repository, split="eval", revision=head) == loaded
    gc.collect()  # what DVC leaves open goes here, and in no other test


def test_databases_that_are_not_packed_are_asked_for(exported: ExportWorld, large: Path) -> None:
    export = large / EXPORT
    with pytest.raises(FileNotFoundError, match=r"databases\.parquet has no files.*databases=FOLD"):
        answerkey.load(export, split="eval")
    folders = {kind: exported.folder / "data" / kind for kind in ("databases", "test_suites")}
    check_loaded(answerkey.load(export, split="eval", **folders), exported)
    check_loaded(answerkey.load(large, split="eval"), exported)


def write_table(path: Path, rows: list[dict], **options: Any) -> None:
    """Write a table again with other rows."""
    schema = parquet.read_schema(path)
    parquet.write_table(pa.Table.from_pylist(rows, schema=schema), path, **options)


def change_rows(path: Path, change: Callable[[dict], dict]) -> None:
    write_table(path, [change(row) for row in parquet.read_table(path).to_pylist()])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"content": b"SQLite format 3"}, "harbour.sqlite: expected size_bytes .*, found 15"),
        ({"content": b"SQLite format 3", "size_bytes": 15}, "harbour.sqlite: expected sha256 "),
        ({"path": "../harbour.sqlite"}, "Not a path in .*: '../harbour.sqlite'"),
        ({"path": "{}/harbour.sqlite"}, "Not a path in .*: '/"),
    ],
)
def test_file_that_is_another_or_leaves_the_folder_is_refused(
    exported: ExportWorld, cache: Path, change: dict, words: str
) -> None:
    folder = shutil.copytree(exported.exports / "huggingface", cache.parent / "anywhere")
    if "path" in change:
        change["path"] = change["path"].format(cache.parent)
    before = hash_tree(cache.parent, "anywhere")
    change_rows(folder / "databases.parquet", lambda row: row | change)
    with pytest.raises(ValueError, match=words):
        answerkey.load(folder, split="eval")
    written = [path for path in cache.parent.rglob("*") if path.name.endswith(".sqlite")]
    assert not written
    assert hash_tree(cache.parent, "anywhere").keys() == before.keys()


BIG = 30_000_000  # bytes of zeros that take some kilobytes packed
ZEROS = bytes(BIG)


def make_bomb(files: list[bytes], **lies: Any) -> Callable[[dict], list[dict]]:
    def make(row: dict) -> list[dict]:
        facts = (
            {
                "path": f"zeros/{number}.sqlite",
                "size_bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
                "content": content,
            }
            for number, content in enumerate(files)
        )
        return [row | fact | lies for fact in facts]

    return make


BOMBS = {
    "one file": (make_bomb([ZEROS]), {}, "unpacked, it takes 30,"),
    "one file that declares less": (make_bomb([ZEROS], size_bytes=7), {}, "unpacked, it takes 30,"),
    "one content in many rows": (
        make_bomb([bytes(900_000)] * 30),
        {},
        "unpacked, it takes 27,000,000 bytes, expected 20,000,000 at most: if you trust it, load",
    ),
    "one content in many rows that declare less": (
        make_bomb([bytes(900_000)] * 30, size_bytes=7),
        {},
        "zeros/0.sqlite: expected size_bytes 7, found 900000",
    ),
    "many groups": (make_bomb([bytes(3_000_000)] * 10), {"row_group_size": 1}, "takes 30,000,000 "),
    "many rows": (make_bomb([b""] * 45_000), {}, "unpacked, it takes 22,500,000 bytes"),
    "a long path": (make_bomb([b""], path="x" * BIG), {}, "unpacked, it takes 30,"),
    "no size": (make_bomb([b"", b""], size_bytes=None), {}, "expected size_bytes, found None"),
    "a size below 0": (make_bomb([b""], size_bytes=-1), {}, "expected size_bytes, found -1"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["databases", "test_suites"])
@pytest.mark.parametrize(("make", "options", "words"), BOMBS.values(), ids=BOMBS)
def test_small_table_that_unpacks_to_more_than_allowed_is_refused(
    kind: str, make: Any, options: dict, words: str, exported: ExportWorld, cache: Path
) -> None:
    folder = shutil.copytree(exported.exports / "huggingface", cache.parent / "anywhere")
    path = folder / f"{kind}.parquet"
    row, *_ = parquet.read_table(path).to_pylist()
    write_table(path, make(row), compression="zstd", **options)
    assert path.stat().st_size < 400_000
    tracemalloc.start()
    with pytest.raises(ValueError, match=words):
        answerkey.load(folder, split="eval", max_bytes=20_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < BIG
    assert not list(cache.rglob("zeros/*.sqlite"))


def test_questions_that_unpack_to_more_than_allowed_are_refused(
    exported: ExportWorld, cache: Path
) -> None:
    folder = shutil.copytree(exported.exports / "huggingface", cache.parent / "anywhere")
    rows = parquet.read_table(folder / "eval.parquet").to_pylist()
    write_table(folder / "eval.parquet", [rows[0] | {"evidence": "x" * BIG}], compression="zstd")
    with pytest.raises(ValueError, match=r"eval\.parquet: unpacked, it takes 30,"):
        answerkey.load(folder, split="eval", max_bytes=20_000_000)
    assert len(answerkey.load(folder, split="eval", max_bytes=BIG).questions) == 1


def test_what_is_not_there_is_named(exported: ExportWorld, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="No folder nowhere: expected a checkout"):
        answerkey.load("nowhere")
    with pytest.raises(FileNotFoundError, match=r"No split 'dev' in .*: expected train or eval"):
        answerkey.load(exported.folder, split="dev")
    with pytest.raises(FileNotFoundError, match=r"No dataset in .*: expected train\.parquet or"):
        answerkey.load(tmp_path)
    (tmp_path / "dvc.yaml").touch()
    with pytest.raises(FileNotFoundError, match="run `dvc pull`"):
        answerkey.load(tmp_path)


def test_split_is_a_sequence_of_rows_that_says_what_it_is(exported: ExportWorld) -> None:
    loaded = answerkey.load(exported.folder, split="eval")
    ids = [question["question_id"] for question in exported.questions("eval")]
    assert [row["question_id"] for row in loaded] == ids
    assert (len(loaded), loaded[0], loaded[-2:]) == (
        len(ids),
        loaded.questions[0],
        loaded.questions[-2:],
    )
    databases = {row["database_name"] for row in loaded}
    words = f"{len(ids)} questions over {spell_count(len(databases), 'database')}"
    assert repr(loaded) == f"<eval of {exported.folder / EXPORT}: {words}>"


def test_column_is_no_row_of_a_split(exported: ExportWorld) -> None:
    loaded = answerkey.load(exported.folder)
    with pytest.raises(TypeError, match="found 'question_id': for a column"):
        loaded["question_id"]  # type: ignore[call-overload]


def test_split_becomes_a_table_of_pandas_and_of_datasets(exported: ExportWorld) -> None:
    loaded = answerkey.load(exported.folder, split="eval")
    assert loaded.to_pandas().to_dict("records") == loaded.questions
    dataset = loaded.to_datasets()
    assert dataset.to_list() == loaded.questions
    assert dataset.column_names == parquet.read_schema(loaded.table).names


PACKAGES = [("pyarrow", "load"), ("pandas", "pipeline"), ("datasets", "pipeline")]


@pytest.mark.parametrize(("package", "extra"), PACKAGES)
def test_missing_package_names_its_extra(
    exported: ExportWorld, monkeypatch: pytest.MonkeyPatch, package: str, extra: str
) -> None:
    steps = {
        "pyarrow": lambda: answerkey.load(exported.folder),
        "pandas": answerkey.load(exported.folder).to_pandas,
        "datasets": answerkey.load(exported.folder).to_datasets,
    }
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "pyarrow.parquet", raising=False)
    with pytest.raises(ModuleNotFoundError, match=rf"needs {package}.*pip install '\.\[{extra}\]'"):
        steps[package]()


def test_file_outside_of_its_folder_is_not_packed(
    exported: ExportWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    world = exported.copy(tmp_path)
    suites = tmp_path / "data/questions/test_suites.jsonl"
    (tmp_path / "data/secret.sqlite").write_bytes(b"secret")
    suites.write_text(re.sub(r"data/test_suites/[^\"]*", "../secret.sqlite", suites.read_text()))
    with pytest.raises(InputError, match=r"Not a path in data/test_suites: '\.\./secret.sqlite'"):
        world.run("export_huggingface")
