import hashlib
import socket
import time
from types import SimpleNamespace

import pytest

from answerkey.corpus.hub import HubError, fetch_file, resolve_revision
from answerkey.sections.corpora import Download
from tests.shared.hub_server import run_hubs

OLD, NEW = "a" * 40, "b" * 40
REPO = "org/corpus"
CONTENT = b"SQLite and more " * 1000
WORLD = {REPO: {OLD: {"data/a.bin": CONTENT}, NEW: {"data/a.bin": b"newer"}}}
BRANCHES = {REPO: {"main": NEW, "release/v1": OLD}}
LIMITS = Download(attempts=2, backoff_s=0.05, deadline_s=20)


@pytest.fixture
def hub(tmp_path, monkeypatch):
    with run_hubs(monkeypatch, tmp_path / "hf") as start:
        yield lambda **faults: start(WORLD, BRANCHES, **faults)


def fetch(**options):
    revision = options.pop("revision", OLD)
    repo_id, path = options.pop("repo_id", REPO), options.pop("path", "data/a.bin")
    return fetch_file(repo_id, revision, path, **{"limits": LIMITS} | options)


def test_file_comes_whole_and_into_the_directory_asked_for(hub, tmp_path):
    server = hub()
    path = fetch(directory=tmp_path / "here", sha256=hashlib.sha256(CONTENT).hexdigest())
    assert path.read_bytes() == CONTENT
    assert path.is_relative_to(tmp_path / "here")
    assert server.count_fetched("data/a.bin") == 1


def test_file_of_a_cached_commit_is_not_asked_for_again_and_no_other_stands_in(hub, monkeypatch):
    server = hub()
    assert fetch().read_bytes() == CONTENT
    asked = len(server.requests)
    assert fetch().read_bytes() == CONTENT
    assert len(server.requests) == asked
    missing = "c" * 40
    with pytest.raises(HubError, match=f"{missing}: no such revision"):
        fetch(revision=missing)
    asked = len(server.requests)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert fetch().read_bytes() == CONTENT
    with pytest.raises(HubError, match="HF_HUB_OFFLINE"):
        fetch(revision=NEW)
    with pytest.raises(HubError, match="HF_HUB_OFFLINE"):
        resolve_revision(REPO, "main", limits=LIMITS)
    assert len(server.requests) == asked


def test_file_offered_from_another_commit_is_refused(hub):
    server = hub(shown_commit=NEW)
    with pytest.raises(HubError, match=f"asked for commit {OLD}, was offered {NEW}"):
        fetch()
    assert server.count_fetched("data/a.bin") == 0


def test_branch_is_resolved_online_and_commit_is_its_own_answer(hub):
    server = hub()
    assert resolve_revision(REPO, OLD, limits=LIMITS) == OLD
    assert server.requests == []
    assert resolve_revision(REPO, "main", limits=LIMITS) == NEW
    assert resolve_revision(REPO, "release/v1", limits=LIMITS) == OLD
    with pytest.raises(HubError, match="no such revision"):
        resolve_revision(REPO, "nowhere", limits=LIMITS)


def test_branch_name_is_no_commit_to_fetch_from(hub):
    server = hub()
    with pytest.raises(ValueError, match="40 hex digits, found 'main'"):
        fetch(revision="main")
    assert server.requests == []


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"repo_id": "org/missing"}, "no such dataset"),
        ({"path": "data/missing.bin"}, "no such file"),
        ({"revision": "d" * 40}, "no such revision"),
    ],
)
def test_what_is_not_there_is_asked_for_once_and_named(hub, asked, words):
    server = hub()
    with pytest.raises(HubError, match=words) as caught:
        fetch(**asked)
    assert caught.value.is_permanent
    assert next(iter(asked.values())) in str(caught.value)
    assert server.endpoint in str(caught.value)
    assert len(server.requests) == 1


def test_restricted_repository_needs_a_token(hub, monkeypatch):
    server = hub(token="hf_secret")
    with pytest.raises(HubError, match="HF_TOKEN") as caught:
        fetch()
    assert len(server.requests) == 1
    assert "secret" not in str(caught.value)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert fetch().read_bytes() == CONTENT


def test_server_error_is_tried_again_and_mended(hub):
    server = hub(failing=1)
    assert fetch().read_bytes() == CONTENT
    assert server.requests[0] == server.requests[1]


def test_server_error_ends_after_the_attempts(hub):
    server = hub(failing=-1)
    with pytest.raises(HubError, match=r"HTTP 500 .*2 attempts$"):  # without advice
        fetch()
    assert len(server.requests) == 2


def test_each_pause_is_longer_than_the_one_before_and_none_passes_the_deadline(hub, monkeypatch):
    pauses = []
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=pauses.append)
    monkeypatch.setattr("answerkey.corpus.hub.time", clock)
    server = hub(failing=-1)
    with pytest.raises(HubError, match=r"4 attempts$"):
        fetch(limits=Download(attempts=4, backoff_s=5, deadline_s=600))
    assert pauses == [5, 10, 15]
    with pytest.raises(HubError, match="HTTP 500"):
        fetch(limits=Download(attempts=4, backoff_s=700, deadline_s=600))
    assert len(pauses) == 3
    assert len(server.requests) == 5


def test_file_with_other_bytes_is_found_out_and_fetched_twice(hub):
    server = hub(is_lying=True)
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    with pytest.raises(HubError, match=f"wrong checksum.*expected {sha256}, fetched twice"):
        fetch(sha256=sha256)
    assert server.count_fetched("data/a.bin") == 2


def test_damaged_cache_is_mended_by_a_single_attempt(hub):
    server = hub()
    fetch().write_bytes(b"damaged")
    one = Download(attempts=1, backoff_s=0, deadline_s=20)
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    assert fetch(sha256=sha256, limits=one).read_bytes() == CONTENT
    assert server.count_fetched("data/a.bin") == 2


def refuse_other_sizes(path):
    if path.stat().st_size != len(CONTENT):
        raise ValueError(f"has {path.stat().st_size} bytes")


def test_file_that_a_check_refuses_is_fetched_again_once(hub):
    server = hub()
    fetch().write_bytes(CONTENT[:100])
    assert fetch(check=refuse_other_sizes).read_bytes() == CONTENT
    assert server.count_fetched("data/a.bin") == 2


def test_damage_is_told_where_nothing_can_be_fetched_again(hub, monkeypatch):
    hub()
    fetch().write_bytes(b"")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(HubError, match=r"cache is damaged \(has 0 bytes\); .*HF_HUB_OFFLINE"):
        fetch(check=refuse_other_sizes)


@pytest.mark.parametrize(
    "fault",
    [
        {"silent_methods": ("HEAD",)},
        pytest.param({"silent_methods": ("GET",)}, marks=pytest.mark.slow),
        {"is_stalling": True},
    ],
    ids=["silent before the headers", "silent before the body", "stalls half-way"],
)
def test_silent_server_is_left_at_the_deadline(hub, tmp_path, fault):
    hub(**fault)
    with pytest.raises(HubError, match=r"no end after 1 s"):
        fetch(limits=Download(2, 0.05, 1.0), directory=tmp_path / "here")


def test_silent_server_is_left_at_the_deadline_when_asked_for_a_branch(hub):
    hub(silent_methods=("GET",))
    with pytest.raises(HubError, match="no end after 1 s"):
        resolve_revision(REPO, "main", limits=Download(2, 0.05, 1.0))


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_absent_network_fails_within_seconds(hub, monkeypatch, host):
    hub()
    monkeypatch.setenv("HF_ENDPOINT", f"http://{host}:{free_port()}")
    words = (
        rf"http://{host}:\d+ cannot be reached: ConnectError.*2 attempts; .*`corpus: sample` works"
    )
    with pytest.raises(HubError, match=words) as caught:
        fetch(limits=Download(2, 0.05, 900))
    assert "\n" not in str(caught.value)
    assert "corpora.local.root" in str(caught.value)


@pytest.mark.slow  # the hub's library tries for ten seconds
def test_network_that_goes_before_the_content_is_told_as_such(hub):
    hub(is_hanging_up=True)
    with pytest.raises(HubError, match=r"cannot be reached: .*`corpus: sample` works"):
        fetch()


def test_no_attempt_at_all_is_refused(hub):
    server = hub()
    with pytest.raises(ValueError, match="expected at least 1"):
        fetch(limits=Download(0, 0, 1))
    assert server.requests == []


def free_port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return unused.getsockname()[1]
