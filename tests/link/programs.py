"""Programs that run at the two ends of a link in the tests: ``python programs.py NAME ...``."""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import json
import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

PORT = 5001
CHUNK = 1 << 16


def listening(family=socket.AF_INET, port=PORT):
    server = socket.socket(family, socket.SOCK_STREAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("::" if family == socket.AF_INET6 else "", port))
    server.listen(64)
    return server


def connected(address, port=PORT, seconds=20.0, congestion=None):
    """A connection to a server that may not be there yet."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    end = time.monotonic() + seconds
    while True:
        connection = socket.socket(family, socket.SOCK_STREAM)
        connection.settimeout(seconds)
        if congestion:
            name = congestion.encode()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name)
        try:
            connection.connect((address, port))
        except ConnectionRefusedError:
            connection.close()
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
            continue
        return connection


def serve_digests():
    """Takes what comes, and answers with its digest."""
    for server in (listening(), listening(socket.AF_INET6, PORT + 1)):
        threading.Thread(target=_digests, args=(server,), daemon=True).start()
    signal.pause()


def _digests(server):
    while True:
        connection, _ = server.accept()
        threading.Thread(target=_digest, args=(connection,), daemon=True).start()


def _digest(connection):
    with connection:
        digest = hashlib.sha256()
        while data := connection.recv(CHUNK):
            digest.update(data)
        connection.sendall(digest.hexdigest().encode())


def send(size, version="4"):
    """Sends so many bytes: whether the other end got just these, and how long it took."""
    peer = os.environ["VERMILION_LINK_PEER"]
    port = PORT
    if version == "6":
        number = int(peer.split(".")[2])
        peer, port = f"fd76:6c6b:0:{number:x}::1", PORT + 1
    data = random.Random(int(size)).randbytes(int(size))
    with connected(peer, port) as connection:
        begun = time.monotonic()
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.recv(1000).decode()
        seconds = time.monotonic() - begun
    right = answer == hashlib.sha256(data).hexdigest()
    print(json.dumps({"right": right, "seconds": seconds}), flush=True)
    sys.exit(0 if right else 1)


def round_trips(count):
    """How long connecting takes."""
    peer = os.environ["VERMILION_LINK_PEER"]
    connected(peer).close()
    times = []
    for _ in range(int(count)):
        begun = time.monotonic()
        connected(peer).close()
        times.append(time.monotonic() - begun)
    print(json.dumps({"least": min(times), "most": max(times)}), flush=True)


def nonsense(count):
    """Sends packets that are none, cut, or lie past the kernel's checks; then a right transfer."""
    source = random.Random(int(count))
    connected(os.environ["VERMILION_LINK_PEER"]).close()
    packets = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
    # With PACKET_VNET_HDR, the kernel is told of offloads that are lies too.
    lying = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    lying.setsockopt(263, 15, 1)
    taken = 0
    for number in range(int(count)):
        size = source.choice([1, 19, 20, 39, 60, 500, 1500])
        data = bytearray(source.randbytes(size))
        if number % 3:
            data[0] = source.choice([0x45, 0x4F, 0x60, 0x46])
        kind = source.choice([0x0800, 0x86DD, 0x1234])
        try:
            if number % 4 == 0:
                header = struct.pack(
                    "=BBHHHH", 1, source.choice([0, 1, 4, 5]), 40, source.randrange(1, 2000), 20, 16
                )
                lying.sendto(header + bytes(data), ("link0", kind))
            else:
                packets.sendto(bytes(data), ("link0", kind))
            taken += 1
        except OSError:
            continue
    print(json.dumps({"taken": taken}), flush=True)
    send("100000")


def set_up(name, *, up):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("=16sH22x", name.encode(), 1 if up else 0))


def down_and_up():
    """Puts the interface down for a while; afterwards it carries as before."""
    set_up("link0", up=False)
    time.sleep(0.5)
    set_up("link0", up=True)
    subprocess.run(["ip", "route", "replace", "default", "dev", "link0"], check=True)
    send("200000")


def remove():
    subprocess.run(["ip", "link", "delete", "link0"], check=True)
    time.sleep(0.5)


def sink():
    """Takes and forgets."""
    server = listening()
    while True:
        connection, _ = server.accept()
        threading.Thread(target=_forget, args=(connection,), daemon=True).start()


def _forget(connection):
    buffer = bytearray(1 << 20)
    with connection:
        while connection.recv_into(buffer):
            pass


def flows(count, seconds, congestion, apart="0.1"):
    """So many endless flows, one after the other begun; ends so long after all are connected."""
    peer = os.environ["VERMILION_LINK_PEER"]
    all_connected = threading.Barrier(int(count) + 1)
    for number in range(int(count)):
        arguments = (peer, congestion, all_connected)
        threading.Thread(target=_flow, args=arguments, daemon=True).start()
        time.sleep(float(apart) if number + 1 < int(count) else 0)
    all_connected.wait(60)
    time.sleep(float(seconds))
    os._exit(0)


def _flow(peer, congestion, all_connected):
    connection = connected(peer, congestion=congestion)
    threading.Thread(target=all_connected.wait, daemon=True).start()
    data = bytes(1 << 16)
    while True:
        connection.sendall(data)


def wait_and_tell():
    """Says that it is there, and what signal ends it."""

    def tell(number, _frame):
        # It may come in the middle of print().
        os.write(sys.stdout.fileno(), f"{signal.Signals(number).name}\n".encode())
        sys.exit(7)

    signal.signal(signal.SIGTERM, tell)
    signal.signal(signal.SIGINT, tell)
    print("ready", flush=True)
    while True:
        signal.pause()


def leave_children():
    """Leaves a process behind that has a session of its own and listens to nothing."""
    child = os.fork()
    if child == 0:
        os.setsid()
        for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(each, signal.SIG_IGN)
        ctypes.CDLL(None).pause()
        os._exit(0)
    print("ready", flush=True)
    time.sleep(60)


def see():
    """What is there: interfaces, whether the world can be reached, who else runs."""
    names = sorted(name for _, name in socket.if_nameindex())
    processes = sum(each.name.isdigit() for each in Path("/proc").iterdir())
    print(
        json.dumps({"interfaces": names, "processes": processes, "user": os.getuid()}), flush=True
    )


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
