"""One controller for each queue, and one run at a time of each queue in a journal."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from datetime import UTC, datetime

import pytest

from test_cli import refused, strict, vermilion
from test_cli_online_router import ROUTER, kernel
from test_online_real_router import BusyKernel, Online
from vermilion.online.drive import locks
from vermilion.online.drive.locks import only_controller, only_run
from vermilion.online.drive.run import run_online
from vermilion.online.record.journal import JournalError
from vermilion.online.router_policy import Freedom
from vermilion.routers import RouterError
from vermilion.scenario import load_scenario
from vermilion.status import read_status

__all__ = ["kernel", "strict", "vermilion"]

HOLDER = """
import sys, time
from pathlib import Path
from vermilion.online.drive import locks
from vermilion.online.drive.locks import only_run
locks.PREFIX = sys.argv[2]
with locks.only_controller(["linux:dummy0"]), only_run(Path(sys.argv[1]), "linux:dummy0"):
    print("held", flush=True)
    time.sleep(600)
"""


class Beside(Online):
    """A run during which another one begins."""

    def __init__(self, *arguments, beside, **more):
        self.beside = beside
        self.said = None
        super().__init__(*arguments, **more)

    def _hear(self, decision):
        super()._hear(decision)
        if decision.kind == "applied" and self.said is None:
            try:
                self.said = self.beside()
            except (RouterError, JournalError) as error:
                self.said = str(error)


@pytest.fixture
def holder(tmp_path):
    """Another process that controls the queue, with a journal."""
    command = [sys.executable, "-c", HOLDER, str(tmp_path / "its.sqlite"), locks.PREFIX]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ) as process:
        assert process.stdout.readline() == b"held\n"
        yield process
        process.kill()


CONTROL = Freedom(mode="control")


def test_a_second_controller_of_a_queue_does_not_begin_whatever_its_journal(tmp_path):
    machine = BusyKernel()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def another():
        return Online(machine, elsewhere, CONTROL, until=("verified", "unproven"))

    first = Beside(machine, tmp_path, CONTROL, until=("verified", "unproven"), beside=another)
    assert first.said == (
        f"linux:dummy0: process {os.getpid()} controls this queue already; end that one first "
        f"(systemctl status {os.getpid()} says whether it is a service), or use --mode observe"
    )
    assert "hands-off" not in first.kinds
    assert len(machine.told) == 1
    assert not list(elsewhere.iterdir())


def test_who_only_looks_may_do_so_beside_it_with_a_journal_of_its_own(tmp_path):
    machine = BusyKernel()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def look(folder):
        return Online(machine, folder, Freedom(), until=("start",)).kinds

    first = Beside(
        machine, tmp_path, CONTROL, until=("verified", "unproven"), beside=lambda: look(elsewhere)
    )
    assert first.said[:2] == ["found", "start"]


def test_a_run_that_is_under_way_is_not_taken_for_one_that_was_killed(tmp_path):
    machine = BusyKernel()

    def look():
        return Online(machine, tmp_path, Freedom(), until=("start",))

    first = Beside(machine, tmp_path, CONTROL, until=("verified", "unproven"), beside=look)
    journal = tmp_path / "journal.sqlite"
    assert first.said == (
        f"journal: {journal} is in use: process {os.getpid()} writes a run of linux:dummy0 into "
        "it; end that one first, or give another --journal"
    )
    assert first.rows("SELECT count(*) FROM run") == [(1,)]
    assert [each.name for each in tmp_path.glob("*lock*")] == []


def test_who_reads_the_journal_is_not_kept_from_it(tmp_path):
    journal = tmp_path / "journal.sqlite"
    first = Beside(
        BusyKernel(),
        tmp_path,
        CONTROL,
        until=("verified", "unproven"),
        beside=lambda: [each.setting["target"] for each in read_status(journal, datetime.now(UTC))],
    )
    assert first.said == [0.008]


def test_what_was_killed_holds_nothing(holder, tmp_path):
    journal = tmp_path / "its.sqlite"
    with pytest.raises(RouterError, match=f"process {holder.pid} controls this queue already"):
        only_controller(["linux:eth9", "linux:dummy0"]).__enter__()
    with pytest.raises(JournalError, match=f"in use: process {holder.pid} writes a run of linux"):
        only_run(journal, "linux:dummy0").__enter__()
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with only_controller(["linux:eth9", "linux:dummy0"]), only_run(journal, "linux:dummy0"):
        pass
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("kernel")
def test_the_command_says_in_one_line_who_has_the_queue(vermilion, holder, monkeypatch):
    monkeypatch.setattr("vermilion.routers.linux.router.may_change_queues", lambda _: True)
    assert f"process {holder.pid} controls this queue" in refused(
        vermilion(*ROUTER, "--mode=control", "--for=0.1 s")
    )
    code, _, err = vermilion(*ROUTER, "--for=0.1 s")
    assert (code, err) == (0, "")


def test_a_long_name_of_a_queue_is_one_too():
    address = f"snmp:{'a' * 200}/eth0"
    with only_controller([address]), ExitStack() as second:
        second.enter_context(only_controller([f"{address}1"]))
        with pytest.raises(RouterError, match="controls this queue already"):
            second.enter_context(only_controller([address]))


def test_runs_of_different_queues_share_a_journal(tmp_path):
    journal = tmp_path / "journal.sqlite"
    with only_run(journal, "linux:eth0"), only_run(journal, "linux:eth1"):
        pass
    with only_run(None, "linux:eth0"), only_run(None, "linux:eth0"):
        pass


def test_a_simulated_network_is_run_once_at_a_time_in_a_journal(tmp_path):
    class Enough(BaseException):
        pass

    scenario, journal = load_scenario("varying-load"), tmp_path / "journal.sqlite"

    def again(decision):
        with pytest.raises(JournalError, match="writes a run of"):
            run_online(scenario, seed=1, journal_path=journal)
        if decision.kind == "start":
            with pytest.raises(Enough):
                run_online(scenario, seed=2, journal_path=journal, on_event=enough)
            raise Enough

    def enough(_):
        raise Enough

    with pytest.raises(Enough):
        run_online(scenario, seed=1, journal_path=journal, on_event=again)
