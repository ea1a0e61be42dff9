"""Scratch databases end with what holds them."""

import gc
import sqlite3
import sys
import threading
import warnings

import pytest

from answerkey.core.scratch import open_scratch

TABLE = "CREATE TABLE seen (id)"


@pytest.fixture
def heard(monkeypatch):
    """What is told of errors that nobody can catch."""
    told = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)
    return told


def test_scratch_that_nobody_holds_is_closed_without_a_word(heard):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scratch = open_scratch(TABLE)
        del scratch
        gc.collect()
    assert heard == []


def test_scratch_may_be_collected_in_another_thread(heard):
    held = [open_scratch(TABLE)]
    thread = threading.Thread(target=lambda: (held.clear(), gc.collect()))
    thread.start()
    thread.join()
    assert held == heard == []


def test_each_scratch_has_tables_of_its_own():
    first, second = open_scratch(TABLE), open_scratch(TABLE)
    first.execute("INSERT INTO seen VALUES (1)")
    assert second.execute("SELECT * FROM seen").fetchall() == []
    first.close()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        first.execute("SELECT 1")
