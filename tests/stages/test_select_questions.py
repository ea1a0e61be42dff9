"""classify_difficulty and select_questions: every parsed question gets a difficulty, and every
question is selected or excluded, once, with the reason."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

from answerkey.base.errors import InputError
from answerkey.base.records import read_jsonl, write_jsonl
from answerkey.dataset import FIELDS
from answerkey.selection.program import CELLS
from tests.shared.checkout import hash_tree
from tests.shared.joined_questions import make_joined, write_joined
from tests.shared.project_world import FLAWED, World


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.chdir(tmp_path)
    return World(tmp_path)


QUESTIONS = [
    make_joined("a_train_000", tables_involved=["a"], hardness="extra"),
    make_joined("a_train_001"),
    make_joined("a_train_002", tables_involved=["a", "b", "c"], hardness="medium"),
    make_joined("a_train_003", tables_involved=list("abcd"), hardness="easy"),
]


def write_questions(folder: Path, *words: str | None) -> None:
    """Write the questions, with what their corpus says of the difficulty of each; None: nothing."""
    sources = [{"corpus": "bird"} | ({"difficulty": word} if word else {}) for word in words]
    questions = [
        question._replace(source=source)
        for question, source in zip(QUESTIONS, sources, strict=True)
    ]
    write_joined(folder / "data/interim", questions)


def test_stage_classifies_what_was_parsed_and_nothing_else(empty, capsys):
    write_questions(empty.folder, *[None] * 4)
    empty.run("classify_difficulty")
    summary = "classify_difficulty: 3 questions by tables (easy 1, hard 1, medium 1)\n"
    assert capsys.readouterr().err == summary
    assert empty.lines("data/interim/difficulty.jsonl") == [
        {"question_id": "a_train_000", "difficulty": "easy"},
        {"question_id": "a_train_002", "difficulty": "medium"},
        {"question_id": "a_train_003", "difficulty": "hard"},
    ]


@pytest.mark.parametrize(
    ("method", "levels"),
    [("spider", ["hard", "medium", "easy"]), ("source", ["hard", "medium", "medium"])],
)
def test_hardness_and_words_of_the_corpus_are_mapped_and_else_tables_counted(empty, method, levels):
    write_questions(empty.folder, "challenging", "simple", None, "moderate")
    empty.change("classify_difficulty.method", method)
    empty.run("classify_difficulty")
    found = [record["difficulty"] for record in empty.lines("data/interim/difficulty.jsonl")]
    assert found == levels


def test_word_that_means_no_difficulty_stops_the_run_and_is_named(empty):
    write_questions(empty.folder, "simple", "simple", "simple", "insane")
    empty.change("classify_difficulty.method", "source")
    with pytest.raises(ValueError, match=r"a_train_003: the corpus says 'insane': expected one of"):
        empty.run("classify_difficulty")


def test_rank_cuts_among_usable_questions_where_the_shares_hold(empty, capsys):
    queries = ["SELECT 1", "SELECT 1 FROM a", "SELECT COUNT(*) FROM a", "SELECT 1 FROM a JOIN b"]
    questions = [
        make_joined(
            f"a_train_{place:03d}", tables_involved=["a"], hardness="easy", canonical_sql=query
        )
        for place, query in enumerate([*queries, *queries])
    ]
    questions[7] = questions[7]._replace(flags=[{"code": "tie_at_limit", "evidence": None}])
    write_joined(Path("data/interim"), questions)
    empty.change("classify_difficulty.method", "rank")
    empty.change(
        "select_questions.targets.difficulty_shares", {"easy": 0.5, "medium": 0.35, "hard": 0.15}
    )
    empty.run("classify_difficulty")
    found = [record["difficulty"] for record in read_jsonl(Path("data/interim/difficulty.jsonl"))]
    assert found == ["easy", "easy", "medium", "hard"] * 2
    assert "easy up to a complexity of 1.004, medium up to 2.004" in capsys.readouterr().err


SELECTION = "data/interim/selection"


@pytest.fixture
def world(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A world whose questions wait to be selected."""
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    shutil.rmtree(tmp_path / SELECTION)  # as DVC removes outs before it runs a stage
    monkeypatch.chdir(tmp_path)
    return World(tmp_path)


def read_ids(world: World, name: str) -> list[str]:
    return [record["question_id"] for record in world.lines(f"{SELECTION}/{name}.jsonl")]


def read_reasons(world: World) -> dict[str, tuple[str, str]]:
    return {
        record["question_id"]: (record["stage"], record["reason"])
        for record in world.lines(f"{SELECTION}/excluded.jsonl")
    }


def test_every_question_is_selected_or_excluded_once_with_the_stage_that_knows_why(world):
    world.run("select_questions")
    loaded = [record["question_id"] for record in world.lines("data/interim/splits.jsonl")]
    selected, excluded = read_ids(world, "questions"), read_ids(world, "excluded")
    assert Counter(selected + excluded) == Counter(loaded)
    assert read_ids(world, "audit") == selected
    assert selected == [question_id for question_id in loaded if question_id in selected]
    assert len(selected) == 35
    reasons = read_reasons(world)
    stages = {
        "sql_error": "compute_gold_answers",
        "not_a_select": "compute_gold_answers",
        "null_answer": "compute_gold_answers",
        "empty_answer": "audit_gold_answers",
        "boolean_answer": "audit_gold_answers",
        "unparsable_sql": "parse_gold_sql",
        "not_selected": "select_questions",
    }
    assert sorted(reasons.values()) == sorted((stage, name) for name, stage in stages.items())
    for number, name in enumerate(FLAWED, start=25):
        assert reasons[f"harbour_train_{number:03d}"] == (stages[name], name)
    cells = Counter(
        (question["split"], question["difficulty"])
        for question in world.lines(f"{SELECTION}/questions.jsonl")
    )
    assert [cells[cell] for cell in CELLS] == [10, 10, 5, 4, 4, 2]


def test_excluded_question_tells_what_it_was_and_selected_ones_have_the_nine_fields(world):
    world.run("select_questions")
    records = {r["reason"]: r for r in world.lines(f"{SELECTION}/excluded.jsonl")}
    text, sql = FLAWED["sql_error"]
    assert records["sql_error"] == {
        "question_id": "harbour_train_025",
        "database_name": "harbour",
        "stage": "compute_gold_answers",
        "reason": "sql_error",
        "detail": "no such column: wage",
        "flags": [],
        "answer_risk": None,
        "sql_risk": None,
        "repairs": None,
        "question_text": text,
        "gold_sql": sql,
    }
    assert records["boolean_answer"]["detail"] == '{"answer": 1}'
    assert list(records["boolean_answer"]) == list(records["sql_error"])
    assert records["not_selected"]["detail"] == (
        "eval hard: the targets take 2 of 3 usable questions"
    )
    question = world.lines(f"{SELECTION}/questions.jsonl")[0]
    assert tuple(question) == FIELDS
    audit = world.lines(f"{SELECTION}/audit.jsonl")[0]
    assert list(audit) == [
        "question_id",
        "flags",
        "answer_risk",
        "sql_risk",
        "repairs",
        "engine",
        "order_matters",
        "max_steps",
        "max_cpu_s",
        "rule",
        "accepted_rows",
        "hardness",
        "features",
        "evidence",
        "source",
        "database_sha256",
    ]
    assert (audit["engine"], audit["max_cpu_s"]) == ("sqlite", None)
    assert audit["source"] == {"corpus": "local", "file": "train_spider.json", "index": 0}
    manifest = world.json("data/databases/manifest.json")["databases"]
    assert audit["database_sha256"] == manifest["harbour"]["sha256"]


def test_policy_moves_questions_and_says_which_flags_are_told(world):
    world.drop_targets()
    world.run("select_questions")
    before = set(read_ids(world, "questions"))
    assert len(before) == 36
    assert "not_selected" not in {reason for _, reason in read_reasons(world).values()}
    for policy, is_told in (("flag", True), (False, False), ("off", False)):
        world.change("select_questions.policies.boolean_answer", policy)
        world.run("select_questions")
        audits = {r["question_id"]: r for r in world.lines(f"{SELECTION}/audit.jsonl")}
        codes = {flag["code"] for flag in audits["harbour_train_029"]["flags"]}
        assert ("boolean_answer" in codes) is is_told
        assert set(read_ids(world, "questions")) - before == {"harbour_train_029"}
        assert set(read_ids(world, "excluded")).isdisjoint(read_ids(world, "questions"))
    world.change("select_questions.policies.latent_ambiguity", "exclude")
    world.run("select_questions")
    assert before - set(read_ids(world, "questions"))
    excluded = {reason for _, reason in read_reasons(world).values()}
    assert "latent_ambiguity" in excluded


TIED = {
    "Which ship of port 2 is first by port?": "SELECT name FROM ship WHERE port_id = 2"
    " ORDER BY port_id LIMIT 1",
    "Which three ships, by port?": "SELECT name, port_id FROM ship ORDER BY port_id DESC LIMIT 2,3",
    "Any two voyages?": "SELECT ship_id, year FROM voyage LIMIT 2",
    "Who is some captain?": "SELECT name FROM captain WHERE id = (SELECT captain_id FROM ship)",
}


@pytest.mark.slow
def test_ties_whose_right_answers_are_all_known_are_kept_where_policies_accept_them(world):
    world.drop_targets()
    world.write_questions("train_spider.json", "harbour", list(TIED.items()))
    world.run_to("select_questions")
    excluded = {record["gold_sql"] for record in world.lines(f"{SELECTION}/excluded.jsonl")}
    assert excluded >= {*TIED.values()}
    assert {record["accepted_rows"] for record in world.lines(f"{SELECTION}/audit.jsonl")} == {None}
    world.change("select_questions.policies.tie_at_limit", "accept_ties")
    world.change("select_questions.policies.limit_without_order", "accept_ties")
    world.run("select_questions", "validate_dataset", "export_dataset")
    questions = {
        r["question_id"]: r["gold_sql"] for r in world.lines(f"{SELECTION}/questions.jsonl")
    }
    audits = {
        questions[record["question_id"]]: record
        for record in world.lines(f"{SELECTION}/audit.jsonl")
        if record["accepted_rows"] is not None
    }
    one, two, free, nested = TIED.values()
    assert list(audits) == [one, two, free]
    assert audits[one]["accepted_rows"] == [{"rows": [["Kite"], ["Ruby"]], "take": 1}]
    assert audits[two]["accepted_rows"] == [2, {"rows": [["Sun", 1], ["Tern", 1]], "take": 1}]
    (segment,) = audits[free]["accepted_rows"]
    assert (len(segment["rows"]), segment["take"]) == (8, 2)
    assert "tie_at_limit" in [flag["code"] for flag in audits[one]["flags"]]
    excluded = {r["gold_sql"]: r["reason"] for r in world.lines(f"{SELECTION}/excluded.jsonl")}
    assert excluded[nested] == "limit_without_order"
    for flag in ("tie_at_limit", "row_order_dependent"):
        world.change(f"select_questions.policies.{flag}", "flag")
    world.run("select_questions")
    (audit,) = (
        record
        for record in world.lines(f"{SELECTION}/audit.jsonl")
        if questions.get(record["question_id"]) == two
    )
    assert (audit["order_matters"], audit["accepted_rows"]) == (True, [2, 1])  # gold's own rows


def test_reward_is_told_its_steps_and_its_rule_by_params_or_by_the_corpus(world):
    path = world.folder / "data/interim/joined.jsonl"
    records = world.lines("data/interim/joined.jsonl")
    for number, record in enumerate(records):
        record["steps"] = (50_000, 150_000, 10**9)[number % 3]
        if number % 2:
            record["source"]["grading_method"] = "subset,=,3"
    write_jsonl(path, records)
    world.change("reward", {"max_steps": 50_000_000, "rule": "spider"})
    world.run("select_questions")
    numbers = {record["question_id"]: number for number, record in enumerate(records)}
    audits = world.lines(f"{SELECTION}/audit.jsonl")
    assert len(audits) == 35
    for audit in audits:
        number = numbers[audit["question_id"]]
        assert audit["max_steps"] == (1_000_000, 3_000_000, 50_000_000)[number % 3]
        assert audit["rule"] == ("spider", "subset,=,3")[number % 2]


def test_targets_that_cost_more_than_half_are_warned_about_with_those_to_lift(world, capsys):
    world.run("select_questions")
    assert "the targets take" not in capsys.readouterr().err
    world.change("select_questions.targets.min_questions", None)
    world.change("select_questions.targets.max_questions", 20)
    world.change("select_questions.targets.eval_share", 0.9)
    world.run("select_questions")
    assert re.findall("^.*the targets take.*$", capsys.readouterr().err, re.MULTILINE) == [
        "select_questions: the targets take 10 of 36 usable questions;"
        " all 36 without difficulty_shares, eval_share, max_questions"
    ]


def test_targets_out_of_reach_end_with_what_there_is(world):
    world.change("select_questions.targets.min_questions", 36)
    with pytest.raises(InputError) as caught:
        world.run("select_questions")
    text = str(caught.value)
    assert "expected 36 questions or more; largest selection: 35 of 36 usable questions" in text
    assert "all 36 without difficulty_shares" in text
    assert "train  10 of 10  10 of 10  5 of 5" in text
    assert "eval   4 of 4    4 of 4    2 of 3" in text
    assert "Not usable: 6 of 42 questions (boolean_answer 1, empty_answer 1, not_a_select 1" in text
    assert not (world.folder / SELECTION / "questions.jsonl").exists()


@pytest.mark.slow
def test_question_of_no_text_or_of_broken_text_is_excluded_and_stops_no_run(world):
    world.drop_targets()
    texts = ("", " \n", "Which \ud800 book?")
    world.write_questions("dev.json", "library", [(t, "SELECT title FROM book") for t in texts])
    world.run_to("validate_dataset")
    records = [
        r for r in world.lines(f"{SELECTION}/excluded.jsonl") if r["database_name"] == "library"
    ]
    assert [(r["stage"], r["reason"]) for r in records] == [
        ("load_questions", "empty_question"),
        ("load_questions", "empty_question"),
        ("load_questions", "undecodable_text"),
    ]
    assert [r["question_text"] for r in records] == list(texts)


def test_seed_changes_which_questions_are_taken_and_a_second_run_no_byte(world):
    picks = set()
    for seed in range(3):
        world.change("select_questions.seed", seed)
        world.run("select_questions")
        picks.add(frozenset(read_ids(world, "questions")))
    assert len(picks) > 1
    assert {len(pick) for pick in picks} == {35}
    first = hash_tree(world.folder / SELECTION, ".")
    world.run("select_questions")
    assert hash_tree(world.folder / SELECTION, ".") == first
    names = ("audit.jsonl", "excluded.jsonl", "questions.jsonl", "summary.json")
    others = ("not_selected.jsonl", "suites_not_selected.jsonl")
    assert set(first) == {*names, *others, "test_suites.jsonl", "pass_rates.jsonl"}


def test_shares_of_corpora_are_met_and_validated(world):
    """Every second question of each database is from a corpus `other`."""
    path = world.folder / "data/interim/joined.jsonl"
    records = world.lines("data/interim/joined.jsonl")
    for number, record in enumerate(records):
        record["source"]["corpus"] = ("local", "other")[number % 2]
    write_jsonl(path, records)
    world.change("corpus", ["local", "other"])
    world.change("select_questions.targets.corpus_shares", {"local": 0.5, "other": 0.5})
    world.change("select_questions.targets.tolerance", 0.1)
    world.run("select_questions", "validate_dataset")
    counts = Counter(
        (question["split"], audit["source"]["corpus"])
        for question, audit in zip(
            world.lines(f"{SELECTION}/questions.jsonl"),
            world.lines(f"{SELECTION}/audit.jsonl"),
            strict=True,
        )
    )
    for split, share in product(("train", "eval"), ("local", "other")):
        of_split = counts[split, "local"] + counts[split, "other"]
        assert abs(counts[split, share] - of_split / 2) <= of_split / 10
    summary = world.json(f"{SELECTION}/summary.json")
    assert {
        (split, corpus): cell["selected"]
        for split, row in summary["corpora"].items()
        for corpus, cell in row.items()
    } == counts
    assert summary["size"] == counts.total() >= 30
