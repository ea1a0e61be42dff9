"""The hub gives the very file that was asked for, or an error before the deadline."""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from answerkey.corpus import hub as hub_module
from answerkey.corpus.hub import HubError, fetch_file, resolve_revision
from answerkey.corpus.pin_revisions import edit_params, pin_corpora
from answerkey.sections.corpora import Download
from tests.shared.hub_server import HubServer, run_hubs
from tests.shared.paths import ROOT

OLD, NEW = "a" * 40, "b" * 40
REPO = "org/corpus"
CONTENT = b"SQLite and more " * 1000
TRAIN, DEV, ARCHIVE = "s/train.parquet", "s/dev.parquet", "all.zip"
WORLD = {
    REPO: {OLD: {"data/a.bin": CONTENT}, NEW: {"data/a.bin": b"newer"}},
    "org/questions": {NEW: {TRAIN: b"new train", DEV: b"new dev"}},
    "org/databases": {NEW: {ARCHIVE: b"new zip"}},
}
BRANCHES = {name: {"main": NEW, "release/v1": OLD} for name in WORLD}
LIMITS = Download(deadline_s=20)


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., HubServer]]:
    """A function that starts the hub, in an empty directory."""
    monkeypatch.chdir(tmp_path)
    with run_hubs(monkeypatch, tmp_path / "hf") as start:
        yield lambda **faults: start(WORLD, BRANCHES, **faults)


def hash_bytes(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def fetch(repo_id=REPO, revision=OLD, path="data/a.bin", limits=LIMITS, **options):
    return fetch_file(repo_id, revision, path, limits=limits, **options)


@pytest.mark.slow
def test_file_of_a_cached_commit_is_not_asked_for_again_and_no_other_stands_in(hub, monkeypatch):
    server = hub()
    assert fetch(sha256=hash_bytes(CONTENT)).read_bytes() == CONTENT
    asked = len(server.requests)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert fetch().read_bytes() == CONTENT
    with pytest.raises(HubError, match=r"OfflineModeIsEnabled|LocalEntryNotFound"):
        fetch(revision=NEW)
    with pytest.raises(HubError, match="OfflineModeIsEnabled"):
        resolve_revision(REPO, "main", limits=LIMITS)
    assert len(server.requests) == asked


@pytest.mark.slow
def test_branch_is_resolved_online_and_commit_is_its_own_answer(hub):
    server = hub()
    assert resolve_revision(REPO, OLD, limits=LIMITS) == OLD
    assert server.requests == []
    assert resolve_revision(REPO, "main", limits=LIMITS) == NEW
    assert resolve_revision(REPO, "release/v1", limits=LIMITS) == OLD
    with pytest.raises(HubError, match="nowhere: RevisionNotFound"):
        resolve_revision(REPO, "nowhere", limits=LIMITS)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param(
            {"repo_id": "org/missing"},
            "of org/missing at .*: RepositoryNotFound",
            marks=pytest.mark.slow,
        ),
        ({"path": "data/missing.bin"}, "^data/missing.bin of .*: .*EntryNotFound"),
        pytest.param({"revision": "d" * 40}, "at dddd.*: RevisionNotFound", marks=pytest.mark.slow),
    ],
)
def test_what_is_not_there_is_named(hub, asked, words):
    hub()
    with pytest.raises(HubError, match=words) as caught:
        fetch(**asked)
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_restricted_repository_needs_a_token(hub, monkeypatch):
    hub(token="hf_secret")
    with pytest.raises(HubError, match="GatedRepo"):
        fetch()
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert fetch().read_bytes() == CONTENT


def test_server_error_is_tried_again_and_mended(hub, capsys):
    server = hub(failing=1)
    assert fetch().read_bytes() == CONTENT
    assert server.requests[0] == server.requests[1]
    words = f"hub: data/a.bin of {REPO} at {OLD}: HTTP 500 Internal Server Error; once more\n"
    assert capsys.readouterr().err == words


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "words", "fetched"),
    [
        ({"failing": -1}, "HTTP 500", 0),
        ({"is_cutting": True}, "RemoteProtocolError", 2),
        ({"is_lying": True}, f"wrong checksum: .*, expected {hash_bytes(CONTENT)}", 2),
    ],
    ids=["fails", "cuts the body off", "sends another file"],
)
def test_what_fails_is_tried_twice_after_a_pause_and_no_more(
    hub, monkeypatch, fault, words, fetched
):
    monkeypatch.setattr(hub_module, "_BACKOFF_S", 3.0)  # longer than a process takes to start
    server = hub(**fault)
    with pytest.raises(HubError, match=rf"^data/a.bin of .*{words}.*2 attempts; .*`local`"):
        fetch(sha256=hash_bytes(CONTENT), limits=Download(deadline_s=100))
    first, second = (
        when for line, when in zip(server.requests, server.times, strict=True) if "HEAD" in line
    )
    assert second - first >= 3
    assert server.count_fetched("data/a.bin") == fetched


def test_damaged_file_leaves_the_cache_and_is_fetched_anew(hub):
    server = hub()
    fetch().write_bytes(b"damaged")
    assert fetch(sha256=hash_bytes(CONTENT)).read_bytes() == CONTENT
    assert server.count_fetched("data/a.bin") == 2


def test_whoever_waits_is_told(hub, monkeypatch, capsys):
    monkeypatch.setattr("answerkey.corpus.hub._SILENCE_S", 0.25)
    hub(silent_methods=("HEAD",))
    with pytest.raises(HubError, match="no end after 1 s"):
        fetch(limits=Download(deadline_s=1.0))
    first, *_ = capsys.readouterr().err.splitlines()
    assert first == f"hub: data/a.bin of {REPO}: waiting, 0.25 s so far, 1 s at most"


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"silent_methods": ("HEAD",)}, marks=pytest.mark.slow),
        pytest.param({"silent_methods": ("GET",)}, marks=pytest.mark.slow),
        {"is_stalling": True},
    ],
    ids=["silent before the headers", "silent before the body", "stalls half-way"],
)
def test_server_that_gives_nothing_is_left_at_the_deadline(hub, fault):
    hub(**fault)
    with pytest.raises(HubError, match=r"no end after 1 s \(download.deadline_s\)"):
        fetch(limits=Download(deadline_s=1.0))


def test_absent_network_is_told_with_what_needs_none(hub, monkeypatch):
    hub()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(HubError, match=r"ConnectError.*without a network, .*`corpus: sample`"):
        fetch(limits=Download(deadline_s=100))


# --- `answerkey pin`


PARAMS = """\
# The knobs.
corpus: local  # what is built

corpora:
  local:
    origin: directory
    root: data/local
    db_list: all
    license: null  # not known
    questions: {train: [train.json], validation: [dev.json]}

  tried:  # from the hub
    origin: hub
    db_list:
      - car_1  # validation
      - pets_1
    license: null
    questions:
      repo_id: org/questions
      revision: QUESTIONS  # of the questions
      files:
        train: [s/train.parquet]
        validation: [s/dev.parquet]
      sha256: {}  # path: checksum
    databases:
      kind: archive
      archive:
        repo_id: org/databases
        revision: DATABASES
        path: all.zip
        sha256: ARCHIVE
        member: "{db_id}.sqlite"

download: {deadline_s: 30}

"""
# The other sections are those of the project.
_, _, OTHERS = (ROOT / "params.yaml").read_text(encoding="utf-8").partition("\nexecution:")
PARAMS += "execution:" + OTHERS.replace("date_text_order: flag", 'date_text_order: "off"')


def make_params(questions: str = "main", databases: str = "main", archive: str = "null") -> str:
    values = {"QUESTIONS": questions, "DATABASES": databases, "ARCHIVE": archive}
    return re.sub("[A-Z]{7,}", lambda found: values.get(found[0], found[0]), PARAMS)


def pin(text: str, *names: str) -> str:
    """Run the command on a text of params.yaml; what it says then."""
    Path("params.yaml").write_text(text, encoding="utf-8")
    pin_corpora(list(names))
    return Path("params.yaml").read_text(encoding="utf-8")


def find_changes(before: str, after: str) -> list[str]:
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [line for line in lines if line[0] in "+-"]


@pytest.mark.slow
def test_branches_become_commits_with_the_checksums_of_their_files(
    hub: Callable[..., HubServer], capsys: pytest.CaptureFixture[str]
) -> None:
    hub()
    before = make_params()
    assert find_changes(before, pin(before, "tried")) == [
        "-       revision: main  # of the questions",
        f"+       revision: {NEW} # of the questions",
        "-       sha256: {}  # path: checksum",
        "+       sha256:     # path: checksum",
        f"+         s/train.parquet: {hash_bytes(b'new train')}",
        f"+         s/dev.parquet: {hash_bytes(b'new dev')}",
        "-         revision: main",
        f"+         revision: {NEW}",
        "-         sha256: null",
        f"+         sha256: {hash_bytes(b'new zip')}",
    ]
    assert capsys.readouterr().err.splitlines() == [
        f"pin: params.yaml: corpora.tried.questions.revision: {NEW}",
        "pin: params.yaml: corpora.tried.questions.sha256: 2 checksums",
        f"pin: params.yaml: corpora.tried.databases.archive.revision: {NEW}",
        f"pin: params.yaml: corpora.tried.databases.archive.sha256: {hash_bytes(b'new zip')}",
    ]


@pytest.mark.slow
def test_what_is_pinned_stays_byte_for_byte_and_is_not_asked_for(
    hub: Callable[..., HubServer], capsys: pytest.CaptureFixture[str]
) -> None:
    server = hub()
    pinned = pin(make_params(), "tried")
    asked = len(server.requests)
    capsys.readouterr()
    assert pin(pinned, "tried") == pinned
    assert len(server.requests) == asked
    words = "pin: every revision is a commit, every file has its checksum\n"
    assert capsys.readouterr().err == words


@pytest.mark.slow
def test_hub_that_fails_leaves_params_as_they_were(hub: Callable[..., HubServer]) -> None:
    hub(failing=-1)
    with pytest.raises(ConnectionError, match=r"commit of org/questions at main: .*500"):
        pin(make_params(), "tried")
    assert Path("params.yaml").read_text(encoding="utf-8") == make_params()


def test_params_of_the_project_change_where_they_are_meant_to_and_nowhere_else() -> None:
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    place = ("corpora", "spider", "questions", "sha256")
    sha256 = {name: "0" * 64 for name in (TRAIN, DEV)}
    assert edit_params(text, {}) == text
    edited = edit_params(text, {place: sha256})
    expected = yaml.safe_load(text)
    expected["corpora"]["spider"]["questions"]["sha256"] = sha256
    assert yaml.safe_load(edited) == expected
    assert all("sha256" in line or "parquet" in line for line in find_changes(text, edited))


def test_spider_is_read_at_commits() -> None:
    spider = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["corpora"]["spider"]
    places = [spider["questions"], spider["databases"]["archive"], spider["databases"]["files"]]
    assert [len(place["revision"]) for place in places] == [40] * 3


@pytest.mark.parametrize(
    "said",
    ["../../../x", *(pytest.param(said, marks=pytest.mark.slow) for said in ("None", "b" * 12))],
)
def test_answer_that_is_no_commit_is_not_believed(here, monkeypatch, said):
    with run_hubs(monkeypatch, here / "hf") as start:
        start({REPO: {said: {}}}, {REPO: {"main": said}})
        with pytest.raises(HubError, match="expected a commit of 40 hex digits, found"):
            resolve_revision(REPO, "main", limits=LIMITS)
