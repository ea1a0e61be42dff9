"""schema_file: schemas by name, in any order, from the file that download_databases writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from answerkey.records import SchemaFile, write_jsonl
from answerkey.sqlite.schema import Column, Schema, Table, encode_schema

SCHEMAS = {
    name: Schema((Table(table, False, (Column("id", "INTEGER", True, 1),), (("id",),)),))
    for name, table in (("café", "ship"), ("mill", "größe"), ("zoo", "animal"))
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "schemas.jsonl"
    write_jsonl(
        path,
        (
            {"database_name": name, "tables": encode_schema(schema)}
            for name, schema in SCHEMAS.items()
        ),
    )
    return path


def test_schemas_are_found_in_any_order(path: Path) -> None:
    schemas = SchemaFile(path)
    assert [schemas[name] for name in ("zoo", "café", "mill", "café")] == [
        SCHEMAS[name] for name in ("zoo", "café", "mill", "café")
    ]
    assert dict(schemas) == SCHEMAS
    assert len(schemas) == 3


def test_tables_are_given_as_they_were_written(path: Path) -> None:
    assert SchemaFile(path).read_tables("mill") == [
        {
            "name": "größe",
            "is_view": False,
            "columns": [{"name": "id", "type": "INTEGER", "is_not_null": True, "primary_key": 1}],
            "unique_keys": [["id"]],
            "foreign_keys": [],
            "sql": "",
        }
    ]


def test_unknown_database_is_a_key_error(path: Path) -> None:
    with pytest.raises(KeyError, match="harbour"):
        SchemaFile(path)["harbour"]


def test_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"schemas\.jsonl: run `dvc repro`"):
        SchemaFile(tmp_path / "schemas.jsonl")
