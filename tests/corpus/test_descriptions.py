"""What a corpus says of columns: the files that BIRD has beside its databases."""

import pytest

from answerkey.corpus.descriptions import read_descriptions
from answerkey.errors import InputError

HEADER = "original_column_name,column_name,column_description,data_format,value_description"
SHIP = {"ship": {"tons": {"name": "weight", "description": "gross, in t", "values": "0: unknown"}}}


def write(folder, content, name="ship.csv"):
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ('tons ,weight,"gross, in t",real,0: unknown\r\n', SHIP),
        ("tons,weight\r\n\r\n", {"ship": {"tons": {"name": "weight"}}}),
        ("tons,,of it,,,more,and more\r\n", {"ship": {"tons": {"description": "of it"}}}),
        ('id,,"in two\nlines"\r\n', {"ship": {"id": {"description": "in two\nlines"}}}),
        (",nothing\r\n", {"ship": {}}),
    ],
)
def test_each_column_has_its_texts_however_ragged_its_row_is(tmp_path, rows, expected):
    assert read_descriptions(write(tmp_path / "d", f"{HEADER}\r\n{rows}".encode())) == expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_file_is_utf_8_or_windows_1252(tmp_path, encoding):
    content = f"{HEADER}\ntons,Größe – t".encode(encoding)
    assert read_descriptions(write(tmp_path / "d", content)) == {
        "ship": {"tons": {"name": "Größe – t"}}
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", r"ship.csv: expected CSV with original_column_name, found \[\]"),
        (b"a,b\n1,2\n", r"ship.csv: expected CSV with original_column_name, found \['a', 'b'\]"),
        (f"{HEADER}\n{'x' * 200_000}".encode(), r"ship.csv: line 1: .*field larger"),
    ],
)
def test_file_of_which_nothing_can_be_read_is_an_error(tmp_path, content, words):
    with pytest.raises(InputError, match=words):
        read_descriptions(write(tmp_path / "d", content))


def test_only_csv_files_are_read(tmp_path):
    assert read_descriptions(write(tmp_path / "d", b"\x00", ".DS_Store")) == {}
