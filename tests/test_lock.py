"""requirements.lock holds the versions of all that is installed, for each Python and machine."""

import re

import pytest
from packaging.utils import canonicalize_name

from tools import lock

LOCK = lock.LOCK.read_text(encoding="utf-8")
PYTHONS = "3.11", "3.12", "3.13"
PLATFORMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "macos": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
}


def test_what_is_installed_is_locked():
    found = list(lock.drift(LOCK))
    assert not found, "\n".join(
        [
            *found,
            "To install what is locked: pip install -c requirements.lock -r requirements.txt",
            "To lock what the lists ask for now: make lock",
        ]
    )


def test_drift_is_found():
    changed = re.sub(r"(?m)^numpy==.*", "numpy==1.0", LOCK)
    changed = re.sub(r"(?m)^traitlets==.*\n", "", changed)
    said = "\n".join(lock.drift(changed))
    assert "1.0 is locked" in said and "traitlets is required and not locked" in said


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_the_lists_are_locked(python, platform):
    here = {"python_version": python, "python_full_version": f"{python}.9"} | PLATFORMS[platform]
    versions = lock.locked(LOCK, here)
    missing = [
        str(r)
        for r in lock.wanted()
        if versions.get(canonicalize_name(r.name), "0") not in r.specifier
    ]
    assert not missing, f"not in requirements.lock: {', '.join(missing)}; run: make lock"
    for name in "pyzmq", "traitlets", "pillow", "ipython", "jupyter-client", "fonttools":
        assert name in versions, "what comes along is locked, too"


def test_the_lock_names_no_place():
    """No host, no folder, no option: each machine finds the packages where its own settings say."""
    lines = [line for line in LOCK.splitlines() if not line.startswith("#")]
    odd = [
        line for line in lines if not re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; [\w .'<>=!()]+)?", line)
    ]
    assert not odd, f"requirements.lock: {odd}"
