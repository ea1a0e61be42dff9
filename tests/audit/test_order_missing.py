"""order_missing: an order that is asked for and not made."""

import pytest

from answerkey.probes.order import find_order_missing
from tests.shared.harbour_world import HARBOUR
from tests.shared.probe_world import ProbeWorld


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("orders"), HARBOUR) as world:
        yield world


OTHERWISE = [
    ("none", "Names of ports in alphabetical order.", "SELECT name FROM port"),
    ("none", "Ports sorted by depth.", "SELECT name FROM port"),
    ("none", "List ports, ordered by depth.", "SELECT name FROM port"),
    ("no_extreme", "Which port has the most berths?", "SELECT name FROM port WHERE berths = 8"),
    ("numbers", "Ships in alphabetical order.", "SELECT name FROM ship ORDER BY crew"),
    ("column", "Ships by net tonnage.", "SELECT name FROM ship ORDER BY gross_tonnage"),
]

AS_ASKED = [
    ("Names of ports in alphabetical order.", "SELECT name FROM port ORDER BY name"),
    ("Names of ports.", "SELECT name FROM port"),
    ("Ports that ordered the most ships.", "SELECT max(berths) FROM port"),
    ("Orders of ships that ascended.", "SELECT name FROM ship"),
    ("Ships with at least 2 crew.", "SELECT name FROM ship WHERE crew >= 2"),
    ("Ships by gross tonnage.", "SELECT name FROM ship ORDER BY gross_tonnage"),
    ("Ships by tonnage.", "SELECT name FROM ship ORDER BY gross_tonnage"),
    ("Gross and net tonnage, by gross tonnage.",
     "SELECT gross_tonnage, net_tonnage FROM ship ORDER BY gross_tonnage"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "question", "sql"), OTHERWISE)
def test_other_order_is_found(world, kind, question, sql):
    finding = world.ask(find_order_missing, question, sql)
    assert finding.evidence["kind"] == kind


@pytest.mark.parametrize(("question", "sql"), AS_ASKED)
def test_order_as_asked_is_no_finding(world, question, sql):
    assert world.ask(find_order_missing, question, sql) is None


def test_things_that_somebody_ordered_ask_for_no_order(tmp_path):
    sql = "CREATE TABLE customer_orders (id INT, item TEXT, customer TEXT)"
    with ProbeWorld(tmp_path, sql) as shop:
        query = "SELECT item FROM customer_orders"
        assert shop.ask(find_order_missing, "Items ordered by a shop.", query) is None
        assert shop.ask(find_order_missing, "Items sorted by customer.", query) is not None
