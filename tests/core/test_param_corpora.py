"""param_corpora: every mistake in an entry of `corpora` is told with its key."""

import copy

import pytest
import yaml

from answerkey.errors import InputError
from answerkey.params import load_params
from answerkey.sections.corpora import check_corpora
from tests.shared.paths import ROOT

FILES = {"train": ["a.json"], "validation": ["b.json"]}
OWN = {"origin": "directory", "root": "data/own", "db_list": "all", "questions": FILES}
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


def change(entry, key, value):
    """The entry with another value for a dotted key; ...: without it."""
    changed = copy.deepcopy(entry)
    *sections, last = key.split(".")
    place = changed
    for section in sections:
        place = place[section]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return changed


@pytest.mark.parametrize(
    ("entry", "key", "value", "words"),
    [
        (OWN, "db_list", ..., "no key {}: expected 'db_list' among: origin, root, questions"),
        (OWN, "origin", ..., "no key {}: expected 'origin' among: "),
        (OWN, "root", ..., "no key {}: expected 'root' among: "),
        (OWN, "questions", ..., "no key {}: expected 'questions' among: "),
        (HUB, "databases.archive.sha256", ..., "no key {}: expected 'sha256' among: "),
        (OWN, "licence", "mit", "unknown key {}: expected license"),
        (HUB, "root", "data", "unknown key {}: expected some of origin, db_list, "),
        (HUB, "databases.archive.file", "x", "unknown key {}: expected some of repo_id, "),
        (OWN, "origin", "web", "{}: expected directory or hub, found 'web'"),
        (OWN, "root", None, "{}: expected a text, found None"),
        (OWN, "db_list", ["a", "a"], "{}: Database a is listed twice"),
        (OWN, "db_list", [], "{}: No database is listed"),
        (OWN, "db_list", ["../a"], "{}: Not a database id: '../a'"),
        (OWN, "db_list", "most", "{}: expected a list of databases, or all, found 'most'"),
        (OWN, "db_list", None, "{}: expected a list of databases, or all, found None"),
        (OWN, "license", 4, "{}: expected a text, or null, found 4"),
        (OWN, "language", None, "{}: expected a text, found None"),
        (OWN, "citation", 4, "{}: expected a text, or null, found 4"),
        (OWN, "questions", ["a"], "{}: expected a list of files for train, .* or both, .*'a'"),
        (OWN, "questions", {}, "{}: expected a list of files for train, .* or both, found {{}}"),
        (OWN, "questions.test", [], "list of files for train, .* or both, found .*test"),
        (OWN, "questions.train", "a", "{}: expected a list of files, or .*, found 'a'"),
        (OWN, "questions.train", None, "{}: expected a list of files, or .*, found None"),
        (OWN, "questions.train", [7], "{}.0: expected a text, found 7"),
        (OWN, "prefix", "a/b", "{}: expected letters, digits, _ and -, .* found 'a/b'"),
        (OWN, "prefix", "", "{}: expected letters, digits, _ and -, .* found ''"),
        (OWN, "corrections", "../a", "{}: expected a name in data/corrections, or null, found"),
        (OWN, "corrections", "a.yaml", "{}: expected a name in data/corrections, or null, found"),
        (OWN, "corrections", ["a"], "{}: expected a name in data/corrections, or null, found"),
        (
            OWN,
            "databases",
            "dev",
            "{}: expected a list of folders below root, or null, found 'dev'",
        ),
        (OWN, "databases", ["../x"], "tried: Not a path in data/own: '../x'"),
        (OWN, "databases", ["//x"], "tried: Not a path in data/own: '//x'"),
        (OWN, "questions.train", ["../x"], "tried: Not a path in data/own: '../x'"),
        (OWN, "databases_of", "none", "{}: expected an entry with databases of its own, found 'n"),
        (OWN, "databases_of", "guest", "{}: expected an entry with databases of its own, found 'g"),
        (OWN, "databases_of", "tried", "{}: expected an entry with databases of its own, found 't"),
        (
            OWN | {"databases": ["x"]},
            "databases_of",
            "own",
            "tried: has databases and databases_of",
        ),
        (HUB, "databases_of", "own", "tried: has databases and databases_of: expected one of them"),
        (HUB, "databases", ..., "tried: no key databases: expected it, or databases_of"),
        (HUB, "questions", FILES, "unknown key {}.train: "),
        (HUB, "questions.revision", 1234, "{}: expected a text, in quotes, found 1234"),
        (HUB, "questions.repo_id", "", "{}: expected a text, in quotes, found ''"),
        (
            HUB,
            "questions.sha256",
            {"a.json": 12},
            "{}.a.json: expected a text, in quotes, found 12",
        ),
        (HUB, "questions.sha256", {"x": "0"}, "questions: sha256 lists x, which is none of its f"),
        (HUB, "databases.kind", "torrent", "{}: expected archive or files, found 'torrent'"),
        (HUB, "databases.archive", ..., "databases: kind is archive: expected a key archive"),
        (HUB, "databases.archive.sha256", 5, "{}: expected a text, in quotes, or null, found 5"),
        (HUB, "databases.archive.member", "x", "{}: expected a text with {{db_id}}, found 'x'"),
        (HUB, "databases.files.path", "x", "{}: expected a text with {{db_id}}, found 'x'"),
    ],
)
def test_mistake_is_told_with_its_key(entry, key, value, words):
    with pytest.raises(InputError) as caught:
        check_corpora(ENTRIES | {"tried": change(entry, key, value)})
    pattern = words.format(rf"corpora\.tried\.{key}")
    assert caught.match(rf"params\.yaml: .*{pattern}")
    assert "corpora.tried" in str(caught.value)


@pytest.mark.parametrize("entry", [None, "data", ["data"]])
def test_entry_that_is_none_says_its_first_key(entry):
    with pytest.raises(InputError, match=r"params\.yaml: corpora\.tried: expected origin, found"):
        check_corpora({"tried": entry})


def test_entries_may_leave_out_what_is_optional():
    checked = check_corpora(ENTRIES | {"hub": HUB})
    assert checked["own"].prefix is checked["own"].databases is checked["own"].license is None
    assert checked["hub"].questions.sha256 == {}
    assert checked["hub"].databases.place.member == "d/{db_id}"


def test_train_comes_before_validation():
    files = {"validation": ["b.json"], "train": []}
    questions = check_corpora({"own": OWN | {"questions": files}})["own"].questions
    assert list(questions) == ["train", "validation"]


def test_entry_of_a_corpus_that_is_not_chosen_is_checked_too(tmp_path):
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["corpora"]["bird"]["origin"] = "web"
    del params["corpora"]["local"]["root"]
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(params), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_params(path)
    assert [line.removeprefix(f"{path}: ") for line in str(caught.value).splitlines()] == [
        "corpora.bird.origin: expected directory or hub, found 'web'",
        "no key corpora.local.root: expected 'root' among: db_list, layout, license, origin,"
        " questions",
    ]
