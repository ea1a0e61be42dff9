"""fill_empty: databases are filled when they are made, and stay while nothing changes."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from answerkey.corpus.corpora import parse_corpora, parse_corpus
from answerkey.corpus.downloads import Downloads, update_databases
from answerkey.corpus.hub import Limits
from tests.shared.project_world import World
from tests.shared.synsql_world import ROWS, synsql_entry, write_rows, write_synsql

LIMITS = Limits(attempts=1, backoff_s=0, deadline_s=1)
NAME = "clinic_staffing"


def update(root: Path, **others: Any) -> tuple[Downloads, str]:
    """What was done, and the hash of the file."""
    corpora = parse_corpora("synsql", {"synsql": synsql_entry(root, **others)})
    done = update_databases(corpora, root / "out", limits=LIMITS)
    return done, hashlib.sha256(done.paths[NAME].read_bytes()).hexdigest()


def test_file_is_filled_again_where_rows_or_questions_are_others(tmp_path: Path) -> None:
    write_synsql(tmp_path)
    plain = hashlib.sha256((tmp_path / f"databases/{NAME}/{NAME}.sqlite").read_bytes()).hexdigest()
    done, first = update(tmp_path, fill_empty=20)
    assert (done.kept, first != plain) == (0, True)
    assert update(tmp_path, fill_empty=20) == (done._replace(kept=1), first)
    more = update(tmp_path, fill_empty=30)
    assert more[0].kept == 0
    assert more[1] != first
    write_rows(tmp_path, ROWS[:1])
    fewer = update(tmp_path, fill_empty=30)
    assert fewer[0].kept == 0
    assert fewer[1] not in (more[1], first)
    assert update(tmp_path)[1] == plain


def test_code_that_makes_other_rows_needs_another_version(tmp_path: Path) -> None:
    """Where this fails, raise answerkey.corpus.filling.VERSION, and put the new hash here."""
    write_synsql(tmp_path)
    assert update(tmp_path, fill_empty=20)[1][:16] == "3b82774b2d418e79"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"fill_empty": 0}, "fill_empty: expected a whole number from 1 to 250, or null, found 0"),
        ({"databases_of": "x", "fill_empty": 9}, "fill_empty and databases_of: set it for x"),
    ],
)
def test_entry_that_cannot_be_meant_is_named(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_corpus("tried", synsql_entry("x", **change), {"x": synsql_entry("x")})


def test_gold_answers_are_of_the_filled_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    write_synsql(tmp_path / "release")
    empty = {}
    for fill_empty in (None, 20):
        world.params["corpora"]["synsql"] = synsql_entry("release", fill_empty=fill_empty)
        world.change("corpus", "synsql")
        world.run("download_databases", "load_questions", "assign_splits", "compute_gold_answers")
        shard = world.lines(f"data/interim/gold_answers/{NAME}.jsonl")
        empty[fill_empty] = [record["gold_answer"] in ([], 0) for record in shard]
    assert empty == {None: [False, True, True, True], 20: [False] * 4}
    origin = world.json("data/databases/manifest.json")["databases"][NAME]["origin"]
    assert origin["fill_empty"] == "20"
