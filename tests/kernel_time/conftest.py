"""One kernel with cosh_nb for a module, pointed at the scripted model server; calls are allowed without a card."""

from __future__ import annotations

import sys

import pytest

from support.kernel_client import kernel_client
from support.modelserver import ModelServer
from support.room import Room


@pytest.fixture(scope="module")
def shared_room(tmp_path_factory):
    home = tmp_path_factory.mktemp("time")
    with ModelServer() as server, kernel_client(home, sys.executable, env=server.env()) as kernel:
        loaded = kernel.run("%load_ext cosh_nb")
        assert (loaded.status, loaded.text) == ("ok", "")
        yield Room(kernel, server)


@pytest.fixture
def room(shared_room):
    shared_room.ok("%reset -f")
    return shared_room
