"""The report: what it says, escapes and leaves out, and that its bytes are always the same."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.flags import EXPLANATIONS, FLAGS
from answerkey.records import DIFFICULTIES, SPLITS, Reason
from answerkey.report.figures import (
    Bar,
    draw_databases,
    make_bar,
    place_bars,
)
from answerkey.report.numbers import explain_size, tabulate_supply, trace_steps
from answerkey.report.page import embed_json, make_script, read_template
from answerkey.report.product import show_suite
from answerkey.report.questions import (
    choose_ids,
    cut_text,
    find_corpus_text,
    find_verdict,
    make_filters,
    show_answer,
)
from tests.shared.joined_questions import make_joined
from tests.shared.report_world import EVAL, HOSTILE, REPORT, TRAIN, build_report, run_stages

REASONS = {"boolean_answer", "empty_answer", "sql_error", "tie_at_limit", "undecodable_text"}

# --- words


def test_every_reason_and_flag_is_explained_and_nothing_else_is():
    assert set(EXPLANATIONS) == {*Reason, *FLAGS}


# --- text in scripts


@given(st.recursive(st.text(), lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts)))
def test_embedded_json_reads_back_and_cannot_end_its_element(value):
    text = embed_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def test_script_ends_only_where_its_element_does():
    script = make_script()
    assert "</script" not in script.lower()
    assert "<!--" not in script
    assert "export{" not in script


# --- answers and evidence


@pytest.mark.parametrize(
    ("answer", "rows", "count"),
    [
        (3, [[3]], 1),
        ("", [[""]], 1),
        (2.5, [[["2.5"]]], 1),
        (1e16, [[["1e+16"]]], 1),
        (2**53, [[2**53]], 1),
        (2**53 + 1, [[["9007199254740993"]]], 1),
        (-(2**63), [[["-9223372036854775808"]]], 1),
        (["a", None], [["a"], [None]], 2),
        ([["a", 1], ["b", 2]], [["a", 1], ["b", 2]], 2),
        ([], [], 0),
    ],
)
def test_answer_is_shown_as_rows_of_exact_cells(answer, rows, count):
    assert show_answer(answer, max_characters=100) == {"rows": rows, "count": count}


@given(st.lists(st.text(max_size=30), min_size=2), st.integers(1, 200))
def test_long_answer_keeps_its_first_rows_and_says_how_many_there_were(answer, most):
    shown = show_answer(answer, max_characters=most)
    kept = [cell for (cell,) in shown["rows"]]
    assert shown["count"] == len(answer)
    assert 1 <= len(kept) <= len(answer)
    assert len(kept) == 1 or sum(map(len, kept)) <= most
    assert all(
        cell == cut_text(whole, max(20, most)) for cell, whole in zip(kept, answer, strict=False)
    )


@pytest.mark.parametrize(
    ("stage", "reason", "detail", "evidence"),
    [
        ("audit_gold_answers", "empty_answer", '{"rows": 0}', [("rows", "0")]),
        ("compute_gold_answers", "sql_error", '{"rows": 0}', [("detail", '{"rows": 0}')]),
    ],
)
def test_verdict_of_an_excluded_question_holds_its_reason(stage, reason, detail, evidence):
    record = {"question_id": "a", "stage": stage, "reason": reason, "detail": detail, "flags": []}
    verdict = find_verdict(record)
    assert (verdict.reason, verdict.findings) == (reason, [(reason, evidence)])


ROW = {"database": "cars", "question": "Which?", "sql": "SELECT 1"}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({}, {}),
        ({"source": {"db_id": "car_1"}}, {"database": "car_1"}),
        ({"question_text": "Wh"}, {"question": "Wh"}),
        ({"source": {"correction": {"original": {"gold_sql": "SELECT 2"}}}}, {"sql": "SELECT 2"}),
        ({"source": {"correction": {"action": "exclude"}}}, {}),
        ({"gold_sql": "SELECT 12345678901"}, None),
        ({"question_text": " "}, None),
    ],
)
def test_correction_names_a_question_as_its_corpus_does(change, found):
    known = {"question_text": "Which?", "database_name": "cars", "gold_sql": "SELECT 1"}
    question = make_joined("cars_train_000", **known | change)
    assert find_corpus_text(question, ROW, max_characters=12) == found


# --- test suites


def test_suite_shows_what_parts_its_neighbors_from_gold():
    kill = {"operator": "limit", "sql": "SELECT name FROM ship LIMIT 3"}
    longer = {"operator": "column", "sql": "SELECT harbour_id FROM ship LIMIT 2"}
    path = "data/test_suites/ships/ships.02.sqlite"
    databases = [
        {"path": path, "kill": {**longer, "gold_rows": [], "neighbor_rows": None}},
        {"path": path, "kill": {**kill, "gold_rows": [["Sun"]], "neighbor_rows": [[None], [1.5]]}},
        {"path": path, "kill": None},
    ]
    suite = {
        "question_id": "ships_train_000",
        "mutation_score": {"database": 0.25, "suite": 0.75},
        "operators": {
            "limit": {"killed": 3, "alive": 1, "undecided": 2},
            "column": {"killed": 4, "alive": 0, "undecided": 0},
        },
        "alive": [kill],
        "databases": databases,
    }
    assert show_suite(suite, max_characters=11) == {
        "scores": [0.25, 0.75],
        "killed": 7,
        "operators": [["limit", 3, 1, 2]],
        "databases": 3,
        "kill": ["ships.02.sqlite", "limit", CUT, [["Sun"]], [[None], [["1.5"]]]],
        "alive": [["limit", CUT]],
    }
    unscored = suite | {"mutation_score": None, "databases": databases[:1]}
    shown = show_suite(unscored, max_characters=99)
    assert (shown["scores"], shown["kill"][3:]) == (None, [[], None])
    assert show_suite(suite | {"databases": []}, max_characters=99)["kill"] is None


CUT = "SELECT name… (29 characters in all)"

# --- the sample


def make_sidecars(sizes: dict[str, int]) -> list[dict]:
    """So many records with each reason; those of "" are selected and have no flag."""
    records = []
    for code, size in sizes.items():
        for number in range(size):
            record: dict = {"question_id": f"{code}_{number}"}
            record |= {"reason": code} if code else {"flags": []}
            records.append(record)
    return records


def test_sample_has_its_size_and_some_of_every_code():
    records = make_sidecars({"": 5000, "not_selected": 900, "blob": 40, "sql_error": 1})
    chosen = choose_ids(records, max_rows=400)
    assert len(chosen) == 400
    assert "sql_error_0" in chosen
    assert sum(question_id.startswith("blob") for question_id in chosen) >= 2


def test_sample_smaller_than_the_vocabulary_is_refused():
    with pytest.raises(ValueError, match=r"report_dataset.max_rows: expected at least \d+"):
        choose_ids([], max_rows=len(EXPLANATIONS) - 1)


def test_sample_has_a_tenth_for_the_highest_gold_risk():
    records = make_sidecars({"": 5000})
    for number, record in enumerate(records):
        record["gold_risk"] = (number % 1000) / 1000 if number % 2 else None
    risks = {record["question_id"]: record["gold_risk"] for record in records}
    highest = sorted((risk for risk in risks.values() if risk), reverse=True)[:40]
    chosen = choose_ids(records, max_rows=400)
    assert len(chosen) == 400
    assert sum((risks[question_id] or 0) >= highest[-1] for question_id in chosen) >= 40


# --- numbers


def test_funnel_ends_where_all_losses_are_taken_off():
    steps = trace_steps(20, {"compute_gold_answers": 2, "audit_gold_answers": 5})
    assert [step["left"] for step in steps] == [20, 20, 18, 18, 13, 13]
    assert [step["lost"] for step in steps] == [None, 0, 2, 0, 5, 0]


def make_selection(selected: dict[str, tuple[int, int, int]]) -> dict:
    """The summary of a selection: of each split the selected of ten easy, medium and hard ones."""
    cells = {
        split: {
            level: {"usable": 10, "selected": count}
            for level, count in zip(DIFFICULTIES, selected[split], strict=True)
        }
        for split in SPLITS
    }
    size = sum(map(sum, selected.values()))
    return {"size": size, "usable": 60, "lifts": ["eval_share", "max_questions"], "cells": cells}


TARGETS = {
    "difficulty_shares": {"easy": 0.4, "medium": 0.4, "hard": 0.2},
    "difficulty_shares_of": "split",
    "corpus_shares": None,
    "eval_share": 0.3,
    "tolerance": 0.02,
}


def test_supply_has_shares_beside_their_targets_and_says_what_to_lift():
    selection = make_selection({"train": (10, 10, 5), "eval": (4, 4, 2)})
    train, _, everything = tabulate_supply(selection, TARGETS)
    easy, _, hard, all_train = train["cells"]
    assert (easy["share"], easy["target"]) == (0.4, 0.4)
    assert (hard["selected"], hard["usable"]) == (5, 10)
    assert (all_train["share"], all_train["target"]) == (25 / 35, 0.7)
    assert everything["cells"][-1]["selected"] == 35
    assert explain_size(selection) == (
        "The targets allow 35 of 60 usable questions; the solver has proved that no larger"
        " selection meets them. All are selected without eval_share, max_questions."
    )
    everything = make_selection(dict.fromkeys(SPLITS, (10, 10, 10)))
    assert explain_size(everything) == "Every usable question is selected, 60 in all."


def test_shares_of_the_dataset_stand_in_the_row_of_all():
    selection = make_selection({"train": (10, 10, 5), "eval": (4, 4, 2)})
    rows = tabulate_supply(selection, TARGETS | {"difficulty_shares_of": "dataset"})
    targets = [[cell["target"] for cell in row["cells"]] for row in rows]
    assert targets == [[None, None, None, 0.7], [None, None, None, 0.3], [0.4, 0.4, 0.2, None]]
    assert rows[2]["cells"][2]["share"] == 7 / 35


def test_corpora_follow_the_difficulties_where_they_have_shares():
    selection = make_selection({"train": (10, 10, 5), "eval": (4, 4, 2)})
    selection["corpora"] = {
        split: {corpus: {"usable": 20, "selected": selected} for corpus, selected in counts.items()}
        for split, counts in (
            ("train", {"bird": 10, "spider": 15}),
            ("eval", {"bird": 4, "spider": 6}),
        )
    }
    targets = TARGETS | {"corpus_shares": {"spider": 0.6, "bird": 0.4}}
    _, of_eval, everything = tabulate_supply(selection, targets)
    bird, spider = of_eval["cells"][4:]
    assert (bird["share"], bird["target"]) == (0.4, 0.4)
    assert (spider["selected"], spider["usable"]) == (6, 20)
    assert [cell["selected"] for cell in everything["cells"]] == [14, 14, 7, 35, 14, 21]


def test_filters_offer_corpora_where_there_are_several():
    rows = [{"corpus": "spider", "database": "car_1"}, {"corpus": "bird", "database": "frpm"}]
    corpora, databases, *_ = make_filters(rows, {}, {})
    assert [group["options"] for group in corpora["groups"]] == [
        [("bird", "bird"), ("spider", "spider")]
    ]
    assert databases["key"] == "database"
    assert make_filters(rows[:1], {}, {})[0]["key"] == "database"


# --- charts


def draw(chart: dict) -> ElementTree.Element:
    """The SVG of a chart, as the page has it."""
    module = read_template().environment.get_template("charts.svg.j2").module
    return ElementTree.fromstring(str(module.draw_chart(chart)))


def read_texts(svg: ElementTree.Element) -> list[str]:
    return [text.text for text in svg.iter("text")]


def test_bars_have_labels_counts_and_lengths():
    svg = draw(place_bars([make_bar("easy", 3, 12), make_bar("hard", 6)], colour="warm"))
    assert read_texts(svg) == ["easy", "3 of 12", "hard", "6"]
    assert {group.get("class") for group in svg.iter("g")} == {"warm"}
    bars = [rect for rect in svg.iter("rect") if rect.get("class") == "bar"]
    assert [float(bar.get("width")) for bar in bars] == [90, 180]
    behind = [rect for rect in svg.iter("rect") if rect.get("class") == "behind"]
    assert [float(bar.get("width")) for bar in behind] == [360, 0]


@pytest.mark.parametrize("label", ["<img src=x>&", '"a\'b"', "]]>", "\N{SNOWMAN}"])
def test_label_of_a_chart_is_text(label):
    assert read_texts(draw(place_bars([Bar(label, 1, label)]))) == [label, label]


def test_many_databases_are_summed_up():
    figure = draw_databases([(f"db_{number}", str(number)) for number in range(100)])
    assert "db_99 99" in figure["alternative"]
    assert figure["note"] == "The largest 12; 88 others have 3,828 together"


# --- the page of a small corpus


class Page(HTMLParser):
    """What a browser would find in the page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.texts: list[str] = []
        self._open = ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open = tag
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag):
        self._open = ""

    def handle_data(self, data):
        if self._open == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self._open != "style":
            self.texts.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.texts))

    @property
    def rows(self) -> list[dict]:
        payload = json.loads(self.scripts[0][1])
        return [dict(zip(payload["columns"], row, strict=True)) for row in payload["rows"]]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_report(tmp_path_factory.mktemp("report"), max_answer_characters=400)


@pytest.fixture(scope="module")
def page(report: Path) -> Page:
    return Page(report.read_text(encoding="utf-8"))


def test_page_shows_every_question_with_its_answer_or_its_reason(page):
    rows = {row["question"]: row for row in page.rows}
    assert set(rows) == {text for text, _ in TRAIN + EVAL}
    assert rows[HOSTILE]["answer"] == {"rows": [["Ruby"], ["Sun"], ["Tern"]], "count": 3}
    assert rows["How heavy is the fleet?"]["reason"] is None
    failed = rows["What does the crew earn?"]
    assert (failed["reason"], failed["answer"]) == ("sql_error", None)
    assert failed["findings"] == [["sql_error", [["detail", "no such column: wage"]]]]
    tied = rows["What is the lightest ship of Göteborg?"]
    assert tied["answer"] == {"rows": [["Tern"]], "count": 1}
    assert ["as good", "Sun"] in tied["findings"][0][1]


def test_page_tells_the_numbers_and_every_reason(page):
    assert "Of 14 questions over 2 databases, 9 are in the dataset" in page.text
    for code in REASONS:
        assert f"{code} 1 {EXPLANATIONS[code]}" in page.text
    assert "Looked for and found nowhere: not_a_select" in page.text
    assert "This table holds" not in page.text


def test_nothing_that_a_question_holds_becomes_markup(page):
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"img", "iframe", "object", "embed", "base", "b"}
    assert len(page.scripts) == 2
    names = {name for _, attributes in page.elements for name in attributes}
    assert not [name for name in names if name.startswith("on")]
    assert 'SELECT "pay</script>", wage FROM ship' in page.text


def test_page_points_to_nothing_outside(page):
    for tag, attributes in page.elements:
        for name in ("src", "href", "action", "srcset", "poster", "data", "xlink:href"):
            value = attributes.get(name)
            assert value is None or value.startswith("#") or value == "data:,", tag


def test_links_in_the_page_lead_somewhere(page):
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {a["href"][1:] for tag, a in page.elements if tag == "a"}
    assert targets <= set(ids)


def test_policy_of_the_page_lets_its_own_script_run_and_nothing_else(page):
    (policy,) = (
        attributes["content"]
        for tag, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    digest = base64.b64encode(hashlib.sha256(page.scripts[1][1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")


def test_page_has_the_same_bytes_with_another_hash_seed(report):
    before = report.read_bytes()
    run_stages(report.parent.parent, "report_dataset", hash_seed="4242")
    assert report.read_bytes() == before


def test_page_does_not_name_the_folder_it_was_made_in(report):
    assert report.parent.parent.name.encode() not in report.read_bytes()


def test_sidecars_of_another_run_are_refused(report, tmp_path):
    shutil.copytree(report.parent.parent, tmp_path, dirs_exist_ok=True)
    excluded = tmp_path / "data/questions/excluded.jsonl"
    lines = excluded.read_text(encoding="utf-8").splitlines(keepends=True)
    excluded.write_text("".join(lines[1:]), encoding="utf-8")
    with pytest.raises(AssertionError, match="are not of the same run"):
        run_stages(tmp_path, "report_dataset")


def test_large_corpus_is_sampled_and_the_page_says_so(tmp_path):
    most = len(EXPLANATIONS)
    report = build_report(tmp_path, repeat=8, max_rows=most)
    assert report == tmp_path / REPORT
    page = Page(report.read_text(encoding="utf-8"))
    assert f"This table holds {most} of 91 questions" in page.text
    assert "Of 91 questions over 2 databases" in page.text
    assert len(page.rows) == most
    reasons = {row["reason"] for row in page.rows}
    assert reasons == {None, *REASONS}
