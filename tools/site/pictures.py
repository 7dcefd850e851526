"""Pictures wait until they are scrolled to, and the page keeps their place meanwhile."""

import hashlib
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from urllib.request import urlopen

from sphinx.application import Sphinx
from sphinx.util.images import get_image_size

from tools.site.markup import Tag, changed


def own_file(address: str, folder: Path) -> str:
    """Write the picture of a data: address into a folder; return its file's name.

    No page need wait for a picture that does not stand in it.
    """
    with urlopen(address) as answer:
        picture, kind = answer.read(), answer.headers.get_content_subtype()
    name = f"{hashlib.sha256(picture).hexdigest()[:16]}.{kind.removesuffix('+xml')}"
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(picture)
    return name


def set_lazy(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Change the pictures of a page's text."""
    if "<img" not in context.get("body", ""):
        return
    sources = {name: Path(app.srcdir, file) for file, name in app.builder.images.items()}

    def lazy(image: Tag) -> str:
        attributes = {"loading": "lazy", **image.attributes}
        address = attributes["src"]
        if address.startswith("data:image/"):
            name = own_file(address, Path(app.outdir, "_images"))
            attributes["src"] = context["pathto"](f"_images/{name}", resource=True)
        elif file := sources.get(unquote(address.rpartition("/")[2])):
            size = get_image_size(str(file)) or ()
            attributes |= dict(zip(("width", "height"), map(str, size)))
        written = (f' {name}="{escape(value)}"' for name, value in attributes.items())
        return f"<img{''.join(written)} />"

    context["body"] = changed(context["body"], lazy, "img")


def setup(app: Sphinx) -> dict[str, bool]:
    """Make this module an extension of the site."""
    app.connect("html-page-context", set_lazy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
