"""policies: what params say that a flag means."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from answerkey.base.errors import InputError
from answerkey.base.kinds import check_value
from answerkey.base.reasons import Policy
from answerkey.flags import FLAGS
from answerkey.sections.select_questions import Policies
from answerkey.sections.whole_file import read_params
from answerkey.selection.policies import (
    find_exclusion,
    find_reason,
    keep_reported,
    read_policies,
)
from stages import select_questions
from tests.shared.joined_questions import make_joined
from tests.shared.paths import ROOT

ALL_FLAGGED = dict.fromkeys(FLAGS, "flag")


def flag(code: str, evidence: object = None) -> dict:
    return {"code": code, "evidence": evidence}


def check(values: dict) -> dict:
    return check_value(Policies, values, key="select_questions.policies")


def test_every_flag_has_the_policy_of_params_or_its_default():
    policies = read_policies({"join_fan_out": Policy.EXCLUDE})
    assert list(policies) == list(FLAGS)
    for name, flag in FLAGS.items():
        assert policies[name] == ("exclude" if name == "join_fan_out" else flag.policy)


def write_policies(folder: Path, policies: dict) -> None:
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["select_questions"]["policies"] = policies
    (folder / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")


def test_stage_prints_all_policies_in_force(tmp_path, monkeypatch, capsys):
    write_policies(tmp_path, {"join_fan_out": "off"})
    monkeypatch.chdir(tmp_path)
    select_questions.main("--policies")
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(FLAGS)
    assert "join_fan_out: off" in lines


@pytest.mark.parametrize("spelling", ["off", "'off'", "no", "false"])
def test_off_is_understood_as_yaml_reads_it(spelling):
    values = {"join_fan_out": yaml.safe_load(spelling)}
    if spelling == "no":
        assert values["join_fan_out"] is False
    assert check(values)["join_fan_out"] is Policy.OFF


@pytest.mark.parametrize("value", ["ignore", True, None, 0, ["flag"], "Exclude"])
def test_policy_that_is_none_is_named_with_its_flag(value):
    with pytest.raises(ValueError, match=r"policies\.join_fan_out: expected exclude, flag or off"):
        check({"join_fan_out": value})


def test_unknown_flag_is_named(tmp_path):
    write_policies(tmp_path, {"latent_tye": "flag"})
    with pytest.raises(InputError, match=r"policies: unknown latent_tye: expected a flag of docs"):
        read_params(tmp_path / "params.yaml")


def test_first_excluding_flag_of_the_vocabulary_gives_the_reason():
    policies = read_policies({**ALL_FLAGGED, "join_fan_out": "exclude", "tie_at_limit": "exclude"})
    flags = [flag("join_fan_out", {"score": 1}), flag("tie_at_limit", {"ort": "Åmål"})]
    code, detail = find_exclusion(flags, policies)
    assert code == "tie_at_limit"
    assert detail == '{"ort": "Åmål"}'
    assert json.loads(detail) == {"ort": "Åmål"}


@pytest.mark.parametrize("code", FLAGS)
def test_every_flag_excludes_where_its_policy_says_so(code):
    policies = read_policies({**ALL_FLAGGED, code: "exclude"})
    assert find_exclusion([flag(code, {"rows": 2})], policies) == (code, '{"rows": 2}')


@pytest.mark.parametrize("code", ["bare_column", "row_order_dependent", "join_fan_out"])
def test_no_flag_but_a_cut_through_a_tie_can_be_accepted(code):
    words = (
        rf"policies: {code}: expected exclude, flag or off, found accept_ties, which only"
        " tie_at_limit and limit_without_order may be"
    )
    with pytest.raises(ValueError, match=words):
        check({code: "accept_ties"})


@pytest.mark.parametrize(
    ("codes", "known", "unknown"),
    [
        (["tie_at_limit"], None, "tie_at_limit"),
        (["tie_at_limit", "row_order_dependent"], None, "tie_at_limit"),
        (["tie_at_limit", "bare_column"], "bare_column", "tie_at_limit"),
        (["tie_at_limit", "limit_without_order"], "tie_at_limit", "tie_at_limit"),
        (["row_order_dependent"], "row_order_dependent", "row_order_dependent"),
    ],
)
def test_tie_is_accepted_where_all_right_answers_are_known(codes, known, unknown):
    policies = read_policies(
        ALL_FLAGGED
        | dict.fromkeys(("limit_without_order", "bare_column", "row_order_dependent"), "exclude")
        | {"tie_at_limit": "accept_ties"}
    )
    flags = [flag(code) for code in codes]
    for has_accepted_rows, expected in ((True, known), (False, unknown)):
        found = find_exclusion(flags, policies, has_accepted_rows=has_accepted_rows)
        assert (found and found[0]) == expected
    assert keep_reported(flags, policies) == flags


DOUBTS = ("cross_join", "set_operation_on_non_key", "projection_mismatch", "answer_risk")
FACTS = ("tie_at_limit", "empty_answer", "boolean_answer", "latent_ambiguity", "conflicting_gold")


@pytest.mark.parametrize("judged", ["judged_right", "judged_wrong_sql"])
def test_doubt_about_an_answer_that_was_judged_right_excludes_nothing(judged):
    values = ALL_FLAGGED | dict.fromkeys((*DOUBTS, *FACTS), "exclude")
    for policy in ("flag", "off"):
        policies = read_policies(values | {judged: policy})
        for code in (*DOUBTS, *FACTS):
            found = find_exclusion([flag(judged), flag(code)], policies)
            is_lifted = policy == "flag" and code in DOUBTS
            assert (found and found[0]) == (None if is_lifted else code)


def test_flag_that_is_off_is_not_reported():
    policies = read_policies({**ALL_FLAGGED, "join_fan_out": "off", "all_null": "exclude"})
    flags = [flag("join_fan_out"), flag("all_null"), flag("cross_join")]
    assert [kept["code"] for kept in keep_reported(flags, policies)] == ["cross_join", "all_null"]


@pytest.mark.parametrize(
    ("reason", "policy", "expected"),
    [
        ("sql_error", "exclude", ("compute_gold_answers", "dialect_differs", '{"error": "fails"}')),
        ("sql_error", "flag", ("compute_gold_answers", "sql_error", "no such function: AGE")),
        ("blob", "exclude", ("compute_gold_answers", "blob", "no such function: AGE")),
        (None, "exclude", ("audit_gold_answers", "dialect_differs", '{"error": "fails"}')),
        (None, "flag", None),
    ],
)
def test_query_of_another_dialect_is_left_out_for_that(
    reason: str | None, policy: str, expected: tuple[str, ...] | None
) -> None:
    policies = read_policies({"dialect_differs": Policy(policy)})
    question = make_joined(
        "ship_train_000",
        flags=[flag("dialect_differs", {"error": "fails"})],
        stage=reason and "compute_gold_answers",
        reason=reason,
        detail=reason and "no such function: AGE",
    )
    assert find_reason(question, policies) == expected
