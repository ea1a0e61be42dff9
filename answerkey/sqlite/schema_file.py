"""The schemas of all databases, as the stage that fetched them wrote them down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from answerkey.base.records import decode_json, encode_compactly, read_jsonl
from answerkey.sqlite.schema import Schema, decode_schema


class SchemaFile:
    """The schemas in `schemas.jsonl` by database, each decoded when it is asked for."""

    def __init__(self, path: Path) -> None:
        self._tables = {
            record["database_name"]: encode_compactly(record["tables"])
            for record in read_jsonl(path)
        }

    def read_tables(self, name: str) -> list[dict[str, Any]]:
        """The tables of a database as `encode_schema` wrote them."""
        return decode_json(self._tables[name])

    def __getitem__(self, name: str) -> Schema:
        return decode_schema(self.read_tables(name))
