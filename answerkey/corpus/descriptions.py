"""What a corpus says of columns: the folder `database_description` of BIRD beside a database."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from answerkey.errors import InputError

FOLDER = "database_description"
_COLUMN = "original_column_name"
_TEXTS = {
    "name": "column_name",
    "description": "column_description",
    "values": "value_description",
}


def read_descriptions(folder: Path) -> dict[str, dict[str, dict[str, str]]]:
    """The texts of a folder by table, which is the name of a file, and column:

        {"ship": {"tons": {"description": "gross tonnage", "values": "0: not known"}}}

    Raises:
        InputError: if a file is no CSV, or has no column of names.
    """
    return {file.stem.strip(): _read_table(file) for file in sorted(folder.glob("*.csv"))}


def _read_table(file: Path) -> dict[str, dict[str, str]]:
    """The columns of a table. A row may be too short or too long, and the file UTF-8 or
    Windows-1252, as BIRD's are."""
    content = file.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.removeprefix(b"\xef\xbb\xbf").decode("cp1252", errors="replace")
    rows = csv.DictReader(io.StringIO(text, newline=""))
    rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
    if _COLUMN not in rows.fieldnames:
        raise InputError(f"{file}: expected CSV with {_COLUMN}, found {rows.fieldnames}")
    found = {}
    try:
        for row in rows:
            if column := (row[_COLUMN] or "").strip():
                texts = {key: (row.get(field) or "").strip() for key, field in _TEXTS.items()}
                found[column] = {key: text for key, text in texts.items() if text}
    except csv.Error as error:
        raise InputError(f"{file}: line {rows.line_num}: expected CSV: {error}") from error
    return found
