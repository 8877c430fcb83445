"""Ten thousand cells and floods of output stay within their bounds."""

from types import SimpleNamespace

from cosh_nb.notebook import ledger as module
from cosh_nb.notebook.ledger import Ledger


class Session(SimpleNamespace):
    """As much of jupyter_client's Session as the ledger sees: it records what is really sent."""

    session = "s"

    def send(self, stream, msg_or_type, content=None, parent=None, **more):
        self.sent.append((msg_or_type, content))
        return "sent"


def begun(session, number, code="x"):
    parent = {"header": {"msg_id": f"m{number}"}}
    session.send(None, "execute_input", {"code": code, "execution_count": number}, parent)
    return parent


def test_messages_pass_unchanged_and_closing_takes_the_look_away():
    session = Session(sent=[])
    ledger = Ledger(session)
    assert session.send(None, "stream", {"text": "x"}, {}) == "sent"
    assert session.send(None, {"msg_type": "stream", "content": None, "parent_header": None}) == "sent"
    ledger.close()
    assert "send" not in vars(session)
    assert len(session.sent) == 2


def test_old_cells_go_first(monkeypatch):
    monkeypatch.setattr(module, "CELLS", 100)
    session = Session(sent=[])
    ledger = Ledger(session)
    for number in range(250):
        begun(session, number)
    assert [ran.count for ran in ledger] == list(range(150, 250))


def test_a_flood_keeps_head_and_tail():
    session = Session(sent=[])
    ledger = Ledger(session)
    parent = begun(session, 1)
    for number in range(2_000):
        session.send(None, "stream", {"name": "stdout", "text": f"{number} " * 200}, parent)
    (ran,) = ledger
    assert ran.size < module.STREAM * 1.1
    assert ran.outputs[0]["text"].startswith("0 0")
    assert ran.outputs[0]["text"].endswith("1999 ")


def test_all_cells_together_are_bounded_and_say_what_went(monkeypatch):
    monkeypatch.setattr(module, "ALL", 1_000_000)
    session = Session(sent=[])
    ledger = Ledger(session)
    for number in range(40):
        parent = begun(session, number)
        session.send(
            None, "display_data", {"data": {"text/html": "x" * 100_000}, "transient": {"display_id": "d"}}, parent
        )
        session.send(None, "execute_reply", {"status": "ok"}, parent)
    assert sum(ran.size for ran in ledger) <= 1_000_000
    assert next(iter(ledger)).dropped
    assert len(ledger._shown["d"]) == sum(bool(ran.outputs) for ran in ledger)
