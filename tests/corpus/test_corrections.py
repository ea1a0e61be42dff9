"""What curators decide, or published lists say, is applied to the questions that they name."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.base import shipped
from answerkey.base.errors import InputError
from answerkey.base.paths import CORRECTIONS
from answerkey.base.records import hash_question, read_jsonl
from answerkey.base.yaml_files import load_yaml
from answerkey.corpus import import_corrections
from answerkey.corpus.import_corrections import read_claims
from answerkey.corpus.loading import apply_corrections, read_corrections
from answerkey.corpus.split_rules import choose_held_out
from answerkey.risk.verdicts import read_verdicts
from answerkey.sections.whole_file import read_params
from stages import load_questions
from tests.shared.bird_world import DEV, write_bird
from tests.shared.paths import ROOT
from tests.shared.project_world import World, dump
from tests.shared.report_world import STAGES, run_stages, write_corpus, write_params

LINK = "https://example.org/threads/7"


def question(text: str, sql: str, database: str = "shop", index: int = 0) -> dict[str, Any]:
    return {
        "question_text": text,
        "database_name": database,
        "gold_sql": sql,
        "spider_split": "train",
        "source": {"corpus": "tried", "file": "train.json", "index": index},
    }


QUESTIONS = [
    question("How many hats?", "SELECT count(*) FROM coat", index=0),
    question("Name the hats.", "SELECT name FROM hat", index=1),
    question("Name the hats.", "SELECT id FROM hat", index=2),
    question("Name the hats.", "SELECT name FROM hat", index=3),
    question("How many hats?", "SELECT 7", "barn", index=4),
]


def entry(text: str = "How many hats?", action: str = "exclude", **others: Any) -> dict[str, Any]:
    return {"database": "shop", "question": text, "action": action, "reason": "Wrong."} | others


def replace(text: str = "How many hats?", gold_sql: str = "SELECT 1", **others: Any) -> dict:
    return entry(text, "replace", replacement={"gold_sql": gold_sql}) | others


@pytest.fixture
def read(tmp_path: Path):
    """Corrections out of entries, or out of the text of a file."""

    def read(entries: list[Any] | str):
        path = tmp_path / "tried.yaml"
        text = entries if isinstance(entries, str) else yaml.safe_dump(entries)
        path.write_text(text, encoding="utf-8")
        return read_corrections(path)

    return read


def test_excluded_question_keeps_its_place_and_says_why(read) -> None:
    # One of a database that was not chosen is passed over.
    corrected = apply_corrections(
        QUESTIONS, read([entry(database="mill"), entry(link=LINK)])
    ).records
    note = {"action": "exclude", "reason": "Wrong.", "link": LINK}
    expected = QUESTIONS[0] | {"source": QUESTIONS[0]["source"] | {"correction": note}}
    assert corrected == [expected, *QUESTIONS[1:]]
    assert "correction" not in QUESTIONS[0]["source"]


@pytest.mark.parametrize(
    "replacement",
    [
        {"question_text": "How many caps?", "gold_sql": "SELECT count(*) FROM cap"},
        {"evidence": "A cap is a hat."},
    ],
)
def test_replaced_question_keeps_what_was_replaced_in_its_source(read, replacement) -> None:
    corrections = read([entry(action="replace", replacement=replacement)])
    first, *others = apply_corrections(QUESTIONS, corrections).records
    assert others == QUESTIONS[1:]
    assert {field: first[field] for field in replacement} == replacement
    assert first["source"]["correction"] == {
        "action": "replace",
        "reason": "Wrong.",
        "link": None,
        "original": {field: QUESTIONS[0].get(field, "") for field in replacement},
    }
    rest = set(first) - {*replacement, "source"}
    assert {name: first[name] for name in rest} == {name: QUESTIONS[0][name] for name in rest}


def test_gold_sql_chooses_among_queries_of_one_text_and_repeats_are_all_meant(read) -> None:
    corrections = read([entry("Name the hats.", gold_sql="SELECT name FROM hat")])
    corrected = apply_corrections(QUESTIONS, corrections).records
    assert list_corrected(corrected) == [1, 3]


def list_corrected(questions: list[Any]) -> list[int]:
    return [q["source"]["index"] for q in questions if "correction" in q["source"]]


JUDGED = {"source": "model:reader", "date": "2026-03-01", "readings": ["wrong", "wrong"]}


def hashed(index: int = 1, action: str = "exclude", **others: Any) -> dict[str, Any]:
    asked = QUESTIONS[index]
    sha256 = hash_question(asked["question_text"], asked["gold_sql"])
    named = {name: value for name, value in entry(action=action).items() if name != "question"}
    return named | {"file": "dev.json", "index": index, "sha256": sha256} | others


def test_question_named_by_its_hash_is_corrected_wherever_it_stands(read) -> None:
    change = {"gold_sql": "SELECT DISTINCT name FROM hat"}
    corrections = read([hashed(action="replace", replacement=change, **JUDGED)])
    done = apply_corrections(QUESTIONS, corrections)
    assert (list_corrected(done.records), done.misses) == ([1, 3], [])
    note = {"action": "replace", "reason": "Wrong.", "link": None}
    assert done.records[3]["source"]["correction"] == note | JUDGED | {
        "original": {"gold_sql": QUESTIONS[3]["gold_sql"]}
    }


def test_hash_of_no_question_is_told_and_stops_nothing(read) -> None:
    others = [hashed(index, sha256=f"{index}".ljust(64, "0")) for index in range(4)]
    corrections = read([entry(), hashed(), *others, hashed(database="mill")])
    done = apply_corrections(QUESTIONS, corrections)
    assert list_corrected(done.records) == [0, 1, 3]
    words = (
        "a.yaml: 1 of 5 corrections by hash; 4 are about other text or SQL than this edition has: "
    )
    names = ", ".join(f"sha256 {index}00000000000... of database shop" for index in range(3))
    assert done.describe(Path("a.yaml")) == [f"{words}{names}, ..."]
    assert apply_corrections(QUESTIONS, read([entry()])).describe(Path("a.yaml")) == []


def test_quoted_question_goes_before_its_hash(read) -> None:
    for order in (1, -1):
        entries = [replace("How many hats?"), hashed(0)][::order]
        done = apply_corrections(QUESTIONS, read(entries))
        assert done.records[0]["gold_sql"] == "SELECT 1"
        assert len(done.hits) == 1


def test_day_that_yaml_reads_as_a_date_is_a_day(read) -> None:
    (correction,) = read(
        "[{database: a, question: b, action: exclude, reason: c, date: 2026-03-01}]"
    )
    assert correction.date == "2026-03-01"


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        (
            [entry(database="barn"), entry("How many hat?")],
            r"tried.yaml: entry 2: 'How many hat\?' of database shop: .*there is no such question",
        ),
        (
            [entry(gold_sql="SELECT count(*) FROM coats")],
            r"entry 1: .*expected one of its queries as gold_sql, found 'SELECT count\(\*\) FROM"
            r" coats'; its queries: \['SELECT count\(\*\) FROM coat'\]",
        ),
        ([entry("Name the hats.")], r"found None; its queries: \['SELECT id FROM hat', 'SELECT na"),
        (
            [hashed(), hashed(3)],
            "entry 2: sha256 .* of database shop: is corrected by .*yaml: entry 1",
        ),
        ([entry(), replace()], r"entry 2: 'How many hats\?' .* is corrected by .*yaml: entry 1"),
        (
            [replace(gold_sql="SELECT count(*) FROM coat")],
            "entry 1: .* of database shop: has this gold_sql already",
        ),
    ],
)
def test_correction_that_does_not_fit_the_corpus_is_refused(read, entries, words) -> None:
    with pytest.raises(ValueError, match=words):
        apply_corrections(QUESTIONS, read(entries))


@pytest.mark.parametrize(
    ("entries", "words"),
    [
        ("", r"tried.yaml: expected a list \(empty: \[\]\), found NoneType"),
        ("- [", "tried.yaml: expected YAML"),
        ([entry(), entry(action="drop")], "tried.yaml: entry 2: action: expected exclude or repl"),
        ([entry(reason=" ")], "entry 1: reason: expected text, found ' '"),
        ([entry(link="thread 7")], "entry 1: link: expected an address, or null, found 'thread 7'"),
        ([entry(replacement={"gold_sql": "SELECT 1"})], "expected a replacement for action"),
        (
            [entry(sha256="0" * 64)],
            "expected question, with gold_sql or without, or file, index and",
        ),
        ([entry(None, gold_sql="x")], "found gold_sql"),
        ([hashed(file=None)], "expected question, .*, found index, sha256"),
        ([hashed(sha256="0" * 65)], "sha256: expected 64 hex digits, in small letters, or null"),
        ([entry(date="soon")], "date: expected a day such as 2026-03-01, or null, found 'soon'"),
        ([entry(readings="x")], "readings: expected a list of verdicts, or null, found 'x'"),
        ([replace(replacement={})], "entry 1: expected a replacement for action replace"),
        ([replace(replacement={"query": "x"})], "entry 1: replacement: expected some of question_"),
    ],
)
def test_entry_that_cannot_be_meant_is_named(read, entries, words) -> None:
    with pytest.raises(ValueError, match=f"(?s){words}"):
        read(entries)


def test_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.yaml: expected a list of corrections"):
        read_corrections(tmp_path / "none.yaml")


# --- through the stages


def test_every_corpus_of_params_names_a_file_that_can_be_read() -> None:
    corpora = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))["corpora"]
    names = {corpus.get("corrections") for corpus in corpora.values()}
    files = {path.stem for path in (ROOT / CORRECTIONS).glob("*.yaml")}
    assert names - {None} == files
    for name in files:
        assert read_corrections(ROOT / CORRECTIONS / f"{name}.yaml")


@pytest.mark.slow
def test_curators_word_reaches_the_sidecars(tmp_path: Path) -> None:
    """Of two databases a question is excluded, one replaced, and one repeats the excluded."""
    write_corpus(tmp_path / "corpus")
    path = tmp_path / "corpus/train_spider.json"
    rows = json.loads(path.read_text(encoding="utf-8"))
    newest, oldest = (
        {"db_id": "ships", "question": "Which is oldest?", "query": f"SELECT {value} FROM ship"}
        for value in ("max(built)", "min(built)")
    )
    path.write_text(json.dumps([*rows, newest, oldest]), encoding="utf-8")
    write_params(tmp_path, {})
    params = yaml.safe_load((tmp_path / "params.yaml").read_text(encoding="utf-8"))
    params["corpora"]["local"]["corrections"] = "tried"
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params), encoding="utf-8")
    more = "SELECT pages + 1 FROM book WHERE id = 2"
    entries = [
        entry("Which is oldest?", database="ships", gold_sql=newest["query"], link=LINK),
        replace("How many pages has Ice?", more, database="books"),
        entry("Of another database", database="trains"),
    ]
    (tmp_path / CORRECTIONS).mkdir(parents=True)
    (tmp_path / CORRECTIONS / "tried.yaml").write_text(yaml.safe_dump(entries))
    stages = STAGES[: STAGES.index("select_questions") + 1]
    assert "; 2 corrected (exclude 1, replace 1)\n" in run_stages(tmp_path, *stages)

    selection = tmp_path / "data/interim/selection"
    excluded, audits, selected = (
        {record["question_id"]: record for record in read_jsonl(selection / f"{name}.jsonl")}
        for name in ("excluded", "audit", "questions")
    )
    loaded = [*read_jsonl(tmp_path / "data/interim/questions.jsonl")]
    assert len(excluded) + len(selected) == len(loaded)
    curated = [r for r in excluded.values() if r["reason"] == "excluded_by_curator"]
    assert [(r["stage"], r["detail"], r["gold_sql"]) for r in curated] == [
        ("load_questions", f"Wrong. {LINK}", "SELECT max(built) FROM ship")
    ]
    # What an excluded question says no longer contradicts the one with the same text.
    assert "Which is oldest?" in {q["question_text"] for q in selected.values()}
    assert selected["books_eval_001"]["gold_answer"] == 97
    assert audits["books_eval_001"]["source"]["correction"]["original"] == {
        "gold_sql": "SELECT pages FROM book WHERE title = 'Ice'"
    }


# --- published lists

HIGHEST, LIFTS = DEV
FIXED = "SELECT DISTINCT T1.`Resort Name` FROM resort AS T1, `lift list` AS T2 WHERE Seats > 5"
Import = Callable[..., str]


@pytest.fixture
def import_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Import:
    """Imports rows about BIRD, whose dev set has two questions; what the command says."""
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    write_bird(tmp_path / "data/bird")
    world.change("corpus", "bird")

    def run(rows: Any, *, name: str = "tried", file: str = "list.json") -> str:
        if file.endswith(".csv"):
            with Path(file).open("w", newline="") as target:
                writer = csv.DictWriter(target, rows[0])
                writer.writeheader()
                writer.writerows(rows)
        else:
            Path(file).write_text(json.dumps(rows), encoding="utf-8")
        source = f"https://example.org/{name}"
        options = {"corpus": "bird", "name": name, "license": "mit", "day": "2026-03-01"}
        import_corrections.import_list(Path(file), source=source, **options)
        return capsys.readouterr().err

    return run


def read_written(name: str = "tried") -> tuple[dict[str, dict], dict[str, str]]:
    """The replacements of the file of corrections, and the verdicts, by question."""
    path = Path(f"data/corrections/{name}.yaml")
    corrections = read_corrections(path) if path.is_file() else []
    verdicts = [v for v in read_verdicts() if Path(v.where.split(":")[0]).stem == name]
    return (
        {each.question: each.replacement for each in corrections},
        {each.question_text: each.verdict for each in verdicts},
    )


@pytest.mark.parametrize(
    "row",
    [
        # A corrected copy of the release.
        {**LIFTS, "SQL": FIXED},
        {**LIFTS, "question_id": "1", "SQL": FIXED},
        # Original and fixed, with an id and a note, which may be no JSON.
        {
            **{"id": 1, "db_id": "ski_resorts", "question": LIFTS["question"]},
            **{"original": FIXED, "fixed": FIXED, "note": float("nan")},
        },
        # Columns of one's own: by id, by our id, and by the text of question or SQL alone.
        {"question_id": 1, "corrected_sql": FIXED, "reason": "Repeats."},
        {"question_id": "ski_resorts_eval_001", "corrected_sql": FIXED},
        {"db_id": "ski_resorts", "question": LIFTS["question"].upper(), "corrected_sql": FIXED},
        {"db_id": "ski_resorts", "gold_sql": LIFTS["SQL"] + " ;", "corrected_sql": FIXED},
    ],
)
@pytest.mark.parametrize("file", ["list.json", "list.csv"])
def test_other_sql_becomes_a_correction(import_list: Import, row: dict, file: str) -> None:
    said = import_list([row], file=file)
    corrections, verdicts = read_written()
    assert corrections == {LIFTS["question"]: {"gold_sql": FIXED}}
    assert verdicts == {}
    assert "1 row (corrected 1); 0 disputed" in said


def test_id_is_the_one_that_a_question_has_as_its_corpus_is_divided(import_list: Import) -> None:
    names = {"school_meals", "ski_resorts"}
    (seed, *_) = [
        seed
        for seed in range(20)
        if "ski_resorts" not in choose_held_out(names, eval_share=0.3, seed=seed)
    ]
    params = load_yaml(Path("params.yaml"))
    params["corpora"]["bird"]["split"] = {"by": "database", "seed": seed}
    Path("params.yaml").write_text(dump(params), encoding="utf-8")
    import_list([{"question_id": "ski_resorts_train_001", "corrected_sql": FIXED}])
    corrections, _ = read_written()
    assert corrections == {LIFTS["question"]: {"gold_sql": FIXED}}


def test_copy_of_the_release_confirms_what_it_leaves_and_changes_words_too(
    import_list: Import,
) -> None:
    changed = {"question": "Which resorts have lifts of 6 seats?", "evidence": "large: Seats > 5"}
    import_list([HIGHEST, {**LIFTS, **changed}])
    corrections, verdicts = read_written()
    assert corrections == {
        LIFTS["question"]: {
            "question_text": changed["question"],
            "evidence": changed["evidence"],
        }
    }
    assert verdicts == {HIGHEST["question"]: "right"}


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ({"sql": LIFTS["SQL"], "label": False, "error_types": [{"error": "join"}]}, "wrong"),
        ({"sql": LIFTS["SQL"].replace(" ", "\n"), "label": "correct"}, "right"),
        ({"expert_wrong": True, "note": "lack distinct"}, "wrong"),
        ({"expert_wrong": False, "note": None}, "right"),
        ({"classes": ["limit 1"]}, "wrong"),
        ({"verdict": "Incorrect", "reason": "Ties."}, "wrong"),
        ({"sql": FIXED, "label": True}, None),
    ],
)
def test_label_becomes_a_verdict_about_gold_alone(
    import_list: Import, row: dict, word: str | None
) -> None:
    place = {"question_id": 1, "db_id": "ski_resorts", "question": LIFTS["question"]}
    said = import_list([place | row])
    assert read_written() == ({}, {LIFTS["question"]: word} if word else {})
    assert ("about another query 1" in said) == (word is None)
    if word == "wrong":
        (verdict,) = read_verdicts()
        assert verdict.source == "https://example.org/tried (mit)"
        assert verdict.reason != ""


def test_number_that_counts_something_else_is_no_id(import_list: Import) -> None:
    row = {"db_id": "ski_resorts", "question": LIFTS["question"], "label": 0}
    import_list([{"id": 0, **row}, {**row, "db_id": "other", "question": "?"}])
    assert read_written() == ({}, {LIFTS["question"]: "wrong"})


def test_lists_that_disagree_are_named_in_log_and_file(import_list: Import) -> None:
    import_list([{"question_id": 1, "verdict": "right"}], name="first")
    import_list([{"question_id": 0, "corrected_sql": "SELECT 1"}], name="second")
    rows = [
        {"question_id": 1, "corrected_sql": FIXED, "reason": "Repeats."},
        {"question_id": 0, "verdict": "right"},
        {"question_id": 0, "verdict": "wrong"},
        {"question_id": 7, "verdict": "wrong"},
    ]
    said = import_list(rows)
    assert said.splitlines()[-3:] == [
        "import-corrections: disputed: ski_resorts_eval_001: wrong, but not by first",
        "import-corrections: disputed: ski_resorts_eval_000: right, but not by second",
        "import-corrections: 4 rows (corrected 1, not found 1, repeated 1, right 1); 2 disputed",
    ]
    (entry,) = yaml.safe_load(Path("data/corrections/tried.yaml").read_text())
    assert entry["reason"] == "Repeats. Disputed: first says otherwise."
    assert entry["link"] == "https://example.org/tried"
    assert import_list(rows) == said  # a list does not dispute itself


def test_lists_of_the_package_are_compared_with_as_well(
    import_list: Import, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_list([{"question_id": 1, "verdict": "right"}], name="first")
    import_list([{"question_id": 0, "corrected_sql": "SELECT 1"}], name="second")
    package = tmp_path / "package"
    for name in ("corrections", "verdicts"):
        shutil.move(tmp_path / "data" / name, package / "data" / name)
    for module in (import_corrections, shipped):
        monkeypatch.setattr(module, "SHIPPED", package)
    rows = [{"question_id": 1, "corrected_sql": FIXED}, {"question_id": 0, "verdict": "right"}]
    said = import_list(rows)
    assert "ski_resorts_eval_001: wrong, but not by first" in said
    assert "ski_resorts_eval_000: right, but not by second" in said


def test_corrections_are_applied_and_the_header_has_source_and_licence(
    import_list: Import, tmp_path: Path
) -> None:
    import_list([{"question_id": 1, "corrected_sql": FIXED, "evidence": "Seats."}])
    text = Path("data/corrections/tried.yaml").read_text()
    assert text.startswith(
        "# Made by `answerkey import-corrections` of https://example.org/tried (mit).\n- "
    )
    params = yaml.safe_load(Path("params.yaml").read_text())
    params["corpora"]["bird"]["corrections"] = "tried"
    Path("params.yaml").write_text(yaml.safe_dump(params))
    load_questions.main(read_params())
    lines = Path("data/interim/questions.jsonl").read_text().splitlines()
    (found,) = [q for q in map(json.loads, lines) if "correction" in q["source"]]
    assert (found["gold_sql"], found["evidence"]) == (FIXED, "Seats.")
    assert found["source"]["correction"]["original"]["gold_sql"] == LIFTS["SQL"]


HOSTILE = "\"'\n- database: x\n: {a}: [b] # c \t\x85\u2028 \\ %TAG !! &d *e | > 名 \U0001f600"


def test_texts_of_a_list_are_values_of_the_files_and_nothing_else(
    import_list: Import,
) -> None:
    rows = [
        {"question_id": 1, "corrected_sql": f"SELECT 1 -- {HOSTILE}", "reason": HOSTILE},
        {"question_id": 0, "label": "wrong", "reason": HOSTILE},
    ]
    Path("list.json").write_text(json.dumps(rows), encoding="utf-8")
    options = {"corpus": "bird", "name": "tried", "license": "mit\n- a", "day": "2026-03-01"}
    import_corrections.import_list(Path("list.json"), source=HOSTILE, **options)
    (correction,) = read_corrections(Path("data/corrections/tried.yaml"))
    assert correction.replacement == {"gold_sql": f"SELECT 1 -- {HOSTILE}".strip()}
    assert correction.reason == HOSTILE
    (verdict,) = read_jsonl(Path("data/verdicts/tried.jsonl"))
    assert verdict["reason"] == HOSTILE


@pytest.mark.parametrize("name", ["../tried", "a/b", "", ".x", "a\nb", "a\\b", "a\0"])
def test_name_of_a_list_is_that_of_files_in_their_folders(import_list: Import, name: str) -> None:
    with pytest.raises(InputError, match="--name is "):
        import_list([{"question_id": 1, "corrected_sql": FIXED}], name=name, file="list.json")
    assert not list(Path().rglob("*tried.yaml"))


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (7, r"list.json: not a JSON array: .* expected \["),
        ([7], "row 0: expected fields with values, found 7"),
        (
            [{"question_id": 1}],
            r"row 0: expected another SQL .* or a verdict .*, found question_id",
        ),
        ([{"question_id": 1, "label": "maybe"}], "row 0: label is 'maybe', expected right or wro"),
    ],
)
def test_list_that_cannot_be_read_is_named(tmp_path: Path, rows: Any, words: str) -> None:
    (tmp_path / "list.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match=words):
        list(read_claims(tmp_path / "list.json"))
