"""The report: what it says, escapes and leaves out, and that its bytes are always the same."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answerkey.base.reasons import Reason
from answerkey.base.records import DIFFICULTIES, HARDNESS_LEVELS, SPLITS
from answerkey.engines.schema import SchemaFile
from answerkey.flags import EXPLANATIONS, FLAGS
from answerkey.report.flow import draw_flow
from answerkey.report.numbers import list_codes, make_chart, make_filters, tabulate_supply
from answerkey.report.page import DATATABLES, TEMPLATES, embed_json, make_script
from answerkey.report.questions import (
    choose_ids,
    find_corpus_text,
    make_page_row,
    make_payload,
    pick_examples,
    show_answer,
    show_suite,
)
from tests.shared.joined_questions import make_joined
from tests.shared.report_world import EVAL, HOSTILE, REPORT, TRAIN, build_report, run_stages

REASONS = {"boolean_answer", "empty_answer", "sql_error", "tie_at_limit", "undecodable_text"}


def test_every_reason_and_flag_is_explained_in_a_short_sentence_and_nothing_else_is():
    assert set(EXPLANATIONS) == {*Reason, *FLAGS}
    for explanation in EXPLANATIONS.values():
        assert re.fullmatch(r"[A-Z]([^.]|\.(?=\w))+\.", explanation)
        assert len(explanation) < 110


# --- text in scripts


@given(st.recursive(st.text(), lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts)))
def test_embedded_json_reads_back_and_cannot_end_its_element(value):
    text = embed_json(value)
    assert json.loads(text) == value
    assert not set("<>&\u2028\u2029") & set(text)


def test_script_ends_only_where_its_element_does_and_holds_a_licence():
    script = make_script()
    assert not re.search(r"</script|\r|\0", script, re.IGNORECASE)
    assert "<!--" not in script
    licence = (DATATABLES / "LICENSE.txt").read_text(encoding="utf-8")
    assert licence.startswith("The MIT License")
    assert licence in script


# --- answers and evidence


@pytest.mark.parametrize(
    ("answer", "rows", "count"),
    [
        (3, [[3]], 1),
        (2.5, [[["2.5"]]], 1),
        (2**53, [[2**53]], 1),
        (-(2**63), [[["-9223372036854775808"]]], 1),
        (["a", None], [["a"], [None]], 2),
        ([["a", 1], ["b", 2]], [["a", 1], ["b", 2]], 2),
        ([], [], 0),
        (["x" * 90, "y" * 90], [["x" * 90]], 2),
        ([["x" * 500] * 1000], [["x" * 20 + "… (500 characters in all)"] * 1000], 1),
    ],
)
def test_answer_is_shown_as_rows_of_exact_cells(answer, rows, count):
    assert show_answer(answer, max_characters=100) == {"rows": rows, "count": count}


def show(record: dict, **known: object) -> dict:
    question = make_joined("cars_train_000", question_text="Which?", gold_sql="SELECT 1", **known)
    return make_page_row(question, {"flags": []} | record, None, max_characters=60)


def test_row_holds_other_accepted_answers_and_what_models_agree_on():
    agreed = {"models": 11, "of": 20, "sql": "SELECT b"}
    flags = [{"code": "models_agree_otherwise", "evidence": agreed}]
    record = {"flags": flags, "answer_risk": 0.5, "sql_risk": 0.7}
    row = show(record, other_answers=[{"sql": "SELECT 7", "answer": 7}])
    assert row["others"] == [{"sql": "SELECT 7", "answer": {"rows": [[7]], "count": 1}}]
    assert (row["agreed"]["sql"], row["agreed"]["models"]) == ("SELECT b", "11 of 20 models")
    assert (row["reason"], row["answer_risk"], row["sql_risk"]) == (None, 0.5, 0.7)
    long = {"code": "models_agree_otherwise", "evidence": agreed | {"sql": "SELECT " + "b" * 60}}
    assert show({"flags": [long]})["agreed"] is None


def test_row_holds_the_repairs_that_the_page_need_not_cut():
    evidence = {
        "kind": "each",
        "asked": "ships",
        "dropped": [],
        "repair": "with_zero_counts",
        "answers": "other",
    }
    flag = {"code": "zero_count_dropped", "evidence": evidence}
    differs = {"differs": "rows", "counts": [4, 9], "lacking": [0, 5]}
    rows = {"gold_rows": [], "repair_rows": [["Sun", 0]], "difference": differs}
    repair = {"rule": "with_zero_counts", "sql": "SELECT 0", "answers": "other"} | rows
    long = {"rule": "any_case", "sql": "SELECT " + "b" * 60, "answers": "same"}
    row = show({"flags": [flag], "repairs": [repair, long]})
    (shown,) = row["repairs"]
    assert shown["doubts"] == ["zero_count_dropped"]
    words = "The answers differ: gold has 4 rows, the other 9; in gold alone 0, in the other 5."
    assert (shown["sql"], shown["difference"]) == ("SELECT 0", words)
    assert [side["count"] for side in shown["rows"]] == [0, 5]
    assert row["findings"] == [("zero_count_dropped", [["asked", "ships"]])]


def test_row_holds_the_verdict_with_the_sql_that_is_asked():
    given = {"reason": "Names are asked.", "source": "model:qwen", "date": "2026-03-01"}
    fault = {"sql": "SELECT name", "answers": "same", "kind": "column", "readings": ["wrong"]}
    flag = {"code": "judged_wrong_sql", "evidence": given | fault}
    row = show({"flags": [flag]})
    assert row["verdict"] == given | fault | {"verdict": "wrong"}
    assert row["findings"] == [("judged_wrong_sql", [])]
    flag["evidence"]["sql"] = "SELECT " + "b" * 60
    row = show({"flags": [flag]})
    assert row["verdict"] is None, "one key would accept SQL that is cut"
    assert dict(row["findings"][0][1])["sql"].endswith("(67 characters in all)")
    assert show({"flags": [{"code": "judged_right", "evidence": given}]})["verdict"]["sql"] is None


def test_row_holds_what_a_correction_replaced():
    original = {"gold_sql": "SELECT 1", "evidence": ""}
    note = {"action": "replace", "reason": "x", "link": None, "original": original}
    by = {"source": "person:kim", "date": "2026-03-01"}
    source = {"corpus": "fleet", "file": "dev.json", "index": 7, "correction": note | by}
    row = show({}, source=source)
    assert row["correction"] == {
        **{"action": "replace", "reason": "x", "source": "person:kim 2026-03-01"},
        **{"text": None, "sql": "SELECT 1"},
    }
    assert row["source"] == "corpus fleet; file dev.json; index 7"
    assert row["as_in_corpus"] is not None, "it may be reviewed, though it had no evidence"
    assert show({})["correction"] is None


@pytest.mark.parametrize("reading", ["any_case", "models_agree"])
def test_each_reading_has_a_meaning(tmp_path: Path, reading: str) -> None:
    latent = {"reading": reading, "sql": "SELECT 1", "gold_rows": [], "reading_rows": None}
    evidence = {**latent, "difference": None}
    row = show({"flags": [{"code": "latent_ambiguity", "evidence": evidence}]})
    schemas = tmp_path / "schemas.jsonl"
    schemas.write_text('{"database_name": "fleet", "tables": []}')
    payload = make_payload(
        [row | {"database": "fleet"}], SchemaFile(schemas), tmp_path, max_characters=9
    )
    assert reading in payload["meanings"]


def test_reading_that_differs_on_other_rows_stands_beside_gold_and_not_among_evidence():
    differs = {"differs": "repeats", "counts": [2, 1], "lacking": [1, 0], "times": [[[2, 1]], []]}
    rows = {"gold_rows": [["Sun"]], "reading_rows": [], "difference": differs}
    latent = {"reading": "any_case", "sql": "SELECT name", **rows}
    flags = [{"code": "latent_ambiguity", "evidence": latent}]
    row = show({"flags": flags})
    assert row["findings"] == [("latent_ambiguity", [])]
    assert (row["latent"]["doubts"], row["latent"]["sql"]) == (["any_case"], "SELECT name")
    assert [side["times"] for side in row["latent"]["rows"]] == [["2 in gold, 1 in the other"], []]
    assert row["latent"]["difference"].endswith("gold has 2 rows, the other 1.")
    latent |= {"reading_rows": None, "difference": None}
    row = show({"flags": flags})
    assert (row["latent"]["rows"], "it fails" in row["latent"]["difference"]) == ([], True)
    latent |= {"sql": "SELECT " + "b" * 60}
    row = show({"flags": flags})
    assert row["latent"] is None
    assert [name for name, _ in row["findings"][0][1]] == [
        *("reading", "sql", "gold rows", "reading rows")
    ]


def test_signs_of_a_risk_are_told_in_words():
    signs = [
        {"code": "bare_column", "precision": 0.9964},
        {"code": "reading", "kind": "any_case", "answers": "other", "precision": 0.5},
    ]
    flags = [{"code": "answer_risk", "evidence": {"risk": 0.9, "base": 0.1, "signs": signs}}]
    ((code, evidence),) = show({"flags": flags})["findings"]
    assert (code, [name for name, _ in evidence]) == ("answer_risk", ["99 % wrong", "50 % wrong"])
    text = str(evidence)
    assert not re.search(r"_|precision|kind|code", text), text


def test_reason_stands_before_the_other_flags_of_an_excluded_question():
    conditions = {"conditions": [{"condition": "a = 1", "rows": 3}], "best": None}
    flags = [
        {"code": "date_text_order", "evidence": conditions},
        {"code": "tie_at_limit", "evidence": {"offset": 0}},
        {"code": "tie_at_limit", "evidence": {"offset": 2}},
    ]
    record = {"stage": "audit_gold_answers", "reason": "tie_at_limit", "flags": flags}
    assert show(record | {"detail": '{"offset": 0}'})["findings"] == [
        ("tie_at_limit", [["offset", "0"]]),
        ("date_text_order", [["conditions", "condition: a = 1; rows: 3"], ["best", "NULL"]]),
        ("tie_at_limit", [["offset", "2"]]),
    ]


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


def test_suite_shows_its_scores_and_the_neighbors_that_live():
    suite = {
        "mutation_score": {"database": 0.25, "suite": 0.75},
        "operators": {"limit": {"killed": 3, "alive": 1, "undecided": 2}, "sum": {"killed": 4}},
        "alive": [{"operator": "limit", "sql": "SELECT name FROM ship LIMIT 3"}],
        "databases": [{}, {}],
    }
    shown = {
        "killed": 7,
        "databases": 2,
        "alive": [["limit", "SELECT name… (29 characters in all)"]],
    }
    assert show_suite(suite, max_characters=11) == {"scores": [0.25, 0.75], **shown}
    unscored = suite | {"mutation_score": None}
    assert show_suite(unscored, max_characters=11) == {"scores": None, **shown}


# --- the sample


def make_sidecars(sizes: dict[str, int]) -> list[dict]:
    """So many records with each reason; those of "" are selected and have no flag."""
    return [
        {"question_id": f"{code}_{number}"} | ({"reason": code} if code else {"flags": []})
        for code, size in sizes.items()
        for number in range(size)
    ]


def test_sample_has_its_size_some_of_every_code_and_a_tenth_of_the_highest_risk():
    records = make_sidecars({"": 5000, "not_selected": 900, "blob": 40, "sql_error": 1})
    for number, record in enumerate(records):
        record["answer_risk"] = number / 10_000 if number % 2 else None
    chosen = choose_ids(records, max_rows=400)
    assert len(chosen) == 400
    assert "sql_error_0" in chosen
    assert sum(question_id.startswith("blob") for question_id in chosen) >= 2
    risks = sorted((record["answer_risk"] or 0, record["question_id"]) for record in records)
    assert chosen > {question_id for _, question_id in risks[-40:]}


@given(st.randoms(use_true_random=False), st.integers(0, 299))
def test_sample_does_not_depend_on_order_and_hardly_on_other_questions(shuffler, gone):
    records = make_sidecars({"": 200, "not_selected": 100})
    shuffled = random.Random(shuffler.random()).sample(records, len(records))
    chosen = choose_ids(records, max_rows=90)
    assert choose_ids(shuffled, max_rows=90) == chosen
    fewer = choose_ids(records[:gone] + records[gone + 1 :], max_rows=90)
    assert len(fewer - chosen) <= 1


# --- numbers


def count_run(excluded: dict[str, int], train: int = 60, eval: int = 20) -> dict:
    loaded = train + eval + sum(excluded.values())
    return {"loaded": loaded, "split": {"train": train, "eval": eval}, "excluded": excluded}


def test_flow_takes_every_question_to_its_end():
    excluded = {"blob": 3, "not_selected": 7, "sql_error": 10, "tie_at_limit": 0}
    flow = draw_flow(count_run(excluded))
    assert [(end["kind"], end["count"]) for end in flow["ends"]] == [
        *(("kept", 60), ("kept", 20), ("spare", 7), ("lost", 10), ("lost", 3)),
    ]
    (_, _, _, came), (_, _, _, usable) = flow["bars"]
    assert usable / came == pytest.approx(87 / 100, abs=0.001)
    assert flow["ends"][3]["link"] == "#code=sql_error"
    assert len(flow["bands"]) == len(flow["ends"])


def test_flow_of_many_reasons_ends_in_the_others():
    flow = draw_flow(count_run({code: 100 - place for place, code in enumerate(sorted(FLAGS))}))
    lost = [end for end in flow["ends"] if end["kind"] == "lost"]
    assert len(lost) == 9
    assert sum(end["count"] for end in flow["ends"]) == count_run({})["loaded"] + sum(
        100 - place for place in range(len(FLAGS))
    )
    assert (lost[-1]["link"], lost[-1]["name"]) == ("#reasons", f"{len(FLAGS) - 8} other reasons")


def test_flow_without_questions_has_no_end():
    assert draw_flow(count_run({}, train=0, eval=0))["ends"] == []


@pytest.mark.parametrize(
    ("counts", "train", "everything"),
    [
        ({"train": (10, 10, 5), "eval": (4, 4, 2)}, [0.4, 0.4, 0.2, 25 / 35], [0.4, 0.4, 0.2, 1]),
        ({"train": (0, 0, 0), "eval": (0, 0, 0)}, [None] * 4, [None] * 4),
    ],
)
def test_supply_has_shares_of_the_split_and_of_all(counts, train, everything):
    cells = {
        split: {
            level: {"usable": 10, "selected": count}
            for level, count in zip(DIFFICULTIES, counts[split], strict=True)
        }
        for split in SPLITS
    }
    rows = tabulate_supply({"cells": cells})
    assert [row["split"] for row in rows] == [*SPLITS, "all"]
    assert [cell["usable"] for cell in rows[-1]["cells"]] == [20, 20, 20, 60]
    assert [cell["share"] for cell in rows[0]["cells"]] == train
    assert [cell["share"] for cell in rows[-1]["cells"]] == everything


def test_chart_of_many_ends_in_the_others():
    chart = make_chart("Databases", {f"db_{number}": number for number in range(100)})
    bars = chart["bars"]
    assert (bars[0], len(bars)) == (("db_99", 99, 1.0), 12)
    assert all(share == count / 99 for _, count, share in bars)
    assert chart["others"] == f"87 others, each with 1 to 87: {sum(range(88)):,} in all"
    assert make_chart("Ships", {"Sun": 1})["others"] is None


def test_levels_stand_in_their_order_and_not_by_count():
    counts = {"extra": 9, "easy": 1, "hard": 5, "medium": 0}
    bars = make_chart("Hardness", counts, order=HARDNESS_LEVELS)["bars"]
    assert [name for name, _, _ in bars] == ["easy", "hard", "extra"]


def test_codes_come_most_first_and_only_with_a_count():
    row = {"id": "a", "question": "?", "sql": "", "findings": [["blob", [["x", "1"]]]]}
    codes = list_codes(
        "reason", {"not_finite": 0, "blob": 2, "sql_error": 5}, {"blob": [row], "sql_error": []}
    )
    assert [(code["name"], code["count"]) for code in codes] == [("sql_error", 5), ("blob", 2)]
    assert codes[1]["examples"][0]["evidence"] == [["x", "1"]]


def test_filters_offer_what_occurs_and_corpora_where_there_are_several():
    rows = [{"corpus": "spider", "database": "car_1"}, {"corpus": "bird", "database": "frpm"}]
    corpora, databases, *_, codes = make_filters(rows, {"blob": 1, "sql_error": 0}, {"a_tie": 3})
    assert corpora == ("corpus", "Corpus", {"": ["bird", "spider"]})
    assert databases[0] == make_filters(rows[:1], {}, {})[0][0] == "database"
    assert [*codes[2].values()] == [["blob"], ["a_tie"]]


# --- colours

PAIRS = [
    *(
        (front, back, 4.5)
        for front in ("ink", "soft", "accent", "warm")
        for back in ("paper", "panel")
    ),
    ("focus", "paper", 3),
    ("focus", "panel", 3),
]


def read_palettes() -> list[dict[str, str]]:
    """The colours of the page, light and dark."""
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    return [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block))
        for block in re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    ]


def find_luminance(colour: str) -> float:
    """Relative luminance, by the definition of WCAG 2."""
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("front", "back", "least"), PAIRS)
def test_contrast_is_that_of_wcag_aa(front, back, least):
    palettes = read_palettes()
    assert len(palettes) == 2
    for palette in palettes:
        pair = sorted((find_luminance(palette[front]), find_luminance(palette[back])))
        assert (pair[1] + 0.05) / (pair[0] + 0.05) >= least


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
    assert ["as good", "'Sun'"] in tied["findings"][0][1]


def test_long_answer_is_cut_in_the_page(page):
    (row,) = (row for row in page.rows if row["question"] == "Count to four hundred.")
    assert row["answer"]["count"] == 400
    assert row["answer"]["rows"][0] == [1, "line 1"]
    assert 10 < len(row["answer"]["rows"]) < 100


def test_page_tells_the_numbers_and_every_reason(page):
    assert "Of 14 questions over 2 databases, 9 are in the dataset" in page.text
    for code in REASONS:
        assert f"1 {EXPLANATIONS[code]} {code}" in page.text
    assert "This table holds" not in page.text


def test_nothing_that_a_question_holds_becomes_markup(page):
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"img", "iframe", "object", "embed", "base", "b"}
    assert len(page.scripts) == 2
    names = {name for _, attributes in page.elements for name in attributes}
    assert not [name for name in names if name.startswith("on")]
    assert 'SELECT "pay</script>", wage FROM ship' in page.text
    assert "Half a pair: \\ud800" in page.text


def test_page_points_to_nothing_outside(page):
    for tag, attributes in page.elements:
        for name in ("src", "href", "action", "srcset", "poster", "data", "xlink:href"):
            value = attributes.get(name)
            assert value is None or value.startswith("#") or value == "data:,", tag


def test_links_in_the_page_lead_somewhere(page):
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    targets = {a["href"][1:] for tag, a in page.elements if tag == "a"}
    assert {target for target in targets if "=" not in target} <= set(ids)
    filters: dict[str, set[str]] = {}
    for tag, attributes in page.elements:
        if tag == "select":
            options = filters.setdefault(attributes["name"], set())
        elif tag == "option":
            options.add(attributes["value"])
    filtered = [pair for target in targets if "=" in target for pair in parse_qsl(target)]
    assert {"code", "outcome", "split"} == {name for name, _ in filtered}
    assert all(value in filters[name] for name, value in filtered)


def test_policy_of_the_page_lets_its_own_script_run_and_nothing_else(page):
    (policy,) = (
        attributes["content"]
        for tag, attributes in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    digest = base64.b64encode(hashlib.sha256(page.scripts[1][1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")


def test_page_has_the_same_bytes_with_another_hash_seed_and_names_no_folder(report):
    before = report.read_bytes()
    run_stages(report.parent.parent, "report_dataset", hash_seed="4242")
    assert report.read_bytes() == before
    assert report.parent.parent.name.encode() not in before


@pytest.mark.parametrize("most", [0, 1, 2])
def test_code_of_which_no_row_is_shown_has_no_example(most):
    row = {"id": "a", "reason": "sql_error", "findings": [["sql_error", []]]}
    rows = [row] * most
    (blob, error) = list_codes("reason", {"sql_error": 3, "blob": 4}, pick_examples(rows, most=3))
    assert blob["examples"] == []
    assert len(error["examples"]) == most


@pytest.mark.slow
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
