"""Every chosen database is whole, is what its source has, and is made once."""

import contextlib
import hashlib
import io
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from answerkey.corpus import downloads
from answerkey.corpus.corpora import parse_corpora, parse_corpus
from answerkey.corpus.downloads import (
    Downloads,
    download_spider_databases,
    locate_databases,
    read_tables,
    update_databases,
)
from answerkey.corpus.source_questions import list_db_ids
from answerkey.records import read_json
from answerkey.sections.corpora import Download
from tests.shared.bird_world import MEALS, RESORTS, TRAIN, write_bird, write_json
from tests.shared.databases import make_database
from tests.shared.hub_server import run_hubs
from tests.shared.project_world import World, write_params
from tests.shared.synsql_world import ROWS, synsql_entry, write_rows, write_synsql

COMMIT = "1" * 40
LIMITS = Download(attempts=1, backoff_s=0, deadline_s=1)


SHOP = "CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO shop VALUES (1, 'A');"


FARM = "CREATE TABLE farm (id INTEGER PRIMARY KEY); CREATE VIEW v AS SELECT id FROM farm;"


def write_questions(root, by_file):
    for name, db_ids in by_file.items():
        rows = [{"db_id": db_id, "query": "SELECT 1", "question": "?"} for db_id in db_ids]
        (root / name).write_text(json.dumps(rows))


DATABASES = Path("data/databases")


@pytest.fixture
def entry(tmp_path, monkeypatch):
    """A local corpus: `shop` as text, `farm` as a file, `barn` without questions. The test stands
    in an empty folder."""
    root = tmp_path / "corpus"
    (root / "database" / "shop").mkdir(parents=True)
    (root / "database" / "shop" / "schema.sql").write_text(SHOP)
    make_database(root / "database" / "farm" / "farm.sqlite", FARM)
    make_database(root / "database" / "barn" / "barn.sqlite", FARM)
    write_questions(root, {"train.json": ["shop", "shop"], "dev.json": ["farm"]})
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return {
        "origin": "directory",
        "root": str(root),
        "db_list": "all",
        "questions": {"train": ["train.json"], "validation": ["dev.json"]},
    }


def update(entry):
    """Update data/databases for a corpus; how many were made, kept and removed."""
    limits = Download(attempts=2, backoff_s=0.05, deadline_s=30)
    done = update_databases([parse_corpus("tried", entry)], DATABASES, limits=limits)
    return len(done.paths) - done.kept, done.kept, done.removed


def read_manifest():
    return json.loads(Path("data/databases/manifest.json").read_text())["databases"]


def list_files(top):
    return sorted(str(path.relative_to(top)) for path in Path(top).rglob("*") if path.is_file())


def hash_bytes(content):
    return hashlib.sha256(content).hexdigest()


def test_directory_gives_a_file_a_database_and_a_manifest_that_names_no_machine(entry):
    assert update(entry) == (2, 0, 0)
    assert list_files("data") == [
        "databases/farm/farm.sqlite",
        "databases/manifest.json",
        "databases/shop/shop.sqlite",
    ]
    manifest = read_manifest()
    assert list(manifest) == ["farm", "shop"]
    for db_id, described in manifest.items():
        content = Path(f"data/databases/{db_id}/{db_id}.sqlite").read_bytes()
        assert described["sha256"] == hash_bytes(content)
        assert described["size_bytes"] == len(content)
    assert manifest["shop"]["origin"] == {
        "corpus": "tried",
        "kind": "sql",
        "path": "database/shop/schema.sql",
        "sha256": hash_bytes(SHOP.encode()),
    }
    assert manifest["farm"]["origin"] == {
        "corpus": "tried",
        "kind": "file",
        "path": "database/farm/farm.sqlite",
        "sha256": manifest["farm"]["sha256"],
    }
    assert entry["root"] not in (DATABASES / "manifest.json").read_text()
    schema = read_tables("farm", DATABASES / "farm/farm.sqlite")
    assert schema["database_name"] == "farm"
    assert [table["name"] for table in schema["tables"]] == ["farm", "v"]


def test_second_run_keeps_every_file_and_every_byte(entry):
    update(entry)
    before = {path: (Path("data") / path).read_bytes() for path in list_files("data")}
    inodes = [os.stat(f"data/databases/{name}/{name}.sqlite").st_ino for name in ("farm", "shop")]
    assert update(entry) == (0, 2, 0)
    assert {path: (Path("data") / path).read_bytes() for path in list_files("data")} == before
    assert inodes == [
        os.stat(f"data/databases/{name}/{name}.sqlite").st_ino for name in ("farm", "shop")
    ]


def test_sqlite_file_wins_over_text_beside_it(entry):
    folder = Path(entry["root"]) / "database" / "shop"
    make_database(folder / "shop.sqlite", "CREATE TABLE other (a);")
    (folder / "schema.sql").write_text("CREATE TABLE shop (id int) ENGINE=InnoDB;")
    update(entry)
    assert read_manifest()["shop"]["origin"]["kind"] == "file"


def test_changed_source_is_made_again_and_nothing_else(entry):
    update(entry)
    source = Path(entry["root"]) / "database" / "shop" / "schema.sql"
    source.write_text(SHOP + "INSERT INTO shop VALUES (2, 'B');")
    assert update(entry) == (1, 1, 0)
    with contextlib.closing(sqlite3.connect("data/databases/shop/shop.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM shop").fetchone() == (2,)


@pytest.mark.parametrize("damage", ["change", "remove", "lose manifest", "break manifest"])
def test_what_does_not_match_the_manifest_is_made_again(entry, damage):
    update(entry)
    path, manifest = Path("data/databases/shop/shop.sqlite"), Path("data/databases/manifest.json")
    before, before_manifest = path.read_bytes(), manifest.read_bytes()
    if damage == "change":
        make_database(path, SHOP + "INSERT INTO shop VALUES (7, 'foreign');")
    elif damage == "remove":
        path.unlink()
    elif damage == "lose manifest":
        manifest.unlink()
    else:
        manifest.write_text('{"databases": {')
    made = 1 if damage in ("change", "remove") else 2
    assert update(entry) == (made, 2 - made, 0)
    assert path.read_bytes() == before
    assert manifest.read_bytes() == before_manifest


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_links_into_a_cache_are_never_written_through(entry, link):
    update(entry)
    cache = Path("cache").absolute()
    cache.mkdir()
    before = {}
    for number, name in enumerate(list_files("data")):
        path, blob = Path("data", name), cache / str(number)
        path.rename(blob)
        blob.chmod(0o444)
        link(blob, path)
        before[blob] = blob.read_bytes()
    source = Path(entry["root"]) / "database" / "shop" / "schema.sql"
    source.write_text(SHOP + "INSERT INTO shop VALUES (2, 'B');")
    assert update(entry) == (1, 1, 0)
    assert {blob: blob.read_bytes() for blob in before} == before
    assert (
        read_manifest()["shop"]["size_bytes"] == os.stat("data/databases/shop/shop.sqlite").st_size
    )


def test_what_is_not_listed_is_removed_and_link_targets_stay(entry):
    update(entry)
    outside = Path("outside").absolute()
    outside.mkdir()
    (outside / "precious.txt").write_text("kept")
    databases = Path("data/databases")
    (databases / "stray.txt").write_text("x")
    (databases / ".manifest.json.99.partial").write_text("x")
    (databases / "farm" / ".farm.sqlite.99.partial").write_text("x")
    (databases / "farm" / "farm.sqlite-journal").write_text("x")
    (databases / "link").symlink_to(outside)
    (databases / "empty").mkdir()
    entry |= {"db_list": ["farm"]}
    assert update(entry) == (0, 1, 5)
    assert list_files("data/databases") == ["farm/farm.sqlite", "manifest.json"]
    assert (outside / "precious.txt").read_text() == "kept"
    assert list(read_manifest()) == ["farm"]


def test_linked_folder_of_a_database_becomes_a_real_one(entry):
    update(entry)
    folder, elsewhere = Path("data/databases/farm"), Path("elsewhere").absolute()
    folder.rename(elsewhere)
    folder.symlink_to(elsewhere)
    assert update(entry) == (1, 1, 1)
    assert not folder.is_symlink()
    assert list_files(elsewhere) == ["farm.sqlite"]


def test_listed_database_without_a_file_is_named_with_close_ones(entry):
    entry |= {"db_list": ["farm", "shops"]}
    with pytest.raises(
        FileNotFoundError, match=r"^Failed to download database: shops: .*close to it: shop "
    ):
        update(entry)


@pytest.mark.parametrize("layout", ["spider", "bird"])
def test_root_that_does_not_exist_is_called_that(entry, layout):
    entry |= {"root": "no/where", "layout": layout, "db_list": ["farm"]}
    words = r"^Failed to download database: farm: The root of corpus tried does not exist: no/where"
    with pytest.raises(FileNotFoundError, match=words) as caught:
        update(entry)
    folder = {"spider": "database", "bird": "train_databases"}[layout]
    assert f"expected a directory with {folder}/farm/farm.sqlite" in str(caught.value)


def test_database_of_another_file_name_is_told_by_what_is_in_its_folder(entry):
    folder = Path(entry["root"]) / "database" / "farm"
    (folder / "farm.sqlite").rename(folder / "farm.db")
    words = r"farm: neither farm\.sqlite nor schema\.sql in .*database/farm, which has .*farm\.db"
    with pytest.raises(FileNotFoundError, match=words):
        update(entry)


def test_every_broken_database_is_named_and_the_others_are_kept(entry):
    database = Path(entry["root"]) / "database"
    texts = {
        "cafe": "CREATE TABLE caffè (a);".encode("latin-1"),
        "dice": b"CREATE TABLE t (a, b DEFAULT (random())); INSERT INTO t (a) VALUES (1);",
        "torn": (database / "farm" / "farm.sqlite").read_bytes()[:3000],
        "well": b"CREATE TABLE t (a);",
    }
    for name, content in texts.items():
        (database / name).mkdir()
        file = f"{name}.sqlite" if name == "torn" else "schema.sql"
        (database / name / file).write_bytes(content)
    entry |= {"db_list": ["farm", "shop", *texts]}
    with pytest.raises(ValueError, match=r"^3 databases are missing or broken:") as caught:
        update(entry)
    lines = str(caught.value).splitlines()[1:]
    for name, words, line in zip(
        ("cafe", "dice", "torn"),
        ("expected SQL as UTF-8", "function random is not allowed", "Corrupt database"),
        lines,
        strict=True,
    ):
        assert f"database/{name}/" in line
        assert words in line
    made = [f"{name}/{name}.sqlite" for name in ("farm", "shop", "well")]
    assert list_files("data/databases") == sorted([*made, "manifest.json"])
    assert list(read_manifest()) == ["farm", "shop", "well"]
    entry |= {"db_list": ["farm", "shop", "well"]}
    assert update(entry) == (0, 3, 0)


TEXTS = {"farm": FARM, "shop": SHOP, "barn": "CREATE TABLE barn (a);"}


@pytest.fixture
def start(tmp_path, monkeypatch):
    with run_hubs(monkeypatch, tmp_path / "hf") as start:
        yield start


def make_world(tmp_path, db_ids=("farm", "shop", "barn"), suffix=""):
    """Two repositories: one with an archive, one with a file a database."""
    files, packed = {}, io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("spider_data/README", "not a database")
        archive.writestr("../evil.sqlite", "never extracted")
        for db_id in db_ids:
            path = make_database(tmp_path / f"source{suffix}" / db_id, TEXTS[db_id])
            files[f"database/{db_id}/{db_id}.sqlite"] = path.read_bytes()
            archive.write(path, f"spider_data/database/{db_id}/{db_id}.sqlite")
    zipped = {"spider_data.zip": packed.getvalue()}
    return {"org/zip": {COMMIT: zipped}, "org/files": {COMMIT: files}}


def hub_entry(world, kind, db_list=("farm", "shop"), **changes):
    archive = world["org/zip"][COMMIT]["spider_data.zip"]
    databases = {
        "kind": kind,
        "archive": {
            "repo_id": "org/zip",
            "revision": COMMIT,
            "path": "spider_data.zip",
            "sha256": hash_bytes(archive),
            "member": "spider_data/database/{db_id}/{db_id}.sqlite",
        },
        "files": {
            "repo_id": "org/files",
            "revision": COMMIT,
            "path": "database/{db_id}/{db_id}.sqlite",
        },
    }
    databases[kind] |= changes
    return {
        "origin": "hub",
        "db_list": list(db_list),
        "questions": {
            "repo_id": "org/questions",
            "revision": "main",
            "files": {"train": ["t.parquet"], "validation": ["v.parquet"]},
        },
        "databases": databases,
    }


@pytest.fixture
def empty(tmp_path, monkeypatch):
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_archive_is_fetched_once_and_leaves_nothing_behind(start, empty, tmp_path):
    world = make_world(tmp_path)
    server = start(world)
    entry = hub_entry(world, "archive")
    assert update(entry) == (2, 0, 0)
    assert server.count_fetched("spider_data.zip") == 1
    assert list_files("data") == [
        "databases/farm/farm.sqlite",
        "databases/manifest.json",
        "databases/shop/shop.sqlite",
    ]
    assert [path.name for path in Path("data").iterdir() if path.name.startswith(".")] == []
    assert read_manifest()["farm"]["origin"] == {
        "corpus": "tried",
        "kind": "archive",
        "repo_id": "org/zip",
        "revision": COMMIT,
        "path": "spider_data.zip",
        "sha256": hash_bytes(world["org/zip"][COMMIT]["spider_data.zip"]),
        "member": "spider_data/database/farm/farm.sqlite",
    }
    asked = len(server.requests)
    assert update(entry) == (0, 2, 0)
    assert len(server.requests) == asked


def test_member_shorter_than_the_archive_says_is_refused(start, empty, tmp_path):
    world = make_world(tmp_path)
    forged = bytearray(world["org/zip"][COMMIT]["spider_data.zip"])
    entry = forged.rindex(b"PK\x01\x02", 0, forged.rindex(b"database/farm/farm.sqlite"))
    size = int.from_bytes(forged[entry + 24 : entry + 28], "little")
    forged[entry + 24 : entry + 28] = (size + 1).to_bytes(4, "little")
    world["org/zip"][COMMIT]["spider_data.zip"] = bytes(forged)
    start(world)
    entry = hub_entry(world, "archive")
    with pytest.raises(ValueError, match=f"farm.sqlite has {size} bytes, expected {size + 1}"):
        update(entry)
    assert list_files("data/databases") == ["manifest.json", "shop/shop.sqlite"]


def test_files_are_fetched_one_by_one_and_only_where_missing(start, empty, tmp_path):
    world = make_world(tmp_path)
    server = start(world)
    entry = hub_entry(world, "files")
    assert update(entry) == (2, 0, 0)
    assert server.count_fetched("farm.sqlite") == server.count_fetched("shop.sqlite") == 1
    assert read_manifest()["shop"]["origin"] == {
        "corpus": "tried",
        "kind": "files",
        "repo_id": "org/files",
        "revision": COMMIT,
        "path": "database/shop/shop.sqlite",
    }
    entry = hub_entry(world, "files", ["farm", "shop", "barn"])
    assert update(entry) == (1, 2, 0)
    assert server.count_fetched(".sqlite") == 3


def test_branch_is_recorded_as_the_commit_it_was(start, empty, tmp_path):
    world = make_world(tmp_path)
    start(world, {"org/files": {"main": COMMIT}})
    entry = hub_entry(world, "files", revision="main")
    update(entry)
    assert read_manifest()["shop"]["origin"]["revision"] == COMMIT


def test_what_the_hub_does_not_have_names_the_database(start, empty, tmp_path):
    world = make_world(tmp_path)
    start(world)
    entry = hub_entry(world, "archive", repo_id="org/none")
    words = "^Failed to download database: farm: .*no such dataset"
    with pytest.raises(FileNotFoundError, match=words):
        update(entry)
    assert list_files("data") == []


@pytest.mark.parametrize("kind", ["archive", "files"])
def test_unknown_database_names_where_it_was_looked_for(start, empty, tmp_path, kind):
    world = make_world(tmp_path)
    start(world)
    entry = hub_entry(world, kind, ["farm", "shopp"])
    with pytest.raises(
        FileNotFoundError,
        match=f"^Failed to download database: shopp: .*shopp/shopp.sqlite .*org/.* at {COMMIT}",
    ):
        update(entry)


def test_lying_hub_leaves_no_database_and_no_partial_file(start, empty, tmp_path):
    world = make_world(tmp_path)
    start(world, is_lying=True)
    words = "^Failed to download database: farm: .*wrong checksum"
    with pytest.raises(FileNotFoundError, match=words):
        update(hub_entry(world, "archive"))
    assert list_files(".") == []
    entry = hub_entry(world, "files")
    words = "^Failed to download database: farm: .*Corrupt database: .*, fetched twice"
    with pytest.raises(FileNotFoundError, match=words):
        update(entry)
    assert not Path("data/databases/farm/farm.sqlite").exists()


def test_torn_database_in_the_cache_of_the_hub_is_fetched_again(start, empty, tmp_path):
    server = start(make_world(tmp_path))
    entry = hub_entry(make_world(tmp_path, suffix="2"), "files")
    update(entry)
    (cached,) = (tmp_path / "hf").rglob("snapshots/*/database/farm/farm.sqlite")
    cached.write_bytes(cached.read_bytes()[:3000])
    shutil.rmtree("data")
    assert update(entry) == (2, 0, 0)
    assert server.count_fetched("farm.sqlite") == 2


def test_archive_without_a_checksum_is_taken_where_it_is_whole(start, empty, tmp_path):
    world = make_world(tmp_path)
    start(world)
    entry = hub_entry(world, "archive", sha256=None)
    assert update(entry) == (2, 0, 0)
    assert "sha256" not in read_manifest()["farm"]["origin"]


def test_archive_that_is_no_zip_file_is_named(start, empty, tmp_path):
    world = make_world(tmp_path)
    world["org/zip"][COMMIT]["spider_data.zip"] = b"<html>busy</html>"
    start(world)
    entry = hub_entry(world, "archive", sha256=None)
    words = "^Failed to download database: farm: spider_data.zip .*not a whole zip file"
    with pytest.raises(FileNotFoundError, match=words):
        update(entry)


def test_bare_call_fetches_spider_as_params_describe_it(start, tmp_path, monkeypatch):
    world = make_world(tmp_path)
    server = start(world)
    params = tmp_path / "params.yaml"
    limits = {"attempts": 1, "backoff_s": 0, "deadline_s": 30}
    entry = {"spider": hub_entry(world, "archive")}
    write_params(params, corpora=entry, download=limits)
    monkeypatch.setattr("answerkey.corpus.corpora.PROJECT_PARAMS", params)
    output_dir = tmp_path / "deep" / "out"
    paths = download_spider_databases(["shop", "farm"], output_dir)
    assert paths == {name: output_dir / name / f"{name}.sqlite" for name in ("farm", "shop")}
    assert all(path.is_file() for path in paths.values())
    assert [path.name for path in output_dir.parent.iterdir()] == ["out"]
    assert server.count_fetched("spider_data.zip") == 1
    (output_dir / "mine.txt").write_text("not the stage's business")
    asked = len(server.requests)
    assert download_spider_databases(["farm", "shop"], output_dir) == paths
    assert len(server.requests) == asked
    assert (output_dir / "mine.txt").exists()
    paths["farm"].write_bytes(b"damaged")
    download_spider_databases(["farm"], str(output_dir))
    assert paths["farm"].read_bytes().startswith(b"SQLite format 3")


def test_no_database_is_no_path_and_asks_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "read_spider", lambda: pytest.fail("nothing is to be read"))
    assert download_spider_databases([], tmp_path / "out") == {}
    assert not (tmp_path / "out").exists()


def test_databases_of_a_corpus_need_no_entry_of_spider(entry, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "read_spider", lambda: pytest.fail("nothing is to be read"))
    corpus = parse_corpus("tried", entry)
    paths = download_spider_databases(
        ["shop", "farm"], tmp_path / "out", corpus=corpus, limits=LIMITS
    )
    assert list(paths) == ["farm", "shop"]
    with contextlib.closing(sqlite3.connect(paths["shop"])) as connection:
        assert connection.execute("SELECT name FROM shop").fetchall() == [("A",)]


def test_unsafe_id_touches_nothing(tmp_path):
    with pytest.raises(ValueError, match="Not a database id"):
        download_spider_databases(["../x"], tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_hub_libraries_are_not_imported_before_they_are_needed():
    code = (
        "import sys, answerkey.corpus.downloads, answerkey.corpus.loading;"
        "print([name for name in ('huggingface_hub', 'datasets', 'pyarrow', 'tqdm')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- layouts


def bird_entry(root: Path, **others: Any) -> dict[str, Any]:
    questions = {"train": ["train.json"], "validation": ["dev.json"]}
    entry = {"origin": "directory", "layout": "bird", "root": str(root), "db_list": "all"}
    return entry | {"questions": questions} | others


def locate(entry: dict[str, Any], **others: Any) -> dict[str, str]:
    corpus = parse_corpus("tried", entry, others)
    sources = locate_databases(corpus, list_db_ids(corpus, limits=LIMITS), limits=LIMITS)
    return {db_id: source.origin["path"] for db_id, source in sources.items()}


def test_database_is_found_in_either_folder(tmp_path: Path) -> None:
    write_bird(tmp_path)
    assert locate(bird_entry(tmp_path)) == {
        "school_meals": "train_databases/school_meals/school_meals.sqlite",
        "ski_resorts": "dev_databases/ski_resorts/ski_resorts.sqlite",
    }


def test_what_the_corpus_says_of_columns_stands_beside_a_database(tmp_path: Path) -> None:
    write_bird(tmp_path)
    corpus, out = parse_corpus("tried", bird_entry(tmp_path), {}), tmp_path / "out"
    for _ in range(2):
        update_databases([corpus], out, limits=LIMITS)
        descriptions = read_json(out / "ski_resorts/descriptions.json")
        assert descriptions == {"frpm": {"x": {"name": "–"}}}
    shutil.rmtree(tmp_path / "dev_databases/ski_resorts/database_description")
    update_databases([corpus], out, limits=LIMITS)
    assert [path.name for path in (out / "ski_resorts").iterdir()] == ["ski_resorts.sqlite"]


def test_database_in_both_folders_is_refused(tmp_path: Path) -> None:
    write_bird(tmp_path)
    make_database(tmp_path / "dev_databases/school_meals/school_meals.sqlite", RESORTS)
    with pytest.raises(
        ValueError, match=r"school_meals is in .*train_.* and in .*: expected it on"
    ):
        locate(bird_entry(tmp_path))


def test_entry_may_say_where_in_the_root_the_databases_are(tmp_path: Path) -> None:
    """As the archives of the release unpack: one folder for train and one for dev."""
    write_json(tmp_path / "train/train.json", TRAIN)
    make_database(tmp_path / "train/train_databases/school_meals/school_meals.sqlite", MEALS)
    entry = bird_entry(
        tmp_path,
        databases=["train/train_databases"],
        questions={"train": ["train/train.json"], "validation": []},
    )
    assert locate(entry) == {
        "school_meals": "train/train_databases/school_meals/school_meals.sqlite"
    }


def test_questions_without_a_database_name_both_folders(tmp_path: Path) -> None:
    write_bird(tmp_path)
    write_json(tmp_path / "dev.json", [TRAIN[0] | {"db_id": "school_meal"}])
    with pytest.raises(
        ValueError, match=r"school_meal .*train_databases or .*dev_databases; close to it: school_m"
    ):
        locate(bird_entry(tmp_path))


def test_layouts_have_folders_of_their_own_and_may_ask_databases_of_another(tmp_path):
    make_database(tmp_path / "spider/database/shop/shop.sqlite", SHOP)
    row = {"db_id": "shop", "SpiderSynQuestion": "?", "query": "SELECT 1"}
    write_json(tmp_path / "syn/dev.json", [row])
    questions = {"train": [], "validation": ["dev.json"]}
    entry = bird_entry(tmp_path / "syn", layout="spider_syn", questions=questions)
    entry |= {"databases_of": "spider", "prefix": "syn_"}
    spider = bird_entry(tmp_path / "spider", layout="spider")
    assert locate(entry, spider=spider) == {"shop": "database/shop/shop.sqlite"}
    write_synsql(tmp_path)
    assert locate(synsql_entry(tmp_path)) == {NAME: f"databases/{NAME}/{NAME}.sqlite"}


# --- filled databases


NAME = "clinic_staffing"


def fill(root: Path, **others: Any) -> tuple[Downloads, str]:
    """What was done, and the hash of the file."""
    corpora = parse_corpora("synsql", {"synsql": synsql_entry(root, **others)})
    done = update_databases(corpora, root / "out", limits=LIMITS)
    return done, hashlib.sha256(done.paths[NAME].read_bytes()).hexdigest()


def test_file_is_filled_again_where_rows_or_questions_are_others(tmp_path: Path) -> None:
    write_synsql(tmp_path)
    plain = hashlib.sha256((tmp_path / f"databases/{NAME}/{NAME}.sqlite").read_bytes()).hexdigest()
    done, first = fill(tmp_path, fill_empty=20)
    assert (done.kept, first != plain) == (0, True)
    assert fill(tmp_path, fill_empty=20) == (done._replace(kept=1), first)
    more = fill(tmp_path, fill_empty=30)
    assert more[0].kept == 0
    assert more[1] != first
    write_rows(tmp_path, ROWS[:1])
    fewer = fill(tmp_path, fill_empty=30)
    assert fewer[0].kept == 0
    assert fewer[1] not in (more[1], first)
    assert fill(tmp_path)[1] == plain


def test_code_that_makes_other_rows_needs_another_version(tmp_path: Path) -> None:
    """Where this fails, raise downloads._FILLING_VERSION, and put the new hash here."""
    write_synsql(tmp_path)
    assert fill(tmp_path, fill_empty=20)[1][:16] == "3b82774b2d418e79"


def test_gold_answers_are_of_the_filled_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.change("select_questions.targets.min_questions", None)
    write_synsql(tmp_path / "release")
    empty = {}
    for fill_empty in (None, 20):
        world.params["corpora"]["synsql"] = synsql_entry("release", fill_empty=fill_empty)
        world.change("corpus", "synsql")
        world.run("download_databases", "load_questions", "assign_splits", "compute_gold_answers")
        shard = world.lines(f"data/interim/gold_answers/{NAME}.jsonl")
        empty[fill_empty] = [record["gold_answer"] in ([], 0) for record in shard]
    assert empty == {None: [False, True, True, True], 20: [False] * 4}
    origin = world.json("data/databases/manifest.json")["databases"][NAME]["origin"]
    assert origin["fill_empty"] == "20"
