"""Faults on a real socket: what is retried, what is said, and that nothing shown is ever shown twice."""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from cosh_nb.errors import AuthError, ContextOverflow, ProviderError, StreamCut
from cosh_nb.events import MessageStart, TextDelta, Waiting
from cosh_nb.messages import user
from cosh_nb.providers.anthropic import AnthropicProvider
from cosh_nb.providers.base import Request
from cosh_nb.providers.faults import redact
from cosh_nb.providers.keys import Key
from support.asking import QUICK, SECRET, ask, ask_and_fail, chat, claude, end, prose
from support.modelserver import ModelServer, Whole, anthropic_events, call, frames, raw, status, text, turn

CERTIFICATE = Path(__file__).parent / "certificate.pem"


async def failure(provider, *messages, **more) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await ask(provider, *messages, **more)
    assert SECRET not in f"{caught.value} {caught.value.detail} {caught.value!r} {caught.value.__cause__!r}"
    return caught.value


# -- what is tried again ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [408, 409, 429, 500, 503, 529])
async def test_a_status_that_may_pass_is_tried_again_and_the_cell_says_so(model_server: ModelServer, code: int) -> None:
    model_server.script(status(code, times=2), "At last.")
    events = await ask(claude(model_server))
    waits = [event for event in events if isinstance(event, Waiting)]
    assert [wait.attempt for wait in waits] == [1, 2]
    assert all("trying again" in wait.why and wait.seconds is not None for wait in waits)
    assert prose(events) == "At last."


async def test_the_wait_is_the_one_that_the_service_asks_for(model_server: ModelServer) -> None:
    model_server.script(status(429, headers={"retry-after-ms": "150"}), "Now.")
    events = await ask(claude(model_server))
    assert Waiting("rate limited; trying again", 0.15, 1) in events
    first, second = model_server.seen
    assert second.at - first.at >= 0.15


async def test_the_wait_may_be_a_date(model_server: ModelServer) -> None:
    when = datetime.now(UTC) + timedelta(seconds=2)
    model_server.script(status(529, headers={"retry-after": format_datetime(when, usegmt=True)}), "Now.")
    events = await ask(claude(model_server))
    (wait,) = [event for event in events if isinstance(event, Waiting)]
    assert wait.seconds is not None
    assert 0 < wait.seconds <= 2


async def test_a_service_that_asks_for_an_hour_is_not_waited_for(model_server: ModelServer) -> None:
    model_server.script(status(429, headers={"retry-after": "3600"}))
    error = await failure(claude(model_server))
    assert "limits how often" in str(error)
    assert len(model_server.seen) == 1


async def test_x_should_retry_false_ends_it(model_server: ModelServer) -> None:
    model_server.script(status(529, headers={"x-should-retry": "false"}))
    await failure(claude(model_server))
    assert len(model_server.seen) == 1


async def test_x_should_retry_true_tries_again_what_would_stay(model_server: ModelServer) -> None:
    model_server.script(status(400, {"error": {"message": "shard moved"}}, headers={"x-should-retry": "true"}), "Yes.")
    assert prose(await ask(claude(model_server))) == "Yes."


async def test_the_retries_end(model_server: ModelServer) -> None:
    model_server.script(status(529, times=99))
    error = await failure(claude(model_server))
    assert "HTTP 529" in str(error)
    assert len(model_server.seen) == QUICK.retries + 1


async def test_money_that_ran_out_does_not_come_back_by_asking(model_server: ModelServer) -> None:
    body = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    model_server.script(status(429, body))
    assert "no credit left" in str(await failure(chat(model_server)))
    assert len(model_server.seen) == 1


async def test_a_connection_torn_before_anything_was_shown_is_tried_again(model_server: ModelServer) -> None:
    model_server.script(turn(text("lost"), drop_after=0), turn(text("lost"), drop_after=1), "Whole.")
    events = await ask(claude(model_server))
    assert prose(events) == "Whole."
    assert sum(isinstance(event, MessageStart) for event in events) == 1


async def test_an_overload_told_inside_the_stream_before_anything_was_shown_is_tried_again(
    model_server: ModelServer,
) -> None:
    model_server.script(turn(text("x"), error_after=(1, "overloaded_error", "Overloaded")), "Whole.")
    events = await ask(claude(model_server))
    assert prose(events) == "Whole."
    assert any(isinstance(event, Waiting) and "overloaded" in event.why for event in events)


async def test_a_silence_before_the_first_event_is_tried_again(model_server: ModelServer) -> None:
    model_server.script(turn(text("never"), stall_after=0), "Awake.")
    events = await ask(claude(model_server, patience=replace(QUICK, first=0.2)))
    assert prose(events) == "Awake."


# -- what is not tried again ----------------------------------------------------------------------------------------


async def shown_then_failed(provider) -> tuple[str, ProviderError]:
    events, error = await ask_and_fail(provider)
    return prose(events), error


async def test_after_a_word_was_shown_a_torn_connection_is_an_error(model_server: ModelServer) -> None:
    model_server.script(turn(text("shown, then lost", chunk=5), drop_after=4), "never asked for")
    shown, error = await shown_then_failed(claude(model_server))
    assert shown == "shown"
    assert "broke off" in str(error)
    assert model_server.unplayed == 1


async def test_a_stream_without_its_terminal_event_is_cut(model_server: ModelServer) -> None:
    model_server.script(turn(text("shown, and no end", chunk=100), cut_after=5))
    shown, error = await shown_then_failed(claude(model_server))
    assert shown == "shown, and no end"
    assert isinstance(error, StreamCut)
    assert "not complete" in str(error)


async def test_a_silence_in_the_middle_ends_it_and_is_put_into_words_before(model_server: ModelServer) -> None:
    model_server.script(turn(text("shown", chunk=5), stall_after=4))
    provider = claude(model_server, patience=replace(QUICK, between=0.5, say_every=0.2))
    said, error = await ask_and_fail(provider)
    assert "sent nothing for" in str(error)
    assert sum(isinstance(event, Waiting) and event.why.startswith("no answer for") for event in said) == 2
    assert len(model_server.seen) == 1


async def test_an_error_event_after_a_word_shows_its_sentence(model_server: ModelServer) -> None:
    model_server.script(turn(text("shown", chunk=5), error_after=(4, "overloaded_error", "Overloaded")))
    shown, error = await shown_then_failed(claude(model_server))
    assert shown == "shown"
    assert "Overloaded" in str(error)
    assert error.status == 529


@pytest.mark.parametrize("junk", [b"data: {not json\n\n", b"data: \xff\xfe{}\n\n", b'data: ["a list"]\n\n'])
async def test_junk_in_the_middle_is_an_error_after_what_was_good(model_server: ModelServer, junk: bytes) -> None:
    model_server.script(turn(text("good", chunk=4), inject=(4, junk)))
    shown, error = await shown_then_failed(claude(model_server))
    assert shown == "good"
    assert "not understood" in str(error)


# -- the sentences --------------------------------------------------------------------------------------------------


async def test_a_wrong_key_names_its_variable_and_never_the_key(model_server: ModelServer) -> None:
    said = f"invalid x-api-key: {SECRET}"
    model_server.script(status(401, {"error": {"type": "authentication_error", "message": said}}))
    error = await failure(claude(model_server))
    assert isinstance(error, AuthError)
    assert "ANTHROPIC_API_KEY" in str(error)
    assert "getpass" in str(error)


async def test_a_masked_key_in_the_answer_is_not_repeated_either(model_server: ModelServer) -> None:
    model_server.script(status(401, {"error": {"message": "Incorrect API key provided: sk-ant-v***************6789."}}))
    error = await failure(chat(model_server))
    assert "6789" not in f"{error}{error.detail}"
    assert "OPENAI_API_KEY" in str(error)


async def test_a_key_echoed_in_the_middle_of_a_stream_is_not_shown(model_server: ModelServer) -> None:
    model_server.script(turn(text("x"), error_after=(5, "invalid_request_error", "key gateway-key-abc is expired")))
    provider = AnthropicProvider("m", Key("gateway-key-abc"), model_server.url, patience=QUICK)
    _, error = await ask_and_fail(provider)
    assert "gateway-key-abc" not in f"{error}{error.detail}"
    assert "is expired" in str(error)


def test_words_about_keys_are_not_taken_for_keys() -> None:
    said = "Incorrect API key provided. Your key needs access, use Bearer authentication."
    assert redact(said) == said
    assert redact("Bearer abc123def456 and sk-proj-*****xyz") == "[key] and [key]"


async def test_a_forbidden_model_says_what_to_do(model_server: ModelServer) -> None:
    model_server.script(status(403, {"error": {"message": "no access"}}))
    error = await failure(claude(model_server, model="claude-mythos-5-2"))
    assert isinstance(error, AuthError)
    assert "claude-mythos-5-2" in str(error)


async def test_an_unknown_model_says_how_to_see_the_known_ones(model_server: ModelServer) -> None:
    model_server.script(status(404, {"error": {"type": "not_found_error", "message": "model: claude-9"}}))
    error = await failure(claude(model_server, model="claude-9"))
    assert "'claude-9'" in str(error)
    assert "%cosh /model lists" in str(error)
    assert error.status == 404


async def test_an_address_without_a_model_service_says_so(model_server: ModelServer) -> None:
    provider = AnthropicProvider("m", Key(SECRET, "x-api-key"), f"{model_server.url}/wrong", patience=QUICK)
    model_server.script(status(404, "<html>nginx</html>"))
    error = await failure(provider)
    assert "no model service at" in str(error)
    assert "ANTHROPIC_BASE_URL" in str(error)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (413, "Request exceeds the maximum size"),
        (400, "prompt is too long: 210000 tokens > 200000 maximum"),
        (400, "This model's maximum context length is 131072 tokens."),
        (400, "the request exceeds the available context size (4096 tokens)"),
        (400, "Range of input length should be [1, 30720]"),
    ],
)
async def test_a_conversation_that_is_too_long_has_its_own_error(
    model_server: ModelServer, code: int, message: str
) -> None:
    model_server.script(status(code, {"error": {"message": message}}))
    error = await failure(claude(model_server))
    assert isinstance(error, ContextOverflow)
    assert "/compact" in str(error)


async def test_an_address_where_nothing_listens(model_server: ModelServer) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    provider = AnthropicProvider("m", Key(SECRET, "x-api-key"), f"http://127.0.0.1:{port}", patience=QUICK)
    events, error = await ask_and_fail(provider)
    assert f"Nothing answers at http://127.0.0.1:{port}" in str(error)
    assert "ANTHROPIC_BASE_URL" in str(error)
    assert len(events) == QUICK.reconnects


async def test_a_host_that_does_not_exist() -> None:
    provider = AnthropicProvider(
        "m", Key(SECRET), "https://no-such-host.invalid", patience=replace(QUICK, reconnects=0)
    )
    assert "'no-such-host.invalid' was not found" in str(await failure(provider))


@pytest.mark.parametrize("url", ["ftp://x", "127.0.0.1:8000", "http://[::1"])
async def test_a_base_url_that_is_none(url: str) -> None:
    error = await failure(AnthropicProvider("m", Key(SECRET), url, patience=QUICK))
    assert "no address of a model service" in str(error)


async def test_an_address_with_a_password_does_not_show_it(model_server: ModelServer) -> None:
    url = model_server.url.replace("//", f"//me:{SECRET}@")
    model_server.script(status(400, {"error": {"message": "no"}}))
    error = await failure(AnthropicProvider("m", Key(), url, patience=QUICK))
    assert "127.0.0.1" in error.detail


async def test_a_web_page_instead_of_a_stream_is_named(model_server: ModelServer) -> None:
    page = b"<html><head><title>Corporate sign in</title></head><body>...</body></html>"
    model_server.script(raw(page, content_type="text/html"))
    error = await failure(claude(model_server))
    assert "'Corporate sign in'" in str(error)
    assert "proxy" in str(error)


async def test_json_instead_of_a_stream_is_named(model_server: ModelServer) -> None:
    model_server.script(raw(b'{"id":"msg"}', content_type="application/json"))
    assert "application/json" in str(await failure(claude(model_server)))


async def test_a_redirect_says_which_address_to_set(model_server: ModelServer) -> None:
    model_server.script(Whole(307, b"", "text/plain", {"location": "https://new.example/v1/messages"}))
    error = await failure(claude(model_server))
    assert "https://new.example/v1/messages" in str(error)


async def test_a_server_without_tool_parser_says_how_to_start_it(model_server: ModelServer) -> None:
    said = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    model_server.script(status(400, {"object": "error", "message": said}))
    assert "vLLM needs --enable-auto-tool-choice" in str(await failure(chat(model_server)))


@pytest.mark.parametrize("key", ["sk-ant-abc\nsecond line", "sk-ant-abc…", "“sk-ant-quoted”"])
async def test_a_key_that_cannot_be_sent_is_not_sent_and_not_shown(model_server: ModelServer, key: str) -> None:
    provider = AnthropicProvider("m", Key(key, "x-api-key"), model_server.url, patience=QUICK)
    error = await failure(provider)
    assert "Copy it again" in str(error)
    assert "sk-ant" not in f"{error}{error.detail}"
    assert not model_server.seen


# -- connections ----------------------------------------------------------------------------------------------------


async def test_one_connection_serves_all_turns(model_server: ModelServer) -> None:
    provider = claude(model_server)
    model_server.script("One.", [text("Two."), call("Read", {})], "Three.")
    for _ in range(3):
        async for event in provider.stream(Request([user("hi")])):
            if event.kind == "message_end":
                break  # as the loop does: the rest of the body is read behind its back
        await asyncio.sleep(0.05)
    await provider.close()
    assert len(model_server.seen) == 3
    assert model_server.connections == 1


async def test_closing_the_iterator_hangs_up_at_once(model_server: ModelServer) -> None:
    model_server.script(turn(text("shown", chunk=5), stall_after=4))
    provider = claude(model_server)
    stream = provider.stream(Request([user("hi")]))
    async for event in stream:
        if isinstance(event, TextDelta):
            break
    started = time.monotonic()
    await stream.aclose()
    assert time.monotonic() - started < 0.5
    await asyncio.to_thread(model_server.wait_left, 1, 2)
    await provider.close()


async def test_cancelling_while_it_waits_to_try_again_ends_it_at_once(model_server: ModelServer) -> None:
    model_server.script(status(429, headers={"retry-after": "60"}))
    provider = claude(model_server)
    task = asyncio.create_task(ask(provider))
    await asyncio.to_thread(model_server.wait_for, 1)
    await asyncio.sleep(0.05)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 0.5


async def test_a_server_on_this_machine_is_reached_past_any_proxy(
    model_server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    model_server.script("Direct.")
    assert prose(await ask(claude(model_server))) == "Direct."


async def test_a_gateway_that_compresses_is_read(model_server: ModelServer) -> None:
    whole = b"".join(anthropic_events(turn(text("Small on the wire.")), "m", 0, "1"))
    model_server.script(Whole(200, gzip.compress(whole), "text/event-stream", {"content-encoding": "gzip"}))
    assert prose(await ask(claude(model_server))) == "Small on the wire."


async def test_a_flood_waits_for_a_slow_reader_and_loses_nothing(model_server: ModelServer) -> None:
    words = "word " * 300_000
    model_server.script(turn(text(words, chunk=1000), group=50))
    provider, got = claude(model_server), []
    async for event in provider.stream(Request([user("hi")])):
        if isinstance(event, TextDelta):
            got.append(event.text)
            if len(got) % 200 == 0:
                await asyncio.sleep(0.01)
    await provider.close()
    assert "".join(got) == words


async def test_two_answers_at_once_do_not_mix(model_server: ModelServer) -> None:
    model_server.answer(lambda request: turn(text(request["messages"][0]["content"][0]["text"] * 50), pause=0.001))
    provider = claude(model_server)

    async def one(letter: str) -> str:
        return prose([event async for event in provider.stream(Request([user(letter)]))])

    assert await asyncio.gather(one("a"), one("b"), one("c")) == ["a" * 50, "b" * 50, "c" * 50]
    await provider.close()


async def test_events_of_a_later_service_are_skipped(model_server: ModelServer) -> None:
    known = anthropic_events(turn(text("Known.")), "m", 0, "1")
    model_server.script(frames({"type": "weather_report", "sun": True}, *known))
    events = await ask(claude(model_server))
    assert prose(events) == "Known."
    assert end(events).stop_reason == "end_turn"


# -- TLS ------------------------------------------------------------------------------------------------------------


async def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

        def shake_hands() -> None:
            connection, _ = listener.accept()
            with connection, pytest.raises((ssl.SSLError, OSError)), context.wrap_socket(connection, server_side=True):
                raise OSError("the client went on")

        thread = threading.Thread(target=shake_hands)
        thread.start()
        error = await failure(AnthropicProvider("m", Key(SECRET), f"https://127.0.0.1:{port}", patience=QUICK))
        thread.join(5)
        assert not thread.is_alive()
    assert "certificate" in str(error)
    assert "SSL_CERT_FILE" in str(error)


async def test_https_to_a_server_that_speaks_http() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer_plainly() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

        thread = threading.Thread(target=answer_plainly)
        thread.start()
        url = f"https://127.0.0.1:{listener.getsockname()[1]}"
        error = await failure(AnthropicProvider("m", Key(SECRET), url, patience=QUICK))
        thread.join(5)
        assert not thread.is_alive()
    assert "does not speak https" in str(error)
