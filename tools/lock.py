"""What requirements.lock says, and whether what is installed is that."""

import re
from collections.abc import Iterable, Iterator
from importlib.metadata import PackageNotFoundError, distribution

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tools.repository import ROOT

LISTS = [ROOT / "requirements-site.txt", ROOT / "requirements.txt"]
LOCK = ROOT / "requirements.lock"


def requirements(text: str) -> list[Requirement]:
    """The requirements of a list or a lock, without comments and options."""
    lines = (re.sub(r"(^|\s)#.*", "", line).strip() for line in text.splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def wanted() -> list[Requirement]:
    """The requirements that the lists name."""
    return [r for path in LISTS for r in requirements(path.read_text(encoding="utf-8"))]


def locked(text: str, environment: dict[str, str] | None = None) -> dict[str, str]:
    """{name: version} of a lock's lines that hold in an environment (default: here)."""
    return {
        canonicalize_name(r.name): next(iter(r.specifier)).version
        for r in requirements(text)
        if r.marker is None or r.marker.evaluate(environment)
    }


def reachable(roots: Iterable[Requirement]) -> dict[str, str | None]:
    """{name: installed version, or None} of all that is required here, directly or not."""
    found: dict[str, str | None] = {}
    seen: set[tuple[str, str]] = set()
    left = [(requirement, "") for requirement in roots]
    while left:
        requirement, parents_extra = left.pop()
        marker = requirement.marker
        if marker and not marker.evaluate({"extra": parents_extra}):
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


def drift(text: str) -> Iterator[str]:
    """What is installed otherwise than a lock says, as sentences."""
    versions = locked(text)
    for name, version in sorted(reachable(wanted()).items()):
        if name not in versions:
            yield f"{name} is required and not locked"
        elif version is None:
            yield f"{name} {versions[name]} is locked and not installed"
        elif Version(version) != Version(versions[name]):
            yield f"{name} {version} is installed and {versions[name]} is locked"
