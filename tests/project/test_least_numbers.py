"""A number of params.yaml at its least ends in a dataset, or in words that say what is wrong."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest
import yaml

from answerkey.base.errors import InputError
from answerkey.base.kinds import check_value
from answerkey.sections.whole_file import Params
from answerkey.validation.checks import ValidationError
from tests.shared.paths import ROOT
from tests.shared.project_world import World

PIPELINE = list(yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"])


def list_least(kind: Any, key: str) -> Iterator[tuple[str, int]]:
    """The keys of numbers in a section, each with the least whole number that it may be."""
    for name, hint in get_type_hints(kind, include_extras=True).items():
        inner = f"{key}.{name}" if key else name
        if is_dataclass(hint):
            yield from list_least(hint, inner)
            continue
        for number in (0, 1):
            with contextlib.suppress(InputError):
                check_value(hint, number)
                yield inner, number
                break


LEAST = dict(list_least(Params, ""))


def test_numbers_of_each_section_are_there() -> None:
    assert {"export_trainers.example_rows": 0, "report_dataset.max_rows": 0} | LEAST == LEAST
    assert LEAST["generate_test_suites.pool"] == 1
    assert len(LEAST) > 30


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in which every stage has run."""
    folder = tmp_path_factory.mktemp("whole")
    world = World(folder)
    world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
    with contextlib.chdir(folder):
        world.run(*PIPELINE)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("key", LEAST)
def test_least_number_ends_in_a_dataset_or_in_words(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    folder = shutil.copytree(whole, tmp_path / "project")
    world = World(folder)
    world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
    section, _, rest = key.partition(".")
    values = world.params.setdefault(section, {})
    *parents, last = rest.split(".")
    for parent in parents:
        values = values.setdefault(parent, {})
    values[last] = LEAST[key]
    (folder / "params.yaml").write_text(yaml.safe_dump(world.params), encoding="utf-8")
    monkeypatch.chdir(folder)
    first = section if section in PIPELINE else PIPELINE[0]
    with contextlib.suppress(InputError, ValidationError):  # what these say is a sentence
        world.run(*PIPELINE[PIPELINE.index(first) :])
