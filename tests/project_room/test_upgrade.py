"""`answerkey upgrade`: what nobody has edited is replaced, and nothing of an owner's is lost."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml
from pyarrow.parquet import read_table

from answerkey.base.digests import check_code, read_code
from answerkey.base.errors import InputError
from answerkey.command import main
from answerkey.project.record import decode, identify
from answerkey.project.upgrade import upgrade_project
from tests.shared.checkout import hash_tree, run
from tests.shared.paths import ROOT

OLD = "# As it was in the version before.\n"
SCRIPT = "stages/audit_gold_answers.py"


def read_everything(folder: Path) -> dict[str, str]:
    return {
        path: digest
        for path, digest in hash_tree(folder, ".").items()
        if not path.startswith((".git/", ".dvc/"))
    }


def write_old(path: str, text: str = OLD) -> None:
    """Make a file as a version before wrote it, which code.yaml knows."""
    Path(path).write_text(text, encoding="utf-8")
    change_code(files={path: identify(path, text)})


def change_code(
    *, files: dict[str, str] | None = None, params: list[str] | None = None, **stages: str
) -> None:
    """Make code.yaml that of another version."""
    record = decode(read_code())
    record.files.update(files or {})
    record.stages.update(stages)
    if params is not None:
        record.params[:] = params
    Path("code.yaml").write_text(record.encode(), encoding="utf-8")


def test_project_of_this_version_has_nothing_to_do(project: Path) -> None:
    before = read_everything(project)
    assert "nothing to do" in upgrade_project()
    assert read_everything(project) == before


def test_digest_of_other_code_is_written_and_told(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = Path("code.yaml").read_text(encoding="utf-8")
    probes = re.search(r"answerkey/doubts: .+", own)[0]
    change_code(audit_gold_answers="0" * 16)
    other = Path("code.yaml").read_text(encoding="utf-8")
    other = other.replace(probes, 'answerkey/doubts: "0"').replace('sqlglot: "', 'sqlglot: "1.')
    Path("code.yaml").write_text(other, encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["validate"])
    (line,) = capsys.readouterr().err.splitlines()
    assert "audit_gold_answers: run `answerkey upgrade`" in line
    told = upgrade_project().splitlines()
    assert "stale: audit_gold_answers (answerkey/doubts, sqlglot)" in told
    (after,) = [line for line in told if line.startswith("after these")]
    assert "generate_test_suites, score_rollouts" in after
    assert "compute_gold_answers" not in after
    assert Path("code.yaml").read_text(encoding="utf-8") == own
    check_code()


def test_file_that_nobody_has_edited_is_replaced(project: Path) -> None:
    before = read_everything(project)
    write_old(SCRIPT)
    write_old("requirements.lock", "answerkey==0.0.1\n")
    told = upgrade_project()
    assert f"{SCRIPT}: replaced" in told
    assert f"stale: audit_gold_answers ({SCRIPT})" in told
    assert read_everything(project) == before


def test_file_that_is_edited_stays_beside_the_new_one(project: Path) -> None:
    write_old(SCRIPT)
    Path(SCRIPT).write_text("# Mine.\n", encoding="utf-8")
    told = upgrade_project()
    assert f"{SCRIPT}: edited here, so it stays; the new text is in {SCRIPT}.new" in told
    assert Path(SCRIPT).read_text(encoding="utf-8") == "# Mine.\n"
    assert Path(f"{SCRIPT}.new").read_bytes() == (ROOT / SCRIPT).read_bytes()
    Path(f"{SCRIPT}.new").unlink()
    assert "nothing to do" in upgrade_project()  # it was offered
    assert not Path(f"{SCRIPT}.new").exists()


def test_edit_of_what_has_not_changed_is_no_matter(project: Path) -> None:
    with Path("pyproject.toml").open("a", encoding="utf-8") as file:
        file.write('\n[tool.ours]\nkey = "value"\n')
    before = read_everything(project)
    assert "nothing to do" in upgrade_project()
    assert read_everything(project) == before


def test_script_that_is_gone_is_removed_unless_it_is_edited(project: Path) -> None:
    write_old("stages/old_stage.py")
    write_old("stages/other_stage.py")
    Path("stages/other_stage.py").write_text("# Mine.\n", encoding="utf-8")
    told = upgrade_project()
    assert "stages/old_stage.py: removed" in told
    assert "stages/other_stage.py: edited here, so it stays; this version has none" in told
    assert not Path("stages/old_stage.py").exists()
    assert Path("stages/other_stage.py").exists()


STAGE = """\
  count_tables:
    cmd: python -m stages.count_tables
    deps: [data/questions, stages/count_tables.py]
    outs: [reports/tables.json]

plots:
"""


def add_what_owners_add() -> dict[str, str]:
    """A stage after ours, a prompt template, a policy and comments; all files by their hash."""
    text = Path("dvc.yaml").read_text(encoding="utf-8")
    Path("dvc.yaml").write_text(text.replace("\nplots:\n", "\n" + STAGE), encoding="utf-8")
    Path("stages/count_tables.py").write_text("print('ours')\n", encoding="utf-8")
    Path("templates/ours.j2").write_text("{{ question_text }}\n", encoding="utf-8")
    text = Path("params.yaml").read_text(encoding="utf-8")
    for before, after in (
        ("policies: {}", "policies: {cross_join: flag}  # as Kim said"),
        ("prompt_template: templates/prompt.j2", "prompt_template: templates/ours.j2"),
        ("  seed: 20\n", "  seed: 21  # ours\n"),
    ):
        assert before in text
        text = text.replace(before, after)
    Path("params.yaml").write_text(text, encoding="utf-8")
    return read_everything(Path.cwd())


def test_what_an_owner_has_added_stays(project: Path) -> None:
    before = add_what_owners_add()
    change_code(
        files={"dvc.yaml": "0" * 16},
        params=[key for key in decode(read_code()).params if key != "audit_gold_answers.max_rows"],
        audit_gold_answers="0" * 16,
    )
    told = upgrade_project()
    assert "dvc.yaml: edited here, so it stays; the new text is in dvc.yaml.new" in told
    after = read_everything(project)
    new = {"dvc.yaml.new": after["dvc.yaml.new"]}
    assert after == before | new | {"code.yaml": before["code.yaml"]}
    assert "count_tables" in told.rpartition("after these")[2]


def test_stages_that_are_other_in_the_new_pipeline_are_named(project: Path) -> None:
    text = Path("dvc.yaml").read_text(encoding="utf-8").replace("desc: Fetch", "desc: Get")
    own = yaml.safe_load(text.replace("\nplots:\n", "\n" + STAGE))
    Path("dvc.yaml").write_text(yaml.safe_dump(own), encoding="utf-8")  # as `dvc stage add` does
    change_code(files={"dvc.yaml": "0" * 16})
    assert "is in dvc.yaml.new (other there: download_databases)\n" in upgrade_project()


def test_new_key_comes_into_params_and_reruns_its_stage(project: Path) -> None:
    add_what_owners_add()
    own = Path("params.yaml").read_text(encoding="utf-8")
    line = "  max_bytes: 65536  # an answer whose JSON has more raises too_large\n"
    assert line in own
    Path("params.yaml").write_text(own.replace(line, ""), encoding="utf-8")
    key = "audit_gold_answers.max_bytes"
    change_code(params=[each for each in decode(read_code()).params if each != key])
    told = upgrade_project()
    assert f"params.yaml: new key {key}" in told
    assert f"stale: audit_gold_answers (params.yaml: {key})" in told
    assert Path("params.yaml").read_text(encoding="utf-8") == own


def test_key_that_is_gone_is_told(project: Path) -> None:
    own = Path("params.yaml").read_text(encoding="utf-8")
    own = own.replace("audit_gold_answers:\n", "audit_gold_answers:\n  max_tables: 3\n")
    Path("params.yaml").write_text(own, encoding="utf-8")
    change_code(params=[*decode(read_code()).params, "audit_gold_answers.max_tables"])
    assert "params.yaml: audit_gold_answers.max_tables is no key of this" in upgrade_project()
    assert Path("params.yaml").read_text(encoding="utf-8") == own


def test_key_that_has_another_name_now_keeps_its_value(project: Path) -> None:
    params = Path("params.yaml")
    new = params.read_text(encoding="utf-8")
    params.write_text(new.replace("  runner: local", "  engine: ray"), encoding="utf-8")
    told = upgrade_project()
    assert "params.yaml: execution.engine is called execution.runner now" in told
    text = params.read_text(encoding="utf-8")
    assert text == new.replace("  runner: local", "  runner: ray")


def test_deps_that_follow_from_what_a_project_has_are_no_edit_of_dvc_yaml(project: Path) -> None:
    root = '      - "${corpora.shop.root}"\n'
    text = Path("dvc.yaml").read_text(encoding="utf-8")
    assert text.count(root) == 2
    text = text.replace(root, f'{root}      - "${{corpora.books.root}}"\n')
    line = "      - data/interim/pass_rates.json\n"  # of compare_questions
    assert text.count(line) == 1
    text = text.replace(line, f"{line}      - data/flag_precision.json\n")
    Path("dvc.yaml").write_text(text, encoding="utf-8")
    assert "nothing to do" in upgrade_project()
    change_code(files={"dvc.yaml": identify("dvc.yaml", OLD)})
    own = Path("dvc.yaml").read_text(encoding="utf-8")
    Path("dvc.yaml").write_text(OLD + own, encoding="utf-8")
    upgrade_project()
    stages = yaml.safe_load(Path("dvc.yaml.new").read_text(encoding="utf-8"))["stages"]
    roots = ["${corpora.shop.root}", "${corpora.books.root}"]
    for name in ("load_questions", "download_databases"):
        assert [dep for dep in stages[name]["deps"] if dep in roots] == roots
    assert stages["compare_questions"]["deps"].count("data/flag_precision.json") == 1


def test_dry_run_says_all_of_it_and_writes_nothing(project: Path) -> None:
    write_old(SCRIPT)
    change_code(audit_gold_answers="0" * 16)
    before = read_everything(project)
    dry = upgrade_project(dry_run=True).splitlines()
    assert read_everything(project) == before
    assert dry[0] == "dry run: nothing is written"
    assert upgrade_project().splitlines()[: len(dry) - 1] == dry[1:]


def test_clone_is_told_where_its_way_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(ROOT / "params.yaml", here)
    with pytest.raises(SystemExit):
        main(["upgrade"])
    (line,) = capsys.readouterr().err.splitlines()
    assert "has no code.yaml" in line
    assert "docs/upgrade.md" in line
    with pytest.raises(InputError):
        upgrade_project()


def test_owners_template_is_used_and_its_changes_are_noticed(project: Path) -> None:
    add_what_owners_add()
    run(project, "dvc", "repro", "-q", "export_trainers")
    (table,) = (project / "data/exports/prompts").glob("*.parquet")
    assert "How many items are there?" in str(read_table(table).to_pylist())
    assert run(project, "dvc", "status", "-q", "export_trainers", check=False).returncode == 0
    (project / "templates/ours.j2").write_text("Q: {{ question_text }}\n", encoding="utf-8")
    assert "templates" in run(project, "dvc", "status", "export_trainers").stdout
