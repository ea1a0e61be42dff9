"""What the library imports: its own rooms, and packages that pyproject.toml names."""

from __future__ import annotations

import re
import sys
import tomllib
from collections import defaultdict
from importlib.metadata import packages_distributions
from pathlib import Path

import networkx
import pytest

from tests.shared.paths import ROOT, list_imports

# What they may import besides, which needs the standard library alone, too.
PLAIN = (
    "answerkey.engines.sqlite.files",
    *(f"answerkey.base.{name}" for name in ("cores", "errors", "kinds", "log", "paths", "secrets")),
    *("answerkey.base.reasons", "answerkey.base.records"),
    "answerkey.dataset",
)
# What these use if it is there (orjson, tqdm), or to read a Parquet file alone.
OPTIONAL = ("orjson", "pyarrow", "tqdm")


@pytest.mark.parametrize(
    ("room", "rooms"),
    [
        ("engines", {"engines"}),
        ("scoring", {"scoring", "engines"}),
        ("evaluation", {"evaluation", "scoring", "engines"}),
    ],
)
def test_scoring_and_evaluation_need_the_standard_library_alone(room: str, rooms: set[str]) -> None:
    files = sorted((ROOT / "answerkey" / room).rglob("*.py"))
    assert files
    # Each of these is imported where a database of it is opened, and not before.
    others = {ROOT / "answerkey/engines" / engine for engine in ("duckdb", "postgres")}
    files = [path for path in files if others.isdisjoint(path.parents)]
    files += [ROOT / f"{name.replace('.', '/')}.py" for name in PLAIN]
    for path in files:
        for name in list_imports(path):
            first, _, rest = name.partition(".")
            is_own = first == "answerkey" and rest.partition(".")[0] in rooms
            is_own |= name == "answerkey.base" or name.startswith(PLAIN)
            assert is_own or first in (*OPTIONAL, *sys.stdlib_module_names), (path, name)


def test_no_module_of_the_library_imports_a_stage() -> None:
    for path in (ROOT / "answerkey").rglob("*.py"):
        roots = {name.partition(".")[0] for name in list_imports(path)}
        assert "stages" not in roots, path


def name_module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def test_no_module_imports_itself_through_others() -> None:
    modules = {name_module(path): path for path in (ROOT / "answerkey").rglob("*.py")}
    graph = networkx.DiGraph()
    for module, path in modules.items():
        if module == "answerkey":  # which names the others for whoever asks, and loads none
            continue
        graph.add_edges_from((module, name) for name in list_imports(path) if name in modules)
    assert list(networkx.simple_cycles(graph)) == []
    rooms = networkx.DiGraph()
    for edge in graph.edges:
        source, target = ((*name.split("."), "")[:2] for name in edge)
        if source != target and target[0] == "answerkey" and target[1]:
            rooms.add_edge(source[1], target[1])
    assert list(networkx.simple_cycles(rooms)) == []


def test_no_script_has_more_than_100_lines() -> None:
    for path in (ROOT / "stages").glob("*.py"):
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 100, path


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS = {"answerkey", "stages"}


def normalize(requirement: str) -> str:
    """The name of a distribution: `Ruamel.yaml[x]>=1` -> `ruamel-yaml`."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def find_imports() -> dict[str, set[str]]:
    """The files that import a package of another project, by the package's name."""
    found = defaultdict(set)
    for path in [path for room in OURS for path in (ROOT / room).rglob("*.py")]:
        for name in list_imports(path):
            package = "ruamel.yaml" if name.startswith("ruamel.") else name.split(".")[0]
            if package not in sys.stdlib_module_names | OURS | {"ruamel"}:
                found[package].add(path.relative_to(ROOT).as_posix())
    return found


def list_needed(group: list[str]) -> set[str]:
    """The packages of an extra, and those of our other extras that it names."""
    packages = set()
    for requirement in group:
        if (named := re.fullmatch(r"answerkey\[(.+)\]", requirement)) is None:
            packages.add(normalize(requirement))
            continue
        for extra in named[1].split(","):
            packages |= list_needed(PROJECT["optional-dependencies"][extra])
    return packages


EXTRAS = {extra: list_needed(group) for extra, group in PROJECT["optional-dependencies"].items()}
ENGINES = {
    "completion",
    "convert",
    "ray",
    "skyrl",
    "tokens",
}  # extras for what the pipeline does without them
# Extras with a lock of their own: they want other versions than DVC, and than each other.
APART = {"inspect": "inspect_ai", "openenv": "openenv"}
# Modules of whoever has the library: NeMo Gym is a checkout, the others have a lock alone.
BROUGHT = ("agent_lightning", "nemo_gym", "verl")
GUESTS = {f"answerkey/environments/{name}.py" for name in (*APART.values(), *BROUGHT)}


def test_imported_packages_are_declared() -> None:
    declared = EXTRAS["pipeline"].union(*(EXTRAS[extra] for extra in ENGINES))
    names = packages_distributions()
    missing = []
    for package, files in sorted(find_imports().items()):
        if files <= GUESTS:
            continue
        # Several distributions share the namespace `ruamel`.
        found = [package] if package.startswith("ruamel.") else names.get(package, [])
        if not found:
            missing.append(package)
            continue
        is_declared = {normalize(name) for name in found} & declared
        assert is_declared, f"{package}, imported by {sorted(files)}"
    if missing:
        pytest.skip(f"needs the extras that have {', '.join(missing)}")


def test_package_by_itself_depends_on_nothing() -> None:
    assert PROJECT["dependencies"] == []


def read_versions(path: Path) -> dict[str, str]:
    text = path.read_text(encoding="utf-8")
    return {
        normalize(name): version for name, version in re.findall(r"(?m)^([\w.-]+)==(\S+)", text)
    }


def test_lock_of_the_pipeline_has_what_its_extras_need_at_the_same_versions() -> None:
    versions = read_versions(ROOT / "pipeline.lock")
    assert versions.keys() >= EXTRAS["pipeline"] | EXTRAS["convert"] | EXTRAS["test"] | {
        "setuptools"
    }
    known = read_versions(ROOT / "requirements.lock")
    assert {name: version for name, version in versions.items() if name in known} == {
        name: known[name] for name in versions.keys() & known.keys()
    }


@pytest.mark.parametrize("extra", APART)
def test_what_an_extra_of_its_own_needs_is_in_its_lock(extra: str) -> None:
    """That of inspect_ai lacked openai, by which its command asks any server of OpenAI's kind."""
    assert read_versions(ROOT / f"examples/{APART[extra]}.lock").keys() >= EXTRAS[extra]
