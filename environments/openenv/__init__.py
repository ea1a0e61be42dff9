"""The client of the server in this folder."""

from .client import TextToSqlClient

__all__ = ["TextToSqlClient"]
