"""The questions of a dataset, and the folders in which a reward finds its databases.

    loaded = answerkey.load("your-name/your-dataset", split="train")
    pool = RewardPool(**loaded.folders)

It reads the Hugging Face export, wherever that lies, and needs pyarrow alone; to fetch it from a
hub it needs huggingface-hub, and from a DVC repository dvc.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answerkey.loading.sources import find_cache, find_export
from answerkey.loading.unpacking import unpack_files

KINDS = ("databases", "test_suites")


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
    databases, test_suites: folders of your own, where the export is without these files.
    cache: where fetched and unpacked files are kept. By default the environment variable
        ANSWERKEY_CACHE, or answerkey in the user's folder for caches.

    Raises:
        FileNotFoundError: where there is no such source, split or file, with what to do.
        ValueError: on a file that is not the one of its checksum.
        ModuleNotFoundError: without pyarrow, huggingface-hub or dvc, whichever it needs.
    """
    import pyarrow.parquet as pq

    place = Path(cache) if cache else find_cache()
    export = find_export(source, revision=revision, cache=place)
    table = export.folder / f"{split}.parquet"
    if not table.is_file():
        raise FileNotFoundError(
            f"No {table}: expected a split of the dataset, found the files"
            f" {', '.join(sorted(path.name for path in export.folder.iterdir()))}"
        )
    given = dict(zip(KINDS, (databases, test_suites), strict=True))
    found = {}
    for kind in KINDS:
        folder = Path(given[kind]) if given[kind] else export.find_folder(kind)
        packed = export.folder / f"{kind}.parquet"
        found[kind] = folder or unpack_files(packed, place) or export.fetch_folder(kind)
    return LoadedSplit(pq.read_table(table).to_pylist(), **found)
