"""Arrays of JSON are read in parts; questions with several right queries by their own readers."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.errors import InputError
from answerkey.corpus import readers
from answerkey.corpus.corpora import parse_corpora
from answerkey.corpus.downloads import locate_all
from answerkey.corpus.loading import load_spider_questions
from answerkey.corpus.readers import read_array
from answerkey.dataset import list_reward_terms, read_product
from answerkey.evaluate import describe, evaluate
from answerkey.reward import RewardPool, score
from answerkey.sections.corpora import Download
from tests.shared.databases import make_database
from tests.shared.paths import ROOT
from tests.shared.project_world import World

ROWS = [
    *({"a": 'x\n"\\]é\U0001f600'}, {}, {"b": [None, True, {"c": "[{,"}]}, {"n": -12.5e3}),
    *({"long": "y" * 300}, {"é": "é" * 40}),
]


def read(path: Path, text: str) -> list[Any]:
    path.write_text(text, encoding="utf-8")
    return list(read_array(path))


@pytest.mark.parametrize("characters", [1, 2, 3, 7, 64, 1 << 20])
def test_parts_of_any_length_give_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, characters: int
) -> None:
    monkeypatch.setattr(readers, "_CHARACTERS", characters)
    chance = random.Random(characters)
    for number in range(30):
        rows = chance.choices(ROWS, k=number % 7)
        text = json.dumps(rows, indent=number % 3 or None, ensure_ascii=bool(number % 2))
        mark = "\ufeff" if number % 5 == 1 else ""
        assert read(tmp_path / "x.json", f"{mark}\n {text} \r\n") == rows


@pytest.mark.parametrize("characters", [1, 5, 1 << 20])
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[\n {"a": 1},\n {"a" 2},\n {"a": "long enough"}]', "line 2: Expecting ':' delimiter"),
        ('[{"a": 1}\n {"a": 2}]', "line 1: expected , or ]"),
        ('[{"a": "not ended', "line 1: Unterminated string"),
        ('[{"a": 1},]', "line 1: Expecting value"),
        ('[{"a": 1}] \n{"a": 2}', "expected the end behind ]"),
        ('{"a": 1}\n{"a": 2}', "line 1: expected ["),
        ("[" * 100_000, "recursion"),
    ],
)
def test_what_is_no_array_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, characters: int, text: str, words: str
) -> None:
    monkeypatch.setattr(readers, "_CHARACTERS", characters)
    with pytest.raises(InputError, match=r"x\.json: not a JSON array: ") as caught:
        read(tmp_path / "x.json", text)
    assert words in str(caught.value)


def test_first_rows_come_before_the_rest_which_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readers, "_CHARACTERS", 16)
    monkeypatch.setattr(readers, "_LONGEST", 1000)
    path = tmp_path / "x.json"
    path.write_bytes(b'[{"a": 1}, {"b": 2}, {"c": "' + b"x" * 100_000 + b"\xff")
    rows = read_array(path)
    assert [next(rows), next(rows)] == [{"a": 1}, {"b": 2}]
    with pytest.raises(InputError, match="Unterminated string"):
        next(rows)


def test_file_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(b'["\xff"]')
    with pytest.raises(InputError, match=r"x\.json: not a JSON array: .* byte 0xff"):
        list(read_array(tmp_path / "x.json"))


LIMITS = Download(deadline_s=1)
RIVERS = """
CREATE TABLE river (id INTEGER PRIMARY KEY, name TEXT, country TEXT, length INTEGER);
CREATE TABLE bridge (
    id INTEGER PRIMARY KEY, river_id INTEGER REFERENCES river (id), name TEXT, built INTEGER);
INSERT INTO river VALUES (1, 'Aare', 'Switzerland', 288), (2, 'Glomma', 'Norway', 621),
    (3, 'Inn', 'Switzerland', 518), (4, 'Otra', 'Norway', 245), (5, 'Drau', 'Austria', 710);
INSERT INTO bridge VALUES (1, 1, 'Old', 1844), (2, 2, 'Long', 1963), (3, 3, 'New', 1974),
    (4, 5, 'Steel', 1901), (5, 2, 'Timber', 2003);
"""
NAMES = 'SELECT name FROM river WHERE country = "country0" AND length > number0'
BOTH = NAMES.replace("name FROM", "name, length FROM")
ENTRIES = [
    {
        "query-split": "train",
        "sql": [NAMES, BOTH, NAMES, "SELECT nothing FROM river"],
        "variables": [{"name": "number0", "location": "sql-only", "example": "250"}],
        "sentences": [
            {
                "question-split": "dev",
                "text": "which rivers of country0 have more than 250 km",
                "variables": {"country0": "Norway"},
            },
            {
                "question-split": "train",
                "text": "name rivers of country0 with more than number0 km",
                "variables": {"country0": "Switzerland", "number0": "300"},
            },
        ],
    },
    {
        "query-split": "test",
        "sql": ["SELECT COUNT(*) FROM bridge WHERE built < 1950"],
        "sentences": [{"question-split": "test", "text": "how many bridges are from before 1950"}],
    },
]


def text2sql_entry(**others: Any) -> dict[str, Any]:
    questions = {"train": ["rivers.json"], "validation": []}
    entry = {"origin": "directory", "layout": "text2sql-data", "root": "data/t2s"}
    return {**entry, "db_list": "all", "questions": questions, "license": None, **others}


def load(name: str, entry: dict[str, Any]) -> list[dict[str, Any]]:
    (corpus,) = parse_corpora(name, {name: entry})
    return load_spider_questions("all", corpus=corpus, limits=LIMITS)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A file of text2sql-data with its database beside it, chosen without targets."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    make_database(tmp_path / "data/t2s/rivers-db.added-in-2020.sqlite", RIVERS)
    (tmp_path / "data/t2s/rivers.json").write_text(json.dumps(ENTRIES))
    world.params["corpora"]["t2s"] = text2sql_entry(corrections=None)
    world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
    world.change("corpus", "t2s")
    world.drop_targets()
    return world


def test_sentences_have_their_values_and_all_variants(world: World) -> None:
    records = load("t2s", text2sql_entry())
    assert [(record["question_text"], record["gold_sql"]) for record in records] == [
        (
            "which rivers of Norway have more than 250 km",
            'SELECT name FROM river WHERE country = "Norway" AND length > 250',
        ),
        (
            "name rivers of Switzerland with more than 300 km",
            'SELECT name FROM river WHERE country = "Switzerland" AND length > 300',
        ),
        ("how many bridges are from before 1950", "SELECT COUNT(*) FROM bridge WHERE built < 1950"),
    ]
    assert records[0]["other_sql"] == [
        'SELECT name, length FROM river WHERE country = "Norway" AND length > 250',
        "SELECT nothing FROM river",
    ]
    assert "other_sql" not in records[2]
    assert records[0]["source"] == {
        **{"corpus": "t2s", "file": "rivers.json", "index": 0},
        **{"query-split": "train", "question-split": "dev"},
    }


@pytest.mark.parametrize("entry", [{"sql": ["SELECT 1"]}, {"sentences": [{}], "sql": []}, 7])
def test_entry_that_is_not_in_the_format_is_named(world: World, entry: Any) -> None:
    Path("data/t2s/rivers.json").write_text(json.dumps([ENTRIES[1], entry]))
    with pytest.raises(InputError, match=r"rivers\.json: entry 1: expected sql, and sentences"):
        load("t2s", text2sql_entry())


def test_reward_takes_each_right_query_on_all_databases(world: World) -> None:
    world.run_to("export_dataset")
    world.run("export_trainers", "export_huggingface", "report_dataset")
    norway, _, old = read_product(Path("data/questions"), "train")
    assert norway.gold_answer == "Glomma"
    assert norway.other_answers == [
        {
            "sql": 'SELECT name, length FROM river WHERE country = "Norway" AND length > 250',
            "answer": [["Glomma", 621]],
        }
    ]
    audits = world.lines("data/questions/audit.jsonl")
    assert ["other_answers" in audit for audit in audits] == [True, True, False]
    assert len(norway.test_suite) >= 1
    assert all(database["other_answers"] for database in norway.test_suite)
    assert not any("other_answers" in database for database in old.test_suite)

    sql = norway.other_answers[0]["sql"]
    by_heart = "SELECT 'Glomma', 621"
    mixed = f"SELECT name FROM ({sql}) WHERE (SELECT COUNT(*) FROM river) = 5"
    terms = list_reward_terms(norway)
    columns = {name: [value] for name, value in terms.items()}
    columns |= {"database_name": ["rivers"], "gold_answer": [json.dumps(norway.gold_answer)]}
    with RewardPool(workers=1) as pool:
        for text, reward in (
            (norway.gold_sql, 1.0),
            (sql, 1.0),
            (sql.replace("250", "0"), 0.0),
            (by_heart, 0.0),
            (mixed, 0.0),
        ):
            assert pool.score_completions([f"```sql\n{text}\n```"], **columns) == [reward], text
        known = {name: json.loads(terms[name]) for name in ("other_answers", "test_suite")}
        named = {"database_name": "rivers", "order_matters": norway.order_matters}
        why = pool.explain_score(by_heart, norway.gold_answer, **named, **known)
        assert (why.reward, why.database is not None) == (0.0, True)
    others = norway.other_answers
    rows = [("Glomma", 621)]
    assert score(rows, norway.gold_answer, order_matters=False, other_answers=others) == 1.0
    assert score(rows, norway.gold_answer, order_matters=False) == 0.0


# --- Spider 2.0-lite

SPIDER2 = [
    {"instance_id": "bq001", "db": "cloud", "question": "On BigQuery?", "external_knowledge": None},
    {
        "instance_id": "local001",
        "db": "Rivers",
        "question": "Which rivers are long?",
        "external_knowledge": "long.md",
    },
    {"instance_id": "local002", "db": "Rivers", "question": "How many?", "external_knowledge": ""},
    {"instance_id": "local003", "db": "Rivers", "question": "Long first?"},
    {"instance_id": "local004", "db": "Bridges", "question": "Old or long ones?"},
    {"instance_id": "local005", "db": "Bridges", "question": "And?"},
]
# Of local003 the first column counts, in its order; of local004 those of each of two answers.
ANSWERS = {
    "local003.csv": "name,length,code\nDrau,710,007\nGlomma,621,\n",
    "local004_a.csv": "built\n1844.004\n1901\n",
    "local004_b.csv": '\ufeffname,river,built\n"Old","Aa,re",1844\n"Steel",,1901\n',
}
TERMS = [
    {"instance_id": "local003", "condition_cols": [0], "ignore_order": False},
    {"instance_id": "local004", "condition_cols": [[], [2, 0]], "ignore_order": True},
]


@pytest.fixture
def spider2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The folder of Spider 2.0-lite; its entry."""
    monkeypatch.chdir(tmp_path)
    gold, folder = Path("evaluation_suite/gold/sql"), Path("resource/documents")
    gold.mkdir(parents=True)
    folder.mkdir(parents=True)
    (folder / "long.md").write_text("Long rivers have 500 km.\n")
    (gold / "local001_1.sql").write_text("SELECT name FROM river WHERE length > 500\n")
    (gold / "local001_2.sql").write_text("SELECT name, length FROM river WHERE length > 500")
    (gold / "local002.sql").write_text("SELECT COUNT(*) FROM river")
    (gold / "bq001.sql").write_text("SELECT 1")
    (gold / "../exec_result").mkdir()
    for name, text in ANSWERS.items():
        (gold / "../exec_result" / name).write_text(text, encoding="utf-8")
    terms = "evaluation_suite/gold/spider2lite_eval.jsonl"
    for path, rows in (("spider2-lite.jsonl", SPIDER2), (terms, TERMS)):
        Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name in ("Rivers", "Bridges"):
        make_database(Path(f"resource/databases/spider2-localdb/{name}.sqlite"), RIVERS)
    questions = {"train": [], "validation": ["spider2-lite.jsonl"]}
    entry = {"origin": "directory", "layout": "spider2-lite", "root": str(tmp_path)}
    return {**entry, "db_list": "all", "questions": questions}


def test_local_questions_are_loaded_with_gold_sql_or_their_answers(
    spider2: dict[str, Any], tmp_path: Path
) -> None:
    by_id = {one["source"]["instance_id"]: one for one in load("spider2", spider2)}
    first, second, third, fourth, fifth = (by_id[f"local{number:03}"] for number in range(1, 6))
    assert first["gold_sql"] == "SELECT name FROM river WHERE length > 500"
    assert first["other_sql"] == ["SELECT name, length FROM river WHERE length > 500"]
    assert first["evidence"] == "Long rivers have 500 km.\n"
    assert first["source"]["instance_id"] == "local001"
    assert first["source"]["grading_method"] == "spider2"
    assert (second["question_text"], "evidence" in second) == ("How many?", False)
    assert [one["gold_sql"] for one in (third, fourth, fifth)] == ["", "", ""]
    assert third["source"]["accepted_answers"] == [[["Drau"], ["Glomma"]]]
    assert third["source"]["grading_method"] == "spider2,numeric_text,extra_columns=3"
    assert fourth["source"]["accepted_answers"] == [
        [["1844.004"], ["1901"]],  # which the rule reads as numbers
        [["1844", "Old"], ["1901", "Steel"]],
    ]
    assert [one["source"]["order_matters"] for one in (third, fourth)] == [True, False]
    assert fifth["source"]["accepted_answers"] == []
    sources = locate_all(parse_corpora("spider2", {"spider2": spider2}), limits=LIMITS)
    paths = {name: source.origin["path"] for name, source in sources.items()}
    assert paths["Rivers"] == "resource/databases/spider2-localdb/Rivers.sqlite"
    assert set(paths) == {"Rivers", "Bridges"}
    (tmp_path / "evaluation_suite/gold/exec_result/local003.csv").write_text("a,b\n1\n")
    with pytest.raises(InputError, match=r"local003\.csv: expected a table, and in it columns"):
        load("spider2", spider2)


@pytest.mark.slow
def test_predictions_are_scored_by_published_answers(
    spider2: dict[str, Any], tmp_path: Path
) -> None:
    world = World(tmp_path)
    world.params["corpora"]["spider2"] = spider2 | {"license": None, "corrections": None}
    world.change("corpus", "spider2")
    world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
    world.drop_targets()
    world.run_to("export_dataset")
    world.run("export_trainers", "export_huggingface", "report_dataset")
    first, second = read_product(Path("data/questions"), "eval")
    excluded = world.lines("data/questions/excluded.jsonl")
    ids = {one["question_text"]: one["question_id"] for one in excluded}
    assert {one["reason"] for one in excluded} == {"no_gold_sql"}
    right = {
        first.question_id: first.gold_sql,
        second.question_id: second.gold_sql,
        ids["Long first?"]: "SELECT name, id, length, country FROM river WHERE length > 600"
        " ORDER BY length DESC",
        ids["Old or long ones?"]: "SELECT name, CAST(built AS TEXT) FROM bridge WHERE built < 1950"
        " ORDER BY name DESC",
    }
    wrong = right | {
        ids["Long first?"]: "SELECT name FROM river WHERE length > 600 ORDER BY length",
        ids["Old or long ones?"]: "SELECT name, river_id FROM bridge WHERE built < 1950",
    }

    def score_queries(name: str, queries: dict[str, str], **options: Any) -> dict[str, Any]:
        rows = [{"question_id": one, "prediction": sql} for one, sql in queries.items()]
        Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows))
        return evaluate(name, out=tmp_path / "out", workers=1, **options)

    summary = score_queries("right.jsonl", right)
    assert (summary["accuracy"]["count"], summary["accuracy"]["suite"]) == (4, 1)
    assert "4 usable questions, 2 of them selected, 2 of them with answers and no SQL" in describe(
        summary
    )
    assert summary["breakdowns"]["difficulty"]["no_gold_sql"]["count"] == 2
    summary = score_queries("wrong.jsonl", wrong)
    assert summary["accuracy"]["suite"] == 0.5
    assert "no SQL" in (tmp_path / "out/evaluation.html").read_text(encoding="utf-8")
    selected = {one.question_id: one.gold_sql for one in (first, second)}
    assert score_queries("selected.jsonl", selected)["accuracy"]["count"] == 2
    summary = score_queries("wrong.jsonl", wrong, all_usable=False)
    assert summary["accuracy"]["count"] == 2
    assert summary["left_out"] == {"no_gold_sql": 2}
    exports = (path for path in Path("data/exports").rglob("*") if path.is_file())
    assert all(b"Long first?" not in path.read_bytes() for path in exports if path.suffix != ".db")
