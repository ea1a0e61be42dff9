"""The files of a project of one's own, made of those that the package ships.

Some are kept up to date by `answerkey upgrade`, as long as nobody has edited them: dvc.yaml, the
scripts of the stages, pyproject.toml and the lock. The others are written once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.resources import files
from pathlib import Path
from string import Template

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
    '"${compare_questions.flag_precision}"': None,  # the package's, until a project has its own
}
_ROOT = re.compile(r'"\$\{corpora\.\w[\w-]*\.root\}"')
_DEP = " " * 6 + "- "


def make_kept(name: str, roots: Iterable[str]) -> dict[str, str]:
    """The text of each file that `answerkey upgrade` keeps up to date, by its path.

    name: of the project. roots: deps of the stages that read corpora, as `list_roots` has them.
    """
    stages = sorted((SHIPPED / "stages").glob("*.py"))
    return {
        PIPELINE.as_posix(): make_pipeline(roots),
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


def make_pipeline(roots: Iterable[str]) -> str:
    """The text of dvc.yaml: that of the repository, in which each stage depends on its key in
    code.yaml in place of the library's files, and on the roots of the project's corpora."""
    head, mark, rest = (SHIPPED / PIPELINE).read_text(encoding="utf-8").partition("\nstages:\n")
    stages, plots_mark, plots = rest.partition("\nplots:\n")
    blocks = re.split(r"^(?=  \w+:$)", stages, flags=re.MULTILINE)
    made = "".join(_change_stage(block, list(roots)) for block in blocks if block)
    return f"{head}{mark}{made}{plots_mark}{plots}"


def _change_stage(block: str, roots: list[str]) -> str:
    name = block.partition(":")[0].strip()
    lines: list[str] = []
    deps: set[str] = set()
    for line in block.splitlines():
        dep = line.removeprefix(_DEP) if line.startswith(_DEP) else ""
        is_root = dep == "data/sample" or _ROOT.fullmatch(dep) is not None
        if dep.startswith("answerkey/") or is_root:
            new: list[str] = roots if is_root else []
        else:
            replaced = _DEPS.get(dep, dep)
            new = [] if replaced is None else [replaced]
        if not dep:
            lines.append(line)
        lines += [f"{_DEP}{each}" for each in new if each and each not in deps]
        deps.update(new)
    text = "".join(f"{line}\n" for line in lines)
    key = f"{CODE}: [{name}]"
    if "    params:" not in text:
        return text.replace("    outs:\n", f"    params:\n{_DEP}{key}\n    outs:\n", 1)
    text, count = re.subn(r"^(    params: \[.*)\]$", rf"\1, {{{key}}}]", text, flags=re.MULTILINE)
    return text if count else text.replace("    params:\n", f"    params:\n{_DEP}{key}\n", 1)


def list_roots(pipeline: str) -> list[str]:
    """The roots of corpora on which dvc.yaml depends, in their order.

    >>> list_roots('    deps:\\n      - "${corpora.shop.root}"\\n      - data/verdicts\\n')
    ['"${corpora.shop.root}"']
    """
    return list(dict.fromkeys(_ROOT.findall(pipeline)))


def without_roots(pipeline: str) -> str:
    """The text of dvc.yaml without these: `answerkey new` adds some, which is no edit of it."""
    return re.sub(rf"^ *- {_ROOT.pattern}\n", "", pipeline, flags=re.MULTILINE)


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
