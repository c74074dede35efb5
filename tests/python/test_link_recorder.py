"""What is recorded of a link: a job that fails keeps nothing else from its end."""

import io
import threading

import pytest

from vermilion.link.recorder import Recorder

MORE_THAN_WAIT = 100
"""Questions; more than the recorder has room for."""

PATIENCE_S = 30.0
"""How long the end may take before it counts as never; it takes milliseconds."""


class Quiet:
    """A link on which no packets pass."""

    now_ns = 0

    def watch(self, *_):
        pass

    def take_sightings(self, _):
        return b""


def failure_at_end(recorder):
    """What the end of a recorder raises; a test fails where it does not end."""
    raised = []

    def end():
        try:
            recorder.end()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            raised.append(error)

    ending = threading.Thread(target=end, daemon=True)
    ending.start()
    ending.join(PATIENCE_S)
    assert not ending.is_alive(), "the recorder does not end"
    return raised


class Panic(BaseException):
    """As one of the core, which is no Exception."""


@pytest.mark.parametrize("failure", [ZeroDivisionError("first"), Panic("first")])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_job_that_fails_is_told_at_the_end_which_comes(failure):
    recorder = Recorder()
    failures = iter([failure])

    def answer(_):
        raise next(failures, KeyError("later"))

    for _ in range(MORE_THAN_WAIT):
        recorder.witness(Quiet(), 0, 1500, answer)
    assert failure_at_end(recorder) == [failure]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_who_asks_after_a_failure_is_answered():
    recorder = Recorder()
    answered = threading.Event()
    failed = threading.Event()

    def fail(_):
        failed.set()
        raise ZeroDivisionError

    recorder.witness(Quiet(), 0, 1500, fail)
    assert failed.wait(PATIENCE_S)
    recorder.witness(Quiet(), 0, 1500, lambda _: answered.set())
    assert answered.wait(PATIENCE_S)
    assert [type(each) for each in failure_at_end(recorder)] == [ZeroDivisionError]


def test_a_full_disk_is_told_at_the_end():
    class Full(io.BytesIO):
        def write(self, content):
            if self.getbuffer().nbytes:
                raise OSError(28, "No space left on device")
            return super().write(content)

    recorder, link = Recorder(packets=Full()), Quiet()
    recorder.begin(link, 1)
    for _ in range(MORE_THAN_WAIT):
        recorder.look_at_packets(link)
    [failure] = failure_at_end(recorder)
    assert "No space left" in str(failure)


def test_where_all_goes_well_the_end_says_nothing():
    recorder = Recorder()
    seen = []
    recorder.witness(Quiet(), 0, 1500, lambda witness: seen.append(witness.way))
    assert failure_at_end(recorder) == []
    assert seen == [0]
