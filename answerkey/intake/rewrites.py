"""What sqlglot leaves as it is, in the words of SQLite: most of dates, and some of texts.

A date is text, 2024-02-29, which SQLite's functions of date and time read and write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection

from sqlglot import exp

_Dates = Collection[str]  # columns that are a date, without a time, in small letters

_FORMATS = {
    "YEAR": "%Y",
    "MONTH": "%m",
    "DAY": "%d",
    "HOUR": "%H",
    "MINUTE": "%M",
    "DOY": "%j",
    "DOW": "%w",
    "EPOCH": "%s",
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
_DAYS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY")
_TIMES = ("HOUR", "MINUTE", "SECOND")
_UNITS = {"QUARTER": ("MONTH", 3), "WEEK": ("DAY", 7)}  # which SQLite has not


def rewrite(node: exp.Expr, dates: _Dates) -> exp.Expr:
    """Return a node of a query, or what SQLite has in its place."""
    rule = _RULES.get(type(node))
    return (rule(node, dates) if rule is not None else None) or node


def _name_groups(node: exp.Expr, _: _Dates) -> exp.Expr | None:
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


def _take_part(node: exp.Expr, _: _Dates) -> exp.Expr | None:
    """EXTRACT(YEAR FROM d) -> CAST(STRFTIME('%Y', d) AS INTEGER)"""
    if isinstance(node, exp.Extract):
        part, value = node.this.name.upper(), node.expression
    else:
        part, value = _PARTS[type(node)], node.this
    span = value.unnest()
    if part == "EPOCH" and isinstance(span, exp.Sub):
        start, end = (
            exp.cast(_call("STRFTIME", _text("%s"), moment), "REAL")
            for moment in (span.expression, span.this)
        )
        return exp.Paren(this=exp.Sub(this=end, expression=start))
    if part == "QUARTER":
        months = exp.Add(this=_number("%m", value), expression=exp.Literal.number(2))
        thirds = exp.Div(this=exp.Paren(this=months), expression=exp.Literal.number(3))
        return exp.cast(thirds, "INT")
    return _number(_FORMATS[part], value) if part in _FORMATS else None


def _cut(node: exp.Expr, _: _Dates) -> exp.Expr | None:
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


def _add(node: exp.Expr, dates: _Dates) -> exp.Expr | None:
    """d + INTERVAL '1 month' -> DATE(d, '+1 months'), d + 7 -> DATE(d, '+7 days'), and the days
    between two dates."""
    is_back = isinstance(node, exp.Sub)
    value, amount = node.this, node.expression
    if isinstance(amount, exp.Interval):
        return _move(value, amount.this, amount.text("unit"), is_back, dates)
    if not _is_date(value, dates):
        return None
    if isinstance(amount, exp.Literal) and not amount.is_string:
        return _move(value, amount, "DAY", is_back, dates)
    if is_back and _is_date(amount, dates):
        days = exp.Sub(this=_call("JULIANDAY", value), expression=_call("JULIANDAY", amount))
        return exp.cast(exp.Paren(this=days), "INT")
    return None


def _add_units(node: exp.Expr, dates: _Dates) -> exp.Expr | None:
    """DATE_ADD(d, INTERVAL 1 DAY) -> DATE(d, '+1 days')"""
    is_back = isinstance(node, exp.DateSub)
    return _move(node.this, node.expression, node.text("unit"), is_back, dates)


def _move(
    value: exp.Expr, count: exp.Expr, unit: str, is_back: bool, dates: _Dates
) -> exp.Expr | None:
    unit = unit.upper().removesuffix("S")
    if not isinstance(count, exp.Literal) or not re.fullmatch(r"-?\d+", count.name):
        return None
    unit, times = _UNITS.get(unit, (unit, 1))
    steps = int(count.name) * times * (-1 if is_back else 1)
    modifier = _text(f"{steps:+d} {unit.lower()}s")
    if unit in _DAYS and _is_date(value, dates):
        return _call("DATE", value, modifier)
    return _call("DATETIME", value, modifier) if unit in (*_DAYS, *_TIMES) else None


def _is_date(value: exp.Expr, dates: _Dates) -> bool:
    """Whether it is a date without a time, as far as a look at it tells."""
    value = value.unnest()
    if isinstance(value, exp.Column):
        return value.name.lower() in dates
    if isinstance(value, exp.Anonymous):
        return value.name.upper() == "DATE"
    is_cast = isinstance(value, exp.Cast) and value.to.this == exp.DataType.Type.DATE
    return is_cast or isinstance(value, exp.CurrentDate | exp.TsOrDsToDate | exp.Date)


def _round_decimal(node: exp.Expr, _: _Dates) -> exp.Expr | None:
    """CAST(x AS DECIMAL(10, 2)) -> ROUND(x, 2), since SQLite does not round"""
    kind = node.args["to"]
    if kind.this != exp.DataType.Type.DECIMAL or len(kind.expressions) != 2:
        return None
    return exp.func("ROUND", node.this.copy(), exp.Literal.number(kind.expressions[1].name))


def _join_texts(node: exp.Expr, _: _Dates) -> exp.Expr | None:
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


def _read_date(node: exp.Expr, _: _Dates) -> exp.Expr | None:
    """TO_DATE(t, 'YYYY-MM-DD') -> DATE(t)"""
    return _call("DATE", node.this) if node.text("format") == "%Y-%m-%d" else None


def _drop_zone(node: exp.Expr, _: _Dates) -> exp.Expr | None:
    """t AT TIME ZONE 'UTC' -> t, since times with a zone are in UTC here"""
    return node.this.copy() if node.text("zone").upper() in ("UTC", "GMT") else None


def _name_function(node: exp.Expr, _: _Dates) -> exp.Expr | None:
    """count_star() -> COUNT(*), as DuckDB writes it in views"""
    return exp.Count(this=exp.Star()) if node.name.lower() == "count_star" else None


def _cut_text(node: exp.Expr, _: _Dates) -> exp.Expr | None:
    """LEFT(a, 2) -> SUBSTRING(a, 1, 2)"""
    if isinstance(node, exp.Left):
        return exp.func("SUBSTR", node.this, _one(), node.expression)
    return exp.func("SUBSTR", node.this, exp.Neg(this=node.expression))


_RULES: dict[type[exp.Expr], Callable[[exp.Expr, _Dates], exp.Expr | None]] = {
    exp.Select: _name_groups,
    exp.Extract: _take_part,
    **dict.fromkeys(_PARTS, _take_part),
    **dict.fromkeys((exp.TimestampTrunc, exp.DateTrunc), _cut),
    **dict.fromkeys((exp.Add, exp.Sub), _add),
    **dict.fromkeys((exp.DateAdd, exp.DateSub), _add_units),
    exp.Cast: _round_decimal,
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
