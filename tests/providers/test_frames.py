"""Server-sent events become JSON objects, however they are cut, ended and decorated."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosh_nb.providers.sse import DONE, Frames, dumps


def read(*pieces: bytes) -> list:
    frames = Frames()
    found = [event for piece in pieces for event in frames.feed(piece)]
    return found + frames.flush()


def test_a_frame_with_an_event_line_and_one_without() -> None:
    assert read(b'event: x\ndata: {"a":1}\n\ndata:{"b":2}\n\n') == [{"a": 1}, {"b": 2}]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_every_line_end_of_the_specification_is_understood(end: bytes) -> None:
    stream = end.join([b"event: x", b'data: {"a":1}', b"", b": a comment", b"", b'data: {"b":2}', b"", b""])
    assert read(stream) == [{"a": 1}, {"b": 2}]


def test_several_data_lines_are_one_value() -> None:
    assert read(b'data: {"a":\ndata: 1}\nid: 7\n\n') == [{"a": 1}]


def test_fields_after_the_data_do_not_spoil_it() -> None:
    assert read(b'data: {"a":1}\nid: 7\nretry: 100\n\n') == [{"a": 1}]


def test_a_byte_order_mark_is_skipped() -> None:
    assert read(b'\xef\xbb\xbfdata: {"a":1}\n\n') == [{"a": 1}]


def test_done_is_told_from_everything_else() -> None:
    assert read(b"data: [DONE]\n\n")[0] is DONE


def test_the_last_frame_may_lack_its_blank_line() -> None:
    assert read(b'data: {"a":1}\n\ndata: {"b":2}') == [{"a": 1}, {"b": 2}]


def test_half_a_frame_at_the_end_is_dropped() -> None:
    assert read(b'data: {"a":1}\n\ndata: {"b":') == [{"a": 1}]


def test_a_comment_is_a_sign_of_life_and_nothing_else() -> None:
    frames = Frames()
    assert frames.feed(b": waiting\n\n") == []
    assert frames.seen == 1


@pytest.mark.parametrize("junk", [b"data: {oops\n\n", b'data: "text"\n\n', b"data: \xff\xfe\n\n", b"data: [1]\n\n"])
def test_what_came_before_a_bad_frame_is_given_and_nothing_after(junk: bytes) -> None:
    frames = Frames()
    assert frames.feed(b'data: {"a":1}\n\n' + junk + b'data: {"b":2}\n\n') == [{"a": 1}]
    assert frames.bad is not None


def test_a_lone_surrogate_is_replaced_and_the_frame_kept() -> None:
    assert read(b'data: {"text":"a\\ud83d b"}\n\n') == [{"text": "a\N{REPLACEMENT CHARACTER} b"}]


@given(
    events=st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=30), max_size=3), max_size=6),
    end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=20),
)
def test_however_a_stream_is_cut_it_reads_the_same(events: list, end: bytes, sizes: list[int]) -> None:
    clean = [json.loads(json.dumps(event)) for event in events]
    stream = b"".join(b"event: e\ndata: " + json.dumps(event).encode() + b"\n\n" for event in clean).replace(b"\n", end)
    pieces, at = [], 0
    while at < len(stream):
        size = sizes[len(pieces) % len(sizes)]
        pieces.append(stream[at : at + size])
        at += size
    scrubbed = json.loads(dumps(clean))
    assert read(*pieces) == scrubbed


def test_a_frame_of_a_megabyte_in_small_pieces_is_linear_work() -> None:
    frame = b'data: {"text":"' + b"x" * 1_000_000 + b'"}\n\n'
    frames = Frames()
    found = [event for at in range(0, len(frame), 100) for event in frames.feed(frame[at : at + 100])]
    assert len(found[0]["text"]) == 1_000_000


@pytest.mark.parametrize(
    ("value", "json_text"),
    [
        ({"a": "\ud83d"}, '{"a":"\N{REPLACEMENT CHARACTER}"}'),
        ({"a": 2**70}, f'{{"a":{2**70}}}'),
        ({"a": ("x", None)}, '{"a":["x",null]}'),
    ],
)
def test_whatever_a_person_puts_in_can_be_sent(value: object, json_text: str) -> None:
    assert dumps(value).decode() == json_text
