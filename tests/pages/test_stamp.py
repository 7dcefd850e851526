"""Two machines are the same only when equal code must give equal numbers on both."""

from dataclasses import replace

import pytest

from tools.pages import machine
from tools.pages.stamp import Machine, Stamp, locked, this_machine

HERE = Machine("2.13.0", "2.4.6", "3.11.7", "AMD EPYC 25/1/1, AVX2", 1)
X86 = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 1
model name\t: AMD EPYC
stepping\t: 1
flags\t\t: fpu vme
"""
ARM = """processor\t: 0
BogoMIPS\t: 243.75
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0xd0c
CPU revision\t: 1
"""


@pytest.mark.parametrize(
    "field, other",
    [
        ("torch", "2.13.1"),
        ("numpy", "2.4.7"),
        ("python", "3.12.1"),
        ("processor", "AMD EPYC 25/1/2, AVX2"),
        ("threads", 2),
    ],
)
def test_whatever_can_move_a_number_makes_another_machine(field, other):
    assert HERE.gives_the_same(replace(HERE))
    assert not HERE.gives_the_same(replace(HERE, **{field: other}))


def test_an_unknown_processor_is_never_the_same():
    unknown = replace(HERE, processor=f"{machine.UNKNOWN}, NO AVX")
    assert not unknown.gives_the_same(unknown)


@pytest.mark.parametrize(
    "cpuinfo, name",
    [
        (X86, "AMD EPYC 25/1/1"),
        (ARM, "0x41/0xd0c/0x3/1"),
        (ARM.replace("0xd0c", "0xd40"), "0x41/0xd40/0x3/1"),
        ("", machine.UNKNOWN),
        ("processor\t: 0\nmodel name\t: something\n", machine.UNKNOWN),
    ],
)
def test_linux_names_the_kind_of_a_processor(cpuinfo, name):
    assert machine.processor_of(cpuinfo) == name


def test_each_chip_of_apples_has_a_name_of_its_own(monkeypatch, tmp_path):
    """Python's own platform.processor() calls all of them "arm"."""
    monkeypatch.setattr(machine.platform, "system", lambda: "Darwin")
    monkeypatch.setenv("PATH", str(tmp_path))
    for chip in "Apple M1", "Apple M3 Pro", "":
        sysctl = tmp_path / "sysctl"
        sysctl.write_text(f"#!/bin/sh\necho '{chip}'\n", encoding="utf-8")
        sysctl.chmod(0o755)
        assert machine.processor() == (chip or machine.UNKNOWN)


def test_this_machine_says_everything():
    here = this_machine()
    assert here.torch == locked()["torch"] and here.numpy == locked()["numpy"]
    assert here.threads == 1 and here.processor


@pytest.mark.parametrize("metadata", [{}, {"published": {}}, {"published": None}])
def test_a_notebook_that_did_not_run_has_no_stamp(metadata):
    assert Stamp.of(metadata) is None
