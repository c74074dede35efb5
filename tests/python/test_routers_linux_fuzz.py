"""Bytes that no kernel would send end in one clear error, or in what can be read of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlink_reference import ANSWERS
from vermilion.files.document import as_json
from vermilion.routers.linux.discovery import discover
from vermilion.routers.linux.kinds import KINDS
from vermilion.routers.linux.message import (
    ERROR,
    KIND,
    OPTIONS,
    STATISTICS,
    AnswerError,
    Message,
    QueueMessage,
    parse_attributes,
    parse_link,
    parse_messages,
    parse_queue,
    parse_refusal,
)
from vermilion.routers.linux.options import Surroundings
from vermilion.routers.linux.state import Interface, parse_interface, parse_statistics, queue_state

PAYLOADS = [bytes.fromhex(each["payload"]) for each in ANSWERS]


def reads_or_says_why(read, data):
    """What is read; ``None`` after the one error that is allowed."""
    try:
        return read(data)
    except AnswerError as error:
        message = str(error)
        assert message.startswith("the kernel's answer cannot be read: ")
        assert message.isprintable()
        return None


def whole_queue(data):
    """Everything that is done with a queue that the kernel has described."""
    state = queue_state(parse_queue(data))
    around = Surroundings(1514)
    state.options.parameters(around)
    state.options.words()
    state.options.marked(state.counters)
    interface = Interface(state.interface, "any", up=True, mtu=1500, maximum_packet_bytes=1514)
    for found in discover([interface], [state]):
        as_json(found)
    return state


READERS = {
    "messages": parse_messages,
    "attributes": lambda data: parse_attributes(data, "anything"),
    "queue": whole_queue,
    "link": parse_link,
    "interface": parse_interface,
    "statistics": parse_statistics,
    "refusal": lambda data: parse_refusal(Message(ERROR, 0x300, 1, data)),
    "long refusal": lambda data: parse_refusal(Message(ERROR, 0x200, 1, data)),
}


@pytest.mark.parametrize("reader", READERS)
@given(data=st.binary(max_size=300))
def test_random_bytes_never_crash_a_reader(reader, data):
    reads_or_says_why(READERS[reader], data)


@pytest.mark.parametrize("kind", KINDS)
@given(options=st.binary(max_size=100), counters=st.binary(max_size=100))
def test_random_options_never_crash_a_kind(kind, options, counters):
    form = KINDS[kind]

    def read(data):
        return form.decode(data)

    found = reads_or_says_why(read, options)
    if found is not None:
        found.words()
        found.parameters(Surroundings())
        found.numbers()
    reads_or_says_why(form.counters, counters)


@given(st.data())
def test_an_answer_with_wrong_bytes_never_crashes(data):
    payload = bytearray(data.draw(st.sampled_from(PAYLOADS)))
    for _ in range(data.draw(st.integers(1, 6))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(payload)))
    reads_or_says_why(whole_queue, bytes(payload))
    reads_or_says_why(whole_queue, bytes(payload[:cut]))


@pytest.mark.parametrize("payload", PAYLOADS, ids=[each["queue"] for each in ANSWERS])
def test_an_answer_that_is_cut_off_anywhere_is_refused_or_has_fewer_attributes(payload):
    whole = set(parse_queue(payload).attributes)
    for length in range(len(payload)):
        found = reads_or_says_why(parse_queue, payload[:length])
        assert found is None or set(found.attributes) < whole


@pytest.mark.parametrize(
    ("attributes", "part"),
    [
        ({}, "queue: it has no kind"),
        ({KIND: b"\0"}, "queue: an empty name"),
        ({KIND: b"red\0", OPTIONS: b"\x08\0\1\0abcd"}, "red parameters: it has 4 bytes"),
        ({KIND: b"pie\0", OPTIONS: b"\x07\0\1\0abc\0"}, "pie target_us: a number of 3 bytes"),
        ({KIND: b"pie\0", OPTIONS: b"\2\0\1\0"}, "the attribute at byte 0 says that it has 2 of 4"),
        ({KIND: b"pie\0", STATISTICS: b"\x08\0\1\0abcd"}, "statistics: it has 4 bytes"),
    ],
)
def test_the_error_says_where_and_what(attributes, part):
    with pytest.raises(AnswerError) as error:
        queue_state(QueueMessage(1, 1 << 16, 0xFFFFFFFF, attributes))
    assert part in str(error.value)


def test_a_kinds_name_that_would_colour_a_terminal_is_only_data():
    state = queue_state(QueueMessage(1, 1 << 16, 0xFFFFFFFF, {KIND: b"\x1b[31mred\0"}))
    assert state.options.discipline is None


def test_the_kernels_words_are_shown_without_what_could_break_a_line():
    told = b"\xff\xff\xff\xff" + bytes(16) + b"\x09\0\1\0a\nb\x1bc\0\0\0"
    refusal = parse_refusal(Message(ERROR, 0x300, 1, told))
    assert refusal.text == "a?b?c"
