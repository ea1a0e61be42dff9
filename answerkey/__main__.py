"""`python -m answerkey` is the command `answerkey`."""

import sys

from answerkey.command import main

sys.exit(main())
