"""`answerkey read`: a model on this machine, which misbehaves, reads a small table of questions."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from answerkey.base.records import read_jsonl
from answerkey.command import main
from answerkey.dataset import INTERIM, Question
from answerkey.risk.verdicts import read_verdict_file
from tests.shared.databases import make_database
from tests.shared.joined_questions import make_joined, write_joined
from tests.shared.model_server import (
    ModelServer,
    Raw,
    Request,
    Script,
    call,
    in_turn,
    judge,
    query,
    say,
    serve,
)
from tests.shared.paths import ROOT
from tests.shared.processes import wait_until
from tests.shared.project_world import HARBOUR

GOLD = "SELECT count(name) FROM ship"
OTHER = "SELECT count(DISTINCT port_id) FROM ship"
SAME = "SELECT count(*) FROM ship"
REPAIR = {
    "rule": "x",
    "sql": "SELECT count(DISTINCT name) + 1 FROM ship",
    "answers": "other",
    "gold_rows": [[6]],
    "repair_rows": [[7]],
    "difference": {"differs": "rows", "counts": [1, 1], "lacking": [1, 1]},
}
VERDICTS, READINGS = Path("data/verdicts/tiny.jsonl"), Path("data/readings/tiny.jsonl")
CORRECTIONS = Path("data/corrections/tiny.yaml")


def make_question(question_id: str = "a", **known: Any) -> Question:
    facts = {
        "database_name": "harbour",
        "question_text": f"How many ships are there? ({question_id})",
        "gold_sql": GOLD,
        "gold_answer": 6,
        "answer_type": "integer",
        "order_matters": False,
        "tables_involved": ["ship"],
        "canonical_sql": 'SELECT COUNT("ship"."name") FROM "ship"',
        "answer_risk": 0.25,
        "source": {"corpus": "local", "db_id": "harbour"},
        "repairs": [REPAIR],
    }
    return make_joined(question_id, **facts | known)


@pytest.fixture
def folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a database and one question."""
    make_database(here / "data/databases/harbour/harbour.sqlite", HARBOUR)
    (here / "params.yaml").touch()
    INTERIM.mkdir(parents=True)
    write_joined(INTERIM, [make_question()])
    monkeypatch.setenv("OPENAI_MODEL", "tiny-model")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return here


Ran = tuple[ModelServer, str, str]


@pytest.fixture
def read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Ran]:
    """Run the command against a server that does this; what it has printed."""

    def run(script: Script | Raw, *options: str, status: int = 0) -> Ran:
        given = script if callable(script) else in_turn(script)
        with serve(given) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.url)
            known = ("--name", "tiny", "--workers", "1", "--backoff-s", "0", "--attempts", "2")
            try:
                ended = main(["read", *known, *options])
            except SystemExit as error:
                ended = error.code
        out, err = capfd.readouterr()
        assert ended == status, err
        return server, out, err

    return run


def list_verdicts() -> list[dict[str, Any]]:
    return list(read_jsonl(VERDICTS))


def last_message(request: Request) -> str:
    return request["messages"][-1]["content"]


def mostly_slow(*cases: Any, quick: int) -> list[Any]:
    """The first cases as they are; the others take the same way."""
    slow = [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
        for case in cases[quick:]
    ]
    return [*cases[:quick], *slow]


# --- what is read, and what follows


def test_model_looks_around_and_its_verdict_and_correction_are_written(
    read: Callable[..., Ran],
) -> None:
    seen = query("SELECT name FROM ship WHERE id = 1", "DELETE FROM ship", "SELECT nam FROM ship")
    wrong = judge("wrong", OTHER)
    server, out, _ = read(in_turn(seen, wrong, wrong), "--temperature", "0.5")
    first, second, third = server.asked
    assert (first["model"], first["temperature"], first["tool_choice"]) == (
        "tiny-model",
        0.5,
        "auto",
    )
    assert [tool["function"]["name"] for tool in first["tools"]] == ["run_sql"]
    asked, *answers = (message["content"] for message in second["messages"][2:])
    answers = [asked, *answers]
    assert json.loads(answers[0]) == [["Tern"]]
    assert answers[1].startswith("not_a_select: ")
    assert answers[2].startswith("sql_error: no such column: nam")
    assert len(third["messages"]) == 1  # the second reading knows nothing of the first
    line, of_correction = list_verdicts()
    known = {
        "verdict": "wrong",
        "reason": "So.",
        "kind": "column",
        "answers": "other",
        "sql": OTHER,
    }
    assert line.items() >= known.items()
    assert (line["source"], line["readings"]) == ("model:tiny-model", ["wrong", "wrong"])
    assert (of_correction["verdict"], of_correction["gold_sql"]) == ("right", OTHER)
    assert len(read_verdict_file(VERDICTS)) == 2
    (correction,) = yaml.safe_load(CORRECTIONS.read_text(encoding="utf-8"))
    assert correction["replacement"] == {"gold_sql": OTHER}
    assert (correction["database"], correction["gold_sql"]) == ("harbour", GOLD)
    assert "1 question settled: right 0, wrong 1, ambiguous 0" in out
    assert "2 readings, 300 tokens" in out


def test_prompt_has_rules_and_database_and_neither_risks_nor_verdicts(
    read: Callable[..., Ran],
) -> None:
    flag = {"code": "judged_wrong", "evidence": {"source": "person:kim"}}
    repairs = [{**REPAIR, "sql": f"SELECT {number}"} for number in range(3)]
    question = make_question(
        evidence="Ships float.", now="2025-01-30", flags=[flag], answer_risk=0.123, repairs=repairs
    )
    write_joined(INTERIM, [question])
    server, _, _ = read(judge("right"), "--judged")
    (prompt,), (other,) = (
        [message["content"] for message in request["messages"]] for request in server.asked
    )
    for part in (
        "How many ships are there? (a)",
        "Ships float.",
        "The current date is 2025-01-30.",
        GOLD,
        "Its answer, 1 row as JSON: 6",
        "CREATE TABLE ship",
        "-- (1, 'Tern', 40",
        "ship: 6 rows\nship.id: ",
        "ship.weight: integer, 6 different, 12, 40, 55, 64, 75, 90",
        "voyage.id: integer, 8 different, from 1 to 8",
        "port.country: text, 2 different, 1 NULL, 'Portugal', 'Sweden'",
        "SELECT 2",
        "The answers differ.\nThe first such rows of gold: [[6]]\n"
        "The first such rows of this query: [[7]]\n",
        "in at most 6 replies",
        "`text_as_number`",
    ):
        assert part in prompt, part
    for part in ("0.123", "judged_wrong", "kim"):
        assert part not in prompt
    assert sorted(prompt.splitlines()) == sorted(other.splitlines())
    assert "SELECT 2" in prompt


def test_third_reading_settles_what_two_see_differently(read: Callable[..., Ran]) -> None:
    script = in_turn(judge("right"), judge("wrong", OTHER), judge("wrong", f"{OTHER} WHERE 1"))
    server, _, _ = read(script)
    assert len(server.asked) == 3
    line, of_correction = list_verdicts()
    assert (line["verdict"], line["readings"]) == ("wrong", ["right", "wrong", "wrong"])
    assert (of_correction["verdict"], of_correction["readings"]) == ("right", ["right", "right"])
    assert line["sql"] == of_correction["gold_sql"] == OTHER


def test_sql_that_answers_as_gold_does_is_marked(read: Callable[..., Ran]) -> None:
    read(judge("wrong", SAME, kind="nonsense", reason="Half of a \ud83d."))
    line, _ = list_verdicts()
    assert line["reason"] == "Half of a ?."
    assert (line["answers"], line["kind"]) == ("same", "other")


# --- a model, and a server, that misbehave

GOOD = judge("right")
NEVER = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.mark.parametrize(
    ("bad", "told"),
    mostly_slow(
        (call("{not json"), "Expected the arguments"),
        (call({"sql": "SELECT 1"}, name="rm"), "There is no tool rm"),
        (say(None), "Expected a verdict as JSON"),
        (judge("wrong"), "wrong: expected sql and reason"),
        (judge("wrong", "SELECT nam FROM ship"), "sql: it does not run: sql_error: no such column"),
        (call([1, 2]), "Expected the arguments"),
        (call({"sql": "SELECT 1" + " " * 3_000_000}), "Expected the arguments"),
        (query(*["SELECT 1"] * 9999), "It was not run"),
        (call({"sql": "SELECT 1"}, name="rm -rf /"), "There is no tool unknown"),
        (call({"sql": 3}), "Expected the arguments"),
        (query(NEVER), "exceeded: "),
        (query("SELECT '\ud800'"), ""),
        (query(""), "not_a_select"),
        (say("I cannot say."), "Expected a verdict as JSON"),
        (say("{" * 90_000), "Expected a verdict as JSON"),
        (judge("perhaps"), "verdict: expected one of right, wrong, ambiguous"),
        (judge("ambiguous", " "), "ambiguous: expected sql and reason"),
        (judge("wrong", OTHER, reason=3), "wrong: expected sql and reason"),
        (judge("wrong", f" {GOLD} ;"), "sql: it says the same as gold"),
        (judge("wrong", "select COUNT( S.Name ) from SHIP s"), "sql: it says the same as gold"),
        (judge("wrong", "DROP TABLE ship"), "sql: it does not run: not_a_select"),
        quick=5,
    ),
)
def test_model_is_told_what_is_wrong_with_its_reply(
    read: Callable[..., Ran], bad: Raw, told: str
) -> None:
    server, _, _ = read(in_turn(bad, GOOD, GOOD))
    assert told in last_message(server.asked[1])
    assert [line["verdict"] for line in list_verdicts()] == ["right"]
    assert len(json.dumps(server.asked[1])) < 100_000
    for message in server.asked[1]["messages"]:
        for made in message.get("tool_calls", ()):
            assert isinstance(json.loads(made["function"]["arguments"]), dict)  # servers parse it


@pytest.mark.parametrize(
    "bad",
    mostly_slow(
        Raw(status=429, retry_after="0"),
        Raw(status=500, body=b"x" * 999),
        Raw(b"[]"),
        Raw(b"{", length=99),  # the connection ends half-way
        Raw(b" " * 65_536, times=0),
        Raw(b" ", times=0, pause_s=0.05),
        Raw(b"\xff" * 99),
        Raw(b"[" * 99_999),
        Raw(b'{"choices": [{"message": "x"}]}'),
        Raw(b'{"choices": [], "usage": 3}'),
        say([3]),
        say(3),
        say(None, calls=[3]),
        say(None, calls=[{"id": 1, "function": {"name": None}}]),
        quick=5,
    ),
    ids=lambda raw: f"{raw.status} {raw.body[:30]!r}",
)
def test_what_is_no_reply_is_asked_for_again(read: Callable[..., Ran], bad: Raw) -> None:
    server, out, _ = read(in_turn(bad, GOOD, GOOD), "--timeout-s", "1")
    assert len(server.asked) == 3
    assert server.asked[0] == server.asked[1]
    assert "1 question settled" in out


def test_calls_without_an_end_are_ended(read: Callable[..., Ran]) -> None:
    server, _, err = read(query(*["SELECT 1"] * 9), "--turns", "4", status=1)
    assert [request["tool_choice"] for request in server.asked[:4]] == ["auto"] * 2 + ["none"] * 2
    told = [
        message["content"] for message in server.asked[1]["messages"] if message["role"] == "tool"
    ]
    assert told == ["[[1]]"] * 4 + ["It was not run: a reply has 4 calls at most."] * 5
    assert "No more queries" in last_message(server.asked[2])
    assert len(server.asked) == 4  # the second reading would be the first again
    assert "a: no verdict: no verdict in 4 replies: it went on querying" in err
    assert "no reading came to a verdict" in err
    assert "0 questions settled" in err
    assert not VERDICTS.exists()


def test_one_turn_needs_no_tools(read: Callable[..., Ran]) -> None:
    server, _, _ = read(GOOD, "--turns", "1")
    assert all("tools" not in request for request in server.asked)
    assert "run_sql" not in server.asked[0]["messages"][0]["content"]


def test_gold_without_an_answer_is_not_right(read: Callable[..., Ran]) -> None:
    """Nor where an earlier file says so."""
    write_joined(INTERIM, [make_question()])
    read(GOOD)
    failed = make_question(gold_answer=None, reason="sql_error", detail="no such column: nam")
    write_joined(INTERIM, [failed])
    server, _, _ = read(in_turn(GOOD, judge("wrong", OTHER)))
    assert "right: gold has no answer (sql_error: no such column: nam)" in last_message(
        server.asked[1]
    )
    assert len(server.asked) == 3
    line, of_correction = list_verdicts()
    assert (line["verdict"], line["readings"]) == ("wrong", ["wrong", "wrong"])
    assert of_correction["gold_sql"] == OTHER


def test_model_that_holds_gold_without_an_answer_for_right_settles_nothing(
    read: Callable[..., Ran],
) -> None:
    empty = make_question(gold_answer=None, reason="null_answer", detail="NULL")
    write_joined(INTERIM, [empty])
    _, _, err = read(GOOD, "--turns", "2", status=1)
    assert "a: no verdict: no verdict in 2 replies: right: gold has no answer (null_answer" in err
    assert "1 question chosen: 0 settled, 0 read and not settled, 1 without a verdict" in err
    assert not VERDICTS.exists()


DRAFT = '<think>Perhaps {"verdict": "right"}'


@pytest.mark.parametrize(
    "reply",
    [
        say(DRAFT, finish="length"),
        say(DRAFT),
        say(f"{DRAFT}</think> Gold counts names."),
        say('{"verdict": "right"}', finish="length"),
        say([{"type": "thinking", "thinking": [{"type": "text", "text": '{"verdict": "right"}'}]}]),
        say(None, reasoning_content='{"verdict": "right"}'),
        say("", reasoning='{"verdict": "right"}'),
        say(f"{DRAFT}{' and so on' * 9000}"),  # more than stays in the conversation
    ],
)
def test_draft_of_a_verdict_is_none(read: Callable[..., Ran], reply: Raw) -> None:
    wrong = judge("wrong", OTHER)
    server, _, _ = read(in_turn(reply, wrong))
    assert len(server.asked) == 3
    assert list_verdicts()[0]["readings"] == ["wrong", "wrong"]


# --- servers as they are


def function(name: str = "run_sql", **others: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **others}}


SQL = {"sql": "SELECT name\nFROM ship WHERE id = 1"}
TEXT = json.dumps(SQL)


@pytest.mark.parametrize(
    "calls",
    [
        [function(arguments=SQL)],
        [{**function(arguments=SQL), "id": None}],
        [{**function(arguments=TEXT), "id": ""}],
        [{**function(arguments=TEXT), "id": 7}],
        [{**function(arguments=TEXT.replace("\\n", "\n")), "id": "a"}],
        [{**function(arguments=json.dumps(TEXT)), "id": "a"}],
        [{**function(arguments=TEXT), "id": "a"}, {**function(arguments=SQL), "id": "a"}],
        [function(arguments=SQL), {**function(arguments=SQL), "index": 1}],
    ],
)
def test_call_is_read_as_servers_write_it(
    read: Callable[..., Ran], calls: list[dict[str, Any]]
) -> None:
    server, _, _ = read(in_turn(say(None, calls=calls), GOOD))
    said, *answers = server.asked[1]["messages"][1:]
    ids = [made["id"] for made in said["tool_calls"]]
    assert len(set(ids)) == len(calls)
    assert [answer["tool_call_id"] for answer in answers] == ids
    assert [json.loads(answer["content"]) for answer in answers] == [[["Tern"]]] * len(calls)
    for made in said["tool_calls"]:  # as OpenAI has them
        assert json.loads(made["function"]["arguments"]) == SQL


@pytest.mark.parametrize("arguments", [None, "", "{}", {}, [], 3, "null"])
def test_call_without_arguments_is_told_so(read: Callable[..., Ran], arguments: Any) -> None:
    server, _, _ = read(in_turn(say(None, calls=[function(arguments=arguments)]), GOOD))
    assert last_message(server.asked[1]).startswith("Expected the arguments")


WRONG_LINE = {"verdict": "wrong", "sql": "SELECT count(DISTINCT port_id)\nFROM ship", "reason": "x"}
RAW_LINE = json.dumps(WRONG_LINE).replace("\\n", "\n")


@pytest.mark.parametrize(
    "reply",
    [
        say(RAW_LINE),
        say([{"type": "text", "text": RAW_LINE}]),
        say([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": RAW_LINE}]),
        say([{"type": "reasoning", "text": "{"}, {"type": "output_text", "text": RAW_LINE}]),
        say([RAW_LINE[:9], RAW_LINE[9:]]),
        say({"type": "text", "text": RAW_LINE}),
        Raw(say(json.dumps(WRONG_LINE)).body.replace(b" ", b" \n")),
        Raw(say("A\nB " + json.dumps({**WRONG_LINE, "sql": OTHER})).body.replace(b"\\n", b"\n")),
        Raw(b"\xef\xbb\xbf" + say(RAW_LINE, calls=[], tokens=None).body),
    ],
    ids=range(9),
)
def test_content_is_read_as_servers_write_it(read: Callable[..., Ran], reply: Raw) -> None:
    server, _, _ = read(reply)
    assert len(server.asked) == 2
    assert [line["verdict"] for line in list_verdicts()] == ["wrong", "right"]


@pytest.mark.parametrize(
    ("known", "status", "body"),
    [
        ("max_tokens", 422, b'{"detail": [{"loc": ["body", "max_completion_tokens"]}]}'),
        ("max_tokens", 400, b"Unrecognized request argument supplied"),
        ("max_completion_tokens", 400, b"Unsupported parameter: 'max_tokens'"),
    ],
)
def test_length_has_the_name_that_the_server_takes(
    read: Callable[..., Ran], known: str, status: int, body: bytes
) -> None:
    write_joined(INTERIM, FEW)
    refused = Raw(status=status, body=body)
    server, _, _ = read(lambda request: GOOD if known in request else refused)
    lengths = [[name for name in request if name.startswith("max_")] for request in server.asked]
    assert lengths[1:] == [[known]] * (len(lengths) - 1)
    assert len(lengths) == 6 + (known == "max_tokens")


def test_wait_for_the_server_is_shown(
    read: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = Raw(status=429, body=b"one at a time", retry_after="1.2")
    _, _, err = read(in_turn(busy, GOOD))
    assert "read: waits 1 s, then asks again: status 429 Too Many Requests: one at a time" in err
    monkeypatch.setattr("answerkey.reading.run._SHOW_EVERY_S", 0.1)
    READINGS.unlink()
    VERDICTS.unlink()
    CORRECTIONS.unlink()
    _, _, err = read(in_turn(Raw(b" " * 9, times=9, pause_s=0.1), GOOD))
    assert "read: waits for 1 request: no reading ended for 0.1 s" in err


def test_key_that_a_server_quotes_is_written_nowhere(
    read: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-kim")
    write_joined(INTERIM, FEW)
    quoted = in_turn(
        judge("wrong", OTHER, reason="The key is key-of-kim."),
        say("key-of-kim"),
        judge("wrong", OTHER, reason="It is key-of-kim."),
        Raw(b"key-of-kim"),
        Raw(status=401, body=b"Incorrect API key provided: key-of-kim"),
    )
    _, out, err = read(quoted, status=1)
    files = [path for path in Path().rglob("*") if path.is_file()]
    assert READINGS in files
    assert not [path for path in files if b"key-of-kim" in path.read_bytes()]
    assert "key-of-kim" not in out + err
    assert "Incorrect API key provided: ..." in err


# --- bounds, and going on

FEW = [make_question(name, answer_risk=risk) for name, risk in [("a", 0.1), ("b", 0.9), ("c", 0.5)]]


def name_of(request: Request) -> str:
    return request["messages"][0]["content"].partition("ships are there? (")[2][0]


def test_run_that_was_cut_short_goes_on_and_asks_nothing_twice(read: Callable[..., Ran]) -> None:
    write_joined(INTERIM, FEW)
    refusal = Raw(status=401, body=b"no such key")
    server, _, err = read(in_turn(GOOD, GOOD, GOOD, GOOD, refusal), status=1)
    assert "read and not settled: 2" in err
    asked = [name_of(request) for request in server.asked[:4]]
    with READINGS.open("ab") as file:
        file.write(b'{"corpus": "loc')  # a machine that stopped
    server, out, _ = read(GOOD)
    asked += [name_of(request) for request in server.asked]
    assert Counter(asked) == {"a": 2, "b": 2, "c": 2}
    assert "3 questions settled: right 3" in out
    before = [path.read_bytes() for path in (VERDICTS, READINGS, CORRECTIONS)]
    server, _, _ = read(GOOD)
    assert server.asked == []
    assert [path.read_bytes() for path in (VERDICTS, READINGS, CORRECTIONS)] == before


@pytest.mark.parametrize(("status", "times"), [(401, 1), (400, 10)])  # by both names of a length
def test_server_that_refuses_all_ends_the_run_with_its_words(
    read: Callable[..., Ran], status: int, times: int
) -> None:
    write_joined(INTERIM, [make_question(name) for name in "abcdefgh"])
    server, _, err = read(Raw(status=status, body=b"no such key"), status=1)
    assert len(server.asked) == times
    assert "one after another: status 40" in err
    assert "no such key" in err
    assert "Traceback" not in err


def test_request_that_is_too_long_ends_no_run_that_has_read_others(
    read: Callable[..., Ran],
) -> None:
    write_joined(INTERIM, [make_question(name) for name in "abcdefgh"])
    server, out, _ = read(in_turn(GOOD, Raw(status=400, body=b"too many tokens")))
    assert len(server.asked) == 9  # each once, and the one that was read again
    assert "9 readings, 100 tokens, 8 without a verdict" in out
    assert "8 questions chosen: 0 settled, 1 read and not settled, 7 without a verdict" in out


@pytest.mark.parametrize("tokens", mostly_slow(3000, None, -5, "many", 10**30, quick=2))
def test_tokens_of_a_run_are_bounded(read: Callable[..., Ran], tokens: Any) -> None:
    write_joined(INTERIM, [make_question(name) for name in "abcdefgh"])
    right = json.dumps({"verdict": "right"})
    options = ("--max-tokens", "25000", "--reply-tokens", "1000", "--workers", "3")
    server, out, _ = read(say(right, tokens=tokens), *options)
    assert "ended by --max-tokens 25,000" in out
    assert 2 <= len(server.asked) < 16
    assert server.asked[0]["max_completion_tokens"] == 1000
    spent = int(out.split(" tokens")[0].split()[-1].replace(",", ""))
    assert 5000 < spent <= 25_000


def test_question_is_chosen_by_risk_id_database_and_verdicts(
    read: Callable[..., Ran], folder: Path
) -> None:
    judged = make_question("d", flags=[{"code": "judged_ambiguous", "evidence": {}}])
    failed = make_question(
        "e", gold_answer=None, answer_risk=None, reason="sql_error", detail="no such column: x"
    )
    aside = make_question("f", stage="load_questions", reason="excluded_by_curator")
    note = {"corpus": "local", "correction": {"action": "replace"}}
    corrected = make_question("g", gold_answer=None, answer_risk=None, source=note)
    write_joined(INTERIM, [*FEW, judged, failed, aside, corrected])

    def judge_all(request: Request) -> Raw:
        return judge("wrong", OTHER) if name_of(request) == "e" else GOOD

    def ask(*options: str) -> list[str]:
        READINGS.unlink(missing_ok=True)
        for path in (VERDICTS, CORRECTIONS):
            path.unlink(missing_ok=True)
        return [name_of(request) for request in read(judge_all, *options)[0].asked]

    assert set(ask("--count", "2")) == {"e", "b"}
    assert set(ask("--judged")) == set("abcdeg")
    assert set(ask("--question-id", "d", "a")) == {"d", "a"}
    orders = ask("--database", "harbour")
    assert sorted(orders[:4]) == sorted(orders[4:]) == list("abce")
    assert orders[:4] != orders[4:]


@pytest.mark.parametrize(
    ("options", "words"),
    mostly_slow(
        (("--database", "nowhere"), "--database: no question of nowhere"),
        (("--name", "kim"), "choose another --name"),
        (("--name", "a/b"), "expected a file name"),
        (("--corpus", "nowhere"), "--corpus: no question of nowhere"),
        (("--question-id", "z"), "no question z"),
        (("--name", "torn"), "torn.jsonl:1"),
        (("--template", "nowhere.j2"), "--template: no file nowhere.j2\n"),
        (("--template", "bad.j2"), "bad.j2: 'gold' is undefined: expected no other names than"),
        ((), "questions of local, other: choose one by --corpus"),
        quick=2,
    ),
)
def test_mistake_ends_with_its_message(
    read: Callable[..., Ran], options: tuple[str, ...], words: str
) -> None:
    if not options:
        other = make_question("b", source={"corpus": "other"})
        write_joined(INTERIM, [make_question(), other])
    Path("bad.j2").write_text("{{ gold }}", encoding="utf-8")
    VERDICTS.parent.mkdir(parents=True)
    (VERDICTS.parent / "kim.jsonl").write_text("{}\n", encoding="utf-8")
    READINGS.parent.mkdir(parents=True)
    READINGS.with_name("torn.jsonl").write_text('{"corpus": 3}\n', encoding="utf-8")
    server, _, err = read(GOOD, *options, status=1)
    assert words in err
    assert server.asked == []


@pytest.mark.parametrize("name", ["OPENAI_BASE_URL", "OPENAI_MODEL"])
def test_environment_without_a_server_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.delenv(name)
    with pytest.raises(SystemExit):
        main(["read", "--name", "tiny"])
    assert f"No {name} in the environment" in capfd.readouterr().err


@pytest.mark.parametrize("address", ["127.0.0.1:9", "http://", "http://[::1", "http://x:port"])
def test_address_that_is_none_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], address: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(SystemExit):
        main(["read", "--name", "tiny"])
    expected = f"OPENAI_BASE_URL is {address!r}, expected http://... or https://..."
    assert expected in capfd.readouterr().err


def test_server_that_is_not_there_takes_no_tokens(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{taken.getsockname()[1]}/v1")
        with pytest.raises(SystemExit) as ended:
            main(["read", "--name", "tiny", "--attempts", "1"])
    assert ended.value.code == 1
    err = capfd.readouterr().err
    assert "1 reading, 0 tokens, 1 without a verdict" in err
    assert "Cannot connect to host 127.0.0.1" in err


def test_key_goes_to_the_server(read: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-tests")
    server, _, _ = read(GOOD)
    assert {*server.keys} == {"Bearer secret-of-tests"}
    assert {request["path"] for request in server.asked} == {"/v1/chat/completions"}


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        ({"total_tokens": 70}, 140),
        ({"prompt_tokens": 30, "completion_tokens": 5}, 70),
        ({"prompt_tokens": 30, "completion_tokens": 5, "total_tokens": None}, 70),
    ],
)
def test_tokens_are_what_the_server_says(
    read: Callable[..., Ran], usage: dict[str, Any], tokens: int
) -> None:
    response = json.loads(GOOD.body) | {"usage": usage}
    _, out, _ = read(Raw(json.dumps(response).encode()))
    assert f"2 readings, {tokens} tokens\n" in out


def test_run_without_a_question_says_so(read: Callable[..., Ran]) -> None:
    write_joined(INTERIM, [make_question(flags=[{"code": "judged_right", "evidence": {}}])])
    server, _, err = read(GOOD, status=1)
    assert "no question to read: those that are chosen have a verdict, or are set aside" in err
    assert server.asked == []


@pytest.mark.parametrize("known", [{"gold_sql": ""}, {"reason": "unreadable_database"}])
def test_question_without_gold_or_database_is_not_read(
    read: Callable[..., Ran], known: dict[str, Any]
) -> None:
    aside = make_question("b", gold_answer=None, detail="It is gone.", **known)
    write_joined(INTERIM, [make_question(), aside])
    server, _, err = read(GOOD, "--question-id", "b", status=1)
    assert "b: nothing to read: " in err
    assert server.asked == []
    server, _, _ = read(GOOD)
    assert {name_of(request) for request in server.asked} == {"a"}


@pytest.mark.slow
def test_second_run_of_a_name_is_refused_until_the_first_is_gone(
    read: Callable[..., Ran], folder: Path
) -> None:
    hangs = threading.Event()

    def hang(request: Request) -> Raw:
        hangs.set()
        return Raw(b" ", times=0, pause_s=0.05)

    with serve(hang) as server:
        environment = {**os.environ, "OPENAI_BASE_URL": server.url, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "answerkey", "read", "--name", "tiny"]
        started = subprocess.Popen(command, cwd=folder, env=environment)
        try:
            assert hangs.wait(timeout=120)
            other, _, err = read(GOOD, status=1)
            assert "a run of `answerkey read --name tiny` that has not ended: wait for it" in err
            assert other.asked == []
            assert not VERDICTS.exists()
            read(GOOD, "--name", "another")
        finally:
            started.kill()
            started.wait(timeout=60)
    read(GOOD)
    assert [line["verdict"] for line in list_verdicts()] == ["right"]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_run_that_is_killed_goes_on_where_it_was(
    read: Callable[..., Ran], folder: Path, number: int
) -> None:
    names = "abcdefgh"
    write_joined(INTERIM, [make_question(name) for name in names])
    script = in_turn(*[GOOD] * 11, Raw(b" ", times=0, pause_s=0.05))
    hangs = threading.Event()

    def hang_at_last(request: Request) -> Raw:
        raw = script(request)
        if raw.pause_s:
            hangs.set()
        return raw

    with serve(hang_at_last) as server:
        environment = {**os.environ, "OPENAI_BASE_URL": server.url, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "answerkey", "read", "--name", "tiny", "--workers", "2"]
        started = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )
        try:
            assert hangs.wait(timeout=120)
            wait_until(lambda: len(READINGS.read_bytes().splitlines()) == 11, seconds=60)
            started.send_signal(number)
            _, err = started.communicate(timeout=60)
        finally:
            started.kill()
    assert b"Traceback" not in err
    kept = list(read_jsonl(READINGS))
    assert len(kept) == 11
    assert VERDICTS.exists() == (number == signal.SIGINT)
    server, out, _ = read(GOOD)
    asked = Counter(name_of(request) for request in server.asked)
    had = Counter(line["question_text"][-2] for line in kept)
    assert asked + had == dict.fromkeys(names, 2)
    assert "8 questions settled: right 8" in out
