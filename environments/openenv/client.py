"""The client: `reset(seed=0)`, then `step({"sql": "SELECT 1", "is_answer": False})`."""

from openenv import GenericEnvClient


class TextToSqlClient(GenericEnvClient):
    """OpenEnv's own client of actions and observations that are plain mappings."""
