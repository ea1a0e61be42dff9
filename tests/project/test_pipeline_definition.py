"""dvc.yaml tells the truth: what a stage imports is among its deps, what it reads is declared, and
one change reruns one thing."""

from __future__ import annotations

import ast
import itertools
import operator
import os
import re
import shutil
import sys
from functools import cache, reduce
from pathlib import Path
from typing import Any, get_type_hints

import networkx
import pytest
import yaml

from answerkey.corpus.choose_corpora import edit_deps, list_roots_by_stage
from answerkey.sections.whole_file import Params, read_params
from tests.project.test_docs_extending import extend
from tests.shared.checkout import output, run, stages_to_run
from tests.shared.paths import ROOT, list_imports
from tests.shared.project_world import World

PIPELINE = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
STAGES = sorted(PIPELINE)
# Imports for a check alone, which stops a run or changes nothing: a stage depends on the sections
# that it reads, not on all others, and load_questions not on what a rule of comparison does.
CHECKS = {"answerkey.corpus.loading": "answerkey.scoring.rules"}
# The whole of params.yaml, which is checked before a stage starts; paths, which DVC reads in
# dvc.yaml, and whose file is read; and what says what happens, and changes no result.
NO_RESULT = {
    "answerkey.sections.whole_file",
    *(
        f"answerkey.base.{name}"
        for name in ("cores", "errors", "log", "paths", "secrets", "shipped", "stage")
    ),
}
# Sections that change no result.
UNDECLARED = {"download", "execution"}


def source_path(module: str) -> Path | None:
    """The file of a module or a package of this project; None where it is another's."""
    path = ROOT / module.replace(".", "/")
    candidates = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in candidates if file.is_file()), None)


@cache
def imported_modules(module: str) -> frozenset[str]:
    """The modules of this project that a module imports, anywhere in it, directly or not, with the
    packages that they are in; paths from the root."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        importer = waiting.pop()
        names = list_imports(source_path(importer))
        unlisted = tuple(f"{name}." for name in (*NO_RESULT, CHECKS.get(importer)))
        names -= {name for name in names if f"{name}.".startswith(unlisted)}
        parents = {".".join(name.split(".")[:-1]) for name in names if "." in name}
        modules = {n for n in {*names, *parents} if n.startswith(("answerkey.", "stages."))}
        imported = {module for module in modules if source_path(module)} - found
        found |= imported
        waiting += imported
    return frozenset(source_path(name).relative_to(ROOT).as_posix() for name in found)


def is_under(path: str, dep: str) -> bool:
    return path == dep or path.startswith(f"{dep}/")


def read_params_keys(name: str) -> set[str]:
    """The attributes of `params` that a stage's own file reads: `params.reward.rule`."""
    tree = ast.parse(source_path(f"stages.{name}").read_text(encoding="utf-8"))
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    keys = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "params" and isinstance(node.ctx, ast.Load):
            assert isinstance(parents[node], ast.Attribute), f"{name}: params are handed on whole"
            attributes = []
            while isinstance(node := parents[node], ast.Attribute):
                attributes.append(node.attr)
            keys.add(".".join(attributes))
    if any(key.startswith("select_questions.targets") for key in keys):
        keys.add("select_questions.preset")  # which lifts some of them
    return keys


def needed_modules(name: str) -> set[str]:
    """The files with code that a stage runs, and those with the sections that it is handed."""
    kinds = get_type_hints(Params)
    read = {key.partition(".")[0] for key in read_params_keys(name)}
    sections = {kinds[key].__module__ for key in read - UNDECLARED - {"corpus", "corpora"}}
    found = imported_modules(f"stages.{name}").union(*map(imported_modules, sections))
    found |= {source_path(section).relative_to(ROOT).as_posix() for section in sections}
    # A package's own file has a docstring alone.
    return {path for path in found if not path.endswith("__init__.py")} | {f"stages/{name}.py"}


def paths(entries: list) -> list[str]:
    """The paths of outs, metrics or plots, with or without options."""
    return [entry if isinstance(entry, str) else next(iter(entry)) for entry in entries]


def draw_graph() -> networkx.DiGraph:
    """The stages; an edge leads from one to each that needs what it makes."""
    makers = {
        out: name
        for name, stage in PIPELINE.items()
        for out in paths([*stage.get("outs", []), *stage.get("metrics", [])])
    }
    return networkx.DiGraph(
        (maker, name)
        for name, stage in PIPELINE.items()
        for dep in stage["deps"]
        for out, maker in makers.items()
        if dep == out or dep.startswith(f"{out}/")
    )


def test_stages_has_a_script_a_stage_and_nothing_else() -> None:
    assert sorted(path.stem for path in (ROOT / "stages").rglob("*.py")) == ["__init__", *STAGES]
    package = ast.parse((ROOT / "stages/__init__.py").read_text(encoding="utf-8"))
    assert ast.get_docstring(package)
    imports = [node for node in ast.walk(package) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {name.name for node in imports for name in node.names}
    assert names <= sys.stdlib_module_names, "it is among the deps of no stage"


@pytest.mark.parametrize("name", STAGES)
def test_command_runs_the_stage_of_that_name(name: str) -> None:
    assert PIPELINE[name]["cmd"] == f"python -m stages.{name}"
    assert PIPELINE[name]["desc"]


@pytest.mark.parametrize("name", STAGES)
def test_every_import_lies_under_a_dep_and_no_other_code_is_one(name: str) -> None:
    deps = [dep for dep in PIPELINE[name]["deps"] if dep.startswith(("answerkey/", "stages/"))]
    modules = needed_modules(name)
    missing = [path for path in sorted(modules) if not any(is_under(path, dep) for dep in deps)]
    assert not missing, f"dvc.yaml: put them into the deps of {name}"
    unused = [dep for dep in sorted(deps) if not any(is_under(path, dep) for path in modules)]
    assert not unused, f"dvc.yaml: {name} runs none of their code: take them out of its deps"


@pytest.mark.parametrize("name", STAGES)
def test_every_params_key_that_is_read_is_declared(name: str) -> None:
    declared = set(PIPELINE[name].get("params", []))
    read = read_params_keys(name) - UNDECLARED
    assert sorted(read - declared) == [], f"dvc.yaml: put them into the params of {name}"
    assert sorted(declared - read) == [], f"dvc.yaml: {name} does not read them"


def test_only_the_stages_and_the_corpora_read_params() -> None:
    readers = {
        path.stem
        for package in ("answerkey", "stages")
        for path in (ROOT / package).rglob("*.py")
        if path.parent.name != "verbs" and "read_params(" in path.read_text(encoding="utf-8")
    }
    # `corpora` reads them for calls outside the pipeline, which name no corpus; verbs and what
    # they call, and `filling`, work beside the pipeline.
    others = {
        "stage",
        "whole_file",
        "corpora",
        "pin_revisions",
        "import_corrections",
        "filling",
        "new_corpus",
        "choose_corpora",
        "init",
    }
    assert readers - others <= set(STAGES)


@pytest.mark.parametrize("name", STAGES)
def test_every_dep_is_in_git_or_an_out_of_a_stage(name: str) -> None:
    outs = [
        out
        for stage in PIPELINE.values()
        for out in paths([*stage.get("outs", []), *stage.get("metrics", [])])
    ]
    for dep in PIPELINE[name]["deps"]:
        if dep.startswith("${"):
            continue
        made = any(dep == out or dep.startswith(out + "/") for out in outs)
        assert made or (ROOT / dep).exists(), f"{name}: {dep}"


OPENS = {"open", "os.listdir", "os.scandir", "sqlite3.connect"}
DATA = {"data", "metrics", "plots", "reports", "templates"}


def find_undeclared(name: str, opened: set[str], world: World) -> list[str]:
    """The data that a stage opened, and that are neither deps nor outs of it."""
    stage = PIPELINE[name]
    outs = [*stage.get("outs", []), *stage.get("metrics", []), *stage.get("plots", [])]
    known = {resolve_param(path, world.params) for path in [*stage["deps"], *paths(outs)]}
    known |= {path.removesuffix("/manifest.json") for path in known}  # it hashes what lies beside
    undeclared = []
    for text in opened:
        path = Path(os.path.normpath(world.folder / text.removeprefix("file:").partition("?")[0]))
        for root in (world.folder, ROOT):
            if path.is_relative_to(root) and path.relative_to(root).parts[0] in DATA:
                written = re.sub(r"\.([^/]+)\.partial", r"\1", path.relative_to(root).as_posix())
                if not any(is_under(written, place) for place in known):
                    undeclared.append(written)
    return sorted(undeclared)


def resolve_param(path: str, params: dict[str, Any]) -> str:
    """A path of dvc.yaml, where it is `${corpora.local.root}` that of params."""
    found = re.fullmatch(r"\$\{(.+)\}", path)
    value = reduce(operator.getitem, found[1].split("."), params) if found else path
    return value.removeprefix(f"{ROOT}/")


def test_what_a_stage_opens_is_a_dep_or_an_out_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    world = World(tmp_path)
    world.change("export_trainers.prompt_template", str(ROOT / "templates/prompt.j2"))
    for readme in ROOT.glob("data/*/README.md"):  # what one may add: nothing, as in the project
        (tmp_path / "data" / readme.parent.name).mkdir(parents=True)
    opened: dict[str, set[str]] = {}
    running: list[str] = []

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if running and event in OPENS:
            opened[running[0]].add(str(arguments[0]))

    sys.addaudithook(note)  # nothing takes it away
    for name in PIPELINE:
        opened[name] = set()
        running[:] = [name]
        try:
            world.run(name)
        finally:
            running.clear()
    assert "data/rollouts" in opened["generate_test_suites"]
    found = {name: find_undeclared(name, opened[name], world) for name in PIPELINE}
    undeclared = {name: opened for name, opened in found.items() if opened}
    assert undeclared == {}, (
        "dvc.yaml: name what a stage reads in its deps, and what it writes in its outs"
    )


def test_folder_of_the_chosen_corpus_is_a_dep_and_that_of_no_other() -> None:
    pipeline = (ROOT / "dvc.yaml").read_text(encoding="utf-8")
    roots = list_roots_by_stage(read_params(ROOT / "params.yaml"))
    assert [dict(of_stage) for of_stage in roots.values()] == [{"sample": Path("data/sample")}] * 2
    assert edit_deps(pipeline, roots) == pipeline


@pytest.mark.slow
def test_file_of_a_corpus_that_is_not_chosen_changes_nothing(finished: Path, clone: Path) -> None:
    for folder in ("local", "local/other", "bird"):
        (clone / "data" / folder).mkdir(exist_ok=True)
        (clone / f"data/{folder}/new.json").write_text("[]", encoding="utf-8")
    (clone / "data/local/other.dvc.txt").write_text("", encoding="utf-8")
    assert "up to date" in run(clone, "dvc", "status").stdout
    new = clone / "data/sample/new.json"
    new.write_text("[]", encoding="utf-8")
    said = run(clone, "dvc", "status").stdout
    stages = [line[:-1] for line in said.splitlines() if line[:1] not in ("\t", "", " ")]
    assert stages == ["download_databases", "load_questions"]
    new.unlink()


def test_every_stage_stands_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert not [name for name in STAGES if f"`{name}`" not in readme]


def read_picture() -> set[tuple[str, str]]:
    """The arrows of the picture in the README: `a["label"] --> b & c` is two."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (picture,) = re.findall(r"^```mermaid\n(.*?)^```$", readme, re.MULTILINE | re.DOTALL)
    arrows = set()
    for line in re.sub(r'\[".*?"\]', "", picture).splitlines():
        groups = [[name.strip() for name in part.split("&")] for part in line.split("-->")]
        for sources, targets in itertools.pairwise(groups):
            arrows |= set(itertools.product(sources, targets))
    return arrows


def test_picture_in_the_readme_has_the_arrows_that_do_not_follow_from_others() -> None:
    graph = draw_graph()
    assert set(graph) == set(STAGES)
    assert read_picture() == set(networkx.transitive_reduction(graph).edges)


# How stages say what they executed, parsed, audited and made.
WORK = (
    r"(\d+) quer(?:y|ies) executed",
    r"(\d+) quer(?:y|ies) parsed",
    r"(\d+) quer(?:y|ies) audited",
)
WORK += (r"suites of (\d+) made",)
# What is changed, and to what.
CODE = ("import annotations\n", "import annotations\n\nCHANGED = True\n")
DOCSTRING = ('"""', '"""Changed. ')
SENTENCE = ("The answer has no row", "The answer is without rows")
POLICY = ("Policy.EXCLUDE", "Policy.FLAG")  # of the first flag, tie_at_limit
TEMPLATE = ("</body>", "<!-- changed --></body>")
AUDIT, SUITES, RANKS = "audit_gold_answers", "generate_test_suites", "classify_difficulty"
# In which file; which stages rerun that need nothing of each other (RANKS are those of questions
# that no policy excludes); of WORK, what may be done again.
CHANGES = {
    "a doubt": ("answerkey/doubts/answers.py", CODE, [AUDIT], [2]),
    "the sentence of a flag": ("answerkey/flags.py", SENTENCE, [RANKS], []),
    "the default policy of a flag": ("answerkey/flags.py", POLICY, [RANKS], []),
    "a neighbor operator": ("answerkey/alternatives/neighbors.py", CODE, [SUITES], [3]),
    "a reading": ("answerkey/rewrites/rows.py", CODE, [AUDIT], [2]),
    "a rule of comparison": ("answerkey/scoring/rules.py", CODE, ["score_rollouts"], []),
    "a template of the page": (
        "answerkey/report/templates/report.html.j2",
        TEMPLATE,
        ["report_dataset"],
        [],
    ),
    "a docstring of a section": (f"answerkey/sections/{SUITES}.py", DOCSTRING, [SUITES], []),
    "one that other stages know": (f"answerkey/sections/{AUDIT}.py", DOCSTRING, [AUDIT], []),
    "one of the room of foreign SQL": (
        "answerkey/engines/sqlite/guard.py",
        DOCSTRING,
        ["download_databases", "load_questions"],
        [],
    ),
}


@pytest.fixture(scope="module")
def clone(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reruns") / "answerkey"
    return shutil.copytree(finished, folder, symlinks=True)


def check_run(clone: Path, firsts: list[str], worked: list[int]) -> None:
    """Run what has changed: it begins with the first of these stages, reruns none but them and
    those that follow, and does no other work."""
    said = output(run(clone, "dvc", "repro"))
    ran = stages_to_run(said)
    assert ran[0] == firsts[0]
    graph = draw_graph()
    assert set(ran) <= {*firsts}.union(*(networkx.descendants(graph, name) for name in firsts))
    done = [sum(map(int, re.findall(pattern, said))) for pattern in WORK]
    assert [number for number, count in enumerate(done) if count] == worked


@pytest.mark.slow
@pytest.mark.parametrize("what", CHANGES)
def test_change_reruns_what_it_concerns_and_works_no_more(clone: Path, what: str) -> None:
    name, (before, after), firsts, worked = CHANGES[what]
    text = (clone / name).read_text(encoding="utf-8")
    assert before in text
    (clone / name).write_text(text.replace(before, after, 1), encoding="utf-8")
    check_run(clone, firsts, worked)


@pytest.mark.slow
def test_new_doubt_audits_and_works_no_more(clone: Path) -> None:
    extend(clone, "A doubt")
    check_run(clone, [AUDIT], [2])
