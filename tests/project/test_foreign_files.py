"""Whatever a file that somebody else wrote holds, its reader takes it or says in words, with the
file, what it expected: a traceback is none."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from answerkey.base.errors import InputError
from answerkey.base.records import Shard, read_manifest
from answerkey.base.yaml_files import load_yaml
from answerkey.corpus.corpora import LAYOUTS, parse_corpora, read_source_questions
from answerkey.corpus.databases import read_descriptions
from answerkey.corpus.import_corrections import read_claims
from answerkey.corpus.loading import read_corrections
from answerkey.dataset import Question
from answerkey.evaluation.predictions import Dataset, index, read_predictions
from answerkey.evaluation.samples import read_rollouts
from answerkey.evaluation.scoring import read_journal
from answerkey.exports.prompts import read_links
from answerkey.risk.risks import read_risks
from answerkey.risk.verdicts import Verdict, read_verdicts
from answerkey.scoring.rules import RULES, read_rule
from answerkey.sections.corpora import Download
from answerkey.shards.runs import ShardDirectory


def read_corpus(layout: str, name: str) -> Callable[[Path], Any]:
    def read(path: Path) -> Any:
        entry = {
            "origin": "directory",
            "layout": layout,
            "root": str(path.parent),
            "db_list": "all",
        }
        entry["questions"] = {"train": [path.name]}
        (corpus,) = parse_corpora("one", {"one": entry})
        return list(read_source_questions(corpus, limits=Download()))

    read.__name__ = f"{layout} {name}"
    return read


def read_spider2_settings(path: Path) -> Any:
    gold = path.parent / "evaluation_suite/gold"
    (gold / "exec_result").mkdir(parents=True, exist_ok=True)
    (gold / "exec_result/local1.csv").write_text("a,b\n1,2\n")
    (gold / "spider2lite_eval.jsonl").write_bytes(path.read_bytes())
    row = {"instance_id": "local1", "db": "d", "question": "?"}
    questions = path.with_name("q.jsonl")
    questions.write_text(json.dumps(row))
    return read_corpus("spider2-lite", "q.jsonl")(questions)


def read_spider2_answers(path: Path) -> Any:
    gold = path.parent / "evaluation_suite/gold/exec_result"
    gold.mkdir(parents=True, exist_ok=True)
    (gold / "local1.csv").write_bytes(path.read_bytes())
    questions = path.with_name("q.jsonl")
    questions.write_text('{"instance_id": "local1", "db": "d", "question": "?"}')
    return read_corpus("spider2-lite", "q.jsonl")(questions)


def read_scored(path: Path) -> Any:
    source = {"corpus": "c", "file": "dev", "index": 0}
    question = Question("d_eval_000", "d", "eval", "?", "SELECT 1", source, [])
    dataset = Dataset("d", index([question]), row_counts={"c": {"dev": 1}})
    return read_predictions(path, dataset, source_file="dev")


# By the name of a file: what reads it, and the names of fields that it knows.
SAMPLES = ("question_id", "model", "prediction", "predictions", "completion", "completions")
JSON_READERS: dict[str, tuple[Callable[[Path], Any], tuple[str, ...]]] = {
    **{
        f"{layout}.{ending}": (
            read_corpus(layout, ending),
            (
                *LAYOUTS[layout].required,
                *LAYOUTS[layout].kept,
                "evidence",
                "difficulty",
                "sentences",
                "sql",
                "variables",
                "text",
            ),
        )
        for layout in LAYOUTS
        for ending in ("json", "jsonl")
    },
    "settings.jsonl": (read_spider2_settings, ("instance_id", "condition_cols", "ignore_order")),
    "list.json": (
        read_claims_all := lambda path: list(read_claims(path)),
        ("question_id", "db_id", "question", "sql", "verdict", "reason", "classes"),
    ),
    "list.jsonl": (
        read_claims_all,
        ("question_id", "db_id", "question", "sql", "a_wrong", "reason"),
    ),
    "links.json": (read_links, ("a",)),
    "flag_precision.json": (read_risks, ("questions", "wrong", "unsigned", "flags", "signs")),
    "manifest.json": (read_manifest, ("databases", "unreadable")),
    "verdicts.jsonl": (lambda path: read_verdicts(path.parent), tuple(Verdict.__annotations__)),
    "rollouts.jsonl": (lambda path: read_rollouts(path.parent), SAMPLES),
    "predictions.jsonl": (read_scored, SAMPLES),
    "predictions.json": (read_scored, ("0", "1")),
}
TEXTS = st.sampled_from(
    [
        "local1",
        "../../../x",
        "local/../../x",
        "d_eval_000",
        "d",
        "SELECT 1",
        "right",
        "spider",
        "\ud800",
        "\0",
        "",
        "a" * 300,
        "2020-01-01",
        "NaN",
    ]
)
NUMBERS = st.sampled_from([0, 5, -1, 10**30, 1.5, float("nan"), float("inf"), True])
VALUES = st.recursive(
    st.none() | NUMBERS | TEXTS,
    lambda values: (
        st.lists(values, max_size=3)
        | st.dictionaries(
            TEXTS | st.sampled_from(["name", "example", "role", "content", "text"]),
            values,
            max_size=3,
        )
    ),
    max_leaves=6,
)
BYTES = st.sampled_from(
    [
        b"",
        b"\n \n",
        b"5",
        b"{}",
        b"null",
        b"[" * 100_000,
        b"9" * 5000,
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b'{"a": NaN}',
        b'[{"a": 1',
        b"\0",
    ]
)
SETTINGS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def check_reader(read: Callable[[Path], Any], path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    words = ""
    try:
        read(path)
    except InputError as error:
        words = str(error)
    assert len(words) < 2000
    # The file is to be mended, and the pipeline not to be run again.
    assert "dvc repro" not in words or path.name == "manifest.json"


@pytest.mark.slow
@pytest.mark.parametrize("name", JSON_READERS)
@SETTINGS
@given(data=st.data())
def test_json_of_any_shape_is_taken_or_refused_in_words(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    read, fields = JSON_READERS[name]
    rows = st.dictionaries(st.sampled_from(fields), VALUES, max_size=len(fields))
    rows |= st.fixed_dictionaries({field: TEXTS for field in fields})
    content = data.draw(BYTES | st.lists(rows | VALUES, max_size=3) | rows | VALUES)
    if not isinstance(content, bytes):
        lines = content if name.endswith("l") and isinstance(content, list) else [content]
        content = "\n\n".join(map(json.dumps, lines)).encode()
    check_reader(read, tmp_path / name / name, content)


CSV_READERS = {
    "list.csv": (read_claims_all, "question_id,question,sql"),
    "descriptions.csv": (
        lambda path: read_descriptions(path.parent),
        "original_column_name,column_name",
    ),
    "answers.csv": (read_spider2_answers, "a,b"),
}


@pytest.mark.parametrize("name", CSV_READERS)
@SETTINGS
@given(
    rows=st.lists(
        st.lists(TEXTS | st.sampled_from(['"', "\n", "x" * 200_000]), max_size=4), max_size=4
    ),
    is_quoted=st.booleans(),
    header=st.booleans(),
    tail=st.sampled_from([b"", b"\xff", b"\0", b'"no end', b"\r\r\n"]),
)
def test_csv_of_any_shape_is_taken_or_refused_in_words(
    tmp_path: Path, name: str, rows: list[list[str]], is_quoted: bool, header: bool, tail: bytes
) -> None:
    read, first = CSV_READERS[name]
    text = io.StringIO()
    if is_quoted:
        csv.writer(text).writerows(rows)
    else:
        text.write("\n".join(map(",".join, rows)))
    content = f"{first}\n" * header + text.getvalue()
    check_reader(read, tmp_path / name / name, content.encode(errors="replace") + tail)


YAML = [
    "[",
    "- 5",
    "- {database: 1}",
    "{a: [}",
    "? [a]\n: b",
    "&a [*a]",
    "2020-99-99",
    "- !!int x",
    "!!python/object:x",
    "<<: 5",
    "[" * 5000,
    "!!map 5",
    "!!set [1]",
    "!!binary x",
    "!!timestamp x",
    "!!float x",
    "- {<<: [5]}",
    "0o9",
    "\0",
    "- &x {a: *x}",
    "? {a: b}\n: c",
    "1:99:99",
    "!!omap [5]",
    "!!pairs [5]",
    "!!null x",
    "!!bool x",
    "9" * 5000,
]


@pytest.mark.parametrize("text", YAML)
@pytest.mark.parametrize("read", [read_corrections, load_yaml])
def test_yaml_of_any_shape_is_taken_or_refused_in_words(
    tmp_path: Path, read: Callable[[Path], Any], text: str
) -> None:
    check_reader(read, tmp_path / "a.yaml", text.encode())


@SETTINGS
@given(
    name=st.sampled_from([*RULES, "x", ""]),
    parts=st.lists(
        st.sampled_from(
            [
                "=",
                ">=",
                "3",
                "-1",
                "rel_tol=nan",
                "digits=99",
                "digits=9e9",
                "row_count=3",
                "extra_columns=0",
                "columns=x",
                "rows",
                "order=never",
                "abs_tol=inf",
                "x=1",
                "",
                "=,",
                "digits=" + "9" * 5000,
            ]
        ),
        max_size=4,
    ),
)
def test_rule_of_any_shape_is_read_or_refused_in_words(name: str, parts: list[str]) -> None:
    with contextlib.suppress(ValueError):
        read_rule(",".join([name, *parts]))


@pytest.mark.parametrize(
    "line",
    [
        b"5",
        b"{}",
        b"[]",
        b'{"name": 5, "identity": "x"}',
        b'{"key": "x"}',
        b'{"key": "x", "a": 1}',
        b"[" * 100_000,
        b"\xff",
        b"null",
        b"9" * 5000,
    ],
)
def test_journal_that_something_else_wrote_into_keeps_what_is_before_it(
    tmp_path: Path, line: bytes
) -> None:
    shards = ShardDirectory(tmp_path / "shards")
    shards.write_shard(Shard("one"), "key", [{"a": 1}])
    with shards.keys_path.open("ab") as file:
        file.write(line + b"\n")
    assert ShardDirectory(tmp_path / "shards").is_fresh(Shard("one"), "key")
    score = b'{"key": "k", "on_database": true, "on_suite": true}'
    assert read_journal(line + b"\n" + score) == {"k": {"on_database": True, "on_suite": True}}
