"""`answerkey upgrade`: a project of one's own, brought to the version that is installed.

What nobody has edited is replaced. What an owner has edited stays, and the new text is written
beside it as NAME.new. All of it is worked out before anything is written, and no network is asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from answerkey.base.digests import list_parts, read_code
from answerkey.base.errors import InputError
from answerkey.base.paths import CODE, PIPELINE, SHIPPED, name_page
from answerkey.base.records import replace_file
from answerkey.base.yaml_files import load_yaml
from answerkey.project.files import list_own_deps, make_kept
from answerkey.project.params import MergedParams, merge_params
from answerkey.project.record import Record, decode, identify, record_installed
from answerkey.sections.whole_file import PARAMS_PATH

NEW = ".new"


@dataclass(slots=True)
class _Plan:
    """Texts to write, by path; files to remove; and what the terminal is told of them."""

    texts: dict[str, str] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    told: list[str] = field(default_factory=list)


def upgrade_project(*, dry_run: bool = False) -> str:
    """Bring the project in the current folder up to date, and say what the terminal is told.

    dry_run: say it, and write nothing.

    Raises:
        InputError: this is no project that `answerkey init` has made.
    """
    known = read_code()
    if known is None:
        raise InputError(
            f"{Path.cwd()} has no {CODE}: expected a project that `answerkey init` has made; how to"
            f" upgrade a clone of Answerkey: {name_page('docs/upgrade.md')}"
        )
    before = decode(known)
    pipeline = PIPELINE.read_text(encoding="utf-8")
    kept_up = make_kept(Path.cwd().name, list_own_deps(pipeline))
    plan = _Plan()
    for path, text in kept_up.items():
        _plan_file(plan, path, text, before)
    for path in before.files.keys() - kept_up.keys():
        _plan_removal(plan, path, before)
    own = PARAMS_PATH.read_text(encoding="utf-8")
    new = (SHIPPED / PARAMS_PATH).read_text(encoding="utf-8")
    params = merge_params(own, new, before.params)
    if params.text != own:
        plan.texts[PARAMS_PATH.as_posix()] = params.text
    plan.told += _tell_params(params)
    after = record_installed(files=kept_up, params=params.known)
    if (code := after.encode()) != CODE.read_text(encoding="utf-8"):
        plan.texts[CODE.as_posix()] = code
        plan.told.insert(0, f"{CODE}: {_tell_versions(before, after)}")
    reasons = _find_reasons(before, after, plan, params)
    plan.told += _tell_stale(reasons, load_yaml(PIPELINE)["stages"])
    if not plan.texts and not plan.removed:
        return "\n".join([*plan.told, f"nothing to do: {_tell_versions(before, after)}"])
    if dry_run:
        return "\n".join(["dry run: nothing is written", *plan.told])
    for path, text in plan.texts.items():
        with replace_file(Path(path)) as file:
            file.write(text.encode())
    for path in plan.removed:
        Path(path).unlink()
    return "\n".join([*plan.told, "Next:", "  dvc repro"])


# --- files


def _plan_file(plan: _Plan, path: str, text: str, before: Record) -> None:
    here = Path(path).read_text(encoding="utf-8") if Path(path).is_file() else None
    new, written = identify(path, text), before.files.get(path)
    if here is None:
        plan.texts[path] = text
        plan.told.append(f"{path}: new")
    elif identify(path, here) == new:
        return
    elif identify(path, here) == written:
        plan.texts[path] = text
        plan.told.append(f"{path}: replaced; nobody had edited it")
    elif new != written:
        plan.texts[path + NEW] = text
        words = f"edited here, so it stays; the new text is in {path}{NEW}"
        if path == PIPELINE.as_posix() and (others := _list_others(text)):
            words += f" (other there: {', '.join(others)})"
        plan.told.append(f"{path}: {words}")


def _list_others(new: str) -> list[str]:
    """The stages, and the plots, that say something else in the new text of dvc.yaml than here; not
    those which an owner has added. How they are written does not count."""
    here, there = (
        {**pipeline, **pipeline["stages"], "stages": None}
        for pipeline in (load_yaml(PIPELINE), yaml.safe_load(new))
    )
    return [name for name, part in there.items() if here.get(name) != part]


def _plan_removal(plan: _Plan, path: str, before: Record) -> None:
    if not Path(path).is_file():
        return
    if identify(path, Path(path).read_text(encoding="utf-8")) == before.files[path]:
        plan.removed.append(path)
        plan.told.append(f"{path}: removed, as this version has none; nobody had edited it")
    else:
        plan.told.append(f"{path}: edited here, so it stays; this version has none")


# --- what is told


def _tell_versions(before: Record, after: Record) -> str:
    return ", ".join(
        f"{name} {before.versions[name]}"
        + (f" -> {number}" if number != before.versions[name] else "")
        for name, number in after.versions.items()
    )


def _tell_params(params: MergedParams) -> Iterator[str]:
    for key in params.added:
        yield f"{PARAMS_PATH}: new key {key}"
    for old, new in params.renamed:
        yield f"{PARAMS_PATH}: {old} is called {new} now; its value is kept"
    for key in params.removed:
        yield f"{PARAMS_PATH}: {key} is no key of this version: remove it (CHANGELOG.md says why)"
    for key, lines in params.missing:
        words = "finds no place here, so that its default holds"
        yield f"{PARAMS_PATH}: new key {key} {words}:\n{lines.rstrip()}"


def _find_reasons(
    before: Record, after: Record, plan: _Plan, params: MergedParams
) -> dict[str, list[str]]:
    """Why each stage runs again that depends on what has changed."""
    reasons: dict[str, list[str]] = defaultdict(list)
    parts = list_parts()
    for name, digest in after.stages.items():
        if digest != before.stages.get(name):
            changed = [part for part in parts[name] if after.parts[part] != before.parts.get(part)]
            versions = after.versions["sqlglot"] != before.versions["sqlglot"]
            reasons[name] += [*changed, *(["sqlglot"] if versions else [])] or ["its deps"]
        if f"stages/{name}.py" in plan.texts:
            reasons[name].append(f"stages/{name}.py")
    changed = [*params.added, *(key for pair in params.renamed for key in pair)]
    for name, stage in load_yaml(PIPELINE)["stages"].items():
        for key in changed:
            declared = (entry for entry in stage.get("params", ()) if isinstance(entry, str))
            if any(f"{key}.".startswith(f"{entry}.") for entry in declared):
                reasons[name].append(f"{PARAMS_PATH}: {key}")
    return reasons


def _tell_stale(reasons: Mapping[str, list[str]], stages: Mapping[str, Any]) -> Iterator[str]:
    if not reasons:
        yield "stale: no stage"
        return
    for name in sorted(reasons, key=list(stages).index):
        yield f"stale: {name} ({', '.join(reasons[name])})"
    if following := _list_following(set(reasons), stages):
        yield f"after these, where what they give changes: {', '.join(following)}"


def _list_following(names: set[str], stages: Mapping[str, Any]) -> list[str]:
    """The other stages that need what some stages make, directly or not, in their order."""
    makers = {
        out: name
        for name, stage in stages.items()
        for out in _list_paths([*stage.get("outs", ()), *stage.get("metrics", ())])
    }
    reached = set(names)
    size = -1
    while size != len(reached):
        size = len(reached)
        for name, stage in stages.items():
            needs = {
                maker
                for dep in stage.get("deps", ())
                for out, maker in makers.items()
                if f"{dep}/".startswith(f"{out}/")
            }
            if not needs.isdisjoint(reached):
                reached.add(name)
    return [name for name in stages if name in reached - names]


def _list_paths(entries: Iterable[Any]) -> Iterator[str]:
    for entry in entries:
        yield entry if isinstance(entry, str) else next(iter(entry))
