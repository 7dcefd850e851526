"""Captioned code cells: `caption` and `name` in a cell's metadata make it a listing, "Code n.n"."""

from docutils import nodes
from sphinx.transforms import SphinxTransform


class CaptionCodeCells(SphinxTransform):
    default_priority = 10  # before labels are collected

    def apply(self):
        for cell in list(self.document.findall(nodes.container)):
            metadata = (
                cell.get("cell_metadata", {}) if cell.get("nb_element") == "cell_code" else {}
            )
            if "caption" not in metadata:
                continue
            code = next(cell.findall(nodes.literal_block))
            listing = nodes.container("", literal_block=True, classes=["literal-block-wrapper"])
            code.replace_self(listing)
            listing += [nodes.caption("", metadata["caption"]), code]
            if "name" in metadata:
                listing["names"].append(nodes.fully_normalize_name(metadata["name"]))
                self.document.note_explicit_target(listing)


def setup(app):
    app.add_transform(CaptionCodeCells)
    return {"parallel_read_safe": True}
