"""Figures, tables and listings count from 1 on each page.

Else those of all unnumbered pages would be counted in one row.
"""


def count_from_one(app, env):
    for (
        kinds
    ) in env.toc_fignumbers.values():  # {page: {"figure": {label: (chapter, number) or (number,)}}}
        for numbers in kinds.values():
            if numbers and all(len(number) == 1 for number in numbers.values()):
                first = min(numbers.values())[0]
                numbers.update(
                    {label: (number[0] - first + 1,) for label, number in numbers.items()}
                )
    return []  # no page needs to be written again for it


def setup(app):
    app.connect(
        "env-get-updated", count_from_one, priority=900
    )  # Sphinx has numbered them all by then
    return {"parallel_read_safe": True}
