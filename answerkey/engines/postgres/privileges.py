"""What a query may call and read: Postgres itself refuses the rest.

The databases of a server are copied from a base in which nobody may execute a function that writes,
waits, reaches outside or reads more than the tables: Postgres checks this wherever the call stands,
in a view or in a text that is executed, too. The functions of the clock are renamed, and others
with their names take their place, which give the instant of the corpus.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import LiteralString

# Roles: who makes tables, and the group of who reads them; each of these has a number.
LOADER, READERS, READER = "answerkey_loader", "answerkey_readers", "answerkey_reader_"

# Functions that are not marked as volatile, and still depend on more than their arguments.
_STATE = [
    "current_setting",
    "session_user",
    "system_user",
    "getpgusername",
    "version",
    "inet_client_addr",
    "inet_client_port",
    "inet_server_addr",
    "inet_server_port",
    "pg_backend_pid",
    "pg_postmaster_start_time",
    "pg_conf_load_time",
    "pg_config",
    "txid_current",
    "txid_current_if_assigned",
    "txid_current_snapshot",
    "pg_current_snapshot",
    "pg_current_xact_id",
    "pg_current_xact_id_if_assigned",
    "pg_snapshot_xip",
    "pg_listening_channels",
    "pg_cursor",
    "pg_prepared_statement",
    "pg_trigger_depth",
    "pg_timezone_names",
    "pg_timezone_abbrevs_zone",
    "pg_timezone_abbrevs_abbrevs",
    "mxid_age",
    "pg_show_all_settings",
    "pg_settings_get_flags",
    "pg_relation_filenode",
    "pg_relation_filepath",
    "pg_filenode_relation",
    "pg_tablespace_location",
    "pg_tablespace_databases",
    "pg_available_extensions",
    "pg_available_extension_versions",
    "pg_extension_update_paths",
    "pg_get_replication_slots",
    "pg_numa_available",
    "pg_column_toast_chunk_id",
]
# Functions that execute a text, or all of a schema: no bound of a query's tables holds there.
_EXECUTE_TEXT = [
    "query_to_xml",
    "query_to_xmlschema",
    "query_to_xml_and_xmlschema",
    "table_to_xml",
    "table_to_xmlschema",
    "table_to_xml_and_xmlschema",
    "schema_to_xml",
    "schema_to_xmlschema",
    "schema_to_xml_and_xmlschema",
    "database_to_xml",
    "database_to_xmlschema",
    "database_to_xml_and_xmlschema",
    "cursor_to_xml",
    "cursor_to_xmlschema",
    "ts_rewrite",
    "ts_stat",
]
# What a dump calls: the numbers of its sequences, and settings of its session.
_OF_LOADER = [
    "nextval",
    "setval",
    "currval",
    "lastval",
    "set_config",
    "current_setting",
    "pg_partition_root",
]
# Catalogs that dumps look into.
_READ_BY_LOADER = [
    "pg_class",
    "pg_namespace",
    "pg_type",
    "pg_attribute",
    "pg_constraint",
    "pg_extension",
    "pg_proc",
    "pg_enum",
    "pg_index",
    "pg_description",
    "pg_trigger",
    "pg_language",
    "pg_tables",
    "pg_views",
    "pg_indexes",
    "pg_sequences",
]
# The names of tables, which agents look up; information_schema stays as it is.
_READ_BY_ALL = ["pg_tables", "pg_views", "pg_matviews", "pg_indexes"]

# The clock, as calls, and by arguments that a type of the same name has: (name, arguments).
_CLOCK_FUNCTIONS = (
    ("now", ""),
    ("transaction_timestamp", ""),
    ("statement_timestamp", ""),
    ("clock_timestamp", ""),
    ("timeofday", ""),
    ("age", "timestamp"),
    ("age", "timestamptz"),
)
_INSTANT = "timestamptz '{now}'"
# By name: arguments, type, body.
_PINNED = (
    ("now", "", "timestamptz", "{now}"),
    ("transaction_timestamp", "", "timestamptz", "{now}"),
    ("statement_timestamp", "", "timestamptz", "{now}"),
    ("clock_timestamp", "", "timestamptz", "{now}"),
    ("timeofday", "", "text", "to_char({now}, 'Dy Mon DD HH24:MI:SS.US YYYY TZ')"),
    ("age", "timestamp", "interval", "age(CAST({now} AS date)::timestamp, $1)"),
    ("age", "timestamptz", "interval", "age(CAST({now} AS date)::timestamptz, $1)"),
    # `CURRENT_DATE` and its like are words, and no calls. `clock.call_clock` writes them as calls.
    ("current_date", "", "date", "CAST({now} AS date)"),
    ("current_time", "", "timetz", "CAST({now} AS timetz)"),
    ("current_time", "integer", "timetz", "CAST({rounded} AS timetz)"),
    ("current_timestamp", "", "timestamptz", "{now}"),
    ("current_timestamp", "integer", "timestamptz", "{rounded}"),
    ("localtime", "", "time", "CAST({now} AS time)"),
    ("localtime", "integer", "time", "CAST({rounded} AS time)"),
    ("localtimestamp", "", "timestamp", "CAST({now} AS timestamp)"),
    ("localtimestamp", "integer", "timestamp", "CAST({rounded} AS timestamp)"),
)
_ROUNDED = "to_timestamp(round(extract(epoch FROM {now}), $1)::float8)"

# Refused functions that change or reach something. All others that are refused depend on more than
# the database.
_FORBIDDEN = [
    "set_config",
    "setseed",
    "set_limit",  # of pg_trgm
    "setval",
    "nextval",
    "currval",
    "lastval",
    "dblink",
    "pg_notify",
    "pg_sleep",
    "pg_sleep_for",
    "pg_sleep_until",
    "pg_terminate_backend",
    "pg_cancel_backend",
    "pg_reload_conf",
    "pg_rotate_logfile",
    "pg_read_file",
    "pg_read_binary_file",
    "pg_stat_file",
    "pg_current_logfile",
    "loread",
    "lowrite",
]
_FORBIDDEN_STARTS = (
    "lo_",
    "pg_ls_",
    "pg_advisory_",
    "pg_try_advisory_",
    "pg_log",
    "pg_stat_reset",
    "binary_up",
    "pg_replication",
    "pg_create_",
    "pg_drop_",
    "pg_backup_",
    "pg_wal",
    "pg_switch",
    "dblink",
    "pg_export_",
    "pg_import_",
    "pg_restore_",
    "pg_clear_",
    "pg_promote",
    "brin_",
    "gin_clean",
)

# What a dump brings may not change a session either, or give other values from call to call: no
# SET, and no function of an extension such as set_limit and normal_rand. Triggers run only
# while rows are written.
HOLD_FUNCTIONS: LiteralString = """
DO $do$
DECLARE f record;
BEGIN
  FOR f IN SELECT p.oid::regprocedure AS name, EXISTS (
      SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid
      AND d.deptype = 'e') AS is_of_extension
    FROM pg_proc p WHERE p.prokind = 'f' AND (p.provolatile = 'v' OR p.prosecdef)
    AND p.pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
    AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
  LOOP
    IF f.is_of_extension THEN
      EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f.name);
    ELSE
      EXECUTE format('ALTER FUNCTION %s STABLE SECURITY INVOKER', f.name);
    END IF;
  END LOOP;
END $do$"""

CLOSE_DATABASES = "REVOKE CONNECT, TEMPORARY ON DATABASE postgres, template1 FROM PUBLIC"
# Statistics stay as they were gathered, in a server that gathers them by itself.
HOLD_STATISTICS: LiteralString = """
DO $do$
DECLARE r record;
BEGIN
  FOR r IN SELECT oid::regclass AS name, relkind FROM pg_class WHERE relkind IN ('r', 'm')
    AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
  LOOP
    EXECUTE format('ALTER %s %s SET (autovacuum_enabled = off)',
      CASE r.relkind WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END, r.name);
  END LOOP;
END $do$"""


def is_forbidden(function: str) -> bool:
    """Return whether a refused function changes or reaches something; else it is one whose result
    depends on more than the database.

    >>> is_forbidden("pg_read_file"), is_forbidden("query_to_xml"), is_forbidden("random")
    (True, True, False)
    """
    return function in {*_FORBIDDEN, *_EXECUTE_TEXT} or function.startswith(_FORBIDDEN_STARTS)


def write_roles() -> list[str]:
    """Return what makes the roles of a server that has none. A role that loads may not make
    another, nor read a file; it may pass over foreign keys while rows are written."""
    return [
        f"CREATE ROLE {LOADER} LOGIN BYPASSRLS",
        f"CREATE ROLE {READERS} NOLOGIN",
        f"GRANT SET ON PARAMETER session_replication_role TO {LOADER}",
    ]


def write_base() -> list[str]:
    """Return what makes a new database into a base."""
    listed = ", ".join(f"'{name}'" for name in (*_STATE, *_EXECUTE_TEXT))
    loader = ", ".join(f"'{name}'" for name in _OF_LOADER)
    own_names = ", ".join(f"'{name}({arguments})'" for name, arguments in _CLOCK_FUNCTIONS)
    return [
        f"""
DO $do$
DECLARE f record;
BEGIN
  FOR f IN SELECT oid::regprocedure AS name, proname FROM pg_proc
    WHERE pronamespace = 'pg_catalog'::regnamespace AND (
      (provolatile = 'v' AND prokind = 'f') OR proname IN ({listed})
      OR (proname LIKE 'pg\\_stat\\_get%') OR oid::regprocedure::text IN ('age(xid)')
      OR oid::regprocedure::text = 'timezone(text,time with time zone)')
  LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', f.name);
    IF f.proname IN ({loader}) THEN
      EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO {LOADER}', f.name);
    END IF;
  END LOOP;
  FOR f IN SELECT a.name, 'answerkey_' || (a.name::regprocedure)::oid AS new
    FROM unnest(ARRAY[{own_names}]) a(name)
  LOOP
    EXECUTE format('REVOKE EXECUTE ON FUNCTION pg_catalog.%s FROM PUBLIC', f.name);
    EXECUTE format('ALTER FUNCTION pg_catalog.%s RENAME TO %I', f.name, f.new);
  END LOOP;
END $do$""",
        "REVOKE SELECT ON ALL TABLES IN SCHEMA pg_catalog FROM PUBLIC",
        f"GRANT SELECT ON {', '.join(f'pg_catalog.{name}' for name in _READ_BY_ALL)} TO PUBLIC",
        f"GRANT SELECT ON {', '.join(f'pg_catalog.{n}' for n in _READ_BY_LOADER)} TO {LOADER}",
        *write_clock(None),
        "DROP SCHEMA public CASCADE",
        f"CREATE SCHEMA public AUTHORIZATION {LOADER}",
    ]


def write_clock(now: str | None) -> list[str]:
    """Return what sets the clock of a copy of the base. None: nobody may read it."""
    instant = _INSTANT.format(now=write_instant(now or "2000-01-01"))
    rounded = _ROUNDED.format(now=instant)
    statements = []
    for name, arguments, kind, body in _PINNED:
        call = f'pg_catalog."{name}"({arguments})'
        text = body.format(now=instant, rounded=rounded)
        statements += [
            f"CREATE OR REPLACE FUNCTION {call} RETURNS {kind} STABLE PARALLEL SAFE RETURN {text}",
            f"{'REVOKE' if now is None else 'GRANT'} EXECUTE ON FUNCTION {call}"
            f" {'FROM' if now is None else 'TO'} PUBLIC",
        ]
    return statements


def write_instant(now: str) -> str:
    """Return an instant in UTC as Postgres reads it in any time zone.

    >>> write_instant("2025-01-30"), write_instant("2025-01-30 09:30:00.250")
    ('2025-01-30 00:00:00+00:00', '2025-01-30 09:30:00.250000+00:00')
    """
    return datetime.fromisoformat(now).replace(tzinfo=UTC).isoformat(" ")
