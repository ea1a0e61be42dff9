"""`answerkey new`: the corpus that it makes, what it writes into params.yaml, what it refuses."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.base.errors import InputError
from answerkey.base.records import read_jsonl
from answerkey.corpus.corpora import parse_corpora, watch_roots
from answerkey.corpus.downloads import locate_all
from answerkey.corpus.loading import load_corpora
from answerkey.intake.new_corpus import make_corpus
from answerkey.intake.other_rows import Compared
from answerkey.sections.corpora import Download
from answerkey.sections.whole_file import read_params
from tests.shared.checkout import run
from tests.shared.databases import make_database
from tests.shared.paths import ROOT

SHIPS = "CREATE TABLE ship (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO ship VALUES (1, 'Sun')"
QUESTIONS = [
    {"question": "How many ships are there?", "sql": "SELECT count(*) FROM ship"},
    {
        "question": "Which names?",
        "sql": ["SELECT name FROM ship", "SELECT DISTINCT name FROM ship"],
    },
]
FOLDER = Path("data/local/fleet")


@pytest.fixture
def project(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files of a project that the command looks at, and a folder for those of a user. Gold is
    compared on no variants, which take seconds: `test_other_rows` has them."""
    monkeypatch.setattr(
        "answerkey.intake.new_corpus.compare_on_variants", lambda *_, **__: Compared({})
    )
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(ROOT / name, here / name)
    (here / "theirs").mkdir()
    return here


def write_questions(path: Path, questions: Any = QUESTIONS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(questions), encoding="utf-8")
    return path


def read_records(folder: Path = FOLDER) -> list[dict[str, Any]]:
    return list(read_jsonl(folder / "train.jsonl"))


def list_files(folder: Path) -> list[str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path.relative_to(folder).as_posix() for path in files)


def test_sqlite_is_taken_as_it_is_and_the_pipeline_reads_the_corpus(project: Path) -> None:
    make_database(Path("theirs/ships.db"), SHIPS)
    asked = write_questions(Path("theirs/asked.json"))
    told = make_corpus(FOLDER, databases=["theirs/ships.db"], questions=asked)
    assert "2 questions (2 train): question from question, gold_sql from sql" in told
    assert "ships: a file of SQLite with 1 table" in told
    copied = FOLDER / "databases/ships/ships.sqlite"
    assert copied.read_bytes() == Path("theirs/ships.db").read_bytes()
    assert list_files(FOLDER) == ["conversion.md", "databases/ships/ships.sqlite", "train.jsonl"]
    params = read_params()
    assert (params.corpus, params.select_questions.preset) == ("fleet", "small")
    corpora = parse_corpora(params.corpus, params.corpora)
    first, second = load_corpora(corpora, limits=Download()).records
    assert first["gold_sql"] == QUESTIONS[0]["sql"]
    assert second["other_sql"] == ["SELECT DISTINCT name FROM ship"]
    (source,) = locate_all(corpora, limits=Download()).values()
    assert source.path == copied


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_changes_beside_the_file_of_a_link_are_missed_by_nobody(project: Path, suffix: str) -> None:
    make_database(Path("theirs/ships.db"), SHIPS)
    Path(f"theirs/ships.db{suffix}").write_bytes(b"rows")
    Path("links").mkdir()
    Path("links/fleet.db").symlink_to(Path("theirs/ships.db").resolve())
    asked = write_questions(Path("theirs/asked.json"))
    with pytest.raises(InputError, match=f"unfinished changes in ships.db{suffix}"):
        make_corpus(FOLDER, databases=["links/fleet.db"], questions=asked)


@pytest.mark.parametrize("folder", ["password=q7Zx", "backup-token=q7Zx", "kim;pwd=q7Zx"])
def test_secret_in_the_name_of_a_folder_is_in_no_report(project: Path, folder: str) -> None:
    make_database(Path(f"{folder}/ships.db"), SHIPS)
    asked = write_questions(Path(folder) / "asked;key=1;secret=q7Zx.json")
    told = make_corpus(FOLDER, databases=[f"{folder}/ships.db"], questions=asked)
    files = (FOLDER / file for file in list_files(FOLDER))
    made = "".join(file.read_text(errors="ignore") for file in files)
    assert "q7Zx" not in made + told
    assert "...: a file of SQLite." in made


def test_params_keep_their_comments_and_all_other_values(project: Path) -> None:
    before = Path("params.yaml").read_text(encoding="utf-8")
    make_database(Path("theirs/ships.db"), SHIPS)
    asked = write_questions(Path("theirs/asked.json"))
    make_corpus(FOLDER, databases=["theirs/ships.db"], questions=asked)
    after = Path("params.yaml").read_text(encoding="utf-8")
    words = [line.partition("#")[2] for line in before.splitlines() if "#" in line]
    assert [w for w in words if w not in after] == []
    old, new = yaml.safe_load(before), yaml.safe_load(after)
    entry = new["corpora"].pop("fleet")
    assert entry["root"] == "data/local/fleet"
    assert entry["questions"] == {"train": ["train.jsonl"]}
    old["corpus"], old["select_questions"]["preset"] = "fleet", "small"
    assert new == old


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([("ships", "train"), ("boats", "dev")], None),
        ([("ships", "train"), ("ships", "train")], None),
        ([("ships", "train"), ("boats", "train"), ("ships", "dev")], {"by": "source"}),
    ],
)
def test_databases_in_both_splits_are_let_there(project: Path, asked: Any, expected: Any) -> None:
    for name in dict(asked):
        make_database(Path(f"theirs/{name}.db"), SHIPS)
    rows = [{**QUESTIONS[0], "db_id": name, "split": split} for name, split in asked]
    places = [f"theirs/{name}.db" for name in dict(asked)]
    make_corpus(FOLDER, databases=places, questions=write_questions(Path("theirs/q.json"), rows))
    entry = yaml.safe_load(Path("params.yaml").read_text(encoding="utf-8"))["corpora"]["fleet"]
    assert entry.get("split") == expected


def test_both_are_found_in_the_folder(project: Path) -> None:
    FOLDER.mkdir(parents=True)
    make_database(FOLDER / "ships.sqlite", SHIPS)
    write_questions(FOLDER / "questions.json")
    assert "ships: a file of SQLite with 1 table" in make_corpus(FOLDER)
    assert [record["db_id"] for record in read_records()] == ["ships", "ships"]


@pytest.mark.slow
def test_second_run_changes_nothing_and_says_so(project: Path) -> None:
    make_database(Path("theirs/ships.db"), SHIPS)
    asked = write_questions(Path("theirs/asked.json"))
    make_corpus(FOLDER, databases=["theirs/ships.db"], questions=asked)
    files = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    told = make_corpus(FOLDER)
    assert "fleet has a corpus, which is taken as it is. To make it again, remove" in told
    assert "params.yaml has it: corpora.fleet" in told
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == files
    shutil.copy(ROOT / "params.yaml", "params.yaml")  # a run that ended before the entry goes on
    assert "corpora.fleet is new" in make_corpus(FOLDER)


@pytest.mark.parametrize("has_entry", [True, False])
@pytest.mark.parametrize("option", ["databases", "questions", "dialect"])
def test_other_input_for_a_corpus_that_is_there_is_refused(
    project: Path, option: str, has_entry: bool
) -> None:
    make_database(Path("theirs/ships.db"), SHIPS)
    asked = write_questions(Path("theirs/asked.json"))
    make_corpus(FOLDER, databases=["theirs/ships.db"], questions=asked)
    if not has_entry:
        shutil.copy(ROOT / "params.yaml", "params.yaml")
    files = {path: path.read_bytes() for path in project.rglob("*") if path.is_file()}
    given: Any = {"databases": ["theirs/x.db"], "questions": Path("o.json"), "dialect": "duckdb"}
    expected = f"fleet has a corpus.* To make it again by --{option.removesuffix('s')}"
    with pytest.raises(InputError, match=expected):
        make_corpus(FOLDER, **{option: given[option]})
    assert {path: path.read_bytes() for path in project.rglob("*") if path.is_file()} == files


def test_corpus_is_added_to_dvc_before_the_first_run(project: Path) -> None:
    make_database(Path("theirs/ships.db"), SHIPS)
    asked = write_questions(Path("theirs/asked.json"))
    told = make_corpus(FOLDER, databases=["theirs/ships.db"], questions=asked)
    steps = [line.split("#")[0].strip() for line in told.partition("Next:\n")[2].splitlines()]
    assert steps[0] == ("dvc add -q data/local/fleet && git add data/local params.yaml dvc.yaml")
    assert steps[1] == "dvc repro"


def test_second_corpus_is_told_how_to_join_the_first(project: Path) -> None:
    make_database(Path("theirs/ships.db"), SHIPS)
    asked = write_questions(Path("theirs/asked.json"))
    given: Any = {"databases": ["theirs/ships.db"], "questions": asked}
    assert "answerkey choose" not in make_corpus(FOLDER, **given)
    told = make_corpus(FOLDER.with_name("boats"), **given)
    assert "params.yaml: `answerkey choose fleet boats` takes both" in told.splitlines()


def test_run_that_fails_leaves_nothing_behind(project: Path) -> None:
    make_database(Path("theirs/ships.db"), SHIPS)
    asked = write_questions(Path("theirs/asked.json"), [{**QUESTIONS[0], "grading_method": "x"}])
    before = Path("params.yaml").read_bytes()
    Path("theirs/other.db").write_bytes(b"SQLite format 3\x00 and no more")
    with pytest.raises(InputError, match="Corrupt database"):
        make_corpus(FOLDER, databases=["theirs/other.db"], questions=asked)
    assert list_files(FOLDER) == []
    assert Path("params.yaml").read_bytes() == before


def test_file_that_is_there_is_not_replaced(project: Path) -> None:
    make_database(Path("theirs/ships.db"), SHIPS)
    write_questions(FOLDER / "train.jsonl", QUESTIONS)
    with pytest.raises(InputError, match=r"fleet/train\.jsonl: is there"):
        make_corpus(FOLDER, databases=["theirs/ships.db"], questions=FOLDER / "train.jsonl")


@pytest.mark.slow
def test_splits_are_files(project: Path) -> None:
    for name in ("ships", "boats"):
        make_database(Path(f"theirs/{name}.db"), SHIPS)
    asked = [{**QUESTIONS[0], "db_id": "ships"}, {**QUESTIONS[0], "db_id": "BOATS", "split": "dev"}]
    told = make_corpus(
        FOLDER,
        databases=["theirs/ships.db", "boats=theirs/boats.db"],
        questions=write_questions(Path("theirs/asked.json"), asked),
    )
    assert "2 questions (1 train, 1 validation)" in told
    assert [row["db_id"] for row in read_jsonl(FOLDER / "validation.jsonl")] == ["boats"]
    files = read_params().corpora["fleet"].questions
    assert files == {"train": ["train.jsonl"], "validation": ["validation.jsonl"]}


def test_clock_stands_in_the_entry(project: Path) -> None:
    make_database(Path("theirs/ships.db"), SHIPS)
    asked = write_questions(Path("theirs/asked.json"))
    with pytest.raises(InputError, match="--now soon: expected"):
        make_corpus(FOLDER, databases=["theirs/ships.db"], questions=asked, now="soon")
    make_corpus(
        FOLDER, databases=["theirs/ships.db"], questions=asked, now="2025-01-30T10:00+01:00"
    )
    assert read_params().corpora["fleet"].now == "2025-01-30 09:00:00"


@pytest.mark.slow
def test_one_database_has_the_name_that_questions_use(project: Path) -> None:
    make_database(Path("theirs/export-3.db"), SHIPS)
    asked = write_questions(Path("theirs/asked.json"), [{**QUESTIONS[0], "db_id": "harbour"}])
    make_corpus(FOLDER, databases=["theirs/export-3.db"], questions=asked)
    assert (FOLDER / "databases/harbour/harbour.sqlite").is_file()


@pytest.mark.slow
def test_sql_text_of_sqlite_and_descriptions_are_taken_along(project: Path) -> None:
    Path("theirs/ships.sql").write_text(SHIPS, encoding="utf-8")
    words = Path("theirs/database_description/ship.csv")
    words.parent.mkdir()
    words.write_text("original_column_name,column_name\nid,number\n", encoding="utf-8")
    asked = write_questions(Path("theirs/asked.json"))
    make_corpus(FOLDER, databases=["theirs/ships.sql"], questions=asked)
    connection = sqlite3.connect(FOLDER / "databases/ships/ships.sqlite")
    assert connection.execute("SELECT name FROM ship").fetchall() == [("Sun",)]
    connection.close()
    assert (FOLDER / "databases/ships/database_description/ship.csv").is_file()


@pytest.mark.parametrize(
    ("database", "questions", "words"),
    [
        ("theirs/none.db", QUESTIONS, r"No theirs/none\.db: expected a file of SQLite or DuckDB"),
        ("theirs", QUESTIONS, r"theirs: expected files of tables \(\.csv"),
        ("theirs/a.bin", QUESTIONS, r"starts with b'nothing': expected a file of SQLite"),
        ("theirs/my.sql", QUESTIONS, r"a dump of MySQL, .*mysql shop < my\.sql|a dump of MySQL"),
        ("oracle://host/db", QUESTIONS, "expected a file of SQLite or DuckDB"),
        ("postgresql://kim:secret@127.0.0.1:1/x", QUESTIONS, r"kim:\.\.\.@127.0.0.1:1/x"),
        ("mysql://kim:secret@127.0.0.1:1/x", QUESTIONS, r"kim:\.\.\.@127.0.0.1:1/x"),
        ("theirs/ships.db", [{"ask": 1}], "found the fields ask"),
        (
            "theirs/ships.db",
            [{**QUESTIONS[0], "db_id": "a"}, {**QUESTIONS[0], "db_id": "b"}],
            "questions ask a, b: expected one of the databases ships as db_id",
        ),
    ],
)
def test_what_cannot_be_meant_is_told(
    project: Path, database: str, questions: Any, words: str
) -> None:
    pytest.importorskip("psycopg", reason="needs the extra `convert`")
    make_database(Path("theirs/ships.db"), SHIPS)
    Path("theirs/a.bin").write_bytes(b"nothing")
    dump = "-- MySQL dump 10.13\nCREATE TABLE `a` (`b` int) ENGINE=InnoDB;\n"
    Path("theirs/my.sql").write_text(dump, encoding="utf-8")
    asked = write_questions(Path("asked.json"), questions)
    with pytest.raises((InputError, FileNotFoundError), match=words) as error:
        make_corpus(FOLDER, databases=[database], questions=asked)
    assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("folder", "dialect", "words"),
    [
        ("data/local/a b", None, "expected a name of letters"),
        ("data/local/sample", None, r"params\.yaml has a corpus sample elsewhere"),
        ("data/local/fleet", "oracel", "--dialect oracel: expected one of .*postgres"),
    ],
)
def test_place_or_dialect_that_cannot_be_is_told(
    project: Path, folder: str, dialect: str | None, words: str
) -> None:
    asked = write_questions(Path("asked.json"))
    with pytest.raises(InputError, match=words):
        make_corpus(Path(folder), databases=["x.db"], questions=asked, dialect=dialect)


def test_stages_depend_on_the_new_folder_in_place_of_the_one_before(project: Path) -> None:
    before = Path("dvc.yaml").read_text(encoding="utf-8")
    make_database(Path("theirs/ships.db"), SHIPS)
    asked = write_questions(Path("theirs/asked.json"))
    told = make_corpus(project / "data/fleet", databases=["theirs/ships.db"], questions=asked)
    assert "dvc.yaml: load_questions depends on data/fleet\n" in told
    params = read_params()
    corpora = parse_corpora("fleet", params.corpora)
    for stage in ("load_questions", "download_databases"):
        assert watch_roots(corpora, params.corpora, stage=stage) == []
    after = Path("dvc.yaml").read_text(encoding="utf-8")
    assert after.replace("corpora.fleet", "corpora.sample") == before
    assert after.count("corpora.fleet") == 2


def spoil_questions(project: Path) -> None:
    Path("theirs/asked.json").write_text("[{]", encoding="utf-8")


def spoil_database(project: Path) -> None:
    Path("theirs/ships.db").write_bytes(b"SQLite format 3\x00 no more")


def spoil_pipeline(project: Path) -> None:
    text = Path("dvc.yaml").read_text(encoding="utf-8")
    Path("dvc.yaml").write_text(re.sub(r"  load_questions:(\n    .*)+", "", text), encoding="utf-8")


def spoil_params(project: Path) -> None:
    text = Path("params.yaml").read_text(encoding="utf-8")
    text = text.replace("corpora:  #", "corpora: &theirs  #")  # after which no entry can stand
    Path("params.yaml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    "spoil", [spoil_questions, spoil_database, spoil_pipeline, spoil_params, None]
)
@pytest.mark.parametrize("folder", ["data/local/fleet", "data/fleet"])
def test_failed_command_leaves_nothing_behind(
    project: Path, folder: str, spoil: Callable[[Path], None] | None
) -> None:
    make_database(Path("theirs/ships.db"), SHIPS)
    asked = write_questions(Path("theirs/asked.json"))
    options = {} if spoil is not None else {"types": ["ship.id=TEXT"]}  # of a table that is no CSV
    if spoil is not None:
        spoil(project)
    if folder == "data/fleet":  # a folder that is there stays, with what is in it
        Path(folder).mkdir(parents=True)
        Path(folder, "notes.txt").write_text("ours", encoding="utf-8")
    before = {path: path.is_dir() or path.read_bytes() for path in project.rglob("*")}
    with pytest.raises(InputError):
        make_corpus(Path(folder), databases=["theirs/ships.db"], questions=asked, **options)
    assert {path: path.is_dir() or path.read_bytes() for path in project.rglob("*")} == before


@pytest.mark.slow
def test_command_is_one_of_answerkey_and_reads_paths_from_where_one_is(project: Path) -> None:
    pytest.importorskip("sqlglot", reason="needs the extra `pipeline`")
    make_database(Path("theirs/ships.db"), SHIPS)
    write_questions(Path("theirs/asked.json"))
    words = ("--database", "fleet=ships.db", "--questions", "asked.json")
    done = run(project / "theirs", "answerkey", "new", "../data/local/fleet", *words)
    assert "fleet: a file of SQLite with 1 table" in done.stdout
    assert "dvc repro" in done.stdout


def make_duckdb(path: Path, sql: str) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs the extra `convert`")
    connection = duckdb.connect(str(path))
    connection.execute(sql)
    connection.close()


def test_gold_of_duckdb_is_translated_and_what_differs_is_recorded(project: Path) -> None:
    sql = (
        "CREATE TABLE ship (name VARCHAR, tags VARCHAR[]); INSERT INTO ship VALUES ('Sun', ['a']);"
        " CREATE SCHEMA sold; CREATE TABLE sold.ship (name VARCHAR);"
        " COMMENT ON COLUMN ship.name IS 'as painted'; COMMENT ON COLUMN sold.ship.name IS 'before'"
    )
    make_duckdb(Path("theirs/ships.duckdb"), sql)
    queries = ["SELECT count(*) / 2 FROM ship", "SELECT tags[1] FROM ship", "SELECT x FROM ship"]
    asked = [{"question": f"Q{n}", "sql": query} for n, query in enumerate(queries)]
    told = make_corpus(
        FOLDER,
        databases=["theirs/ships.duckdb"],
        questions=write_questions(Path("asked.json"), asked),
        engine="sqlite",
    )
    assert told.startswith("Models will write SQLite: converted to it: ships (a file of DuckDB)\n")
    assert "executed there and here: 2 set aside as dialect_differs" in told
    first, second, third = read_records()
    assert first["gold_sql"] == "SELECT CAST(COUNT(*) AS REAL) / 2 FROM ship"
    assert (first["dialect"], first["source_sql"]) == ("duckdb", queries[0])
    assert "dialect_differs" not in first
    assert second["dialect_differs"]["error"].startswith("cannot be translated: tags[0]: no rule")
    assert third["dialect_differs"]["error"].startswith("fails in duckdb")
    report = (FOLDER / "conversion.md").read_text(encoding="utf-8")
    assert "tags VARCHAR[] → TEXT" in report
    assert "- Q1: cannot be translated: tags[0]: no rule" in report
    words = FOLDER / "databases/ships/database_description"
    assert "name,,as painted," in (words / "ship.csv").read_text(encoding="utf-8")
    assert "name,,before," in (words / "sold_ship.csv").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sql", "dialect", "expected"),
    [
        ("SELECT year(born) FROM ship", None, "duckdb"),
        ("SELECT strftime('%Y', born) FROM ship", None, "sqlite"),
        ("SELECT name FROM ship", None, "sqlite"),
        ("SELECT name FROM ship WHERE born < CURRENT_DATE", None, "sqlite"),
        ("SELECT name FROM ship", "duckdb", "duckdb"),
    ],
)
def test_dialect_of_tables_is_that_in_which_queries_run(
    project: Path, sql: str, dialect: str | None, expected: str
) -> None:
    pytest.importorskip("duckdb", reason="needs the extra `convert`")
    FOLDER.mkdir(parents=True)
    (FOLDER / "ship.csv").write_text("name,born\nSun,2024-02-29\n", encoding="utf-8")
    write_questions(FOLDER / "questions.json", [{"question": "Q", "sql": sql}])
    told = make_corpus(FOLDER, dialect=dialect, engine="sqlite")
    assert ("translated from duckdb" in told) is (expected == "duckdb")
    assert "dialect_differs" not in read_records()[0]
    assert [path.name for path in FOLDER.rglob("*.sqlite")] == ["fleet.sqlite"]


def make_of_files(files: dict[str, str], sql: str, **options: Any) -> tuple[str, str]:
    """What the terminal and the report say of a corpus of files and one question."""
    pytest.importorskip("duckdb", reason="needs the extra `convert`")
    FOLDER.mkdir(parents=True)
    for name, text in files.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    write_questions(FOLDER / "questions.json", [{"question": "Q", "sql": sql}])
    told = make_corpus(FOLDER, **({"engine": "sqlite"} | options))
    return told, (FOLDER / "conversion.md").read_text(encoding="utf-8")


def test_terminal_and_report_say_how_csv_was_read(project: Path) -> None:
    files = {
        "ship.csv": "id;code;born\n1;0017;03/04/2024\n2;0021\n",
        "port.tsv": "name\tzip\nKiel\t24103\n",
        "notes.txt": "",
    }
    told, report = make_of_files(files, "SELECT code FROM ship", types=["port.zip=TEXT"])
    for text in (told, report):
        assert "not read, since it is none of .csv, .tsv, .parquet: notes.txt" in text
        assert "ship: text, which a type would change: code ('0017' in line 2), born" in text
        assert (
            "ship: rows with fewer values than names, where the others are NULL: 1 (line 3)" in text
        )
    assert "  guessed types: ship.id INTEGER; `--types TABLE.COLUMN=TYPE` says otherwise" in told
    assert "- ship: ship.csv has 2 rows, counted by Python's csv module, and all are here" in report
    assert "Nothing of them is lost." in report


def test_table_that_sqlite_cannot_hold_is_told_in_the_report(project: Path) -> None:
    wide = ",".join(f"c{place}" for place in range(2001))
    files = {"wide.csv": f"{wide}\n", "ship.csv": "id\n1\n"}
    _, report = make_of_files(files, "SELECT id FROM ship")
    assert "- main.wide is left out: it has 2,001 columns" in report
    assert "1 table left out, as is said above.\n\nNothing of the others is lost." in report


def test_type_of_a_column_that_is_not_there_is_told(project: Path) -> None:
    with pytest.raises(InputError, match=r"--types ship\.no: expected one of ship\.id"):
        make_of_files({"ship.csv": "id\n1\n"}, "SELECT id FROM ship", types=["ship.no=TEXT"])
    assert list_files(FOLDER) == ["questions.json", "ship.csv"]


def test_rows_with_infinity_are_evidence(project: Path) -> None:
    files = {"ship.csv": f"a,b,n\n1.5,0.0,{2**63 - 1}\n-2.5,0.0,1\n"}
    sql = "SELECT a / b, (SELECT sum(n) FROM ship) FROM ship"  # an overflow in SQLite
    make_of_files(files, sql, dialect="duckdb")
    there = read_records()[0]["dialect_differs"]["there"]
    assert [first for first, _ in there] == ["inf", "-inf"]


@pytest.mark.parametrize(
    ("queries", "said", "dialect"),
    [
        (["SELECT a / b FROM t", "SELECT count(*) FROM t"], "1 query of gold run in both", None),
        (["SELECT year(d) FROM t", "SELECT a / b FROM t"], "1 query of gold run in both", None),
        (["SELECT n FROM t WHERE n LIKE 'OK'"], "the first is SELECT n FROM t WHERE", None),
        (["SELECT a / b FROM t"], None, "sqlite"),
        (["SELECT count(*) FROM t"], None, None),
    ],
)
def test_queries_that_answer_otherwise_in_another_dialect_are_told(
    project: Path, queries: list[str], said: str | None, dialect: str | None
) -> None:
    pytest.importorskip("duckdb", reason="needs the extra `convert`")
    FOLDER.mkdir(parents=True)
    (FOLDER / "t.csv").write_text("a,b,n,d\n1,2,ok,2024-01-31\n3,4,OK,2024-02-29\n", "utf-8")
    asked = [{"question": f"Q{n}", "sql": sql} for n, sql in enumerate(queries)]
    write_questions(FOLDER / "questions.json", asked)
    told = make_corpus(FOLDER, dialect=dialect, engine="sqlite")
    report = (FOLDER / "conversion.md").read_text(encoding="utf-8")
    for words in (told, report):
        assert ("answer otherwise" in words) is (said is not None)
        assert (said or "") in words
        assert ("--dialect" in words) is (said is not None)


@pytest.mark.parametrize(
    "gold",
    [
        "DELETE FROM t",
        "SELECT 1; DELETE FROM t",
        "COMMIT; DELETE FROM t",
        "UPDATE t SET a = 0",
        "DROP TABLE t",
        "INSERT INTO t SELECT * FROM t RETURNING a",
        "WITH x AS (SELECT 1) DELETE FROM t",
        "SELECT year(day), a / 0 FROM t",
        "SELECT year(day), a % 0 FROM t",
        "SELECT sqrt(-a) FROM t",
        "SELECT error('x') FROM t",
        "SELECT year(day), CAST('x' AS INTEGER) FROM t",
        'SELECT "',
        "SELECT a FROM t WHERE a = '\x00'",
    ],
)
@pytest.mark.parametrize("dialect", [None, "duckdb"])
def test_one_question_changes_no_table_and_ends_no_other(
    project: Path, gold: str, dialect: str | None
) -> None:
    pytest.importorskip("duckdb", reason="needs the extra `convert`")
    FOLDER.mkdir(parents=True)
    (FOLDER / "t.csv").write_text("a,day\n1,2024-01-31\n3,2024-02-29\n", "utf-8")
    queries = ["SELECT count(*) FROM t", gold, "SELECT sum(a) FROM t WHERE year(day) = 2024"]
    asked = [{"question": f"Q{n}", "sql": sql} for n, sql in enumerate(queries)]
    write_questions(FOLDER / "questions.json", asked)
    make_corpus(FOLDER, dialect=dialect, engine="sqlite")
    first, second, third = read_records()
    assert "dialect_differs" in second
    assert "dialect_differs" not in {**first, **third}
    connection = sqlite3.connect(FOLDER / "databases/fleet/fleet.sqlite")
    answers = [connection.execute(each["gold_sql"]).fetchall() for each in (first, third)]
    connection.close()
    assert answers == [[(2,)], [(4,)]]


@pytest.mark.slow
@pytest.mark.parametrize("form", ["{}#x", "{}/x", "{}?x", "{}[x", "x@{}", "{}%23x", "{}"])
@pytest.mark.parametrize("scheme", ["postgresql", "mysql", "postgres+psycopg", "snowflake"])
def test_password_of_a_url_stands_nowhere(
    project: Path, scheme: str, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = write_questions(Path("theirs/asked.json"))
    place = f"{scheme}://kim:{form.format('q7Zx')}@127.0.0.1:1/shop"
    with pytest.raises(InputError) as raised:
        make_corpus(FOLDER, databases=[place], questions=asked)
    chain = "".join(traceback.format_exception(raised.value))
    assert "q7Zx" not in chain.replace(repr(place), "")
    assert not any("q7Zx" in str(path) for path in project.rglob("*"))
