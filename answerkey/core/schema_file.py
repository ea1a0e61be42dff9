"""The schemas of all databases, of which only the one that is asked for is in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from answerkey.core.records import decode_json, read_jsonl
from answerkey.sqlite.schema import Schema, decode_schema


class SchemaFile(Mapping[str, Schema]):
    """The schemas in `schemas.jsonl` by database, each read from its place when it is asked for.

    What is held is a place in the file for each database.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise FileNotFoundError(f"No {path}: run `dvc repro`, which makes it")
        self._path = path
        self._places: dict[str, int] = {}
        place = 0
        with path.open("rb") as file:
            for record, line in zip(read_jsonl(path), file, strict=True):
                self._places[record["database_name"]] = place
                place += len(line)

    def read_tables(self, name: str) -> list[dict[str, Any]]:
        """The tables of a database as `encode_schema` wrote them.

        Raises:
            KeyError: where the file does not have the database.
        """
        with self._path.open("rb") as file:
            file.seek(self._places[name])
            return decode_json(file.readline())["tables"]

    def __getitem__(self, name: str) -> Schema:
        return decode_schema(self.read_tables(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
