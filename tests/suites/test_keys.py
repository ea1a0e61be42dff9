"""keys: the keys and references of a database, declared and de facto."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerkey.suites.keys import DANGLING, find_key_facts
from tests.suites.world import read_world


def describe(folder: Path, sql: str) -> tuple[list[str], list[str]]:
    """Keys as `table(columns)` and references as `table(columns)>table(columns)`."""
    rows = read_world(folder, sql)
    facts = find_key_facts(rows)

    def name(table: str, places: tuple[int, ...]) -> str:
        columns = rows.tables[table].table.columns
        return f"{table}({','.join(columns[place].name for place in places)})"

    keys = [name(table, key) for table, found in facts.keys.items() for key in found]
    references = [
        f"{name(found.table, found.columns)}>{name(found.parent, found.referred)}"
        for found in facts.references
    ]
    return sorted(keys), sorted(references)


def fill(table: str, *rows: str) -> str:
    return f"INSERT INTO {table} VALUES {', '.join(f'({row})' for row in rows)};"


DECLARED = {
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


@pytest.mark.parametrize("case", DECLARED)
def test_declared_keys_are_found(tmp_path: Path, case: str) -> None:
    sql, expected = DECLARED[case]
    assert describe(tmp_path, sql) == expected


STUDENTS = "CREATE TABLE student (StuID INT, name TEXT);" + fill(
    "student", "1, 'Ann'", "2, 'Bob'", "3, 'Cid'", "4, 'Ann'"
)
PETS = "CREATE TABLE pet (PetID INT, kind TEXT);" + fill("pet", "7, 'cat'", "8, 'cat'", "9, 'dog'")
DE_FACTO = {
    "named as an id": (STUDENTS, (["student(StuID)"], [])),
    "two rows are not enough": (
        "CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (2)",
        ([], []),
    ),
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
    "numbers of another name may be chance": (
        STUDENTS + "CREATE TABLE room (beds INT);" + fill("room", "1", "2", "3", "3"),
        (["student(StuID)"], []),
    ),
    "a part of a declared key is no key": (
        "CREATE TABLE part (doc_id INT, line_no INT, PRIMARY KEY (doc_id, line_no));"
        + fill("part", "1, 4", "2, 5", "3, 6"),
        (["part(doc_id,line_no)"], []),
    ),
}


@pytest.mark.parametrize("case", DE_FACTO)
def test_keys_de_facto_are_found(tmp_path: Path, case: str) -> None:
    sql, expected = DE_FACTO[case]
    assert describe(tmp_path, sql) == expected


def test_parents_are_found_as_sqlite_compares_them(tmp_path: Path) -> None:
    sql = """CREATE TABLE p (name TEXT COLLATE NOCASE PRIMARY KEY, code TEXT UNIQUE);
    CREATE TABLE c (name TEXT REFERENCES p, code INT REFERENCES p (code));
    INSERT INTO p VALUES ('Sun', '7'), ('Sea', '8');
    INSERT INTO c VALUES ('SUN', 8), (NULL, 7), ('sky', 9);"""
    facts = find_key_facts(read_world(tmp_path, sql))
    found = {
        reference.referred: parents
        for reference, parents in zip(facts.references, facts.parents, strict=True)
    }
    assert found == {(0,): [0, None, DANGLING], (1,): [1, 0, DANGLING]}
