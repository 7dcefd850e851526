"""requirements.lock holds the versions of all that is installed, for each Python and machine."""

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
LISTS = [ROOT / "requirements-site.txt", ROOT / "requirements.txt"]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PYTHONS = "3.11", "3.12", "3.13"
PLATFORMS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "macos": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
}


def requirements(text):
    """The requirements of a list or a lock, without comments and options."""
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def wanted():
    return [r for path in LISTS for r in requirements(path.read_text(encoding="utf-8"))]


def locked(text, environment=None):
    """{name: version} of a lock's lines that hold in an environment (default: here)."""
    return {
        canonicalize_name(r.name): next(iter(r.specifier)).version
        for r in requirements(text)
        if r.marker is None or r.marker.evaluate(environment)
    }


def reachable(roots):
    """{name: installed version, or None} of all that is required here, directly or not."""
    found, seen, left = {}, set(), [(r, "") for r in roots]
    while left:
        requirement, parents_extra = left.pop()
        marker = requirement.marker
        if marker and not marker.evaluate({**default_environment(), "extra": parents_extra}):
            continue
        name = canonicalize_name(requirement.name)
        for extra in ["", *requirement.extras]:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            try:
                package = distribution(name)
            except PackageNotFoundError:
                found[name] = None
                continue
            found[name] = Version(package.version).public  # 2.13.0 of 2.13.0+cpu
            left += [(Requirement(line), extra) for line in package.requires or []]
    return found


def drift(lock):
    """What is installed otherwise than a lock says, as sentences."""
    versions = locked(lock)
    for name, version in sorted(reachable(wanted()).items()):
        if name not in versions:
            yield f"{name} is required and not locked"
        elif version is None:
            yield f"{name} {versions[name]} is locked and not installed"
        elif Version(version) != Version(versions[name]):
            yield f"{name} {version} is installed and {versions[name]} is locked"


def test_what_is_installed_is_locked():
    found = list(drift(LOCK))
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
    said = "\n".join(drift(changed))
    assert "1.0 is locked" in said and "traitlets is required and not locked" in said


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_the_lists_are_locked(python, platform):
    here = {"python_version": python, "python_full_version": f"{python}.9"} | PLATFORMS[platform]
    versions = locked(LOCK, here)
    missing = [
        str(r) for r in wanted() if versions.get(canonicalize_name(r.name), "0") not in r.specifier
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
