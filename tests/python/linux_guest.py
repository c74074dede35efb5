"""A real Linux kernel for tests: User-Mode Linux, a kernel that runs as a process.

The environment variable ``VERMILION_KERNEL`` names its binary (a build with ``ARCH=um``, hostfs,
veth, dummy and the queue disciplines; best with time travel). It sees this machine's files,
read-only, and has interfaces and queues of its own. Neither root nor a network is needed. What runs
in it is ``linux_guest_program.py``: it does one step after another and says what came of each.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

VARIABLE = "VERMILION_KERNEL"
PROGRAM = Path(__file__).with_name("linux_guest_program.py")
MEMORY = "160M"
TIME_OUT_S = 60

INIT = """#!{python}
import ctypes, os, runpy, sys, traceback
libc = ctypes.CDLL(None, use_errno=True)
def mount(source, target, kind, data=""):
    if libc.mount(source.encode(), target.encode(), kind.encode(), 0, data.encode()):
        raise OSError(ctypes.get_errno(), f"mount {{target}}")
try:
    mount("proc", "/proc", "proc")
    mount("sysfs", "/sys", "sysfs")
    mount("tmpfs", "/run", "tmpfs")
    mount("none", "/mnt", "hostfs", {job!r})
    os.environ.update(PATH="/usr/sbin:/usr/bin:/sbin:/bin", HOME="/run", LANG="C.UTF-8")
    sys.dont_write_bytecode = True
    sys.path[:] = {path!r}
    runpy.run_path({program!r}, run_name="__main__")
except BaseException:
    with open("/mnt/failure", "w") as file:
        traceback.print_exc(file=file)
finally:
    os.sync()
    libc.reboot(0x4321FEDC)
"""


def kernel_or_skip():
    """The kernel's binary; skips where there is none, saying so."""
    named = os.environ.get(VARIABLE)
    if not named:
        pytest.skip(f"no kernel to test against: {VARIABLE} is not set to a User-Mode Linux binary")
    kernel = Path(named)
    assert kernel.is_file(), f"{VARIABLE}: {named} is no file"
    for tool in ("tc", "ip"):
        if shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
            pytest.skip(f"{tool} of iproute2 is not installed; it sets up what is tested")
    return kernel.resolve()


def run_in_guest(steps):
    """Boots the kernel, does the steps in it, and returns what came of each.

    A step is a list: a verb of ``linux_guest_program.py`` and its arguments.
    """
    kernel = kernel_or_skip()
    with tempfile.TemporaryDirectory(prefix="vermilion-guest-") as folder:
        job = Path(folder)
        (job / "steps.json").write_text(json.dumps(steps), encoding="utf-8")
        init = job / "init"
        text = INIT.format(
            python=Path(sys.executable).resolve(),
            job=str(job),
            path=[str(Path(__file__).parent), *(each for each in sys.path if each)],
            program=str(PROGRAM),
        )
        init.write_text(text, encoding="utf-8")
        init.chmod(0o755)
        command = [
            str(kernel),
            f"mem={MEMORY}",
            "rootfstype=hostfs",
            "ro",
            "quiet",
            "con=null",
            "con0=null,fd:1",
            f"uml_dir={job}",
            "umid=guest",
            "time-travel=inf-cpu",
            f"init={init}",
        ]
        try:
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=TIME_OUT_S,
                check=False,
                text=True,
                errors="replace",
            )
        except subprocess.TimeoutExpired:
            step = (job / "step").read_text(encoding="utf-8")
            pytest.fail(f"the guest hangs in the step {step}")
        failure = job / "failure"
        assert not failure.exists(), failure.read_text(encoding="utf-8")
        outcome = job / "outcomes.json"
        assert outcome.exists(), f"the guest has not come to its end:\n{done.stdout[-3000:]}"
        return json.loads(outcome.read_text(encoding="utf-8"))
