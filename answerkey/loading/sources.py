"""Where a dataset lies: a folder, a repository of the Hugging Face hub, or a DVC repository."""

from __future__ import annotations

import atexit
import json
import os
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from answerkey.loading.unpacking import hash_file

EXPORT = "data/exports/huggingface"
_HUB = re.compile(r"[\w.-]+/[\w.-]+")
_GIT = re.compile(r"\w+://.+|[\w.-]+@[\w.-]+:.+")


@dataclass(frozen=True)
class Export:
    """The folder of an export, and how to get folders that it does not pack: those that lie in the
    checkout, if there is one, or are fetched from where the export came from."""

    folder: Path
    checkout: Path | None = None
    fetch: Callable[[str], Path] | None = None

    def find_folder(self, kind: str) -> Path | None:
        """The folder of a kind of databases in the checkout."""
        path = self.checkout and self.checkout / "data" / kind
        return path if path and (path / "manifest.json").is_file() else None

    def fetch_folder(self, kind: str) -> Path:
        """The folder of a kind of databases, fetched.

        Raises:
            FileNotFoundError: where there is nowhere to fetch it from.
        """
        if self.fetch is None:
            raise FileNotFoundError(
                f"{self.folder / kind}.parquet has no files, which are too large for it: get"
                f" data/{kind} where the dataset was made (`dvc pull data/{kind}`), and name"
                f" the folder: load(..., {kind}=FOLDER)"
            )
        return self.fetch(f"data/{kind}")


def find_cache() -> Path:
    """The folder for what is fetched and unpacked."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("ANSWERKEY_CACHE") or Path(caches) / "answerkey")


def find_export(source: str | os.PathLike[str], *, revision: str | None, cache: Path) -> Export:
    """The export of a source, fetched where it is not on this machine.

    Raises:
        FileNotFoundError: where there is no such source.
    """
    folder, name = Path(source), os.fspath(source)
    if folder.is_dir() and revision is None:
        return _find_local(folder.absolute())
    if folder.is_dir() or _GIT.fullmatch(name):
        return _fetch_from_dvc(str(folder.absolute()) if folder.is_dir() else name, revision, cache)
    if _HUB.fullmatch(name):
        return _fetch_from_hub(name, revision)
    raise FileNotFoundError(
        f"No folder {name}: expected a checkout, the folder of a Hugging Face export, a repository"
        " of the hub such as org/name, or the URL of a git repository with DVC"
    )


def _find_local(folder: Path) -> Export:
    if (folder / EXPORT).is_dir():
        return Export(folder / EXPORT, checkout=folder)
    if (folder / "dvc.yaml").is_file():
        raise FileNotFoundError(
            f"No {folder / EXPORT}: run `dvc pull`, or `dvc repro`, in {folder}"
        )
    return Export(folder)


def _fetch_from_hub(repo_id: str, revision: str | None) -> Export:
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
    return Export(Path(folder))


def _fetch_from_dvc(url: str, revision: str | None, cache: Path) -> Export:
    """What a commit of a git repository names, from the DVC remote of that repository. Each commit
    is fetched once, and a folder of it again where a file in it was changed."""
    from dvc.api import DVCFileSystem
    from dvc.repo.open_repo import clean_repos

    atexit.register(clean_repos)  # its clones, which DVC's own commands remove, too
    files = DVCFileSystem(url, rev=revision or "HEAD")
    checkout = cache / "dvc" / files.repo.get_rev()

    def fetch(path: str) -> Path:
        target, hashes = checkout / path, checkout / f"{path.replace('/', '.')}.json"
        if hashes.is_file() and json.loads(hashes.read_text()) == _hash_files(target):
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=checkout) as partial:
            got, written = Path(partial, "got"), Path(partial, "hashes")
            files.get(path, str(got), recursive=True)
            written.write_text(json.dumps(_hash_files(got)))
            if target.is_dir():
                target.rename(Path(partial, "changed"))
            got.rename(target)
            written.rename(hashes)
        return target

    return Export(fetch(EXPORT), fetch=fetch)


def _hash_files(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hash_file(path) for path in files}
