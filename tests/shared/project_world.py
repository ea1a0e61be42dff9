"""A small project in a temporary folder: two databases from SQL text, and every stage to run."""

from __future__ import annotations

import contextlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from answerkey.base.yaml_files import load_yaml
from tests.shared.paths import ROOT
from tests.shared.stages import call_stage

HARBOUR = """
CREATE TABLE port (id INTEGER PRIMARY KEY, name TEXT, country TEXT);
CREATE TABLE captain (id INTEGER PRIMARY KEY, name TEXT, age INTEGER);
CREATE TABLE ship (
    id INTEGER PRIMARY KEY, name TEXT, weight INTEGER, length REAL,
    port_id INTEGER REFERENCES port (id), captain_id INTEGER REFERENCES captain (id));
CREATE TABLE voyage (
    id INTEGER PRIMARY KEY, ship_id INTEGER REFERENCES ship (id), year INTEGER, days INTEGER);
INSERT INTO port VALUES (1, 'Göteborg', 'Sweden'), (2, 'Porto', 'Portugal'), (3, 'Cork', NULL);
INSERT INTO captain VALUES (1, 'Åsa', 50), (2, 'O''Neill', 41), (3, 'Iva', 33);
INSERT INTO ship VALUES
    (1, 'Tern', 40, 12.5, 1, 1), (2, 'Sun', 55, 20.25, 1, 2), (3, 'Ruby', 75, 31.0, 2, 3),
    (4, 'Kite', 12, 8.125, 2, 1), (5, 'Wren', 90, 44.5, 3, 2), (6, 'Alda', 64, 28.0, 3, 3);
INSERT INTO voyage VALUES
    (1, 1, 1999, 12), (2, 2, 2001, 30), (3, 3, 2001, 45), (4, 4, 2005, 7), (5, 5, 2010, 60),
    (6, 6, 2011, 21), (7, 1, 2012, 14), (8, 3, 2014, 33);
"""
LIBRARY = """
CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT);
CREATE TABLE shelf (id INTEGER PRIMARY KEY, room TEXT);
CREATE TABLE book (
    id INTEGER PRIMARY KEY, title TEXT, pages INTEGER,
    author_id INTEGER REFERENCES author (id), shelf_id INTEGER REFERENCES shelf (id));
CREATE TABLE loan (id INTEGER PRIMARY KEY, book_id INTEGER REFERENCES book (id), day TEXT);
INSERT INTO author VALUES (1, 'Zoë'), (2, 'Max'), (3, 'Ada');
INSERT INTO shelf VALUES (1, 'north'), (2, 'south');
INSERT INTO book VALUES
    (1, 'Dunes', 210, 1, 1), (2, 'Ice', 96, 2, 1), (3, 'Salt', 120, 3, 2), (4, 'Reeds', 333, 1, 2);
INSERT INTO loan VALUES
    (1, 1, '2020-01-05'), (2, 2, '2020-02-11'), (3, 4, '2021-07-30'), (4, 4, '2021-09-02');
"""
_SHIP_QUERIES = (
    "SELECT {columns} FROM ship WHERE ship.weight > {least}",
    "SELECT {columns}, port.name, captain.name FROM ship JOIN port ON ship.port_id = port.id"
    " JOIN captain ON ship.captain_id = captain.id WHERE ship.weight > {least}",
    "SELECT {columns}, port.name, captain.name, voyage.year FROM ship"
    " JOIN port ON ship.port_id = port.id JOIN captain ON ship.captain_id = captain.id"
    " JOIN voyage ON voyage.ship_id = ship.id WHERE ship.weight > {least}",
)
_BOOK_QUERIES = (
    "SELECT {columns} FROM book WHERE book.pages > {least}",
    "SELECT {columns}, author.name, shelf.room FROM book JOIN author ON book.author_id = author.id"
    " JOIN shelf ON book.shelf_id = shelf.id WHERE book.pages > {least}",
    "SELECT {columns}, author.name, shelf.room, loan.day FROM book"
    " JOIN author ON book.author_id = author.id JOIN shelf ON book.shelf_id = shelf.id"
    " JOIN loan ON loan.book_id = book.id WHERE book.pages > {least}",
)
FLAWED = {
    "sql_error": ("What do sailors earn?", "SELECT wage FROM ship"),
    "not_a_select": ("Sink them all.", "DELETE FROM ship"),
    "null_answer": ("How heavy is nothing?", "SELECT max(weight) FROM ship WHERE id > 99"),
    "empty_answer": ("Which ship is called Sun?", "SELECT id FROM ship WHERE name = 'SUN'"),
    "boolean_answer": ("How many ships are called Sun?", "SELECT 1 FROM ship WHERE name = 'Sun'"),
    "unparsable_sql": (
        "Which ships have their own number?",
        "SELECT name, length FROM ship WHERE id IN (1, 2) COLLATE nocase",
    ),
}


def make_questions(
    queries: tuple[str, ...], columns: tuple[str, ...], least: range, counts: tuple[int, int, int]
) -> list[tuple[str, str]]:
    """Questions and their SQL: so many easy, medium and hard ones."""
    questions = []
    for query, count in zip(queries, counts, strict=True):
        variants = [(column, number) for number in least for column in columns][:count]
        assert len(variants) == count
        for column, number in variants:
            sql = query.format(columns=column, least=number)
            tables = sql.count("JOIN") + 1
            questions.append((f"{column} above {number} over {tables} tables?", sql))
    return questions


def dump(params: dict[str, Any]) -> str:
    """YAML text: by its C library, since each test of a world writes it several times."""
    return yaml.dump(params, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)


def write_params(path: Path, **sections: Any) -> None:
    """Write the params of the project with other sections."""
    params = load_yaml(ROOT / "params.yaml")
    text = dump(params | sections)
    path.write_text(text, encoding="utf-8")


def make_entry(root: Path | str, **others: Any) -> dict[str, Any]:
    """An entry of `corpora` in a folder, of all databases that train.json and dev.json ask."""
    questions = {"train": ["train.json"], "validation": ["dev.json"]}
    entry = {"origin": "directory", "root": str(root), "db_list": "all", "questions": questions}
    return entry | others


@cache
def list_stages() -> tuple[str, ...]:
    """The stages in their order, to the one that writes the product."""
    names = list(load_yaml(ROOT / "dvc.yaml")["stages"])
    return tuple(names[: names.index("export_dataset") + 1])


class World:
    """A project in the current folder, which is a temporary one.

    Of `harbour` (train) 10 easy, 10 medium and 5 hard questions are sound and one is flawed for
    each reason in FLAWED; `library` (eval) has 4, 4 and 3 sound ones. So the largest selection at
    40/40/20 and 30% is 35.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.params = load_yaml(ROOT / "params.yaml")
        self.params["corpus"] = "local"
        self.params["corpora"]["local"] |= {"root": "corpus", "corrections": None}
        self.params["execution"]["workers"] = 1
        self.params["generate_test_suites"]["pool"] = 4
        # Its questions are made from SQL, and say little of what it asks.
        policies = self.params["select_questions"]["policies"]
        policies["projection_mismatch"] = "flag"
        self.params["compare_questions"]["flag_precision"] = "flag_precision.json"
        self.write_flag_precision({})
        self.change("select_questions.targets.min_questions", 20)
        ships = make_questions(
            _SHIP_QUERIES, ("ship.name", "ship.name, length"), range(10, 60, 10), (10, 10, 5)
        )
        books = make_questions(_BOOK_QUERIES, ("title", "title, pages"), range(90, 94), (4, 4, 3))
        self.write_database("harbour", HARBOUR)
        self.write_database("library", LIBRARY)
        self.write_questions("train_spider.json", "harbour", [*ships, *FLAWED.values()])
        self.write_questions("dev.json", "library", books)

    def change(self, key: str, value: Any) -> None:
        """Give a params key another value; the stages refuse a key that they do not know."""
        *sections, last = key.split(".")
        place = self.params
        for section in sections:
            place = place[section]
        place[last] = value
        text = dump(self.params)
        (self.folder / "params.yaml").write_text(text, encoding="utf-8")

    def drop_targets(self) -> None:
        """Ask for no shares and no sizes: every usable question is selected."""
        for name in self.params["select_questions"]["targets"]:
            if name not in ("difficulty_shares_of", "tolerance"):
                self.change(f"select_questions.targets.{name}", None)

    def write_flag_precision(self, wrong: dict[str, int]) -> None:
        """Give the project a table by which one question of ten is wrong, and of 98 that have a
        flag so many."""
        of_sign = {"kind": None, "answers": None, "questions": 98}
        signs = [{"code": flag, **of_sign, "wrong": count} for flag, count in wrong.items()]
        counts = {"questions": 1000, "wrong": 100, "unsigned": {}, "flags": {}, "signs": signs}
        table = {"judged": {"answers": counts, "sql": counts}}
        (self.folder / "flag_precision.json").write_text(json.dumps(table), encoding="utf-8")

    def write_database(self, db_id: str, sql: str) -> None:
        """Give the corpus a database."""
        path = self.folder / "corpus" / "database" / db_id / "schema.sql"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(sql, encoding="utf-8")

    def write_questions(self, name: str, db_id: str, questions: list[tuple[str, str]]) -> None:
        """Give the corpus a file of questions."""
        records = [{"db_id": db_id, "question": text, "query": sql} for text, sql in questions]
        (self.folder / "corpus" / name).write_text(json.dumps(records), encoding="utf-8")

    def run(self, *stages: str) -> None:
        """Run stages in this process; it stands in the world's folder."""
        assert Path.cwd() == self.folder
        for stage in stages:
            call_stage(stage)

    def run_to(self, last: str) -> None:
        """Run every stage up to this one."""
        self.run(*list_stages()[: list_stages().index(last) + 1])

    def run_from(self, first: str) -> None:
        """Run this stage and every one after it."""
        self.run(*list_stages()[list_stages().index(first) :])

    def lines(self, path: str) -> list[dict[str, Any]]:
        """The records of a JSONL file."""
        text = (self.folder / path).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def json(self, path: str) -> Any:
        """The value of a JSON file."""
        return json.loads((self.folder / path).read_text(encoding="utf-8"))


def build_world(folder: Path, last: str) -> Path:
    """The folder, with a world in it that has run up to a stage."""
    with contextlib.chdir(folder):
        World(folder).run_to(last)
    return folder
