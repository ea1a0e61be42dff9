#!/bin/bash
cp "$(dirname "$0")/gold.sql" /app/answer.sql
