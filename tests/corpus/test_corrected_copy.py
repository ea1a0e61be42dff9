"""A corrected copy is the folder, but for the questions that a list corrects or leaves out."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.base.errors import InputError
from answerkey.base.records import hash_question
from answerkey.command import main
from answerkey.corpus.corrected_copy import LIST, correct_folder
from answerkey.corpus.question_texts import (
    ROW_LAYOUTS,
    put_in_line,
    read_question_file,
    rejoin,
    rewrite_row,
)
from tests.shared.bird_world import DEV, write_bird
from tests.shared.databases import make_database
from tests.shared.paths import ROOT
from tests.shared.project_world import HARBOUR, LIBRARY, World, dump

PARSED = {"query_toks": ["SELECT"], "query_toks_no_value": ["select"], "sql": {"limit": None}}
GOLD = "SELECT name FROM ship WHERE port_id = 3"
RIGHT = 'SELECT name FROM ship WHERE port_id = 1 AND name <> "Böe"'


def ask(text: str, sql: Any, db_id: str = "harbour", **others: Any) -> dict[str, Any]:
    return {
        "db_id": db_id,
        "query": sql,
        **PARSED,
        "question": text,
        "question_toks": ["x"],
    } | others


SPIDER = {
    "train_spider.json": [
        ask("Which ships sail from Sweden?", GOLD),
        ask("How many ships are there?", "SELECT count(*) FROM ship"),
        ask("Which ship is best?", "SELECT name FROM ship LIMIT 1"),
    ],
    "train_others.json": [ask("Which books are long?", "SELECT title  FROM book ;", "library")],
    "dev.json": [
        ask("Who is the best captain?", "SELECT name FROM captain"),
        ask("Qui est le capitaine « Åsa » ?", "SELECT id FROM captain"),
        ask("How many captains?", "SELECT count(*) FROM captain"),
    ],
}


def list_gold(*names: str) -> str:
    rows = [row for name in names for row in SPIDER[name]]
    return "".join(f"{row['query']}\t{row['db_id']}\n" for row in rows)


def write(path: Path, content: str | bytes | list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, list):
        content = json.dumps(content, indent=1)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def write_list(folder: Path, entries: list[dict[str, Any]]) -> Path:
    return write(folder / "data/corrections/mine.yaml", dump(entries))


def replace(text: str, sql: str, database: str = "harbour", **others: Any) -> dict[str, Any]:
    """An entry that quotes its question."""
    about = {"database": database, "question": text, "action": "replace"}
    return about | {"replacement": {"gold_sql": sql} | others, "reason": "Read.", "source": "p:kim"}


def exclude(text: str, database: str = "harbour") -> dict[str, Any]:
    return {"database": database, "question": text, "action": "exclude", "reason": "Vague."}


def replace_hashed(text: str, sql: str, new_sql: str, database: str = "harbour") -> dict[str, Any]:
    place = {"file": "x.json", "index": 99, "sha256": hash_question(text, sql)}
    entry = replace(text, new_sql, database)
    del entry["question"]
    return entry | place


ENTRIES = [
    replace("Which ships sail from Sweden?", RIGHT),
    exclude("Which ship is best?"),
    exclude("Who is the best captain?"),
    replace("How many captains?", "SELECT count(DISTINCT name) FROM captain"),
    replace(
        "Which books are long?", "SELECT title\n\tFROM book -- all\nWHERE pages > 99", "library"
    ),
    replace("What is asked nowhere?", "SELECT 1"),
    replace("Which ships sail from Sweden?", "SELECT 2", "no_such_database"),
]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """A small release of Spider."""
    folder = tmp_path / "spider"
    for name, rows in SPIDER.items():
        write(folder / name, rows)
    gold = list_gold("train_spider.json", "train_others.json").replace("title  FROM", "title FROM")
    write(folder / "train_gold.sql", gold)
    write(folder / "dev_gold.sql", list_gold("dev.json").rstrip("\n"))
    write(folder / "tables.json", [{"db_id": "harbour", "table_names": ["ship"]}])
    write(folder / "README.txt", b"caf\xe9\r\n")
    make_database(folder / "database/harbour/harbour.sqlite", HARBOUR)
    write(folder / "database/harbour/schema.sql", "CREATE TABLE other (id);")
    write(folder / "database/library/schema.sql", LIBRARY)
    write(folder / "database/harbour/questions.json", SPIDER["dev.json"])
    return folder


def read_files(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def read_listed(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / LIST).read_bytes().splitlines()]


def apply_by_hand(
    rows: list[dict[str, Any]], entries: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The rows that a person would write."""
    said = {(entry["database"], entry["question"]): entry for entry in entries}
    made = []
    for row in rows:
        entry = said.get((row["db_id"], row["question"]))
        if entry is None:
            made.append(row)
        elif entry["action"] == "replace":
            kept = {name: value for name, value in row.items() if name not in PARSED}
            made.append(kept | {"query": entry["replacement"]["gold_sql"]})
    return made


# --- a release of Spider


def test_copy_differs_in_corrected_questions_alone(release, tmp_path, capsys) -> None:
    before = read_files(release)
    correct_folder(release, tmp_path / "out", corrections=write_list(tmp_path, ENTRIES))
    after = read_files(tmp_path / "out")
    assert read_files(release) == before
    assert after.keys() == before.keys() | {LIST}
    rows = {
        name: json.dumps(apply_by_hand(rows, ENTRIES), indent=1) for name, rows in SPIDER.items()
    }
    assert {name: after[name].decode() for name in SPIDER} == rows
    assert after["train_gold.sql"].decode() == (
        f"{RIGHT}\tharbour\nSELECT count(*) FROM ship\tharbour\n"
        "SELECT title FROM book WHERE pages > 99\tlibrary\n"
    )
    assert after["dev_gold.sql"].decode() == (
        "SELECT id FROM captain\tharbour\nSELECT count(DISTINCT name) FROM captain\tharbour"
    )
    changed = {*SPIDER, "train_gold.sql", "dev_gold.sql", LIST}
    assert {name for name in after if after[name] != before.get(name)} == changed
    assert capsys.readouterr().err == (
        "correct: 7 questions, 3 corrected, 2 left out, 2 corrections without a question here\n"
    )


def test_list_says_what_became_of_which_question(release, tmp_path) -> None:
    correct_folder(release, tmp_path / "out", corrections=write_list(tmp_path, ENTRIES))
    listed = read_listed(tmp_path / "out")
    places = [(each["file"], each["index"], each["action"]) for each in listed]
    assert places == [
        ("dev.json", 0, "exclude"),
        ("dev.json", 2, "replace"),
        ("train_others.json", 0, "replace"),
        ("train_spider.json", 0, "replace"),
        ("train_spider.json", 2, "exclude"),
    ]
    assert listed[-2] == {
        "file": "train_spider.json",
        "index": 0,
        "db_id": "harbour",
        "action": "replace",
        "sha256": hash_question("Which ships sail from Sweden?", GOLD),
        "old_sql": GOLD,
        "new_sql": RIGHT,
        "removed_fields": ["query_toks", "query_toks_no_value", "sql"],
        "reason": "Read.",
        "source": "p:kim",
    }
    assert (listed[-1]["old_sql"], listed[-1]["new_sql"]) == ("SELECT name FROM ship LIMIT 1", None)


def test_folder_is_not_written_to_and_shares_no_file_with_its_copy(release, tmp_path) -> None:
    def take_state() -> dict[Path, int]:
        return {path: path.stat().st_mtime_ns for path in [release, *release.rglob("*")]}

    before = take_state()
    correct_folder(release, tmp_path / "out", corrections=write_list(tmp_path, ENTRIES))
    assert take_state() == before
    for name in ("database/harbour/harbour.sqlite", "tables.json"):
        assert not (release / name).samefile(tmp_path / "out" / name)


def test_databases_may_be_left_out(release, tmp_path) -> None:
    write(release / "test_database/harbour/harbour.sqlite", b"other")
    write(release / "notes/schema.sql", "")
    path = write_list(tmp_path, ENTRIES)
    correct_folder(release, tmp_path / "out", corrections=path, without_databases=True)
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {path.name for path in release.iterdir()} - {"database", "test_database"} | {
        LIST
    }


def test_corrected_folder_is_read_by_the_pipeline(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    asked = [("Which ships sail from Sweden?", GOLD), ("How many?", "SELECT count(*) FROM ship")]
    world.write_questions("train_spider.json", "harbour", asked)
    path = write_list(tmp_path, [replace_hashed(*asked[0], RIGHT), exclude("How many?")])
    correct_folder(Path("corpus"), Path("corrected"), corrections=path)
    world.change("corpora.local.root", "corrected")
    world.drop_targets()
    world.run_to("compute_gold_answers")
    (first,) = [
        each
        for each in world.lines("data/interim/questions.jsonl")
        if each["database_name"] == "harbour"
    ]
    assert (first["question_text"], first["gold_sql"]) == (asked[0][0], RIGHT)
    assert "correction" not in first["source"]
    (answer,) = world.lines("data/interim/gold_answers/harbour.jsonl")
    assert answer["gold_answer"] == ["Tern", "Sun"]


# --- the form of a file

FORMS: list[dict[str, Any]] = [
    {},
    {"indent": 1},
    {"indent": 4, "ensure_ascii": False},
    {"indent": "\t"},
    {"separators": (",", ":")},
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("end", ["", "\n", "\n\n "])
def test_array_keeps_its_form(form, end, tmp_path) -> None:
    rows = SPIDER["dev.json"]
    for entries in [ENTRIES, [exclude(rows[2]["question"])], [exclude(rows[1]["question"])]]:
        write(tmp_path / "in/dev.json", json.dumps(rows, **form) + end)
        out = tmp_path / f"out{hash(str(entries))}"
        correct_folder(tmp_path / "in", out, corrections=write_list(tmp_path, entries))
        expected = json.dumps(apply_by_hand(rows, entries), **form) + end
        assert (out / "dev.json").read_bytes().decode() == expected


def test_json_lines_byte_order_marks_and_other_line_ends_stay(tmp_path) -> None:
    rows = SPIDER["dev.json"]
    after = apply_by_hand(rows, ENTRIES)
    array = json.dumps(rows, indent=2).replace("\n", "\r\n")
    write(tmp_path / "in/b.json", f"\ufeff{array}\r\n")
    write(tmp_path / "in/a.jsonl", "\n".join(["", *map(json.dumps, rows), ""]))
    write(tmp_path / "in/c.jsonl", "\ufeff" + "\r\n".join(map(json.dumps, rows)))
    correct_folder(tmp_path / "in", tmp_path / "out", corrections=write_list(tmp_path, ENTRIES))
    array = json.dumps(after, indent=2).replace("\n", "\r\n")
    assert {name: content.decode() for name, content in read_files(tmp_path / "out").items()} == {
        "b.json": f"\ufeff{array}\r\n",
        "a.jsonl": "\n".join(["", *map(json.dumps, after), ""]),
        "c.jsonl": "\ufeff" + "\r\n".join(map(json.dumps, after)),
        LIST: (tmp_path / "out" / LIST).read_text(encoding="utf-8"),
    }
    assert len(read_listed(tmp_path / "out")) == 3 * 2


def test_bytes_that_are_no_text_and_escapes_stay(tmp_path) -> None:
    rows = json.dumps([ask("A?", "SELECT 1"), ask("B?", "SELECT 2", note="X")])
    rows = rows.replace("X", r"caf\u00e9 \ud800 \/")
    content = rows.encode().replace(b"caf", b"caf\xe9")
    write(tmp_path / "in/dev.json", content)
    path = write_list(tmp_path, [replace("B?", "SELECT 3")])
    correct_folder(tmp_path / "in", tmp_path / "out", corrections=path)
    first, second = content.split(b"}, {")
    second = second.replace(b"SELECT 2", b"SELECT 3")
    for name, value in PARSED.items():
        second = second.replace(f'"{name}": {json.dumps(value)}, '.encode(), b"")
    assert (tmp_path / "out/dev.json").read_bytes() == first + b"}, {" + second


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
NAMES = st.text().filter(lambda name: name not in ask("", ""))


@given(
    st.lists(st.tuples(st.dictionaries(NAMES, VALUES, max_size=3), st.sampled_from("krd"))),
    st.sampled_from(FORMS),
)
def test_rows_are_rewritten_as_json_writes_them(tmp_path_factory, drawn, form) -> None:
    """Of each row: whether it is kept, replaced or dropped."""
    rows = [ask(f"{n}?", f"SELECT '{n}'") | others for n, (others, _) in enumerate(drawn)]
    folder = tmp_path_factory.mktemp("rows")
    write(folder / "dev.json", json.dumps(rows, **form))
    file = read_question_file(folder, "dev.json", ROW_LAYOUTS)
    if not rows:
        assert file is None
        return
    pieces: list[str | None] = []
    expected = []
    for index, (row, (_, what)) in enumerate(zip(rows, drawn, strict=True)):
        start, end = file.spans[index]
        pieces.append(file.text[start:end] if what == "k" else None)
        if what == "r":
            sql = (row["query"], "SELECT é")
            pieces[-1], _ = rewrite_row(file, index, {"query": sql[1]}, sql=sql, stale=[*PARSED])
            row = {name: value for name, value in row.items() if name not in PARSED}
            row["query"] = sql[1]
        if what != "d":
            expected.append(row)
    made = rejoin(file.text, file.spans, pieces)
    assert json.loads(made) == expected
    if expected and file.text.isascii():
        assert made == json.dumps(expected, **form)


# --- other layouts


def test_bird_with_evidence_and_gold(tmp_path) -> None:
    folder = tmp_path / "bird"
    write_bird(folder)
    rows = [dict(row) for row in DEV]
    rows[1]["question"] = "Quelles stations ont un grand télésiège ?"
    write(folder / "dev.json", json.dumps(rows, indent=2, ensure_ascii=False) + "\n")
    write(folder / "dev.sql", "".join(f"{row['SQL']}\t{row['db_id']}\n" for row in rows))
    write(folder / "dev_tied_append.json", rows[:1])
    sql = "SELECT MAX(`Top (m)`) FROM resort WHERE `Top (m)` > 0"
    entry = replace(rows[0]["question"], sql, "ski_resorts", evidence="Höhe: `Top (m)`")
    path = write_list(tmp_path, [entry, replace("?", "SELECT 1", "ski_resorts")])
    correct_folder(folder, tmp_path / "out", corrections=path)
    rows[0] |= {"SQL": sql, "evidence": "Höhe: `Top (m)`"}
    after = read_files(tmp_path / "out")
    expected = json.dumps(rows, indent=2, ensure_ascii=False) + "\n"
    assert after["dev.json"].decode() == expected
    assert after["dev.sql"].decode().splitlines()[0] == f"{sql}\tski_resorts"
    assert json.loads(after["dev_tied_append.json"]) == rows[:1]
    first, _ = read_listed(tmp_path / "out")
    assert (first["question_id"], first["old_evidence"], first["new_evidence"]) == (
        0,
        DEV[0]["evidence"],
        rows[0]["evidence"],
    )


@pytest.mark.parametrize(
    ("row", "entry", "expected"),
    [
        (  # a list of right queries, and a copy of gold
            {"db_id": "a", "question": "Q?", "query": ["S 1", "S 2", "S 1"], "gold": "S 1"},
            replace("Q?", "S 3", "a"),
            {"db_id": "a", "question": "Q?", "query": ["S 3", "S 2", "S 3"], "gold": "S 3"},
        ),
        (  # what `answerkey new` translated
            {
                "db_id": "a",
                "question": "Q?",
                "gold_sql": "S 1",
                "dialect": "duckdb",
                "source_sql": "S 0",
                "dialect_differs": {"rows": 1},
            },
            replace("Q?", "S 2", "a", evidence="E"),
            {"db_id": "a", "question": "Q?", "gold_sql": "S 2", "evidence": "E"},
        ),
        (  # the layout names another field
            {"db_id": "a", "SpiderQuestion": "P?", "SpiderSynQuestion": "Q?", "query": "S 1"},
            replace("Q?", "S 2", "a", question_text="R?"),
            {"db_id": "a", "SpiderQuestion": "P?", "SpiderSynQuestion": "R?", "query": "S 2"},
        ),
        (  # a chain of thought, and no evidence yet
            {
                "db_id": "a",
                "question": "Q?",
                "sql": "S 1",
                "cot": "So S 1",
                "external_knowledge": None,
            },
            replace("Q?", "S 2", "a", evidence="E"),
            {"db_id": "a", "question": "Q?", "sql": "S 2", "external_knowledge": "E"},
        ),
        (  # SQL stays with its parse
            ask("Q?", "S 1", "a"),
            replace("Q?", "", "a", question_text="R?") | {"replacement": {"question_text": "R?"}},
            {
                name: value
                for name, value in ask("R?", "S 1", "a").items()
                if name != "question_toks"
            },
        ),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_each_field_that_holds_what_is_corrected_changes(
    row, entry, expected, form, tmp_path
) -> None:
    write(tmp_path / "in/train.json", json.dumps([row], **form))
    path = write_list(tmp_path, [entry])
    correct_folder(tmp_path / "in", tmp_path / "out", corrections=path)
    text = (tmp_path / "out/train.json").read_text(encoding="utf-8")
    assert text == json.dumps([expected], **form)


def test_layout_decides_among_fields(tmp_path) -> None:
    rows = [{"db_id": "a", "question": "Q?", "SQL": "S 1", "query": "S 0"}]
    write(tmp_path / "in/train.json", rows)
    path = write_list(tmp_path, [replace("Q?", "S 2", "a")])
    for layout, field in (("bird", "SQL"), ("spider", "query"), (None, "query")):
        out = tmp_path / f"out_{layout}"
        correct_folder(tmp_path / "in", out, corrections=path, layout=layout)
        (row,) = json.loads((out / "train.json").read_text(encoding="utf-8"))
        assert row == rows[0] | {field: "S 2"}


def test_evidence_needs_a_layout_that_has_some(release, tmp_path) -> None:
    path = write_list(tmp_path, [replace("How many captains?", "SELECT 1", evidence="All.")])
    with pytest.raises(
        InputError, match=r"^dev\.json: row 2: its correction has evidence, and its"
    ):
        correct_folder(release, tmp_path / "out", corrections=path)
    assert not (tmp_path / "out").exists()


# --- corrections by a hash hold where they answer as they were judged

HASHED = ("Which ships sail from Sweden?", GOLD)
SAIL = "SELECT name FROM ship WHERE port_id = 1"


@pytest.mark.parametrize(
    ("sql", "said", "why"),
    [
        (SAIL, {"answers": "other"}, None),
        (SAIL, None, None),
        (f"{SAIL} AND id > 9", {"answers": "other", "void": True}, None),
        (SAIL, {"answers": "same"}, "its answer here is other than the one of the corpus"),
        (f"{SAIL} AND id > 9", None, "its answer here has no row, or only NULL and 0"),
        ("SELECT wage FROM ship", None, "it fails here: no such column: wage"),
    ],
)
@pytest.mark.parametrize("kind", ["sqlite", "sql", "in_root"])
def test_correction_that_does_not_hold_here_is_not_applied(
    sql, said, why, kind, release, tmp_path, capsys
) -> None:
    write(release / "gold.txt", f"{GOLD}\tharbour\n")
    if kind == "sql":
        (release / "database/harbour/harbour.sqlite").unlink()
        write(release / "database/harbour/schema.sql", HARBOUR)
    if kind == "in_root":
        (release / "database/harbour/questions.json").unlink()
        (release / "database/harbour").rename(release / "harbour")
    entry = replace_hashed(*HASHED, sql)
    path = write_list(tmp_path, [entry, exclude("Which ship is best?")])
    if said is not None:
        place = {name: entry[name] for name in ("file", "index", "sha256")}
        names = {"corpus": "local", "database_name": "harbour", "verdict": "wrong"}
        about = {"reason": "", "source": "p:kim", "date": "2026-03-01", "sql": sql}
        line = json.dumps(names | place | about | said) + "\n"
        write(tmp_path / "data/verdicts/mine.jsonl", line)
    correct_folder(release, tmp_path / "out", corrections=path)
    rows = json.loads((tmp_path / "out/train_spider.json").read_text(encoding="utf-8"))
    log = capsys.readouterr().err
    first, second = read_listed(tmp_path / "out")
    assert second["action"] == "exclude"
    assert (first["old_sql"], first["new_sql"]) == (GOLD, sql)
    if why is None:
        assert (rows[0]["query"], first["action"]) == (sql, "replace")
        assert "gold.txt: copied as it is" in log
        assert "7 questions, 1 corrected, 1 left out, 0 corrections without" in log
    else:
        assert rows[:2] == SPIDER["train_spider.json"][:2]
        assert first["action"] == "not_applied"
        assert first["not_applied_because"].startswith(why)
        assert "correct: warning: 1 correction by hash not applied, since the database" in log
        assert "7 questions, 0 corrected, 1 left out" in log
        assert "gold.txt" not in log


@pytest.mark.parametrize("content", [None, b"no database"])
def test_correction_without_a_database_to_read_is_applied_and_told(
    content, release, tmp_path, capsys
) -> None:
    for name in ("harbour.sqlite", "schema.sql"):
        (release / "database/harbour" / name).unlink()
    if content is not None:
        write(release / "database/harbour/harbour.sqlite", content)
    reworded = replace("How many captains?", "") | {"replacement": {"question_text": "How many?"}}
    write(release / "gold.txt", "SELECT count(*) FROM captain\tharbour\n")  # which stays right
    path = write_list(tmp_path, [replace_hashed(*HASHED, "SELECT wage FROM ship"), reworded])
    correct_folder(release, tmp_path / "out", corrections=path)
    rows = json.loads((tmp_path / "out/train_spider.json").read_text(encoding="utf-8"))
    assert rows[0]["query"] == "SELECT wage FROM ship"
    assert capsys.readouterr().err == (
        "correct: warning: 1 corrected query not executed, since there is no database that can be"
        " read: harbour\n"
        "correct: 7 questions, 2 corrected, 0 left out, 0 corrections without a question here\n"
    )


def test_hash_of_another_text_or_query_is_counted(release, tmp_path, capsys) -> None:
    entries = [replace_hashed(HASHED[0], f"{GOLD} ", SAIL), replace_hashed("?", GOLD, SAIL, "mill")]
    correct_folder(release, tmp_path / "out", corrections=write_list(tmp_path, entries))
    assert capsys.readouterr().err == (
        "correct: 7 questions, 0 corrected, 0 left out, 2 corrections without a question here\n"
    )
    after = read_files(tmp_path / "out")
    assert after.pop(LIST) == b""
    assert after == read_files(release)


# --- files of gold SQL


def test_gold_of_another_dialect_is_not_taken_for_gold_of_these(tmp_path) -> None:
    here, there = [ask("A?", "SELECT 1"), ask("B?", "SELECT 2")], [ask("A?", "S1"), ask("B?", "S2")]
    for name, rows in (("a_sqlite", here), ("b_mysql", there)):
        write(tmp_path / f"in/{name}.json", rows)
        lines = "".join(f"{row['query']}\t{row['db_id']}\n" for row in rows)
        write(tmp_path / f"in/z_{name}_gold.sql", lines)
    entry = replace("B?", "SELECT 3") | {"gold_sql": "SELECT 2"}
    path = write_list(tmp_path, [entry])
    correct_folder(tmp_path / "in", tmp_path / "out", corrections=path)
    after = read_files(tmp_path / "out")
    assert after["z_a_sqlite_gold.sql"] == b"SELECT 1\tharbour\nSELECT 3\tharbour\n"
    assert after["z_b_mysql_gold.sql"] == b"S1\tharbour\nS2\tharbour\n"


def test_gold_with_other_sql_in_a_line_is_corrected_and_told(release, tmp_path, capsys) -> None:
    lines = list_gold("dev.json").replace("count(*)", "count(id)").replace("id FROM", "id\tFROM")
    lines = lines.replace("\n", " \r\n\r\n")
    write(release / "dev_gold.sql", lines)
    correct_folder(release, tmp_path / "out", corrections=write_list(tmp_path, ENTRIES))
    assert (tmp_path / "out/dev_gold.sql").read_bytes().decode() == (
        "SELECT id\tFROM captain\tharbour \r\n\r\n"
        "SELECT count(DISTINCT name) FROM captain\tharbour \r\n\r\n"
    )
    log = capsys.readouterr().err
    assert "warning: dev_gold.sql: 1 corrected line had other SQL than the question: 5\n" in log


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("dev_gold.sql", list_gold("dev.json") + "SELECT 1\tharbour\n"),
        ("dev.sql", list_gold("dev.json").partition("\n")[2]),
        ("dev_gold.sql", list_gold("dev.json").replace("harbour", "library", 1)),
        ("train_gold.sql", list_gold("train_others.json", "train_spider.json") + "SELECT 1;\n"),
    ],
)
def test_gold_that_is_not_in_step_ends_the_run(name, content, release, tmp_path) -> None:
    write(release / name, content)
    with pytest.raises(InputError, match=rf"/{name}: expected SQL, a tab and the database in each"):
        correct_folder(release, tmp_path / "out", corrections=write_list(tmp_path, ENTRIES))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "spider"]
    path = write_list(tmp_path, ENTRIES[-1:])  # touches nothing
    correct_folder(release, tmp_path / "out", corrections=path)
    assert (tmp_path / "out" / name).read_bytes().decode() == content


def test_other_sql_files_stay(release, tmp_path) -> None:
    content = "CREATE TABLE a (b TEXT);\n"
    write(release / "migrations.sql", content)
    correct_folder(release, tmp_path / "out", corrections=write_list(tmp_path, ENTRIES))
    assert (tmp_path / "out/migrations.sql").read_bytes().decode() == content


def test_text_with_a_line_break_does_not_fit_in_a_line(release, tmp_path) -> None:
    path = write_list(tmp_path, [replace("How many captains?", "SELECT 'a\nb'")])
    with pytest.raises(InputError, match=r"^dev_gold\.sql: expected SQL without a line break or a"):
        correct_folder(release, tmp_path / "out", corrections=path)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT  1 -- a", "SELECT  1 -- a"),
        ("SELECT 1 -- it's\nFROM t", "SELECT 1 FROM t"),
        ("SELECT '--', \"/*\"\n/* a\nb */FROM `x  y`\n", "SELECT '--', \"/*\" FROM `x  y`"),
        ("SELECT 'it''s  '\r\n|| [a  b]", "SELECT 'it''s  ' || [a  b]"),
    ],
)
def test_query_in_one_line_means_the_same(sql, expected) -> None:
    assert put_in_line(sql) == expected


def test_copied_file_with_old_sql_is_told(release, tmp_path, capsys) -> None:
    hardness = [{"query": row["query"], "hardness": "easy"} for row in SPIDER["dev.json"]]
    write(release / "hardness.json", hardness)
    write(release / "gold.txt", f"{GOLD}\tharbour\n")
    write(release / "by_text.json", json.dumps({"A?": SPIDER["dev.json"][0]}))
    correct_folder(release, tmp_path / "out", corrections=write_list(tmp_path, ENTRIES))
    assert (tmp_path / "out/hardness.json").read_bytes() == (release / "hardness.json").read_bytes()
    words = "copied as it is, with gold SQL that was corrected or left out"
    *lines, _ = capsys.readouterr().err.splitlines()
    assert lines == [
        f"correct: warning: by_text.json: {words}: 1 query",
        f"correct: warning: gold.txt: {words}: 1 query",
        f"correct: warning: hardness.json: {words}: 2 queries",
    ]


# --- what a folder may hold


def test_link_in_the_folder_is_copied_as_a_link(release, tmp_path) -> None:
    (release / "validation.json").symlink_to("dev.json")
    (release / "database/port").symlink_to("../database/harbour")
    correct_folder(release, tmp_path / "out", corrections=write_list(tmp_path, ENTRIES))
    assert os.readlink(tmp_path / "out/validation.json") == "dev.json"
    assert os.readlink(tmp_path / "out/database/port") == "../database/harbour"
    assert len(read_listed(tmp_path / "out")) == 5


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("dev.json", "../secret.json"),
        ("notes", ".."),
        ("database/other", "{tmp}/elsewhere"),
        ("database/harbour/harbour.sqlite", "../../../secret.json"),
        ("copy.json", "{tmp}/spider/dev.json"),
        ("copy.json", "../spider/dev.json"),
        ("a/b/dev.json", "root/../secret.json"),
    ],
)
def test_link_that_leads_out_ends_the_run(name, target, release, tmp_path) -> None:
    write(tmp_path / "secret.json", [ask("How many captains?", "SELECT count(*) FROM captain")])
    write(release / "a/b/notes", "")
    (release / "a/b/root").symlink_to("../..")
    path = release / name
    path.unlink(missing_ok=True)
    path.symlink_to(target.format(tmp=tmp_path))
    before = sorted(each.name for each in tmp_path.iterdir())
    with pytest.raises(InputError, match=r": links to .*: expected no link that leads out of the"):
        correct_folder(release, tmp_path / "out", corrections=write_list(tmp_path, ENTRIES))
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted({*before, "data"})


def test_line_that_is_not_one_value_is_named(tmp_path) -> None:
    row = json.dumps(ask("A?", "SELECT 1"))
    path = write_list(tmp_path, ENTRIES)
    for lines in (f"{row}\n{row} {row}\n", f"{row}\n{json.dumps(json.loads(row), indent=1)}"):
        write(tmp_path / "in/dev.jsonl", lines)
        with pytest.raises(InputError, match=r"/dev\.jsonl: line 2: not JSON: Expecting"):
            correct_folder(tmp_path / "in", tmp_path / "out", corrections=path)


def test_pipe_ends_the_run(release, tmp_path) -> None:
    os.mkfifo(release / "dev.jsonl")
    with pytest.raises(InputError, match=r"/dev\.jsonl: expected a file or a folder$"):
        correct_folder(release, tmp_path / "out", corrections=write_list(tmp_path, ENTRIES))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (json.dumps(SPIDER["dev.json"], indent=1)[:-90], r"line \d+: not JSON: "),
        (json.dumps(SPIDER["dev.json"]) + "]", "line 1: not JSON: Expecting the end"),
        (
            json.dumps([*SPIDER["dev.json"], {"db_id": "a"}]),
            "row 3: expected text for db_id, query",
        ),
        (
            json.dumps([ask("A?", "S"), ask("B?", ["S", 1])]),
            "row 1: expected text for db_id, query",
        ),
        (json.dumps([ask("A?", "S"), ask("B?", "S", "../a")]), "row 1: Not a database id: '../a'"),
        (json.dumps([ask("A?", "S")])[:-1] + ', {"a": 1, "a": 2}]', "row 1: expected the key 'a'"),
    ],
)
def test_broken_file_of_questions_is_named(content, words, release, tmp_path) -> None:
    write(release / "dev.json", content)
    with pytest.raises(InputError, match=rf"/dev\.json: {words}"):
        correct_folder(release, tmp_path / "out", corrections=write_list(tmp_path, ENTRIES))


# --- the command


def test_command_takes_a_name_of_the_project_and_paths_from_where_one_stands(
    release, tmp_path, monkeypatch, capsys
) -> None:
    (tmp_path / "list").write_bytes(write_list(tmp_path, ENTRIES).read_bytes())
    write(tmp_path / "params.yaml", "corpus: sample\n")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(release)
    for arguments in (
        ". ../out --corrections mine",
        ". ../new/out --corrections ../data/corrections/mine.yaml",
        "../spider ../empty --corrections ../list",
    ):
        assert main(["correct", *arguments.split()]) == 0
    assert read_files(tmp_path / "out") == read_files(tmp_path / "new/out")
    assert read_files(tmp_path / "out") == read_files(tmp_path / "empty")
    assert capsys.readouterr().err.count("correct: 7 questions, 3 corrected, 2 left out") == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("nowhere out --corrections LIST", "No folder nowhere: expected a release of Spider or"),
        ("spider full --corrections LIST", "full: is there, and not empty: expected a new or an"),
        ("spider full/a --corrections LIST", "full/a: is there, and not empty: expected a new or"),
        ("spider spider/out --corrections LIST", "spider/out: lies in spider: expected a place"),
        ("spider spider --corrections LIST", "spider: is there, and not empty: expected a new or"),
        ("spider out --corrections none", "No data/corrections/none.yaml: expected a list of"),
        ("spider out --corrections none.yaml", "No none.yaml: expected a list of corrections"),
        (
            "spider out --corrections LIST --layout x",
            "--layout is 'x', expected one of own, spider,",
        ),
        (
            "spider out --corrections LIST --layout spider2-lite",
            "--layout is 'spider2-lite', expected one of own, spider,",
        ),
        ("spider out --corrections LIST --layout bird", "spider: no layout found: expected a file"),
        ("full out --corrections LIST", "full: no layout found: expected a file of questions in"),
        (
            "again out --corrections LIST",
            "again/corrections.jsonl: is there already: expected",
        ),
        ("spider out --corrections full/a", "full/a: expected a list (empty: []), found str"),
    ],
)
def test_mistake_is_told_in_one_line(
    arguments, words, release, tmp_path, monkeypatch, capsys
) -> None:
    write(tmp_path / "full/a", "text")
    write(tmp_path / "again" / LIST, "")
    path = write_list(tmp_path, ENTRIES)
    monkeypatch.chdir(tmp_path)
    before = read_files(tmp_path)
    with pytest.raises(SystemExit):
        main(["correct", *arguments.replace("LIST", str(path)).split()])
    err = capsys.readouterr().err
    assert err.startswith(f"answerkey correct: {words}"), err
    assert err.count("\n") == 1
    assert read_files(tmp_path) == before


def start(folder: Path, *, most_bytes: int) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    command = "-m answerkey correct spider out --corrections data/corrections/mine.yaml"
    return subprocess.run(
        [sys.executable, *command.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        preexec_fn=limit,
        timeout=120,
    )


def test_run_that_ends_early_leaves_nothing_half_done(release, tmp_path) -> None:
    write_list(tmp_path, ENTRIES)
    write(release / "z_large.txt", b"0" * 2_000_000)
    done = start(tmp_path, most_bytes=1_000_000)
    assert done.returncode == 1
    assert done.stderr.endswith("File too large\n")
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "spider"]
    # What a run that was killed left is no obstacle, and goes.
    write(tmp_path / ".out.partial/dev.json", "[")
    assert start(tmp_path, most_bytes=4_000_000).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "out", "spider"]
    assert (tmp_path / "out" / LIST).is_file()


def test_list_of_the_package_is_found_where_no_project_is(release, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    correct_folder(release, tmp_path / "out", corrections="spider")
    assert (tmp_path / "out/corrections.jsonl").read_bytes() == b""
