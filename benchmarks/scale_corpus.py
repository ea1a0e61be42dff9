"""Make a corpus of any size in the layout of a Spider release: copies of the sample's databases.

    python scale_corpus.py SAMPLE TARGET QUESTIONS DATABASES

Database 12 is a copy of one of the sample's, `mountain_rescue_00012`, with one value changed, so
that no two files are the same. Every question names its database. If a question is used for one
database again, its SQL has other numbers. The questions of a database are scattered over the whole
file, which is the hardest order for reading. Only the files grow with the corpus. The same
arguments give the same bytes.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from bare_loop import QUESTION_FILES

_NUMBER = re.compile(r"(?<![\w'.\-:])[1-9]\d*(?![\w'.\-:])")


class Base(NamedTuple):
    """A database of the sample: its bytes, a value to change, its questions and their file."""

    name: str
    content: bytes
    change: str
    questions: list[dict[str, str]]
    file: str


def read_bases(sample: Path) -> list[Base]:
    """Return the databases of the sample, by name."""
    bases = []
    for file in QUESTION_FILES:
        by_name: dict[str, list[dict[str, str]]] = {}
        for question in json.loads((sample / file).read_text(encoding="utf-8")):
            by_name.setdefault(question["db_id"], []).append(question)
        for name, questions in by_name.items():
            script = (sample / "database" / name / "schema.sql").read_text(encoding="utf-8")
            with closing(sqlite3.connect(":memory:")) as connection:
                connection.executescript(script)
                connection.commit()
                change = _find_change(connection)
                bases.append(Base(name, connection.serialize(), change, questions, file))
    return sorted(bases)


def _find_change(connection: sqlite3.Connection) -> str:
    """Return an UPDATE that adds its parameter to one value: the first number that is no key."""
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")
    for (table,) in tables.fetchall():
        keys = {row[3] for row in connection.execute(f"PRAGMA foreign_key_list({table})")}
        for _, column, declared, _, _, key_position in connection.execute(
            f"PRAGMA table_info({table})"
        ):
            is_number = declared.upper().startswith(("INT", "REAL", "NUM", "DEC"))
            filled = f"SELECT min(rowid) FROM {table} WHERE {column} IS NOT NULL"
            (row,) = connection.execute(filled).fetchone()
            if is_number and not key_position and column not in keys and row is not None:
                return f"UPDATE {table} SET {column} = {column} + ? WHERE rowid = {row}"
    raise ValueError("No table has a number to change: expected one that is no key")


def name_copy(base: Base, number: int) -> str:
    """Return the name of a copy; sorted by name, copies of a base are together."""
    return f"{base.name}_{number:05d}"


def locate_copy(target: Path, name: str) -> Path:
    """Return the path of a copy."""
    return target / "database" / name / f"{name}.sqlite"


def write_copy(target: Path, base: Base, number: int, *, added: int) -> None:
    """Write a copy of a database with `added` added to one of its values."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(base.content)
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute(base.change, (added,))
        connection.commit()
        path = locate_copy(target, name_copy(base, number))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(connection.serialize())


def make_question(base: Base, number: int, place: int) -> dict[str, str]:
    """Return question `place` of a copy."""
    name = name_copy(base, number)
    turn, index = divmod(place, len(base.questions))
    question = base.questions[index]
    text = f"{question['question']} ({name}"
    query = question["query"]
    if turn:
        text += f", {turn}"
        query = _NUMBER.sub(lambda found: str(int(found[0]) + turn), query)
    return {"db_id": name, "query": query, "question": f"{text})"}


def list_questions(
    bases: list[Base], file: str, questions: int, databases: int
) -> Iterator[dict[str, str]]:
    """Yield the questions of a file: the first of every database, then the second, and so on."""
    for place in range(-(-questions // databases)):
        for number in range(databases):
            base = bases[number % len(bases)]
            if base.file == file and place * databases + number < questions:
                yield make_question(base, number, place)


def write_corpus(sample: Path, target: Path, questions: int, databases: int) -> None:
    """Write the files of a corpus."""
    bases = read_bases(sample)
    for number in range(databases):
        write_copy(target, bases[number % len(bases)], number, added=number + 1)
    for file in QUESTION_FILES:
        with (target / file).open("w", encoding="utf-8") as output:
            start = "[\n"
            for question in list_questions(bases, file, questions, databases):
                output.write(start + json.dumps(question, ensure_ascii=False))
                start = ",\n"
            output.write("[]" if start == "[\n" else "\n]\n")


def main() -> None:
    sample, target, questions, databases = sys.argv[1:]
    write_corpus(Path(sample), Path(target), int(questions), int(databases))


if __name__ == "__main__":
    main()
