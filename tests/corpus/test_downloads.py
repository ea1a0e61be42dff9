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

import pytest

from answerkey.base.records import read_json
from answerkey.corpus.corpora import parse_corpora
from answerkey.corpus.downloads import (
    download_spider_databases,
    locate_all,
    read_tables,
    update_databases,
)
from answerkey.sections.corpora import Download
from tests.shared.bird_world import write_bird, write_json
from tests.shared.checkout import hash_tree
from tests.shared.databases import make_database
from tests.shared.hub_server import run_hubs
from tests.shared.project_world import make_entry, write_params
from tests.shared.synsql_world import synsql_entry, write_synsql

COMMIT = "1" * 40
LIMITS = Download(deadline_s=30)
SHOP = "CREATE TABLE shop (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO shop VALUES (1, 'A');"
FARM = "CREATE TABLE farm (id INTEGER PRIMARY KEY); CREATE VIEW v AS SELECT id FROM farm;"
DATABASES = Path("data/databases")


def write_questions(root, by_file):
    for name, db_ids in by_file.items():
        rows = [{"db_id": db_id, "query": "SELECT 1", "question": "?"} for db_id in db_ids]
        (root / name).write_text(json.dumps(rows))


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
    return make_entry(root)


def update(entry, **others):
    """Update data/databases for a corpus; how many were made and how many kept."""
    corpora = parse_corpora("tried", {"tried": entry, **others})
    done = update_databases(corpora, DATABASES, limits=LIMITS)
    return len(done.paths) - done.kept, done.kept


def read_manifest():
    return json.loads(Path("data/databases/manifest.json").read_text())["databases"]


def list_files(top):
    return sorted(str(path.relative_to(top)) for path in Path(top).rglob("*") if path.is_file())


def hash_bytes(content):
    return hashlib.sha256(content).hexdigest()


def test_directory_gives_a_file_a_database_and_a_manifest_that_names_no_machine(entry):
    # The text beside a file is not read.
    (Path(entry["root"]) / "database/farm/schema.sql").write_text("CREATE TABLE f (a) ENGINE=X;")
    assert update(entry) == (2, 0)
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
    schema = read_tables("farm", DATABASES / "farm/farm.sqlite")
    assert schema["database_name"] == "farm"
    assert [table["name"] for table in schema["tables"]] == ["farm", "v"]


@pytest.mark.parametrize("damage", ["none", "change", "remove", "lose manifest", "break manifest"])
def test_what_matches_the_manifest_is_kept_and_all_else_made_again(entry, damage):
    update(entry)
    path, manifest = Path("data/databases/shop/shop.sqlite"), Path("data/databases/manifest.json")
    before, before_manifest, inode = path.read_bytes(), manifest.read_bytes(), path.stat().st_ino
    if damage == "change":
        make_database(path, SHOP + "INSERT INTO shop VALUES (7, 'foreign');")
    elif damage == "remove":
        path.unlink()
    elif damage == "lose manifest":
        manifest.unlink()
    elif damage == "break manifest":
        manifest.write_text('{"databases": {')
    made = {"none": 0, "change": 1, "remove": 1}.get(damage, 2)
    assert update(entry) == (made, 2 - made)
    assert path.read_bytes() == before
    assert manifest.read_bytes() == before_manifest
    assert damage != "none" or path.stat().st_ino == inode


@pytest.mark.parametrize("link", [os.symlink, os.link], ids=["symbolic", "hard"])
def test_changed_source_is_made_again_and_no_link_into_a_cache_is_written_through(entry, link):
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
    assert update(entry) == (1, 1)
    assert {blob: blob.read_bytes() for blob in before} == before
    with contextlib.closing(sqlite3.connect("data/databases/shop/shop.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM shop").fetchone() == (2,)


def test_what_is_not_listed_is_removed_and_link_targets_stay(entry):
    update(entry)
    outside = Path("outside").absolute()
    outside.mkdir()
    (outside / "precious.txt").write_text("kept")
    (DATABASES / "stray.txt").write_text("x")
    (DATABASES / "link").symlink_to(outside)
    entry |= {"db_list": ["farm"]}
    assert update(entry) == (0, 1)
    assert list_files(DATABASES) == ["farm/farm.sqlite", "manifest.json"]
    assert (outside / "precious.txt").read_text() == "kept"
    assert list(read_manifest()) == ["farm"]


def test_every_missing_database_is_named_with_where_it_was_looked_for(entry):
    entry |= {"db_list": ["farm", "shops", "mill"]}
    with pytest.raises(FileNotFoundError) as caught:
        update(entry)
    root = entry["root"]
    assert str(caught.value).splitlines() == [
        f"Failed to download database: {name}: no {root}/database/{name}/{name}.sqlite and no"
        f" {root}/database/{name}/schema.sql (corpora.tried.root and .databases in params.yaml;"
        " docs/your-database.md)"
        for name in ("mill", "shops")
    ]


def test_every_broken_database_has_its_fault_in_the_manifest(entry):
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
    assert update(entry) == (3, 0)
    broken = {"cafe": "expected SQL as UTF-8", "dice": "not authorized", "torn": "malformed"}
    faults = json.loads(Path("data/databases/manifest.json").read_text())["unreadable"]
    for (name, words), (found, fault) in zip(broken.items(), faults.items(), strict=True):
        assert found == name
        assert fault.startswith(f"database/{name}/")
        assert words in fault
    (corpus,) = parse_corpora("tried", {"tried": entry})
    with pytest.raises(ValueError, match="torn") as caught:
        download_spider_databases(entry["db_list"], "other", corpus=corpus, limits=LIMITS)
    assert len(str(caught.value).splitlines()) == 3
    made = [f"{name}/{name}.sqlite" for name in ("farm", "shop", "well")]
    assert list_files("data/databases") == sorted([*made, "manifest.json"])
    assert list(read_manifest()) == ["farm", "shop", "well"]
    entry |= {"db_list": ["farm", "shop", "well"]}
    assert update(entry) == (0, 3)
    assert os.listdir("data") == ["databases"]


BROKEN = {
    "description that is no CSV": ("database_description/t.csv", b"a,b\n1,2\n"),
    "no file": ("README", b"comes later"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_databases_that_one_has_stay_until_all_of_the_next_corpus_are_made(entry, tmp_path, fault):
    update(entry)
    before = hash_tree(DATABASES, ".")
    # Another farm, a new barn, and a mill that breaks.
    root = tmp_path / "other"
    make_database(root / "database/farm/farm.sqlite", FARM + "INSERT INTO farm VALUES (7);")
    make_database(root / "database/barn/barn.sqlite", FARM)
    mill, (name, content) = root / "database/mill", BROKEN[fault]
    (mill / name).parent.mkdir(parents=True)
    (mill / name).write_bytes(content)
    if fault.startswith("description"):
        make_database(mill / "mill.sqlite", FARM)
    write_questions(root, {"train.json": ["barn", "farm", "mill"], "dev.json": []})
    with pytest.raises((ValueError, FileNotFoundError), match="mill"):
        update(make_entry(root))
    assert hash_tree(DATABASES, ".") == before
    assert update(entry) == (0, 2)
    assert hash_tree(DATABASES, ".") == before
    assert os.listdir("data") == ["databases"]


# --- the hub

TEXTS = {"farm": FARM, "shop": SHOP, "barn": "CREATE TABLE barn (a);"}


@pytest.fixture
def start(tmp_path, monkeypatch):
    """A function that starts hubs; the test stands in an empty folder."""
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    with run_hubs(monkeypatch, tmp_path / "hf") as start:
        yield start


def make_world(tmp_path):
    """Two repositories: one with an archive, one with a file a database."""
    files, packed = {}, io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("spider_data/README", "not a database")
        archive.writestr("../evil.sqlite", "never extracted")
        for db_id, text in TEXTS.items():
            path = make_database(tmp_path / "source" / db_id, text)
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


def test_archive_is_fetched_once_and_only_its_members_are_extracted(start, tmp_path):
    world = make_world(tmp_path)
    server = start(world)
    assert update(hub_entry(world, "archive")) == (2, 0)
    assert list_files(".") == [
        "data/databases/farm/farm.sqlite",
        "data/databases/manifest.json",
        "data/databases/shop/shop.sqlite",
    ]
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
    assert update(hub_entry(world, "archive")) == (0, 2)
    assert update(hub_entry(world, "archive", ["farm", "shop", "barn"])) == (1, 2)
    assert len(server.requests) == asked
    assert server.count_fetched("spider_data.zip") == 1


@pytest.mark.slow
def test_files_are_fetched_one_by_one_at_the_commit_that_a_branch_is(start, tmp_path):
    world = make_world(tmp_path)
    server = start(world, {"org/files": {"main": COMMIT}})
    assert update(hub_entry(world, "files", revision="main")) == (2, 0)
    assert read_manifest()["shop"]["origin"] == {
        "corpus": "tried",
        "kind": "files",
        "repo_id": "org/files",
        "revision": COMMIT,
        "path": "database/shop/shop.sqlite",
    }
    assert update(hub_entry(world, "files", ["farm", "shop", "barn"])) == (1, 2)
    assert server.count_fetched(".sqlite") == 3


@pytest.mark.parametrize(
    ("kind", "changes", "words"),
    [
        pytest.param(
            *("archive", {"repo_id": "org/none"}),
            "farm: spider_data.zip of org/none .*RepositoryNot",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *("archive", {"revision": "main"}, "farm: .*main: RevisionNotFound"),
            marks=pytest.mark.slow,
        ),
        ("archive", {"sha256": "0" * 64}, "farm: spider_data.zip .*wrong checksum"),
        ("archive", {"member": "{db_id}/x"}, f"farm: no member farm/x in .*org/zip at {COMMIT}"),
        pytest.param(
            *("files", {"path": "{db_id}/x"}, "farm: farm/x of org/files .*EntryNotFound"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_what_the_hub_does_not_have_names_the_database(start, tmp_path, kind, changes, words):
    world = make_world(tmp_path)
    start(world)
    with pytest.raises(FileNotFoundError, match=f"^Failed to download database: {words}"):
        update(hub_entry(world, kind, **changes))
    assert list_files(".") == []


@pytest.mark.slow
def test_damaged_archive_or_file_gives_no_database(start, tmp_path):
    world = make_world(tmp_path)
    start(world, is_lying=True)
    for kind in ("archive", "files"):
        entry = hub_entry(world, kind, **({"sha256": None} if kind == "archive" else {}))
        with pytest.raises(ValueError, match=r"^Corrupt database: .*farm.sqlite"):
            update(entry)
    assert list_files(".") == []


def read_inodes(paths: dict[str, Path]) -> dict[str, int]:
    """What tells a file that was kept from one that was made again, with the same bytes."""
    return {name: path.stat().st_ino for name, path in paths.items()}


@pytest.mark.slow
def test_bare_call_fetches_spider_as_params_describe_it(start, tmp_path, monkeypatch):
    world = make_world(tmp_path)
    server = start(world)
    params = tmp_path / "params.yaml"
    entry = {"spider": hub_entry(world, "archive")}
    write_params(params, corpora=entry, download={"deadline_s": 30})
    monkeypatch.setattr("answerkey.corpus.corpora.PROJECT_PARAMS", params)
    output_dir = tmp_path / "deep" / "out"
    paths = download_spider_databases(["shop", "farm"], output_dir)
    assert paths == {name: output_dir / name / f"{name}.sqlite" for name in ("farm", "shop")}
    assert all(path.is_file() for path in paths.values())
    assert server.count_fetched("spider_data.zip") == 1
    (output_dir / "mine.txt").write_text("not the stage's business")
    asked, before = len(server.requests), read_inodes(paths)
    assert download_spider_databases(["farm", "shop"], output_dir) == paths
    assert len(server.requests) == asked
    assert read_inodes(paths) == before  # no file is made again, of the cache either
    assert (output_dir / "mine.txt").exists()
    paths["farm"].write_bytes(b"damaged")
    download_spider_databases(["farm", "shop"], str(output_dir))
    assert paths["farm"].read_bytes().startswith(b"SQLite format 3")
    assert {name for name, inode in read_inodes(paths).items() if inode != before[name]} == {"farm"}


def test_no_database_is_no_path_and_asks_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr("answerkey.corpus.corpora.PROJECT_PARAMS", Path("none is read"))
    assert download_spider_databases([], tmp_path / "out") == {}
    assert not (tmp_path / "out").exists()


def test_databases_of_a_corpus_need_no_entry_of_spider(entry, tmp_path, monkeypatch):
    monkeypatch.setattr("answerkey.corpus.corpora.PROJECT_PARAMS", Path("none is read"))
    (corpus,) = parse_corpora("tried", {"tried": entry})
    out = tmp_path / "out"
    paths = download_spider_databases(["shop", "farm"], out, corpus=corpus, limits=LIMITS)
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
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.strip() == "[]"


# --- layouts


def test_layouts_and_entries_say_where_databases_are(tmp_path):
    """In either folder of BIRD, in those of the entry, in those of another entry."""
    write_bird(tmp_path / "bird")
    train = tmp_path / "bird/train_databases"
    shutil.copytree(train, tmp_path / "moved/train/train_databases")
    make_database(tmp_path / "spider/database/shop/shop.sqlite", SHOP)
    row = {"db_id": "shop", "SpiderSynQuestion": "?", "query": "SELECT 1"}
    write_json(tmp_path / "syn/dev.json", [row])
    write_synsql(tmp_path / "synsql")
    folders = {"databases": ["train/train_databases"], "db_list": ["school_meals"]}
    dev = {"questions": {"train": [], "validation": ["dev.json"]}}
    owner = {"databases_of": "spider", "prefix": "syn_"}
    entries = {
        "bird": make_entry(tmp_path / "bird", layout="bird"),
        "moved": make_entry(tmp_path / "moved", layout="bird", prefix="m_", **folders),
        "spider": make_entry(tmp_path / "spider"),
        "syn": make_entry(tmp_path / "syn", layout="spider_syn", **dev, **owner),
        "synsql": synsql_entry(tmp_path / "synsql"),
    }
    corpora = parse_corpora(["bird", "moved", "syn", "synsql"], entries)
    sources = locate_all(corpora, limits=LIMITS)
    assert {name: source.origin["path"] for name, source in sources.items()} == {
        "clinic_staffing": "databases/clinic_staffing/clinic_staffing.sqlite",
        "m_school_meals": "train/train_databases/school_meals/school_meals.sqlite",
        "school_meals": "train_databases/school_meals/school_meals.sqlite",
        "shop": "database/shop/shop.sqlite",
        "ski_resorts": "dev_databases/ski_resorts/ski_resorts.sqlite",
    }


def test_what_the_corpus_says_of_columns_stands_beside_a_database(tmp_path):
    write_bird(tmp_path)
    out = tmp_path / "out"
    corpora = parse_corpora("tried", {"tried": make_entry(tmp_path, layout="bird")})
    for _ in range(2):
        update_databases(corpora, out, limits=LIMITS)
        descriptions = read_json(out / "ski_resorts/descriptions.json")
        assert descriptions == {"frpm": {"x": {"name": "–"}}}
    shutil.rmtree(tmp_path / "dev_databases/ski_resorts/database_description")
    update_databases(corpora, out, limits=LIMITS)
    assert [path.name for path in (out / "ski_resorts").iterdir()] == ["ski_resorts.sqlite"]
