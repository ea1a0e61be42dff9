"""The hub gives the very file that was asked for, or an error before the deadline."""

import hashlib

import pytest

from answerkey.corpus.hub import HubError, fetch_file, resolve_revision
from answerkey.sections.corpora import Download
from tests.shared.hub_server import run_hubs

OLD, NEW = "a" * 40, "b" * 40
REPO = "org/corpus"
CONTENT = b"SQLite and more " * 1000
WORLD = {REPO: {OLD: {"data/a.bin": CONTENT}, NEW: {"data/a.bin": b"newer"}}}
BRANCHES = {REPO: {"main": NEW, "release/v1": OLD}}
LIMITS = Download(deadline_s=20)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    with run_hubs(monkeypatch, tmp_path / "hf") as start:
        yield lambda **faults: start(WORLD, BRANCHES, **faults)


def fetch(repo_id=REPO, revision=OLD, path="data/a.bin", limits=LIMITS, **options):
    return fetch_file(repo_id, revision, path, limits=limits, **options)


def test_file_of_a_cached_commit_is_not_asked_for_again_and_no_other_stands_in(hub, monkeypatch):
    server = hub()
    assert fetch(sha256=hashlib.sha256(CONTENT).hexdigest()).read_bytes() == CONTENT
    asked = len(server.requests)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert fetch().read_bytes() == CONTENT
    with pytest.raises(HubError, match=r"OfflineModeIsEnabled|LocalEntryNotFound"):
        fetch(revision=NEW)
    with pytest.raises(HubError, match="OfflineModeIsEnabled"):
        resolve_revision(REPO, "main", limits=LIMITS)
    assert len(server.requests) == asked


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
        ({"repo_id": "org/missing"}, "of org/missing at .*: RepositoryNotFound"),
        ({"path": "data/missing.bin"}, "^data/missing.bin of .*: .*EntryNotFound"),
        ({"revision": "d" * 40}, "at dddd.*: RevisionNotFound"),
    ],
)
def test_what_is_not_there_is_named(hub, asked, words):
    hub()
    with pytest.raises(HubError, match=words) as caught:
        fetch(**asked)
    assert "\n" not in str(caught.value)


def test_restricted_repository_needs_a_token(hub, monkeypatch):
    hub(token="hf_secret")
    with pytest.raises(HubError, match="GatedRepo"):
        fetch()
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert fetch().read_bytes() == CONTENT


def test_server_error_is_tried_again_and_mended(hub):
    server = hub(failing=1)
    assert fetch().read_bytes() == CONTENT
    assert server.requests[0] == server.requests[1]


def test_damaged_file_leaves_the_cache_and_is_fetched_anew(hub):
    server = hub()
    fetch().write_bytes(b"damaged")
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    with pytest.raises(HubError, match=f"data/a.bin of .*wrong checksum.*expected {sha256}"):
        fetch(sha256=sha256)
    assert fetch(sha256=sha256).read_bytes() == CONTENT
    assert server.count_fetched("data/a.bin") == 2


@pytest.mark.parametrize(
    "fault",
    [
        {"silent_methods": ("HEAD",)},
        pytest.param({"silent_methods": ("GET",)}, marks=pytest.mark.slow),
        {"is_stalling": True},
        {"failing": -1},
    ],
    ids=["silent before the headers", "silent before the body", "stalls half-way", "fails"],
)
def test_server_that_gives_nothing_is_left_at_the_deadline(hub, fault):
    hub(**fault)
    with pytest.raises(HubError, match=r"no end after 1 s \(download.deadline_s\)"):
        fetch(limits=Download(deadline_s=1.0))


@pytest.mark.slow  # the hub's library tries for half a minute
def test_absent_network_is_told(hub, monkeypatch):
    hub()
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(HubError, match=r"LocalEntryNotFound.*check your connection"):
        fetch(limits=Download(deadline_s=100))
