"""A missing folder of databases is said when the reward is set up."""

from __future__ import annotations

import pytest

from answerkey.reward import RewardPool, compute_score


def test_missing_folder_is_said_before_the_first_query(tmp_path):
    words = r"No databases at .*nowhere: expected .* `databases` or .* ANSWERKEY_DATABASES"
    with pytest.raises(FileNotFoundError, match=words):
        RewardPool(databases=tmp_path / "nowhere")


def test_missing_folder_is_said_where_a_completion_has_no_query(tmp_path):
    extra_info = {"database_name": "fleet", "order_matters": False}
    with pytest.raises(FileNotFoundError, match="No databases at"):
        compute_score("any", "no SQL", "1", extra_info, databases=tmp_path / "nowhere")
