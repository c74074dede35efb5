"""What runs inside the guest of ``linux_guest.py``: one step after another, an outcome for each."""

from __future__ import annotations

import dataclasses
import json
import os
import socket
import subprocess
import time
import traceback
from pathlib import Path

from vermilion.files.document import as_json
from vermilion.routers import RouterError
from vermilion.routers.linux import LinuxRouter, RouteSocket, discover
from vermilion.routers.linux.change import change_body
from vermilion.routers.linux.message import NEW_QUEUE, request
from vermilion.routers.linux.shaper_rate import LinuxShaper

_HEADER_BYTES = 16
_NOBODY = 65534


def call(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return {"code": done.returncode, "out": done.stdout, "error": done.stderr}


def show(device):
    done = call("tc", "-s", "-d", "-j", "qdisc", "show", "dev", device)
    return json.loads(done["out"])


def apply(address, parameters, made_with=None):
    plans = []
    router = LinuxRouter(address, before_change=plans.append, **(made_with or {}))
    before = router.state()
    outcome = {"undo": router.undo_command(), "told": 0, "refused": None}
    try:
        price = router.price(parameters)
        outcome["price"] = None if price is None else price.words()
        router.apply(parameters)
    except RouterError as error:
        outcome["refused"] = str(error)
    outcome["told"] = len(plans)
    now = router.state()
    outcome["before"] = dict(before.options.numbers())
    outcome["options"] = dict(now.options.numbers())
    outcome["parameters"] = router.parameters()
    outcome["handle"] = now.handle
    return outcome


def apply_and_undo(address, parameters, made_with=None):
    """A change, and the undoing that was planned with it; where that has not led back."""
    plans = []
    router = LinuxRouter(address, before_change=plans.append, **(made_with or {}))
    router.apply(parameters)
    [plan] = plans
    with RouteSocket() as kernel:
        kernel.tell(NEW_QUEUE, 0, change_body(plan.before, plan.undo))
    return plan.undo_disagreements(router.state().options)


def read(address):
    return dataclasses.asdict(LinuxRouter(address).read())


def unprivileged_apply(address, parameters):
    """The same as a user without any capability."""
    apply(address, {})  # whoever has no privileges may not read the modules either
    everything()
    end, other = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
            text = json.dumps({"list": everything(), **apply(address, parameters)})
        except BaseException:  # noqa: BLE001 - the child must end here, and say why
            text = json.dumps({"crash": traceback.format_exc()})
        os.write(other, text.encode())
        os._exit(0)
    os.close(other)
    with os.fdopen(end) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return json.loads(text)


def everything():
    with RouteSocket() as kernel:
        return as_json(discover(kernel.interfaces(), kernel.queues()))


def replay(message, device):
    """Sends the body of a captured request to another interface; what the kernel says."""
    whole = bytearray.fromhex(message)
    index = socket.if_nametoindex(device)
    whole[_HEADER_BYTES + 4 : _HEADER_BYTES + 8] = index.to_bytes(4, "little")
    kind = int.from_bytes(whole[4:6], "little")
    flags = int.from_bytes(whole[6:8], "little")
    with RouteSocket() as kernel:
        try:
            kernel.tell(kind, flags, bytes(whole[_HEADER_BYTES:]))
        except RouterError as error:
            return {"refused": str(error)}
    return {"refused": None}


def dump(device):
    """What the kernel says of the queue at the root, as it is."""
    from vermilion.routers.linux.message import DUMP, GET_QUEUE, ROOT, queue_body

    index = socket.if_nametoindex(device)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as raw:
        raw.bind((0, 0))
        raw.send(request(GET_QUEUE, DUMP, 1, queue_body(0, 0, 0)))
        data = raw.recv(1 << 17)
    while data:
        length = int.from_bytes(data[:4], "little")
        payload = data[_HEADER_BYTES:length]
        place = (int.from_bytes(payload[4:8], "little"), int.from_bytes(payload[12:16], "little"))
        if place == (index, ROOT):
            return payload.hex()
        data = data[(length + 3) & ~3 :]
    return None


def send(device, packets, size):
    """Frames for nobody, through the queue."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind((device, 0x88B5))
        frame = b"\xff" * 6 + b"\x02\0\0\0\0\1" + b"\x88\xb5"
        for _ in range(packets):
            raw.send(frame + bytes(size - len(frame)))


def sleep(seconds):
    time.sleep(seconds)


def set_rate(address, rates, *kind):
    """The rate of a shaper, what tc says of each that is set, and the way back."""
    made = LinuxShaper.of_arrivals(address) if kind else LinuxShaper(address)
    device = made.address.interface
    found, undo = made.parameters()["bandwidth"], made.undo_command()
    shown = []
    for rate in rates:
        made.apply({"bandwidth": rate})
        shown.append([made.parameters()["bandwidth"], _tc_rate(device)])
    again = LinuxShaper.rebuild_undo_command(str(made.address), {"bandwidth": found}, undo)
    refused = ""
    try:
        made.apply({"bandwidth": 1.0})
    except RouterError as error:
        refused = str(error)
    after = call(*again.split())
    return {
        "found": found,
        "undo": undo,
        "again": again,
        "shown": shown,
        "refused": refused,
        "undone": [after["error"], made.parameters()["bandwidth"], _tc_rate(device)],
        "address": str(made.address),
    }


def _tc_rate(device):
    """What tc says, as a judge that shares no code."""
    queues = json.loads(call("tc", "-s", "-d", "-j", "qdisc", "show", "dev", device)["out"])
    text = call("tc", "-s", "-d", "class", "show", "dev", device)["out"]
    options = queues[0]["options"]
    return {
        "rate": options.get("bandwidth") or options.get("rate"),
        "burst": options.get("burst"),
        "class": text.splitlines()[0] if text else "",
        "drops": queues[0].get("drops"),
    }


def kernel():
    return {"release": os.uname().release, "version": os.uname().version}


VERBS = {
    each.__name__: each
    for each in (
        call,
        show,
        apply,
        apply_and_undo,
        read,
        unprivileged_apply,
        everything,
        replay,
        dump,
        send,
        sleep,
        set_rate,
        kernel,
    )
}


def main():
    job = Path("/mnt")
    outcomes = []
    for verb, *arguments in json.loads((job / "steps.json").read_text(encoding="utf-8")):
        (job / "step").write_text(json.dumps([verb, *arguments]), encoding="utf-8")
        try:
            outcomes.append(VERBS[verb](*arguments))
        except RouterError as error:
            outcomes.append({"refused": str(error)})
        except Exception:  # noqa: BLE001 - the test is told
            outcomes.append({"crash": traceback.format_exc()})
    (job / "outcomes.json").write_text(json.dumps(outcomes), encoding="utf-8")


if __name__ == "__main__":
    main()
