"""`answerkey init`: a project of one's own, in an empty folder or in a repository that is there.

All files are made in a folder beside their places, and move there when all of them are whole.
Nothing that is there is replaced, and a failed init leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from answerkey.base.errors import InputError
from answerkey.base.paths import CODE, PIPELINE, SHIPPED, name_page
from answerkey.base.secrets import remember_secrets
from answerkey.base.undo import make_folders, undoing
from answerkey.corpus.choose_corpora import list_roots_by_stage
from answerkey.corpus.corpora import edit_deps
from answerkey.intake.new_corpus import make_corpus
from answerkey.project.files import make_kept, make_once, make_params
from answerkey.project.params import list_keys
from answerkey.project.record import record_installed
from answerkey.sections.corpora import DirectoryEntry
from answerkey.sections.whole_file import PARAMS_PATH, read_params

SAMPLE, LOCAL = "sample", "local"
# Without these a folder is no project, and with those of others it would be theirs.
_OWN = (PIPELINE, PARAMS_PATH, CODE)
_NAME = re.compile(r"[A-Za-z0-9][\w-]*", re.ASCII)


def init_project(
    folder: Path,
    *,
    sample: bool = False,
    corpus: str | None = None,
    databases: Sequence[str] = (),
    questions: Path | None = None,
    **options: Any,
) -> str:
    """Make a project of a folder, and what the terminal is told.

    sample: with the sample corpus. corpus: with this entry of the package's params.yaml, such as
        spider. databases, questions, options: with a corpus that `make_corpus` makes of them.

    Raises:
        InputError, FileNotFoundError: what is wrong with what is given, or is there already.
    """
    import dvc  # noqa: F401  # which runs as a process of its own

    remember_secrets(*databases)
    _check_user()
    if sum((sample, corpus is not None, bool(databases or questions))) > 1:
        raise InputError("expected one of --sample, --corpus, and --database with --questions")
    if bool(databases) != (questions is not None):
        raise InputError("expected --database and --questions, or neither")
    folder = folder.absolute()
    if there := [path.as_posix() for path in _OWN if (folder / path).exists()]:
        raise InputError(
            f"{folder} has {', '.join(there)}, and `answerkey init` replaces nothing: choose"
            " another DIR; `answerkey upgrade` brings a project up to date"
        )
    made_corpus = f"data/local/{_name_corpus(databases[0])}" if databases else None
    told: list[str] = []
    with undoing() as made:
        make_folders(folder, made)
        staging = folder / ".init.partial"
        made.append(staging)
        shutil.rmtree(staging, ignore_errors=True)
        entry = SAMPLE if sample else corpus or LOCAL
        kept_up = _write_files(staging, folder.name, entry, has_folder=made_corpus is None)
        if made_corpus is not None:
            given = {"databases": databases, "questions": questions, **options}
            with contextlib.chdir(staging):
                told.append(make_corpus(Path(made_corpus), **given, tell_next=False))
        params = (staging / PARAMS_PATH).read_text(encoding="utf-8")
        record = record_installed(files=kept_up, params=list_keys(params))
        (staging / CODE).write_text(record.encode(), encoding="utf-8")
        kept = _move(staging, folder, made)
        shutil.rmtree(staging)
        told.append(f"{folder}: a project with {read_params(folder / PARAMS_PATH).corpus}")
        told += [f"kept as it is: {path}" for path in kept]
        told += _start_versioning(folder, made)
        if made_corpus is not None:
            told.append(_share_corpus(folder, made_corpus, made))
    has_corpus = sample or corpus is not None or made_corpus is not None
    return "\n".join([*told, _tell_next(folder, has_corpus=has_corpus)])


def _write_files(staging: Path, name: str, corpus: str, *, has_folder: bool) -> dict[str, str]:
    """Write all files but code.yaml, and return those that are kept up to date. has_folder: the
    project gets the folder of the corpus, if it has one."""
    _write(staging / PARAMS_PATH, make_params(corpus))
    params = read_params(staging / PARAMS_PATH)
    entry = params.corpora[corpus]
    if isinstance(entry, DirectoryEntry) and has_folder:
        if corpus == SAMPLE:
            shutil.copytree(SHIPPED / entry.root, staging / entry.root)
        else:
            text = f"The corpus `{corpus}` of `params.yaml`, in the layout `{entry.layout}`."
            _write(staging / entry.root / "README.md", f"# {entry.root}\n\n{text}\n")
    kept_up = make_kept(name, {})
    pipeline = PIPELINE.as_posix()
    kept_up[pipeline] = edit_deps(kept_up[pipeline], list_roots_by_stage(params))
    for path, text in {**make_once(name), **kept_up}.items():
        _write(staging / path, text)
    return kept_up


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _name_corpus(database: str) -> str:
    """The name of the corpus of a database.

    >>> _name_corpus("/data/shop.duckdb"), _name_corpus("a=x.csv"), _name_corpus("mysql://h/b?c=d")
    ('shop', 'a', 'b')
    """
    name, mark, _ = database.partition("=") if "://" not in database else ("", "", "")
    name = name if mark else Path(database.partition("?")[0]).stem
    return name if _NAME.fullmatch(name) else "own"


# --- nothing is replaced, and nothing stays of what failed


def _move(staging: Path, folder: Path, made: list[Path]) -> list[str]:
    """Move all files to their places, but those whose place is taken; the paths of these.

    Raises:
        InputError: a place is taken by a file that the project cannot do without.
    """
    files = sorted(path.relative_to(staging) for path in staging.rglob("*") if path.is_file())
    taken = [path for path in files if (folder / path).exists()]
    if needed := [
        path for path in taken if path.parts[0] in ("data", "stages") and path.name != "README.md"
    ]:
        raise InputError(
            f"{folder} has {', '.join(map(str, needed))}, and `answerkey init` replaces nothing:"
            " rename it, or choose another DIR"
        )
    for path in files:
        if path not in taken:
            make_folders((folder / path).parent, made)
            (staging / path).rename(folder / path)
            made.append(folder / path)
    return [path.as_posix() for path in taken]


# --- git and DVC


def _check_user() -> None:
    """Make sure that the user has a name, which DVC asks for; a container may have none."""
    try:
        getpass.getuser()
    except (KeyError, OSError) as error:
        raise InputError(
            f"user {os.getuid()} has no name, and DVC asks for it: set one, as in `export USER=me`"
        ) from error


def _start_versioning(folder: Path, made: list[Path]) -> list[str]:
    """Start git and DVC where they are not there, and say so. The default remote of DVC is a folder
    beside the repository."""
    told = []
    places = (folder, *folder.parents)
    repository = next((place for place in places if (place / ".git").exists()), None)
    if repository is None and shutil.which("git") is not None:
        made.append(folder / ".git")
        _run("git", "init", "-q", cwd=folder)
        told.append("git: a new repository")
        repository = folder
    elif repository is not None and shutil.which("git") is not None:
        _run("git", "rev-parse", "--git-dir", cwd=folder)  # which says what is wrong with it
    own = [place for place in places if place.is_relative_to(repository or folder)]
    if not any((place / ".dvc").exists() for place in own):
        made.append(folder / ".dvc")
        options = ["--no-scm"] if repository is None else []
        options += ["--subdir"] if repository not in (None, folder) else []
        _run_dvc("init", *options, cwd=folder)
        storage = (repository or folder).parent / f"{folder.name}-storage"
        url = Path(os.path.relpath(storage, folder / ".dvc")).as_posix()
        config = folder / ".dvc/config"
        text = config.read_text(encoding="utf-8")
        _write(config, _CONFIG.format(url=url, rest="    no_scm = True\n" * ("no_scm" in text)))
        page = name_page("docs/sharing.md")
        told.append(f"DVC: `dvc push` stores files in {storage}; another remote: {page}")
    return told


def _share_corpus(folder: Path, corpus: str, made: list[Path]) -> str:
    """Add a corpus to DVC, and say so."""
    written = [folder / f"{corpus}.dvc", (folder / corpus).with_name(".gitignore")]
    made += [path for path in written if not path.exists()]
    _run_dvc("add", corpus, cwd=folder)
    return f"DVC: {corpus} is added, so that `dvc push` shares it"


_CONFIG = """\
[core]
    analytics = false
{rest}    remote = beside
['remote "beside"']
    url = "{url}"
    verify = true
"""


def _run_dvc(*options: str, cwd: Path) -> None:
    _run(sys.executable, "-m", "dvc", *options, cwd=cwd)


def _run(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        said = done.stderr or done.stdout
        errors = [line for line in said.splitlines() if line.startswith("ERROR: ")]  # of DVC
        raise InputError(f"{' '.join(command)}: {' '.join(' '.join(errors or [said]).split())}")


def _tell_next(folder: Path, *, has_corpus: bool) -> str:
    go = [] if folder == Path.cwd() else [f"cd {shlex.quote(os.path.relpath(folder))}"]
    new = "answerkey new data/local/shop --database shop.duckdb --questions questions.xlsx"
    steps = [*go, *([] if has_corpus else [f"{new}    # your files"]), "dvc repro"]
    return "\n".join(["Next:", *(f"  {step}" for step in steps)])
