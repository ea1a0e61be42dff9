"""Make a corpus of one database, with any number of questions, in the layout of a Spider release.

    python one_database.py TARGET QUESTIONS [ROWS]

The database of a shop has ROWS rows (20,000). Questions have forty forms, and ask about values that
it holds, as people do day by day. Each question has other words or another value than those before
it; one in eight repeats an earlier one in other words. The same arguments give the same bytes.
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Any

from bare_loop import QUESTION_FILES

NAME = "shop"
_SCHEMA = """
CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT NOT NULL,
    population INTEGER);
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE,
    city_id INTEGER REFERENCES city (id), birth_year INTEGER, joined DATE);
CREATE TABLE category (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE product (id INTEGER PRIMARY KEY, name TEXT NOT NULL, colour TEXT,
    category_id INTEGER REFERENCES category (id), price REAL NOT NULL, stock INTEGER);
CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id),
    day DATE NOT NULL, status TEXT NOT NULL, payment TEXT);
CREATE TABLE item (purchase_id INTEGER REFERENCES purchase (id),
    product_id INTEGER REFERENCES product (id), quantity INTEGER NOT NULL,
    PRIMARY KEY (purchase_id, product_id));
CREATE TABLE review (id INTEGER PRIMARY KEY, product_id INTEGER REFERENCES product (id),
    customer_id INTEGER REFERENCES customer (id), stars INTEGER NOT NULL, day DATE);
"""
# The share of all rows in each table; the others are items.
_SHARES = {"city": 0.01, "customer": 0.12, "product": 0.04, "purchase": 0.28, "review": 0.10}
_SYLLABLES = ("ka", "lo", "mi", "ren", "ta", "sol", "ve", "nor", "bel", "du", "fa", "gri", "han")
_COUNTRIES = ("Peru", "Kenya", "Norway", "Japan", "Chile", "Spain", "Ghana", "India", "Canada")
_COLOURS = ("red", "blue", "green", "black", "white", "grey", "yellow", "brown")
_CATEGORIES = ("lamp", "chair", "table", "shelf", "carpet", "mirror", "clock", "vase", "pillow")
_STATUSES = ("paid", "sent", "returned", "open")
_PAYMENTS = ("card", "cash", "invoice")

# What a question asks about: a query that lists the values in use, or the bounds of numbers.
_VALUES = {
    "city": "SELECT name FROM city ORDER BY id",
    "country": "SELECT DISTINCT country FROM city ORDER BY 1",
    "customer": "SELECT name FROM customer ORDER BY id",
    "product": "SELECT name FROM product ORDER BY id",
    "category": "SELECT name FROM category ORDER BY id",
    "colour": "SELECT DISTINCT colour FROM product ORDER BY 1",
    "status": "SELECT DISTINCT status FROM purchase ORDER BY 1",
    "payment": "SELECT DISTINCT payment FROM purchase ORDER BY 1",
    "day": "SELECT DISTINCT day FROM purchase ORDER BY 1",
    "month": "SELECT DISTINCT substr(day, 1, 7) FROM purchase ORDER BY 1",
    "year": "SELECT DISTINCT birth_year FROM customer ORDER BY 1",
    "price": "SELECT DISTINCT CAST(price AS INTEGER) FROM product ORDER BY 1",
    "stock": "SELECT DISTINCT stock FROM product ORDER BY 1",
    "population": "SELECT DISTINCT population / 1000 * 1000 FROM city ORDER BY 1",
    "few": "VALUES (1), (2), (3), (4), (5)",
}
_OF_CITY = "customer JOIN city ON customer.city_id = city.id"
_OF_CATEGORY = "product JOIN category ON product.category_id = category.id"
_BOUGHT = (
    "customer JOIN purchase ON purchase.customer_id = customer.id"
    " JOIN item ON item.purchase_id = purchase.id JOIN product ON item.product_id = product.id"
)
_REVIEWED = "review JOIN product ON review.product_id = product.id"
# A question in one or two wordings, and its SQL.
_FORMS = (
    ("How many customers live in {city}?|What is the number of customers from {city}?",
     f"SELECT count(*) FROM {_OF_CITY} WHERE city.name = '{{city}}'"),
    ("What are the names of customers who live in {city}?",
     f"SELECT customer.name FROM {_OF_CITY} WHERE city.name = '{{city}}'"),
    ("Which customers in {country} were born after {year}?",
     f"SELECT customer.name FROM {_OF_CITY} WHERE city.country = '{{country}}'"
     " AND customer.birth_year > {year}"),
    ("What is the email of {customer}?|Give the email address of the customer {customer}.",
     "SELECT email FROM customer WHERE name = '{customer}'"),
    ("In which city does {customer} live?",
     f"SELECT city.name FROM {_OF_CITY} WHERE customer.name = '{{customer}}'"),
    ("When did {customer} join?", "SELECT joined FROM customer WHERE name = '{customer}'"),
    ("How many purchases has {customer} made?|Count the purchases of {customer}.",
     "SELECT count(*) FROM purchase JOIN customer ON purchase.customer_id = customer.id"
     " WHERE customer.name = '{customer}'"),
    ("Which products has {customer} bought?",
     f"SELECT DISTINCT product.name FROM {_BOUGHT} WHERE customer.name = '{{customer}}'"),
    ("How much has {customer} spent?",
     f"SELECT sum(item.quantity * product.price) FROM {_BOUGHT}"
     " WHERE customer.name = '{customer}'"),
    ("What is the price of {product}?|How much does {product} cost?",
     "SELECT price FROM product WHERE name = '{product}'"),
    ("How many {product} are in stock?", "SELECT stock FROM product WHERE name = '{product}'"),
    ("Which category does {product} belong to?",
     f"SELECT category.name FROM {_OF_CATEGORY} WHERE product.name = '{{product}}'"),
    ("How many products in the category {category} cost more than {price}?",
     f"SELECT count(*) FROM {_OF_CATEGORY} WHERE category.name = '{{category}}'"
     " AND product.price > {price}"),
    ("What are the names of {colour} products that cost less than {price}?",
     "SELECT name FROM product WHERE colour = '{colour}' AND price < {price}"),
    ("Which products have fewer than {stock} pieces in stock and cost more than {price}?",
     "SELECT name FROM product WHERE stock < {stock} AND price > {price}"),
    ("What is the average price of {colour} products in the category {category}?",
     f"SELECT avg(product.price) FROM {_OF_CATEGORY} WHERE category.name = '{{category}}'"
     " AND product.colour = '{colour}'"),
    ("What is the most expensive product in the category {category} below {price}?",
     f"SELECT product.name FROM {_OF_CATEGORY} WHERE category.name = '{{category}}'"
     " AND product.price < {price} ORDER BY product.price DESC LIMIT 1"),
    ("How many purchases were made on {day}?|Count the purchases of {day}.",
     "SELECT count(*) FROM purchase WHERE day = '{day}'"),
    ("How many purchases with status {status} were made in {month}?",
     "SELECT count(*) FROM purchase WHERE status = '{status}' AND day LIKE '{month}%'"),
    ("Which customers bought something on {day}?",
     "SELECT DISTINCT customer.name FROM customer JOIN purchase"
     " ON purchase.customer_id = customer.id WHERE purchase.day = '{day}'"),
    ("How many customers paid by {payment} on {day}?",
     "SELECT count(DISTINCT customer_id) FROM purchase"
     " WHERE payment = '{payment}' AND day = '{day}'"),
    ("Who has bought {product}?|List the customers that bought {product}.",
     f"SELECT DISTINCT customer.name FROM {_BOUGHT} WHERE product.name = '{{product}}'"),
    ("How many pieces of {product} were sold?",
     "SELECT sum(item.quantity) FROM item JOIN product ON item.product_id = product.id"
     " WHERE product.name = '{product}'"),
    ("What is the average rating of {product}?|How many stars does {product} get on average?",
     f"SELECT avg(review.stars) FROM {_REVIEWED} WHERE product.name = '{{product}}'"),
    ("How many reviews with {few} stars does {product} have?",
     f"SELECT count(*) FROM {_REVIEWED} WHERE product.name = '{{product}}'"
     " AND review.stars = {few}"),
    ("Which products has {customer} reviewed with more than {few} stars?",
     f"SELECT product.name FROM {_REVIEWED} JOIN customer ON review.customer_id = customer.id"
     " WHERE customer.name = '{customer}' AND review.stars > {few}"),
    ("Which customers have never bought anything and live in {city}?",
     f"SELECT customer.name FROM {_OF_CITY} WHERE city.name = '{{city}}'"
     " AND customer.id NOT IN (SELECT customer_id FROM purchase)"),
    ("Which customers in {city} made more than {few} purchases?",
     f"SELECT customer.name FROM {_OF_CITY} JOIN purchase ON purchase.customer_id = customer.id"
     " WHERE city.name = '{city}' GROUP BY customer.id HAVING count(*) > {few}"),
    ("How many customers does each city in {country} with more than {population} people have?",
     f"SELECT city.name, count(*) FROM {_OF_CITY} WHERE city.country = '{{country}}'"
     " AND city.population > {population} GROUP BY city.id"),
    ("Which city in {country} with fewer than {population} people has the most customers?",
     f"SELECT city.name FROM {_OF_CITY} WHERE city.country = '{{country}}'"
     " AND city.population < {population} GROUP BY city.id ORDER BY count(*) DESC LIMIT 1"),
    ("For each status, how many purchases were made in {month}?",
     "SELECT status, count(*) FROM purchase WHERE day LIKE '{month}%' GROUP BY status"),
    ("What are the cities of {country} with at least {population} people?",
     "SELECT name FROM city WHERE country = '{country}' AND population >= {population}"),
    ("Which {few} products in the category {category} above {price} are the cheapest?",
     f"SELECT product.name FROM {_OF_CATEGORY} WHERE category.name = '{{category}}'"
     " AND product.price > {price} ORDER BY product.price LIMIT {few}"),
    ("What share of the purchases in {month} was paid by {payment}?",
     "SELECT avg(payment = '{payment}') FROM purchase WHERE day LIKE '{month}%'"),
    ("Which products are more expensive than {product}?",
     "SELECT name FROM product"
     " WHERE price > (SELECT price FROM product WHERE name = '{product}')"),
    ("Who was born in {year} and joined after {day}?",
     "SELECT name FROM customer WHERE birth_year = {year} AND joined > '{day}'"),
    ("What are the names of products whose name contains {product}?",
     "SELECT name FROM product WHERE name LIKE '%{product}%'"),
    ("When was {product} last sold?",
     "SELECT max(purchase.day) FROM purchase JOIN item ON item.purchase_id = purchase.id"
     " JOIN product ON item.product_id = product.id WHERE product.name = '{product}'"),
    ("How old is the oldest customer of {city} born after {year}?",
     f"SELECT min(customer.birth_year) FROM {_OF_CITY} WHERE city.name = '{{city}}'"
     " AND customer.birth_year > {year}"),
    ("Which customers of {city} have bought a {colour} product?",
     f"SELECT DISTINCT customer.name FROM {_BOUGHT} JOIN city ON customer.city_id = city.id"
     " WHERE city.name = '{city}' AND product.colour = '{colour}'"),
)  # fmt: skip


def make_database(rows: int) -> bytes:
    """Return the bytes of the database, with about `rows` rows."""
    random = Random(rows)
    counts = {table: max(8, int(rows * share)) for table, share in _SHARES.items()}
    names = _make_names(random)

    def draw_day() -> str:
        return f"{random.randint(2021, 2024)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"

    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(_SCHEMA)

        def fill(table: str, made: Iterator[tuple[Any, ...]]) -> None:
            listed = [*made]
            marks = ", ".join("?" * len(listed[0]))
            connection.executemany(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", listed)

        fill(
            "city",
            (
                (number, next(names), random.choice(_COUNTRIES), random.randint(5, 5000) * 1000)
                for number in range(1, counts["city"] + 1)
            ),
        )
        fill(
            "customer",
            (
                (
                    number,
                    f"{(first := next(names))} {next(names)}",
                    f"{first.lower()}{number}@x.org",
                    random.randint(1, counts["city"]),
                    random.randint(1940, 2005),
                    draw_day(),
                )
                for number in range(1, counts["customer"] + 1)
            ),
        )
        fill("category", ((number, name) for number, name in enumerate(_CATEGORIES, start=1)))
        fill(
            "product",
            (
                (
                    number,
                    f"{next(names)} {random.choice(_CATEGORIES)}",
                    random.choice(_COLOURS),
                    random.randint(1, len(_CATEGORIES)),
                    random.randint(300, 90_000) / 100,
                    random.randint(0, 400),
                )
                for number in range(1, counts["product"] + 1)
            ),
        )
        fill(
            "purchase",
            (
                (
                    number,
                    random.randint(1, counts["customer"]),
                    draw_day(),
                    random.choice(_STATUSES),
                    random.choice(_PAYMENTS),
                )
                for number in range(1, counts["purchase"] + 1)
            ),
        )
        fill(
            "review",
            (
                (
                    number,
                    random.randint(1, counts["product"]),
                    random.randint(1, counts["customer"]),
                    random.randint(1, 5),
                    draw_day(),
                )
                for number in range(1, counts["review"] + 1)
            ),
        )
        fill("item", (
            (random.randint(1, counts["purchase"]), random.randint(1, counts["product"]),
             random.randint(1, 6))
            for _ in range(max(8, rows - sum(counts.values())))
        ))  # fmt: skip
        connection.commit()
        return connection.serialize()


def _make_names(random: Random) -> Iterator[str]:
    """Yield names, each once."""
    known = set()
    while True:
        name = "".join(random.choices(_SYLLABLES, k=random.randint(2, 4))).capitalize()
        if name not in known:
            known.add(name)
            yield name


def list_questions(database: bytes, count: int) -> Iterator[dict[str, str]]:
    """Yield `count` questions, of each form in turn."""
    random = Random(count)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.deserialize(database)
        values = {
            slot: [row[0] for row in connection.execute(sql)] for slot, sql in _VALUES.items()
        }
    asked: set[str] = set()
    for wordings, sql in cycle(_FORMS):
        slots = sorted(set(re.findall(r"\{(\w+)\}", sql)))
        drawn = {slot: random.choice(values[slot]) for slot in slots}
        question = random.choice(wordings.split("|")).format(**drawn)
        if question not in asked:
            asked.add(question)
            yield {"db_id": NAME, "query": sql.format(**drawn), "question": question}
        if len(asked) == count:
            return


def write_corpus(target: Path, questions: int, rows: int) -> None:
    """Write the files of a corpus. All questions are in train, as one database has one split."""
    database = make_database(rows)
    path = target / "database" / NAME / f"{NAME}.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(database)
    train, dev = QUESTION_FILES
    asked = [*list_questions(database, questions)]
    (target / train).write_text(json.dumps(asked, indent=0), encoding="utf-8")
    (target / dev).write_text("[]\n", encoding="utf-8")


def change_database(corpus: Path, *, added: int) -> None:
    """Add to one value of the database of a corpus."""
    with closing(sqlite3.connect(corpus / "database" / NAME / f"{NAME}.sqlite")) as connection:
        connection.execute("UPDATE city SET population = population + ? WHERE id = 1", (added,))
        connection.commit()


def main() -> None:
    target, questions, *rows = sys.argv[1:]
    write_corpus(Path(target), int(questions), int(rows[0]) if rows else 20_000)


if __name__ == "__main__":
    main()
