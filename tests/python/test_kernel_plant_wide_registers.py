"""A processor with more registers than User-Mode Linux can hold, and what is made for it."""

import ctypes
import subprocess

import pytest

from vermilion_lab.kernel_plant import wide_registers
from vermilion_lab.kernel_plant.errors import KernelPlantError
from vermilion_lab.kernel_plant.wide_registers import LIBRARY, has_too_many, prepare_registers

FEW = "processor\t: 0\nflags\t\t: fpu sse2 avx2 avx512f xsave\nbogomips\t: 1\n"
MANY = FEW.replace("xsave", "xsave amx_bf16 amx_tile amx_int8")


@pytest.fixture
def processor(tmp_path, monkeypatch):
    """Say what the machine's processor is."""
    file = tmp_path / "cpuinfo"
    monkeypatch.setattr(wide_registers, "_PROCESSOR", file)
    monkeypatch.setattr(wide_registers.platform, "machine", lambda: "x86_64")

    def be(text):
        file.write_text(text, encoding="utf-8")

    return be


def test_amx_is_too_much_and_avx_is_not():
    assert has_too_many(MANY)
    assert not has_too_many(FEW)
    assert not has_too_many("")


def test_nothing_is_made_where_nothing_is_needed(processor, tmp_path):
    processor(FEW)
    assert prepare_registers(tmp_path) is None
    assert not (tmp_path / LIBRARY).exists()


def test_the_function_is_made_where_it_is_needed_and_does_what_ptrace_does(processor, tmp_path):
    processor(MANY)
    assert prepare_registers(tmp_path) == LIBRARY
    library = ctypes.CDLL(str(tmp_path / LIBRARY), use_errno=True)
    library.ptrace.restype = ctypes.c_long
    nobody, address = ctypes.c_long(2**30), ctypes.c_void_p(0x202)
    for request in (0x4204, 0x4205, 3):  # read and set registers, look at a word
        ctypes.set_errno(0)
        data = (ctypes.c_uint64 * 2)(0, 0)
        assert library.ptrace(request, nobody, address, ctypes.byref(data)) == -1
        assert ctypes.get_errno() == 3  # there is no such process


def test_without_a_compiler_that_is_said(processor, tmp_path, monkeypatch):
    processor(MANY)
    monkeypatch.setattr(wide_registers.shutil, "which", lambda *_, **__: None)
    with pytest.raises(KernelPlantError, match="cc is not installed"):
        prepare_registers(tmp_path)


def test_what_the_compiler_says_is_passed_on(processor, tmp_path, monkeypatch):
    processor(MANY)
    said = subprocess.CompletedProcess([], 1, "", "wide_registers.c:1: no such header\nmore\n")
    monkeypatch.setattr(wide_registers.subprocess, "run", lambda *_, **__: said)
    with pytest.raises(KernelPlantError, match=r"not compiled wide_registers.c: .*no such header"):
        prepare_registers(tmp_path)
