"""Transcripts of the docs: read from Markdown, and run as they stand.

In a ```console block, `NAME$ COMMAND` is what NAME types, in a folder of their own; the lines below
it are what is expected, word for word, where a line `...` stands for any lines, and `...` in a line
for anything.
A command fails if and only if its transcript shows a line that begins with ERROR. After <<'END' the
lines up to END belong to the command. A ```python block is run by whoever typed last, without a
look at what it prints. The names of servers are replaced by those of the test.

A block of `$ COMMAND` is what one command after the other prints, word for word: `replay` prints it
anew.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from tests.shared.checkout import output, run

PROMPT = re.compile(r"([a-z]+)\$ (.*)")
REPLAYED = re.compile(r"(?<=^```console\n)(?:\$ .*\n(?:[^`].*\n|\n)*)+(?=```$)", re.MULTILINE)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Step:
    """What somebody does, and what they see."""

    actor: str
    command: str
    expected: tuple[str, ...]
    is_python: bool = False


def read_blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a language."""
    fences = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [block for name, block in fences if name == language]


def find_block(page: Path, language: str, words: str) -> str:
    """The block of a language that has these words."""
    (found,) = [block for block in read_blocks(page, language) if words in block]
    return found


def read_section(path: Path, title: str) -> str:
    """The text below a heading, up to the next heading of any level."""
    parts = re.split(r"^#+ (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    return sections[title]


def put_table(text: str, column: str, lines: Iterable[str]) -> str:
    """A page with these lines in place of the one table whose first column has this head."""
    table = "".join(f"{line}\n" for line in lines)
    pattern = rf"^\| {re.escape(column)} \| .*\n(?:\|.*\n)+"
    text, count = re.subn(pattern, lambda _: table, text, flags=re.MULTILINE)
    assert count == 1, f"{count} tables with a first column {column}"
    return text


def read_steps(text: str, actor: str = "") -> list[Step]:
    """The steps of a text, in its order; `actor` runs a python block that comes first."""
    steps: list[Step] = []
    for language, body in BLOCK.findall(text):
        if language == "python":
            steps.append(Step(actor, body, ("...",), is_python=True))
        elif language == "console":
            steps += read_console(body)
            actor = steps[-1].actor
    return steps


def read_console(body: str) -> list[Step]:
    """The steps of one ```console block.

    >>> read_console("reader$ ls\\na\\n")
    [Step(actor='reader', command='ls', expected=('a',), is_python=False)]
    """
    steps: list[Step] = []
    is_input = False
    for line in body.splitlines():
        found = None if is_input else PROMPT.fullmatch(line)
        if found:
            steps.append(Step(found[1], found[2], ()))
            is_input = found[2].endswith("<<'END'")
        elif is_input:
            steps[-1] = replace(steps[-1], command=f"{steps[-1].command}\n{line}")
            is_input = line != "END"
        else:
            steps[-1] = replace(steps[-1], expected=(*steps[-1].expected, line))
    return steps


def is_as_expected(expected: tuple[str, ...], seen: str) -> bool:
    """Whether output is what a transcript shows; see the top of this module.

    >>> is_as_expected(("... files", "..."), "12 files\\nmore\\n")
    True
    >>> is_as_expected(("3 files",), "12 files\\n")
    False
    """
    lines = []
    for line in expected:
        pattern = re.escape(line).replace(r"\.\.\.", ".*")
        lines.append(r"(?:.*\n)*?" if line == "..." else pattern + r"\n")
    kept = "".join(f"{line.rstrip()}\n" for line in seen.splitlines() if line.strip())
    return re.fullmatch("".join(lines), kept) is not None


def replay(text: str, folder: Path) -> str:
    """A page whose `$` transcripts show what their commands print now, in a folder."""

    def play(block: re.Match[str]) -> str:
        lines = []
        for command in re.findall(r"^\$ (.*)$", block[0], re.MULTILINE):
            said = output(run(folder, "bash", "-o", "pipefail", "-c", command)).strip("\n")
            lines += [f"$ {command}", *([said] if said else [])]
        return "".join(f"{line}\n" for line in lines)

    text, count = REPLAYED.subn(play, text)
    assert count
    return text


@dataclass
class Scene:
    """Where transcripts are run: a folder for each actor, and what names stand for."""

    root: Path
    names: Mapping[str, str]
    environment: Mapping[str, str] = field(default_factory=dict)
    folders: dict[str, Path] = field(default_factory=dict)

    def play(self, steps: list[Step]) -> None:
        """Run each step and compare what it says with what is expected."""
        assert steps
        for step in steps:
            done = self.run_step(step)
            said = output(done)
            for name, meaning in self.names.items():
                said = said.replace(meaning, name)
            report = f"{step.actor}$ {step.command}\n{said}(status {done.returncode})"
            is_failure = any(line.startswith("ERROR") for line in step.expected)
            assert (done.returncode != 0) == is_failure, report
            expected = tuple(line.rstrip() for line in step.expected if line.strip())
            assert is_as_expected(expected, said), f"expected {expected}:\n{report}"

    def run_step(self, step: Step) -> subprocess.CompletedProcess[str]:
        """Run one step; where it changes the folder, the actor's next step starts there."""
        folder = self.folders.setdefault(step.actor, self.root / step.actor)
        folder.mkdir(parents=True, exist_ok=True)
        command = step.command
        for name, meaning in self.names.items():
            command = command.replace(name, meaning)
        environment = dict(self.environment)
        if step.is_python:
            return run(folder, "python", "-c", command, environment=environment, check=False)
        here = self.root / "here"
        script = f"{{ {command}\n}} 2>&1; status=$?; pwd > '{here}'; exit $status"
        done = run(folder, "bash", "-c", script, environment=environment, check=False)
        self.folders[step.actor] = Path(here.read_text(encoding="utf-8").strip())
        return done
