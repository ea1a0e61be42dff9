"""Load the questions of a dataset, and the folders in which a reward finds its databases.

    loaded = answerkey.load("your-name/your-dataset", split="train")
    loaded[0]["gold_sql"], loaded.to_pandas().difficulty.value_counts()
    pool = RewardPool(**loaded.folders)

It reads the Hugging Face export, wherever it is, and needs only pyarrow. To download it from a hub
it needs huggingface-hub, and from a DVC repository dvc.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, overload

from answerkey.base.errors import explain_install
from answerkey.base.log import spell_count
from answerkey.base.paths import find_exported_databases
from answerkey.base.records import SPLITS, hash_file
from answerkey.dataset import MAX_TABLE_BYTES, read_rows
from answerkey.engines.sqlite.files import find_inside

if TYPE_CHECKING:
    import datasets
    import pandas as pd
    import pyarrow.parquet as pq

KINDS = ("databases", "test_suites")
EXPORT = "data/exports/huggingface"
_MIN_ROW_BYTES = 500  # SQLite's smallest file; a shorter row repeats content of the table
_OVERHEAD_BYTES = 1_000_000  # of a table's pages, beside their content
_FACTS = ("path", "sha256", "size_bytes")
_HUB = re.compile(r"[\w.-]+/[\w.-]+")
_GIT = re.compile(r"\w+://.+|[\w.-]+@[\w.-]+:.+")


Row = dict[str, Any]


class RewardFolders(TypedDict):
    """The folders of databases and of suites, as options of a reward."""

    databases: Path
    test_suites: Path


@dataclass(frozen=True, repr=False)
class LoadedSplit(Sequence[Row]):
    """The questions of a split, a sequence of rows with the columns of the export, and two folders.

    >>> loaded = load("data/exports/huggingface")               # doctest: +SKIP
    >>> loaded                                                  # doctest: +SKIP
    <train of data/exports/huggingface: 253 questions over 7 databases>
    >>> loaded[0]["gold_sql"], len(loaded[:8])                  # doctest: +SKIP
    ('SELECT count(*) FROM stops', 8)

    table: the Parquet file of the split.
    """

    questions: list[Row]
    databases: Path
    test_suites: Path
    table: Path

    def __len__(self) -> int:
        return len(self.questions)

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, str):
            raise TypeError(
                f"expected the number of a row, or a slice, found {index!r}: for a column,"
                f" [row[{index!r}] for row in loaded], or loaded.to_pandas()[{index!r}]"
            )
        return self.questions[index]

    def __repr__(self) -> str:
        databases = len({row["database_name"] for row in self})
        counts = f"{spell_count(len(self), 'question')} over {spell_count(databases, 'database')}"
        return f"<{self.table.stem} of {self.table.parent}: {counts}>"

    def to_pandas(self) -> pd.DataFrame:
        """Return the questions as a pandas.DataFrame, one row each.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        with _naming_extra("pipeline"):
            import pandas as pd

        return pd.DataFrame(self.questions)

    def to_datasets(self) -> datasets.Dataset:
        """Return the questions as a datasets.Dataset, with the types of the export.

        Raises:
            ModuleNotFoundError: datasets is not installed.
        """
        with _naming_extra("pipeline"):
            import datasets
        import pyarrow.parquet as pq

        return datasets.Dataset(pq.read_table(self.table))

    @property
    def folders(self) -> RewardFolders:
        """Return the folders, as options of the reward: `RewardPool(**loaded.folders)`."""
        return {"databases": self.databases, "test_suites": self.test_suites}


def load(
    source: str | os.PathLike[str],
    *,
    split: str = "train",
    revision: str | None = None,
    databases: str | os.PathLike[str] | None = None,
    test_suites: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
    max_bytes: int = MAX_TABLE_BYTES,
) -> LoadedSplit:
    """Return the questions of a split, and folders with the databases for a reward.

    >>> loaded = load("data/exports/huggingface", split="eval")           # doctest: +SKIP
    >>> loaded.questions[0]["question_id"], loaded.folders["databases"]   # doctest: +SKIP
    ('city_transit_eval_000', PosixPath('/home/me/.cache/answerkey/files/5d1c…'))

    source: a checkout after `dvc pull`; the folder of its Hugging Face export; a repository of the
        hub, such as "org/name"; or the URL of a git repository with DVC, whose remote has the data.
    revision: a commit, branch or tag of the hub's or the git repository.
    databases, test_suites: folders of your own, if the export lacks these files.
    cache: the folder for downloaded and unpacked files. By default the environment variable
        ANSWERKEY_CACHE, or answerkey in the user's folder for caches.
    max_bytes: the largest unpacked size of a table: a few kilobytes may hold a gigabyte of zeros.

    Raises:
        FileNotFoundError: there is no such source, split or file; the message says what to do.
        ValueError: a file has another checksum, or a table is larger.
        ModuleNotFoundError: pyarrow, huggingface-hub or dvc is needed and not installed.
    """
    with _naming_extra("load"):
        import pyarrow.parquet as pq

    cache_folder = Path(cache) if cache else _find_cache()
    export = _find_export(source, revision, cache_folder)
    table = _find_table(export.folder, split)
    own_folders = dict(zip(KINDS, (databases, test_suites), strict=True))
    folders = {}
    for kind in KINDS:
        beside = export.checkout and _find_beside(export.checkout, kind)
        if folder := own_folders[kind]:
            folders[kind] = Path(folder)
        elif beside and beside.is_dir():
            folders[kind] = beside
        else:
            path = export.folder / f"{kind}.parquet"
            packed = unpack_files(path, cache_folder, max_bytes=max_bytes)
            folders[kind] = packed or export.fetch(f"data/{kind}")
    _check_size(table, pq.ParquetFile(table), max_bytes)
    return LoadedSplit(read_rows(table), table=table, **folders)


def _find_table(folder: Path, split: str) -> Path:
    known = [name for name in SPLITS if (folder / f"{name}.parquet").is_file()]
    if not known:
        raise FileNotFoundError(
            f"No dataset in {folder}: expected {' or '.join(f'{name}.parquet' for name in SPLITS)}."
            f" A dataset is a clone of its repository after `dvc pull`, its folder {EXPORT}, or"
            " what was published of that"
        )
    if split not in known:
        raise FileNotFoundError(f"No split {split!r} in {folder}: expected {' or '.join(known)}")
    return folder / f"{split}.parquet"


@contextmanager
def _naming_extra(extra: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"It needs {error.name}: {explain_install(extra)}",
            name=error.name,
        ) from error


def _find_beside(checkout: Path, kind: str) -> Path:
    return find_exported_databases(checkout) if kind == KINDS[0] else checkout / "data" / kind


# The source of a dataset: a folder, a repository of the Hugging Face hub, or a DVC repository


def _refuse(path: str) -> Path:
    kind = path.rpartition("/")[2]
    raise FileNotFoundError(
        f"{kind}.parquet has no files, which are too large for it: get {path} where the dataset was"
        f" made (`dvc pull {path}`), and name the folder: load(..., {kind}=FOLDER)"
    )


class _Export(NamedTuple):
    folder: Path
    checkout: Path | None = None
    fetch: Callable[[str], Path] = _refuse  # downloads a folder of files


def _find_cache() -> Path:
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("ANSWERKEY_CACHE") or Path(caches) / "answerkey")


def _find_export(source: str | os.PathLike[str], revision: str | None, cache: Path) -> _Export:
    folder, name = Path(source), os.fspath(source)
    if folder.is_dir() and revision is None:
        folder = folder.absolute()
        if (folder / EXPORT).is_dir():
            return _Export(folder / EXPORT, folder)
        if (folder / "dvc.yaml").is_file():
            raise FileNotFoundError(
                f"No {folder / EXPORT}: run `dvc pull`, or `dvc repro`, in {folder}"
            )
        return _Export(folder)
    if folder.is_dir() or _GIT.fullmatch(name):
        return _fetch_from_dvc(str(folder.absolute()) if folder.is_dir() else name, revision, cache)
    if _HUB.fullmatch(name):
        return _Export(_fetch_from_hub(name, revision))
    raise FileNotFoundError(
        f"No folder {name}: expected a checkout, the folder of a Hugging Face export, a repository"
        " of the hub such as org/name, or the URL of a git repository with DVC"
    )


def _fetch_from_hub(repo_id: str, revision: str | None) -> Path:
    with _naming_extra("load"):
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import RepositoryNotFoundError

    try:
        folder = snapshot_download(
            repo_id, repo_type="dataset", revision=revision, allow_patterns=["*.parquet"]
        )
    except RepositoryNotFoundError as error:
        raise FileNotFoundError(
            f"No folder {repo_id} here, and no dataset of this name on the hub, or a private one"
            " (then set HF_TOKEN)"
        ) from error
    return Path(folder)


def _fetch_from_dvc(url: str, revision: str | None, cache: Path) -> _Export:
    """Return the export of a commit, from the DVC remote; each commit is downloaded once."""
    with _naming_extra("pipeline"):
        from dvc.api import DVCFileSystem
        from dvc.repo.open_repo import clean_repos

    atexit.register(clean_repos)  # DVC's own commands remove its clones in the same way
    files = DVCFileSystem(url, rev=revision or "HEAD")
    checkout: Path = cache / "dvc" / files.repo.get_rev()

    def fetch(path: str) -> Path:
        target = checkout / path
        if not target.is_dir():
            target.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=checkout) as partial:
                got = Path(partial, "got")
                files.get(path, str(got), recursive=True)
                got.rename(target)
        return target

    return _Export(fetch(EXPORT), fetch=fetch)


# Databases in a Parquet file


def unpack_files(packed: Path, cache: Path, *, max_bytes: int = MAX_TABLE_BYTES) -> Path | None:
    """Return the folder with the files of a table, NAME/FILE.sqlite; its name is the checksum of
    the table. Return None if the table has no content. A table that is missing has no files.

    An existing file is written again only if its checksum is wrong.

    Raises:
        ValueError: content has another checksum or size than its row says, a path leaves the
            folder, or all files together have more than max_bytes.
    """
    import pyarrow.parquet as pq

    folder = cache / "files" / (hash_file(packed) if packed.is_file() else "none")
    folder.mkdir(parents=True, exist_ok=True)
    if not packed.is_file():
        return folder
    table = pq.ParquetFile(packed)
    _check_size(packed, table, max_bytes, columns=_FACTS)
    groups = [
        table.read_row_group(group, columns=_FACTS).to_pylist()
        for group in range(table.num_row_groups)
    ]
    total = sum(_read_size(packed, file) for files in groups for file in files)
    for group, files in enumerate(groups):
        targets = [find_inside(folder, file["path"]) for file in files]
        are_right = [
            target.is_file() and hash_file(target) == file["sha256"]
            for target, file in zip(targets, files, strict=True)
        ]
        if all(are_right):
            continue
        _check_size(packed, table, max_bytes, columns=("content",), group=group)
        # One row at a time: many rows may share a content that the table stores once.
        contents = table.iter_batches(1, row_groups=[group], columns=["content"])
        for target, file, batch, is_right in zip(targets, files, contents, are_right, strict=True):
            (content,) = batch["content"].to_pylist()
            if content is None and not is_right:
                return None
            if is_right:
                continue
            if total > max_bytes:
                raise _explain_size(packed, total, max_bytes)
            _check_content(packed, file, content)
            _replace(target, content)
    return folder


def _read_size(packed: Path, file: dict[str, Any]) -> int:
    size = file.get("size_bytes")
    if not isinstance(size, int) or size < 0:
        raise ValueError(f"{packed}: {file['path']}: expected size_bytes, found {size!r}")
    return size


def _check_content(packed: Path, file: dict[str, Any], content: bytes) -> None:
    actual = {"size_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    for name, value in actual.items():
        if value != file[name]:
            words = f"expected {name} {file[name]}, found {value}"
            raise ValueError(f"{packed}: {file['path']}: {words}")


def _check_size(
    path: Path,
    table: pq.ParquetFile,
    max_bytes: int,
    *,
    columns: Container[str] | None = None,
    group: int | None = None,
) -> None:
    """Raise ValueError if a table, or one group of its rows, declares more unpacked bytes for its
    columns (None: all), or more rows than that many bytes could hold."""
    groups = range(table.num_row_groups) if group is None else [group]
    size = 0
    for metadata in map(table.metadata.row_group, groups):
        chunks = map(metadata.column, range(metadata.num_columns))
        sizes = (
            chunk.total_uncompressed_size
            for chunk in chunks
            if columns is None or chunk.path_in_schema in columns
        )
        size += max(sum(sizes), metadata.num_rows * _MIN_ROW_BYTES)
    if size > max_bytes + _OVERHEAD_BYTES:
        raise _explain_size(path, size, max_bytes)


def _explain_size(table: Path, size: int, max_bytes: int) -> ValueError:
    return ValueError(
        f"{table}: unpacked, it takes {size:,} bytes, expected {max_bytes:,} at most: if you trust"
        f" it, load(..., max_bytes={size})"
    )


def _replace(target: Path, content: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        partial = Path(folder) / target.name
        partial.write_bytes(content)
        partial.replace(target)
