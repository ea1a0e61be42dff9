"""A run of `answerkey read`: which questions are read, in which order, and when it ends.

Fifty questions are read at a time, the riskiest first: all of them once, then once more in another
order, then a third time those whose passes disagree. So a run that ends early has settled most of
what it has paid for.
"""

from __future__ import annotations

import asyncio
import datetime
import os
import random
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp  # which fsspec[http] brings

from answerkey.base.cores import count_cores
from answerkey.base.errors import InputError
from answerkey.base.log import make_printable, show_progress, spell_count, start_log
from answerkey.base.paths import DATABASES
from answerkey.base.reasons import Reason
from answerkey.base.secrets import hide_secrets
from answerkey.dataset import Question, read_joined
from answerkey.reading.conversation import NoVerdictError, count_queries, read_question
from answerkey.reading.model import (
    OF_REQUEST,
    Model,
    NoReplyError,
    OutOfTokensError,
    Server,
    Tokens,
)
from answerkey.reading.readings import MOST_READINGS, Key, Reading, Readings, open_readings
from answerkey.reading.shown import TEMPLATE, write_prompt
from answerkey.reward import RewardPool
from answerkey.risk.explanations import find_questions
from answerkey.risk.verdicts import MODEL

_BATCH = 50
_MOST_FAILURES = 5  # in a row: then the server, or its options, are at fault
_OF_ALL = (401, 403, 404)  # statuses that every request would have
_SHOW_EVERY_S = 30  # if no pass has ended in the meantime
_JUDGED = "judged_"  # the prefix of the flags of verdicts
_FILE_NAME = re.compile(r"[\w-]+")  # as corpora.NAME.corrections accepts it


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The questions to read: these ids, or all without a verdict.

    count: at most this many, the riskiest first.
    judged: also questions with a verdict or a correction, to compare the two.
    """

    question_ids: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    corpus: str | None = None
    count: int | None = None
    judged: bool = False


def choose_questions(questions: Iterable[Question], choice: Choice) -> list[Question]:
    """Return the questions to read, first those without an answer, then by answer_risk.

    Raises:
        InputError: no question has an id, a database or a corpus; or there are several corpora: one
            file of corrections is for one corpus.
    """
    known = list(questions)
    if choice.question_ids:
        chosen = find_questions(known, choice.question_ids)
        for question in chosen:
            if not _is_readable(question):
                words = f"{question.reason}: {question.detail}"
                raise InputError(f"{question.question_id}: nothing to read: {words}")
    else:
        for name, wanted, there in (
            ("--database", choice.databases, {question.database_name for question in known}),
            ("--corpus", filter(None, [choice.corpus]), {question.corpus for question in known}),
        ):
            if missing := sorted(set(wanted) - there):
                raise InputError(f"{name}: no question of {', '.join(missing)}")
        chosen = [question for question in known if _is_chosen(question, choice)]
    by_key = {_key(question): question for question in chosen}  # each pair of text and SQL once
    ranked = sorted(by_key.values(), key=_rank)[: choice.count]
    if len(corpora := sorted({question.corpus for question in ranked})) > 1:
        raise InputError(f"questions of {', '.join(corpora)}: choose one by --corpus")
    return ranked


def _is_chosen(question: Question, choice: Choice) -> bool:
    if question.stage == "load_questions" or not _is_readable(question):
        return False  # a curator has set it aside, or there is nothing to read
    if choice.databases and question.database_name not in choice.databases:
        return False
    if choice.corpus not in (None, question.corpus):
        return False
    is_corrected = question.source.get("correction") is not None
    is_judged = any(flag["code"].startswith(_JUDGED) for flag in question.flags)
    return choice.judged or not (is_corrected or is_judged)


def _is_readable(question: Question) -> bool:
    return bool(question.gold_sql) and question.reason != Reason.UNREADABLE_DATABASE


def _key(question: Question) -> Key:
    return question.database_name, question.question_text, question.gold_sql


def _rank(question: Question) -> tuple[float, str]:
    risk = 2.0 if question.answer_risk is None else question.answer_risk
    return -risk, question.question_id


def read_gold(
    name: str,
    *,
    choice: Choice,
    server: Server,
    turns: int,
    max_tokens: int | None,
    workers: int,
    template: Path | None,
) -> str:
    """Let a model read the chosen questions, write the files that follow, and return a summary.

    Raises:
        InputError: options or files are invalid, another run of this name has not ended, the server
            gives no reply for several questions in a row, or no pass came to a verdict. What was
            read until then is kept.
    """
    if not _FILE_NAME.fullmatch(name):
        raise InputError(f"--name is {name!r}, expected a file name without ending: qwen3_32b")
    if template is not None and not template.is_file():
        raise InputError(f"--template: no file {template}")
    known = list(read_joined())
    questions = choose_questions(known, choice)
    unanswered = {_key(question) for question in known if question.gold_answer is None}
    with open_readings(name, unanswered) as readings:
        corpora = readings.corpora | {question.corpus for question in questions}
        if len(corpora) > 1:
            words = f"its readings and these questions are of {', '.join(sorted(corpora))}"
            raise InputError(f"{readings.path}: {words}: choose another --name")
        if not corpora:
            words = "those that are chosen have a verdict, or are set aside"
            raise InputError(f"no question to read: {words}; --judged takes the former")
        run = _Run(readings, server, turns, Tokens(max_tokens), template or TEMPLATE)
        try:
            with RewardPool(min(workers, count_cores()), databases=DATABASES) as pool:
                asyncio.run(run.read_all(questions, pool, workers))
        finally:
            written = readings.write()
        counts = readings.count_questions([_key(question) for question in questions])
    summary = f"{run.describe()}\n{counts}\n{written}"
    if run.fault or run.is_vain:
        raise InputError(f"{run.fault or 'no reading came to a verdict'}\n{summary}")
    return summary


class _Run:
    """fault: why the server gets no more requests. is_out: whether the run ended because its tokens
    were used up. Passes that were begun, but are neither counted nor without a verdict, were broken
    off.
    """

    def __init__(
        self, readings: Readings, server: Server, turns: int, tokens: Tokens, template: Path
    ) -> None:
        self._readings = readings
        self._server = server
        self._turns = turns
        self._tokens = tokens
        self._template = template
        self._log = start_log("read")
        self._begun = self._count = self._without = self._failures = 0
        self._drawing = asyncio.Lock()  # one query at a time: `Watchdog`
        self._is_out = False
        self.fault = ""

    @property
    def is_vain(self) -> bool:
        """Return whether there were passes, but none came to a verdict."""
        return self._begun > 0 and not self._count

    def describe(self) -> str:
        words = f"{spell_count(self._begun, 'reading', ',')}, {self._tokens.spent:,} tokens"
        if self._without:
            words += f", {self._without:,} without a verdict"
        if broken_off := self._begun - self._count - self._without:
            words += f", {broken_off:,} broken off"
        return f"{words}; ended by --max-tokens {self._tokens.most:,}" if self._is_out else words

    async def read_all(self, questions: list[Question], pool: RewardPool, workers: int) -> None:
        """Read questions until each is settled, or something ends the run."""
        left = [each for each in questions if self._readings.find_next(_key(each)) is not None]
        with show_progress("read", total=len(left), unit="questions") as advance:
            # Bodies are not decompressed, so that the limit of their size holds.
            async with aiohttp.ClientSession(trust_env=True, auto_decompress=False) as session:
                model = Model(self._server, session, self._tokens, self._show)
                waiting = asyncio.create_task(self._show_waiting(model))
                for start in range(0, len(left), _BATCH):
                    batch = left[start : start + _BATCH]
                    for number in range(1, MOST_READINGS + 1):
                        wanted = [
                            each for each in batch if self._readings.find_next(_key(each)) == number
                        ]
                        random.Random(f"{number} {start}").shuffle(wanted)
                        queue = iter(wanted)
                        work = (
                            self._work(queue, number, model, pool, advance) for _ in range(workers)
                        )
                        await asyncio.gather(*work)
                waiting.cancel()

    def _show(self, words: str) -> None:
        self._log.info("%s", make_printable(words))

    async def _show_waiting(self, model: Model) -> None:
        """Show that the run goes on while no pass ends."""
        while True:
            ended = self._count + self._without
            await asyncio.sleep(_SHOW_EVERY_S)
            if ended == self._count + self._without and model.waiting:
                requests = spell_count(model.waiting, "request")
                self._show(f"waits for {requests}: no reading ended for {_SHOW_EVERY_S:g} s")

    async def _work(
        self,
        queue: Iterator[Question],
        number: int,
        model: Model,
        pool: RewardPool,
        advance: Callable[[float], object],
    ) -> None:
        for question in queue:
            if self.fault or self._is_out:
                return
            self._begun += 1
            try:
                await self._read(question, number, model, pool)
            except OutOfTokensError:
                self._is_out = True
                continue
            except NoReplyError as error:
                self._failures += 1
                self._log_failure(question, str(error))
                if self._ends(error):
                    failed = spell_count(self._failures, "reading")
                    failure = f"no reply in {failed}, one after another: {error}"
                    self.fault = make_printable(hide_secrets(f"{self._server.base_url}: {failure}"))
            except NoVerdictError as error:
                self._failures = 0
                self._log_failure(question, str(error))
            else:
                self._failures = 0
                self._count += 1
                if self._readings.find_next(_key(question)) is not None:
                    continue
            advance(1)  # it is settled, or this run does not read it again

    def _ends(self, error: NoReplyError) -> bool:
        """Return whether other questions would fail, too. A single request may just be too long."""
        if error.status in _OF_ALL:
            return True
        is_of_request = error.status in OF_REQUEST and self._count > 0
        return self._failures >= _MOST_FAILURES and not is_of_request

    def _log_failure(self, question: Question, why: str) -> None:
        self._without += 1
        self._log.warning("%s: no verdict: %s", question.question_id, make_printable(why))

    async def _read(self, question: Question, number: int, model: Model, pool: RewardPool) -> None:
        async with self._drawing:
            prompt = await asyncio.to_thread(
                write_prompt,
                question,
                self._template,
                queries=count_queries(self._turns),
                seed=f"{number}",
            )
        judgement = await read_question(question, prompt, model, pool, turns=self._turns)
        self._readings.add(
            Reading(
                corpus=question.corpus,
                db_id=question.source.get("db_id", question.database_name),
                database_name=question.database_name,
                question_text=question.question_text,
                gold_sql=question.gold_sql,
                number=number,
                source=f"{MODEL}{self._server.model}",
                date=datetime.date.today().isoformat(),
                **judgement._asdict(),
            )
        )


def read_server(**options: Any) -> Server:
    """Return the server from the environment variables that clients of OpenAI use.

    Raises:
        InputError: they name none.
    """
    names = "OPENAI_BASE_URL", "OPENAI_MODEL"
    for name in names:
        if not os.environ.get(name):
            expected = "such as http://127.0.0.1:8000/v1 and qwen3-32b"
            raise InputError(f"No {name} in the environment: expected both, {expected}")
    base_url, model = (os.environ[name] for name in names)
    if not _is_address(base_url):
        raise InputError(f"OPENAI_BASE_URL is {base_url!r}, expected http://... or https://...")
    return Server(base_url, model, os.environ.get("OPENAI_API_KEY"), **options)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an unclosed bracket, or a port that is no number
        return False
