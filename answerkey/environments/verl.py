"""verl: an agent loop in which a policy may query the database by the tool run_sql, then replies.

    actor_rollout_ref.rollout.agent.agent_loop_config_path: environments/verl/agent_loop.yaml
    actor_rollout_ref.rollout.agent.default_agent_loop: answerkey
    reward.custom_reward_function.path: pkg://answerkey.environments.verl

The data are those of data/exports/verl. verl's own loop of tools passes no column of the row to a
tool: this one passes the database. The reward function of `answerkey.reward` sees the text of all
turns; `compute_score` of this module sees only the last reply, which is scored.

Source: ToolAgentLoop and NaiveRewardManager in verl 0.9, which passes the extra fields of a loop to
the reward function.
"""

from __future__ import annotations

import asyncio
from functools import cache
from itertools import groupby
from typing import Any

from omegaconf import OmegaConf
from verl.experimental.agent_loop.agent_loop import AgentLoopOutput, ToolListWrap
from verl.experimental.agent_loop.tool_agent_loop import ToolAgentLoop
from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse

from answerkey.engines.names import SQLITE
from answerkey.environments.questions import RUN_SQL, describe_tool, run_sql
from answerkey.reward import SharedPool, compute_score_async

_OPTIONS = "reward.custom_reward_function.reward_kwargs"


class RunSql(BaseTool):
    """The tool, for all trajectories of a worker."""

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], *, agent_data: Any, **_: Any
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        """Return the first rows of a query, or the error of its engine. The loop shows the
        policy any exception, as for a call without `sql`."""
        known = agent_data.tools_kwargs[self.name]
        about = known["database_name"], known["now"]
        text = await asyncio.to_thread(run_sql, known["pool"], parameters["sql"], *about)
        return ToolResponse(text=text), 0.0, {}


@cache  # verl creates a loop for each trajectory, and each new tool would print its schema
def _make_tool(engine: str = SQLITE) -> RunSql:
    schema = {"type": "function", "function": describe_tool(engine)}
    return RunSql({}, OpenAIFunctionToolSchema.model_validate(schema))


class SqlAgentLoop(ToolAgentLoop):
    """verl's loop of tools, with run_sql beside those of `multi_turn.tool_config_path`."""

    def __init__(self, *arguments: Any, tools: ToolListWrap | None = None, **named: Any) -> None:
        others = [] if tools is None else tools.tools
        super().__init__(*arguments, tools=ToolListWrap([*others, _make_tool()]), **named)

    async def run(self, sampling_params: dict[str, Any], **columns: Any) -> AgentLoopOutput:
        """Play the trajectory of a row. verl makes a loop for each, so the tool of this loop may be
        described for the engine of the row."""
        tool = _make_tool(columns["extra_info"].get("engine") or SQLITE)
        self.tools[RUN_SQL] = tool
        self.tool_schemas = [_write_schema(known) for known in self.tools.values()]
        options = dict(OmegaConf.select(self.config, _OPTIONS) or {})
        known = {
            "pool": SharedPool(**options),
            "database_name": columns["extra_info"]["database_name"],
            "now": columns["extra_info"].get("now"),
        }
        others = columns.pop("tools_kwargs", None) or {}
        tools_kwargs = {**others, RUN_SQL: known}
        output = await super().run(sampling_params, tools_kwargs=tools_kwargs, **columns)
        reply = self.tokenizer.decode(_find_last_reply(output), skip_special_tokens=True)
        output.extra_fields["extras"] = {"last_reply": reply}
        return output


def _write_schema(tool: BaseTool) -> dict[str, Any]:
    """Return the schema of a tool as verl's loop gives it to a template."""
    schema: dict[str, Any] = tool.tool_schema.model_dump(exclude_unset=True, exclude_none=True)
    return schema


def _find_last_reply(output: AgentLoopOutput) -> list[int]:
    """Return the tokens of the policy after the last rows that it was shown."""
    marked = zip(output.response_mask, output.response_ids, strict=True)
    runs = [(own, [*run]) for own, run in groupby(marked, lambda pair: pair[0])]
    replies = [[token for _, token in run] for own, run in runs if own]
    return replies[-1] if replies else []


async def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any],
    **options: Any,
) -> float:
    """`answerkey.reward.compute_score_async` of the last reply of a trajectory."""
    reply = extra_info["extras"]["last_reply"]
    return await compute_score_async(data_source, reply, ground_truth, extra_info, **options)
