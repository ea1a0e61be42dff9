"""docs/reviewing.md tells the truth: from the first key of a review to the changed product."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from answerkey.base.records import read_jsonl
from tests.shared.checkout import run
from tests.shared.paths import ROOT
from tests.shared.visits import Review, launch_browser

DOCUMENT = (ROOT / "docs/reviewing.md").read_text(encoding="utf-8")
DROPPED, REFINED, REWORDED, KEPT = (f"bakery_chain_train_{n:03d}" for n in (0, 1, 2, 4))
SQL = "SELECT first_name, last_name FROM employee WHERE left_on IS NOT NULL ORDER BY left_on DESC"
TEXT = "Which of our ingredients carry a warning of nuts or of sesame?"


def find(review: Review, question_id: str) -> None:
    """Go through the queue, from its first question, until a question is shown."""
    for key in ("p", "n"):
        before = ""
        while before != review.shown:
            if f" {question_id} " in (before := review.shown):
                return
            review.press(key)
    raise AssertionError(f"{question_id} is not in the queue")


@pytest.mark.slow
@pytest.mark.browser
def test_decisions_of_a_review_change_the_product(finished: Path, tmp_path: Path) -> None:
    folder, downloads = tmp_path / "answerkey", tmp_path / "Downloads"
    shutil.copytree(finished, folder, symlinks=True)
    with launch_browser() as browser:
        review = Review(browser, folder / "reports/dataset.html")
        find(review, DROPPED)
        review.press("d")
        review.type("Nothing says which shops are take-away only.")
        review.press("Enter")
        find(review, REFINED)
        review.press("s")
        review.type(SQL)
        review.press("Tab")
        review.type("The date is not needed.")
        review.press("Enter")
        find(review, REWORDED)
        review.press("t")
        review.type(TEXT)
        review.press("Tab")
        review.type("It reads better.")
        review.press("Enter")
        find(review, KEPT)
        review.press("k")
        for name in ("corrections_sample.yaml", "verdicts.jsonl"):
            review.download(name, downloads)

        (commands,) = re.findall(r"^```sh\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
        said = run(folder, "bash", "-ec", commands, environment={"HOME": str(tmp_path)}).stdout
        assert f"went: {DROPPED} (is excluded_by_curator)" in said
        assert f"changed: {REFINED} " in said
        assert f"changed: {REWORDED} " in said

        review.page.reload()
        review.page.get_by_role("button", name="Start the review").click()
        assert review.status.startswith("0 of ")
        review.context.close()

    train = json.loads((folder / "data/questions/questions_train.json").read_text("utf-8"))
    product = {question["question_id"]: question for question in train}
    assert DROPPED not in product
    assert product[REFINED]["gold_sql"] == SQL
    assert ["Florence", "Désilets"] in product[REFINED]["gold_answer"]
    assert product[REWORDED]["question_text"] == TEXT
    audits = {a["question_id"]: a for a in read_jsonl(folder / "data/questions/audit.jsonl")}
    assert audits[REFINED]["source"]["correction"]["reason"] == "The date is not needed."
    assert "judged_right" in {flag["code"] for flag in audits[KEPT]["flags"]}
