"""The scripts that dvc.yaml runs, one a stage: `python -m stages.NAME`."""

import signal
import sys

# Python still looks for the stage. Ctrl-C ends it without a traceback until it has imported what it
# needs, and is told in words from then on (answerkey.base.stage).
if sys.argv[0] == "-m" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
