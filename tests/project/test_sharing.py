"""docs/sharing.md tells the truth: its transcripts run, against real servers; two maintainers
merge; and a clone that has pulled makes only those shards again that a change concerns."""

from __future__ import annotations

import configparser
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tests.shared.checkout import (
    PRODUCT,
    commit,
    hash_tree,
    make_checkout,
    output,
    run,
    stages_to_run,
)
from tests.shared.paths import ROOT
from tests.shared.project_world import HARBOUR, World
from tests.shared.remote_servers import Server, require_plugin, serve_s3
from tests.shared.transcripts import Scene, Step, read_section, read_steps

DOCS = ROOT / "docs/sharing.md"
REPOSITORY = "https://git.example.org/team/answerkey.git"
PUSHED = (
    *("data/databases", "data/interim", "data/test_suites", "data/questions", "data/exports"),
    "reports",
)


@pytest.fixture
def scene(finished: Path, tmp_path: Path) -> Scene:
    """A git server and a maintainer whose clone holds the dataset; nobody else has anything."""
    git = tmp_path / "git/answerkey.git"
    run(tmp_path, "git", "clone", "-q", "--bare", str(finished), str(git))
    clone = tmp_path / "maintainer/answerkey"
    shutil.copytree(finished, clone, symlinks=True)
    run(clone, "git", "remote", "add", "origin", f"file://{git}")
    run(clone, "git", "fetch", "-q")
    run(clone, "git", "branch", "-q", "--set-upstream-to", "origin/main")
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\nname = Tester\nemail = tester@example.org\n"
        "[init]\ndefaultBranch = main\n[advice]\ndetachedHead = false\n",
        encoding="utf-8",
    )
    environment = {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "AWS_MAX_ATTEMPTS": "3",  # two uploads may make one folder at once: the server refuses one
    }
    names = {REPOSITORY: f"file://{git}", "/srv/answerkey-storage": str(tmp_path / "storage")}
    return Scene(tmp_path, names, environment, {"maintainer": clone})


def check_teammate(scene: Scene) -> None:
    """What a teammate has pulled is what the maintainer has made, and nothing besides."""
    teammate, maintainer = scene.folders["teammate"], scene.folders["maintainer"]
    assert hash_tree(teammate, *PUSHED)
    assert hash_tree(teammate, *PUSHED) == hash_tree(maintainer, *PUSHED)
    assert "up to date" in run(teammate, "dvc", "status").stdout
    committed = (teammate / ".dvc/config").read_text(encoding="utf-8")
    assert not re.search("password|secret|access_key|keyfile|user =", committed)


def forget(scene: Scene, actor: str) -> None:
    """Take pulled data away from somebody, as though they had just cloned."""
    folder = scene.folders[actor]
    for path in (".dvc/cache", *PUSHED):
        place = folder / path
        if place.is_dir():
            shutil.rmtree(place)
        else:
            place.unlink(missing_ok=True)


@pytest.fixture
def s3(scene: Scene) -> Iterator[Server]:
    """An S3 server, by whose names the scene knows it."""
    require_plugin("s3")
    with serve_s3(scene.root / "s3") as server:
        names = {"https://s3.example.org": f"http://127.0.0.1:{server.port}"}
        scene.names = {**scene.names, **names, "SECRET": server.password}
        yield server


def test_default_remote_is_checked_and_nothing_is_reported_to_anyone() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / ".dvc/config", encoding="utf-8")
    assert config["core"]["analytics"] == "false"
    default = config[f"'remote \"{config['core']['remote']}\"'"]
    assert default["verify"] == "true"
    assert default["url"] == "../../answerkey-storage"
    assert not re.search("password|secret|key_id|keyfile", str(dict(default)))


def read_teammate() -> list[Step]:
    """What a teammate does: clone, set the same `--local` lines as the maintainer, pull."""
    disk = read_steps(read_section(DOCS, "A shared disk"))
    clone, enter, _beside, pull = [step for step in disk if step.actor == "teammate"][:4]
    steps = read_steps(read_section(DOCS, "Storage of your own"))
    keys = [replace(step, actor="teammate") for step in steps if "--local" in step.command]
    return [clone, enter, *keys, pull]


@pytest.mark.slow
def test_teammates_share_a_disk(scene: Scene) -> None:
    steps = read_steps(read_section(DOCS, "A shared disk"))
    scene.play(steps)
    check_teammate(scene)
    (check,) = [step for step in steps if re.match("dvc .*status", step.command)]
    (scene.folders["teammate"] / "data/questions/questions_eval.json").unlink()
    said = scene.run_step(check).stdout
    assert "data/questions" in said
    assert "up to date" not in said


@pytest.mark.slow
def test_teammates_share_over_s3_and_mend_a_corrupted_file(scene: Scene, s3: Server) -> None:
    scene.play(read_steps(read_section(DOCS, "Storage of your own")) + read_teammate())
    check_teammate(scene)
    forget(scene, "teammate")
    maintainer, teammate = scene.folders["maintainer"], scene.folders["teammate"]
    right = (maintainer / "data/questions/questions_eval.json").read_bytes()
    stored = [path for path in s3.folder.rglob("*") if path.is_file()]
    (place,) = [path for path in stored if path.read_bytes() == right]
    place.write_bytes(right.replace(b"easy", b"hard", 1))
    pull = read_teammate()[-1].command.split()
    done = run(teammate, *pull, environment=scene.environment, check=False)
    assert done.returncode != 0
    assert "Checkout failed" in output(done)
    assert not (teammate / "data/questions/questions_eval.json").exists()
    # As the docs say: the remote's folder is emptied, and a clone with the right files pushes.
    s3.stop()  # it remembers what it has listed
    shutil.rmtree(s3.folder / "datasets/answerkey")
    with serve_s3(s3.folder, port=s3.port):
        run(maintainer, "dvc", "push", environment=scene.environment)
        run(teammate, *pull, environment=scene.environment)
    check_teammate(scene)


@pytest.mark.slow
def test_readers_take_one_file_of_a_version_without_a_clone(scene: Scene, s3: Server) -> None:
    scene.play(read_steps(read_section(DOCS, "Storage of your own")))
    keys = {"AWS_ACCESS_KEY_ID": s3.user, "AWS_SECRET_ACCESS_KEY": s3.password}
    scene.environment = {**scene.environment, **keys}
    scene.play(read_steps(read_section(DOCS, "Without a clone")))
    made = scene.folders["maintainer"] / "data"
    reader = scene.root / "reader"
    right = (made / "questions/questions_eval.json").read_bytes()
    assert (reader / "questions_eval.json").read_bytes() == right
    assert hash_tree(reader / "answerkey", ".") == hash_tree(made / "exports/huggingface", ".")


@pytest.fixture
def clone(finished: Path, tmp_path: Path) -> Path:
    """A maintainer's clone, with the data, on the branch `main`, and a branch `their-branch`."""
    folder = tmp_path / "answerkey"
    shutil.copytree(finished, folder, symlinks=True)
    run(folder, "git", "config", "user.name", "Tester")
    run(folder, "git", "config", "user.email", "tester@example.org")
    run(folder, "git", "branch", "-q", "their-branch")
    return folder


def change_params(folder: Path, before: str, after: str) -> None:
    path = folder / "params.yaml"
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after, 1), encoding="utf-8")


def change_branch(folder: Path, branch: str, before: str, after: str) -> None:
    """Change params on a branch, run what they concern, and commit."""
    run(folder, "git", "checkout", "-q", branch)
    run(folder, "dvc", "checkout", "-q")
    change_params(folder, before, after)
    run(folder, "dvc", "repro")
    commit(folder, f"Set {after}")


def enter(folder: Path, command: str) -> tuple[int, str]:
    """Status and output of a command, in a shell."""
    done = run(folder, "bash", "-c", command, check=False)
    return done.returncode, output(done)


@pytest.mark.slow
def test_both_changed_one_stage_and_either_side_will_do(clone: Path) -> None:
    change_branch(clone, "their-branch", "easy_max_tables: 2", "easy_max_tables: 1")
    change_branch(clone, "main", "seed: 20", "seed: 21")
    (block,) = re.findall(r"^```\n(.*?)^```$", read_section(DOCS, "Two maintainers"), re.M | re.S)
    merge, side, *rest = block.splitlines()
    status, said = enter(clone, merge)
    assert status != 0
    conflicts = re.findall(r"^CONFLICT .* in (\S+)$", said, re.MULTILINE)
    assert {"dvc.lock", "metrics/dataset.json"} <= set(conflicts)
    assert {name.split("/")[0] for name in conflicts} <= {"dvc.lock", "metrics", "plots"}
    results = []
    for taken in (side.replace("--ours", "--theirs"), side):
        assert enter(clone, taken)[0] == 0
        assert enter(clone, rest[0])[0] == 0
        results.append(hash_tree(clone, *PRODUCT, "metrics", "plots", "dvc.lock"))
    assert results[0] == results[1]
    for command in rest:
        status, said = enter(clone, command)
        assert status == 0, said
    assert "up to date" in run(clone, "dvc", "status").stdout
    assert run(clone, "git", "status", "--porcelain").stdout == ""
    assert hash_tree(clone, *PRODUCT, "metrics", "plots", "dvc.lock") == results[0]


@pytest.mark.slow
def test_torn_lock_file_is_mended_as_the_docs_say(clone: Path) -> None:
    change_params(clone, "easy_max_tables: 2", "easy_max_tables: 1")
    run(clone, "dvc", "repro")
    path = clone / "dvc.lock"
    whole = path.read_bytes()
    row = next(line for line in DOCS.read_text("utf-8").splitlines() if "DVC was killed" in line)
    *messages, way = re.findall(r"`([^`]+)`", row)
    heard = set()
    start = whole.index(b"  parse_gold_sql:")
    for end in (whole.index(b"size: ", start) + 6, whole.index(b"md5: ", start) + 2):
        path.write_bytes(whole[:end])
        done = run(clone, "dvc", "repro", check=False)
        assert done.returncode != 0
        heard |= {message for message in messages if message in output(done)}
    assert heard == set(messages)
    said = output(run(clone, "bash", "-c", way))
    assert "executed" not in said
    assert stages_to_run(said)[0] == "classify_difficulty"
    assert path.read_bytes() == whole


OUTS = {
    out if isinstance(out, str) else next(iter(out))
    for stage in yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"].values()
    for out in stage["outs"]
}
SHARDS = ("gold_answers", "parsed", "audit", "test_suites")


def count_work(said: str) -> list[int]:
    """How many queries were executed, parsed and audited, and of how many databases the suites
    were made, as the stages said."""
    patterns = (r"quer(?:y|ies) executed", r"quer(?:y|ies) parsed now", r"quer(?:y|ies) audited")
    counts = [re.search(rf" (\d+) {words}", said) for words in patterns]
    counts.append(re.search(r"suites of (\d+) made", said))
    return [int(count[1]) for count in counts]


def work_on(world: World, capfd: pytest.CaptureFixture[str], db_list: list[str] | str) -> list[int]:
    """The work of all stages that have shards, on a choice of databases."""
    world.change("corpora.local.db_list", db_list)
    world.change("select_questions.preset", "small")
    capfd.readouterr()
    world.run_to("generate_test_suites")
    return count_work(capfd.readouterr().err)


@pytest.mark.slow
def test_outs_are_all_that_the_shards_of_a_clone_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """A database that a teammate adds, changes or removes costs its own queries."""
    maintainer, teammate = tmp_path / "maintainer", tmp_path / "teammate"
    maintainer.mkdir()
    monkeypatch.chdir(maintainer)
    harbour = work_on(World(maintainer), capfd, ["harbour"])
    made = [path for out in OUTS if (path := maintainer / out).exists()]
    assert len(made) > len(SHARDS)
    teammate.mkdir()
    for path in made:
        target = teammate / path.relative_to(maintainer)
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copy)(path, target)
    monkeypatch.chdir(teammate)
    world = World(teammate)
    library = work_on(world, capfd, "all")
    assert library == [11, 11, 11, 1]
    assert work_on(world, capfd, ["library"]) == [0, 0, 0, 0]
    assert work_on(world, capfd, "all") == harbour
    world.write_database("harbour", HARBOUR.replace("'Sun', 55", "'Sun', 56"))
    assert work_on(world, capfd, "all") == [harbour[0], 0, *harbour[2:]]


def test_no_stage_depends_on_keys() -> None:
    """They change with the code, also where the shards do not."""
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    assert {f"data/interim/{name}.keys" for name in SHARDS} <= OUTS
    for name, stage in stages.items():
        assert not [dep for dep in stage["deps"] if dep.endswith((".keys", "data/interim"))], name


@pytest.mark.slow
def test_fresh_clone_executes_what_changed_after_a_plain_pull(clone: Path, tmp_path: Path) -> None:
    teammate = tmp_path / "teammate"
    run(clone, "dvc", "push")
    run(tmp_path, "git", "clone", "-q", str(clone), str(teammate))
    run(teammate, "dvc", "pull")

    def repro() -> str:
        return output(run(teammate, "dvc", "repro", "compare_questions"))

    *kept, last = sorted(path.name for path in (teammate / "data/sample/database").iterdir())
    lines = (teammate / "data/interim/splits.jsonl").read_text(encoding="utf-8").splitlines()
    sources = [source for source in map(json.loads, lines) if source["database_name"] == last]
    queries = {source["gold_sql"] for source in sources}
    chosen = f"db_list: [{', '.join(kept)}]"
    change_params(teammate, "db_list: all", chosen)
    assert count_work(repro()) == [0, 0, 0, 0]
    change_params(teammate, chosen, "db_list: all")
    executed, parsed, audited, suites = count_work(repro())
    assert (executed, parsed, suites) == (len(queries), len(queries), 1)
    assert 0 < audited <= len(sources)
    assert "up to date" in run(teammate, "dvc", "status", "compare_questions").stdout

    script = teammate / "stages/compute_gold_answers.py"
    script.write_text(f"{script.read_text(encoding='utf-8')}# changed\n", encoding="utf-8")
    assert stages_to_run(repro()) == ["compute_gold_answers"]


# --- a corpus of one's own


def make_local(folder: Path, root: str) -> Path:
    """A checkout whose corpus lies in a root of its own, in the project or elsewhere."""
    make_checkout(folder)
    corpus = folder / root
    source = folder.parent / "source"
    source.mkdir()
    World(source)
    shutil.copytree(source / "corpus", corpus, dirs_exist_ok=True)
    change_params(folder, "root: data/local", f"root: {root}")
    run(folder, "answerkey", "choose", "local")
    change_params(folder, "difficulty_shares: {", "difficulty_shares: null  # {")
    for key, value in (("eval_share", "0.3"), ("min_questions", "100")):
        change_params(folder, f"{key}: {value}", f"{key}: null")
    return corpus


def run_grid(folder: Path, *options: str) -> None:
    grid = ("-S", "classify_difficulty.easy_max_tables=1")
    run(folder, "dvc", "exp", "run", "--queue", *grid, *options)
    said = output(run(folder, "dvc", "exp", "run", "--run-all"))
    assert "Ran experiment(s)" in said
    assert stages_to_run(said)[0] == "classify_difficulty"


@pytest.mark.slow
def test_corpus_in_the_project_is_pushed_and_pulled_and_found_by_experiments(
    tmp_path: Path,
) -> None:
    maintainer, teammate = tmp_path / "maintainer", tmp_path / "teammate"
    make_local(maintainer, "data/local/ours")
    for name in ("user.name", "user.email"):
        run(maintainer, "git", "config", name, "tester@example.org")
    said = output(run(maintainer, "dvc", "repro", "download_databases"))
    assert (
        "warning: git ignores data/local/ours/train_spider.json, data/local/ours/dev.json," in said
    )
    steps = read_steps(read_section(DOCS, "A corpus of your own"))
    Scene(tmp_path, {}, {}, {"maintainer": maintainer}).play(steps)
    assert "warning" not in output(run(maintainer, "dvc", "repro", "-fs", "download_databases"))
    run_grid(maintainer)
    run(tmp_path, "git", "clone", "-q", str(maintainer), str(teammate))
    said = output(run(teammate, "dvc", "repro", "--dry", "--allow-missing"))
    assert stages_to_run(said) == []  # as the workflow for pull requests asks, which pulls nothing
    run(teammate, "dvc", "pull")
    assert "up to date" in run(teammate, "dvc", "status").stdout
    change_params(teammate, "easy_max_tables: 2", "easy_max_tables: 1")
    assert stages_to_run(output(run(teammate, "dvc", "repro")))[0] == "classify_difficulty"


@pytest.mark.slow
def test_corpus_that_lies_elsewhere_is_not_needed_for_what_does_not_read_it(tmp_path: Path) -> None:
    maintainer, teammate = tmp_path / "maintainer", tmp_path / "teammate"
    corpus = make_local(maintainer, str(tmp_path / "elsewhere"))
    run(maintainer, "dvc", "repro")
    commit(maintainer, "A run")
    run(maintainer, "dvc", "push")
    shutil.rmtree(corpus)
    run(tmp_path, "git", "clone", "-q", str(maintainer), str(teammate))
    run(teammate, "dvc", "pull")
    pulled = hash_tree(teammate, *PUSHED)
    change_params(teammate, "easy_max_tables: 2", "easy_max_tables: 1")
    done = run(teammate, "dvc", "repro", check=False)
    assert done.returncode != 0
    assert f"No such file or directory: '{corpus}'" in output(done)
    assert hash_tree(teammate, *PUSHED) == pulled
    said = output(run(teammate, "dvc", "repro", "--allow-missing"))
    assert stages_to_run(said)[0] == "classify_difficulty"
    commit(teammate, "A threshold")
    change_params(teammate, "easy_max_tables: 1", "easy_max_tables: 2")
    run(teammate, "dvc", "repro", "--allow-missing")
    run_grid(teammate, "--allow-missing")


@pytest.mark.slow
def test_clone_takes_over_a_newer_version_and_merges_nothing_that_is_made(tmp_path: Path) -> None:
    fork, upstream = tmp_path / "fork", tmp_path / "upstream"
    make_local(fork, "data/local/ours")
    run(tmp_path, "git", "clone", "-q", str(fork), str(upstream))
    run(fork, "git", "config", "user.name", "Tester")
    run(fork, "git", "config", "user.email", "tester@example.org")
    run(fork, "git", "remote", "add", "upstream", str(upstream))
    run(fork, "dvc", "add", "-q", "data/local/ours")
    run(fork, "dvc", "repro")
    commit(fork, "A dataset of ours")
    before = hash_tree(fork, *PRODUCT, "metrics", "plots")

    root = '      - "${corpora.sample.root}"\n'
    for name, (old, new) in {
        "dvc.yaml": (root, f"{root}      - README.md\n"),
        "dvc.lock": ("size: ", "size: 1"),
        "metrics/dataset.json": (": 1", ": 2"),
        "params.yaml": ("# changes no result", "# changes no result of a run"),
    }.items():
        path = upstream / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
    commit(upstream, "A newer version")

    section = read_section(ROOT / "docs/upgrade.md", "A clone")
    (block,) = re.findall(r"^```\n(.*?)^```$", section, re.M | re.S)
    fetch, merge, *rest = block.splitlines()
    assert enter(fork, fetch)[0] == 0
    status, said = enter(fork, merge)
    assert status != 0
    conflicts = set(re.findall(r"^CONFLICT .* in (\S+)$", said, re.MULTILINE))
    assert {"dvc.yaml", "dvc.lock", "metrics/dataset.json"} <= conflicts
    assert {name.split("/")[0] for name in conflicts} <= {
        "dvc.yaml",
        "dvc.lock",
        "metrics",
        "plots",
    }
    (install,) = [line for line in rest if line.startswith("pip install")]
    assert "pipeline.lock" in install  # what it installs is installed
    for command in rest:
        if command != install:
            status, said = enter(fork, command)
            assert status == 0, said
    assert "up to date" in run(fork, "dvc", "status").stdout
    assert run(fork, "git", "status", "--porcelain").stdout == ""
    assert hash_tree(fork, *PRODUCT, "metrics", "plots") == before
    stages = yaml.safe_load((fork / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    assert stages["load_questions"]["deps"][:2] == ["${corpora.local.root}", "README.md"]


# --- a way back


@pytest.mark.slow
def test_run_that_was_killed_or_failed_is_left_as_the_docs_say(clone: Path) -> None:
    before = hash_tree(clone, *PUSHED, "metrics", "plots", "dvc.lock")
    rows = DOCS.read_text("utf-8").splitlines()
    (row,) = [line for line in rows if "RWLock" in line]
    *messages, way = [text for text in re.findall(r"`([^`]+)`", row)]
    lock = clone / ".dvc/tmp/rwlock"
    for torn, message in zip(('{"write": {"/da', '{"write": []}'), messages, strict=True):
        lock.write_text(torn, encoding="utf-8")
        done = run(clone, "dvc", "repro", check=False)
        assert done.returncode != 0
        assert message in output(done)
        run(clone, "bash", "-c", way)
        assert "up to date" in output(run(clone, "dvc", "repro"))

    # Another choice of databases, which is too small.
    change_params(clone, "db_list: all", "db_list: [city_transit]")
    done = run(clone, "dvc", "repro", check=False)
    assert done.returncode != 0
    assert hash_tree(clone, *PUSHED) != before
    section = read_section(DOCS, "When something is wrong")
    (block,) = re.findall(r"^```\n(.*?)^```$", section, re.M | re.S)
    run(clone, "bash", "-ec", block)
    assert hash_tree(clone, *PUSHED, "metrics", "plots", "dvc.lock") == before
    assert "up to date" in run(clone, "dvc", "status").stdout
