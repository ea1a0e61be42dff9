"""Columns involved: which columns of tables and views a query reads, whatever it calls them."""

from __future__ import annotations

from sqlglot import exp

from answerkey.sql.scopes import Scopes


def list_columns(scopes: Scopes) -> list[str]:
    """The sorted, unique `table.column` that a query reads, spelt as the schema spells them.

    `SELECT T1.name FROM ship AS T1 WHERE T1.tons > 9` -> ['ship.name', 'ship.tons']

    A `*` stands for all columns that it expands to, count(*) for none. A name that cannot be
    resolved, such as a string in double quotes, is left out.
    """
    found = [scopes.resolve(column) for column in scopes.nodes.find_all(exp.Column)]
    for scope in scopes.select_scopes():
        found += [output.resolution for output in scopes.outputs(scope.select)]
    return sorted(
        {
            f"{what.table.name}.{what.column.name}"
            for what in found
            if what is not None and what.table is not None and what.column is not None
        }
    )
