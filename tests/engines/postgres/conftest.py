"""A database that tests of PostgreSQL share, in a server that ends with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from answerkey.engines.cache import CACHE_VARIABLE
from answerkey.engines.database import Database, Limits
from answerkey.engines.names import POSTGRES
from answerkey.engines.opening import load_engine

NOW = "2025-01-30 09:30:00"
SHOP = """
CREATE TYPE status AS ENUM ('open', 'sent', 'lost');
CREATE DOMAIN price AS numeric(10, 2) CHECK (VALUE >= 0);
CREATE TABLE public.customer (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL,
    code char(5),
    born date,
    tags text[],
    extra jsonb
);
CREATE TABLE public.purchase (
    id bigint NOT NULL,
    customer_id integer,
    state status DEFAULT 'open' NOT NULL,
    amount price,
    doubled numeric GENERATED ALWAYS AS (amount * 2) STORED,
    bought timestamp with time zone DEFAULT now(),
    is_gift boolean
);
COPY public.purchase (id, customer_id, state, amount, bought, is_gift) FROM stdin;
1\t1\topen\t10.50\t2025-01-29 10:00:00+00\tt
2\t1\tsent\t4.00\t2025-01-28 10:00:00+00\tf
3\t2\tlost\t\\N\t2025-01-27 10:00:00+00\t\\N
\\.
INSERT INTO customer (name, code, born, tags, extra) VALUES
    ('Ann', 'AB', '2000-02-29', '{a,"b c",NULL}', '{"b": [1, 2.50], "a": null}'),
    ('bob', 'CD', NULL, NULL, NULL),
    ('Élodie', NULL, '1999-12-31', '{}', '3');
ALTER TABLE ONLY public.purchase ADD CONSTRAINT purchase_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.purchase
    ADD CONSTRAINT purchase_customer_fkey FOREIGN KEY (customer_id) REFERENCES public.customer(id);
CREATE UNIQUE INDEX customer_name ON public.customer (name);
CREATE VIEW public.sent AS SELECT id, amount FROM public.purchase WHERE state = 'sent';
CREATE SCHEMA archive;
CREATE TABLE archive.old (id integer, day date) PARTITION BY RANGE (day);
CREATE TABLE archive.old_1 PARTITION OF archive.old
    FOR VALUES FROM ('1999-01-01') TO ('2000-01-01');
CREATE TABLE archive.old_2 PARTITION OF archive.old
    FOR VALUES FROM ('2000-01-01') TO ('2001-01-01');
INSERT INTO archive.old VALUES (1, '1999-05-05'), (2, '2000-05-05');
"""

Open = Callable[..., Any]  # a PostgresDatabase, whose package a test asks for
Write = Callable[..., Path]


@pytest.fixture(autouse=True, scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the server and its databases out of the user's cache, if the tests do not share one."""
    with pytest.MonkeyPatch.context() as patch:
        if CACHE_VARIABLE not in os.environ:
            patch.setenv(CACHE_VARIABLE, str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def write_text(tmp_path: Path) -> Write:
    def write(text: str = SHOP, name: str = "shop") -> Path:
        path = tmp_path / f"{name}.postgres.sql"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def open_text(write_text: Write) -> Iterator[Open]:
    opened = []

    def open_one(
        text: str = SHOP, *, now: str | None = NOW, limits: Limits | None = None
    ) -> Database:
        opened.append(load_engine(POSTGRES).open(write_text(text), limits, now=now))
        return opened[-1]

    yield open_one
    for database in opened:
        database.close()


@pytest.fixture
def shop(open_text: Open) -> Any:
    return open_text()
