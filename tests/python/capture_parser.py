"""An independent reader of captures, for tests: pcapng, Ethernet, IPv4, TCP, UDP by their RFCs."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field


@dataclass
class Seen:
    """A packet at an interface."""

    interface: str
    time_ns: int
    captured: int
    length: int
    comment: str
    source: str
    target: str
    protocol: int
    ecn: int
    ip_length: int
    source_port: int = 0
    target_port: int = 0
    sequence: int = 0
    acknowledgement: int = 0
    flags: int = 0
    payload: int = 0
    options: dict[int, bytes] = field(default_factory=dict)

    @property
    def timestamps(self):
        """Value and echo, in microseconds."""
        return struct.unpack(">II", self.options[8]) if 8 in self.options else None

    @property
    def blocks(self):
        """The stretches of a selective acknowledgement."""
        raw = self.options.get(5, b"")
        return [struct.unpack(">II", raw[at : at + 8]) for at in range(0, len(raw), 8)]


def ones_complement(data: bytes) -> int:
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def options_of(raw: bytes, order: str = "<"):
    found, at = {}, 0
    while at + 4 <= len(raw):
        code, length = struct.unpack_from(f"{order}HH", raw, at)
        if code == 0:
            break
        found[code] = raw[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
    return found


def tcp_options(raw: bytes):
    found, at = {}, 0
    while at < len(raw):
        kind = raw[at]
        if kind == 0:
            break
        if kind == 1:
            at += 1
            continue
        length = raw[at + 1]
        assert length >= 2
        assert at + length <= len(raw)
        assert kind not in found
        found[kind] = raw[at + 2 : at + length]
        at += length
    return found


def read_pcapng(data: bytes):
    """Every packet of a file, checked."""
    interfaces, packets, at = [], [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, at + length - 4)[0] == length
        body = data[at + 8 : at + length - 4]
        if kind == 0x0A0D0D0A:
            assert struct.unpack_from("<IHH", body) == (0x1A2B3C4D, 1, 0)
        elif kind == 1:
            link, _, _ = struct.unpack_from("<HHI", body)
            options = options_of(body[8:])
            assert link == 1
            assert options[9] == b"\x09"
            interfaces.append(options[2].decode())
        elif kind == 6:
            number, high, low, captured, whole = struct.unpack_from("<IIIII", body)
            padded = (captured + 3) // 4 * 4
            comment = options_of(body[20 + padded :]).get(1, b"").decode()
            frame = body[20 : 20 + captured]
            time = high << 32 | low
            packets.append(_frame(frame, interfaces[number], time, whole, comment))
        else:
            raise AssertionError(kind)
        at += length
    assert at == len(data)
    return interfaces, packets


def _frame(frame: bytes, interface: str, time: int, whole: int, comment: str) -> Seen:
    assert frame[12:14] == b"\x08\x00"
    internet = frame[14:34]
    assert internet[0] == 0x45
    assert ones_complement(internet) == 0xFFFF
    (length,) = struct.unpack_from(">H", internet, 2)
    assert whole >= length + 14  # what is behind the IP packet is padding
    seen = Seen(
        interface,
        time,
        len(frame),
        whole,
        comment,
        ".".join(map(str, internet[12:16])),
        ".".join(map(str, internet[16:20])),
        internet[9],
        internet[1] & 3,
        length,
    )
    # What was cut off behind the headers is zeros.
    carried = (frame + bytes(whole - len(frame)))[34 : 14 + length]
    pseudo = internet[12:20] + struct.pack(">BBH", 0, seen.protocol, len(carried))
    assert ones_complement(pseudo + carried) == 0xFFFF
    seen.source_port, seen.target_port = struct.unpack_from(">HH", carried)
    if seen.protocol == 17:
        assert struct.unpack_from(">H", carried, 4)[0] == len(carried)
        seen.payload = len(carried) - 8
        return seen
    assert seen.protocol == 6
    seen.sequence, seen.acknowledgement, bits = struct.unpack_from(">IIH", carried, 4)
    header = (bits >> 12) * 4
    seen.flags = bits & 0x1FF
    seen.options = tcp_options(carried[20:header])
    seen.payload = len(carried) - header
    assert not any(carried[header:])
    return seen
