"""The report in a real browser: what a person does with it, by mouse and by keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.shared.report_world import EVAL, HOSTILE, TRAIN
from tests.shared.visits import Visit

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ALL = len(TRAIN) + len(EVAL)


@pytest.fixture
def visit(browser: Any, report: Path) -> Iterator[Visit]:
    visit = Visit(browser, report)
    yield visit
    complaints, requests = visit.complaints, visit.requests
    visit.context.close()
    assert complaints == []
    assert requests == [visit.address]


@pytest.fixture(scope="module")
def table(browser: Any, report: Path) -> Iterator[Visit]:
    """A page that several tests look at, each of which leaves its table as it was."""
    visit = Visit(browser, report)
    yield visit
    complaints = visit.complaints
    visit.context.close()
    assert complaints == []


@pytest.fixture
def cleared(table: Visit) -> Iterator[Visit]:
    """The table with nothing searched for, before and after."""
    yield table
    table.page.get_by_role("button", name="Clear").click()
    table.expect_count(ALL)


def test_page_may_not_ask_for_anything(browser, report):
    visit = Visit(browser, report)
    outcome = visit.page.evaluate(
        "fetch('http://127.0.0.1:9/').then(() => 'sent', (error) => error.name)"
    )
    assert outcome == "TypeError"
    assert any("Content Security Policy" in text for text in visit.complaints)
    visit.context.close()


def test_hostile_question_is_shown_as_text(visit):
    button = visit.question("onerror=alert")
    assert button.text_content() == HOSTILE
    button.click()
    assert visit.page.evaluate("document.images.length") == 0
    assert visit.page.locator("#table b").count() == 0


@pytest.mark.parametrize(
    ("words", "count"),
    [("pages", 1), ("SHIP weigh", 5), ("books_eval_001", 1), ("<img src=x", 1), ("nowhere", 0)],
)
def test_search_finds_questions_by_text_sql_and_id(cleared, words, count):
    cleared.page.get_by_label("Search in questions").fill(words)
    cleared.expect_count(count)


@pytest.mark.parametrize(
    ("label", "value", "count"),
    [
        ("Database", "books", 3),
        ("Split", "train", 11),
        ("Difficulty", "hard", 0),
        ("Answer type", "string", 1),
        ("Outcome", "selected", 9),
        ("Reason or flag", "tie_at_limit", 1),
        ("Reason or flag", "template_in_both_splits", 3),
    ],
)
def test_filter_leaves_what_it_names(cleared, label, value, count):
    cleared.page.get_by_label(label, exact=True).select_option(value)
    cleared.expect_count(count)


def test_first_look_is_at_questions_of_the_dataset(table):
    outcomes = table.page.locator("#table .outcome").all_text_contents()
    assert len(outcomes) == ALL
    assert sorted(outcomes, key=lambda text: text.startswith("left out")) == outcomes
    assert outcomes[0].startswith("selected")


def test_filters_stand_in_the_address_and_back_goes_back(visit):
    page, database = visit.page, visit.page.get_by_label("Database", exact=True)
    outcome = page.get_by_label("Outcome", exact=True)
    database.select_option("books")
    visit.expect_count(3)
    page.get_by_label("Search in questions").fill("title  pages&")
    visit.expect_count(0)
    assert page.url.endswith("#search=title++pages%26&database=books")
    page.get_by_label("Search in questions").fill("pages")
    visit.expect_count(1)
    outcome.select_option("left out")
    visit.expect_count(0)
    page.go_back()
    visit.expect_count(1)
    assert outcome.input_value() == ""
    page.get_by_role("link", name="Flags").click()
    assert page.url.endswith("#flags")
    visit.expect_count(1)
    page.go_back()
    page.go_back()
    visit.expect_count(ALL)
    assert database.input_value() == ""
    page.go_forward()
    visit.expect_count(1)
    page.get_by_role("button", name="Clear").click()
    visit.expect_count(ALL)
    page.go_back()
    visit.expect_count(1)


@pytest.mark.parametrize(
    ("fragment", "count"),
    [
        ("#database=books&search=dunes", 1),
        ("#code=tie_at_limit", 1),
        ("#outcome=left+out&split=train", 4),
        ("#database=of_another_page&colour=red", ALL),
        ("#reason-tie_at_limit", ALL),
    ],
)
def test_link_shows_what_it_was_made_for(browser, report, fragment, count):
    visit = Visit(browser, report, fragment)
    visit.expect_count(count)
    fields = "[...document.querySelectorAll('.filters select')].map(field => field.selectedIndex)"
    assert -1 not in visit.page.evaluate(fields)
    is_open = visit.page.locator("#reason-tie_at_limit").get_attribute("open") is not None
    assert is_open == ("reason" in fragment)
    assert visit.complaints == []
    visit.context.close()


def test_picture_leads_to_the_questions_of_each_end(visit):
    visit.page.locator(".flow").get_by_role("link", name="tie_at_limit").click()
    visit.expect_count(1)
    top = "document.querySelector('body > nav').getBoundingClientRect().top"
    assert visit.page.evaluate(top) == 0, "the menu stays"


def test_row_opens_and_closes_by_keyboard(visit):
    page = visit.page
    page.get_by_label("Search in questions").fill("fleet")
    visit.expect_count(1)
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.classList.contains('open')"):
            break
    page.keyboard.press("Enter")
    assert "SELECT sum(weight)\nFROM ship" in visit.details.inner_text()
    page.keyboard.press("Space")
    assert visit.details.count() == 0


def test_reason_opens_by_keyboard_and_leads_to_its_questions(visit):
    summary = visit.page.locator("#reason-sql_error summary")
    summary.focus()
    visit.page.keyboard.press("Enter")
    link = visit.page.locator("#reason-sql_error").get_by_role("link")
    link.focus()
    visit.page.keyboard.press("Enter")
    visit.expect_count(1)
    assert visit.question("What does the crew earn?").is_visible()


def test_table_sorts_by_keyboard(visit):
    header = visit.page.get_by_role("button", name="Question: Activate to sort")
    header.focus()
    visit.page.keyboard.press("Enter")
    texts = visit.page.locator(".open").all_text_contents()
    visible = [text for text in texts if text != HOSTILE]
    assert visible == sorted(visible, key=str.lower)
    assert visit.page.locator("th[aria-sort=ascending]").count() == 1


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        ("A number beyond doubles.", r"9007199254740993"),
        ("Which books cost what?", r"title\s+price\s+Dunes[\s\S]+Salt\s+1e\+16"),
        ("Name and year of every ship.", r"Sun\s+NULL"),
        ("Which ships weigh 12 tons?", r"<b onclick=alert\(2\)>Kite</b>\s+2011-01-15"),
        ("Count to four hundred.", r"The first \d+ of 400 rows\."),
        ("What does the crew earn?", r"Gold answer\s+none"),
        ("Which ship is called Nobody?", r"no row"),
    ],
)
def test_answer_is_shown_as_it_is(table, question, shown):
    button = table.question(question)
    button.click()
    assert re.search(shown, table.details.inner_text())
    button.click()


def test_suite_of_a_question_is_shown_on_demand(visit):
    visit.question("Name and year of every ship").click()
    suite = visit.details.locator(".suite")
    killed = suite.get_by_text("killed neighbors: ")
    assert not killed.is_visible()
    suite.locator("summary").click()
    killed.wait_for()
    assert "mutation score" in suite.locator("summary").inner_text()


def test_every_field_has_a_label_and_every_part_a_landmark(visit):
    unlabelled = "[...document.querySelectorAll('input, select')].filter(e => !e.labels.length)"
    assert visit.page.evaluate(f"{unlabelled}.length") == 0
    for role in ("banner", "navigation", "main", "contentinfo", "search"):
        assert visit.page.get_by_role(role).count() >= 1, role
    assert visit.page.get_by_role("heading", level=1).count() == 1


def test_phone_scrolls_only_downwards(browser, report):
    width = 320
    visit = Visit(browser, report, viewport={"width": width, "height": 800}, is_mobile=True)
    for summary in visit.page.locator("main summary").all():
        summary.click()
    for text in ("onerror=alert", "Name and year", "What is the lightest", "Count to four"):
        visit.question(text).click()
    assert visit.details.count() == 4
    for summary in visit.details.locator("summary").all():
        summary.click()
    assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
    assert visit.page.locator(".brief").first.is_visible()
    assert visit.complaints == []
    visit.context.close()


def test_page_without_scripts_tells_all_but_the_table(browser, report):
    visit = Visit(browser, report, java_script_enabled=False)
    text = visit.page.locator("body").inner_text()
    assert "9 are in the dataset" in text
    assert "The table needs JavaScript" in text
    visit.page.locator("#reason-tie_at_limit summary").click()
    assert visit.page.get_by_text("What is the lightest ship of Göteborg?").is_visible()
    assert not visit.page.locator(".filters").is_visible()
    visit.context.close()
