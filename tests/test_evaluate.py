"""Evaluation of predictions on a small product that was built: numbers, files, errors, the page."""

from __future__ import annotations

import json
import resource
import sqlite3
import subprocess
import sys
from collections import Counter
from contextlib import closing, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.errors import InputError
from answerkey.base.records import SPLITS
from answerkey.command import main
from answerkey.evaluate import describe, evaluate
from answerkey.evaluation.samples import read_samples
from tests.shared.export_world import ExportWorld
from tests.shared.visits import Visit, launch_browser


def write_lines(path: Path, records: list[dict[str, Any]]) -> Path:
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    return path


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def questions(inside: ExportWorld) -> list[dict[str, Any]]:
    return inside.questions("eval")


@pytest.fixture
def gold(tmp_path: Path, questions: list[dict[str, Any]]) -> Path:
    lines = [{"question_id": q["question_id"], "prediction": q["gold_sql"]} for q in questions]
    return write_lines(tmp_path / "gold.jsonl", lines)


def by_heart(question: dict[str, Any]) -> str:
    """A query that reads no table and returns the stored answer."""
    answer = question["gold_answer"]
    rows = answer if isinstance(answer, list) else [answer]
    rows = [row if isinstance(row, list) else [row] for row in rows]
    with closing(sqlite3.connect(":memory:")) as connection:
        return "VALUES " + ", ".join(
            "("
            + ", ".join(connection.execute("SELECT quote(?)", [v]).fetchone()[0] for v in row)
            + ")"
            for row in rows
        )


def test_gold_is_right_everywhere(gold: Path, questions: list[Any], tmp_path: Path) -> None:
    summary = evaluate(gold, out=tmp_path / "out")
    accuracy = summary["accuracy"]
    assert (accuracy["count"], accuracy["database"], accuracy["suite"]) == (len(questions), 1, 1)
    assert summary["errors"] == {}
    assert set(summary["breakdowns"]["split"]) == {"eval"}
    for groups in summary["breakdowns"].values():
        assert all(one["suite"] == 1 for one in groups.values())
    lines = read_lines(tmp_path / "out/scores.jsonl")
    assert [line["question_id"] for line in lines] == [q["question_id"] for q in questions]
    written = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    assert written == json.loads(json.dumps(summary))


def test_answers_by_heart_are_lost_on_the_suite(questions: list[Any], tmp_path: Path) -> None:
    lines = [{"question_id": q["question_id"], "prediction": by_heart(q)} for q in questions]
    summary = evaluate(write_lines(tmp_path / "p.jsonl", lines), out=tmp_path / "out")
    assert summary["accuracy"]["database"] > summary["accuracy"]["suite"] + 0.5
    on_suite = [line for line in read_lines(tmp_path / "out/scores.jsonl") if line["on_database"]]
    assert all(line["database"] and line["reason"] for line in on_suite if not line["on_suite"])
    assert sum(one["on_suite_only"] for one in summary["errors"].values()) == sum(
        not line["on_suite"] for line in on_suite
    )
    alone = evaluate(tmp_path / "p.jsonl", out=tmp_path / "alone", use_suites=False)
    assert alone["accuracy"]["suite"] == summary["accuracy"]["database"]
    assert "on the suite" not in describe(alone)


def test_what_fails_has_its_kind_and_what_is_missing_counts_as_wrong(
    questions: list[Any], tmp_path: Path
) -> None:
    first, second, third, *others = questions
    lines = [
        {"question_id": first["question_id"], "prediction": "SELECT a FROM nowhere"},
        {"question_id": second["question_id"], "completion": "I do not know."},
        {
            "question_id": third["question_id"],
            "completion": [{"content": "```sql\nSELECT 77\n```"}],
        },
    ]
    summary = evaluate(write_lines(tmp_path / "p.jsonl", lines), out=tmp_path / "out")
    assert summary["accuracy"]["suite"] == 0
    assert {"sql_error", "no_query"} < set(summary["errors"])
    assert summary["without_prediction"] == [q["question_id"] for q in others]
    scores = read_lines(tmp_path / "out/scores.jsonl")
    assert "no such table: nowhere" in scores[0]["detail"]
    assert (scores[1]["rows"], scores[1]["answer"]) == (None, None)
    assert (scores[2]["rows"], scores[2]["row_count"]) == ([[77]], 1)


def test_samples_give_pass_at_k_and_a_majority(questions: list[Any], tmp_path: Path) -> None:
    lines = [
        {"question_id": q["question_id"], "predictions": [q["gold_sql"], "SELECT 77", "SELECT 77"]}
        for q in questions
    ]
    summary = evaluate(write_lines(tmp_path / "p.jsonl", lines), out=tmp_path / "out")
    samples = summary["samples"]
    assert summary["accuracy"]["suite"] == pytest.approx(1 / 3)
    assert samples["fewest"] == 3
    assert samples["pass_at_k"]["suite"] == pytest.approx({"1": 1 / 3, "2": 2 / 3})
    assert samples["majority"] == {"database": 0, "suite": 0}


def test_several_files_are_one_table(
    gold: Path, questions: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [
        {
            "question_id": q["question_id"],
            "prediction": q["gold_sql"] if place else "SELECT 77",
        }
        for place, q in enumerate(questions)
    ]
    worse = write_lines(tmp_path / "worse.jsonl", [*lines, {**lines[1], "question_id": "none"}])
    summary = run_command(worse, gold, "--out", tmp_path / "out", says="rule strict; ")
    assert [(one["name"], one["rank"]) for one in summary["systems"]] == [("gold", 1), ("worse", 2)]
    (pair,) = summary["pairs"]
    assert (pair["better"], pair["worse"], pair["differs"]) == (1, 0, False)
    assert pair["difference"] == pytest.approx(1 / len(questions))
    systems = Counter(line["system"] for line in read_lines(tmp_path / "out/scores.jsonl"))
    assert systems == {"gold": len(questions), "worse": len(questions)}
    page = (tmp_path / "out/evaluation.html").read_text(encoding="utf-8")
    assert page.count('class="dot"') == 2
    assert "Of 1 pair, <strong>0 differ beyond chance" in page
    assert "<script" not in page


def run_command(*arguments: Any, says: str) -> dict[str, Any]:
    """The summary of the command, whose output begins with `says`."""
    with redirect_stdout(StringIO()) as stdout:
        assert main(["evaluate", *map(str, arguments)]) == 0
    assert stdout.getvalue().startswith(says), stdout.getvalue()
    out = Path(arguments[arguments.index("--out") + 1])
    return json.loads((out / "summary.json").read_text(encoding="utf-8"))


def test_systems_of_one_name_are_told_by_their_paths(gold: Path, tmp_path: Path) -> None:
    again = tmp_path / "again" / gold.name
    again.parent.mkdir()
    again.write_bytes(gold.read_bytes())
    summary = evaluate(gold, again, out=tmp_path / "out")
    assert [one["name"] for one in summary["systems"]] == [str(gold), str(again)]
    with pytest.raises(InputError, match="expected files, each once"):
        evaluate(gold, gold, out=tmp_path / "out")


@pytest.fixture
def others(inside: ExportWorld) -> list[dict[str, Any]]:
    """The usable questions of eval that are not selected."""
    lines = read_lines(Path("data/interim/selection/not_selected.jsonl"))
    return [line for line in lines if line["split"] == "eval"]


@pytest.mark.slow
def test_usable_questions_count_if_they_are_predicted(
    gold: Path, questions: list[Any], others: list[Any], tmp_path: Path
) -> None:
    lines = [{"question_id": q["question_id"], "prediction": q["gold_sql"]} for q in others]
    every = write_lines(tmp_path / "every.jsonl", read_lines(gold) + lines)
    selected, usable = len(questions), len(questions) + len(others)
    assert usable > selected
    of_all = f"rule strict; {usable} usable questions, {selected} of them selected"
    of_selected = f"rule strict; {selected} selected questions; databases and test suites\n"
    out = ("--out", tmp_path / "out")
    summary = run_command(every, *out, says=f"{of_all}; databases and test suites\n")
    assert summary["accuracy"]["count"] == usable
    assert (summary["accuracy"]["suite"], summary["left_out"]) == (1, {})
    summary = run_command(every, *out, "--no-all-usable", says=of_selected)
    assert summary["left_out"] == {"not_selected": len(others)}
    assert run_command(gold, *out, says=of_selected)["accuracy"]["suite"] == 1
    summary = run_command(gold, *out, "--all-usable", says=of_all)
    assert summary["without_prediction"] == [q["question_id"] for q in others]


def test_other_usable_questions_that_nobody_kept_are_told(
    gold: Path, exported: ExportWorld, tmp_path: Path
) -> None:
    with pytest.raises(FileNotFoundError, match="expected data/interim/selection"):
        evaluate(gold, out=tmp_path, dataset=exported.exports / "huggingface", all_usable=True)


@pytest.mark.slow
def test_exports_and_checkouts_are_datasets(
    gold: Path, exported: ExportWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run_command(gold, "--out", tmp_path / "out", says="rule strict")["accuracy"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANSWERKEY_CACHE", str(tmp_path / "cache"))
    for place in ("", "data/questions", "data/exports/huggingface"):
        source = exported.folder / place
        arguments = (gold, "--dataset", source, "--out", tmp_path / "again")
        assert run_command(*arguments, says="rule strict")["accuracy"] == expected
    text = tmp_path / "p.sql"
    text.write_text("SELECT 1\n", encoding="utf-8")
    with pytest.raises(InputError, match="expected JSON Lines with question_id"):
        evaluate(text, out=tmp_path / "x", dataset=exported.folder / "data/exports/huggingface")


def test_a_second_run_scores_what_is_new(gold: Path, tmp_path: Path) -> None:
    evaluate(gold, out=tmp_path / "out")
    journal = tmp_path / "out/journal.jsonl"
    before = journal.read_text(encoding="utf-8")
    scores = (tmp_path / "out/scores.jsonl").read_bytes()
    lines = before.splitlines(keepends=True)
    journal.write_text("".join(lines[:-2]) + lines[-1][:10], encoding="utf-8")  # as if killed
    evaluate(gold, out=tmp_path / "out")
    assert set(before.splitlines()) < set(journal.read_text(encoding="utf-8").splitlines())
    assert (tmp_path / "out/scores.jsonl").read_bytes() == scores
    evaluate(gold, out=tmp_path / "out", rule="bird")
    assert len(journal.read_text(encoding="utf-8").splitlines()) > len(lines) + 2


@pytest.fixture
def ordered(questions: list[Any], others: list[Any]) -> list[str]:
    """Right SQL in the order of the source file of the eval split."""
    source = json.loads(Path("data/questions/corpora.json").read_text(encoding="utf-8"))
    sql = ["SELECT 77"] * source["local"]["rows"]["dev.json"]
    places = {
        line["question_id"]: line["source"]["index"]
        for line in read_lines(Path("data/questions/audit.jsonl"))
    }
    for q in questions:
        sql[places[q["question_id"]]] = q["gold_sql"]
    for q in others:
        sql[q["source"]["index"]] = q["gold_sql"]
    return sql


@pytest.fixture
def databases(inside: ExportWorld) -> dict[str, str]:
    """The database of each split, which has one alone."""
    found = {split: {q["database_name"] for q in inside.questions(split)} for split in SPLITS}
    return {split: name for split, (name,) in found.items()}


def test_files_in_the_order_of_the_source(
    ordered: list[str],
    databases: dict[str, str],
    questions: list[Any],
    others: list[Any],
    tmp_path: Path,
) -> None:
    spider, bird, plain = tmp_path / "p.sql", tmp_path / "p.json", tmp_path / "plain.sql"
    tabs = [one.replace(" ", "\t") for one in ordered]
    pairs = [(sql, databases["eval"]) for sql in tabs]
    spider.write_text("".join(f"{sql}\t{name}\n" for sql, name in pairs), encoding="utf-8")
    plain.write_text("".join(f"{sql}\n" for sql in tabs), encoding="utf-8")
    marked = {
        str(place): f"{sql}\t----- bird -----\t{name}" for place, (sql, name) in enumerate(pairs)
    }
    bird.write_text(json.dumps(marked), encoding="utf-8")
    for path in (spider, bird, plain):
        summary = evaluate(path, out=tmp_path / f"out_{path.name}")
        assert summary["accuracy"]["suite"] == 1
        assert summary["accuracy"]["count"] == len(questions) + len(others)
        left_out = len(ordered) - len(questions) - len(others)
        assert sum(summary["left_out"].values()) == left_out
    with pytest.raises(InputError, match=r"source_file: expected the file .* found no\.json"):
        evaluate(spider, out=tmp_path / "x", source_file="no.json")


@pytest.mark.parametrize("kind", ["spider", "bird"])
def test_predictions_for_other_databases_are_refused(
    kind: str, ordered: list[str], databases: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / ("p.sql" if kind == "spider" else "p.json")
    pairs = [(sql, databases["train"]) for sql in ordered]
    if kind == "spider":
        path.write_text("\n".join("\t".join(pair) for pair in pairs), encoding="utf-8")
    else:
        marked = {str(n): "\t----- bird -----\t".join(pair) for n, pair in enumerate(pairs)}
        path.write_text(json.dumps(marked), encoding="utf-8")
    said = (
        r"place \d+ is for database \w+, expected \w+, that of \w+: predictions in the order of dev"
    )
    with pytest.raises(InputError, match=said):
        evaluate(path, out=tmp_path / "out")


@pytest.mark.parametrize("nothing", [None, 0, ["SELECT 1"], {}, "", " ", False])
def test_what_is_no_text_is_no_prediction(
    nothing: Any, ordered: list[str], questions: list[Any], tmp_path: Path
) -> None:
    place = ordered.index(questions[0]["gold_sql"])
    path = tmp_path / "p.json"
    path.write_text(
        json.dumps({str(n): sql for n, sql in enumerate(ordered)} | {str(place): nothing}),
        encoding="utf-8",
    )
    assert evaluate(path, out=tmp_path / "out")["errors"]["no_query"]["count"] == 1


SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "end", [pytest.param("", marks=SLOW), "\n", pytest.param("\r\n", marks=SLOW)]
)
def test_last_line_may_be_empty(end: str, ordered: list[str], tmp_path: Path) -> None:
    path = tmp_path / "p.sql"
    path.write_text("\n".join([*ordered[:-1], ""]) + end, encoding="utf-8", newline="")
    summary = evaluate(path, out=tmp_path / "out", all_usable=True)
    path.write_text("\n".join([*ordered[:-1], " "]) + end, encoding="utf-8", newline="")
    assert (
        evaluate(path, out=tmp_path / "again", all_usable=True)["accuracy"] == summary["accuracy"]
    )


def test_predictions_in_fences_are_said_to_be_completions(
    questions: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fenced = [{"question_id": q["question_id"], "prediction": fence(q)} for q in questions]
    path = write_lines(tmp_path / "p.jsonl", fenced)
    assert evaluate(path, out=tmp_path / "out")["accuracy"]["suite"] == 0
    count = len(questions)
    said = f"{path}: {count} of {count} predictions stand in fences (```sql), which SQLite refuses"
    assert said in capsys.readouterr().err
    for line in read_lines(tmp_path / "out/scores.jsonl"):
        assert "it is a `completion`" in line["detail"]
    named = [{"question_id": q["question_id"], "completion": fence(q)} for q in questions]
    path = write_lines(tmp_path / "c.jsonl", named)
    assert evaluate(path, out=tmp_path / "named")["accuracy"]["suite"] == 1
    assert capsys.readouterr().err == ""


def fence(question: dict[str, Any]) -> str:
    return f"```sql\n{question['gold_sql']}\n```"


def test_reader_that_leaves_is_no_fault_of_the_predictions(gold: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "answerkey", "score", gold],  # a write a line
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as score:
        score.stdout.close()
        assert score.stderr.read() == ""
        assert score.wait(timeout=120) == 141


def test_completion_that_is_no_text_has_no_query() -> None:
    samples = {"completions": [7, [{"content": [None]}], "```\nSELECT 1\n```"]}
    assert read_samples(samples, "line 1") == [None, None, "SELECT 1"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_ends_with_a_line_feed_alone(end: str, ordered: list[str], tmp_path: Path) -> None:
    for place, mark in enumerate(("\u2028", "\x0b", "\x0c", "\x1c", "\x85", "\r")):
        ordered[place] += f" -- a{mark}b"
    path = tmp_path / "p.sql"
    path.write_bytes(("\ufeff" + end.join([*ordered, ""])).encode())
    assert evaluate(path, out=tmp_path / "out")["accuracy"]["suite"] == 1


@pytest.mark.parametrize("more", [-2, 1])
def test_another_number_of_lines_than_the_source_file_has_is_refused(
    more: int, ordered: list[str], tmp_path: Path
) -> None:
    count = len(ordered)
    path = tmp_path / "p.sql"
    lines = [*ordered, "SELECT 1"][: count + more]
    path.write_text("".join(f"{one}\n" for one in lines), encoding="utf-8")
    said = f"p.sql: expected {count} lines, one for each question of dev.json .* {count + more}$"
    with pytest.raises(InputError, match=said):
        evaluate(path, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"99": "SELECT 1"}', r"expected places from 0 to \d+, each once: 99"),
        ('{"1": "SELECT 1", "01": "SELECT 1"}', "each once: 01"),
        ("[]", "expected an object of SQL by place"),
        ("[" * 100_000, "expected an object of SQL by place"),
    ],
)
def test_bad_objects_by_place_are_told(text: str, said: str, inside: Any, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=said):
        evaluate(path, out=tmp_path / "out")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", r"p.jsonl:1: not JSON"),
        ("[]", r":1: expected a JSON object, found b.\[\]"),
        ("[" * 100_000, r":1: not JSON: brackets in brackets"),
        ('{"question_id": ["a"]}', r":1: question_id: expected a text, found \['a'\]"),
        ('{"question_id": "none", "prediction": "SELECT 1"}', "no prediction for a question of"),
        ('{"question_id": ID}', "expected one of prediction, predictions, .* found none"),
        ('{"question_id": ID, "prediction": 1}', "prediction: expected SQL as text"),
        ('{"question_id": ID, "predictions": ["SELECT 1", 2]}', "expected SQL as text, found"),
        ('{"question_id": ID, "predictions": "x"}', "predictions: expected a list"),
        ("", "no prediction for a question of"),
    ],
)
def test_bad_predictions_are_told(
    line: str, said: str, questions: list[Any], tmp_path: Path
) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(line.replace("ID", json.dumps(questions[0]["question_id"])), encoding="utf-8")
    with pytest.raises(InputError, match=said):
        evaluate(path, out=tmp_path / "out")


def test_missing_folders_are_told_before_anything_is_scored(gold: Path, tmp_path: Path) -> None:
    for options, said in (
        ({"dataset": "none"}, "No folder none: expected a checkout"),
        ({"databases": "none"}, "none: expected a folder of databases"),
        ({"test_suites": "none"}, "none: expected a folder of databases"),
    ):
        with pytest.raises(FileNotFoundError, match=said):
            evaluate(gold, out=tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_the_page_shows_what_is_wrong_and_escapes_it(questions: list[Any], tmp_path: Path) -> None:
    lines = [
        {"question_id": q["question_id"], "prediction": "SELECT '<script>alert(1)</script>'"}
        for q in questions
    ]
    evaluate(write_lines(tmp_path / "p.jsonl", lines), out=tmp_path / "out")
    page = (tmp_path / "out/evaluation.html").read_text(encoding="utf-8")
    assert page.count('<details class="code wrong" id=') == len(questions)
    assert "&lt;script&gt;" in page
    assert page.count("<script") == 1, "its own"


def test_predictions_for_questions_left_out_are_a_table(gold: Path, tmp_path: Path) -> None:
    excluded = read_lines(Path("data/questions/excluded.jsonl"))
    path = tmp_path / "p.jsonl"
    others = [{"question_id": one["question_id"], "prediction": "SELECT 1"} for one in excluded]
    write_lines(path, [*read_lines(gold), *others])
    evaluate(path, out=tmp_path / "out", split="eval", all_usable=False)
    page = (tmp_path / "out/evaluation.html").read_text(encoding="utf-8")
    table = page.split('<h3 id="left-out">')[1].split("</table>")[0]
    reasons = Counter(one["reason"] for one in excluded)
    assert len(reasons) > 1
    for reason, count in reasons.items():
        assert f'<code>{reason}</code></th><td class="numeric">{count}</td>' in table
    assert f"{len(excluded)} predictions are for questions left out" in page


# The elements whose words stand over those of a neighbor.
OVERLAPS = """() => [...document.querySelectorAll("summary, tr")].filter(line => {
    const boxes = [...line.children].map(child => {
        const words = document.createRange();
        words.selectNodeContents(child);
        return words.getBoundingClientRect();
    }).filter(box => box.width);
    return boxes.some((a, place) => boxes.slice(place + 1).some(b =>
        a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 2 && b.top < a.bottom - 2));
}).map(line => line.innerText)"""


@pytest.mark.slow
@pytest.mark.browser
def test_wrong_predictions_are_searched_and_filtered_as_questions_are(
    questions: list[Any], tmp_path: Path
) -> None:
    wrong = ["SELECT 77", "SELECT nothing"]
    lines = [{"question_id": q["question_id"], "predictions": wrong} for q in questions]
    evaluate(write_lines(tmp_path / "p.jsonl", lines), out=tmp_path / "out")
    page = tmp_path / "out/evaluation.html"
    with launch_browser() as browser:
        visit = Visit(browser, page, "#reason=sql_error")
        found = visit.page.locator(".wrong:visible")
        assert found.count() == len(questions)
        visit.page.get_by_label("Search in questions").fill(f"nothing {lines[0]['question_id']}")
        visit.page.locator("#found", has_text=f"1 of {2 * len(questions)}").wait_for()
        assert found.count() == 1
        visit.page.get_by_role("button", name="Clear").click()
        visit.page.locator("#found", has_text=f"{2 * len(questions)} of").wait_for()
        visit.page.go_back()
        visit.page.locator("#found", has_text=f"1 of {2 * len(questions)}").wait_for()
        assert visit.complaints == []
        visit.context.close()


@pytest.mark.slow
@pytest.mark.browser
def test_each_system_has_its_dot_on_a_phone(gold: Path, tmp_path: Path) -> None:
    files = [gold]
    for number in range(20):
        line = {"question_id": read_lines(gold)[0]["question_id"], "prediction": "SELECT 1"}
        files.append(write_lines(tmp_path / f"a_name_that_is_rather_long_{number}.jsonl", [line]))
    evaluate(*files, out=tmp_path / "out")
    with launch_browser() as browser:
        size = {"width": 360, "height": 800}
        visit = Visit(browser, tmp_path / "out/evaluation.html", viewport=size)
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= 360
        dots = [dot.bounding_box() for dot in visit.page.locator(".dot").all()]
        assert len(dots) == 21
        assert all(0 <= dot["x"] <= 360 - dot["width"] for dot in dots)
        assert visit.page.locator(".matrix .self").count() == 21
        assert visit.complaints == []
        visit.context.close()


@pytest.mark.slow
@pytest.mark.browser
def test_nothing_on_the_page_is_printed_over_something(
    questions: list[Any], tmp_path: Path
) -> None:
    lines = [
        {"question_id": q["question_id"], "predictions": ["SELECT 77", "SELECT nothing"]}
        for q in questions
    ]
    evaluate(write_lines(tmp_path / "p.jsonl", lines), out=tmp_path / "out")
    with launch_browser() as browser:
        for width in (390, 800, 1400):
            size = {"width": width, "height": 900}
            visit = Visit(browser, tmp_path / "out/evaluation.html", viewport=size)
            assert visit.page.locator("#wrong summary").count() == 2 * len(questions)
            assert visit.page.evaluate(OVERLAPS) == []
            assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
            assert visit.complaints == []
            visit.context.close()


def test_the_command_prints_a_table_and_says_what_is_wrong(gold: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "answerkey", "evaluate"]
    done = subprocess.run(
        [*command, gold, "--out", tmp_path / "out"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "100.0%" in done.stdout.splitlines()[2]
    for arguments, said in (
        (["none.jsonl"], "none.jsonl: expected a file of predictions, found none"),
        ([gold, "--out", gold], f"{gold}: File exists"),
    ):
        done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (1, f"answerkey evaluate: {said}\n")


@pytest.mark.slow
def test_a_full_disk_is_told_and_what_was_scored_is_kept(gold: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    evaluate(gold, out=tmp_path / "whole")
    wanted = (tmp_path / "whole/scores.jsonl").read_bytes()
    most_bytes = (tmp_path / "whole/journal.jsonl").stat().st_size - 10
    done = subprocess.run(
        [sys.executable, "-m", "answerkey", "evaluate", gold, "--out", out],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes)),
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (1, f"answerkey evaluate: {out}: File too large\n")
    kept = (out / "journal.jsonl").read_bytes()
    assert kept.count(b"\n") > 1
    evaluate(gold, out=out)
    assert (out / "journal.jsonl").read_bytes().startswith(kept[: kept.rindex(b"\n")])
    assert (out / "scores.jsonl").read_bytes() == wanted


@pytest.mark.parametrize(("least", "status"), [("0", 0), ("0.5", 0), ("0.51", 1), ("1", 1)])
def test_fail_under_ends_with_a_status_and_a_sentence(
    questions: list[Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], least, status
) -> None:
    """Half of the questions are right, and as many have no prediction."""
    half = questions[: len(questions) // 2]
    lines = [{"question_id": q["question_id"], "prediction": q["gold_sql"]} for q in half]
    share = len(half) / len(questions)
    path = write_lines(tmp_path / "part.jsonl", lines)
    least = str(min(1, float(least) * 2 * share))
    out = str(tmp_path / "out")
    assert main(["evaluate", str(path), "--out", out, "--json", "--fail-under", least]) == status
    printed = capsys.readouterr()
    summary = json.loads(printed.out)
    assert summary == json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    sentences = [line for line in printed.err.splitlines() if line.startswith("part.jsonl")]
    below, partial = sentences if status else (None, *sentences)
    missing = len(questions) - len(half)
    assert f"part.jsonl is partial: {missing} of {len(questions)} questions" in partial
    assert status == 0 or f"part.jsonl: {share:.2%} of {len(questions)} questions" in below


@pytest.mark.parametrize("share", ["70", "-0.1", "nan", "most"])
def test_fail_under_is_a_share(gold: Path, share: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["evaluate", str(gold), f"--fail-under={share}"])
    assert stopped.value.code == 2
    assert "expected a share from 0 to 1, such as 0.7" in capsys.readouterr().err
