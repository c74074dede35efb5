"""Work that is shared out among processes: in order, with progress, and with errors that arrive."""

import math
import multiprocessing
import os

import pytest

from vermilion_lab.papers.processes import in_processes
from vermilion_lab.papers.workbench import Workbench


def test_outcomes_are_in_the_order_of_the_items_and_the_processes_end():
    told = []
    before = multiprocessing.active_children()
    assert in_processes(math.factorial, [3, 0, 5], 2, told.append) == [6, 1, 120]
    assert told == [1, 2, 3]
    assert multiprocessing.active_children() == before


def test_what_the_work_raises_is_raised():
    with pytest.raises(ValueError, match="not defined for negative"):
        in_processes(math.factorial, [3, -1], 2, [].append)


def test_a_process_that_dies_is_an_error_and_not_a_wait():
    with pytest.raises(ChildProcessError, match="worker process has ended"):
        in_processes(os._exit, [3, 3, 3], 2, [].append)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_bench_does_the_same_in_this_process_and_in_others(threads):
    shares = []
    bench = Workbench((1, 2), threads=threads, progress=shares.append)
    bench.expect(8)
    assert bench.each_in_processes(math.sqrt, [4.0, 9.0], weight=4) == [2.0, 3.0]
    assert shares == [0.5, 1.0]
