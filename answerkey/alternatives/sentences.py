"""What each reading says against gold, in a sentence: a doubt, and the reason of a repair.

A flag has its sentence in `answerkey.flags`. This is no part of what a shard is made from: a
sentence may change, and nothing is audited again.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

READINGS: Mapping[str, str] = MappingProxyType(
    {
        "all_ties": "All that tie for the first place may be asked for, and the query keeps one.",
        "any_case": "A text may be meant in capitals or not, and the query takes one spelling.",
        "average": "SUM / COUNT and AVG differ where a value is NULL.",
        "contained_text": "A text may be part of a longer one, and the query wants all of it.",
        "counted_names": "Those without a name may not count, and the query counts each row.",
        "counted_rows": "Those without a name may count, too, and the query counts names.",
        "distinct_rows": "Each row may be asked for once, and the query repeats some.",
        "distinct_values": "Each value may count once, and the query counts equal ones again.",
        "each_thing_once": "Each thing may be asked for once, and things may share a name.",
        "extreme_of_all": "The first of all rows may be asked for, and the join drops some.",
        "grouped_by_key": "Things may share a name: each is a group of its own.",
        "grouped_by_name": "The answer shows names, and things of one name may be one group.",
        "measured_rows": "Zero may stand for what nobody measured, and the query counts it.",
        "members_by_key": "Things may share a name: which are in both, their keys tell.",
        "named_value": "The question names a value, and the query has no condition for it.",
        "one_row": "One may be asked for, and the query returns all that tie.",
        "one_value": "One row may have the value that is asked for, and the query aggregates.",
        "question_spelling": "The question writes a text otherwise than the query does.",
        "stated_code": "The question states a code, and the query looks for its name.",
        "stated_count": "The evidence says to count something else than the query does.",
        "stated_name": "The question states a name, and the query looks for its code.",
        "stated_order": "The evidence says another amount than that by which the query sorts.",
        "stored_spelling": "The rows spell a text otherwise than the query does.",
        "summed_value": "A sum may be asked for, and the query returns single values.",
        "uncut": "More than so many may be as good, and the query cuts them off.",
        "unnamed_condition": "The query has a condition that the question does not name.",
        "unnamed_join": "The query joins a table that the question does not name.",
        "unneeded_join": "The query joins a table to whose rows others refer anyway.",
        "with_zero_counts": "Those with none may count, too, and the join drops them.",
        "without_distinct": "Rows may count as often as they come, and the query keeps each once.",
        "without_null": "NULL is no value, and the query takes it for one.",
        "without_zero_counts": "Those with none may not count, and the query shows them.",
    }
)
