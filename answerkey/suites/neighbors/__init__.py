"""Neighbors of a gold query: queries that are one step away from it, and mean something else.

`operators` has one file a family of operators, `registry` finds them and lists the neighbors. The
other modules help the operators.

The operators are those of SQLMutation (Tuya, Suárez-Cabal and de la Riva, "Mutating database
queries", Information and Software Technology 49, 2007), and the steps by which models miss.
"""
