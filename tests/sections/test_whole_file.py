"""Every mistake in params.yaml is told with its key before anything runs."""

from __future__ import annotations

import copy
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from answerkey.base.errors import InputError
from answerkey.engines.database import Limits
from answerkey.sections.corpora import check_corpora
from answerkey.sections.exports import ReportDataset
from answerkey.sections.select_questions import Targets
from answerkey.sections.whole_file import read_params
from tests.shared.paths import ROOT

PROJECT = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
CLASSIFY = PROJECT["classify_difficulty"]


def change(params: dict, key: str, value: object) -> dict:
    """The params, or an entry of them, with another value for a dotted key, which may be a new one;
    ...: without it."""
    changed = copy.deepcopy(params)
    *sections, last = key.split(".")
    place = changed
    for section in sections:
        place = place.setdefault(section, {})
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return changed


def write(folder: Path, params: object) -> Path:
    path = folder / "params.yaml"
    path.write_text(yaml.safe_dump(params), encoding="utf-8")
    return path


def test_values_are_attributes_of_their_sections(tmp_path):
    params = read_params(write(tmp_path, PROJECT))
    assert params.select_questions.targets.eval_share == 0.3
    assert (params.corpus, params.execution.workers) == ("sample", 0)


def test_missing_file_says_where_to_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=f"No {tmp_path}/params.yaml: expected the root"):
        read_params()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"corpus: [sample\n", r"params.yaml: expected YAML: (.|\n)*line 2"),
        (b"corpus: \xff\n", "params.yaml: expected YAML: "),
        (b"corpus: a\ncorpus: b\n", "params.yaml: expected YAML: line 2: expected the key 'corp"),
        (b"", r"params.yaml: expected corpus, corpora, export_.*, found None"),
        (b"- corpus\n", r"params.yaml: expected corpus, corpora, export_.*, found \['corpus'\]"),
    ],
)
def test_file_that_holds_no_params_is_named(tmp_path, content, words):
    path = tmp_path / "params.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_params(path)


# What depends on the user's data, or is to be seen in params.yaml however it stands.
CHOSEN = {"corpora", "corpus", "export_huggingface", "select_questions"}


def test_params_of_the_project_are_the_defaults():
    params = read_params(ROOT / "params.yaml")
    for field in fields(params):
        if field.name not in CHOSEN:
            assert getattr(params, field.name) == field.default_factory(), field.name


def test_section_or_key_that_is_left_out_has_its_default(tmp_path):
    params = {name: PROJECT[name] for name in ("corpus", "corpora", "export_huggingface")}
    left = read_params(write(tmp_path, params | {"report_dataset": {"max_answer_characters": 9}}))
    assert left.report_dataset == ReportDataset(max_rows=5000, max_answer_characters=9)
    assert left.compute_gold_answers == Limits()


@pytest.mark.parametrize(
    ("key", "name"),
    [("corpus", "corpus"), ("export_huggingface.version", "version"), ("corpora", "corpora")],
)
def test_key_without_a_default_may_not_be_missing(tmp_path, key, name):
    params = copy.deepcopy(PROJECT)
    del (params["export_huggingface"] if "." in key else params)[name]
    with pytest.raises(InputError, match=f"params.yaml: no key {key}: expected it among "):
        read_params(write(tmp_path, params))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("compare_questions.min_similarity", 90, "expected a number from 0 to 1, found 90"),
        ("load_questions.held_out", "bird", "expected a list of corpora, or null, found 'bird'"),
        ("load_questions.held_out", ["bard"], "expected some of .*bird, .*, found 'bard'"),
        ("audit_gold_answers.rel_tol", -1, "expected a number from 0, found -1"),
        ("audit_gold_answers.rel_tol", float("nan"), "expected a number from 0, found nan"),
        ("audit_gold_answers.rel_tol", True, "expected a number from 0, found True"),
        ("audit_gold_answers.max_rows", 1.5, "expected a whole number from 0, found 1.5"),
        ("export_trainers.example_rows", True, "expected a whole number from 0, found True"),
        ("export_trainers.prompt_template", "", "expected a text, found ''"),
        ("export_huggingface.repo_id", "me", "expected a repository of the hub, .*"),
        ("export_huggingface.repo_id", "a/b\n", "expected a repository of the hub, .*"),
        ("export_huggingface.version", "v1", "expected a version, such as 1.0.0, found 'v1'"),
        ("export_huggingface.date_published", "May", "expected a date in quotes, .*"),
        ("execution.runner", "spark", "expected local or ray, found 'spark'"),
        ("select_questions.seed", "abc", "expected a whole number, found 'abc'"),
        ("select_questions.preset", "tiny", "expected small, or null, found 'tiny'"),
        (
            "select_questions.targets",
            {"min_questions": 100, "max_questions": 99},
            "max_questions: expected min_questions, 100, or more, found 99",
        ),
        ("select_questions.max_per_canonical_sql", 0, "number from 1, or null, found 0"),
        ("classify_difficulty", CLASSIFY | {"easy_max_tables": 4}, "easy_.* found 4 and 3"),
        ("classify_difficulty.hardness_levels", {"easy": "easy"}, "each of easy, .*, found {.*}"),
        ("classify_difficulty.source_levels", {"Simple": "extreme"}, "or hard, found 'extreme'"),
        ("reward.rule", "loose", "expected .*"),
        ("corpus", [], r"expected a name, or a list of names, found \[\]"),
    ],
)
def test_value_that_a_key_cannot_have_is_named_with_those_that_it_can(tmp_path, key, value, words):
    path = write(tmp_path, change(PROJECT, key, value))
    with pytest.raises(InputError, match=f"params.yaml: {key}.*: .*{words}$"):
        read_params(path)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("report_dataset.7", "expected some of max_rows, max_answer_characters"),
        ("nonsense", "expected some of corpus, corpora, export_"),
    ],
)
def test_key_that_no_stage_reads_is_named(tmp_path, key, words):
    path = write(tmp_path, change(PROJECT, key, 1))
    with pytest.raises(InputError, match=f"params.yaml: unknown key {key}: {words}"):
        read_params(path)


def test_every_mistake_has_a_line(tmp_path):
    params = change(PROJECT, "select_questions.policies.date_text_order", "sink")
    params["compute_gold_answers"]["max_step"] = 1
    params["report_dataset"]["max_rows"] = -1
    with pytest.raises(InputError) as caught:
        read_params(write(tmp_path, params))
    file = tmp_path / "params.yaml"
    assert str(caught.value).splitlines() == [
        f"{file}: unknown key compute_gold_answers.max_step: expected some of max_steps,"
        " max_rows, max_value_bytes, max_answer_bytes, max_heap_bytes, max_seconds, max_cpu_s",
        f"{file}: select_questions.policies.date_text_order: expected exclude, flag or off, or"
        " accept_ties for tie_at_limit and limit_without_order, found 'sink'",
        f"{file}: report_dataset.max_rows: expected a whole number from 0, found -1",
    ]


def test_what_sections_ask_of_each_other_in_vain_is_told_all_at_once(tmp_path):
    params = change(PROJECT, "select_questions.targets.corpus_shares", {"spider": 1})
    params["classify_difficulty"]["method"] = "rank"
    params["select_questions"]["preset"] = "small"
    params["load_questions"]["held_out"] = ["bard"]
    params["reward"]["rule"] = "loose"
    with pytest.raises(InputError) as caught:
        read_params(write(tmp_path, params))
    file = tmp_path / "params.yaml"
    assert [
        line.removeprefix(f"{file}: ").partition(":")[0] for line in str(caught.value).splitlines()
    ] == [
        "select_questions.targets.corpus_shares",
        "classify_difficulty.method",
        "load_questions.held_out",
        "reward.rule",
    ]


def test_preset_lifts_targets_whatever_they_say(tmp_path):
    targets = read_params(
        write(tmp_path, change(PROJECT, "select_questions.preset", "small"))
    ).select_questions.targets
    assert targets == Targets(tolerance=0.02)


def test_shares_of_other_corpora_than_are_chosen_are_refused(tmp_path):
    path = write(tmp_path, change(PROJECT, "select_questions.targets.corpus_shares", {"spider": 1}))
    with pytest.raises(InputError, match=r"corpus_shares: .*each of the corpora sample, found sp"):
        read_params(path)


FILES = {"train": ["a.json"], "validation": ["b.json"]}
OWN = {"origin": "directory", "root": "data/own", "db_list": "all", "questions": FILES}
PG = OWN | {"engine": "postgres", "settings": {"timezone": "Europe/Berlin"}}
HUB = {
    "origin": "hub",
    "db_list": ["a"],
    "questions": {"repo_id": "org/asked", "revision": "main", "files": FILES},
    "databases": {
        "kind": "archive",
        "archive": {
            "repo_id": "org/zip",
            "revision": "main",
            "path": "all.zip",
            "sha256": None,
            "member": "d/{db_id}",
        },
        "files": {"repo_id": "org/files", "revision": "main", "path": "{db_id}.sqlite"},
    },
}
ENTRIES = {"own": OWN, "guest": OWN | {"databases_of": "own"}}


@pytest.mark.parametrize(
    ("entry", "key", "value", "words"),
    [
        (OWN, "db_list", ..., "no key {}: expected it among origin, root, questions"),
        (OWN, "licence", "mit", "unknown key {}: expected some of origin, "),
        (HUB, "root", "data", "unknown key {}: expected some of origin, db_list, "),
        (OWN, "origin", "web", "{}: expected directory or hub, found 'web'"),
        (OWN, "db_list", ["a", "a"], "{}: Database a is listed twice"),
        (OWN, "db_list", [], "{}: No database is listed"),
        (OWN, "db_list", ["../a"], "{}: Not a database id: '../a'"),
        (OWN, "db_list", "most", "{}: expected a list of databases, or all, found 'most'"),
        (OWN, "questions", ["a"], "{}: expected a list of files for train, .* or both, .*'a'"),
        (OWN, "questions.test", [], "list of files for train, .* or both, found .*test"),
        (OWN, "questions.train", [7], "{}.0: expected a text, found 7"),
        (OWN, "prefix", "a/b", "{}: expected letters, digits, _ and -, .* found 'a/b'"),
        (OWN, "corrections", "../a", "{}: expected a name in data/corrections, or null, found"),
        (OWN, "corrections", "a\n", "{}: expected a name in data/corrections, or null, found"),
        (OWN, "databases", "dev", "{}: expected a list of folders below root, or null, found 'd"),
        (OWN, "split", "query", "{}: expected by, eval_share, seed, found 'query'"),
        (OWN, "split", {"eval_share": 0.3}, "no key {}.by: expected it among eval_share"),
        (OWN, "split.by", "random", "{}: expected source, database or query, found 'random'"),
        (OWN, "split", {"by": "query", "eval_share": 1}, "{}.eval_share: expected a share between"),
        (OWN, "split", {"by": "source", "seed": 7}, "{}: by: source keeps the split of the files"),
        (OWN, "questions.train", ["../x"], "tried: Not a path in data/own: '../x'"),
        (OWN, "databases_of", "none", "{}: expected an entry with databases of its own, found 'n"),
        (OWN | {"databases": ["x"]}, "databases_of", "own", "tried: has databases and database"),
        (OWN, "engine", "oracle", "{}: expected sqlite, duckdb or postgres, found 'oracle'"),
        (OWN, "settings", {"timezone": "UTC"}, "databases of sqlite have none: expected .* duckdb"),
        (PG, "settings", {"zone": "UTC"}, "{}: expected some of timezone, search_path, collation"),
        (PG, "settings.timezone", "U\n", r"{}: expected a text of one line, found 'U\\n'"),
        (
            OWN | {"engine": "duckdb"},
            "settings",
            {"collation": "C"},
            "tried: settings: databases of duckdb have no collation: expected some of timezone",
        ),
        (PG, "databases_of", "own", "tried: has engine and databases_of: expected engine in the"),
        (HUB, "engine", "duckdb", "tried: has engine or settings: .* expected origin: directory"),
        (HUB, "databases_of", "own", "tried: has databases and databases_of: expected one of them"),
        (HUB, "databases", ..., "tried: no key databases: expected it, or databases_of"),
        (HUB, "questions.revision", 1234, "{}: expected a text, in quotes, found 1234"),
        (HUB, "questions.sha256", {"a.json": 12}, "{}.a.json: expected a text, in quotes, found"),
        (HUB, "databases.archive", ..., "databases: kind is archive: expected a key archive"),
        (HUB, "databases.archive.member", "x", "{}: expected a text with {{db_id}}, found 'x'"),
    ],
)
def test_mistake_is_told_with_its_key(entry, key, value, words):
    with pytest.raises(InputError) as caught:
        check_corpora(ENTRIES | {"tried": change(entry, key, value)})
    pattern = words.format(rf"corpora\.tried\.{key}")
    assert caught.match(rf"params\.yaml: .*{pattern}")
    assert "corpora.tried" in str(caught.value)


def test_entries_may_leave_out_what_is_optional():
    checked = check_corpora(ENTRIES | {"hub": HUB})
    assert checked["own"].prefix is checked["own"].databases is checked["own"].license is None
    assert checked["hub"].questions.sha256 == {}
    assert checked["hub"].databases.place.member == "d/{db_id}"


def test_train_comes_before_validation():
    files = {"validation": ["b.json"], "train": []}
    questions = check_corpora({"own": OWN | {"questions": files}})["own"].questions
    assert list(questions) == ["train", "validation"]


def test_key_that_has_another_name_now_is_told_with_it(tmp_path):
    path = write(tmp_path, change(PROJECT, "execution.engine", "ray"))
    words = "params.yaml: execution.engine is called execution.runner now: rename it, or run"
    with pytest.raises(InputError, match=words):
        read_params(path)
