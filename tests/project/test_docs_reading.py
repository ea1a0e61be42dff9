"""The sample, read by a scripted model: what it writes is taken by the pipeline."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from answerkey.base.records import read_jsonl
from answerkey.corpus.loading import read_corrections
from answerkey.risk.verdicts import read_verdict_file
from tests.shared.checkout import run
from tests.shared.model_server import Raw, Request, judge, query, serve
from tests.shared.paths import ROOT

PAGE = "docs/reading.md"
COMMAND = "$ answerkey read --name scripted\n"


def take_repair(request: Request) -> Raw:
    """One query, and then the first repair for what is asked, if there is one."""
    prompt, *others = (message["content"] for message in request["messages"])
    if not others:
        return query("SELECT 1", tokens=None)
    _, _, repairs = prompt.partition("\nOther queries, written by rules:\n")
    sql = repairs.partition("\nThe answers differ")[0].partition("\nIt has the same answer")[0]
    return judge("wrong", sql.strip(), tokens=None) if repairs else judge("right", tokens=None)


@pytest.mark.slow
def test_reading_is_that_of_a_run_and_the_pipeline_takes_it(
    finished: Path, tmp_path: Path, expect_page: Callable[[str, str], None]
) -> None:
    folder = tmp_path / "answerkey"
    shutil.copytree(finished, folder, symlinks=True)
    command = (sys.executable, "-m", "answerkey", "read", "--name", "scripted")
    with serve(take_repair) as server:
        environment = {
            "OPENAI_BASE_URL": server.url,
            "OPENAI_MODEL": "scripted",
            "no_proxy": "127.0.0.1",
        }
        done = run(folder, *command, environment=environment)
        told = done.stderr.splitlines()
        assert [line for line in told if ": right: gold has no answer (" not in line] == []
        text = (ROOT / PAGE).read_text(encoding="utf-8")
        before, _, rest = text.partition(COMMAND)
        expect_page(PAGE, f"{before}{COMMAND}{done.stdout}{rest[rest.index('```') :]}")

        verdicts = read_verdict_file(folder / "data/verdicts/scripted.jsonl")
        corrections = read_corrections(folder / "data/corrections/scripted.yaml")
        assert corrections
        params = folder / "params.yaml"
        entry = "    root: data/sample\n"
        text = params.read_text(encoding="utf-8")
        assert entry in text
        params.write_text(
            text.replace(entry, f"{entry}    corrections: scripted\n"), encoding="utf-8"
        )
        run(folder, "dvc", "repro")
        again = run(folder, *command, environment=environment, check=False)
        assert again.returncode == 1  # no reading came to a verdict
        asked_again = again.stderr.splitlines()
        assert set(told) <= set(asked_again)
        assert any(line.startswith(f"{len(told)} readings, ") for line in asked_again)  # no others

    joined = list(read_jsonl(folder / "data/interim/joined.jsonl"))
    flags = {
        (question["gold_sql"], question["question_text"]): [
            flag["code"] for flag in question["flags"]
        ]
        for question in joined
        if question["answer_type"] is not None
    }
    assert sum("correction" in question["source"] for question in joined) >= len(corrections)
    for correction in corrections:
        sql = correction.replacement["gold_sql"]
        known = flags.get((sql, correction.question))  # None: it has no answer that counts
        assert known is None or "judged_right" in known
    for verdict in verdicts:
        if (
            verdict.readings == ["right", "right"]
            and (verdict.gold_sql, verdict.question_text) in flags
        ):
            assert "judged_right" in flags[verdict.gold_sql, verdict.question_text]
