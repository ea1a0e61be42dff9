"""What mkdocs.yml cannot say: which files of the repository are pages of the site, what becomes of
a link to a file that is none, and how docstrings are read."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
# Beside those of docs, and reference/ there: mkdocs takes pages out of one folder.
PAGES = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "benchmarks/README.md",
    "benchmarks/suite_rejections.md",
    "data/sample/README.md",
    "data/verdicts/README.md",
)
_LINK = re.compile(r"(?<!!)\[([^][]+)\]\((?!\w+:)([^)\s#]+)(?:#[^)\s]*)?\)")
_EXAMPLE = re.compile(r"^ *>>> .*\n?(?:^ *\S.*\n?)*", re.MULTILINE)
_SKIP = re.compile(r" +# doctest: .*$", re.MULTILINE)
_TERM = re.compile(r"^((?:[a-z_]\w*(?:, |(?=:)))+): (.*(?:\n +\S.*)*)", re.MULTILINE)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Name each file by its path in the repository, so that links among them hold as they are."""
    paths = [f"docs/{file.src_uri}" for file in files if file.src_dir == config.docs_dir]
    others = [file for file in files if file.src_dir != config.docs_dir]
    made = [File(path, str(ROOT), config.site_dir, True) for path in (*PAGES, *paths)]
    return Files([*others, *made])


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Leave the text alone of a link to a file of the repository that is no page (dvc.yaml)."""
    folder = posixpath.dirname(page.file.src_uri)

    def replace(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[2]))
        is_page = files.get_file_from_path(path) is not None
        return link[1] if not is_page and (ROOT / path).exists() else link[0]

    return _LINK.sub(replace, markdown)


class Docstrings(griffe.Extension):
    """Doctests become examples, and paragraphs such as `rows: an array` items of a list."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = read_docstring(obj.docstring.value)


def read_docstring(text: str) -> str:
    """Return a docstring as Markdown."""
    text = _EXAMPLE.sub(
        lambda found: f"```pycon\n{_SKIP.sub('', dedent(found[0])).rstrip()}\n```\n", text
    )
    return _TERM.sub(r"- `\1`: \2", text)
