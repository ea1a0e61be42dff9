"""Records on disk: JSON with the same bytes on every machine, written completely or not at all.

A file or folder is written under a temporary name and then renamed: the old one stays until the new
one is complete. The old one may be a link into DVC's cache, which is never written to.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, NotRequired, TypedDict, TypeVar

from answerkey.base.errors import InputError
from answerkey.base.log import spell_count
from answerkey.base.reasons import Reason

_BUFFER_BYTES = 1 << 16  # eight times the default, which halves the time to read lines
_NEXT_STEP = "it is the pipeline's own: `dvc repro` makes it again"
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def _encode_slowly(value: Any) -> bytes:
    return json.dumps(value).encode()


_encode_fast: Callable[[Any], bytes] = _encode_slowly
_decode_fast: Callable[[bytes | str], Any] = json.loads
with contextlib.suppress(ModuleNotFoundError):  # the pipeline has it; evaluation works without it
    import orjson

    _encode_fast, _decode_fast = orjson.dumps, orjson.loads


def encode_json(value: Any, *, indent: int | None = None) -> bytes:
    """Return a value as UTF-8 JSON, its keys in their order.

    >>> encode_json({"name": "Zoë", "rows": [1, 2.0, None]})
    b'{"name": "Zo\\xc3\\xab", "rows": [1, 2.0, null]}'

    UTF-8 cannot hold a lone surrogate. If there is one, the whole value becomes ASCII with escapes,
    so that it reads back unchanged.

    Raises:
        ValueError: on NaN or infinity, which JSON does not have.
    """
    try:
        if indent is None:
            return _ENCODER.encode(value).encode()
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent).encode()
    except UnicodeEncodeError:
        return json.dumps(value, ensure_ascii=True, allow_nan=False, indent=indent).encode()


@contextlib.contextmanager
def replace_file(path: Path) -> Iterator[BinaryIO]:
    """Open a binary file that replaces `path` when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")  # an incomplete one is overwritten
    try:
        with partial.open("wb", buffering=_BUFFER_BYTES) as file:
            yield file
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def replace_folder(path: Path) -> Iterator[Path]:
    """Make an empty folder that replaces `path` when the block ends without an error."""
    partial, former = (path.with_name(f".{path.name}{end}.partial") for end in ("", ".former"))
    _remove_folders(partial, former)  # left by a run that was killed
    partial.mkdir(parents=True)
    try:
        yield partial
        with contextlib.suppress(FileNotFoundError):
            path.rename(former)
        partial.rename(path)
    finally:
        _remove_folders(partial, former)


def _remove_folders(*folders: Path) -> None:
    for folder in folders:
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(folder)


def write_json(path: Path, value: Any) -> None:
    with replace_file(path) as file:
        file.write(encode_json(value, indent=2) + b"\n")


def write_jsonl(path: Path, records: Iterable[Mapping[str, Any]]) -> int:
    """Write one record per line as they come; return the number of records."""
    count = 0
    with replace_file(path) as file:
        for record in records:
            file.write(encode_json(record) + b"\n")
            count += 1
    return count


def read_jsonl(path: Path) -> Iterator[Any]:
    """Yield the records of a file of the pipeline, one per line, without keeping them in memory.
    The caller names their type. InputError names a line that is no JSON object."""
    if not path.is_file():
        raise FileNotFoundError(f"No {path}: run `dvc repro`, which makes it")
    try:
        for _, record in read_lines(path, is_own=True):
            yield record
    except InputError as error:
        raise InputError(f"{error}; {_NEXT_STEP}") from error


def read_lines(path: Path, *, is_own: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of JSON Lines from any source, each with words for its file and line. Blank
    lines and a byte order mark are skipped.

    is_own: the pipeline wrote the file, so the fastest decoder reads it.

    Raises:
        InputError: a line is no object, or has a key twice.
    """
    decode = decode_json if is_own else decode_strictly
    with path.open("rb", buffering=_BUFFER_BYTES) as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                line = line.removeprefix(codecs.BOM_UTF8)
            if line.isspace() or not line:
                continue
            where = f"{path}:{number}"
            try:
                record = decode(line)
            except ValueError as error:
                raise InputError(f"{where}: not JSON: {error}") from error
            if not isinstance(record, dict):
                raise InputError(f"{where}: expected a JSON object, found {line[:40]!r}")
            yield where, record


def list_files(folder: Path, pattern: str) -> list[Path]:
    """Return the visible files of a folder, sorted. Hidden ones are left out: the Finder
    (`._a.csv`) and editors (`.#a.csv`) leave them behind."""
    return sorted(path for path in folder.glob(pattern) if not path.name.startswith("."))


def read_json(path: Path, *, is_own: bool = True) -> Any:
    """Return the value of a JSON file. InputError names a file that is no JSON, and says what to do
    if it is the pipeline's own."""
    if not path.is_file():
        raise FileNotFoundError(f"No {path}: run `dvc repro`, which makes it")
    try:
        return (decode_json if is_own else decode_strictly)(path.read_bytes())
    except ValueError as error:
        step = f"; {_NEXT_STEP}" if is_own else ""
        raise InputError(f"{path}: not JSON: {error}{step}") from error


def encode_compactly(value: Any) -> str:
    """Return JSON for another process, by the fast encoder, or by the standard library's if the
    fast one refuses a value, such as a lone surrogate. Not for files: the bytes of the two
    differ."""
    try:
        return _encode_fast(value).decode()
    except TypeError:
        return json.dumps(value)


def decode_json(text: bytes | str) -> Any:
    """Return the value of JSON text. The decoder is three times as fast as the standard library's,
    which reads a text if the fast one refuses it, such as one with a lone surrogate.

    Raises:
        ValueError: it is no JSON, or nested deeper than Python reads.
    """
    try:
        return _decode_fast(text)
    except (json.JSONDecodeError, RecursionError):
        try:
            return json.loads(text)
        except RecursionError as error:
            raise ValueError("brackets in brackets, deeper than Python reads") from error


def decode_strictly(text: bytes | str) -> Any:
    """Return the value of JSON text from any source, without losing a repeated key.

    >>> decode_strictly('{"sql": "SELECT 1", "sql": "SELECT 2"}')
    Traceback (most recent call last):
    ValueError: expected the key 'sql' once

    Raises:
        ValueError: as `decode_json`, and if an object has a key twice.
    """
    try:
        return json.loads(text, object_pairs_hook=refuse_repeated_keys)
    except RecursionError as error:
        raise ValueError("brackets in brackets, deeper than Python reads") from error


def refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the object of pairs of key and value: an `object_pairs_hook` of the json module, which
    on its own keeps only the last value of a repeated key.

    Raises:
        ValueError: a key occurs twice.
    """
    record = dict(pairs)
    if len(record) < len(pairs):
        (name, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"expected the key {name!r} once")
    return record


def digest_text(text: str) -> bytes:
    """Return a hash of 8 bytes: enough to distinguish millions of texts."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def hash_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def hash_value(value: Any) -> str:
    """Return the sha256 of a value's JSON with sorted keys, as 64 hex digits.

    >>> hash_value({"a": 1, "b": 2}) == hash_value({"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def hash_question(question_text: str, gold_sql: str) -> str:
    """Return the sha256 of a question and its query, which identifies them without a copy.

    >>> hash_question("How many ships?", "SELECT count(*) FROM ship")[:8]
    '6a7d9f46'
    """
    text = f"{question_text}\n{gold_sql}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# A shard is a file with a stage's records for at most 256 questions of a database. A changed
# question costs only its own shard, and one large database keeps all cores busy.

SHARD_QUESTIONS = 256
Sourced = TypeVar("Sourced", bound=Mapping[str, Any])


class Shard(NamedTuple):
    """The questions of a database that are in one shard: the first 256, or the next ones.

    of: the number of shards of the database.

    >>> Shard("fleet").name, Shard("fleet", 2, of=3).name
    ('fleet', 'fleet/0002')
    """

    database_name: str
    number: int = 1
    of: int = 1

    @property
    def name(self) -> str:
        return self.database_name + (f"/{self.number:04}" if self.number > 1 else "")

    def find_file(self, directory: Path) -> Path:
        """Return the path of the shard in the directory of its stage."""
        return directory / f"{self.name}.jsonl"


def cut_in_shards(questions: Iterable[Sourced]) -> Iterator[tuple[Shard, list[Sourced]]]:
    """Yield the questions of each shard, given all source questions by database. A question keeps
    its shard if others are added after it, or if a stage leaves others out."""
    for name, group in groupby(questions, key=itemgetter("database_name")):
        of_database = list(group)
        starts = range(0, len(of_database), SHARD_QUESTIONS)
        for number, start in enumerate(starts, start=1):
            shard = Shard(name, number, len(starts))
            yield shard, of_database[start : start + SHARD_QUESTIONS]


def read_shards(directory: Path, shards: Iterable[Shard]) -> Iterator[Any]:
    """Yield the records of some shards, in their order. The caller names their type.

    Raises:
        FileNotFoundError: a shard is missing.
    """
    for shard in shards:
        yield from read_jsonl(shard.find_file(directory))


def list_shards(directory: Path, database_name: str) -> list[Shard]:
    """Return all shards of a database that a stage has made."""
    others = len(list_files(directory / database_name, "*.jsonl"))
    return [Shard(database_name, number, 1 + others) for number in range(1, 2 + others)]


class Finding(NamedTuple):
    """What a doubt reports of a question: the name of a flag (`answerkey.flags`), and evidence that
    a person can check: a JSON object with stable keys."""

    code: str
    evidence: dict[str, Any]


def encode_findings(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    """
    >>> encode_findings([Finding("empty_answer", {"rows": 0})])
    [{'code': 'empty_answer', 'evidence': {'rows': 0}}]
    """
    return [finding._asdict() for finding in findings]


DESCRIPTIONS = "descriptions.json"  # beside a database, if its corpus describes columns


class ManifestEntry(TypedDict):
    """A database: its file, and its source.

    path: where the file is, if it is not NAME/NAME.sqlite; with its engine, and the settings of
        sessions on it.
    """

    sha256: str
    size_bytes: int
    origin: Mapping[str, str]
    path: NotRequired[str]
    engine: NotRequired[str]
    settings: NotRequired[Mapping[str, str]]


def write_manifest(
    path: Path,
    entries: Mapping[str, ManifestEntry],
    unreadable: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Write the entry of each database, and the reason why each other one cannot be read, one per
    line: `{"databases": {ID: entry, ...}, "unreadable": {ID: words, ...}}`."""
    with replace_file(path) as file:
        file.write(b'{"databases": ' + _encode_lines(entries))
        file.write(
            (b', "unreadable": ' + _encode_lines(unreadable) if unreadable else b"") + b"}\n"
        )


def _encode_lines(entries: Mapping[str, Any]) -> bytes:
    lines = [encode_json(name) + b": " + encode_json(entry) for name, entry in entries.items()]
    return b"{\n" + b",\n".join(lines) + b"\n}" if lines else b"{}"


def read_manifest(path: Path) -> dict[str, ManifestEntry]:
    """Return the entries of the readable databases. Raises InputError if it is no manifest."""
    manifest = read_json(path)
    entries = manifest.get("databases") if isinstance(manifest, dict) else None
    if not isinstance(entries, dict) or not all(
        isinstance(entry, dict) for entry in entries.values()
    ):
        raise InputError(f"{path}: expected an entry for each database; {_NEXT_STEP}")
    return entries


def read_database_hashes(databases_dir: Path) -> dict[str, str]:
    """Return the sha256 of each readable database."""
    entries = read_manifest(databases_dir / "manifest.json")
    return {db_id: entry["sha256"] for db_id, entry in entries.items()}


def read_database_paths(databases_dir: Path) -> dict[str, str]:
    """Return where the file of each readable database is, below the folder; the end of its name
    tells the engine."""
    entries = read_manifest(databases_dir / "manifest.json")
    return {db_id: entry.get("path", f"{db_id}/{db_id}.sqlite") for db_id, entry in entries.items()}


def read_unreadable(databases_dir: Path) -> dict[str, str]:
    """Return, by name, why each unreadable database is set aside."""
    faults: dict[str, str] = read_json(databases_dir / "manifest.json").get("unreadable", {})
    return faults


# The values that fields of records may have.

SPLITS = TRAIN, EVAL = ("train", "eval")
DIFFICULTIES = EASY, MEDIUM, HARD = ("easy", "medium", "hard")
HARDNESS_LEVELS = ("easy", "medium", "hard", "extra")  # Spider's own; in the sidecar
ACCEPTED_ANSWERS = "accepted_answers"  # in `source`: right answers of a question without gold SQL


def read_exclusion(source: Mapping[str, Any]) -> tuple[Reason, str] | None:
    """Return why the SQL of a question is not executed: a curator excluded it (with the link), or
    it has none. Return None if it is executed."""
    correction = source["source"].get("correction")
    if correction is not None and correction["action"] == "exclude":
        words = filter(None, (correction["reason"], correction["link"]))
        return Reason.EXCLUDED_BY_CURATOR, " ".join(words)
    answers = source["source"].get(ACCEPTED_ANSWERS)
    if answers is not None and not source["gold_sql"]:
        return (
            Reason.NO_GOLD_SQL,
            f"the corpus has no SQL for it, and {spell_count(len(answers), 'answer')}",
        )
    return None


_SHARE_STEPS = 1_000_000


def read_share(value: float) -> Fraction:
    """Return a share of params as an exact fraction, to the millionth: 0.3 is three tenths.

    >>> read_share(0.3), read_share(0.1 + 0.2)
    (Fraction(3, 10), Fraction(3, 10))
    """
    return Fraction(round(Fraction(str(value)) * _SHARE_STEPS), _SHARE_STEPS)
