"""What a corpus says of columns: the folder `database_description` of BIRD beside a database."""

from __future__ import annotations

import codecs
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
        InputError: with the file and the line, if nothing in it can be read.
    """
    return {file.stem.strip(): _read_table(file) for file in sorted(folder.glob("*.csv"))}


def _read_table(file: Path) -> dict[str, dict[str, str]]:
    """The columns of a table. A row may be too short or too long, and the file UTF-8 or
    Windows-1252, as BIRD's are; what stands before a row that is no CSV counts."""
    content = file.read_bytes().removeprefix(codecs.BOM_UTF8)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    rows = csv.DictReader(io.StringIO(text, newline=""))
    found = {}
    try:
        rows.fieldnames = [name.strip() for name in rows.fieldnames or ()]
        if _COLUMN not in rows.fieldnames:
            raise csv.Error(f"found {', '.join(rows.fieldnames) or 'nothing'}")
        for row in rows:
            if column := (row[_COLUMN] or "").strip():
                texts = {key: (row.get(field) or "").strip() for key, field in _TEXTS.items()}
                found[column] = {key: text for key, text in texts.items() if text}
    except csv.Error as error:
        if not found:
            where = f"{file}: line {max(rows.reader.line_num, 1)}"
            raise InputError(f"{where}: expected CSV with {_COLUMN}: {error}") from error
    return found
