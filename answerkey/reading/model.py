"""A model behind a server that offers OpenAI's chat completions. There are limits for the time and
attempts of each reply, for the bytes of a response, and for the tokens of a run.

Source: "Create chat completion" in OpenAI's API reference. Servers such as vLLM, llama.cpp, Ollama
and gateways differ in details that are handled here: content in parts, the arguments of a call as
an object, a call without an id, line ends in a JSON string, `max_tokens`.
"""

from __future__ import annotations

import asyncio
import datetime
import json
import math
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

import aiohttp  # which fsspec[http] brings

from answerkey.base.records import decode_json, encode_json
from answerkey.base.secrets import hide_known, remember_secret, remember_secrets
from answerkey.engines.names import SQLITE
from answerkey.environments.questions import describe_tool

Message = dict[str, Any]

_TRY_AGAIN = (408, 409, 425, 429)  # and all from 500
OF_REQUEST = (400, 413, 422)  # statuses by which a server refuses the content of one request
_LENGTH_NAMES = ("max_completion_tokens", "max_tokens")  # OpenAI's, and that of older servers
_CUT = ("length", "max_tokens", "model_length")  # why a reply ended, if it is not whole
_TEXT_PARTS = (None, "text", "output_text")  # types of parts of a content; others are thoughts
_MAX_BYTES = 4_000_000  # of a response
_MAX_CHARACTERS = 20_000  # of a reply, and of a call, that are kept in the conversation
_MAX_CALLS = 16  # of a reply, that are kept there
_MAX_WAIT_S = 60
_MAX_TOKENS = 10_000_000  # of one response: a higher number from a server is a mistake
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # servers refuse others
_LONG_WAIT_S = 1  # longer waits are shown
_SILENCE = "(nothing)"  # servers refuse an empty message
_BYTES_OF_TOKEN = 3  # a low number, so that estimates are rather too high


class NoReplyError(Exception):
    """The server gave no usable reply; the message says what it sent. status: that of its last
    response, if it is an error status."""

    def __init__(self, words: str, *, status: int | None = None) -> None:
        super().__init__(words)
        self.status = status


class OutOfTokensError(Exception):
    """The remaining tokens of the run are too few for one more reply."""


class ToolCall(NamedTuple):
    """A call of a tool. arguments: JSON, if the model's own are valid."""

    call_id: str
    name: str
    arguments: str


class Reply(NamedTuple):
    """A reply of the model; `message` is the one for the next turn of the conversation.

    is_cut: whether the reply ended because it reached its greatest length.
    """

    text: str
    calls: list[ToolCall]
    message: Message
    is_cut: bool


class Tokens:
    """The tokens of a run. A request reserves its maximum until the response says its real
    number."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.spent = 0
        self._held = 0
        self._is_less = asyncio.Condition()

    @asynccontextmanager
    async def hold(self, count: int) -> AsyncIterator[None]:
        """Wait until `count` tokens are free. Raises OutOfTokensError if they never will be."""
        async with self._is_less:
            while self.most is not None and self.spent + self._held + count > self.most:
                if self.spent + count > self.most:
                    raise OutOfTokensError
                await self._is_less.wait()
            self._held += count
        try:
            yield
        finally:
            self._held -= count
            async with self._is_less:
                self._is_less.notify_all()


@dataclass(frozen=True, slots=True)
class Server:
    """A server, its model, and the limits of a request.

    timeout_s: for one response, up to its last byte.
    backoff_s: the wait before the second attempt; it doubles before each further one.
    reply_tokens: the greatest length of a reply.
    temperature: None: that of the server.
    """

    base_url: str
    model: str
    api_key: str | None
    timeout_s: float
    attempts: int
    backoff_s: float
    reply_tokens: int
    temperature: float | None


class Model:
    """The model of a server, for concurrent conversations.

    tell: shows a person why the run waits for the server.
    waiting: the number of requests without a response.
    """

    def __init__(
        self,
        server: Server,
        session: aiohttp.ClientSession,
        tokens: Tokens,
        tell: Callable[[str], object],
    ) -> None:
        remember_secret(server.api_key)
        remember_secrets(server.base_url)
        self._server = server
        self._session = session
        self._tokens = tokens
        self._tell = tell
        self._told_until = 0.0
        self._length_name = _LENGTH_NAMES[0]
        self._has_replied = False
        self.waiting = 0

    async def ask(
        self, messages: list[Message], *, tools: str | None, engine: str = SQLITE
    ) -> Reply:
        """Return the model's reply.

        engine: of the database that the tool queries.
        tools: whether it may call `run_sql`, "auto" or "none"; None: the request has no tool.

        Raises:
            NoReplyError: all attempts failed.
            OutOfTokensError: the tokens of the run are used up.
        """
        server = self._server
        body: dict[str, Any] = {"model": server.model, "messages": messages}
        if server.temperature is not None:
            body["temperature"] = server.temperature
        if tools is not None:
            tool = {"type": "function", "function": describe_tool(engine)}
            body |= {"tools": [tool], "tool_choice": tools}
        wait_s = server.backoff_s
        for attempt in range(1, server.attempts + 1):
            try:
                return await self._ask_by_name(body)
            except _RefusedError as error:
                words = hide_known(str(error))
                if not error.may_pass or attempt == server.attempts:
                    raise NoReplyError(words, status=error.status) from None
                await self._wait(wait_s if error.wait_s is None else error.wait_s, words)
            wait_s = min(2 * wait_s, _MAX_WAIT_S)
        raise ValueError(f"expected at least one attempt, found {server.attempts}")

    async def _ask_by_name(self, body: dict[str, Any]) -> Reply:
        """Return the reply. The limit of its length has the name that this server accepts. Until
        that is known, a request that is refused is sent with the other name, too."""
        name = self._length_name
        try:
            return await self._ask_once(body, name)
        except _RefusedError as error:
            if error.status not in OF_REQUEST or self._has_replied:
                raise
            (other,) = set(_LENGTH_NAMES) - {name}
            try:
                return await self._ask_once(body, other)
            except _RefusedError:
                raise error from None

    async def _wait(self, wait_s: float, why: str) -> None:
        """Wait, and show it: one line for all passes that wait at the same time."""
        now = asyncio.get_running_loop().time()
        if wait_s >= _LONG_WAIT_S and now >= self._told_until:
            self._told_until = now + wait_s
            self._tell(f"waits {wait_s:.0f} s, then asks again: {why}")
        await asyncio.sleep(wait_s)

    async def _ask_once(self, body: dict[str, Any], length_name: str) -> Reply:
        sent = encode_json(body | {length_name: self._server.reply_tokens})
        asked = len(sent) // _BYTES_OF_TOKEN
        async with self._tokens.hold(asked + self._server.reply_tokens):
            self.waiting += 1
            try:
                received = await self._post(sent)
            except _RefusedError:
                raise
            except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
                if not isinstance(error, aiohttp.ClientConnectorError):
                    self._tokens.spent += asked  # the server may have used them
                words = str(error) or f"no whole response in {self._server.timeout_s:g} seconds"
                raise _RefusedError(hide_known(words)) from None
            finally:
                self.waiting -= 1
            estimate = asked + len(received) // _BYTES_OF_TOKEN
            response: Any = None
            try:
                response = json.loads(received, strict=False)
                reply = _read_reply(response, len(body["messages"]))
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                words = f"expected a chat completion, found {received[:200]!r}"
                raise _RefusedError(words) from None
            finally:
                self._tokens.spent += _count_tokens(response) or estimate
            self._length_name, self._has_replied = length_name, True
            return reply

    async def _post(self, sent: bytes) -> str:
        headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
        if self._server.api_key:
            headers["Authorization"] = f"Bearer {self._server.api_key}"
        url = f"{self._server.base_url.rstrip('/')}/chat/completions"
        timeout = aiohttp.ClientTimeout(total=self._server.timeout_s)
        request = self._session.post(
            url, data=sent, headers=headers, timeout=timeout, allow_redirects=False
        )
        async with request as response:
            received = bytearray()
            async for chunk in response.content.iter_any():
                received += chunk
                if len(received) > _MAX_BYTES:
                    raise ValueError(f"expected a chat completion, found over {_MAX_BYTES:,} bytes")
            # A server may repeat its key, which must not reach a reply, an error or a file.
            errors = "strict" if response.status == 200 else "replace"
            text = hide_known(received.decode("utf-8-sig", errors))
            if response.status != 200:
                body_start = " ".join(text[:400].split())
                raise _RefusedError(
                    hide_known(f"status {response.status} {response.reason}: {body_start}"),
                    status=response.status,
                    wait_s=_read_wait(response.headers),
                )
            return text


class _RefusedError(Exception):
    """A failed attempt. status: of the response, if it is an error status; wait_s: when to try
    again, if the server says so."""

    def __init__(
        self, words: str, *, status: int | None = None, wait_s: float | None = None
    ) -> None:
        super().__init__(words)
        self.status = status
        self.wait_s = wait_s

    @property
    def may_pass(self) -> bool:
        return self.status is None or self.status in _TRY_AGAIN or self.status >= 500


def _read_wait(headers: Mapping[str, str]) -> float | None:
    """Return after how many seconds the server wants a new request, at most a minute; None if it
    does not say. `Retry-After` is a number or a date (RFC 9110, 10.2.3), by the server's clock.

    >>> _read_wait({"Retry-After": "3.5"})
    3.5
    >>> date = "Tue, 03 Mar 2026 08:00:"
    >>> _read_wait({"Date": f"{date}10 GMT", "Retry-After": f"{date}14 GMT"})
    4.0
    """
    asked = headers.get("Retry-After", "").strip()
    wait_s = math.nan
    try:
        wait_s = float(asked)
    except ValueError:
        if (until := _read_date(asked)) is not None:
            now = _read_date(headers.get("Date", "")) or datetime.datetime.now(datetime.UTC)
            wait_s = (until - now).total_seconds()
    return min(wait_s, _MAX_WAIT_S) if wait_s >= 0 else None


def _read_date(text: str) -> datetime.datetime | None:
    try:
        date = parsedate_to_datetime(text)
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=datetime.UTC)


def _read_reply(response: Any, reply_index: int) -> Reply:
    """Return the reply in a response. If it is no chat completion, reading it raises some
    exception.

    reply_index: the index of the reply in the conversation, for ids of calls that have none.
    """
    choice = response["choices"][0]
    said = choice["message"]
    text = _read_content(said.get("content"))
    content = text[-_MAX_CHARACTERS:]
    message: Message = {"role": "assistant", "content": content or _SILENCE}
    calls: list[ToolCall] = []
    for given in (said.get("tool_calls") or [])[:_MAX_CALLS]:
        calls.append(_read_call(given, f"call{reply_index:03}{len(calls):02}", calls))
    if calls:
        message["content"] = content or None
        message["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": _keep_json(call.arguments)},
            }
            for call in calls
        ]
    return Reply(text, calls, message, is_cut=choice.get("finish_reason") in _CUT)


def _read_content(content: Any) -> str:
    """Return the text of a content. If it has parts (vLLM, Mistral and gateways to Anthropic), only
    those of text count.

    >>> _read_content([{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Yes."}])
    'Yes.'
    """
    if content is None:
        return ""
    texts = []
    for part in [content] if isinstance(content, str | dict) else content:
        if isinstance(part, str):
            texts.append(part)
        elif part.get("type") in _TEXT_PARTS:
            texts.append(part.get("text") or "")
    return "".join(texts)


def _read_call(given: Any, spare_id: str, before: list[ToolCall]) -> ToolCall:
    """spare_id: for a call whose id is missing, or used by a call before it."""
    function = given["function"]
    name, call_id = function["name"], given.get("id")
    if not isinstance(name, str):
        raise TypeError(given)
    if not _TOOL_NAME.fullmatch(name):
        name = "unknown"
    is_id = isinstance(call_id, str) and call_id
    if not is_id or call_id in (call.call_id for call in before):
        call_id = spare_id
    return ToolCall(call_id, name, _read_arguments(function.get("arguments"))[:_MAX_CHARACTERS])


def _read_arguments(given: Any) -> str:
    """Return the arguments of a call as JSON text. Servers give that, the object itself (Ollama,
    TGI), JSON text inside JSON text, or nothing. A value that is no object is returned unchanged.

    >>> _read_arguments({"sql": "SELECT 1"}) == _read_arguments('{"sql":"SELECT 1"}')
    True
    """
    value = {} if given is None or given == "" else given
    for _ in range(2):
        if isinstance(value, str):
            try:
                value = json.loads(value, strict=False)
            except (ValueError, RecursionError):
                break
    if isinstance(value, dict) or not isinstance(given, str):
        return encode_json(value).decode()
    return given


def _keep_json(arguments: str) -> str:
    """Return arguments that a server can parse again, as chat templates do."""
    try:
        return arguments if isinstance(decode_json(arguments), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _count_tokens(response: Any) -> int | None:
    """Return the number of tokens that a response states; None if it states no possible one."""
    usage = response.get("usage") if isinstance(response, dict) else None
    if not isinstance(usage, dict):
        return None
    count = usage.get("total_tokens")
    if count is None:
        prompt_tokens, completion_tokens = (
            usage.get("prompt_tokens"),
            usage.get("completion_tokens"),
        )
        count = (
            prompt_tokens + completion_tokens
            if type(prompt_tokens) is int and type(completion_tokens) is int
            else None
        )
    return count if type(count) is int and 0 < count <= _MAX_TOKENS else None
