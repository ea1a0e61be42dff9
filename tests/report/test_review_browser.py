"""The review in a real browser: a queue by risk, decided by keys, kept, and written as files."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.base.paths import CORRECTIONS
from answerkey.base.records import hash_question, read_json, read_jsonl
from answerkey.corpus.loading import read_corrections
from answerkey.flags import FLAGS
from answerkey.risk.verdicts import read_verdict_file
from tests.shared.report_world import EVAL, HOSTILE, REPORT, STAGES, TRAIN, run_stages
from tests.shared.visits import Review

pytestmark = [pytest.mark.browser, pytest.mark.slow]

TODAY = datetime.now(UTC).date().isoformat()
RISKS = {"ships_train_000": 0.9, "books_eval_001": 0.7, "ships_train_002": 0.5}
FIRST, SECOND, THIRD = RISKS
MODELS_SQL = "SELECT name FROM ship WHERE built IS NOT NULL"
AGREEMENT = {
    "code": "models_agree_otherwise",
    "evidence": {"kind": "half", "models": 11, "of": 20, "sql": MODELS_SQL},
}
LACKS, HTML = "Rows that the other lacks", "<b>7</b>"
REPAIRS = [
    {
        "rule": "any_case",
        "sql": "SELECT pages FROM book WHERE title LIKE 'Ice'",
        "answers": "other",
        "gold_rows": [[96]],
        "repair_rows": [[HTML]],
        "difference": {"differs": "rows", "counts": [1, 6], "lacking": [1, 6]},
    },
    {"rule": "without_null", "sql": "SELECT 96", "answers": "same"},
    {"rule": "distinct_rows", "sql": "SELECT 90 + 6", "answers": "same"},
]


@pytest.fixture(scope="module")
def risky(report: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page, where some questions have an answer risk."""
    folder = tmp_path_factory.mktemp("risky")
    shutil.copytree(report.parent.parent, folder, dirs_exist_ok=True)
    for name in ("audit.jsonl", "excluded.jsonl"):
        path = folder / "data/questions" / name
        records = [
            record | {"answer_risk": RISKS.get(record["question_id"], 0.1), "sql_risk": 0.25}
            for record in read_jsonl(path)
        ]
        for record in records:
            record["flags"] += [AGREEMENT] if record["question_id"] == THIRD else []
            record["repairs"] = REPAIRS if record["question_id"] == SECOND else None
        path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    path = folder / "data/interim/joined.jsonl"
    others = {FIRST: [{"sql": "SELECT name FROM ship AS s", "answer": ["Sun", "Tern"]}]}
    records = [
        record | {"other_answers": others.get(record["question_id"])} for record in read_jsonl(path)
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    run_stages(folder, "report_dataset")
    return folder / "reports/dataset.html"


@pytest.fixture
def review(browser: Any, risky: Path) -> Iterator[Review]:
    visit = Review(browser, risky)
    yield visit
    complaints, requests = visit.complaints, visit.requests
    visit.context.close()
    assert complaints == []
    assert [request for request in requests if not request.startswith("blob:")] == [visit.address]


def test_riskiest_question_comes_first_with_all_that_one_judges_it_by(review):
    assert review.place == "Question 1 of 14"
    assert review.shown.startswith(FIRST)
    assert re.search(r"How likely wrong:\s+the answer 90 %\s+the SQL 25 %", review.shown)
    assert HOSTILE.split("\u2028")[0].strip() in review.shown
    assert TRAIN[0][1] in review.shown.replace("\n", " ")
    assert "CREATE TABLE ship" in review.shown
    assert "CREATE TABLE harbour" not in review.shown
    assert "weight\tinteger, 3 different, 40, 12, 75" in review.shown
    assert "built\ttext, 3 different, 1 NULL, '1999-04-01'" in review.shown
    assert "Another accepted answer\nSELECT name\nFROM ship AS s\nSun\nTern" in review.shown
    assert "Test suite" in review.shown
    review.press("o")
    assert "1 other table" in review.shown
    assert "CREATE TABLE harbour" in review.shown
    review.press("n")
    assert SECOND in review.shown
    review.press("n", "p", "p", "p")
    assert FIRST in review.shown


def test_every_key_is_shown_as_a_button(review):
    buttons = review.page.locator(".review-keys button")
    names = ["previous", "next", "open all", "undo", "close"]
    names += ["keep", "drop", "fix SQL", "fix text", "ambiguous", "take the repair"]
    names += ["take the models' SQL", "accept the verdict", "accept the second", "accept the third"]
    assert [text.split(" ", 1)[1] for text in buttons.all_text_contents()] == names
    buttons.filter(has_text="keep").click()
    assert "1 of " in review.status
    assert SECOND in review.shown
    buttons.filter(has_text="close").click()
    assert not review.page.locator("#review-dialog").is_visible()


def test_decisions_are_kept_and_undone(review):
    review.press("k", "d", "Enter", "u")
    assert SECOND in review.shown
    assert "1 of " in review.status
    review.page.reload()
    review.requests.pop()
    review.open()
    assert "1 of " in review.status
    assert SECOND in review.shown, "the first that is not decided"
    review.press("p")
    assert "Decided: keep." in review.shown
    review.press("d")
    review.type("It asks for nothing.")
    review.press("Enter", "p")
    assert "Decided: drop. It asks for nothing." in review.shown
    review.press("u")
    assert "Decided: keep." in review.shown
    review.press("u")
    assert "Decided" not in review.shown, "nothing else was decided since the reload"


def test_what_is_decided_is_downloaded_from_the_page(review, tmp_path):
    start = review.page.locator("#start-review")
    files = review.page.locator("#review .review-files")
    review.press("q")
    assert start.inner_text().startswith("Start the review of ")
    assert not files.is_visible(), "nothing is decided"
    review.open()
    review.press("k", "q")
    assert re.fullmatch(r"Go on: 1 of \d+ questions decided", start.inner_text())
    review.page.reload()
    review.requests.pop()
    assert start.inner_text().startswith("Go on: 1 of ")
    (verdict,) = read_verdict_file(review.download("verdicts", tmp_path, place="#review"))
    assert verdict.verdict == "right"


def test_one_key_takes_the_query_on_which_models_agree(review, tmp_path):
    take = review.page.locator(".review-keys button", has_text="take the models' SQL")
    assert take.is_disabled()
    review.press("m")
    assert "0 of " in review.status
    review.press("n", "n")
    assert "SQL on which 11 of 20 models agree" in review.shown
    assert MODELS_SQL in review.shown.replace("\n", " ")
    review.press("m")
    (correction,) = read_corrections(review.download("corrections", tmp_path))
    assert correction.replacement == {"gold_sql": MODELS_SQL}
    assert correction.reason == "11 of 20 models agree on it."


def test_repair_stands_beside_gold_and_the_others_behind_a_fold(review):
    take = review.page.locator(".review-keys button", has_text="take the repair")
    assert take.is_disabled()
    review.press("r")
    assert not review.page.locator(".review-form").is_visible()
    review.press("n")
    assert SECOND in review.shown
    words = review.page.locator(".review-question .doubt").inner_text().split("\n")
    assert words[0] == "Another reading of the question"
    assert "The answers differ: gold has 1 row, the other 6;" in review.shown
    sides = review.page.locator(".review-question .doubt .pair > div").all_inner_texts()
    assert [re.split(r"\n+", side) for side in sides] == [
        ["Gold SQL", "SELECT pages", "FROM book", "WHERE title = 'Ice'", LACKS, "96"],
        [
            *("SQL of the reading", "SELECT pages", "FROM book", "WHERE title LIKE 'Ice'"),
            *(LACKS, HTML, "The first 1 of 6 rows."),
        ],
    ]
    fold = review.page.locator(".review-question .fold").first
    assert fold.inner_text() == "2 more repairs"
    fold.locator("summary").first.click()
    assert fold.inner_text().count("Both give the same answer here: gold SQL is in doubt") == 1
    assert "SELECT 90 + 6" not in fold.inner_text()
    fold.get_by_text("1 more repair with the same answer").click()
    assert "SELECT 90 + 6" in fold.inner_text()
    assert fold.get_by_text(LACKS).count() == 0


def test_sql_to_be_fixed_stands_as_it_is_shown(review, tmp_path):
    review.press("n", "s")
    field = review.page.get_by_label("SQL as it should be")
    assert field.input_value() == "SELECT pages\nFROM book\nWHERE title = 'Ice'"
    review.press("Tab")
    review.type("Nothing was changed.")
    review.press("Enter")
    assert "0 of " in review.status
    review.press("Escape", "r", "Enter")
    (correction,) = read_corrections(review.download("corrections", tmp_path))
    assert correction.replacement == {"gold_sql": REPAIRS[0]["sql"]}, "its own text"


def test_review_is_of_the_questions_that_the_filters_leave(review):
    review.press("k", "q")
    review.page.get_by_label("Database", exact=True).select_option("books")
    review.page.get_by_role("button", name="Start the review of 3 questions").click()
    assert review.place == "Question 1 of 3 with database books"
    assert SECOND in review.shown, "the riskiest of them"
    assert review.status.startswith("0 of 3 ")
    review.press("k")
    assert review.list_files() == ["verdicts.jsonl (2)"], "those of other questions stay"
    review.press("q")
    review.page.go_back()
    review.page.get_by_role("button", name="Go on: 2 of 14 questions decided").click()
    assert review.status.startswith("2 of 14 ")
    review.press("q")
    review.page.get_by_label("Search in questions").fill("nowhere")
    review.page.get_by_role("button", name="Start the review of 0 questions").wait_for()
    assert review.page.locator("#start-review").is_disabled()


def test_repair_may_be_changed_before_it_is_taken(review, tmp_path):
    review.press("n", "r")
    review.type("Capitals do not count.")
    review.press("Shift+Tab")
    review.type("SELECT pages FROM book WHERE title LIKE 'ice'")
    review.press("Tab", "Enter")
    (correction,) = read_corrections(review.download("corrections", tmp_path))
    assert correction.reason == "Capitals do not count."
    assert correction.replacement == {"gold_sql": "SELECT pages FROM book WHERE title LIKE 'ice'"}


LIGHTEST = "Which ship is the lightest of all?"


@pytest.fixture
def doubtful(report: Path, tmp_path: Path) -> Path:
    """The folder of a run in which one gold query sorts the wrong way round."""
    shutil.copytree(report.parent.parent, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "corpus/train_spider.json"
    sql = "SELECT name FROM ship ORDER BY weight DESC LIMIT 1"
    question = {"db_id": "ships", "question": LIGHTEST, "query": sql}
    path.write_text(json.dumps([*json.loads(path.read_text()), question]))
    run_stages(tmp_path, *STAGES)
    return tmp_path


def find_lightest(folder: Path) -> dict[str, Any]:
    questions = read_json(folder / "data/questions/questions_train.json")
    (question,) = (each for each in questions if each["question_text"] == LIGHTEST)
    return question


def test_repair_that_one_key_takes_is_the_gold_of_the_next_run(browser, doubtful):
    assert find_lightest(doubtful)["gold_answer"] == "Ruby"
    visit = Review(browser, doubtful / REPORT)
    while LIGHTEST not in visit.shown:
        visit.press("n")
    assert FLAGS["direction_mismatch"].sentence in visit.shown
    visit.press("r", "Enter")
    assert "1 of 15 decided" in visit.status
    path = visit.download("corrections", doubtful)
    visit.context.close()
    assert visit.complaints == []
    (doubtful / CORRECTIONS).mkdir(parents=True, exist_ok=True)
    path.rename(doubtful / CORRECTIONS / "local.yaml")
    params = yaml.safe_load((doubtful / "params.yaml").read_text("utf-8"))
    params["corpora"]["local"]["corrections"] = "local"
    (doubtful / "params.yaml").write_text(yaml.safe_dump(params), "utf-8")
    run_stages(doubtful, *STAGES)
    question = find_lightest(doubtful)
    assert question["gold_answer"] == "<b onclick=alert(2)>Kite</b>"
    assert "DESC" not in question["gold_sql"]
    audits = {
        one["question_id"]: one for one in read_jsonl(doubtful / "data/questions/audit.jsonl")
    }
    correction = audits[question["question_id"]]["source"]["correction"]
    assert correction["reason"] == FLAGS["direction_mismatch"].sentence
    assert "direction_mismatch" not in str(audits[question["question_id"]]["flags"])


def test_decision_about_a_query_that_has_changed_is_none(browser, risky, tmp_path):
    shutil.copytree(risky.parent.parent, tmp_path, dirs_exist_ok=True)
    page = tmp_path / "reports/dataset.html"
    visit = Review(browser, page)
    visit.press("k")
    assert "1 of " in visit.status
    changed = page.read_text("utf-8").replace(TRAIN[0][1].replace(">", "\\u003e"), "SELECT 1")
    page.write_text(changed, "utf-8")
    visit.page.reload()
    visit.open()
    assert "0 of " in visit.status
    assert FIRST in visit.shown
    visit.context.close()


def test_files_say_what_was_decided(review, tmp_path):
    review.page.get_by_label("Your name").fill("kim")
    review.page.locator(".review-question").focus()
    review.press("d")
    review.type('Nobody asks "that": so.')
    review.press("Enter", "k", "s")
    review.type("SELECT name FROM ship\nORDER BY id")
    review.press("Tab")
    review.type("The year is not asked.")
    review.press("Enter", "p")
    review.press("t")
    review.type("Name of every ship, please.")
    review.press("Tab", "Enter")
    assert review.list_files() == ["corrections_local.yaml (2)", "verdicts.jsonl (4)"]
    corrections = read_corrections(review.download("corrections", tmp_path))
    assert [(c.action, c.question, c.reason) for c in corrections] == [
        ("exclude", HOSTILE, 'Nobody asks "that": so.'),
        ("replace", TRAIN[2][0], "The year is not asked."),
    ]
    assert corrections[1].gold_sql == TRAIN[2][1]
    assert corrections[1].replacement == {
        "gold_sql": "SELECT name FROM ship\nORDER BY id",
        "question_text": "Name of every ship, please.",
    }
    assert {(c.source, c.date) for c in corrections} == {("person:kim", TODAY)}
    path = review.download("verdicts", tmp_path)
    assert len(read_verdict_file(path)) == 4
    verdicts = list(read_jsonl(path))
    assert [(v["question_text"], v["verdict"], v["reason"]) for v in verdicts] == [
        (HOSTILE, "wrong", 'Nobody asks "that": so.'),
        ("How many pages has Ice?", "right", ""),
        (TRAIN[2][0], "wrong", "The year is not asked."),
        ("Name of every ship, please.", "right", ""),
    ]
    assert [v["gold_sql"] for v in verdicts[2:]] == [TRAIN[2][1], verdicts[2]["sql"]]
    assert {v["source"] for v in verdicts} == {"person:kim"}
    assert {v["date"] for v in verdicts} == {TODAY}
    assert list(verdicts[0]) == [
        *("corpus", "database_name", "question_text", "gold_sql"),
        *("verdict", "reason", "source", "date"),
    ]


# --- verdicts


def test_ambiguous_question_is_written_with_the_other_reading(review, tmp_path):
    review.press("n", "a")
    assert review.page.get_by_label("The other reading").input_value() == (
        "SELECT pages\nFROM book\nWHERE title LIKE 'Ice'"
    )
    review.type("Capitals may count, or not.")
    review.press("Enter", "p")
    assert "Decided: ambiguous. Capitals may count, or not." in review.shown
    assert review.list_files() == ["verdicts.jsonl (1)"]
    (verdict,) = read_verdict_file(review.download("verdicts", tmp_path))
    assert (verdict.verdict, verdict.sql) == ("ambiguous", REPAIRS[0]["sql"])
    assert verdict.answers == "other", "the repair was executed"


def test_reading_that_a_person_writes_has_no_known_answer(review, tmp_path):
    review.press("a")
    review.press("Tab")
    review.type("It may mean another thing.")
    review.press("Enter")
    assert "0 of " in review.status, "gold itself is no other reading"
    review.type("SELECT 7")
    review.press("Tab", "Enter")
    (verdict,) = read_verdict_file(review.download("verdicts", tmp_path))
    assert (verdict.sql, verdict.answers) == ("SELECT 7", None)


PAGES = {"question_text": "How many pages has Ice?", "gold_sql": EVAL[1][1]}
TO_LOAD = [
    {**PAGES, "database_name": "books", "verdict": "right", "source": "person:ada"},
    {
        "sha256": hash_question(*TRAIN[2]),
        **{"file": "train_spider.json", "index": 2, "database_name": "ships"},
        **{"verdict": "wrong", "source": "model:qwen", "kind": "column", "answers": "other"},
        **{"reason": "The year is not asked.", "sql": "SELECT name FROM ship <b>"},
        "readings": ["wrong", "right", "wrong"],
    },
    {**PAGES, "gold_sql": "SELECT 1", "database_name": "books", "verdict": "wrong"},
]


def load(review: Review, tmp_path: Path, name: str, records: list[dict[str, Any]]) -> None:
    lines = [json.dumps({"corpus": "local", "date": "2026-03-01", **each}) for each in records]
    (tmp_path / name).write_text("\n".join([*lines, ""]), "utf-8")
    review.page.get_by_label("Start from verdicts").set_input_files(tmp_path / name)
    review.page.locator("#loaded-verdicts", has_text=f"{name}: ").wait_for()


def test_verdicts_of_a_file_are_seen_and_accepted_by_a_key(review, tmp_path):
    review.press("q")
    load(review, tmp_path, "qwen.jsonl", TO_LOAD)
    told = review.page.locator("#loaded-verdicts").inner_text()
    assert told == "qwen.jsonl: 2 of 3 verdicts are about these questions."
    review.page.reload()
    review.requests.pop()
    review.page.get_by_label("Verdict", exact=True).select_option("they differ")
    review.page.get_by_role("button", name="Start the review of 1 question").click()
    assert "Verdict: wrong\n\nThe year is not asked." in review.shown
    assert "What is asked\nSELECT name\nFROM ship <b>" in review.shown
    assert "of the readings wrong, right, wrong" in review.shown
    assert "It answers otherwise than gold." in review.shown
    assert review.page.locator(".review-keys button", has_text="accept the second").is_disabled()
    review.press("1")
    review.press("q")
    review.page.get_by_label("Verdict", exact=True).select_option("right")
    review.page.get_by_role("button", name="Start the review of 1 question").click()
    assert "Verdict: right" in review.shown
    review.press("1")
    (correction,) = read_corrections(review.download("corrections", tmp_path))
    assert correction.replacement == {"gold_sql": "SELECT name FROM ship <b>"}
    verdicts = read_verdict_file(review.download("verdicts", tmp_path))
    said = [(each.verdict, each.kind, each.answers, each.source) for each in verdicts]
    assert sorted(said, key=str) == [
        ("right", None, None, "person"),
        ("right", None, None, "person"),
        ("wrong", "column", "other", "person"),
    ]
    review.press("q")
    review.page.get_by_role("button", name="Forget them").click()
    review.page.get_by_role("button", name="Start the review of 0 questions").wait_for()


def test_file_that_holds_no_verdicts_is_told(review, tmp_path):
    review.press("q")
    load(review, tmp_path, "odd.jsonl", [{"verdict": "maybe"}])
    told = review.page.locator("#loaded-verdicts").inner_text()
    assert told == "odd.jsonl: line 1 has no verdict: right, wrong or ambiguous."
    assert review.page.get_by_role("button", name="Forget them").count() == 0
