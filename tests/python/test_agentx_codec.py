"""AgentX's octets, against the layouts of RFC 2741 worked by hand."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vermilion.agentx.codec import LARGEST_PAYLOAD, MessageStream, ParseError, decode, encode
from vermilion.agentx.protocol import (
    Binding,
    CleanupSet,
    Close,
    CommitSet,
    Get,
    GetBulk,
    GetNext,
    Header,
    Message,
    Notify,
    Open,
    Ping,
    Register,
    Response,
    SearchRange,
    TestSet,
    UndoSet,
    Unregister,
    ValueType,
)

SYS_DESCRIPTION = (1, 3, 6, 1, 2, 1, 1, 1, 0)

# Each by hand from the drawing in the section named; spaces and lines as the drawings have them.
BY_HAND = {
    # 6.2.1, network byte order: time-out 5, no identity (5.1: the null identifier), "ab"
    "open": (
        (
            "01 01 10 00  00000000 00000000 00000001 00000010"
            "05 000000  00 00 00 00  00000002 6162 0000"
        ),
        Message(Header(1, packet=1), Open(5, (), b"ab")),
    ),
    # 6.2.2: shutdown
    "close": (
        "01 02 10 00  0000000a 00000000 00000002 00000004  05 000000",
        Message(Header(2, 10, 0, 2), Close(5)),
    ),
    # 6.2.3: the prefix of 5.1 takes 1.3.6.1.2 away, so that of mib-2.97 two numbers are left
    "register": (
        (
            "01 03 10 00  0000000a 00000000 00000003 00000010"
            "00 7f 00 00  02 02 00 00  00000001 00000061"
        ),
        Message(Header(3, 10, 0, 3), Register(0, 127, 0, (1, 3, 6, 1, 2, 1, 97))),
    ),
    # 6.2.3 with a range in the 7th number, up to 9, of an instance in the context "x"
    "register a range": (
        (
            "01 03 19 00  0000000a 00000000 00000004 0000001c"
            "00000001 78 000000  00 7f 07 00  02 02 00 00  00000001 00000003  00000009"
        ),
        Message(
            Header(3, 10, 0, 4, context=b"x", instance=True),
            Register(0, 127, 7, (1, 3, 6, 1, 2, 1, 3), 9),
        ),
    ),
    # 6.2.4
    "unregister": (
        (
            "01 04 10 00  0000000a 00000000 00000005 00000010"
            "00 7f 00 00  02 02 00 00  00000001 00000061"
        ),
        Message(Header(4, 10, 0, 5), Unregister(127, 0, (1, 3, 6, 1, 2, 1, 97))),
    ),
    # 6.2.5, host order of a little-endian machine: sysDescr.0, and no end
    "get, least octet first": (
        (
            "01 05 00 00  0a000000 07000000 06000000 18000000"
            "04 02 00 00  01000000 01000000 01000000 00000000  00 00 00 00"
        ),
        Message(Header(5, 10, 7, 6, network_order=False), Get((SearchRange(SYS_DESCRIPTION),))),
    ),
    # 6.2.6: "include" on, from 1.3.6.1.2.1.25.2 up to 1.3.6.1.2.1.25.2.1 (the example of 5.2)
    "get next": (
        (
            "01 06 10 00  0000000a 00000007 00000007 00000024"
            "03 02 01 00  00000001 00000019 00000002"
            "04 02 00 00  00000001 00000019 00000002 00000001"
        ),
        Message(
            Header(6, 10, 7, 7),
            GetNext(
                (
                    SearchRange(
                        (1, 3, 6, 1, 2, 1, 25, 2), include=True, end=(1, 3, 6, 1, 2, 1, 25, 2, 1)
                    ),
                )
            ),
        ),
    ),
    # 6.2.7: one non-repeater, ten repetitions
    "get bulk": (
        "01 07 10 00  0000000a 00000007 00000008 0000000c  0001 000a  00 04 00 00  00 00 00 00",
        Message(Header(7, 10, 7, 8), GetBulk(1, 10, (SearchRange((1, 3, 6, 1, 4)),))),
    ),
    # 6.2.8, values as of 5.4: -2, "abc", a Counter64, an identifier without a prefix
    "test set": (
        (
            "01 08 10 00  0000000a 00000007 00000009 00000064"
            "0002 0000  01 04 00 00 00000001  fffffffe"
            "0004 0000  01 04 00 00 00000002  00000003 616263 00"
            "0046 0000  01 04 00 00 00000003  0000000100000002"
            "0006 0000  01 04 00 00 00000004  02 00 00 00 00000000 00000000"
            "0040 0000  01 04 00 00 00000005  00000004 7f000001"
        ),
        Message(
            Header(8, 10, 7, 9),
            TestSet(
                (
                    Binding((1, 3, 6, 1, 4, 1), ValueType.INTEGER, -2),
                    Binding((1, 3, 6, 1, 4, 2), ValueType.OCTET_STRING, b"abc"),
                    Binding((1, 3, 6, 1, 4, 3), ValueType.COUNTER64, 2**32 + 2),
                    Binding((1, 3, 6, 1, 4, 4), ValueType.OBJECT_IDENTIFIER, (0, 0)),
                    Binding((1, 3, 6, 1, 4, 5), ValueType.IP_ADDRESS, b"\x7f\0\0\1"),
                )
            ),
        ),
    ),
    # 6.2.9: headers alone
    "commit": ("01 09 10 00  0000000a 00000007 0000000a 00000000", CommitSet()),
    "undo": ("01 0a 10 00  0000000a 00000007 0000000a 00000000", UndoSet()),
    "clean up": ("01 0b 10 00  0000000a 00000007 0000000a 00000000", CleanupSet()),
    "ping": ("01 0d 10 00  0000000a 00000007 0000000a 00000000", Ping()),
    # 6.2.10
    "notify": (
        "01 0c 10 00  0000000a 00000000 0000000b 000000100042 0000  01 04 00 00 00000001  ffffffff",
        Message(
            Header(12, 10, 0, 11),
            Notify((Binding((1, 3, 6, 1, 4, 1), ValueType.GAUGE32, 2**32 - 1),)),
        ),
    ),
    # 6.2.16: an answer with "no such instance" (129) and one with an error and nothing else
    "response": (
        (
            "01 12 10 00  0000000a 00000007 0000000c 00000014"
            "00000000 0000 0000  0081 0000  01 04 00 00 00000001"
        ),
        Message(
            Header(18, 10, 7, 12),
            Response(0, 0, 0, (Binding((1, 3, 6, 1, 4, 1), ValueType.NO_SUCH_INSTANCE),)),
        ),
    ),
    "refusal": (
        "01 12 10 00  0000000a 00000007 0000000d 00000008  00000010 000c 0002",
        Message(Header(18, 10, 7, 13), Response(16, 12, 2)),
    ),
}


def octets_and_message(name):
    text, message = BY_HAND[name]
    if not isinstance(message, Message):
        message = Message(Header(message.number, 10, 7, 10), message)
    return bytes.fromhex(text), message


@pytest.mark.parametrize("name", BY_HAND)
def test_messages_are_the_octets_that_the_drawings_of_the_rfc_give(name):
    octets, message = octets_and_message(name)
    assert encode(message) == octets
    assert decode(octets) == message


NUMBERS = st.integers(0, 2**32 - 1)
NAMES = st.one_of(
    st.lists(NUMBERS, max_size=12).map(tuple),
    st.lists(NUMBERS, max_size=12).map(lambda rest: (1, 3, 6, 1, *rest)),
)
RANGES = st.lists(st.builds(SearchRange, NAMES, st.booleans(), NAMES), max_size=4).map(tuple)
VALUES = st.one_of(
    st.tuples(st.just(ValueType.INTEGER), st.integers(-(2**31), 2**31 - 1)),
    st.tuples(
        st.sampled_from([ValueType.COUNTER32, ValueType.GAUGE32, ValueType.TIME_TICKS]), NUMBERS
    ),
    st.tuples(st.just(ValueType.COUNTER64), st.integers(0, 2**64 - 1)),
    st.tuples(st.sampled_from([ValueType.OCTET_STRING, ValueType.OPAQUE]), st.binary(max_size=9)),
    st.tuples(st.just(ValueType.IP_ADDRESS), st.binary(min_size=4, max_size=4)),
    st.tuples(st.just(ValueType.OBJECT_IDENTIFIER), NAMES),
    st.tuples(st.sampled_from([ValueType.NULL, ValueType.END_OF_MIB_VIEW]), st.none()),
)
BINDINGS = st.lists(
    st.builds(lambda name, value: Binding(name, *value), NAMES, VALUES), max_size=4
).map(tuple)
OCTET = st.integers(0, 255)
SHORT = st.integers(0, 65_535)


def registering(kind):
    def with_range(*fields):
        *head, range_subid, subtree, upper = fields
        return kind(*head, range_subid, subtree, upper if range_subid else None)

    head = (OCTET, OCTET) if kind is Register else (OCTET,)
    return st.builds(with_range, *head, OCTET, NAMES, NUMBERS)


BODIES = st.one_of(
    st.builds(Open, OCTET, NAMES, st.binary(max_size=9)),
    st.builds(Close, OCTET),
    registering(Register),
    registering(Unregister),
    st.builds(Get, RANGES),
    st.builds(GetNext, RANGES),
    st.builds(GetBulk, SHORT, SHORT, RANGES),
    st.builds(TestSet, BINDINGS),
    st.sampled_from([CommitSet(), UndoSet(), CleanupSet(), Ping()]),
    st.builds(Notify, BINDINGS),
    st.builds(Response, NUMBERS, SHORT, SHORT, BINDINGS),
)
WITH_CONTEXT = (Register, Unregister, Get, GetNext, GetBulk, TestSet, Notify, Ping)


@st.composite
def messages(draw):
    body = draw(BODIES)
    context = draw(st.none() | st.binary(max_size=5)) if isinstance(body, WITH_CONTEXT) else None
    ids = draw(st.tuples(NUMBERS, NUMBERS, NUMBERS))
    order, instance = draw(st.booleans()), draw(st.booleans())
    header = Header(body.number, *ids, network_order=order, context=context, instance=instance)
    return Message(header, body)


@given(messages())
def test_every_message_comes_back_in_both_byte_orders(message):
    assert decode(encode(message)) == message


@given(st.lists(messages(), max_size=4), st.data())
def test_messages_are_found_however_the_stream_is_split(sent, data):
    octets = b"".join(encode(each) for each in sent)
    stream, found = MessageStream(), []
    while octets:
        size = data.draw(st.integers(1, len(octets)))
        found += stream.feed(octets[:size])
        octets = octets[size:]
    assert found == sent


@given(st.binary(max_size=200))
def test_no_octets_do_more_than_be_refused(octets):
    with suppress(ParseError):
        assert encode(decode(octets))


@given(messages(), st.data())
def test_damaged_messages_are_refused_or_read(message, data):
    octets = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 4))):
        octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(OCTET)
    with suppress(ParseError):
        for each in MessageStream().feed(bytes(octets)):
            if isinstance(each, Message):
                assert decode(encode(each)) == each


@given(messages(), st.data())
def test_a_message_that_is_cut_short_is_waited_for(message, data):
    octets = encode(message)
    assert MessageStream().feed(octets[: data.draw(st.integers(0, len(octets) - 1))]) == []


@pytest.mark.parametrize(
    ("octets", "words"),
    [
        ("02 0d 10 00" + "00" * 16, "version 2"),
        ("01 0d 10 00" + "00" * 12 + "00000003", "a multiple of 4"),
        ("01 0d 10 00" + "00" * 12 + "7ffffffc", f"up to {LARGEST_PAYLOAD}"),
        ("01 0d 10 00" + "00" * 12 + "00000004 00000000", "4 octets are left over"),
        ("01 63 10 00" + "00" * 16, "kind 99"),
        ("01 02 10 00" + "00" * 16, "in the middle of a number"),
        ("01 05 10 00" + "00" * 12 + "00000004 ff020000", "255 numbers"),
        ("01 05 10 00" + "00" * 12 + "00000008 00000200 00000000", '"include" is 2'),
        ("01 08 10 00" + "00" * 12 + "00000008 00030000 00000000", "type 3"),
        (
            "01 08 10 00" + "00" * 12 + "00000010 00040000 00000000 7fffffff 00000000",
            "a string of 2147483647 octets",
        ),
        (
            "01 08 10 00" + "00" * 12 + "00000010 00400000 00000000 00000003 00000000",
            "an address of 3 octets",
        ),
    ],
)
def test_what_is_wrong_is_said(octets, words):
    with pytest.raises(ParseError, match=words):
        decode(bytes.fromhex(octets))
