"""pyproject.toml and requirements.lock name every package that the code imports itself."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.shared.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS = {"answerkey", "stages"}


def normalize(requirement: str) -> str:
    """The name of a distribution: `Ruamel.yaml[x]>=1` -> `ruamel-yaml`."""
    return re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", requirement)[0]).lower()


def find_imports() -> dict[str, set[str]]:
    """The modules that import a package of another project, by the package's name."""
    found = defaultdict(set)
    for path in [path for room in OURS for path in (ROOT / room).rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [node.module]
            for name in names:
                package = name if name.startswith("ruamel.") else name.split(".")[0]
                if package not in sys.stdlib_module_names | OURS:
                    found[package].add(path.relative_to(ROOT).as_posix())
    return found


IMPORTS = find_imports()
DISTRIBUTIONS = packages_distributions()
EXTRAS = {
    extra: {normalize(requirement) for requirement in group}
    for extra, group in PROJECT["optional-dependencies"].items()
}
ENGINES = {"completion", "ray", "skyrl", "tokens"}  # extras for what the pipeline does without them
# Extras with a lock of their own: they want other versions than DVC, and than each other.
APART = {"inspect": "inspect_ai", "openenv": "openenv"}
# Modules of whoever has the library: TRL is locked for an example, and NeMo Gym is a checkout.
GUESTS = {f"answerkey/environments/{name}.py" for name in (*APART.values(), "nemo_gym")}


def find_distributions(package: str) -> set[str]:
    """The distributions that have a package; several share the namespace `ruamel`."""
    if package.startswith("ruamel."):
        return {normalize(package)}
    return {normalize(name) for name in DISTRIBUTIONS.get(package, ())}


@pytest.mark.parametrize("package", sorted(IMPORTS))
def test_imported_package_is_declared(package: str) -> None:
    if IMPORTS[package] <= GUESTS:
        pytest.skip("belongs to an extra that has a lock of its own")
    distributions = find_distributions(package)
    if not distributions:
        pytest.skip(f"needs the extra that has {package}")
    declared = EXTRAS["pipeline"].union(*(EXTRAS[extra] for extra in ENGINES))
    assert distributions & declared, f"{package}, imported by {sorted(IMPORTS[package])}"


def test_package_by_itself_depends_on_nothing() -> None:
    assert PROJECT["dependencies"] == []


def read_versions(path: Path) -> dict[str, str]:
    text = path.read_text(encoding="utf-8")
    return {
        normalize(name): version for name, version in re.findall(r"(?m)^([\w.-]+)==(\S+)", text)
    }


def test_lock_of_the_pipeline_has_what_its_extras_need_at_the_same_versions() -> None:
    versions = read_versions(ROOT / "pipeline.lock")
    assert versions.keys() >= EXTRAS["pipeline"] | EXTRAS["test"] | {"setuptools"}
    known = read_versions(ROOT / "requirements.lock")
    assert {name: version for name, version in versions.items() if name in known} == {
        name: known[name] for name in versions.keys() & known.keys()
    }
