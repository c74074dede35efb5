"""Captures whose truth is known, written packet by packet: web transfers and a stream of UDP.

Nothing of the product is used. Every transfer is a connection of its own: a handshake over its
round trip, then data in windows that double, each acknowledged after the round trip, and a close.
There is no queue and nothing is lost.
"""

from __future__ import annotations

import random
import struct
from dataclasses import dataclass

SEGMENT = 1448
CLIENTS, SERVERS = "10.1.0", "10.2.0"
MICROSECOND = 1_000_000
FORTH, BACK = "forth", "back"


@dataclass(frozen=True)
class Transfer:
    """A download: the server of this number sends so many bytes."""

    number: int
    start_s: float
    size: int
    round_trip_s: float
    ecn: bool = False


def web_transfers(count, *, mean_gap_s, median, sigma, round_trips_s, seed=1, ecn=False):
    """Poisson arrivals, lognormal sizes."""
    coins = random.Random(seed)
    start_s, made = 0.0, []
    for number in range(count):
        start_s += coins.expovariate(1.0 / mean_gap_s)
        size = max(1, round(coins.lognormvariate(0.0, sigma) * median))
        made.append(Transfer(number, start_s, size, coins.choice(round_trips_s), ecn))
    return made


def capture_of(transfers=(), udp=()):
    """A file in pcap's classic format with raw IP; ``udp`` holds (seconds, bytes of payload)."""
    packets = [each for transfer in transfers for each in _connection(transfer)]
    packets += [(time_s, _udp(size)) for time_s, size in udp]
    packets.sort(key=lambda each: each[0])
    parts = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)]
    for time_s, packet in packets:
        ticks = round((1000.0 + time_s) * MICROSECOND)
        kept = packet[:96]
        head = (ticks // MICROSECOND, ticks % MICROSECOND, len(kept), len(packet))
        parts += [struct.pack("<IIII", *head), kept]
    return b"".join(parts)


def _connection(transfer):
    """Seen beside the server: its data leaves, and comes back acknowledged a round trip later."""
    client = (f"{CLIENTS}.{1 + transfer.number % 200}", 1024 + transfer.number)
    server = (f"{SERVERS}.1", 443 + 1000)
    now_s, trip_s = transfer.start_s, transfer.round_trip_s
    syn_flags = 0x2 | (0xC0 if transfer.ecn else 0)
    answer_flags = 0x12 | (0x40 if transfer.ecn else 0)
    ecn = 2 if transfer.ecn else 0

    def tcp(time_s, way, flags, sequence, acknowledged, payload=0, echo=0.0, field=0):
        source, target = (server, client) if way == BACK else (client, server)
        value = round(time_s * 1000.0) + 1
        options = b"\x01\x01\x08\x0a" + struct.pack("!II", value, round(echo * 1000.0) + 1)
        header = struct.pack(
            "!HHIIHHHH",
            source[1],
            target[1],
            sequence,
            acknowledged,
            (8 << 12) | flags,
            65535,
            0,
            0,
        )
        return time_s, _internet(6, source[0], target[0], header + options + bytes(payload), field)

    packets = [
        tcp(now_s, FORTH, syn_flags, 0, 0),
        tcp(now_s, BACK, answer_flags, 0, 1, echo=now_s),
        tcp(now_s + trip_s, FORTH, 0x10, 1, 1, echo=now_s),
    ]
    now_s += trip_s
    heard_s, sent, window = now_s, 0, 10
    while sent < transfer.size:
        for place in range(window):
            payload = min(SEGMENT, transfer.size - sent)
            if payload <= 0:
                break
            when_s = now_s + 2e-5 * place
            packets.append(tcp(when_s, BACK, 0x10, 1 + sent, 1, payload, echo=heard_s, field=ecn))
            sent += payload
            last_s = when_s
        packets.append(tcp(last_s + trip_s, FORTH, 0x10, 1, 1 + sent, echo=last_s))
        now_s = heard_s = last_s + trip_s
        window *= 2
    end = 1 + transfer.size
    packets.append(tcp(now_s, BACK, 0x11, end, 1, echo=heard_s))
    packets.append(tcp(now_s + trip_s, FORTH, 0x11, 1, end + 1, echo=now_s))
    packets.append(tcp(now_s + trip_s, BACK, 0x10, end + 1, 2, echo=now_s + trip_s))
    return packets


def _udp(size):
    header = struct.pack("!HHHH", 5000, 6000, 8 + size, 0)
    return _internet(17, f"{SERVERS}.9", f"{CLIENTS}.9", header + bytes(size))


def _internet(protocol, source, target, contents, ecn=0):
    def address(text):
        return bytes(map(int, text.split(".")))

    length = 20 + len(contents)
    head = struct.pack("!BBHHHBBH", 0x45, ecn, length, 0, 0x4000, 64, protocol, 0)
    return head + address(source) + address(target) + contents
