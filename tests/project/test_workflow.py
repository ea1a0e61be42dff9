"""The workflows: what they may do, and the commands of the one for pull requests, which run as they
stand, in a checkout, against S3."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.shared.checkout import commit, output, run
from tests.shared.paths import ROOT
from tests.shared.remote_servers import require_plugin, serve_s3

ALL = {
    path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in (ROOT / ".github/workflows").glob("*.yml")
}
WORKFLOW = ALL["dataset"]
NO_ACTION = "no/action@" + "0" * 40
STEPS: list[dict[str, Any]] = WORKFLOW["jobs"]["dataset"]["steps"]
COMMANDS = {step["name"]: step for step in STEPS if "run" in step}
RUN = "The committed run is that of this code and these parameters"
STORED = "Its files are in the remote"
CHANGES = "What changes"


def test_it_runs_on_pull_requests_with_no_more_rights_than_a_comment_needs() -> None:
    assert list(WORKFLOW[True]) == ["pull_request"]  # YAML 1.1 reads `on` as true
    assert WORKFLOW["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert WORKFLOW["jobs"]["dataset"]["timeout-minutes"] <= 15


def test_every_step_runs_a_command_or_an_action_of_a_commit() -> None:
    for workflow in ALL.values():
        for step in (step for job in workflow["jobs"].values() for step in job["steps"]):
            assert ("run" in step) != ("uses" in step), step
            assert set(step) <= {"name", "run", "uses", "with", "env", "if"}, step
            assert re.fullmatch(r"[a-z-]+/[a-z-]+@[0-9a-f]{40}", step.get("uses", NO_ACTION)), step


def test_no_checkout_leaves_its_token_behind_and_no_tool_comes_in_any_version() -> None:
    steps = [step for one in ALL.values() for job in one["jobs"].values() for step in job["steps"]]
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    jobs = [job for one in ALL.values() for job in one["jobs"]]
    assert [step["with"].get("persist-credentials") for step in checkouts] == [False] * (
        len(jobs) - jobs.count("publish")
    )
    installs = [
        line
        for step in steps
        for command in step.get("run", "").splitlines()
        for line in re.findall(r"pip install [^&]*", command)
    ]
    assert len(installs) == 6
    for line in installs:
        assert re.match(r"pip install (-c requirements.lock|--require-hashes|--no-deps) ", line)
    builds = [step["run"] for step in steps if "python -m build" in step.get("run", "")]
    assert [re.findall("python -m build.*", run) for run in builds] == [
        ["python -m build --no-isolation"]
    ]


def test_only_what_publishes_may_prove_who_it_is() -> None:
    assert ALL["test"]["permissions"] == {"contents": "read"}
    assert ALL["release"]["permissions"] == {}
    rights = {name: job["permissions"] for name, job in ALL["release"]["jobs"].items()}
    assert rights == {"build": {"contents": "read"}, "publish": {"id-token": "write"}}
    assert not any("run" in step for step in ALL["release"]["jobs"]["publish"]["steps"])


@pytest.mark.parametrize("step", COMMANDS.values(), ids=COMMANDS)
def test_command_is_bash_without_a_mistake_and_without_expressions(step: dict[str, Any]) -> None:
    assert "${{" not in step["run"], "what others write must not become a command"
    done = subprocess.run(
        ["bash", "-n"], input=step["run"], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""


def test_reward_runs_on_each_system_by_files_that_are_there() -> None:
    job = ALL["test"]["jobs"]["reward"]
    systems = {name.removesuffix("-latest") for name in job["strategy"]["matrix"]["system"]}
    assert systems == {"ubuntu", "macos", "windows"}
    named = [
        path
        for step in job["steps"]
        for path in re.findall(r"tests/[\w/]+[.]py", step.get("run", ""))
    ]
    assert len(named) == 4
    assert all((ROOT / path).is_file() for path in named)


def run_step(folder: Path, name: str, base: str) -> tuple[int, str]:
    """Status and output of a step of the workflow, as a runner starts it."""
    environment = {
        "HOME": str(folder.parent),
        "BASE": base,
        "GITHUB_STEP_SUMMARY": str(folder.parent / "summary.md"),
        "AWS_ACCESS_KEY_ID": "maintainer",
        "AWS_SECRET_ACCESS_KEY": "secret-of-the-test",
        "AWS_MAX_ATTEMPTS": COMMANDS[STORED]["env"]["AWS_MAX_ATTEMPTS"],
    }
    shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
    done = run(folder, *shell, COMMANDS[name]["run"], environment=environment, check=False)
    return done.returncode, output(done)


def clone_head(maintainer: Path, folder: Path) -> Path:
    """What `actions/checkout` lays out: the commits, and no data."""
    run(maintainer, "git", "clone", "-q", f"file://{maintainer}", str(folder))
    return folder


@pytest.mark.slow
def test_pull_request_is_checked_and_told_what_it_changes(finished: Path, tmp_path: Path) -> None:
    require_plugin("s3")
    maintainer = tmp_path / "maintainer"
    shutil.copytree(finished, maintainer, symlinks=True)
    with serve_s3(tmp_path / "s3") as server:
        settings = {
            "endpointurl": f"http://127.0.0.1:{server.port}",
            "region": "us-east-1",
            "verify": "true",
        }
        run(maintainer, "dvc", "remote", "add", "--default", "team", "s3://datasets/answerkey")
        for key, value in settings.items():
            run(maintainer, "dvc", "remote", "modify", "team", key, value)
        commit(maintainer, "Share over S3")
        base = run(maintainer, "git", "rev-parse", "HEAD").stdout.strip()
        keys = {"AWS_ACCESS_KEY_ID": server.user, "AWS_SECRET_ACCESS_KEY": server.password}

        params = maintainer / "params.yaml"
        text = params.read_text(encoding="utf-8")
        text, changes = re.subn(r"(?<=easy_max_tables: )2$", "1", text, flags=re.MULTILINE)
        assert changes == 1
        params.write_text(text, encoding="utf-8")
        commit(maintainer, "Forgotten: dvc repro")
        runner = clone_head(maintainer, tmp_path / "runner-1" / "answerkey")
        status, said = run_step(runner, RUN, base)
        assert status == 1
        assert "::error::dvc.lock is not the run of this code" in said

        run(maintainer, "dvc", "repro")
        commit(maintainer, "Forgotten: dvc push")
        runner = clone_head(maintainer, tmp_path / "runner-2" / "answerkey")
        assert run_step(runner, RUN, base)[0] == 0
        status, said = run_step(runner, STORED, base)
        assert status == 1
        assert "::error::not in the remote: dvc push" in said
        assert "data/questions/" in said.split("::error::")[1]

        run(maintainer, "dvc", "push", environment=keys)
        status, said = run_step(runner, STORED, base)
        assert status == 0, said
    status, said = run_step(runner, CHANGES, base)
    assert status == 0, said
    changes = (runner / "changes.md").read_text(encoding="utf-8")
    assert re.search(
        r"^\| params\.yaml \| classify_difficulty\.easy_max_tables \| 2 +\| 1 ", changes, re.M
    )
    assert re.search(r"^\| metrics/dataset\.json +\| ", changes, re.M)
    assert (tmp_path / "runner-2/summary.md").read_text(encoding="utf-8") == changes
    assert not (runner / "data/questions").exists()


@pytest.mark.slow
def test_default_remote_beside_the_repository_is_not_asked(tmp_path: Path) -> None:
    folder = clone_head(ROOT, tmp_path / "answerkey")
    status, said = run_step(folder, STORED, "HEAD")
    assert status == 0
    assert "::notice::" in said
