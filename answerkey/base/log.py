"""One line per stage on stderr: `download_databases: 10 databases (3 made, 7 kept), 1.2 MB`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeVar

from answerkey.base.secrets import hide_secrets


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return hide_secrets(super().format(record))


def start_log(stage_name: str) -> logging.Logger:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Formatter("%(name)s: %(message)s"))
    log = logging.getLogger(stage_name)
    log.handlers = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False
    return log


def warn_of_each(
    log: logging.Logger, warnings: Sequence[str], *, most: int | None, key: str
) -> None:
    """Log each warning. If the params key limits them, log the first `most` and how many there are
    beyond; log nothing if `most` is 0."""
    for warning in warnings[:most]:
        log.warning(f"warning: {warning}")
    if most and len(warnings) > most:
        log.warning(f"warning: and {len(warnings) - most} more: {key} is {most}")


def format_size(size_bytes: int) -> str:
    """
    >>> format_size(999), format_size(1_234_567), format_size(999_949)
    ('999 B', '1.2 MB', '999.9 kB')
    """
    size, unit = float(size_bytes), "B"
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 999.95 or unit == "TB":
            break
        size /= 1000
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


def spell_count(count: int, noun: str, form: str = "") -> str:
    """
    >>> spell_count(1, "database"), spell_count(0, "query"), spell_count(1200, "question", ",")
    ('1 database', '0 queries', '1,200 questions')
    """
    if count != 1:
        ends_in_y = noun.endswith("y") and noun[-2] not in "aeiou"
        noun = f"{noun[:-1]}ies" if ends_in_y else f"{noun}s"
    return f"{count:{form}} {noun}"


def list_counts(counts: Mapping[str, int]) -> str:
    """Return counts in brackets for the end of a summary line, highest first; "" if none.

    >>> list_counts({"blob": 1, "sql_error": 3, "not_finite": 0})
    ' (sql_error 3, blob 1)'
    """
    ranked = sorted(((-count, name) for name, count in counts.items() if count))
    return f" ({', '.join(f'{name} {-count}' for count, name in ranked)})" if ranked else ""


def make_printable(text: str) -> str:
    """Return foreign text as one line that cannot send commands to a terminal.

    >>> make_printable("near\\n\\x1b[2J")
    'near  [2J'
    """
    return "".join(letter if letter.isprintable() else " " for letter in text)


def align(rows: Sequence[Sequence[str]]) -> str:
    """Return a table as text, each column as wide as its widest cell.

    >>> print(align([("split", "easy"), ("train", "7"), ("eval", "12")]))
    split  easy
    train  7
    eval   12
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


Item = TypeVar("Item")


def _pass_over(count: float = 1) -> None:
    pass


@contextmanager
def show_progress(name: str | None, *, total: int, unit: str) -> Iterator[Callable[..., object]]:
    """Yield a function to call when one more (or `count` more) is done. If stderr is a terminal, it
    moves a bar: `parsed: 12 of 86 databases`. Without tqdm only the total is shown; without a name
    nothing is. unit: a plural."""
    if name is None or not sys.stderr.isatty():
        yield _pass_over
        return
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        print(f"{name}: {total:,} {unit}", file=sys.stderr)
        yield _pass_over
        return
    form = f"{{desc}}: {{n:,.0f}} of {{total:,}} {unit} |{{bar}}| {{elapsed}}<{{remaining}}"
    with tqdm(desc=name, total=total, leave=False, bar_format=form) as bar:
        yield bar.update


def track_progress(items: Iterable[Item], name: str, *, total: int, unit: str) -> Iterator[Item]:
    """Yield the same items and move a bar as `show_progress` does."""
    with show_progress(name, total=total, unit=unit) as advance:
        for item in items:
            yield item
            advance()
