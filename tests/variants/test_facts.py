"""facts and keys: what many rows of a database keep is found, and kept in its variants."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerkey.engines.schema import Column
from answerkey.engines.typed_values import read_type
from answerkey.suites.rivals import write_by_heart
from answerkey.variants.facts import ColumnFacts
from answerkey.variants.fuzzer import RECIPES
from answerkey.variants.keys import DANGLING, KeyFacts, find_key_facts
from answerkey.variants.rows import Rows
from tests.variants.world import ask, make_variant, read_world


def describe(folder: Path, sql: str) -> tuple[list[str], list[str]]:
    """Keys as `table(columns)` and references as `table(columns)>table(columns)`."""
    rows = read_world(folder, sql)
    facts = find_key_facts(rows)

    def name(table: str, columns_of_key: tuple[int, ...]) -> str:
        columns = rows.tables[table].table.columns
        return f"{table}({','.join(columns[column_index].name for column_index in columns_of_key)})"

    keys = [name(table, key) for table, own in facts.keys.items() for key in own]
    references = [
        f"{name(reference.table, reference.columns)}>{name(reference.parent, reference.referred)}"
        for reference in facts.references
    ]
    return sorted(keys), sorted(references)


def fill(table: str, *rows: str) -> str:
    return f"INSERT INTO {table} VALUES {', '.join(f'({row})' for row in rows)};"


KEYS = {
    "implicit parent key, other case": (
        "CREATE TABLE Owner (ID INTEGER PRIMARY KEY); CREATE TABLE pet (o REFERENCES OWNER)",
        (["Owner(ID)"], ["pet(o)>Owner(ID)"]),
    ),
    "composite, and of itself": (
        "CREATE TABLE t (a, b, c, d, PRIMARY KEY (b, a), FOREIGN KEY (C, D) REFERENCES T (a, b))",
        (["t(b,a)"], ["t(c,d)>t(a,b)"]),
    ),
    "missing table, missing column, another number of columns": (
        """CREATE TABLE p (a PRIMARY KEY); CREATE TABLE t (x REFERENCES gone, y REFERENCES p (gone),
        z, FOREIGN KEY (y, z) REFERENCES p)""",
        (["p(a)"], []),
    ),
    "twice, and to itself": (
        """CREATE TABLE p (a PRIMARY KEY REFERENCES p); CREATE TABLE t (x REFERENCES p REFERENCES p,
        FOREIGN KEY (x) REFERENCES p (a))""",
        (["p(a)"], ["t(x)>p(a)"]),
    ),
    "unique index, but no partial one and none of an expression": (
        """CREATE TABLE t (a, b, c); CREATE UNIQUE INDEX i ON t (a, b);
        CREATE UNIQUE INDEX j ON t (a) WHERE b; CREATE UNIQUE INDEX k ON t (lower(c))""",
        (["t(a,b)"], []),
    ),
}
STUDENTS = "CREATE TABLE student (StuID INT, name TEXT);" + fill(
    "student", "1, 'Ann'", "2, 'Bob'", "3, 'Cid'", "4, 'Ann'"
)
PETS = "CREATE TABLE pet (PetID INT, kind TEXT);" + fill("pet", "7, 'cat'", "8, 'cat'", "9, 'dog'")
KEYS |= {
    "two rows are not enough": ("CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (2)", ([], [])),
    "a NULL is no key": (
        "CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (2), (3), (NULL)",
        ([], []),
    ),
    "a name that is no id, and to which nothing refers": (
        "CREATE TABLE t (height INT); INSERT INTO t VALUES (1), (2), (3)",
        ([], []),
    ),
    "a link between two tables": (
        STUDENTS
        + PETS
        + "CREATE TABLE has_pet (stuid INT, petid INT);"
        + fill("has_pet", "1, 7", "1, 8", "2, 8"),
        (
            ["has_pet(stuid,petid)", "pet(PetID)", "student(StuID)"],
            ["has_pet(petid)>pet(PetID)", "has_pet(stuid)>student(StuID)"],
        ),
    ),
    "a list of texts": (
        "CREATE TABLE colour (name TEXT, colour_id INT);"
        + fill("colour", "'red', 1", "'blue', 2", "'grey', 3"),
        (["colour(colour_id)", "colour(name)"], []),
    ),
    "a list of numbers may be chance": (
        "CREATE TABLE pay (id INT PRIMARY KEY, sum INT);" + fill("pay", "1, 7", "2, 8", "3, 9"),
        (["pay(id)"], []),
    ),
    "a name beside more may be that of two": (
        "CREATE TABLE port (id INT PRIMARY KEY, name TEXT, berths INT);"
        + fill("port", "1, 'Lima', 7", "2, 'Oslo', 8", "3, 'Perth', 9"),
        (["port(id)"], []),
    ),
    "a reference that differs by chance is no key": (
        STUDENTS + "CREATE TABLE loan (StuID INT, sum INT);" + fill("loan", "1, 5", "3, 5", "4, 9"),
        (["student(StuID)"], ["loan(StuID)>student(StuID)"]),
    ),
    "table and key": (
        "CREATE TABLE owners (id INT);"
        + fill("owners", "1", "2", "3")
        + "CREATE TABLE car (id INT, owner_id INT);"
        + fill("car", "1, 3", "2, 3", "3, 1"),
        (["car(id)", "owners(id)"], ["car(owner_id)>owners(id)"]),
    ),
    "a part of a declared key is no key": (
        "CREATE TABLE part (doc_id INT, line_no INT, PRIMARY KEY (doc_id, line_no));"
        + fill("part", "1, 4", "2, 5", "3, 6"),
        (["part(doc_id,line_no)"], []),
    ),
}


@pytest.mark.parametrize(("sql", "expected"), KEYS.values(), ids=KEYS)
def test_keys_are_found(tmp_path: Path, sql: str, expected: tuple[list[str], list[str]]) -> None:
    assert describe(tmp_path, sql) == expected


def test_parents_are_found_as_sqlite_compares_them(tmp_path: Path) -> None:
    sql = """CREATE TABLE p (name TEXT COLLATE NOCASE PRIMARY KEY, code TEXT UNIQUE);
    CREATE TABLE c (name TEXT REFERENCES p, code INT REFERENCES p (code));
    INSERT INTO p VALUES ('Sun', '7'), ('Sea', '8');
    INSERT INTO c VALUES ('SUN', 8), (NULL, 7), ('sky', 9);"""
    facts = find_key_facts(read_world(tmp_path, sql))
    assert [reference.referred for reference in facts.references] == [(1,), (0,)]
    assert list(facts.parents) == [[1, 0, DANGLING], [0, None, DANGLING]]


STATES = ("Oslo", "Bergen", "Troms", "Agder")
TOWNS = "CREATE TABLE town (id INTEGER PRIMARY KEY, zip INT, city TEXT, state TEXT, code TEXT);"
PAPERS = """
    CREATE TABLE trip (id INTEGER PRIMARY KEY, title TEXT, status TEXT);
    CREATE TABLE purse (id INTEGER PRIMARY KEY, trip_id INT REFERENCES trip (id), trip_status TEXT,
        amount REAL, spent REAL, remaining REAL, bills INT);
    CREATE TABLE bill (id INTEGER PRIMARY KEY, purse_id INT REFERENCES purse (id), cost REAL,
        opened TEXT, closed TEXT);
"""
LINKS = """
    CREATE TABLE web (id INTEGER PRIMARY KEY, kind TEXT);
    CREATE TABLE knot (id INTEGER PRIMARY KEY, web_id INT REFERENCES web (id));
    CREATE TABLE thread (id INTEGER PRIMARY KEY, web_id INT REFERENCES web (id));
    CREATE TABLE tied (knot_id INT REFERENCES knot (id), other_id INT REFERENCES knot (id),
        thread_id INT REFERENCES thread (id));
"""
SEEDS = range(6)


def insert(table: str, rows: list[tuple]) -> str:
    return f"INSERT INTO {table} {write_by_heart(rows)};"


def write_towns(count: int = 60) -> str:
    rows = [
        (n, 100 + n % 12, f"City {n % 12}", STATES[n % 4], STATES[n % 4][:2].upper())
        for n in range(count)
    ]
    return TOWNS + insert("town", rows)


def write_papers() -> str:
    trips = [(n, f"Trip {n}", ("open", "closed", "planned")[n % 3]) for n in range(30)]
    costs = {n: [n + k + 0.25 for k in range(1 + n % 6)] for n in range(30)}
    purses = [
        (n, n, trips[n][2], 90.0 + n, sum(costs[n]), 90.0 + n - sum(costs[n]), len(costs[n]))
        for n in range(30)
    ]
    bills = [
        (10 * n + k, n, cost, f"{month}-{10 + k}", f"{month}-{20 + (n // 3 + k) % 9}")
        for n, own in costs.items()
        for month in [f"2024-0{1 + n % 9}"]
        for k, cost in enumerate(own)
    ]
    return PAPERS + insert("trip", trips) + insert("purse", purses) + insert("bill", bills)


def write_links() -> str:
    webs = [(n, "ab"[n % 2]) for n in range(12)]
    knots = [(n, n // 3) for n in range(36)]
    threads = [(n, n // 2) for n in range(24)]
    ties = [(3 * (n // 2) + n % 2, 3 * (n // 2) + 1 + n % 2, n) for n in range(24)]
    ties += [(other, knot, thread) for knot, other, thread in ties]
    parts = {"web": webs, "knot": knots, "thread": threads, "tied": ties}
    return LINKS + "".join(insert(name, rows) for name, rows in parts.items())


def read_facts(folder: Path, sql: str) -> KeyFacts:
    return find_key_facts(read_world(folder, sql))


def make_all(rows: Rows, constants: list[tuple] = ()) -> list[Rows]:
    recipes = [name for name in RECIPES if name not in ("fill", "conditions")]
    options = {"constants": constants, "max_rows": 10}
    return [make_variant(rows, name, seed, **options) for name in recipes for seed in SEEDS]


def test_rule_of_few_rows_is_no_fact(tmp_path: Path) -> None:
    facts = read_facts(tmp_path, write_towns(12)).kept
    assert facts.never_null == {"town": frozenset()}
    assert facts.derived == {"town": ()}


def test_column_that_another_one_knows_is_kept(tmp_path: Path) -> None:
    rows = read_world(tmp_path, write_towns())
    derived = find_key_facts(rows).kept.derived["town"]
    assert [(column.kind, column.sources, column.column_index) for column in derived] == [
        ("known", (1,), 2),
        ("known", (2,), 3),
        ("known", (3,), 4),
    ]
    constants = [("town", 3, "Oslo"), ("town", 1, 105)]
    for variant in make_all(rows, constants):
        pairs = ask(variant, "SELECT DISTINCT zip, city, state, code FROM town")
        assert len({zip_code for zip_code, *_ in pairs}) == len(pairs)


def test_null_comes_only_where_many_rows_have_one(tmp_path: Path) -> None:
    facts = read_facts(tmp_path, write_towns())
    assert facts.kept.never_null == {"town": frozenset(range(5))}
    assert facts.nullable == {"town": ()}
    facts = read_facts(tmp_path, write_towns() + "UPDATE town SET city = NULL WHERE id = 3;")
    assert facts.nullable == {"town": (2,)}


def test_copied_totalled_and_computed_columns_are_kept(tmp_path: Path) -> None:
    rows = read_world(tmp_path, write_papers())
    kept = find_key_facts(rows).kept
    assert [
        (fact.reference.table, fact.column_index, fact.parent_column_index) for fact in kept.copied
    ] == [("purse", 2, 2)]
    assert {(fact.column_index, fact.parent_column_index) for fact in kept.totalled} == {
        (2, 4),
        (None, 6),
    }
    assert ("plus", 3, (4, 5)) in {fact[:3] for fact in kept.derived["purse"]}
    assert ("order", 3, (3, 4)) in {fact[:3] for fact in kept.derived["bill"]}
    constants = [("purse", 2, "closed"), ("bill", 2, 5.0)]
    for variant in make_all(rows, constants):
        assert not ask(
            variant,
            "SELECT * FROM purse JOIN trip ON trip_id = trip.id WHERE trip_status <> status"
            " OR abs(amount - spent - remaining) > 0.01",
        )
        assert not ask(
            variant,
            "SELECT purse.id FROM purse JOIN bill ON purse_id = purse.id GROUP BY purse.id"
            " HAVING abs(sum(cost) - spent) > 0.01 OR count(*) <> bills",
        )
        assert not ask(variant, "SELECT * FROM bill WHERE opened > closed")


def test_links_in_both_directions_and_two_ways_to_one_row_are_kept(tmp_path: Path) -> None:
    rows = read_world(tmp_path, write_links())
    kept = find_key_facts(rows).kept
    assert kept.mirrored == {"tied": (0, 1)}
    assert len(kept.meetings) == 3  # by each knot and by the thread
    assert {
        (reference.table, reference.columns, count) for reference, count in kept.quotas.items()
    } >= {("tied", (2,), 2)}
    tied_rows = 0
    for variant in make_all(rows, [("web", 1, "a")]):
        tied_rows += len(ask(variant, "SELECT * FROM tied"))
        assert not ask(
            variant, "SELECT knot_id, other_id FROM tied EXCEPT SELECT other_id, knot_id FROM tied"
        )
        assert not ask(
            variant,
            "SELECT * FROM tied JOIN knot ON knot_id = knot.id JOIN thread ON thread_id = thread.id"
            " WHERE knot.web_id <> thread.web_id",
        )
        assert not ask(variant, "SELECT 1 FROM tied GROUP BY thread_id HAVING count(*) > 2")
    assert tied_rows > 100


BONDS = """
CREATE TABLE atom (id INTEGER PRIMARY KEY, element TEXT);
CREATE TABLE bond (id INTEGER PRIMARY KEY, kind TEXT);
CREATE TABLE link (atom_id INT REFERENCES atom, bond_id INT REFERENCES bond);
"""


@pytest.mark.parametrize(("links", "is_served"), [(2, True), (12, False)])
def test_parents_that_all_have_rows_have_some_unless_chance_would_give_each_some(
    tmp_path: Path, links: int, is_served: bool
) -> None:
    atoms = fill("atom", *(f"{n}, '{'CHO'[n % 3]}'" for n in range(100)))
    bonds = fill("bond", *(f"{n}, '{'-='[n % 2]}'" for n in range(7)))
    pairs = fill("link", *(f"{n % 100}, {n * n % 7}" for n in range(100 * links)))
    world = read_world(tmp_path, f"{BONDS}{atoms}{bonds}{pairs}", max_rows=2000)
    facts = find_key_facts(world)
    assert [reference.parent for reference in facts.kept.served] == ["atom"] * is_served
    idle = "SELECT count(*) FROM atom WHERE id NOT IN (SELECT atom_id FROM link)"
    variants = [make_variant(world, "everything", seed, max_rows=8) for seed in range(4)]
    if is_served:
        assert [ask(variant, idle) for variant in variants] == [[(0,)]] * 4
    else:
        assert any(ask(variant, idle) != [(0,)] for variant in variants)


def test_bonds_of_a_large_table_have_two_links_each_as_in_the_database(tmp_path: Path) -> None:
    atoms = fill("atom", *(f"{n}, '{'CHO'[n % 3]}'" for n in range(300)))
    bonds = fill("bond", *(f"{n}, '{'-='[n % 2]}'" for n in range(299)))
    links = fill("link", *(f"{n}, {n}), ({n + 1}, {n}" for n in range(299)))
    world = read_world(tmp_path, f"{BONDS}{atoms}{bonds}{links}", max_rows=100)
    assert not world.tables["link"].is_whole
    kept = find_key_facts(world).kept
    assert [(reference.parent, count) for reference, count in kept.quotas.items()] == [("bond", 2)]
    assert {reference.parent for reference in kept.served} == {"atom", "bond"}
    sizes = "SELECT DISTINCT count(atom_id) FROM bond LEFT JOIN link ON bond_id = id GROUP BY id"
    for seed in range(3):
        variant = make_variant(world, "everything", seed, max_rows=8)
        assert max(ask(variant, sizes)) == (2,)
        assert (0,) not in ask(variant, sizes)


def test_name_that_children_copy_is_copied_though_it_is_a_key_among_them(tmp_path: Path) -> None:
    schools = fill("school", *(f"{n}, 'School {n % 24}'" for n in range(40)))
    exams = fill("exam", *(f"{n}, 'School {n}', {n * 7 % 50}" for n in range(24)))
    sql = """CREATE TABLE school (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE exam
        (id INTEGER PRIMARY KEY REFERENCES school, school_name TEXT, score INT);"""
    world = read_world(tmp_path, f"{sql}{schools}{exams}")
    other = "SELECT count(*) FROM exam JOIN school USING (id) WHERE school_name <> name"
    for recipe in ("permute", "everything"):
        assert ask(make_variant(world, recipe), other) == [(0,)]


def test_way_that_ends_nowhere_is_no_other_row(tmp_path: Path) -> None:
    sql = "CREATE TABLE depot (id INTEGER PRIMARY KEY);"
    sql += "CREATE TABLE driver (id INTEGER PRIMARY KEY, depot_id INT REFERENCES depot (id),"
    sql += " mentor_id INT REFERENCES driver (id));"
    sql += insert("depot", [(n,) for n in range(5)])
    sql += insert("driver", [(n, n % 5, n - 5 if n > 9 else None) for n in range(40)])
    rows = read_world(tmp_path, sql)
    assert len(find_key_facts(rows).kept.meetings) == 1
    assert all(ask(variant, "SELECT * FROM driver") for variant in make_all(rows))


def test_reference_that_a_key_spells_stays(tmp_path: Path) -> None:
    sql = "CREATE TABLE molecule (id TEXT PRIMARY KEY, label TEXT);"
    sql += "CREATE TABLE atom (id TEXT PRIMARY KEY, molecule_id TEXT REFERENCES molecule (id));"
    sql += insert("molecule", [(f"TR{n:03}", "+-"[n % 2]) for n in range(30)])
    sql += insert("atom", [(f"TR{n % 30:03}_{n}", f"TR{n % 30:03}") for n in range(90)])
    rows = read_world(tmp_path, sql)
    assert len(find_key_facts(rows).kept.spelled) == 1
    for variant in make_all(rows):
        assert not ask(variant, "SELECT * FROM atom WHERE substr(id, 1, 5) <> molecule_id")


@pytest.mark.parametrize(
    ("columns", "rows", "key"),
    [
        ("name TEXT, zip INT", [(n, f"Trip {n}", n % 7) for n in range(30)], (1,)),
        (
            "first_name TEXT, last_name TEXT",
            [(n, f"First {n % 6}", f"Last {n // 6}") for n in range(36)],
            (1, 2),
        ),
    ],
)
def test_names_that_all_differ_in_many_rows_are_a_key(
    tmp_path: Path, columns: str, rows: list[tuple], key: tuple[int, ...]
) -> None:
    sql = f"CREATE TABLE member (id INTEGER PRIMARY KEY, {columns});"
    assert key in read_facts(tmp_path, sql + insert("member", rows)).keys["member"]


def test_name_that_one_row_has_stays_the_name_of_one(tmp_path: Path) -> None:
    sql = "CREATE TABLE hero (id INTEGER PRIMARY KEY, name TEXT, age INT);"
    rows = [(n, f"Hero {n // 2}", n) for n in range(40)]
    rows[0] = (0, "Ana", 1)
    rows = read_world(tmp_path, sql + insert("hero", rows))
    for variant in make_all(rows, [("hero", 1, "Ana")]):
        assert ask(variant, "SELECT count(*) FROM hero WHERE name = 'Ana'") <= [(1,)]


@pytest.mark.parametrize(
    ("facts", "value", "fitted"),
    [
        ({"kinds": {int}}, "7", 7),
        ({"kinds": {int}}, "x", None),
        ({"kinds": {str}}, 7, "7"),
        ({"kinds": {str}, "closed": ("+", "-")}, "x +", None),
        ({"kinds": {str}, "closed": ("+", "-")}, "+", "+"),
        ({"kinds": {int}, "is_positive": True}, -1, None),
        ({"kinds": {str}, "shape": "9999-99-99", "example": "2020-05-01"}, "2019", "2019-05-01"),
        ({"kinds": {str}, "shape": "9999-99-99", "example": "2020-05-01"}, "x 2019", None),
    ],
)
def test_constant_is_written_as_its_column_would_hold_it(
    facts: dict, value: object, fitted: object
) -> None:
    kinds = frozenset(facts.pop("kinds"))
    kind = "INT" if int in kinds else "VARCHAR"
    column, column_type = Column("c", kind, False, 0), read_type(kind, "sqlite")
    assert ColumnFacts(column, column_type, kinds, **facts).fit(value) == fitted
