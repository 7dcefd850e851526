"""Figures, tables and listings count from 1 on each page.

Else those of all unnumbered pages would be counted in one row.
"""

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

Number = tuple[int, ...]  # (3,), or (2, 3) in a numbered chapter


def from_one(numbers: dict[str, Number]) -> dict[str, Number]:
    """A page's numbers {label: number} of one kind, moved so that the first is 1."""
    if not numbers or any(len(number) != 1 for number in numbers.values()):
        return numbers  # Sphinx counts within a chapter
    first = min(numbers.values())[0]
    return {label: (number - first + 1,) for label, (number,) in numbers.items()}


def count_from_one(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Change what Sphinx has counted; no page needs to be written again for it."""
    for kinds in env.toc_fignumbers.values():  # {page: {"figure": numbers, …}}
        for kind, numbers in kinds.items():
            kinds[kind] = from_one(numbers)
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this module an extension of the site."""
    app.connect("env-get-updated", count_from_one, priority=900)  # Sphinx has numbered them all
    return {"parallel_read_safe": True, "parallel_write_safe": True}
