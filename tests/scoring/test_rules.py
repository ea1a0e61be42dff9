"""Rules of comparison as texts."""

import pytest

from answerkey.scoring.rules import RULES, Rule, read_rule


def test_each_rule_is_read_by_its_name():
    for name, rule in RULES.items():
        if name == "subset":
            continue
        assert read_rule(name) is read_rule(name)
        assert read_rule(name) == rule
        assert read_rule(rule) is rule


@pytest.mark.parametrize(
    ("text", "option", "value"),
    [
        ("strict,columns=any_order", "columns", "any_order"),
        ("strict, numbers_by_value", "numbers_by_value", True),
        ("spider,numbers_by_value=false", "numbers_by_value", False),
        ("spider,rel_tol=0.001", "rel_tol", 0.001),
        ("strict,abs_tol=1e-2,digits=2", "digits", 2),
        ("subset,=,3", "row_count", ("=", 3)),
        ("subset,>=,2,numeric_text=false", "row_count", (">=", 2)),
        ("multiset,order=gold", "order", "gold"),
        ("spider2,extra_columns=3", "extra_columns", 3),
    ],
)
def test_options_follow_the_name(text, option, value):
    rule = read_rule(text)
    assert getattr(rule, option) == value
    assert rule.name == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "No rule ''.*strict, spider"),
        ("Spider", "No rule 'Spider'"),
        ("spider,colour=red", "no option 'colour', expected one of .*columns"),
        ("spider,columns=some", "columns is 'some', expected one of same"),
        ("strict,columns", "columns is 'true'"),
        ("strict,rel_tol=much", "rel_tol cannot be 'much'"),
        ("strict,rel_tol=nan", "rel_tol is nan"),
        ("strict,rel_tol=1", "rel_tol is 1"),
        ("strict,abs_tol=inf", "abs_tol is inf"),
        ("strict,digits=-1", "digits is -1"),
        ("strict,numeric_text=maybe", "numeric_text cannot be 'maybe'"),
        ("subset,>=,some", "row_count cannot be 'some'"),
        ("subset,>=,-1", "row_count is"),
        ("subset,=,0", "row_count is"),
        ("subset", "rule 'subset': expected how many rows it needs, as in subset,=,3"),
        ("bird,rows=subset", "expected how many rows it needs"),
        ("spider2,extra_columns=0", "extra_columns is 0, expected a whole number from 1"),
        ("set,=,3", "only a subset has one"),
        ("bird,order=always", "a set of rows has no order"),
        ("strict,name=x", "no option 'name'"),
        ("strict,,", "no option ''"),
    ],
)
def test_what_is_no_rule_is_refused_by_name(text, message):
    with pytest.raises(ValueError, match=message):
        read_rule(text)


def test_rule_of_ones_own_is_checked():
    with pytest.raises(ValueError, match="rows is 'bag'"):
        Rule("mine", rows="bag")
