"""Ask a model about the riskiest gold queries, and write what it says as verdicts.

    export OPENAI_BASE_URL=http://127.0.0.1:8000/v1 OPENAI_MODEL=qwen3-32b OPENAI_API_KEY=...
    python examples/judge_gold.py --count 100 --out data/verdicts/qwen3-32b.jsonl
    dvc repro

Any server that speaks the chat completions of OpenAI will do; a local one needs no key. Asked are
the questions with the highest `answer_risk` about which nobody has given a verdict, from the table
that compare_questions writes. What already stands in the file of verdicts is not asked again, so
that a run that was cut short goes on where it was. examples/judge_gold.j2 is what the model reads.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp  # which fsspec[http] brings

from answerkey.base.records import decode_json, encode_json, hash_question
from answerkey.dataset import INTERIM, Question, read_joined
from answerkey.exports.prompts import DatabaseTexts, read_template
from answerkey.flags import FLAGS, sort_flags
from answerkey.report.repairs import tell_difference, tell_doubts
from answerkey.risk.risks import list_signs
from answerkey.risk.verdicts import MODEL, RIGHT, WRONG, read_verdict_file
from answerkey.sqlite.clock import tell_clock

TEMPLATE = Path(__file__).with_suffix(".j2")
ANSWER_CHARACTERS = 2000
SCHEMA_CHARACTERS = 12_000
EXAMPLE_ROWS = 3
REPAIRS = 3  # of a question, that the model reads
TRY_AGAIN = (408, 409, 429, 500, 502, 503, 504)
# What a server may send, and ask for, whatever it is: a verdict ends a text of any length.
MAX_BYTES = 4_000_000
VERDICT_CHARACTERS = 10_000
MAX_WAIT_S = 60


class NoAnswerError(Exception):
    """The model gave no verdict; the message says what it gave."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A model behind a server, and how patiently it is asked: timeout_s is for all of an answer."""

    base_url: str
    model: str
    api_key: str | None
    timeout_s: float
    attempts: int
    backoff_s: float

    def ask(self, prompt: str) -> str:
        """What the model answers.

        Raises:
            NoAnswerError: where the answer is no chat completion, or larger than one.
            OSError, aiohttp.ClientError: where the server cannot be reached, refuses, or has not
                said all in time.
        """
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": prompt}],
            "temperature": 0,
        }
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self.api_key:
            headers["Authorization"] = f"Bearer {self.api_key}"
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        text = asyncio.run(self._post(url, encode_json(body), headers))
        try:
            content = decode_json(text)["choices"][0]["message"]["content"]
        except (ValueError, LookupError, TypeError):
            raise NoAnswerError(f"expected a chat completion, found {text[:200]!r}") from None
        if not isinstance(content, str):
            raise NoAnswerError(f"expected text, found {content!r:.200}")
        return content

    async def _post(self, url: str, body: bytes, headers: dict[str, str]) -> bytes:
        timeout = aiohttp.ClientTimeout(total=self.timeout_s)
        session = aiohttp.ClientSession(timeout=timeout, auto_decompress=False, trust_env=True)
        async with session, session.post(url, data=body, headers=headers) as response:
            response.raise_for_status()
            text = bytearray()
            async for chunk in response.content.iter_any():
                text += chunk
                if len(text) > MAX_BYTES:
                    raise NoAnswerError(f"expected a chat completion, found over {MAX_BYTES} bytes")
            return bytes(text)

    def judge(self, prompt: str) -> tuple[str, str]:
        """The verdict of the model and its reason, at the last of so many attempts.

        Raises:
            NoAnswerError: where no answer has one.
            OSError, aiohttp.ClientError: as `ask`.
        """
        for attempt in range(1, self.attempts + 1):
            wait_s = self.backoff_s * attempt
            try:
                return parse_verdict(self.ask(prompt))
            except aiohttp.ClientResponseError as error:
                if error.status not in TRY_AGAIN or attempt == self.attempts:
                    raise
                asked = (error.headers or {}).get("Retry-After", "")
                wait_s = min(float(asked), MAX_WAIT_S) if asked.isdecimal() else wait_s
            except (NoAnswerError, OSError, aiohttp.ClientError):
                if attempt == self.attempts:
                    raise
            time.sleep(wait_s)
        raise ValueError(f"expected at least one attempt, found {self.attempts}")


def parse_verdict(answer: str) -> tuple[str, str]:
    """The verdict and the reason in the last JSON object of an answer.

    >>> parse_verdict('Each ship is counted. {"verdict": "right", "reason": "It counts."}')
    ('right', 'It counts.')
    """
    answer = answer[-VERDICT_CHARACTERS:]
    start = answer.rfind("{")
    while start >= 0:
        try:
            found, _ = json.JSONDecoder().raw_decode(answer, start)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and found.get("verdict") in (RIGHT, WRONG):
            return found["verdict"], str(found.get("reason", ""))
        start = answer.rfind("{", 0, start)
    raise NoAnswerError(f"expected a verdict, right or wrong, found {answer[-200:]!r}")


def choose_riskiest(interim: Path, count: int) -> list[Question]:
    """So many questions without a verdict, the riskiest first."""
    judged = {"judged_right", "judged_wrong", "judged_wrong_sql", "judged_ambiguous"}
    open_questions = [
        question
        for question in read_joined(interim)
        if question.answer_risk is not None
        and not judged.intersection(flag["code"] for flag in question.flags)
    ]
    open_questions.sort(key=lambda question: (-question.answer_risk, question.question_id))
    return open_questions[:count]


def list_doubts(question: Question) -> Iterator[dict[str, Any]]:
    """The flags of a question that may tell wrong gold, in words."""
    signs = {sign.code for sign in list_signs(question.flags, ())}
    for flag in sort_flags(question.flags):
        code = flag["code"]
        if code in signs:
            evidence = shorten(flag["evidence"])
            yield {"code": code, "explanation": FLAGS[code].sentence, "evidence": evidence}


def list_repairs(question: Question) -> Iterator[dict[str, Any]]:
    """The likeliest repairs of a question, each with its reason and what both queries answer."""
    for repair in (question.repairs or [])[:REPAIRS]:
        yield {
            "sql": repair["sql"],
            "reason": tell_doubts(repair["rule"], question.flags),
            "difference": tell_difference(repair),
            "gold_rows": shorten(repair.get("gold_rows", [])),
            "repair_rows": shorten(repair.get("repair_rows", [])),
            "has_rows": bool(repair.get("gold_rows") or repair.get("repair_rows")),
        }


def shorten(value: Any) -> str:
    """JSON of a value, cut where it is long."""
    text = encode_json(value).decode()
    return text if len(text) <= ANSWER_CHARACTERS else f"{text[:ANSWER_CHARACTERS]} ..."


@cache
def describe(path: Path) -> str:
    """The schema of a database, with rows."""
    return DatabaseTexts(path, example_rows=EXAMPLE_ROWS, max_characters=SCHEMA_CHARACTERS).schema


def write_prompt(question: Question, databases: Path, template: Path) -> str:
    """What the model reads about a question."""
    name = question.database_name
    return read_template(template).render(
        database_name=name,
        schema=describe(databases / name / f"{name}.sqlite"),
        question_text=question.question_text,
        evidence=question.evidence,
        clock=tell_clock(question.now),
        gold_sql=question.gold_sql,
        gold_answer=shorten(question.gold_answer),
        answer_risk=question.answer_risk,
        sql_risk=question.sql_risk,
        flags=list(list_doubts(question)),
        repairs=list(list_repairs(question)),
    )


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, help="a file of data/verdicts")
    parser.add_argument("--count", type=int, default=100, help="how many of the riskiest to ask")
    parser.add_argument("--interim", type=Path, default=INTERIM)
    parser.add_argument("--databases", type=Path, default=Path("data/databases"))
    parser.add_argument("--template", type=Path, default=TEMPLATE)
    parser.add_argument("--timeout-s", type=float, default=120, help="of one answer")
    parser.add_argument("--attempts", type=int, choices=range(1, 101), default=4, metavar="N")
    parser.add_argument("--backoff-s", type=float, default=2, help="times the number of attempts")
    options = parser.parse_args()
    for name in ("OPENAI_BASE_URL", "OPENAI_MODEL"):
        if not os.environ.get(name):
            parser.error(f"no {name} in the environment: see --help")
    return options


def main() -> None:
    options = parse_options()
    endpoint = Endpoint(
        os.environ["OPENAI_BASE_URL"],
        os.environ["OPENAI_MODEL"],
        os.environ.get("OPENAI_API_KEY"),
        options.timeout_s,
        options.attempts,
        options.backoff_s,
    )
    riskiest = choose_riskiest(options.interim, options.count)
    done = {verdict.key for verdict in read_verdict_file(options.out)}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    counts = dict.fromkeys([RIGHT, WRONG, "asked before", "no verdict"], 0)
    with options.out.open("ab") as file:
        for question in riskiest:
            sha256 = hash_question(question.question_text, question.gold_sql)
            key = question.database_name, sha256
            if key in done:
                counts["asked before"] += 1
                continue
            prompt = write_prompt(question, options.databases, options.template)
            try:
                verdict, reason = endpoint.judge(prompt)
            except NoAnswerError as error:
                counts["no verdict"] += 1
                print(f"{question.question_id}: {error}", file=sys.stderr)
                continue
            except (OSError, aiohttp.ClientError) as error:
                why = str(error) or f"no whole answer in {endpoint.timeout_s} seconds"
                sys.exit(f"{endpoint.base_url}: {why}: what was judged is in {options.out}")
            record = {
                "corpus": question.corpus,
                "database_name": question.database_name,
                "question_text": question.question_text,
                "gold_sql": question.gold_sql,
                "verdict": verdict,
                "reason": reason,
                "source": f"{MODEL}{endpoint.model}",
                "date": date.today().isoformat(),
            }
            file.write(encode_json(record) + b"\n")
            file.flush()
            counts[verdict] += 1
    print(", ".join(f"{name}: {count}" for name, count in counts.items()))


if __name__ == "__main__":
    main()
