"""params: every mistake in params.yaml is told with its key before anything runs."""

import copy
import re
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from answerkey.errors import InputError
from answerkey.params import load_params, load_yaml, read_params
from answerkey.sections.report_dataset import ReportDataset
from answerkey.sqlite.guard import Limits
from tests.shared.paths import ROOT

PROJECT = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
CLASSIFY = PROJECT["classify_difficulty"]


def change(key: str, value: object) -> dict:
    """The params of the project with another value for a key, which may be a new one."""
    params = copy.deepcopy(PROJECT)
    *sections, last = key.split(".")
    place = params
    for section in sections:
        place = place.setdefault(section, {})
    place[last] = value
    return params


def write(folder: Path, params: object) -> Path:
    path = folder / "params.yaml"
    path.write_text(yaml.safe_dump(params), encoding="utf-8")
    return path


def test_values_come_in_the_order_asked_for(tmp_path):
    path = write(tmp_path, PROJECT)
    keys = ("select_questions.targets", "corpus", "execution")
    targets, corpus, execution = read_params(*keys, path=path)
    assert (targets.eval_share, corpus, execution.workers) == (0.3, "sample", 0)


def test_missing_file_says_where_to_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=f"No {tmp_path}/params.yaml: run stages from"):
        read_params("corpus")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"corpus: [sample\n", r"params.yaml:2: expected YAML: .*expected ',' or '\]'"),
        (b"corpus: a\n\tb: c\n", r"params.yaml:2: expected YAML: "),
        (b"corpus: \xff\n", r"params.yaml(:1)?: expected YAML: .*"),
        (b"", r"params.yaml: expected corpus, corpora, export_.*, found None"),
        (b"- corpus\n", r"params.yaml: expected corpus, corpora, export_.*, found \['corpus'\]"),
    ],
)
def test_file_that_holds_no_params_is_named(tmp_path, content, words):
    path = tmp_path / "params.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        load_params(path)


# What depends on the user's data, or is to be seen in params.yaml however it stands.
OWN = {"corpora", "corpus", "export_huggingface", "select_questions"}


def test_params_of_the_project_are_the_defaults():
    params = load_params(ROOT / "params.yaml")
    for field in fields(params):
        if field.name not in OWN:
            assert getattr(params, field.name) == field.default_factory(), field.name


def test_section_or_key_that_is_left_out_has_its_default(tmp_path):
    params = {name: PROJECT[name] for name in ("corpus", "corpora", "export_huggingface")}
    left = load_params(write(tmp_path, params | {"report_dataset": {"max_answer_characters": 9}}))
    assert left.report_dataset == ReportDataset(max_rows=5000, max_answer_characters=9)
    assert left.compute_gold_answers == Limits()


@pytest.mark.parametrize(
    ("key", "name"),
    [("corpus", "corpus"), ("export_huggingface.version", "version"), ("corpora", "corpora")],
)
def test_key_without_a_default_may_not_be_missing(tmp_path, key, name):
    params = copy.deepcopy(PROJECT)
    del (params["export_huggingface"] if "." in key else params)[name]
    with pytest.raises(InputError, match=f"params.yaml: no key {key}: expected '{name}' among: "):
        load_params(write(tmp_path, params))


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("compare_questions.min_similarity", 90, "expected a number from 0 to 1, found 90"),
        ("compare_questions.min_similarity", "much", "expected a number from 0 to 1, found 'much'"),
        ("compare_questions.min_similarity", None, "expected a number from 0 to 1, found None"),
        ("load_questions.held_out", "bird", "expected a list of corpora, or null, found 'bird'"),
        ("load_questions.held_out", ["bard"], "expected some of .*bird, .*, found 'bard'"),
        ("audit_gold_answers.rel_tol", -1, "expected a number from 0, found -1"),
        ("audit_gold_answers.rel_tol", float("nan"), "expected a number from 0, found nan"),
        ("audit_gold_answers.rel_tol", float("inf"), "expected a number from 0, found inf"),
        ("audit_gold_answers.rel_tol", True, "expected a number from 0, found True"),
        ("audit_gold_answers.rel_tol", "1e-6", "found '1e-6', a text for YAML: write 1.0e-06"),
        ("compute_gold_answers.max_steps", "1e8", "found '1e8', a text for YAML: write 100000000"),
        ("compute_gold_answers.max_steps", "inf", "expected a whole number from 1, found 'inf'"),
        ("compute_gold_answers.max_rows", 0, "expected a whole number from 1, found 0"),
        ("audit_gold_answers.max_rows", -1, "expected a whole number from 0, found -1"),
        ("audit_gold_answers.max_rows", 1.5, "expected a whole number from 0, found 1.5"),
        ("audit_gold_answers.max_rows", 1.0, "expected a whole number from 0, found 1.0"),
        ("export_trainers.example_rows", True, "expected a whole number from 0, found True"),
        ("export_trainers.prompt_template", None, "expected a text, found None"),
        ("export_trainers.prompt_template", "", "expected a text, found ''"),
        ("export_huggingface.repo_id", "me", "expected a repository of the hub, .*"),
        ("export_huggingface.version", "v1", "expected a version, such as 1.0.0, found 'v1'"),
        ("export_huggingface.date_published", "May", "expected a date in quotes, .*"),
        ("execution.databases_url", "", "expected a text, or null, found ''"),
        ("execution.databases_url", 5, "expected a text, or null, found 5"),
        ("execution.engine", "spark", "expected local or ray, found 'spark'"),
        ("execution.workers", -1, "expected a whole number from 0, found -1"),
        ("select_questions.seed", "abc", "expected a whole number, found 'abc'"),
        ("select_questions.seed", [1], r"expected a whole number, found \[1\]"),
        (
            "select_questions.max_per_canonical_sql",
            0,
            "expected a whole number from 1, or null, found 0",
        ),
        (
            "select_questions.targets.eval_share",
            30,
            "expected a share from 0 to 1, or null, found 30",
        ),
        (
            "select_questions.policies.latent_tie",
            "no",
            "expected exclude, flag or off, or accept_ties for tie_at_limit and"
            " limit_without_order, found 'no'",
        ),
        ("reward.max_steps", 999_999, "expected a whole number from 1000000, found 999999"),
        ("reward.rule", 5, "expected a text, found 5"),
        (
            "classify_difficulty.method",
            "guess",
            "expected tables, spider, source or pass_rate, found 'guess'",
        ),
        (
            "classify_difficulty",
            CLASSIFY | {"easy_max_tables": 4},
            "expected easy_.* found 4 and 3",
        ),
        ("classify_difficulty.hardness_levels", {"easy": "easy"}, "each of easy, .*, found {.*}"),
        (
            "classify_difficulty.hardness_levels",
            {"easy": "easy", "more": "hard"},
            "each of easy, .*more.*",
        ),
        (
            "classify_difficulty.source_levels",
            {"Simple": "extreme"},
            "medium or hard, found 'extreme'",
        ),
        (
            "classify_difficulty.source_levels",
            ["simple"],
            r"mapping to easy, .*, found \['simple'\]",
        ),
        ("classify_difficulty.source_levels", None, "mapping to easy, medium, hard, found None"),
        ("classify_difficulty.source_levels", {"Simple": None}, "medium or hard, found None"),
        ("reward.rule", "loose", "expected .*"),
        ("download.attempts", None, "expected a whole number from 1, found None"),
        ("corpus", [], r"expected a name, or a list of names, found \[\]"),
        ("corpus", None, "expected a name, or a list of names, found None"),
        ("corpus", ["a", 1], r"expected a name, or a list of names, found \['a', 1\]"),
        ("corpora", ["a"], r"expected an entry for each corpus, found \['a'\]"),
    ],
)
def test_value_that_a_key_cannot_have_is_named_with_those_that_it_can(tmp_path, key, value, words):
    path = write(tmp_path, change(key, value))
    with pytest.raises(InputError, match=f"params.yaml: {key}.*: .*{words}$"):
        load_params(path)


@pytest.mark.parametrize("value", [0, 0.0, 0.5, 1, 1.0])
def test_value_may_be_either_of_its_bounds(tmp_path, value):
    path = write(tmp_path, change("compare_questions.min_similarity", value))
    assert read_params("compare_questions.min_similarity", path=path) == [value]


@pytest.mark.parametrize("value", [None, 1, 5])
def test_number_may_be_null_where_it_is_optional(tmp_path, value):
    load_params(write(tmp_path, change("select_questions.max_per_canonical_sql", value)))
    load_params(write(tmp_path, change("select_questions.targets.max_questions", value)))


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("compute_gold_answers.max_step", "expected max_steps"),
        ("select_questions.target", "expected targets"),
        ("select_questions.targets.min_question", "expected min_questions"),
        ("score_rollouts.nonsense", "expected some of min_rollouts"),
        ("report_dataset.7", "expected some of max_rows, max_answer_characters"),
        ("select_question", "expected select_questions"),
        ("nonsense", "expected some of corpus, corpora, export_"),
    ],
)
def test_key_that_no_stage_reads_is_named_with_the_one_that_is_meant(tmp_path, key, words):
    path = write(tmp_path, change(key, 1))
    with pytest.raises(InputError, match=f"params.yaml: unknown key {key}: {words}"):
        load_params(path)


def test_key_that_is_no_text_is_unknown(tmp_path):
    params = copy.deepcopy(PROJECT)
    params["report_dataset"][7] = 1
    with pytest.raises(InputError, match=r"key report_dataset\.7: expected some of max_rows"):
        load_params(write(tmp_path, params))


@pytest.mark.parametrize("value", [[0.9], None, "much"])
def test_section_that_is_none_says_its_keys(tmp_path, value):
    path = write(tmp_path, change("compare_questions", value))
    keys = "min_similarity, min_gold_risk, min_mutation_score, flag_precision"
    words = rf"compare_questions: expected {keys}, found {re.escape(repr(value))}$"
    with pytest.raises(InputError, match=words):
        load_params(path)


def test_every_mistake_has_a_line(tmp_path):
    params = change("select_questions.policies.latent_tie", "sink")
    params["compute_gold_answers"]["max_step"] = 1
    params["report_dataset"]["max_rows"] = -1
    with pytest.raises(InputError) as caught:
        load_params(write(tmp_path, params))
    file = tmp_path / "params.yaml"
    assert str(caught.value).splitlines() == [
        f"{file}: unknown key compute_gold_answers.max_step: expected max_steps",
        f"{file}: select_questions.policies.latent_tie: expected exclude, flag or off, or"
        " accept_ties for tie_at_limit and limit_without_order, found 'sink'",
        f"{file}: report_dataset.max_rows: expected a whole number from 0, found -1",
    ]


def test_whole_file_is_checked_whatever_is_asked_for(tmp_path):
    path = write(tmp_path, change("compare_questions.min_similarity", 2))
    with pytest.raises(InputError, match=r"compare_questions\.min_similarity: expected a number"):
        read_params("corpus", path=path)


def test_shares_of_other_corpora_than_are_chosen_are_refused(tmp_path):
    path = write(tmp_path, change("select_questions.targets.corpus_shares", {"spider": 1}))
    with pytest.raises(InputError, match=r"corpus_shares: .*each of the corpora sample, found sp"):
        load_params(path)


@pytest.mark.parametrize(
    "content",
    [
        "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 6))
        + "corpus: *a5\n",
        "corpus: &a [*a]\n",
        "corpus: &a {b: *a}\n",
    ],
)
def test_file_that_aliases_make_large_is_refused_before_it_is_told_what_it_holds(tmp_path, content):
    path = tmp_path / "params.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=r"params.yaml: expected fewer aliases"):
        load_params(path)


def test_alias_may_repeat_what_a_person_repeats(tmp_path):
    path = tmp_path / "any.yaml"
    path.write_text("a: &a [1, 2]\nb: [*a, *a]\n")
    assert load_yaml(path) == {"a": [1, 2], "b": [[1, 2], [1, 2]]}
