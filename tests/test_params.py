import pytest

from stages.params import look_up, read_params

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
        ("", "no key : expected ''"),
    ],
)
def test_missing_key_is_named_with_those_that_exist(key, words):
    with pytest.raises(KeyError) as caught:
        look_up(PARAMS, key)
    assert words in str(caught.value)


def test_values_come_in_the_order_asked_for(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("b: 2\na: {c: 1}  # a comment\nwhich: a\n")
    assert read_params("a.c", "b", "which", path=path) == [1, 2, "a"]


def test_unknown_key_names_the_file(tmp_path):
    path = tmp_path / "params.yaml"
    path.write_text("b: 2\n")
    with pytest.raises(KeyError, match=r"params.yaml: no key a"):
        read_params("a", path=path)


def test_missing_file_says_where_to_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError, match=f"No {tmp_path}/params.yaml: run stages from"):
        read_params("a")
