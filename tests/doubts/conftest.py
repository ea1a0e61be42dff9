"""Databases that the tests of several doubts ask."""

import pytest

from tests.shared.probe_world import CHOIR, FARM, HARBOUR, ProbeWorld


@pytest.fixture(scope="session")
def harbour(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("harbour"), HARBOUR) as world:
        yield world


@pytest.fixture(scope="session")
def choir(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("choir"), CHOIR) as world:
        yield world


@pytest.fixture(scope="session")
def farm(tmp_path_factory):
    with ProbeWorld(tmp_path_factory.mktemp("farm"), FARM) as world:
        yield world
