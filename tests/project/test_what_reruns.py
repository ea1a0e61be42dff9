"""One change reruns one thing: each is made in a clone in which the pipeline has run."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import networkx
import pytest
import yaml

from tests.project.test_docs_extending import extend
from tests.shared.checkout import output, run, stages_to_run
from tests.shared.paths import ROOT

PIPELINE = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
# How stages say what they executed, parsed, audited and made.
WORK = (r"(\d+) queries executed", r"(\d+) queries parsed", r"(\d+) queries audited")
WORK += (r"suites of (\d+) made",)

# What is changed: in which file, from what, to what; which stages rerun that need nothing of each
# other; of WORK, what may be done again.
CHANGES = {
    "a probe": (
        "answerkey/probes/answers.py",
        "from __future__ import annotations\n",
        "from __future__ import annotations\n\nCHANGED = True\n",
        "audit_gold_answers",
        [2],
    ),
    "the sentence of a flag": (
        "answerkey/flags.py",
        "The answer has no row",
        "The answer is without rows",
        "classify_difficulty",  # which ranks the questions that no policy excludes
        [],
    ),
    "the default policy of a flag": (
        "answerkey/flags.py",
        "tie_at_limit: exclude",
        "tie_at_limit: flag",
        "classify_difficulty",
        [],
    ),
    "a neighbor operator": (
        "answerkey/suites/neighbors.py",
        "from __future__ import annotations\n",
        "from __future__ import annotations\n\nCHANGED = True\n",
        "generate_test_suites",
        [3],
    ),
    "a reading": (
        "answerkey/suites/readings.py",
        "from __future__ import annotations\n",
        "from __future__ import annotations\n\nCHANGED = True\n",
        "generate_test_suites",
        [3],
    ),
    "a comparison of answers": (
        "answerkey/scoring/comparison.py",
        "from __future__ import annotations\n",
        "from __future__ import annotations\n\nCHANGED = True\n",
        "score_rollouts",
        [],
    ),
    "a rule of comparison": (
        "answerkey/scoring/rules.py",
        "from __future__ import annotations\n",
        "from __future__ import annotations\n\nCHANGED = True\n",
        "score_rollouts",
        [],
    ),
    "a template of the page": (
        "answerkey/report/templates/report.html.j2",
        "</body>",
        "<!-- changed --></body>",
        "report_dataset",
        [],
    ),
    "a docstring of a section": (
        "answerkey/sections/generate_test_suites.py",
        "of all chance",
        "of every chance",
        "generate_test_suites",
        [],
    ),
    "a docstring of a section that other stages know": (
        "answerkey/sections/audit_gold_answers.py",
        '"""',
        '"""Changed. ',
        "audit_gold_answers",
        [],
    ),
    "a docstring of the room of foreign SQL": (
        "answerkey/sqlite/guard.py",
        '"""',
        '"""Changed. ',
        "download_databases load_questions",
        [],
    ),
}


def find_followers(name: str) -> set[str]:
    """A stage, and those that need what it makes."""
    makers = {
        out if isinstance(out, str) else next(iter(out)): stage
        for stage, declared in PIPELINE.items()
        for out in [*declared.get("outs", []), *declared.get("metrics", [])]
    }
    graph = networkx.DiGraph(
        (maker, stage)
        for stage, declared in PIPELINE.items()
        for dep in declared["deps"]
        for out, maker in makers.items()
        if dep == out or dep.startswith(f"{out}/")
    )
    return {name} | networkx.descendants(graph, name)


@pytest.fixture(scope="module")
def clone(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reruns") / "answerkey"
    return shutil.copytree(finished, folder, symlinks=True)


def check_run(clone: Path, firsts: list[str], worked: list[int]) -> None:
    """Run what has changed: it begins with the first of these stages, reruns none but them and
    those that follow, and does no other work."""
    said = output(run(clone, "dvc", "repro"))
    ran = stages_to_run(said)
    assert ran[0] == firsts[0]
    assert set(ran) <= set().union(*map(find_followers, firsts))
    done = [sum(map(int, re.findall(pattern, said))) for pattern in WORK]
    assert [number for number, count in enumerate(done) if count] == worked


@pytest.mark.slow
@pytest.mark.parametrize("what", CHANGES)
def test_change_reruns_what_it_concerns_and_works_no_more(clone: Path, what: str) -> None:
    name, before, after, firsts, worked = CHANGES[what]
    text = (clone / name).read_text(encoding="utf-8")
    assert before in text
    (clone / name).write_text(text.replace(before, after, 1), encoding="utf-8")
    check_run(clone, firsts.split(), worked)


@pytest.mark.slow
def test_new_probe_audits_and_works_no_more(clone: Path) -> None:
    extend(clone, "A probe")
    check_run(clone, ["audit_gold_answers"], [2])


def test_report_is_all_that_follows_a_template() -> None:
    assert find_followers("report_dataset") == {"report_dataset"}
