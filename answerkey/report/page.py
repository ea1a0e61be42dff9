"""A page that works from disk: it contains everything it needs, and may not request anything.

A policy in the page (Content-Security-Policy) allows only the script whose hash it names, and
forbids every request. The content of a question is always text: the template escapes it, and the
script reads it from JSON that has no `<`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jinja2

TEMPLATES = Path(__file__).with_name("templates")
DATATABLES = Path(__file__).with_name("datatables")  # version 3.1.5, without extensions
SCRIPTS_OF_WRONG = ("elements.js", "sql.js", "filters.js", "wrong.js")
SCRIPTS = (
    *("elements.js", "sql.js", "rows.js", "filters.js", "suites.js", "repairs.js", "verdicts.js"),
    *("report.js", "decisions.js", "review.js"),
)

# "<!--" in a string or a pattern would open a comment and hide the end of the element.
_COMMENT = ("<!--", r"<\!--")
_ESCAPES = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def embed_json(value: Any) -> str:
    """Return JSON for a script element: no character in it can end the element.

    >>> embed_json(["</script>", "a & b"])
    '["\\\\u003c/script\\\\u003e","a \\\\u0026 b"]'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in _ESCAPES.items():  # several times faster than str.translate
        text = text.replace(character, escape)
    return text


def make_script() -> str:
    """Return the script of the dataset's page: DataTables with its licence, which defines
    `window.DataTable`, and our own code in a block."""
    licence, library = (
        (DATATABLES / name).read_text(encoding="utf-8")
        for name in ("LICENSE.txt", "dataTables.min.js")
    )
    return f"/*!\n{licence}*/\n{library}\n{{\n{read_scripts(SCRIPTS)}}}\n".replace(*_COMMENT)


def read_scripts(names: Iterable[str]) -> str:
    return "".join((TEMPLATES / name).read_text(encoding="utf-8") for name in names)


def read_template(name: str = "report.html.j2") -> jinja2.Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["count"] = lambda number: f"{number:,}"
    environment.filters["percent"] = lambda share: f"{100 * share:.1f}".removesuffix(".0") + " %"
    return environment.get_template(name)


def render_page(template: jinja2.Template, script: str, **facts: Any) -> bytes:
    """Return the page: `facts` fill the template, and only `script` may run."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = template.render(
        **facts,
        style=(TEMPLATES / "report.css").read_text(encoding="utf-8"),
        script=script,
        script_hash=f"'sha256-{digest}'",
    )
    # UTF-8 has no lone surrogates: escaped, they are unchanged in JSON, and visible elsewhere.
    return page.encode(errors="backslashreplace")
