"""What single numbers depend on beside a page's code: libraries, threads, the processor.

This file needs nothing of ours: its text also runs in a kernel behind a page's last cell, and so
says what *ran*, not what was meant to run.
"""

import os
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

UNKNOWN = "unknown"  # such a processor is never taken for the same as another
FORCED = ("ATEN_CPU_CAPABILITY", "MKL_CBWR", "OPENBLAS_CORETYPE")  # these choose the arithmetic
KINDS = (  # /proc/cpuinfo's names of what tells two kinds apart, on x86 and on ARM
    ("cpu family", "model", "stepping"),
    ("CPU implementer", "CPU part", "CPU variant", "CPU revision"),
)


def facts() -> dict[str, Any]:
    """{torch, numpy, python, processor, threads}: equal facts and code give equal numbers."""
    import numpy
    import torch

    forced = [f"{name}={os.environ[name]}" for name in FORCED if os.environ.get(name)]
    parts = [processor(), torch.backends.cpu.get_cpu_capability(), *forced]
    return {
        "torch": torch.__version__.split("+")[0],
        "numpy": numpy.__version__,
        "python": platform.python_version(),
        "processor": ", ".join(parts),
        "threads": torch.get_num_threads(),
    }


def processor() -> str:
    """This machine's processor by name and kind."""
    if platform.system() == "Darwin":  # where Python itself calls each chip of Apple's "arm"
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        done = subprocess.run(command, capture_output=True, encoding="utf-8")
        return done.stdout.strip() or UNKNOWN
    if platform.system() == "Windows":
        return platform.processor() or UNKNOWN
    file = Path("/proc/cpuinfo")
    return processor_of(file.read_text(encoding="utf-8") if file.exists() else "")


def processor_of(cpuinfo: str) -> str:
    """The processor that a Linux kernel's /proc/cpuinfo describes: 'AMD EPYC 25/1/1'."""
    found = dict(re.findall(r"^([\w ]+?)\s*: (.*)$", cpuinfo, re.M))
    for names in KINDS:
        if all(name in found for name in names):
            kind = "/".join(found[name] for name in names)
            return f"{found.get('model name', '')} {kind}".strip()
    return UNKNOWN
