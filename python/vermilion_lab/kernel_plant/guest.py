"""Starts a Linux kernel as a process, with a program in it.

The guest sees this machine's files, read-only, and has a network of its own. Neither root nor a
network of the host is needed. Three things make a run repeat exactly: the job's folder is bound to
one path, so that the kernel's command line is always the same; addresses are not randomised; and
the host's random numbers are kept from the kernel, which gets a seed instead (:mod:`.guest_start`).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from vermilion.routers.base import RouterError, RouterSilent
from vermilion_lab.kernel_plant import guest_start
from vermilion_lab.kernel_plant.calendar import Calendar
from vermilion_lab.kernel_plant.errors import GuestError
from vermilion_lab.kernel_plant.find_kernel import SYSTEM_PATH, find_kernel
from vermilion_lab.kernel_plant.no_random_numbers import refuse_random_numbers
from vermilion_lab.kernel_plant.wide_registers import prepare_registers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

_MEMORY: Final = "512M"
_SHARED_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - faster than a disk, if it is there
_ENDS_WITHIN_S: Final = 10.0
_PACKAGE_PARENT: Final = str(Path(__file__).parents[2])
_BIND: Final = f'mount --bind "$0" {guest_start.JOB} && exec "$@"'


class Guest:
    """One kernel, from its start to its end. A context manager.

    Attributes:
        job: the folder that it can write, ``/mnt`` inside.
    """

    def __init__(
        self,
        *,
        module: str | None = None,
        program: Path | None = None,
        seed: int | None = None,
        path: Sequence[str] = (),
        stepped: bool = True,
        begin: bool = True,
        patience_s: float = 60.0,
    ) -> None:
        """Start it.

        Args:
            module: what to run in it, or
            program: the file of what to run in it.
            seed: of all its random numbers; ``None`` for whatever they are.
            path: further folders in which its Python looks for modules.
            stepped: whether it calls, see :meth:`call`; else it runs until its end by itself.
            begin: whether it begins at once; else with :meth:`begin`, when its folder has been
                filled.
            patience_s: wall seconds without a word from it after which it counts as hung.

        Raises:
            KernelPlantError: there is no kernel, or it does not start.
        """
        self._kernel = find_kernel()
        self._seeded = seed is not None
        self._patience_s = patience_s
        self._stepped = stepped
        where = _SHARED_MEMORY if os.access(_SHARED_MEMORY, os.W_OK) else None
        self.job = Path(tempfile.mkdtemp(prefix="vermilion-guest-", dir=where))
        self._library: str | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._calendar: Calendar | None = None
        try:
            self._prepare(module, program, seed, path)
            if begin:
                self.begin()
        except BaseException:
            self.close()
            raise

    def begin(self) -> None:
        """Start the kernel; of a guest that is stepped, up to its first call.

        Raises:
            GuestError: it does not start.
        """
        if self._stepped:
            self._calendar = Calendar(self.job / "clock", self._patience_s)
        with (self.job / "log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command(self._kernel, stepped=self._stepped),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={"PATH": SYSTEM_PATH},
                start_new_session=True,  # Ctrl-C is for whoever has started it
                preexec_fn=_pin_without_randomness if self._seeded else _pin_to_processor,  # noqa: PLW1509 - no threads
            )
        if self._calendar is not None:
            self._calendar.accept()
            self._serve_until_call()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def call(self, verb: str, **arguments: Any) -> Any:  # noqa: ANN401 - whatever the verb returns
        """Have the agent do something: a remote call.

        The guest's time moves only if the verb lets it.

        Raises:
            GuestError: the guest failed, or ended.
            RouterError: a queue refused what was asked of it.
            RouterSilent: nobody knows what it has done.
        """
        if self._calendar is None:
            message = "this guest takes no calls"
            raise GuestError(message)
        self._write_order({"verb": verb, "arguments": arguments})
        self._calendar.answer()
        self._serve_until_call()
        reply = json.loads((self.job / "reply").read_text(encoding="utf-8"))
        if "failure" in reply:
            self._check_failure()  # of another program there, which comes before
            raise GuestError(reply["failure"])
        if "refused" in reply:
            kind = RouterSilent if reply["silent"] else RouterError
            raise kind(reply["refused"])
        return reply["value"]

    def wait(self, patience_s: float) -> None:
        """Wait for the end of a guest that takes no calls.

        Raises:
            GuestError: it failed, or has not ended by then.
        """
        if self._process is not None:
            try:
                self._process.wait(patience_s)
            except subprocess.TimeoutExpired:
                message = f"the guest has not ended within {patience_s:g} s"
                raise GuestError(message) from None
        self._check_failure()

    def log(self) -> str:
        """Return the kernel's console output."""
        return (self.job / "log").read_text(encoding="utf-8", errors="replace")

    def close(self) -> None:
        """Ends the guest, if it still runs, and removes the folder."""
        if self._calendar is not None:
            self._calendar.close()  # the kernel exits where nobody keeps its clock
        if self._process is not None:
            if self._process.poll() is None:
                self._process.terminate()
            try:
                self._process.wait(_ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.job, ignore_errors=True)

    def _prepare(
        self, module: str | None, program: Path | None, seed: int | None, path: Sequence[str]
    ) -> None:
        own = [*path, _PACKAGE_PARENT, *(each for each in sys.path if each)]
        orders = {
            "module": module,
            "program": None if program is None else str(program),
            "seed": seed,
            "search": SYSTEM_PATH,
            "path": list(dict.fromkeys(own)),
        }
        (self.job / "orders.json").write_text(json.dumps(orders), encoding="utf-8")
        text = Path(guest_start.__file__).read_text(encoding="utf-8")
        start = self.job / "start"
        start.write_text(f"#!{Path(sys.executable).resolve()} -B\n{text}", encoding="utf-8")
        start.chmod(0o755)
        (self.job / "uml").mkdir()
        self._library = prepare_registers(self.job)

    def _command(self, kernel: Path, *, stepped: bool) -> list[str]:
        at = guest_start.JOB
        clock = f"time-travel=ext:{at}/clock" if stepped else "time-travel=inf-cpu"
        as_root = [] if os.geteuid() == 0 else ["--map-root-user"]
        library = [] if self._library is None else ["env", f"LD_PRELOAD={at}/{self._library}"]
        return [
            *["unshare", *as_root, "--mount", "sh", "-c", _BIND, str(self.job)],
            *["setarch", "--addr-no-randomize", *library, str(kernel)],
            *[f"mem={_MEMORY}", "rootfstype=hostfs", "ro", "quiet", "con=null", "con0=null,fd:1"],
            *[f"uml_dir={at}/uml", "umid=guest", clock, "time-travel-start=1000000000000000000"],
            *[f"init={at}/start", "PYTHONHASHSEED=0"],
        ]

    def _write_order(self, order: dict[str, Any]) -> None:
        # A new file each time: the guest keeps what it has read of an old one.
        new = self.job / "order.new"
        new.write_text(json.dumps(order), encoding="utf-8")
        new.replace(self.job / "order")

    def _serve_until_call(self) -> None:
        if self._calendar is None:
            return
        try:
            self._calendar.serve()
        except GuestError as error:
            if self._process is not None:
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(1.0)
            self._check_failure()
            last = self.log().strip().splitlines()[-3:]
            message = f"{error}; its last words: {' | '.join(last) or 'none'}"
            raise GuestError(message) from None

    def _check_failure(self) -> None:
        failure = self.job / "failure"
        if failure.exists():
            message = failure.read_text(encoding="utf-8", errors="replace")
            raise GuestError(message)


def _pin_to_processor() -> None:
    """Keep the guest on one processor: its parts take turns, and moving them about costs twice."""
    allowed = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {allowed[os.getpid() % len(allowed)]})


def _pin_without_randomness() -> None:
    """Likewise, and keep this machine's random numbers from it."""
    _pin_to_processor()
    refuse_random_numbers()
