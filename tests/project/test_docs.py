"""README.md and docs tell the truth: what they name is there, their entries are read, and their
transcripts are those of a run."""

from __future__ import annotations

import json
import re
import shutil
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.base.records import read_jsonl
from answerkey.corpus import filling
from answerkey.corpus.corpora import parse_corpora
from answerkey.corpus.downloads import locate_all
from answerkey.corpus.loading import load_corpora
from answerkey.risk.verdicts import read_verdict_file
from answerkey.sections.corpora import Download
from tests.shared.bird_world import DEV, TRAIN, write_bird
from tests.shared.checkout import run
from tests.shared.paths import ROOT
from tests.shared.synsql_world import ROWS, write_synsql
from tests.shared.transcripts import find_block, read_blocks, replay
from tests.shared.visits import Review, launch_browser

PAGES = ("README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md")))
README, CORPORA = ROOT / "README.md", ROOT / "docs/corpora.md"
LIMITS = Download(deadline_s=1)
RECORD = re.compile(r"(?<=^```json\n)\{.*?\}\n(?=```$)", re.DOTALL | re.MULTILINE)


def read(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def list_anchors(page: Path) -> set[str]:
    """Return the anchors of all headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", read(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("name", sorted(PAGES))
def test_links_lead_somewhere(name: str) -> None:
    page = ROOT / name
    text = re.sub(r"^```.*?^```$", "", read(page), flags=re.DOTALL | re.MULTILINE)
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in list_anchors(target), link


def test_pages_that_messages_name_are_there_and_in_the_package() -> None:
    code = "".join(map(read, (ROOT / "answerkey").rglob("*.py")))
    named = re.findall(r"""name_page\(["'](.+?)["']\)""", code)
    assert {"docs/sharing.md", "docs/your-database.md"} <= set(named)
    shipped = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}
    assert set(named) <= shipped
    assert "\ninclude docs/*.md\n" in read(ROOT / "MANIFEST.in")


def test_index_lists_every_page() -> None:
    listed = set(re.findall(r"^\| \[([\w-]+\.md)\]", read(ROOT / "docs/README.md"), re.MULTILINE))
    assert listed == {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}


@pytest.mark.parametrize("name", sorted({*PAGES} - {"docs/extending.md"}))  # which makes files
def test_paths_that_are_named_exist(name: str) -> None:
    rooms = "benchmarks|docs|examples|templates|tests"
    paths = set(re.findall(rf"(?<![\w./-])(?:{rooms})/[\w./-]*\w", read(ROOT / name)))
    assert [path for path in sorted(paths) if not (ROOT / path).exists()] == []


def test_verdict_on_the_page_of_doubts_is_one(tmp_path: Path) -> None:
    (verdict,) = read_blocks(ROOT / "docs/doubts.md", "json")
    path = tmp_path / "shown.jsonl"
    path.write_text(json.dumps(json.loads(verdict)) + "\n", encoding="utf-8")
    assert [found.source for found in read_verdict_file(path)] == ["person:kim"]


@pytest.mark.slow
def test_question_that_is_walked_through_is_as_in_a_run(finished: Path) -> None:
    page = read(ROOT / "docs/doubts.md")
    walk = " ".join(page[: page.index("## Why questions")].split())
    name = "independent_press_train_005"
    known = {one["question_id"]: one for one in read_jsonl(finished / "data/interim/joined.jsonl")}
    question = known[name]
    gold, repair = (
        " ".join(block.split()) for block in read_blocks(ROOT / "docs/doubts.md", "sql")
    )
    assert (question["question_text"] in walk, question["gold_sql"]) == (True, gold)
    assert [
        flag["evidence"]["answers"] for flag in question["flags"] if "answers" in flag["evidence"]
    ] == ["same"]
    assert question["repairs"][0]["sql"] == repair
    assert all(answer in walk for answer in question["gold_answer"])
    (suite,) = (
        one
        for one in read_jsonl(finished / "data/questions/test_suites.jsonl")
        if one["question_id"] == name
    )
    assert (len(suite["databases"]), suite["mutation_score"]["suite"]) == (3, 1)
    other = known["independent_press_train_025"]
    assert other["question_text"] in walk
    assert other["repairs"][0]["repair_rows"] == [[184]]
    assert other["flags"][-1]["code"] == "answer_risk"


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/rollouts.md", "docs/evaluating.md"])
def test_snippet_and_transcripts_are_those_of_a_run(
    page: str, finished: Path, tmp_path: Path, expect_page: Callable[[str, str], None]
) -> None:
    folder = shutil.copytree(finished, tmp_path / "copy", symlinks=True)
    if page != "README.md":  # whose snippet needs the exports alone: test_docs_exports
        (snippet,) = read_blocks(ROOT / page, "python")
        run(folder, sys.executable, "-c", snippet)
    expect_page(page, replay(read(ROOT / page), folder))


def put(text: str, pattern: str | re.Pattern[str], found: str) -> str:
    """The page with what was found in the one place that a pattern matches."""
    text, count = re.subn(pattern, lambda _: found, text)
    assert count == 1, pattern
    return text


def test_selection_is_that_of_a_run(expect_page: Callable[[str, str], None]) -> None:
    metrics = json.loads(read(ROOT / "metrics/counts.json"))
    cells = metrics["selection"]["cells"]
    train, evaluated = (
        sum(cells[split][level]["selected"] for level in ("easy", "medium", "hard"))
        for split in ("train", "eval")
    )
    loaded, usable, selected = (metrics[name] for name in ("loaded", "usable", "selected"))
    words = (
        f"Of the sample's {loaded} questions {usable} are usable, and {selected} ({train} to train"
        f" on, {evaluated} to evaluate) make up"
    )
    pattern = re.sub(r"\d+", r"\\d+", re.escape(words).replace("\\ ", " "))
    expect_page("README.md", put(read(README), pattern, words))


@pytest.mark.slow
def test_record_is_that_of_a_run(finished: Path, expect_page: Callable[[str, str], None]) -> None:
    text = read(README)
    question_id = json.loads(RECORD.search(text)[0])["question_id"]
    questions = json.loads(read(finished / "data/questions/questions_train.json"))
    (record,) = (each for each in questions if each["question_id"] == question_id)
    fields = [
        f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        for name, value in record.items()
    ]
    expect_page("README.md", put(text, RECORD, "{" + ",\n ".join(fields) + "}\n"))


# The blocks that are indented as under `corpora`.
ENTRIES: dict[str, Any] = {
    name: entry
    for block in read_blocks(CORPORA, "yaml")
    if block.startswith("  ") and "origin:" in block
    for name, entry in yaml.safe_load(block).items()
}


def read_entries() -> dict[str, Any]:
    """Return the entries of params.yaml and of the document."""
    params = yaml.safe_load(read(ROOT / "params.yaml"))
    return params["corpora"] | ENTRIES


def test_every_key_of_an_entry_stands_in_the_table() -> None:
    table = read(CORPORA).split("## An entry")[1].split("## ")[0]
    cells = re.findall(r"^\| (`.+?) \|", table, re.MULTILINE)
    rows = {key for cell in cells for key in re.findall(r"`(\w+)`", cell)}
    used = {key for entry in read_entries().values() for key in entry}
    assert used <= rows
    entry = ENTRIES["bird_dev"]
    for key in rows:  # each is one that the pipeline knows
        parsed = {"databases": ["x"], "databases_of": "bird", "prefix": "x_"}.get(key)
        tried = {**entry, **({key: parsed} if parsed else {})}
        parse_corpora("tried", {**read_entries(), "tried": tried})


def test_archives_of_bird_unpack_to_its_entry(here: Path) -> None:
    release = here / "release"
    write_bird(release)
    (here / "data/bird").mkdir(parents=True)
    for split, folder in (("train", "train"), ("dev", "dev_20240627")):
        inner = here / f"{split}_databases.zip"
        with zipfile.ZipFile(inner, "w") as archive:
            for path in sorted((release / f"{split}_databases").rglob("*")):
                archive.write(path, path.relative_to(release))
        with zipfile.ZipFile(here / f"data/bird/{split}.zip", "w") as archive:
            archive.write(inner, f"{folder}/{inner.name}")
            archive.write(release / f"{split}.json", f"{folder}/{split}.json")
    commands = find_block(CORPORA, "sh", "data/bird")
    run(here, "bash", "-ec", commands)
    check_bird("bird", read_entries(), TRAIN + DEV)
    check_bird("bird_dev", read_entries(), DEV)


def test_release_of_synsql_is_loaded_by_its_entry(here: Path) -> None:
    entries = read_entries()
    write_synsql(here / entries["synsql"]["root"])
    corpora = parse_corpora("synsql", entries)
    records = load_corpora(corpora, limits=LIMITS).records
    assert [record["gold_sql"] for record in records] == [row["sql"] for row in ROWS]
    params = yaml.safe_load(read(ROOT / "params.yaml"))
    (here / "params.yaml").write_text(yaml.safe_dump({**params, "corpora": entries}))
    filling.main(*find_block(CORPORA, "sh", "corpus.filling").split()[3:])
    entries["synsql"] |= {"databases": ["filled"]}
    (source,) = locate_all(parse_corpora("synsql", entries), limits=LIMITS).values()
    assert source.origin["path"] == "filled/clinic_staffing/clinic_staffing.sqlite"


def check_bird(name: str, entries: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    corpora = parse_corpora(name, entries)
    records = load_corpora(corpora, limits=LIMITS).records
    assert [record["question_text"] for record in records] == [row["question"] for row in rows]
    assert len(locate_all(corpora, limits=LIMITS)) == len({row["db_id"] for row in rows})


def test_corrections_are_applied_to_the_sample(here: Path) -> None:
    write = here / "data/corrections/mine.yaml"
    write.parent.mkdir(parents=True)
    write.write_text(find_block(CORPORA, "yaml", "action: replace"), encoding="utf-8")
    shutil.copytree(ROOT / "data/sample", here / "data/sample")
    entries = {"sample": read_entries()["sample"] | {"corrections": "mine"}}
    records = load_corpora(parse_corpora("sample", entries), limits=LIMITS).records
    decided = [record["source"].get("correction") for record in records]
    assert sorted(found["action"] for found in decided if found) == ["exclude", "replace"]


DROPPED, REFINED, REWORDED, KEPT = (f"bakery_chain_train_{n:03d}" for n in (0, 1, 2, 4))
SQL = "SELECT first_name, last_name FROM employee WHERE left_on IS NOT NULL ORDER BY left_on DESC"
TEXT = "Which of our ingredients carry a warning of nuts or of sesame?"


def find(review: Review, question_id: str) -> None:
    """Go through the queue, from its first question, until a question is shown."""
    for key in ("p", "n"):
        before = ""
        while before != review.shown:
            if f"{question_id} " in (before := review.shown):
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

        (commands,) = read_blocks(ROOT / "docs/reviewing.md", "sh")
        said = run(folder, "bash", "-ec", commands, environment={"HOME": str(tmp_path)}).stdout
        assert f"went: {DROPPED} (is excluded_by_curator)" in said
        assert f"changed: {REFINED} " in said
        assert f"changed: {REWORDED} " in said

        review.page.reload()
        review.page.locator("#start-review").click()
        assert review.status.startswith("0 of ")
        review.context.close()

    train = json.loads(read(folder / "data/questions/questions_train.json"))
    product = {question["question_id"]: question for question in train}
    assert DROPPED not in product
    assert product[REFINED]["gold_sql"] == SQL
    assert ["Florence", "Désilets"] in product[REFINED]["gold_answer"]
    assert product[REWORDED]["question_text"] == TEXT
    audits = {a["question_id"]: a for a in read_jsonl(folder / "data/questions/audit.jsonl")}
    assert audits[REFINED]["source"]["correction"]["reason"] == "The date is not needed."
    assert "judged_right" in {flag["code"] for flag in audits[KEPT]["flags"]}
