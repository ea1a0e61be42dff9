"""What curators decide is applied to the questions that they name, and to nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from answerkey.corpus.corpora import CORRECTIONS_DIR
from answerkey.corpus.corrections import apply_corrections, read_corrections
from answerkey.records import read_curated_exclusion, read_jsonl
from stages import load_questions
from tests.shared.paths import ROOT
from tests.shared.report_world import run_stages, write_corpus, write_params

STAGES = (
    "download_databases",
    "load_questions",
    "assign_splits",
    "compute_gold_answers",
    "parse_gold_sql",
    "audit_gold_answers",
    "generate_test_suites",
    "score_rollouts",
    "compare_questions",
    "classify_difficulty",
    "select_questions",
)
LINK = "https://example.org/threads/7"


def question(text: str, sql: str, database: str = "shop", index: int = 0) -> dict[str, Any]:
    return {
        "question_text": text,
        "database_name": database,
        "gold_sql": sql,
        "spider_split": "train",
        "source": {"corpus": "tried", "file": "train.json", "index": index},
    }


QUESTIONS = [
    question("How many hats?", "SELECT count(*) FROM coat", index=0),
    question("Name the hats.", "SELECT name FROM hat", index=1),
    question("Name the hats.", "SELECT id FROM hat", index=2),
    question("Name the hats.", "SELECT name FROM hat", index=3),
    question("How many hats?", "SELECT 7", "barn", index=4),
]


def entry(text: str = "How many hats?", action: str = "exclude", **others: Any) -> dict[str, Any]:
    return {"database": "shop", "question": text, "action": action, "reason": "Wrong."} | others


def replace(text: str = "How many hats?", gold_sql: str = "SELECT 1", **others: Any) -> dict:
    return entry(text, "replace", replacement={"gold_sql": gold_sql}) | others


@pytest.fixture
def read(tmp_path: Path):
    """Corrections out of entries, or out of the text of a file."""

    def read(entries: list[Any] | str):
        path = tmp_path / "tried.yaml"
        text = entries if isinstance(entries, str) else yaml.safe_dump(entries)
        path.write_text(text, encoding="utf-8")
        return read_corrections(path)

    return read


def test_excluded_question_keeps_its_place_and_says_why(read) -> None:
    # One of a database that was not chosen is passed over.
    corrected = apply_corrections(QUESTIONS, read([entry(database="mill"), entry(link=LINK)]))
    note = {"action": "exclude", "reason": "Wrong.", "link": LINK}
    expected = QUESTIONS[0] | {"source": QUESTIONS[0]["source"] | {"correction": note}}
    assert corrected == [expected, *QUESTIONS[1:]]
    assert "correction" not in QUESTIONS[0]["source"]


@pytest.mark.parametrize(
    "replacement",
    [
        {"question_text": "How many caps?", "gold_sql": "SELECT count(*) FROM cap"},
        {"evidence": "A cap is a hat."},
    ],
)
def test_replaced_question_keeps_what_was_replaced_in_its_source(read, replacement) -> None:
    corrections = read([entry(action="replace", replacement=replacement)])
    first, *others = apply_corrections(QUESTIONS, corrections)
    assert others == QUESTIONS[1:]
    assert {field: first[field] for field in replacement} == replacement
    assert first["source"]["correction"] == {
        "action": "replace",
        "reason": "Wrong.",
        "link": None,
        "original": {field: QUESTIONS[0].get(field, "") for field in replacement},
    }
    rest = set(first) - {*replacement, "source"}
    assert {name: first[name] for name in rest} == {name: QUESTIONS[0][name] for name in rest}


def test_gold_sql_chooses_among_queries_of_one_text_and_repeats_are_all_meant(read) -> None:
    corrections = read([entry("Name the hats.", gold_sql="SELECT name FROM hat")])
    corrected = apply_corrections(QUESTIONS, corrections)
    assert [q["source"]["index"] for q in corrected if "correction" in q["source"]] == [1, 3]


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (
            [entry(database="barn"), entry("How many hat?")],
            r"tried.yaml: entry 2: 'How many hat\?' of database shop: .*there is no such question",
        ),
        (
            [entry(gold_sql="SELECT count(*) FROM coats")],
            r"entry 1: .*expected one of its queries as gold_sql, found 'SELECT count\(\*\) FROM"
            r" coats'; its queries: \['SELECT count\(\*\) FROM coat'\]",
        ),
        ([entry("Name the hats.")], r"found None; its queries: \['SELECT id FROM hat', 'SELECT na"),
        ([entry(), replace()], r"entry 2: 'How many hats\?' .* is corrected by .*yaml: entry 1"),
        (
            [replace(gold_sql="SELECT count(*) FROM coat")],
            "entry 1: .* of database shop: has this gold_sql already",
        ),
    ],
)
def test_correction_that_does_not_fit_the_corpus_is_refused(read, entries, words) -> None:
    with pytest.raises(ValueError, match=words):
        apply_corrections(QUESTIONS, read(entries))


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ("", r"tried.yaml: expected a list \(empty: \[\]\), found NoneType"),
        ("- [", "tried.yaml: expected YAML"),
        (["shop"], "entry 1: expected database, question, .*, found 'shop'"),
        ([entry(), entry(note="x")], "tried.yaml: entry 2: unknown key note"),
        ([entry(action="drop")], "entry 1: action: expected exclude or replace, found 'drop'"),
        ([{"database": "shop", "action": "exclude"}], "entry 1: no key question"),
        ([entry(reason=" ")], "entry 1: reason: expected text, found ' '"),
        ([entry(link="thread 7")], "entry 1: link: expected an address, or null, found 'thread 7'"),
        ([entry(action="replace")], "entry 1: expected a replacement for action replace"),
        ([entry(replacement={"gold_sql": "SELECT 1"})], "expected a replacement for action"),
        ([replace(replacement={})], "entry 1: expected a replacement for action replace"),
        ([replace(replacement={"query": "x"})], "entry 1: replacement: expected some of question_"),
        ([replace(gold_sql="")], "entry 1: replacement.gold_sql: expected text, found ''"),
    ],
)
def test_entry_that_cannot_be_meant_is_named(read, entries, words) -> None:
    with pytest.raises(ValueError, match=f"(?s){words}"):
        read(entries)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.yaml: expected a list of corrections"):
        read_corrections(tmp_path / "none.yaml")


_NAMES = st.sampled_from(["a", "b", "c"])


@given(
    rows=st.lists(st.tuples(_NAMES, _NAMES, _NAMES)),
    decided=st.dictionaries(st.tuples(_NAMES, _NAMES, _NAMES), st.booleans()),
)
def test_number_order_and_all_other_questions_stay(tmp_path_factory, rows, decided) -> None:
    questions = [question(text, sql, name, i) for i, (name, text, sql) in enumerate(rows)]
    present = {row: is_replaced for row, is_replaced in decided.items() if row in rows}
    actions = {
        False: {"action": "exclude"},
        True: {"action": "replace", "replacement": {"gold_sql": "new"}},
    }
    entries = [
        entry(text, database=name, gold_sql=sql) | actions[is_replaced]
        for (name, text, sql), is_replaced in present.items()
    ]
    path = tmp_path_factory.mktemp("tried") / "tried.yaml"
    path.write_text(yaml.safe_dump(entries), encoding="utf-8")
    corrected = apply_corrections(questions, read_corrections(path))
    for before, after, row in zip(questions, corrected, rows, strict=True):
        if row not in present:
            assert after is before
            continue
        note = after["source"].pop("correction")
        assert after | note.get("original", {}) == before
        assert (note["action"] == "replace") == present[row]


# --- the corpus names its file


def test_every_corpus_of_params_names_a_file_that_can_be_read() -> None:
    corpora = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["corpora"]
    names = {corpus.get("corrections") for corpus in corpora.values()}
    files = {path.stem for path in (ROOT / CORRECTIONS_DIR).glob("*.yaml")}
    assert names - {None} == files
    for name in files:
        assert read_corrections(ROOT / CORRECTIONS_DIR / f"{name}.yaml")


# --- through the stages


def read_lines(path: Path) -> list[dict[str, Any]]:
    return list(read_jsonl(path))


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """Two databases; a question is excluded, one replaced, and one that repeats the excluded."""
    write_corpus(tmp_path / "corpus")
    path = tmp_path / "corpus/train_spider.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    twice = [
        {"db_id": "ships", "question": "Which is oldest?", "query": f"SELECT {value} FROM ship"}
        for value in ("min(built)", "max(built)")
    ]
    path.write_text(json.dumps(rows + twice[::-1]), encoding="utf-8")
    write_params(tmp_path, {})
    change_corpus(tmp_path, corrections="tried")
    entries = [
        entry("Which is oldest?", database="ships", gold_sql=twice[1]["query"], link=LINK),
        replace(
            "How many pages has Ice?", "SELECT pages + 1 FROM book WHERE id = 2", database="books"
        ),
        entry("Of another database", database="trains"),
    ]
    (tmp_path / CORRECTIONS_DIR).mkdir(parents=True)
    (tmp_path / CORRECTIONS_DIR / "tried.yaml").write_text(yaml.safe_dump(entries))
    return tmp_path


def change_corpus(folder: Path, **changes: Any) -> None:
    params = yaml.safe_load((folder / "params.yaml").read_text(encoding="utf-8"))
    params["corpora"]["local"].update(changes)
    (folder / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")


def test_stage_counts_corrections(world: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(world)
    load_questions.main()
    assert capsys.readouterr().err.endswith("; 2 corrected (exclude 1, replace 1)\n")
    corrected = Path("data/interim/questions.jsonl").read_bytes()
    change_corpus(world, corrections=None)
    load_questions.main()
    assert "correct" not in capsys.readouterr().err
    plain = Path("data/interim/questions.jsonl").read_bytes()
    assert len(plain.splitlines()) == len(corrected.splitlines())
    assert b"correction" in corrected
    assert b"correction" not in plain


def test_curators_word_reaches_the_sidecars(world: Path) -> None:
    run_stages(world, *STAGES)
    selection = world / "data/interim/selection"
    excluded = {
        record["question_id"]: record for record in read_lines(selection / "excluded.jsonl")
    }
    audits = {record["question_id"]: record for record in read_lines(selection / "audit.jsonl")}
    selected = {q["question_id"]: q for q in read_lines(selection / "questions.jsonl")}
    loaded = read_lines(world / "data/interim/questions.jsonl")
    assert len(excluded) + len(selected) == len(loaded)

    curated = [r for r in excluded.values() if r["reason"] == "excluded_by_curator"]
    assert [(r["stage"], r["detail"], r["gold_sql"]) for r in curated] == [
        ("load_questions", f"Wrong. {LINK}", "SELECT max(built) FROM ship")
    ]
    # What an excluded question says no longer contradicts the one with the same text.
    assert "Which is oldest?" in {q["question_text"] for q in selected.values()}
    assert selected["books_eval_001"]["gold_answer"] == 97
    assert audits["books_eval_001"]["source"]["correction"]["original"] == {
        "gold_sql": "SELECT pages FROM book WHERE title = 'Ice'"
    }


# --- real Spider

SPIDER_ROOT = os.environ.get("SPIDER_ROOT")


@pytest.mark.skipif(not SPIDER_ROOT, reason="SPIDER_ROOT names no Spider release")
def test_corrections_of_spider_hold_on_real_spider(tmp_path: Path) -> None:
    corrections = read_corrections(ROOT / CORRECTIONS_DIR / "spider.yaml")
    write_params(tmp_path, {})
    names = sorted({correction.database for correction in corrections})
    change_corpus(tmp_path, root=SPIDER_ROOT, db_list=names, corrections="spider")
    (tmp_path / CORRECTIONS_DIR).mkdir(parents=True)
    (tmp_path / CORRECTIONS_DIR / "spider.yaml").write_bytes(
        (ROOT / CORRECTIONS_DIR / "spider.yaml").read_bytes()
    )
    run_stages(tmp_path, *STAGES)
    interim = tmp_path / "data/interim"
    sources = read_lines(interim / "splits.jsonl")
    answers = {
        record["question_id"]: record
        for name in names
        for record in read_lines(interim / f"gold_answers/{name}.jsonl")
    }
    excluded = {
        record["question_id"]: record["reason"]
        for record in read_lines(interim / "selection/excluded.jsonl")
    }
    corrected = [source for source in sources if "correction" in source["source"]]
    assert len(corrected) >= len(corrections) > 0
    for source in corrected:
        question_id = source["question_id"]
        is_excluded = read_curated_exclusion(source) is not None
        assert (excluded.get(question_id) == "excluded_by_curator") == is_excluded
        if not is_excluded:
            assert "gold_answer" in answers[question_id], source["gold_sql"]
            assert excluded.get(question_id) in (None, "not_selected"), source["question_text"]
