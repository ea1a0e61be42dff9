"""params.yaml of another version: its new keys come with their comments, and what an owner has
written stays as it is, byte for byte."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from answerkey.sections.whole_file import RENAMED

_OF_OWNER = ("corpus", "corpora")  # which corpora there are is for the owner to say


class _Place(NamedTuple):
    """Where a key stands in a text: its first line, that behind its last, and its column."""

    first: int
    end: int
    column: int


@dataclass(slots=True)
class MergedParams:
    """
    text: of params.yaml.
    known: the keys of this version, for the next upgrade.
    added: keys that are new here. renamed: old and new keys. removed: keys that stages no longer
        know. missing: new keys that have no place, with their lines.
    """

    text: str
    known: list[str]
    added: list[str] = field(default_factory=list)
    renamed: list[tuple[str, str]] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    missing: list[tuple[str, str]] = field(default_factory=list)


def merge_params(
    own: str, new: str, known: list[str], *, renamed: Mapping[str, str] = RENAMED
) -> MergedParams:
    """The params of an owner with the new keys of a version.

    own: the text of the owner. new: that of the version. known: the keys of the version before: one
    of them that is not there was taken out on purpose, and stays out.

    >>> new = "a:\\n  b: 1\\n  # Why.\\n  c: 2  # so many\\n"
    >>> merged = merge_params("a:\\n  b: 5  # mine\\n", new, ["a", "a.b"])
    >>> print(merged.text, merged.added, end="")
    a:
      b: 5  # mine
      # Why.
      c: 2  # so many
     ['a.c']
    """
    template = dict(_list_places(new))
    merged = MergedParams(own, list(template))
    places = dict(_list_places(own))
    for old, name in renamed.items():
        if old in places and name not in places and name in template:
            merged.text = _rename(merged.text, places[old], old, name)
            merged.renamed.append((old, name))
    places = dict(_list_places(merged.text, in_braces=True))
    gone = {key for key in known if key in places and key not in template}
    merged.removed = sorted(key for key in gone if gone.isdisjoint(_list_sections(key)))
    for key in template:
        if key in places or key in known:
            continue
        told = {*merged.added, *dict(merged.missing)}
        left_out = {section for section in known if section not in places}
        if not (told | left_out).isdisjoint(_list_sections(key)):
            continue  # it came with its section, or an owner has taken that out
        lines = _cut(new, template[key])
        if (text := _insert(merged.text, new, key)) is None:
            merged.missing.append((key, lines))
        else:
            merged.text = text
            merged.added.append(key)
    return merged


def _list_sections(key: str) -> set[str]:
    """
    >>> sorted(_list_sections("a.b.c"))
    ['a', 'a.b']
    """
    names = key.split(".")
    return {".".join(names[:count]) for count in range(1, len(names))}


def _rename(text: str, place: _Place, old: str, name: str) -> str:
    lines = text.splitlines(keepends=True)
    before, after = old.rpartition(".")[2], name.rpartition(".")[2]
    line = lines[place.first]
    lines[place.first] = line[: place.column] + line[place.column :].replace(before, after, 1)
    return "".join(lines)


def _insert(text: str, new: str, key: str) -> str | None:
    """The text with a key of another, behind the one that stands before it there; None: it has no
    such section, in lines of its own."""
    section = key.rpartition(".")[0]
    places, template = dict(_list_places(text)), dict(_list_places(new))
    siblings = [each for each in template if each.rpartition(".")[0] == section]
    here = [each for each in places if each.rpartition(".")[0] == section]
    if not here:
        return None
    before = [each for each in siblings[: siblings.index(key)] if each in here]
    lines = text.splitlines(keepends=True)
    at = places[before[-1]].end if before else _find_start(lines, places[here[0]])
    if lines and at == len(lines) and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    shift = places[here[0]].column - template[key].column
    added = [_indent(line, shift) for line in _cut(new, template[key]).splitlines(keepends=True)]
    if not section:  # an empty line between sections
        added = ["\n", *added] if before else [*added, "\n"]
    lines[at:at] = added
    edited = "".join(lines)
    return edited if _adds_alone(text, edited, new, key) else None


def _adds_alone(text: str, edited: str, new: str, key: str) -> bool:
    """Whether a text says the same as before, and has the value of one more key."""
    try:
        expected, found, value = map(yaml.safe_load, (text, edited, new))
    except yaml.YAMLError:
        return False
    *above, last = key.split(".")
    place = expected
    for name in above:
        place, value = place[name], value[name]
    place[last] = value[last]
    return bool(expected == found)


def _indent(line: str, shift: int) -> str:
    if not line.strip():
        return line
    return " " * shift + line if shift > 0 else line[min(-shift, len(line) - len(line.lstrip())) :]


def _cut(text: str, place: _Place) -> str:
    """The lines of a key, with the comments right above it."""
    lines = text.splitlines(keepends=True)
    return "".join(lines[_find_start(lines, place) : place.end])


def _find_start(lines: list[str], place: _Place) -> int:
    first, mark = place.first, " " * place.column + "#"
    while first and lines[first - 1].startswith(mark):
        first -= 1
    return first


def list_keys(text: str) -> list[str]:
    """The keys of a text of YAML, as SECTION.KEY, without corpora.

    >>> list_keys("a:\\n  b: 1\\n  c: {d: 2}\\ncorpora: {}\\n")
    ['a', 'a.b', 'a.c']
    """
    return [key for key, _ in _list_places(text)]


def _list_places(text: str, *, in_braces: bool = False) -> Iterator[tuple[str, _Place]]:
    """Each key of a text of YAML with its place, as SECTION.KEY. A mapping in braces is a value,
    unless its keys are asked for as well."""
    node = yaml.compose(text, yaml.SafeLoader)
    if isinstance(node, yaml.MappingNode):
        yield from _walk(node, "", in_braces)


def _walk(node: yaml.MappingNode, section: str, in_braces: bool) -> Iterator[tuple[str, _Place]]:
    for key, value in node.value:
        name = f"{section}{key.value}"
        if name in _OF_OWNER:
            continue
        yield name, _Place(key.start_mark.line, _find_end(value), key.start_mark.column)
        if isinstance(value, yaml.MappingNode) and (in_braces or not value.flow_style):
            yield from _walk(value, f"{name}.", in_braces)


def _find_end(node: Any) -> int:
    """The line behind the last of a value: a mapping ends where its last value does, and not after
    the comments that follow."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _find_end(last[1] if isinstance(node, yaml.MappingNode) else last)
    is_block = isinstance(node, yaml.ScalarNode) and node.style in ("|", ">")
    return int(node.end_mark.line + (not is_block))
