"""Agent Lightning: agents that its controller starts, a process for each rollout.

    agentlightning.local.agent_class: answerkey.environments.agent_lightning.ToolAgent
    agentlightning.local.env_map: {ANSWERKEY_QUESTION: input}

The data are the rows of data/exports/trl/prompt_only. The model is called through the gateway; its
last reply is scored, and the event `reward` says why it is wrong. A row is passed in an environment
variable, which has at most 128 kB on Linux.

Source: local_reconciler.py and schemas.py of Agent Lightning 1.0, and its example gsm8k. The
gateway answers 429 while the trainer updates the weights.
"""

from __future__ import annotations

import json
import os
from typing import Any, ClassVar

import httpx
from httpx_retries import Retry, RetryTransport

from answerkey.engines.names import SQLITE
from answerkey.environments.questions import (
    RUN_SQL,
    describe_tool,
    explain_reply,
    run_sql,
)
from answerkey.reward import Options, RewardPool

_RETRY = Retry(allowed_methods=["POST"], backoff_factor=1.0)
_REPLY_S = 300.0


class ReplyAgent:
    """One reply to the prompt of the question."""

    max_turns: ClassVar[int] = 1
    has_tool: ClassVar[bool] = False
    options: ClassVar[Options] = {"workers": 1}  # of the reward

    def run(self) -> None:
        """Call the model, and post the reward. Environment variables have the address and
        question."""
        columns = json.loads(os.environ["ANSWERKEY_QUESTION"])
        key = os.environ["AGL_KEY"]
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        transport = RetryTransport(retry=_RETRY)
        with (
            RewardPool(**self.options) as pool,
            httpx.Client(transport=transport, headers=headers, timeout=_REPLY_S) as client,
        ):
            reply = self._chat(client, pool, columns)
            explained = explain_reply(pool, reply, columns)
            data = {
                "value": explained.reward,
                "reason": explained.reason,
                "message": explained.detail,
            }
            event = {"event_type": "reward", "data": data}
            client.post(os.environ["AGL_EVENT_URL"], json=event).raise_for_status()

    def _chat(self, client: httpx.Client, pool: RewardPool, columns: dict[str, Any]) -> Any:
        messages = [*columns["prompt"]]
        tools = {}
        if self.has_tool:
            tool = {"type": "function", "function": describe_tool(columns.get("engine") or SQLITE)}
            tools["tools"] = [tool]
        for _ in range(self.max_turns):
            response = client.post(
                f"{os.environ['AGL_OPENAI_BASE_URL']}/chat/completions",
                json={"model": "auto", "messages": messages, **tools},
            )
            response.raise_for_status()
            messages.append(response.json()["choices"][0]["message"])
            calls = messages[-1].get("tool_calls") or []
            if not calls:
                break
            for call in calls:
                shown = _call(pool, call["function"], columns)
                messages.append({"role": "tool", "tool_call_id": call["id"], "content": shown})
        return [message for message in messages if message["role"] == "assistant"]


class ToolAgent(ReplyAgent):
    """Up to eight replies: all but the last may call `run_sql`. The model's server must parse calls
    of tools."""

    max_turns = 8
    has_tool = True


def _call(pool: RewardPool, function: dict[str, Any], columns: dict[str, Any]) -> str:
    """Return the result of a call for the model. The call may be wrong in any way."""
    try:
        sql = json.loads(function["arguments"])["sql"]
    except (ValueError, TypeError, KeyError):
        sql = None
    if function["name"] != RUN_SQL or not isinstance(sql, str):
        return f"expected a call of run_sql with the argument sql, found {json.dumps(function)}"
    return run_sql(pool, sql, columns["database_name"], columns.get("now"))
