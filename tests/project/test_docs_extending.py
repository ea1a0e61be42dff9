"""docs/extending.md: the doubt, the neighbor, the export and the layout that it adds go through all
stages."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from pyarrow import parquet

from answerkey.exports.columns import FACTS
from answerkey.flags import FLAGS
from tests.shared.bird_world import RESORTS
from tests.shared.checkout import make_checkout, run
from tests.shared.databases import make_database
from tests.shared.paths import ROOT
from tests.shared.transcripts import find_block, read_section

PAGE = ROOT / "docs/extending.md"
DOCUMENT = PAGE.read_text(encoding="utf-8")
MODULE = re.compile(
    r"`((?:answerkey|stages)/[\w/]+\.py)`:\n\n```python\n(.*?)^```$", re.DOTALL | re.MULTILINE
)
FIXTURE = "tests/doubts/fixtures/no_table.yaml"
TITLES = ("A doubt", "A neighbor", "An export")
PLACE = re.compile(r"^\| `([^`]+)` \| (.+) \| `([^`]+)` \|$", re.MULTILINE)


def extend(folder: Path, title: str) -> None:
    """Do in a checkout what a section of the document says: write a module, and insert lines."""
    section = read_section(PAGE, title)
    ((path, text),) = MODULE.findall(section)
    if (folder / path).is_file():  # a tree in which somebody has done so
        return
    (folder / path).write_text(text, encoding="utf-8")
    places = PLACE.findall(section)
    assert len(places) >= 2
    for place in places:
        insert_line(folder, *place)


def insert_line(folder: Path, path: str, where: str, line: str) -> None:
    """Put a line where the document says: among the imports, at the top of a mapping, a tuple, a
    class or a list, or at the end of a mapping or a tuple."""
    text = (folder / path).read_text(encoding="utf-8")
    name, *of_stage = re.findall(r"`(?:class )?(\w+)`", where)
    if of_stage:
        head, indent = rf"^  {of_stage[0]}:\n(?:    .*\n)*?    {name}:\n", " " * 6
    elif where.startswith("end of"):
        head, indent = rf"^{name}\b.*[{{(]\n(?:    .*\n)*(?=[}})]\n)", " " * 4
    elif name == "import":
        head, indent = r"(?=^from answerkey\.)", ""
    else:
        head, indent = rf"^(?:class |  )?{name}\b.*[\[{{(:]\n", " " * 4
    found = re.search(head, text, re.MULTILINE)
    assert found, f"{path}: no {where}"
    changed = f"{text[: found.end()]}{indent}{line}\n{text[found.end() :]}"
    (folder / path).write_text(changed, encoding="utf-8")


def test_every_file_that_is_named_exists_or_is_a_new_one() -> None:
    new = {
        f"answerkey/{name}.py" for name in ("doubts/no_table", "rewrites/limits", "exports/alpaca")
    }
    new.add(FIXTURE)
    named = set(re.findall(r"`((?:answerkey|stages|tests)/[a-z_/]+\.(?:py|yaml))`", DOCUMENT))
    assert new < named
    assert [path for path in sorted(named - new) if not (ROOT / path).is_file()] == []


# The reason of a question with an older flag and the new one, which both exclude; and all flags.
ASK_ORDER = """
from answerkey.flags import FLAGS
from answerkey.selection.policies import find_exclusion, read_policies
flags = [{"code": code, "evidence": None} for code in ("no_table", "tie_at_limit")]
print(find_exclusion(flags, read_policies({}))[0], *FLAGS)
"""


def test_added_flag_outranks_no_other(tmp_path: Path) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(ROOT / "answerkey", folder / "answerkey")
    extend(folder, "A doubt")
    reason, *names = run(folder, "python", "-c", ASK_ORDER).stdout.split()
    assert reason == "tie_at_limit"
    assert names == [*(name for name in FLAGS if name != "no_table"), "no_table"]


def list_export(folder: Path) -> None:
    """Put the folder of the export into the list of docs/exports.md."""
    exports = folder / "docs/exports.md"
    text = exports.read_text(encoding="utf-8")
    line = "data/exports/alpaca/  train.parquet, eval.parquet, README.md\n"
    exports.write_text(re.sub(r"(?m)^(?=data/exports/prompts/)", line, text), encoding="utf-8")


@pytest.mark.slow
def test_added_doubt_neighbor_and_export_pass_the_checks(tmp_path: Path) -> None:
    folder = make_checkout(tmp_path / "answerkey")
    for title in TITLES:
        extend(folder, title)
    (folder / FIXTURE).write_text(find_block(PAGE, "yaml", "doubted:"), encoding="utf-8")
    run(folder, "make", "fix")
    list_export(folder)
    tables = re.findall(r"`pytest (\S+) --rewrite`", DOCUMENT)
    assert len(tables) == 2
    for file in tables:
        run(folder, "python", "-m", "pytest", "-q", "-n", "0", file, "--rewrite")
    run(folder, "ruff", "check", ".")
    run(folder, "ruff", "format", "--check", ".")
    tests = (
        "tests/project",
        "tests/test_flags.py",
        "tests/stages/test_export_trainers.py",
        "tests/alternatives",
        "tests/doubts/test_fixtures.py",
    )
    run(folder, "python", "-m", "pytest", "-q", "-n", "0", *tests)


@pytest.mark.slow
def test_added_doubt_neighbor_and_export_go_through_every_stage(
    finished: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "answerkey"
    shutil.copytree(finished, folder, symlinks=True)
    for title in TITLES:
        extend(folder, title)
    questions = folder / "data/sample/dev.json"
    rows = json.loads(questions.read_text(encoding="utf-8"))
    asked = {"db_id": rows[0]["db_id"], "question": "Seven times six?", "query": "SELECT 7 * 6"}
    questions.write_text(json.dumps([*rows, asked]), encoding="utf-8")

    run(folder, "python", "-m", "pytest", "-q", "tests/project/test_pipeline_definition.py")
    run(folder, "dvc", "repro")

    excluded = (folder / "data/questions/excluded.jsonl").read_text(encoding="utf-8").splitlines()
    found = [record for record in map(json.loads, excluded) if record["reason"] == "no_table"]
    assert [(record["gold_sql"], record["detail"]) for record in found] == [
        ("SELECT 7 * 6", '{"rows": 1}')
    ]
    product = json.loads((folder / "data/questions/questions_eval.json").read_text("utf-8"))
    table = parquet.read_table(folder / "data/exports/alpaca/eval.parquet")
    facts = [name for name in FACTS if name != "now"]  # of which no corpus here has one
    assert table.column_names == ["instruction", "input", "output", *facts]
    assert table["output"].to_pylist() == [question["gold_sql"] for question in product]
    trained, others = (
        parquet.read_table(folder / f"data/exports/{name}/train.parquet")["question_id"]
        for name in ("alpaca", "trl/messages")
    )
    assert trained == others  # without those whose gold SQL is too doubtful


def test_adding_a_corpus_takes_twenty_lines() -> None:
    blocks = (
        find_block(PAGE, "python", "LAYOUTS["),
        find_block(PAGE, "yaml", "helpdesk:"),
        find_block(PAGE, "sh", "answerkey choose"),
    )
    assert sum(len(block.splitlines()) for block in blocks) <= 20


def write_helpdesk(root: Path) -> None:
    asked = {"asked": "tickets", "asked_later": "resorts"}
    for file, db_id in asked.items():
        make_database(root / f"sqlite/{db_id}/{db_id}.sqlite", RESORTS)
        rows = [
            {
                "db": db_id,
                "text": f"Which resorts of {db_id} are above {height}?",
                "answer_sql": f"SELECT `Resort Name` FROM resort WHERE `Top (m)` > {height}",
                "hint": "above refers to `Top (m)`" if height == 2500 else "",
                "level": height,
            }
            for height in (2000, 2500)
        ]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (root / f"{file}.jsonl").write_text(lines, encoding="utf-8")


@pytest.mark.slow
def test_added_corpus_goes_through_every_stage(tmp_path: Path) -> None:
    folder = make_checkout(tmp_path / "answerkey")
    with (folder / "answerkey/corpus/corpora.py").open("a", encoding="utf-8") as file:
        file.write(find_block(PAGE, "python", "LAYOUTS["))
    params = (folder / "params.yaml").read_text(encoding="utf-8")
    entry = find_block(PAGE, "yaml", "helpdesk:")
    params = re.sub(r"(?m)^corpora:.*\n", lambda found: f"{found[0]}{entry}\n", params)
    params = params.replace("preset: null", "preset: small")
    (folder / "params.yaml").write_text(params, encoding="utf-8")
    write_helpdesk(folder / "data/helpdesk")
    (command,) = find_block(PAGE, "sh", "answerkey choose").splitlines()
    run(folder, "python", "-m", *command.split())  # the code of this folder
    assert "\ncorpus: helpdesk " in (folder / "params.yaml").read_text(encoding="utf-8")

    run(folder, "dvc", "repro")

    exported = (folder / "data/exports/openenv/eval.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in exported.splitlines()]
    assert [(line["question_id"], line["evidence"]) for line in lines] == [
        ("resorts_eval_000", None),
        ("resorts_eval_001", "above refers to `Top (m)`"),
    ]
    audit = (folder / "data/questions/audit.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["source"]["level"] for line in audit] == [2000, 2500] * 2
    # A changed question is noticed.
    questions = folder / "data/helpdesk/asked.jsonl"
    questions.write_text(questions.read_text(encoding="utf-8").replace("Which", "What"))
    assert "load_questions" in run(folder, "dvc", "status").stdout
