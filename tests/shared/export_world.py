"""A product of two small databases with its exports, made once for all tests that read them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from answerkey.dataset import list_reward_terms, read_product
from tests.shared.paths import ROOT
from tests.shared.project_world import World

SPLITS = ("train", "eval")


class ExportWorld:
    """A world whose exports are built, in a folder of its own. Its corpus is named by an absolute
    path, and has a licence."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            self.world = World(folder)
            self.world.change("corpora.local.root", str(folder / "corpus"))
            self.world.change("corpora.local.license", "cc-by-sa-4.0")
            self.world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
            self.world.run_to("export_dataset")
            self.world.run("export_trainers", "export_huggingface")

    def copy(self, folder: Path) -> World:
        """The same in another folder, to change and to run again."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        world = World(folder)
        world.change("corpora.local.license", "cc-by-sa-4.0")
        world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
        return world

    @property
    def exports(self) -> Path:
        return self.folder / "data/exports"

    def questions(self, split: str) -> list[dict[str, Any]]:
        """The product of a split, with what its sidecars tell the reward."""
        terms = {
            question.question_id: list_reward_terms(question)
            for question in read_product(self.folder / "data/questions", split)
        }
        return [
            {**question, **terms[question["question_id"]]}
            for question in self.world.json(f"data/questions/questions_{split}.json")
        ]

    def load(self, *files: str, cache: Path) -> list[dict[str, Any]]:
        """The rows of some Parquet files, as verl, SkyRL and TRL load them."""
        import datasets

        datasets.disable_progress_bars()
        paths = [str(self.exports / file) for file in files]
        loaded = datasets.load_dataset("parquet", data_files=paths, cache_dir=str(cache))
        return loaded["train"].to_list()


def describe(value: Any) -> str:
    """A value with its types: 1, 1.0 and True differ."""
    return repr(value)


def parse(text: str) -> str:
    """JSON text as `describe` describes its value."""
    return describe(json.loads(text))
