"""The corrections and verdicts of Spider that ship are about its release, and copy none of it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from itertools import chain, groupby, product
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.base.paths import CORRECTIONS, VERDICTS
from answerkey.base.records import hash_question
from answerkey.corpus.corpora import parse_corpora
from answerkey.corpus.loading import LoadedCorpora, load_corpora, read_corrections
from answerkey.engines.database import QueryError
from answerkey.engines.sqlite.guard import GuardedDatabase
from answerkey.risk.verdicts import RIGHT, WRONG, Key, Verdict, read_verdict_file
from answerkey.sections.corpora import Download
from tests.shared.hub_server import run_hubs
from tests.shared.paths import ROOT

pytestmark = pytest.mark.slow
CORRECTIONS_FILE, VERDICT_FILE = CORRECTIONS / "spider.yaml", VERDICTS / "spider.jsonl"
SPIDER = Path(os.environ.get("SPIDER_ROOT", "nowhere"))
# What was read, in one folder or in two.
PARTS = [path for path in (SPIDER, SPIDER.with_name("spider-rest")) if path.is_dir()]
HUB = SPIDER.with_name("spider-hf")  # as the repository of the hub is laid out
LEAST = 25  # characters: a shorter text of Spider may stand in anybody's words


@pytest.fixture(scope="module")
def verdicts() -> dict[Key, Verdict]:
    return {verdict.key: verdict for verdict in read_verdict_file(ROOT / VERDICT_FILE)}


def test_each_verdict_of_wrong_gold_has_its_correction(verdicts: dict[Key, Verdict]) -> None:
    wrong = {key: each for key, each in verdicts.items() if each.verdict == WRONG}
    corrections = read_corrections(ROOT / CORRECTIONS_FILE)
    assert len(corrections) == len(wrong) > 800
    for each in corrections:
        verdict = wrong[each.database, str(each.sha256)]
        assert each.replacement == (verdict.sql and {"gold_sql": verdict.sql})
        told = each.reason, each.source, each.date, each.readings
        assert told == (verdict.reason, verdict.source, verdict.date, verdict.readings)


def test_each_fault_has_a_kind_and_a_reason(verdicts: dict[Key, Verdict]) -> None:
    for verdict in verdicts.values():
        assert verdict.verdict == RIGHT or (verdict.kind and verdict.reason.endswith(".")), verdict
        assert (verdict.sql is None) == (verdict.answers is None), verdict
        if verdict.sql is not None:
            assert not set(verdict.sql).intersection(";\n"), verdict


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A function that loads an entry of params.yaml with changes, with the files that ship."""
    entries = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["corpora"]
    monkeypatch.chdir(ROOT)
    with run_hubs(monkeypatch, tmp_path / "hf") as start:
        where = entries["spider"]["questions"]
        if HUB.is_dir():
            paths = chain.from_iterable(where["files"].values())
            files = {path: (HUB / path).read_bytes() for path in paths}
            start({where["repo_id"]: {where["revision"]: files}})

        def load(name: str, **changes: Any) -> LoadedCorpora:
            corpora = parse_corpora(name, {name: entries[name] | {"db_list": "all"} | changes})
            return load_corpora(corpora, limits=Download(deadline_s=60))

        yield load


def describe(loaded: LoadedCorpora) -> dict[Key, tuple[str, Any]]:
    """By database and hash of what the corpus has: gold SQL, and the correction."""
    described = {}
    for record in loaded.records:
        note = record["source"].get("correction")
        original = {} if note is None else note.get("original", {})
        gold_sql = original.get("gold_sql", record["gold_sql"])
        sha256 = hash_question(record["question_text"], gold_sql)
        described[record["database_name"], sha256] = record["gold_sql"], note
    return described


needs_spider = pytest.mark.skipif(not SPIDER.is_dir(), reason="SPIDER_ROOT names no Spider release")


@needs_spider
def test_release_takes_all_corrections_and_its_questions_have_their_verdict(
    load: Any, verdicts: dict[Key, Verdict]
) -> None:
    corrections = read_corrections(ROOT / CORRECTIONS_FILE)
    names = {verdict.database_name for verdict in verdicts.values()}
    seen: set[str] = set()
    for part in PARTS:
        loaded = load("local", root=str(part))
        here = {each["database_name"] for each in loaded.records}
        seen |= here
        count = sum(each.database in here for each in corrections)
        assert loaded.notes == [f"{CORRECTIONS_FILE}: {count} of {count} corrections by hash"]
        found = describe(loaded)
        assert sum(note is not None for _, note in found.values()) == count
        places = {
            (each["database_name"], each["source"]["file"], each["source"]["index"])
            for each in loaded.records
        }
        texts = {
            (each["database_name"], hash_question(each["question_text"], each["gold_sql"]))
            for each in loaded.records
            if each["source"].get("correction", {}).get("action") != "exclude"
        }
        assert found.keys() | texts <= verdicts.keys()
        assert {verdicts[key].verdict for key in texts} == {"right", "ambiguous"}
        told = (each for each in verdicts.values() if each.database_name in here)
        assert {(v.database_name, v.file, v.index) for v in told} <= places
        untouched = load("local", root=str(part), corrections=None)
        assert not any("correction" in each["source"] for each in untouched.records)
    assert seen == names


@needs_spider
@pytest.mark.skipif(not HUB.is_dir(), reason="no repository of the hub beside SPIDER_ROOT")
def test_edition_of_the_hub_takes_the_same_corrections_as_the_release(load: Any) -> None:
    release, hub = load("local", root=str(SPIDER)), load("spider")
    assert hub.notes == release.notes
    assert describe(hub) == describe(release)


@needs_spider
def test_no_question_of_the_release_stands_in_these_files() -> None:
    for path in (CORRECTIONS_FILE, VERDICT_FILE):
        words = " ".join((ROOT / path).read_text(encoding="utf-8").split()).lower()
        for part, file in product(PARTS, ("train_spider.json", "dev.json")):
            for row in json.loads((part / file).read_text(encoding="utf-8")):
                text = " ".join(row["question"].split()).lower()
                assert len(text) < LEAST or text not in words, (path, text)


@needs_spider
def test_each_corrected_query_answers_beside_gold_as_its_verdict_says(load: Any) -> None:
    said = {
        (verdict.database_name, verdict.file, verdict.index): verdict
        for verdict in read_verdict_file(ROOT / VERDICT_FILE)
        if verdict.sql is not None
    }
    gold = {
        (each["database_name"], each["source"]["file"], each["source"]["index"]): each["gold_sql"]
        for part in PARTS
        for each in load("local", root=str(part), corrections=None).records
    }
    paths = {path.stem: path for part in PARTS for path in part.glob("database/*/*.sqlite")}
    for name, questions in groupby(sorted(said), key=itemgetter(0)):
        with GuardedDatabase(paths[name]) as database:
            for question in questions:
                verdict = said[question]
                asked = database.execute(str(verdict.sql))
                try:
                    found = database.execute(gold[question])
                except QueryError:
                    found = []
                differs = Counter(map(repr, asked)) != Counter(map(repr, found))
                # Another order of rows is another answer, and another row of a tie is none.
                is_ordered = "ORDER BY" in gold[question].upper()
                assert is_ordered or verdict.answers == ("other" if differs else "same"), verdict
