"""Functions that foreign SQL may not call, wherever it runs."""

from __future__ import annotations

FORBIDDEN_FUNCTIONS = {"load_extension", "fts3_tokenizer"}
# What they give is decided by chance, by the moment, or by the SQLite library; never by a database.
RANDOM_FUNCTIONS = {"random", "randomblob"}
NOW_KEYWORDS = {"current_date", "current_time", "current_timestamp"}
LIBRARY_FUNCTIONS = {
    *("sqlite_version", "sqlite_source_id", "fts5_source_id", "sqlite_offset"),
    *("sqlite_compileoption_get", "sqlite_compileoption_used"),
}
# What a connection did before: nothing, where it only reads.
CONNECTION_FUNCTIONS = {"changes", "total_changes", "last_insert_rowid"}
