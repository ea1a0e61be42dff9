"""Copies of a database that hold the same rows in other orders, and change nothing else."""

import shutil
import sqlite3
from contextlib import closing

import pytest

from answerkey.order.reordered_copies import ReorderedCopies, ReorderedCopy, read_tables
from answerkey.probes.order import find_row_order_dependent
from answerkey.sqlite.guard import GuardedDatabase, QueryError
from tests.shared.probe_world import ProbeWorld
from tests.shared.row_world import WORLD

FEW = ["seed 0", "seed 1", "seed 2"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("rows"), WORLD) as world:
        yield world


HARD_WORLD = """
CREATE TABLE plain (a, b BLOB, c TEXT, d INT GENERATED ALWAYS AS (length(b)) STORED, UNIQUE (c));
INSERT INTO plain (a, b, c) VALUES
    (1, x'00ff', 'x'), (2.5, x'', CAST(x'ff80' AS TEXT)), (NULL, x'01', 'z'), ('', NULL, NULL);
CREATE INDEX by_length ON plain (length(b)) WHERE a IS NOT NULL;
CREATE TABLE keyed (id INTEGER PRIMARY KEY AUTOINCREMENT, v);
INSERT INTO keyed (v) VALUES ('p'), ('q');
CREATE TABLE wide (rowid TEXT, _rowid_ TEXT, oid TEXT);
INSERT INTO wide VALUES ('r1', 'r2', 'r3');
CREATE TABLE half (rowid TEXT, v INT CHECK (v > 0));
INSERT INTO half VALUES ('h', 1), ('g', 2), ('f', 3);
CREATE TABLE without (k TEXT PRIMARY KEY, v) WITHOUT ROWID;
INSERT INTO without VALUES ('k', 1);
CREATE TABLE strict (k ANY PRIMARY KEY, v TEXT COLLATE NOCASE, w TEXT AS (k || v))
STRICT, WITHOUT ROWID;
INSERT INTO strict VALUES (1.0, 'a'), ('1', 'A'), (x'31', NULL), (2, CAST(x'ff80' AS TEXT));
CREATE INDEX by_v ON strict (v DESC) WHERE v IS NOT NULL;
CREATE TABLE "sp ""ace" (v);
INSERT INTO "sp ""ace" VALUES (1), (2), (3), (4), (5), (6);
CREATE VIRTUAL TABLE words USING fts5(body);
INSERT INTO words VALUES ('one two'), ('two three');
CREATE VIEW v AS SELECT a FROM plain;
CREATE TRIGGER loud AFTER UPDATE ON plain BEGIN INSERT INTO keyed (v) VALUES ('triggered'); END;
"""
EVERYTHING = (
    "SELECT typeof(a), a, hex(b), hex(c), d FROM plain",
    "SELECT * FROM keyed",
    "SELECT * FROM wide",
    "SELECT * FROM half",
    "SELECT * FROM without",
    "SELECT typeof(k), hex(k), hex(v), hex(w) FROM strict",
    "SELECT count(*) FROM strict WHERE v = 'a'",
    'SELECT * FROM "sp ""ace"',
    "SELECT * FROM v",
    "SELECT count(*) FROM plain WHERE length(b) = 1 AND a IS NOT NULL",
)


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16be"])
@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_copy_holds_the_same_rows_in_another_order(tmp_path, seed, encoding):
    path, copy = tmp_path / "hard.sqlite", tmp_path / "copy.sqlite"
    connection = sqlite3.connect(path)
    start = f"PRAGMA encoding = '{encoding}'; PRAGMA journal_mode = WAL;"
    connection.executescript(start + HARD_WORLD)
    connection.close()
    before = path.read_bytes()
    assert {table.name: table.rowid for table in read_tables(path).movable} == {
        "plain": "rowid", "half": "_rowid_", 'sp "ace': "rowid",
        "keyed": None, "wide": None, "without": None, "strict": None,
    }  # fmt: skip
    reordered = ReorderedCopy(path, copy, seed=seed)
    assert reordered.reorder(read_tables(path).movable) == []
    assert path.read_bytes() == before
    moved = []
    with GuardedDatabase(path) as original, closing(reordered):
        for sql in EVERYTHING:
            here, there = original.execute(sql), reordered.database.execute(sql)
            assert sorted(map(repr, here)) == sorted(map(repr, there)), sql
            moved.append(here != there)
    assert any(moved) or seed == 2
    connection = sqlite3.connect(copy)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()


def test_copy_has_each_view_whose_text_can_be_read(tmp_path):
    with ProbeWorld(tmp_path, "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2);") as world:
        path = world.database.path
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript("""
            CREATE VIEW sound AS SELECT a FROM t;
            CREATE VIEW gone AS SELECT a FROM nowhere;
            CREATE VIEW odd AS SELECT a FROM t /* ? */;
            PRAGMA writable_schema = ON;
            UPDATE sqlite_master SET sql = CAST(replace(sql, '?', x'ff') AS TEXT) WHERE name = 'odd'
        """)
    with closing(ReorderedCopy(path, tmp_path / "copy", seed=0)) as copy:
        copy.reorder(read_tables(path).movable)
        assert copy.database.execute("SELECT * FROM sound") == [(2,), (1,)]
        for view, message in (("gone", "nowhere"), ("odd", "no such table: odd")):
            with pytest.raises(QueryError, match=message):
                copy.database.execute(f"SELECT * FROM {view}")


def test_copies_are_the_same_every_time_and_differ_by_seed(tmp_path):
    with ProbeWorld(tmp_path, WORLD) as world:
        path = world.database.path
    orders = []
    movable = read_tables(path).movable
    for name, seed, steps in (
        ("a", 1, [movable]),
        ("b", 1, [[], movable, movable]),
        ("c", 2, [movable]),
    ):
        with closing(ReorderedCopy(path, tmp_path / name, seed)) as copy:
            for tables in steps:
                copy.reorder(tables)
            orders.append(copy.database.execute("SELECT n FROM plain"))
    assert orders[0] == orders[1] != orders[2]


def test_mixes_of_seeds_and_of_tables_are_their_own(tmp_path):
    """Rowids as SQLite allows them, from the least to the greatest."""
    places = [-(2**63), -1, 0, 1, 2, 3, 2**40, 2**63 - 1]
    values = ", ".join(f"({place}, {number})" for number, place in enumerate(places))
    sql = "".join(
        f"CREATE TABLE {name} (n INT); INSERT INTO {name} (rowid, n) VALUES {values};"
        for name in ("one", "two")
    )
    with ProbeWorld(tmp_path, sql) as world:
        path = world.database.path
    movable, orders = read_tables(path).movable, set()
    for seed in (1, 3, 4):
        with closing(ReorderedCopy(path, tmp_path / str(seed), seed)) as copy:
            assert copy.reorder(movable) == []
            orders |= {tuple(copy.database.execute(f"SELECT n FROM {t.name}")) for t in movable}
    assert len(orders) == 6


def test_table_is_reordered_once_and_left_out_where_that_fails(tmp_path):
    path = tmp_path / "odd.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.create_function("ours", 1, abs, deterministic=True)  # here and nowhere else
        connection.executescript("""
            CREATE TABLE plain (n INT);
            INSERT INTO plain VALUES (1), (2), (3), (4), (5), (6), (7), (8);
            CREATE TABLE odd (n INT, m INT AS (ours(n)));
            INSERT INTO odd VALUES (1), (2);
            CREATE TRIGGER loud BEFORE INSERT ON odd BEGIN SELECT RAISE(ABORT, 'no'); END;
        """)
    movable = read_tables(path).movable
    with closing(ReorderedCopy(path, tmp_path / "copy", seed=1)) as copy:
        assert copy.reorder(movable) == ["odd"]
        order = copy.database.execute("SELECT n FROM plain")
        assert copy.reorder(movable) == ["odd"]
        assert copy.database.execute("SELECT n FROM plain") == order
        with pytest.raises(QueryError, match="no such table: odd"):
            copy.database.execute("SELECT n FROM odd")
        assert sorted(order) == [(n,) for n in range(1, 9)] != order


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT name FROM plain LIMIT 1", FEW),
        ("SELECT name FROM [Plain] LIMIT 1", FEW),
        ("SELECT 'plain' FROM keyed", FEW),  # it might be one
        ("SELECT name FROM seen LIMIT 1", FEW),
        ("SELECT name FROM keyed LIMIT 1", FEW),
        ("SELECT rowid FROM plain LIMIT 1", FEW),
        ("SELECT a.oid FROM keyed AS a JOIN plain", ["reversed"]),
        ("SELECT number FROM numbered", ["reversed"]),
        ("SELECT count(*) FROM seen, sqlite_master", ["reversed"]),
        ("SELECT count(*) FROM [SQLite_master] WHERE tbl_name = 'words'", ["reversed"]),
        ("SELECT * FROM twice", FEW),
        ("SELECT 'seed'", []),
    ],
)
def test_copies_serve_only_queries_that_may_read_what_moved(world, sql, expected):
    with world.copied() as copies:
        assert [name for name, _ in copies.storages_for(sql)] == expected


def test_copy_is_the_same_whichever_tables_were_reordered_before(tmp_path):
    sql = "".join(
        f"CREATE TABLE {name} (n INT); INSERT INTO {name} VALUES {', '.join(rows)};"
        for name in ("one", "two")
        for rows in [[f"({n})" for n in range(9)]]
    )
    with ProbeWorld(tmp_path, sql) as world:
        path = world.database.path
    one, two = read_tables(path).movable
    answers = []
    for name, steps in (("a", [[one, two]]), ("b", [[two], [one]]), ("c", [[one], [two]])):
        with closing(ReorderedCopy(path, tmp_path / name, seed=1)) as copy:
            for tables in steps:
                copy.reorder(tables)
            answers.append(copy.database.execute("SELECT * FROM one JOIN two"))
    assert answers[0] == answers[1] == answers[2]


def test_tables_of_a_large_database_are_copied_as_they_are_named(tmp_path):
    sql = (
        "CREATE TABLE one (n INT); INSERT INTO one VALUES (1), (2), (3), (4), (5), (6), (7), (8);"
        "CREATE TABLE two (n TEXT); INSERT INTO two SELECT n || zeroblob(40000) FROM one;"
    )
    with ProbeWorld(tmp_path, sql) as world:
        path = world.database.path
    stored = [(n,) for n in range(1, 9)]
    with ReorderedCopies(path, seeds=[1]) as copies:
        [(_, copy)] = copies.storages_for("SELECT n FROM two")
        with pytest.raises(QueryError, match="no such table: one"):
            copy.execute("SELECT n FROM one")
        [(_, copy)] = copies.storages_for("SELECT n FROM one")
        assert (
            sorted(copy.execute("SELECT n FROM one")) == stored != copy.execute("SELECT n FROM one")
        )


@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16be"])
def test_views_that_name_their_schema_are_read_in_copies(tmp_path, encoding):
    """Copies are made step by step, since the database is large."""
    sql = f"""
        PRAGMA encoding = '{encoding}';
        CREATE TABLE one (n INT); INSERT INTO one VALUES (1), (2), (3), (4), (5), (6), (7), (8);
        CREATE TABLE two (n TEXT); INSERT INTO two SELECT n || hex(zeroblob(20000)) FROM one;
        CREATE VIEW seen AS SELECT n FROM main.one;
        CREATE VIEW further AS SELECT main.seen.n FROM seen;
    """
    with ProbeWorld(tmp_path, sql) as world, world.copied() as copies:
        for asked in ("SELECT n FROM two LIMIT 1", "SELECT n FROM further LIMIT 1"):
            found = dict(copies.storages_for(asked))
            assert list(found) == FEW
            assert world.find(find_row_order_dependent, asked)
        for copy in found.values():
            assert copy.execute("SELECT count(*), sum(n) FROM further") == [(8, 36)]


def test_nothing_is_read_before_a_query_asks(tmp_path):
    path = tmp_path / "none.sqlite"
    path.write_text("no database")
    with ReorderedCopies(path) as copies, pytest.raises(sqlite3.DatabaseError):
        list(copies.storages_for("SELECT 1"))


def test_database_whose_tables_all_move_is_not_scanned_backwards(tmp_path):
    with ProbeWorld(tmp_path, 'CREATE TABLE "a""b" (n INT)') as world:
        path = world.database.path
    with ReorderedCopies(path) as copies:
        names = [name for name, _ in copies.storages_for('SELECT n FROM "a""b"')]
    assert names == FEW


@pytest.mark.parametrize("earlier", [None, "SELECT * FROM small, large, other"])
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
@pytest.mark.parametrize(
    ("sql", "storages"),
    [
        ("SELECT n FROM small LIMIT 1", FEW),
        ("SELECT text FROM large LIMIT 1", ["reversed"]),
        ("SELECT text FROM large, small LIMIT 1", [*FEW, "reversed"]),
        ("SELECT n FROM other LIMIT 1", FEW),
    ],
)
def test_large_table_is_scanned_backwards_and_others_are_copied(
    tmp_path, sql, storages, encoding, earlier
):
    """A table of 400 kB, among others that are stored before and after it."""
    numbers = "(VALUES (1), (2), (3), (4), (5), (6), (7), (8))"
    content = f"""
        PRAGMA encoding = '{encoding}';
        CREATE TABLE small (n INT); INSERT INTO small SELECT * FROM {numbers};
        CREATE TABLE large (text TEXT, n INT UNIQUE);
        INSERT INTO large SELECT column1 || hex(zeroblob(25000)), column1 FROM {numbers};
        CREATE TABLE other (n INT); INSERT INTO other SELECT * FROM {numbers};
    """
    with (
        ProbeWorld(tmp_path, content) as world,
        world.copied(max_bytes=100_000, folder=tmp_path) as copies,
    ):
        for asked in filter(None, [earlier, "SELECT n FROM large LIMIT 1"]):
            list(copies.storages_for(asked))
        found = dict(copies.storages_for(sql))
        assert list(found) == storages
        assert world.find(find_row_order_dependent, sql)
        copies = [*tmp_path.glob("reordered-*/*.sqlite")]
        is_large_alone = earlier is None and storages == ["reversed"]
        assert len(copies) == (1 if is_large_alone else len(FEW))  # one to see that it is too large
        assert all(copy.stat().st_size < 150_000 for copy in copies)


@pytest.mark.parametrize("max_bytes", [0, 1])
def test_where_no_table_fits_into_a_copy_none_is_asked(world, max_bytes):
    sql = "SELECT name FROM plain LIMIT 1"
    with world.copied(max_bytes=max_bytes) as copies:
        assert [name for name, _ in copies.storages_for(sql)] == ["reversed"]
        assert world.find(find_row_order_dependent, sql)


def test_disk_that_is_full_is_no_large_table(tmp_path, monkeypatch):
    free = shutil.disk_usage(tmp_path)._replace(free=99_999)
    content = "CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(200000))"
    with (
        ProbeWorld(tmp_path, content) as world,
        world.copied(max_bytes=100_000, folder=tmp_path) as copies,
    ):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
        with pytest.raises(OSError, match=r"Expected 100000 bytes .* found 99999; TMPDIR"):
            list(copies.storages_for("SELECT * FROM t"))
        monkeypatch.setattr(shutil, "disk_usage", lambda _: free._replace(free=100_000))
        assert [name for name, _ in copies.storages_for("SELECT * FROM t")] == ["reversed"]


def test_disk_that_takes_no_more_is_no_large_table(tmp_path):
    """A bound on the size of files is the system's own error of writing."""
    resource = pytest.importorskip("resource", reason="no bounds for processes on this system")
    content = "CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(200000))"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with (
        ProbeWorld(tmp_path, content) as world,
        world.copied(folder=tmp_path) as copies,
    ):
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            with pytest.raises(OSError, match=r"Cannot write a copy of a table, .*disk I/O error"):
                list(copies.storages_for("SELECT * FROM t"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_copies_are_removed(world, tmp_path):
    with world.copied(folder=tmp_path) as copies:
        list(copies.storages_for("SELECT name FROM plain LIMIT 1"))
        assert list(tmp_path.iterdir())
    assert list(tmp_path.iterdir()) == []
