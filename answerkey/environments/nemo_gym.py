"""NeMo Gym: a resources server with the tool run_sql, for the lines of `environments/tasks.py`.

`environments/nemo_gym` is the folder for a checkout of NeMo Gym, with the configuration.

Source: SimpleResourcesServer in nemo_gym/base_resources_server.py, and simple_agent, which posts
the arguments of a tool to its name and keeps the cookies of a session (NeMo Gym 0.4).
"""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import FastAPI, Request
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseSeedSessionRequest,
    BaseSeedSessionResponse,
    BaseVerifyRequest,
    BaseVerifyResponse,
    SimpleResourcesServer,
)
from nemo_gym.server_utils import SESSION_ID_KEY
from pydantic import BaseModel, ConfigDict, Field

from answerkey.environments.questions import explain_reply, run_sql
from answerkey.reward import RewardPool


class ServerConfig(BaseResourcesServerConfig):
    """reward: options of `answerkey.reward.RewardPool`."""

    reward: dict[str, Any] = Field(default_factory=dict)


class SeedRequest(BaseSeedSessionRequest):
    """The fields of a line that begin a session: its database, and the time of its clock."""

    database_name: str
    now: str | None = None


class SqlRequest(BaseModel):
    """The arguments of the tool."""

    sql: str


class VerifyRequest(BaseVerifyRequest):
    """A line with the response of the model."""

    model_config = ConfigDict(extra="allow")


class VerifyResponse(BaseVerifyResponse):
    """The same with its reward, and the reason if it is wrong."""

    model_config = ConfigDict(extra="allow")


class AnswerkeyServer(SimpleResourcesServer):
    """The tool and the reward; databases: the database and clock of each open session."""

    config: ServerConfig
    databases: dict[str, tuple[str, str | None]] = Field(default_factory=dict)

    def model_post_init(self, context: Any) -> None:
        super().model_post_init(context)
        self._pool = RewardPool(**self.config.reward)

    def setup_webserver(self) -> FastAPI:
        app = super().setup_webserver()
        app.post("/run_sql")(self.run_sql)
        return app

    async def seed_session(self, request: Request, body: SeedRequest) -> BaseSeedSessionResponse:
        self.databases[request.session[SESSION_ID_KEY]] = (body.database_name, body.now)
        return BaseSeedSessionResponse()

    async def run_sql(self, request: Request, body: SqlRequest) -> str:
        name, now = self.databases[request.session[SESSION_ID_KEY]]
        return await asyncio.to_thread(run_sql, self._pool, body.sql, name, now)

    async def verify(self, request: Request, body: VerifyRequest) -> VerifyResponse:
        self.databases.pop(request.session[SESSION_ID_KEY], None)
        reply, columns = body.response.output_text, body.model_extra or {}
        explained = await asyncio.to_thread(explain_reply, self._pool, reply, columns)
        why = {"reason": explained.reason, "detail": explained.detail}
        return VerifyResponse(**body.model_dump() | why, reward=explained.reward)
