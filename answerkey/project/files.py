"""The files of a project of one's own, made of those that the package ships.

Some are kept up to date by `answerkey upgrade`, as long as nobody has edited them: dvc.yaml, the
scripts of the stages, pyproject.toml and the lock. The others are written once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.resources import files
from pathlib import Path
from string import Template

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from answerkey.base.errors import InputError
from answerkey.base.paths import CODE, PIPELINE, SHIPPED

LOCK = "requirements.lock"
EXTRAS = ("pipeline", "convert")
# A stage depends on these folders, and git has no empty ones: each holds a README.md.
FOLDERS = {
    "data/corrections": "`NAME.yaml` in this folder corrects gold: `corpora.CORPUS.corrections` in"
    " `params.yaml` names it. It goes before the package's list of that name.",
    "data/rollouts": "`*.jsonl` in this folder holds what models answered; `dvc repro` scores it.",
    "data/schema_links": "`tables.json` in this folder names the tables that `linked_schema` has in"
    ' prompts, by question: `{"fleet_train_000": ["ship"]}`.',
    "data/tokenizer": "With the `tokenizer.json` of your model in this folder, `dvc repro` counts"
    " the tokens of prompts.",
    "data/verdicts": "`*.jsonl` in this folder says of questions whether their gold SQL is right."
    " `answerkey read` and `answerkey import-corrections` write such files.",
    "templates": "A template in this folder goes before the package's of that name: `prompt.j2`,"
    " `prompt_compact.j2`, `prompt_linked.j2`, `prompt_searched.j2` and `card.md.j2`."
    " `export_trainers.prompt_template` in `params.yaml` names one of these, or another here.",
}
# Deps of the repository's dvc.yaml that are other ones in a project.
_DEPS = {
    "templates/card.md.j2": "templates",
    '"${export_trainers.prompt_template}"': "templates",
}
# Those in whose place it has its own, or none.
_OF_CLONE = re.compile(r'"\$\{(corpora\.[\w-]+\.root|compare_questions\.flag_precision)\}"')
# Deps that follow from what a project has, and are no edit of its dvc.yaml: the roots of chosen
# corpora, which `answerkey choose` writes, and counts of precision that go before the package's.
_OWN_DEP = re.compile(r"\$\{corpora\.[\w-]+\.root\}|data/flag_precision\.json")
_DEP = " " * 6 + "- "

OwnDeps = Mapping[str, Sequence[str]]  # by stage


def make_kept(name: str, own: OwnDeps) -> dict[str, str]:
    """The text of each file that `answerkey upgrade` keeps up to date, by its path.

    name: of the project. own: deps of its stages, as `list_own_deps` has them.
    """
    stages = sorted((SHIPPED / "stages").glob("*.py"))
    return {
        PIPELINE.as_posix(): make_pipeline(own),
        **{f"stages/{path.name}": path.read_text(encoding="utf-8") for path in stages},
        "pyproject.toml": _fill("pyproject.toml.txt", name),
        LOCK: make_lock(),
    }


def make_once(name: str) -> dict[str, str]:
    """The text of each file that is written once, by its path."""
    notes = {
        f"{folder}/README.md": f"# {Path(folder).name}\n\n{text}\n"
        for folder, text in FOLDERS.items()
    }
    return notes | {
        "README.md": _fill("README.md", name),
        "tests/test_dataset.py": _fill("test_dataset.py.txt", name),
        **{
            path: (SHIPPED / path).read_text(encoding="utf-8")
            for path in (".dvcignore", ".gitignore")
        },
    }


def _fill(template: str, name: str) -> str:
    text = files(__package__).joinpath("templates", template).read_text(encoding="utf-8")
    distribution_name = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "dataset"
    values = {"name": name, "distribution": distribution_name, "version": version("answerkey")}
    return Template(text).substitute(values)


# --- dvc.yaml


def make_pipeline(own: OwnDeps) -> str:
    """The text of dvc.yaml: that of the repository, in which each stage depends on its key in
    code.yaml in place of the library's files, and on the project's own deps."""
    head, mark, rest = (SHIPPED / PIPELINE).read_text(encoding="utf-8").partition("\nstages:\n")
    stages, plots_mark, plots = rest.partition("\nplots:\n")
    blocks = re.split(r"^(?=  \w+:$)", stages, flags=re.MULTILINE)
    made = "".join(_change_stage(block, own) for block in blocks if block)
    return f"{head}{mark}{made}{plots_mark}{plots}"


def _change_stage(block: str, own: OwnDeps) -> str:
    name = block.partition(":")[0].strip()
    own_lines = [_DEP + (f'"{dep}"' if "$" in dep else dep) for dep in own.get(name, ())]
    lines: list[str] = []
    for line in block.splitlines():
        dep = line.removeprefix(_DEP) if line.startswith(_DEP) else ""
        new = _DEP + _DEPS.get(dep, dep) if dep else line
        if not dep.startswith("answerkey/") and not _OF_CLONE.fullmatch(dep) and new not in lines:
            lines.append(new)
    start = lines.index("    deps:") + 1
    lines[start:start] = own_lines
    text = "".join(f"{line}\n" for line in lines)
    key = f"{CODE}: [{name}]"
    if "    params:" not in text:
        return text.replace("    outs:\n", f"    params:\n{_DEP}{key}\n    outs:\n", 1)
    text, count = re.subn(r"^(    params: \[.*)\]$", rf"\1, {{{key}}}]", text, flags=re.MULTILINE)
    return text if count else text.replace("    params:\n", f"    params:\n{_DEP}{key}\n", 1)


def list_own_deps(pipeline: str) -> dict[str, list[str]]:
    """The deps by stage that follow from what the project has.

    >>> list_own_deps('stages: {load_questions: {deps: ["${corpora.shop.root}", data/verdicts]}}')
    {'load_questions': ['${corpora.shop.root}']}
    """
    stages = yaml.safe_load(pipeline)["stages"]
    own = {
        name: [dep for dep in stage.get("deps", ()) if _OWN_DEP.fullmatch(dep)]
        for name, stage in stages.items()
    }
    return {name: deps for name, deps in own.items() if deps}


def without_own_deps(pipeline: str) -> str:
    """The text of dvc.yaml without these: they are no edit of it."""
    return re.sub(rf'^ *- "?(?:{_OWN_DEP.pattern})"?\n', "", pipeline, flags=re.MULTILINE)


# --- params.yaml


def make_params(corpus: str) -> str:
    """The text of params.yaml: that of the repository, with the entry of one corpus alone.

    Raises:
        InputError: there is no entry of that name.
    """
    text = (SHIPPED / "params.yaml").read_text(encoding="utf-8")
    before, mark, rest = text.partition("\ncorpora:")
    first, newline, rest = rest.partition("\n")
    end = re.search(r"^\w", rest, re.MULTILINE)
    assert end is not None
    entries = {
        entry.partition(":")[0].strip(): entry
        for entry in re.split(r"^(?=  \w+:)", rest[: end.start()], flags=re.MULTILINE)
        if entry.strip()
    }
    if corpus not in entries:
        raise InputError(f"--corpus {corpus}: expected one of {', '.join(entries)}")
    before = re.sub(r"^corpus: \w+", f"corpus: {corpus}", before, flags=re.MULTILINE)
    entry = entries[corpus].rstrip("\n")
    return f"{before}{mark}{first}{newline}{entry}\n\n{rest[end.start() :]}"


# --- the lock


def make_lock() -> str:
    """The text of the lock: the versions that are installed of all that a project needs."""
    pins = sorted(f"{name}=={number}" for name, number in _list_needed(EXTRAS))
    return "\n".join(
        [
            f"# The versions that the dataset is made with: pip install -r {LOCK}",
            f"answerkey[{','.join(EXTRAS)}]=={version('answerkey')}",
            *pins,
            "",
        ]
    )


def _list_needed(extras: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The distributions that answerkey needs with some extras, and their versions here."""
    waiting = [("answerkey", extra) for extra in ("", *extras)]
    known = set(waiting)
    told: set[str] = set()
    while waiting:
        name, extra = waiting.pop()
        try:
            found = distribution(name)
        except PackageNotFoundError:  # an extra that is not installed
            continue
        if name not in told and name != "answerkey":
            yield name, found.version
        told.add(name)
        for requirement in map(Requirement, found.requires or ()):
            if requirement.marker is None or requirement.marker.evaluate({"extra": extra}):
                needed = canonicalize_name(requirement.name)
                new = {(needed, each) for each in ("", *requirement.extras)} - known
                known |= new
                waiting += new
