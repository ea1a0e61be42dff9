from pathlib import Path

import pytest
import yaml

from stages.errors import InputError
from stages.params import SECTIONS, check_section, look_up, read_params

PROJECT = yaml.safe_load((Path(__file__).parent.parent / "params.yaml").read_text(encoding="utf-8"))

PARAMS = {
    "corpus": "sample",
    "corpora": {"sample": {"db_list": "all", "size": 0}, "other": {"db_list": ["a"]}},
    "name": {"deep": "corpus"},
    "flag": False,
    "nothing": None,
}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("corpus", "sample"),
        ("corpora.other.db_list", ["a"]),
        ("corpora.sample", {"db_list": "all", "size": 0}),
        ("name.deep", "corpus"),
        ("corpora.sample.size", 0),
        ("flag", False),
        ("nothing", None),
    ],
)
def test_key_is_looked_up(key, value):
    assert look_up(PARAMS, key) == value


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("corpra", "no key corpra: expected 'corpra' among: corpus, corpora"),
        ("corpora.spider", "no key corpora.spider: expected 'spider' among: sample, other"),
        ("corpora.sample.x", "no key corpora.sample.x: expected 'x' among: db_list, size"),
        ("corpus.x", "no key corpus.x: expected 'x' among: no keys"),
        ("corpus.sample", "no key corpus.sample: expected 'sample' among: no keys"),
        ("flag.x", "no key flag.x: expected 'x' among: no keys"),
        ("", "no key : expected ''"),
    ],
)
def test_missing_key_is_named_with_those_that_exist(key, words):
    with pytest.raises(InputError) as caught:
        look_up(PARAMS, key)
    assert words in str(caught.value)


def test_values_come_in_the_order_asked_for(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("b: 2\na: {c: 1}  # a comment\nwhich: a\n")
    assert read_params("a.c", "b", "which", path=path) == [1, 2, "a"]


def test_unknown_key_names_the_file(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("b: 2\n")
    with pytest.raises(InputError, match=r"params.yaml: no key a"):
        read_params("a", path=path)


def test_missing_file_says_where_to_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=f"No {tmp_path}/params.yaml: run stages from"):
        read_params("a")


@pytest.mark.parametrize("name", SECTIONS)
def test_section_of_the_project_has_the_keys_that_are_known(name):
    check_section(PROJECT, name)


def test_every_section_of_the_project_is_known_but_those_that_name_their_own_keys():
    assert set(PROJECT) - set(SECTIONS) == {"corpus", "corpora"}


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("compare_questions.min_similarity", 90, "expected a number from 0 to 1, found 90"),
        ("compare_questions.min_similarity", "much", "expected a number from 0 to 1, found 'much'"),
        ("validate_dataset.rel_tol", -1, "expected a number from 0, found -1"),
        ("validate_dataset.rel_tol", float("nan"), "expected a number from 0, found nan"),
        ("validate_dataset.rel_tol", float("inf"), "expected a number from 0, found inf"),
        ("validate_dataset.rel_tol", "1e-6", "found '1e-6', a text for YAML: write 1.0e-06"),
        ("compute_gold_answers.max_steps", "1e8", "found '1e8', a text for YAML: write 100000000"),
        ("compute_gold_answers.max_steps", "inf", "expected a whole number from 1, found 'inf'"),
        ("compute_gold_answers.max_rows", 0, "expected a whole number from 1, found 0"),
        ("audit_gold_answers.shuffles", -1, "expected a whole number from 0, found -1"),
        ("audit_gold_answers.max_rows", 1.5, "expected a whole number from 0, found 1.5"),
        ("export_trainers.example_rows", True, "expected a whole number from 0, found True"),
        ("export_trainers.prompt_template", None, "expected a text, found None"),
        ("export_trainers.prompt_template", "", "expected a text, found ''"),
        ("execution.databases_url", "", "expected a text, or null, found ''"),
        ("execution.databases_url", 5, "expected a text, or null, found 5"),
        ("select_questions.seed", "abc", "expected a whole number, found 'abc'"),
        ("download.attempts", None, "expected a whole number from 1, found None"),
    ],
)
def test_value_that_a_key_cannot_have_is_named_with_those_that_it_can(tmp_path, key, value, words):
    section, _, name = key.partition(".")
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump({section: PROJECT[section] | {name: value}}))
    with pytest.raises(ValueError, match=f"params.yaml: {key}: .*{words}$"):
        read_params(key, path=path)


@pytest.mark.parametrize("value", [0, 0.0, 0.5, 1, 1.0])
def test_value_may_be_either_of_its_bounds(tmp_path, value):
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump({"compare_questions": {"min_similarity": value}}))
    assert read_params("compare_questions.min_similarity", path=path) == [value]


def test_section_is_checked_whatever_else_is_asked_for(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("corpus: a\ncompare_questions: {min_similarity: 2}\n")
    with pytest.raises(ValueError, match=r"compare_questions\.min_similarity: expected a number"):
        read_params("corpus", "compare_questions.min_similarity", path=path)


@pytest.mark.parametrize(
    ("section", "key", "words"),
    [
        ("compute_gold_answers", "max_step", "expected max_steps"),
        ("select_questions", "target", "expected targets"),
        ("validate_dataset", "nonsense", "expected some of rel_tol"),
        ("report_dataset", 7, "expected some of max_rows, max_answer_characters"),
    ],
)
def test_key_that_no_stage_reads_is_named_with_the_one_that_is_meant(tmp_path, section, key, words):
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump({section: PROJECT[section] | {key: 1}}))
    with pytest.raises(ValueError, match=f"params.yaml: unknown key {section}.{key}: {words}"):
        read_params(section, path=path)


def test_unknown_target_is_named(tmp_path):
    path = tmp_path / "params.yaml"
    targets = PROJECT["select_questions"]["targets"] | {"min_question": 100}
    section = PROJECT["select_questions"] | {"targets": targets}
    path.write_text(yaml.safe_dump({"select_questions": section}))
    with pytest.raises(
        ValueError, match=r"select_questions\.targets\.min_question: expected min_q"
    ):
        read_params("select_questions.targets", path=path)


def test_section_that_is_none_says_its_keys(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("compare_questions: [0.9]\n")
    with pytest.raises(
        ValueError, match=r"compare_questions: expected min_similarity, found \[0.9"
    ):
        read_params("compare_questions", path=path)


def test_sections_that_are_not_asked_for_are_not_looked_at(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("corpus: a\ncompare_questions: [0.9]\n")
    assert read_params("corpus", path=path) == ["a"]
