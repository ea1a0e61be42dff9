"""The taskset under a name at the top level, by which vf-eval and prime-rl find it.

PYTHONPATH=examples vf-eval answerkey_text_to_sql --env.agent.harness.id null
"""

from answerkey.environments.verifiers import TextToSqlTaskset

__all__ = ["TextToSqlTaskset"]
