"""A dvc.lock that DVC was writing when it was killed: docs/sharing.md has its message, and the way
to mend it loses nothing."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml

from tests.shared.checkout import output, run, stages_to_run
from tests.shared.paths import ROOT
from tests.shared.transcripts import read_section

pytestmark = pytest.mark.slow


@pytest.fixture
def changed(finished: Path, tmp_path: Path) -> Path:
    """A clone in which a changed threshold has run, and nothing of it is committed."""
    folder = tmp_path / "answerkey"
    shutil.copytree(finished, folder, symlinks=True)
    params = folder / "params.yaml"
    text = params.read_text(encoding="utf-8")
    params.write_text(text.replace("easy_max_tables: 2", "easy_max_tables: 1"), encoding="utf-8")
    run(folder, "dvc", "repro")
    return folder


def test_torn_lock_file_is_mended_as_the_docs_say(changed: Path) -> None:
    path = changed / "dvc.lock"
    whole = path.read_bytes()
    section = read_section(ROOT / "docs/sharing.md", "A torn dvc.lock")
    messages, way = re.findall(r"```\n(.*?)\n```", section, re.DOTALL)
    heard = set()
    start = whole.index(b"  parse_gold_sql:")
    for end in (whole.index(b"size: ", start) + 6, whole.index(b"md5: ", start) + 2):
        path.write_bytes(whole[:end])
        done = run(changed, "dvc", "repro", check=False)
        assert done.returncode != 0
        heard |= {message for message in messages.splitlines() if message in output(done)}
    assert heard == set(messages.splitlines())
    said = "".join(output(run(changed, *command.split())) for command in way.splitlines())
    assert "executed" not in said
    assert stages_to_run(said) == ["export_dataset"]  # the one that DVC's cache of runs leaves out
    assert path.read_bytes() == whole


def test_lock_file_that_ends_between_stages_is_completed(changed: Path) -> None:
    path = changed / "dvc.lock"
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"  compute_gold_answers:")])
    said = output(run(changed, "dvc", "repro"))
    assert set(re.findall(r"(\d+) queries", said)) <= {"0"}
    assert yaml.safe_load(path.read_bytes()) == yaml.safe_load(whole)
