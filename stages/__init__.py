"""The scripts that dvc.yaml runs, one per stage: `python -m stages.NAME`."""

import signal
import sys

# Python is still importing the stage. Until it has finished, Ctrl-C ends it without a traceback;
# afterwards answerkey.base.stage prints a message.
if sys.argv[0] == "-m" and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
