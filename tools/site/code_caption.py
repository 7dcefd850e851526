"""Captioned code cells: `caption` and `name` in a cell's metadata make it a listing, "Code n.n"."""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class CaptionCodeCells(SphinxTransform):
    """Makes listings of the cells that have a caption."""

    default_priority = 10  # before labels are collected

    def apply(self, **_: Any) -> None:
        """Called by Sphinx for each page."""
        for cell in list(self.document.findall(nodes.container)):
            metadata = cell.get("cell_metadata", {})
            if cell.get("nb_element") == "cell_code" and "caption" in metadata:
                self.caption(next(cell.findall(nodes.literal_block)), metadata)

    def caption(self, code: nodes.literal_block, metadata: dict[str, Any]) -> None:
        """Put a cell's code into a listing, which its name leads to."""
        listing = nodes.container("", literal_block=True, classes=["literal-block-wrapper"])
        code.replace_self(listing)
        listing += [nodes.caption("", metadata["caption"]), code]
        if "name" in metadata:
            listing["names"].append(nodes.fully_normalize_name(metadata["name"]))
            self.document.note_explicit_target(listing)


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this module an extension of the site."""
    app.add_transform(CaptionCodeCells)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
