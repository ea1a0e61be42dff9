"""What pandas, the Finder and editors leave in a corpus is passed over or said with its place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from answerkey.base.errors import InputError
from answerkey.base.records import read_json
from answerkey.base.yaml_files import load_yaml
from answerkey.corpus.corpora import parse_corpora, read_source_questions
from answerkey.corpus.databases import read_descriptions
from answerkey.corpus.readers import read_source_rows
from answerkey.evaluation.samples import read_rollouts
from answerkey.risk.verdicts import read_verdict_file, read_verdicts
from answerkey.sections.corpora import Download

HIDDEN = ("._{}", ".#{}", ".{}.swp", "{}~", "#{}#")
_WORDS = ("corpus", "database_name", "question_text", "gold_sql", "reason", "source")
VERDICT = dict.fromkeys(_WORDS, "x") | {"verdict": "right", "date": "2026-03-01"}
ROLLOUT = {"question_id": "a_eval_000", "prediction": "SELECT 1"}


def read_bird(root: Path, lines: str, name: str = "train.jsonl") -> list[dict[str, Any]]:
    (root / name).write_text(lines, encoding="utf-8")
    entry = {"origin": "directory", "layout": "bird", "root": str(root), "db_list": "all"}
    (corpus,) = parse_corpora("one", {"one": {**entry, "questions": {"train": [name]}}})
    return list(read_source_questions(corpus, limits=Download()))


def write_row(**fields: Any) -> str:
    return json.dumps({"db_id": "shop", "question": "?", "SQL": "SELECT 1", **fields})


@pytest.mark.parametrize("name", ["difficulty", "question_id", "evidence"])
@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_nan_is_what_pandas_writes_for_nothing(tmp_path: Path, name: str, ending: str) -> None:
    given, bare = (write_row(**{name: float("nan")}), write_row())
    text = "[{}]" if ending == "json" else "{}"
    found, expected = (
        read_bird(tmp_path, text.format(row), f"t.{ending}") for row in (given, bare)
    )
    assert found == expected


@pytest.mark.parametrize("value", [float("inf"), [float("nan")], {"a": float("-inf")}])
@pytest.mark.parametrize("name", ["difficulty", "question_id", "evidence", "SQL", "db_id"])
def test_what_is_no_json_is_refused_with_file_and_row(
    tmp_path: Path, name: str, value: Any
) -> None:
    with pytest.raises(InputError, match=r"train\.jsonl: row 1: expected"):
        read_bird(tmp_path, f"{write_row()}\n{write_row(**{name: value})}")


def test_blank_lines_are_passed_over_and_lines_keep_their_numbers(tmp_path: Path) -> None:
    lines = "\ufeff\n  \n{}\n\r\n{}\n \n"
    rows = read_bird(tmp_path, lines.format(write_row(), write_row(question="!")))
    assert [row["source"]["index"] for row in rows] == [0, 1]
    (tmp_path / "v").mkdir()
    line = json.dumps(VERDICT)
    (tmp_path / "v/a.jsonl").write_text(lines.format(line, line), encoding="utf-8")
    assert [verdict.where[-2:] for verdict in read_verdicts(tmp_path / "v")] == [":3", ":5"]
    with pytest.raises(InputError, match=r"train\.jsonl:3: not JSON") as caught:
        read_bird(tmp_path, lines.format("{", "{}"))
    assert "dvc repro" not in str(caught.value)


@pytest.mark.parametrize("hidden", HIDDEN)
def test_hidden_files_are_passed_over(tmp_path: Path, hidden: str) -> None:
    names = ("shop.csv", "m.jsonl")
    for name in names:
        (tmp_path / hidden.format(name)).write_bytes(b"\0\5\x16\7")
    (tmp_path / "shop.csv").write_text("original_column_name,column_name\nid,number\n")
    assert read_descriptions(tmp_path) == {"shop": {"id": {"name": "number"}}}
    (tmp_path / "m.jsonl").write_text(json.dumps(ROLLOUT))
    assert list(read_rollouts(tmp_path)) == ["a_eval_000"]
    (tmp_path / "m.jsonl").write_text(json.dumps(VERDICT))
    assert len(read_verdicts(tmp_path)) == 1


TWICE = '{"a": {"b": 1, "b": 2}}'


@pytest.mark.parametrize(
    ("name", "text", "read", "words"),
    [
        (
            "v.jsonl",
            '\n{"verdict": "right", "verdict": "wrong"}',
            read_verdict_file,
            ":2: .*verdict",
        ),
        ("m.jsonl", f"\n{TWICE}", lambda path: read_rollouts(path.parent), ":2: .*'b' once"),
        ("t.jsonl", '{"db_id": "x", "db_id": "y"}', lambda path: [*read_source_rows(path)], ":1: "),
        ("t.json", f"[{{}},\n\n{TWICE}]", lambda path: [*read_source_rows(path)], "line 3: .*'b'"),
        ("t.json", TWICE, lambda path: read_json(path, is_own=False), "not JSON: .*'b' once"),
        ("c.yaml", "- a: 1\n  b: 2\n  a: 3\n", load_yaml, "line 3: expected the key 'a' once"),
    ],
)
def test_key_that_stands_twice_is_an_error_with_its_file_and_line(
    tmp_path: Path, name: str, text: str, read: Callable[[Path], Any], words: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"{re.escape(name)}.*{words}"):
        read(path)
