"""The questions of a dataset, and the folders in which a reward finds its databases.

    loaded = answerkey.load("your-name/your-dataset", split="train")
    pool = RewardPool(**loaded.folders)

It reads the Hugging Face export, wherever that lies, and needs pyarrow alone; to fetch it from a
hub it needs huggingface-hub, and from a DVC repository dvc.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from answerkey.base.records import hash_file
from answerkey.dataset import read_rows
from answerkey.sqlite.files import find_inside

KINDS = ("databases", "test_suites")
EXPORT = "data/exports/huggingface"
_HUB = re.compile(r"[\w.-]+/[\w.-]+")
_GIT = re.compile(r"\w+://.+|[\w.-]+@[\w.-]+:.+")


@dataclass(frozen=True)
class LoadedSplit:
    """The questions of a split, as rows with the columns of the export, and two folders."""

    questions: list[dict[str, Any]]
    databases: Path
    test_suites: Path

    @property
    def folders(self) -> dict[str, Path]:
        """The folders, as options of the reward: `RewardPool(**loaded.folders)`."""
        return {"databases": self.databases, "test_suites": self.test_suites}


def load(
    source: str | os.PathLike[str],
    *,
    split: str = "train",
    revision: str | None = None,
    databases: str | os.PathLike[str] | None = None,
    test_suites: str | os.PathLike[str] | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> LoadedSplit:
    """The questions of a split, and folders with the databases that a reward executes them on.

    >>> loaded = load("data/exports/huggingface", split="eval")           # doctest: +SKIP
    >>> loaded.questions[0]["question_id"], loaded.folders["databases"]   # doctest: +SKIP
    ('city_transit_eval_000', PosixPath('/home/me/.cache/answerkey/files/5d1c…'))

    source: a checkout after `dvc pull`; the folder of its Hugging Face export; a repository of the
        hub, such as "org/name"; or the URL of a git repository with DVC, whose remote has the data.
    revision: a commit, branch or tag of the hub's or the git repository.
    databases, test_suites: folders of your own, if the export is without these files.
    cache: where fetched and unpacked files are kept. By default the environment variable
        ANSWERKEY_CACHE, or answerkey in the user's folder for caches.

    Raises:
        FileNotFoundError: if there is no such source, split or file, with what to do.
        ValueError: on a file that is not the one of its checksum.
        ModuleNotFoundError: without pyarrow, huggingface-hub or dvc, whichever it needs.
    """
    place = Path(cache) if cache else _find_cache()
    export = _find_export(source, revision, place)
    table = export.folder / f"{split}.parquet"
    if not table.is_file():
        raise FileNotFoundError(
            f"No {table}: expected a split of the dataset, found the files"
            f" {', '.join(sorted(path.name for path in export.folder.iterdir()))}"
        )
    given = dict(zip(KINDS, (databases, test_suites), strict=True))
    found = {}
    for kind in KINDS:
        beside = export.checkout and export.checkout / "data" / kind
        if given[kind]:
            found[kind] = Path(given[kind])
        elif beside and beside.is_dir():
            found[kind] = beside
        else:
            packed = unpack_files(export.folder / f"{kind}.parquet", place)
            found[kind] = packed or export.fetch(f"data/{kind}")
    return LoadedSplit(read_rows(table), **found)


# --- where a dataset lies: a folder, a repository of the Hugging Face hub, or a DVC repository


def _refuse(path: str) -> Path:
    kind = path.rpartition("/")[2]
    raise FileNotFoundError(
        f"{kind}.parquet has no files, which are too large for it: get {path} where the dataset was"
        f" made (`dvc pull {path}`), and name the folder: load(..., {kind}=FOLDER)"
    )


class _Export(NamedTuple):
    folder: Path
    checkout: Path | None = None
    fetch: Callable[[str], Path] = _refuse  # gets a folder of files that neither has


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
    """The export of a commit, from the DVC remote; each commit is fetched once."""
    from dvc.api import DVCFileSystem
    from dvc.repo.open_repo import clean_repos

    atexit.register(clean_repos)  # its clones, which DVC's own commands remove, too
    files = DVCFileSystem(url, rev=revision or "HEAD")
    checkout = cache / "dvc" / files.repo.get_rev()

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


# --- databases out of a Parquet file


def unpack_files(packed: Path, cache: Path) -> Path | None:
    """The folder with the files of a table, NAME/FILE.sqlite, which is named by the table's own
    checksum; None if the table has no content. A missing table has no file.

    A file that lies there is written again only if it is not the one of its checksum.

    Raises:
        ValueError: on content that is not that of its checksum, or a path that leaves the folder.
    """
    import pyarrow.parquet as pq

    folder = cache / "files" / (hash_file(packed) if packed.is_file() else "none")
    folder.mkdir(parents=True, exist_ok=True)
    if not packed.is_file():
        return folder
    table = pq.ParquetFile(packed)
    for group in range(table.num_row_groups):
        files = table.read_row_group(group, columns=["path", "sha256"]).to_pylist()
        targets = [find_inside(folder, file["path"]) for file in files]
        are_right = [
            target.is_file() and hash_file(target) == file["sha256"]
            for target, file in zip(targets, files, strict=True)
        ]
        if all(are_right):
            continue
        contents = table.read_row_group(group, columns=["content"]).to_pylist()
        for target, file, row, is_right in zip(targets, files, contents, are_right, strict=True):
            if is_right:
                continue
            if row["content"] is None:
                return None
            found = hashlib.sha256(row["content"]).hexdigest()
            if found != file["sha256"]:
                expected = f"expected sha256 {file['sha256']}, found {found}"
                raise ValueError(f"{packed}: {file['path']}: {expected}")
            _replace(target, row["content"])
    return folder


def _replace(target: Path, content: bytes) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        partial = Path(folder) / target.name
        partial.write_bytes(content)
        partial.replace(target)
