#!/bin/bash
python3 /tests/score.py /app/answer.sql /logs/verifier
