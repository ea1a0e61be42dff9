"""A model behind a server that speaks the chat completions of OpenAI, asked within bounds: of time
and attempts for each reply, of bytes for what a server sends, of tokens for all of a run.

Source: "Create chat completion" in OpenAI's API reference; servers such as vLLM and llama.cpp
answer alike.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import aiohttp  # which fsspec[http] brings

from answerkey.base.records import decode_json, encode_json
from answerkey.base.secrets import hide_known, remember_secret, remember_secrets
from answerkey.environments.questions import RUN_SQL

Message = dict[str, Any]

_TRY_AGAIN = (408, 409, 425, 429)  # and all from 500
_MAX_BYTES = 4_000_000  # of a response
_MAX_CHARACTERS = 20_000  # of a reply, and of a call, that stay in the conversation
_MAX_CALLS = 16  # of a reply, that stay there
_MAX_WAIT_S = 60
_MAX_TOKENS = 10_000_000  # of one response: a server that says more counts wrongly
_TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # servers refuse others
_SILENCE = "(nothing)"  # servers refuse a message that is empty
_BYTES_OF_TOKEN = 3  # so that an estimate is too high, seldom too low


class NoReplyError(Exception):
    """The server gave no reply that can be used; the message says what it gave. status: that of its
    last response, if it says that there is none."""

    def __init__(self, words: str, *, status: int | None = None) -> None:
        super().__init__(words)
        self.status = status


class OutOfTokensError(Exception):
    """What is left of the tokens of a run is too little for one more reply."""


class ToolCall(NamedTuple):
    """A call of a tool. arguments: JSON, if the model wrote some."""

    call_id: str
    name: str
    arguments: str


class Reply(NamedTuple):
    """What the model says; `message` is that for the next turn of the conversation."""

    text: str
    calls: list[ToolCall]
    message: Message
    is_cut: bool


class Tokens:
    """The tokens of a run. What a request may need is held until its response says what it took."""

    def __init__(self, most: int | None = None) -> None:
        self.most = most
        self.spent = 0
        self._held = 0
        self._is_less = asyncio.Condition()

    @asynccontextmanager
    async def hold(self, count: int) -> AsyncIterator[None]:
        """Wait until so many tokens are free. Raises OutOfTokensError if they will never be."""
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
    """A server, its model, and how patiently it is asked.

    timeout_s: of one response, to its last byte.
    backoff_s: how long to wait before the second attempt; twice as long before the next one.
    reply_tokens: how long a reply may be.
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
    """The model of a server, for conversations that run at the same time."""

    def __init__(self, server: Server, session: aiohttp.ClientSession, tokens: Tokens) -> None:
        remember_secret(server.api_key)
        remember_secrets(server.base_url)
        self._server = server
        self._session = session
        self._tokens = tokens

    async def ask(self, messages: list[Message], *, tools: str | None) -> Reply:
        """What the model replies.

        tools: what it may do with `run_sql`, "auto" or "none"; None: it is not told of it.

        Raises:
            NoReplyError: if none of so many attempts gives a reply.
            OutOfTokensError: if the tokens of the run are at their end.
        """
        server = self._server
        body: dict[str, Any] = {
            "model": server.model,
            "messages": messages,
            "max_completion_tokens": server.reply_tokens,
        }
        if server.temperature is not None:
            body["temperature"] = server.temperature
        if tools is not None:
            body |= {"tools": [{"type": "function", "function": RUN_SQL}], "tool_choice": tools}
        sent = encode_json(body)
        wait_s = server.backoff_s
        for attempt in range(1, server.attempts + 1):
            try:
                return await self._ask_once(sent)
            except _RefusedError as error:
                if not error.may_pass or attempt == server.attempts:
                    raise NoReplyError(str(error), status=error.status) from None
                await asyncio.sleep(wait_s if error.wait_s is None else error.wait_s)
            wait_s = min(2 * wait_s, _MAX_WAIT_S)
        raise ValueError(f"expected at least one attempt, found {server.attempts}")

    async def _ask_once(self, sent: bytes) -> Reply:
        asked = len(sent) // _BYTES_OF_TOKEN
        async with self._tokens.hold(asked + self._server.reply_tokens):
            try:
                received = await self._post(sent)
            except _RefusedError:
                raise
            except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
                if not isinstance(error, aiohttp.ClientConnectorError):
                    self._tokens.spent += asked  # it may have worked on them
                words = str(error) or f"no whole response in {self._server.timeout_s:g} seconds"
                raise _RefusedError(hide_known(words)) from None
            estimate = asked + len(received) // _BYTES_OF_TOKEN
            response: Any = None
            try:
                response = decode_json(received)
                return _read_reply(response)
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                shown = received[:200].decode(errors="replace")
                raise _RefusedError(f"expected a chat completion, found {shown!r}") from None
            finally:
                self._tokens.spent += _count_tokens(response) or estimate

    async def _post(self, sent: bytes) -> bytes:
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
            # A server may say the key that it was sent, which no reply, error or file shall have.
            text = hide_known(received.decode(errors="surrogateescape"))
            if response.status != 200:
                said = " ".join(text[:400].encode(errors="replace").decode().split())
                raise _RefusedError(
                    hide_known(f"status {response.status} {response.reason}: {said}"),
                    status=response.status,
                    wait_s=_read_wait(response.headers),
                )
            return text.encode(errors="surrogateescape")


class _RefusedError(Exception):
    """One attempt without a reply. status: of the response, if it says that there is none; wait_s:
    when to try again, if the server says so."""

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
    asked = headers.get("Retry-After", "").strip()
    return min(float(asked), _MAX_WAIT_S) if asked.isascii() and asked.isdigit() else None


def _read_reply(response: Any) -> Reply:
    """Raises what a value of another kind raises, where it is not a chat completion."""
    choice = response["choices"][0]
    said = choice["message"]
    content = said.get("content") or ""
    if not isinstance(content, str):
        raise TypeError(content)
    content = content[-_MAX_CHARACTERS:]  # its end has the verdict
    message: Message = {"role": "assistant", "content": content or _SILENCE}
    calls = [_read_call(call) for call in (said.get("tool_calls") or [])[:_MAX_CALLS]]
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
    return Reply(content, calls, message, is_cut=choice.get("finish_reason") == "length")


def _read_call(call: Any) -> ToolCall:
    function = call["function"]
    name, arguments, call_id = function["name"], function.get("arguments") or "{}", call["id"]
    if not all(isinstance(each, str) for each in (name, arguments, call_id)):
        raise TypeError(call)
    if not _TOOL_NAME.fullmatch(name):
        name = "unknown"
    return ToolCall(call_id, name, arguments[:_MAX_CHARACTERS])


def _keep_json(arguments: str) -> str:
    """Arguments that a server can read again: templates of chats parse them."""
    try:
        return arguments if isinstance(decode_json(arguments), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _count_tokens(response: Any) -> int | None:
    """What a response says that it took; None if it says nothing that can be."""
    usage = response.get("usage") if isinstance(response, dict) else None
    count = usage.get("total_tokens") if isinstance(usage, dict) else None
    return count if type(count) is int and 0 < count <= _MAX_TOKENS else None
