"""One line a message, whatever else has been logged."""

from __future__ import annotations

from answerkey.base.log import start_log


def test_log_writes_one_line_however_often_it_is_started(capsys):
    start_log("some_stage")
    log = start_log("some_stage")
    log.debug("unseen")
    log.info("3 rows")
    assert capsys.readouterr().err == "some_stage: 3 rows\n"
