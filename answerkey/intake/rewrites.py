"""What sqlglot leaves as it is, in the words of SQLite: most of dates, and some of texts.

A date is text, 2024-02-29, which SQLite's functions of date and time read and write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sqlglot import exp

from answerkey.intake.meanings import DAYS, Kind

_Kinds = Mapping[str, Kind]  # of columns, by name in small letters

_FORMATS = {
    "YEAR": "%Y",
    "MONTH": "%m",
    "DAY": "%d",
    "HOUR": "%H",
    "MINUTE": "%M",
    "DOY": "%j",
    "DOW": "%w",
}
_PARTS: dict[type[exp.Expr], str] = {
    exp.Year: "YEAR",
    exp.Quarter: "QUARTER",
    exp.Month: "MONTH",
    exp.Day: "DAY",
    exp.DayOfMonth: "DAY",
    exp.DayOfYear: "DOY",
    exp.Hour: "HOUR",
    exp.Minute: "MINUTE",
}
_STARTS = {"YEAR": "start of year", "MONTH": "start of month", "DAY": "start of day"}
_DAYS = ("MONTH", "DAY")
_TIMES = ("HOUR", "MINUTE", "SECOND")
_UNITS = {"YEAR": ("MONTH", 12), "QUARTER": ("MONTH", 3), "WEEK": ("DAY", 7)}


def rewrite_all(query: exp.Expr, kinds: _Kinds) -> exp.Expr:
    """Put into a query what SQLite has in the place of its parts, the smallest first."""
    for node in reversed(list(query.dfs())):
        rule = _RULES.get(type(node))
        new = rule(node, kinds) if rule is not None else None
        if new is not None and new is not node:
            node.replace(new)
    return query


def _name_groups(node: exp.Expr, _: _Kinds) -> exp.Expr | None:
    """GROUP BY ALL -> GROUP BY 1, 3: the places of what is no aggregate."""
    group = node.args.get("group")
    if isinstance(group, exp.Group) and group.args.get("all"):
        places = [
            exp.Literal.number(place)
            for place, column in enumerate(node.expressions, start=1)
            if column.find(exp.AggFunc) is None
        ]
        node.set("group", exp.Group(expressions=places) if places else None)
    return node


def _take_part(node: exp.Expr, kinds: _Kinds) -> exp.Expr | None:
    """EXTRACT(YEAR FROM d) -> CAST(STRFTIME('%Y', d) AS INTEGER)"""
    if isinstance(node, exp.Extract):
        part, value = node.this.name.upper(), node.expression
    else:
        part, value = _PARTS[type(node)], node.this
    if part == "EPOCH":
        span = value.unnest()
        if not isinstance(span, exp.Sub):
            return exp.Paren(this=exp.Add(**_count_seconds(value, kinds)))
        end, start = (_count_seconds(each, kinds) for each in (span.this, span.expression))
        # Whole seconds apart from digits, which a float of today's seconds has not room for.
        differences = (
            exp.Paren(this=exp.Sub(this=end[name], expression=start[name])) for name in end
        )
        return exp.Paren(this=exp.Add(**dict(zip(end, differences, strict=True))))
    if part == "QUARTER":
        months = exp.Add(this=_number("%m", value), expression=exp.Literal.number(2))
        thirds = exp.Div(this=exp.Paren(this=months), expression=exp.Literal.number(3))
        return exp.cast(thirds, "INT")
    return _number(_FORMATS[part], value) if part in _FORMATS else None


def _count_seconds(value: exp.Expr, kinds: _Kinds) -> dict[str, exp.Expr]:
    """The whole seconds since 1970, and what stands behind the 19 letters of a time to the second,
    as the two sides of a sum."""
    seconds = exp.cast(_call("STRFTIME", _text("%s"), value), "REAL")
    if _is_date(value, kinds):
        return {"this": seconds, "expression": exp.Literal.number(0)}
    digits = exp.DPipe(this=_text("0"), expression=_call("SUBSTR", value, exp.Literal.number(20)))
    return {"this": seconds, "expression": exp.cast(digits, "REAL")}


def _cut(node: exp.Expr, _: _Kinds) -> exp.Expr | None:
    """DATE_TRUNC('month', d) -> DATE(d, 'start of month'); a week begins on Monday."""
    unit, value = node.text("unit").upper(), node.this
    if unit in _STARTS:
        return _call("DATE", value, _text(_STARTS[unit]))
    if unit == "WEEK":
        return _call("DATE", value, _text("-6 days"), _text("weekday 1"))
    if unit == "QUARTER":
        months = exp.Paren(this=exp.Sub(this=_number("%m", value), expression=_one()))
        over = exp.Paren(this=exp.Mod(this=months, expression=exp.Literal.number(3)))
        modifier = exp.DPipe(this=_text("-"), expression=over)
        modifier = exp.DPipe(this=modifier, expression=_text(" months"))
        return _call("DATE", value, _text("start of month"), modifier)
    if unit in ("HOUR", "MINUTE"):
        rest = ":00:00" if unit == "HOUR" else ":%M:00"
        return _call("STRFTIME", _text(f"%Y-%m-%d %H{rest}"), value)
    return None


def _add(node: exp.Expr, kinds: _Kinds) -> exp.Expr | None:
    """d + INTERVAL '1 month' -> DATE(d, '+1 months'), d + 7 -> DATE(d, '+7 days'), and the days
    between two dates."""
    is_back = isinstance(node, exp.Sub)
    value, amount = node.this, node.expression
    if isinstance(amount, exp.Interval):
        return _move(value, amount.this, amount.text("unit"), is_back, kinds)
    if not _is_date(value, kinds):
        return None
    count = amount.this if isinstance(amount, exp.Neg) else amount
    if isinstance(count, exp.Literal) and not count.is_string:
        return _move(value, amount, "DAY", is_back, kinds)
    if is_back and _is_date(amount, kinds):
        days = exp.Sub(this=_call("JULIANDAY", value), expression=_call("JULIANDAY", amount))
        return exp.cast(exp.Paren(this=days), "INT")
    return None


def _add_units(node: exp.Expr, kinds: _Kinds) -> exp.Expr | None:
    """DATE_ADD(d, INTERVAL 1 DAY) -> DATE(d, '+1 days')"""
    is_back = isinstance(node, exp.DateSub)
    return _move(node.this, node.expression, node.text("unit"), is_back, kinds)


def _move(
    value: exp.Expr, count: exp.Expr, unit: str, is_back: bool, kinds: _Kinds
) -> exp.Expr | None:
    """A date, or a time with its digits. A month after January 31 is the last of February, where
    SQLite goes on into March: of the two days the earlier one is right."""
    unit = unit.upper().removesuffix("S")
    if isinstance(count, exp.Neg):
        count, is_back = count.this, not is_back
    if not isinstance(count, exp.Literal) or not re.fullmatch(r"-?\d+", count.name):
        return None
    unit, times = _UNITS.get(unit, (unit, 1))
    steps = int(count.name) * times * (-1 if is_back else 1)
    if unit in _TIMES:
        moved = _call("DATETIME", value, _text(f"{steps:+d} {unit.lower()}s"))
        if _is_date(value, kinds):
            return moved
        return exp.DPipe(this=moved, expression=_call("SUBSTR", value, exp.Literal.number(20)))
    if unit not in _DAYS:
        return None
    moved = _call("DATE", value, _text(f"{steps:+d} {unit.lower()}s"))
    if unit == "MONTH":
        after = _text(f"{steps + 1:+d} months")
        last = _call("DATE", value, _text("start of month"), after, _text("-1 days"))
        moved = _call("MIN", moved, last)
    if _is_date(value, kinds):
        return moved
    return exp.DPipe(this=moved, expression=_call("SUBSTR", value, exp.Literal.number(11)))


def _is_date(value: exp.Expr, kinds: _Kinds) -> bool:
    """Whether it is a date without a time, as far as a look at it tells."""
    value = value.unnest()
    if isinstance(value, exp.Column):
        return kinds.get(value.name.lower()) in DAYS
    if isinstance(value, exp.Anonymous):
        first = value.expressions[0] if value.expressions else None
        is_earlier = value.name.upper() == "MIN" and first is not None and _is_date(first, kinds)
        return value.name.upper() == "DATE" or is_earlier
    is_cast = isinstance(value, exp.Cast) and value.to.this == exp.DataType.Type.DATE
    return is_cast or isinstance(value, exp.CurrentDate | exp.TsOrDsToDate | exp.Date)


def _join_texts(node: exp.Expr, _: _Kinds) -> exp.Expr | None:
    """CONCAT(a, 'x') -> COALESCE(a, '') || 'x', as those do that pass NULL over"""
    if not node.args.get("coalesce"):
        return None
    joined: exp.Expr | None = None
    for part in node.expressions:
        text: exp.Expr = part.copy()
        if not isinstance(part, exp.Literal):
            text = exp.func("COALESCE", text, _text(""))
        joined = text if joined is None else exp.DPipe(this=joined, expression=text)
    return exp.Paren(this=joined)


def _read_date(node: exp.Expr, _: _Kinds) -> exp.Expr | None:
    """TO_DATE(t, 'YYYY-MM-DD') -> DATE(t)"""
    return _call("DATE", node.this) if node.text("format") == "%Y-%m-%d" else None


def _drop_zone(node: exp.Expr, _: _Kinds) -> exp.Expr | None:
    """t AT TIME ZONE 'UTC' -> t, since times with a zone are in UTC here"""
    return node.this.copy() if node.text("zone").upper() in ("UTC", "GMT") else None


def _name_function(node: exp.Expr, _: _Kinds) -> exp.Expr | None:
    """count_star() -> COUNT(*), as DuckDB writes it in views"""
    return exp.Count(this=exp.Star()) if node.name.lower() == "count_star" else None


def _cut_text(node: exp.Expr, _: _Kinds) -> exp.Expr | None:
    """LEFT(a, 2) -> SUBSTRING(a, 1, 2)"""
    if isinstance(node, exp.Left):
        return exp.func("SUBSTR", node.this, _one(), node.expression)
    return exp.func("SUBSTR", node.this, exp.Neg(this=node.expression))


_RULES: dict[type[exp.Expr], Callable[[exp.Expr, _Kinds], exp.Expr | None]] = {
    exp.Select: _name_groups,
    exp.Extract: _take_part,
    **dict.fromkeys(_PARTS, _take_part),
    **dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc), _cut),
    **dict.fromkeys((exp.Add, exp.Sub), _add),
    **dict.fromkeys((exp.DateAdd, exp.DateSub), _add_units),
    exp.Concat: _join_texts,
    exp.StrToDate: _read_date,
    exp.AtTimeZone: _drop_zone,
    exp.Anonymous: _name_function,
    **dict.fromkeys((exp.Left, exp.Right), _cut_text),
}


def _number(form: str, value: exp.Expr) -> exp.Expr:
    return exp.cast(_call("STRFTIME", _text(form), value), "INT")


def _call(name: str, *values: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[value.copy() for value in values])


def _text(value: str) -> exp.Expr:
    return exp.Literal.string(value)


def _one() -> exp.Expr:
    return exp.Literal.number(1)
