"""Environments of trainers and of evaluation libraries, all on `answerkey.reward`.

Each module needs the library that it is named after, and is imported by whoever has it: nothing
here imports another module of this room but `questions`.
"""
