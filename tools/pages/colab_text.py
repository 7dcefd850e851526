"""The text of a page as Colab can show it: what only the site's Markdown knows becomes plain.

Citations become links to the source, captioned tables and notes lose their fences, targets and
equation labels go, links to labels become text, links to other pages lead to the site. publish
writes this text into the made notebook and keeps the page's own in the cell's metadata, from which
`tools/site/page_text.py` takes it for the site.
"""

import re
from functools import cache
from pathlib import Path

from tools.repository import ROOT

CODE = re.compile(r"(^```(?!\{).*?^```[ \t]*$|`[^`\n]+`(?!`))", re.M | re.S)
CITE = re.compile(r"\{cite:([pt])\}`([^`]+)`")
FENCE = re.compile(
    r"^(:{3,})\{(\w+)\}[ \t]*([^\n]*)\n(?:^:[\w-]+:[^\n]*\n)*(.*?)^\1[ \t]*$", re.M | re.S
)
TARGET = re.compile(r"^\([\w-]+\)=\n*", re.M)
MATHS = re.compile(r"(\$\$.*?\$\$|\$[^$\n]+\$)", re.S)
EQUATION = re.compile(r"^(.*\$\$)[ \t]+\([\w-]+\)[ \t]*$", re.M)
LINK = re.compile(r"(?<!!)\[([^\]\[]*)\]\((?!\w+:)([^)#\s]*)(#[^)\s]*)?\)")
AT = {
    "doi": "https://doi.org/",
    "eprint": "https://arxiv.org/abs/",
    "url": "",
}  # where a source is found
RAW = {  # what would stand on a page in Colab as it was typed
    "a role": re.compile(r"\{[a-zA-Z][\w:.+-]*\}`"),
    "a directive": re.compile(r"^\s*(?:`{3,}|~{3,}|:{3,})\s*\{", re.M),
    "a colon fence": re.compile(r"^\s*:{3,}", re.M),
    "a target": re.compile(r"^\(\S+\)=\s*$", re.M),
    "an equation's label": re.compile(r"\$\$\s*\(\S+\)\s*$", re.M),
    "a binding": re.compile(r"\{\{"),
    "a link that leads nowhere": re.compile(r"\]\((?!\w+:)[^)\s]*\)"),
}


def plain(text, folder, site):
    """The text, for Colab, of a page in `folder` ("book"); the published site is at `site`."""
    text = unfence(text)
    text = EQUATION.sub(r"\1", TARGET.sub("", text))
    cited = CITE.sub(lambda m: citation(m[1], m[2].split(",")), text)
    parts = CODE.split(cited)
    parts[::2] = [LINK.sub(lambda m: link(*m.groups(), folder, site), part) for part in parts[::2]]
    return "".join(parts)


def raw(text):
    """[(what, the line where it stands)]: what Colab would show as typed."""
    text = CODE.sub(lambda m: m[0] if text[: m.start()].endswith("}") else "code", text)
    prose = MATHS.sub("maths", text)
    found = [
        (what, m)
        for what, pattern in RAW.items()
        for m in pattern.finditer(text if "equation" in what else prose)
    ]
    return [
        (what, m.string[m.string.rfind("\n", 0, m.start() + 1) + 1 :].split("\n", 1)[0][:100])
        for what, m in found
    ]


def unfence(text):
    return FENCE.sub(unfenced, text)


def unfenced(match):
    """A captioned table under its caption; a note as a quotation with its kind in front."""
    kind, title, body = match[2], match[3].strip(), match[4].strip("\n")
    if kind == "table":
        return f"**Table.** {title}\n\n{body}"
    head = f"**{title or kind.capitalize()}**"
    return "\n".join(f"> {line}".rstrip() for line in [head, "", *body.split("\n")])


def link(text, page, label, folder, site):
    if not page:
        return text
    path = (
        Path(page)
        if "/" not in page
        else Path(*[part for part in Path(folder, page).parts if part != ".."][-2:])
    )
    path = Path(folder, path) if path.parent == Path(".") else path
    return f"[{text}]({site}{path.with_suffix('')}.html{label or ''})"


@cache
def sources():
    from pybtex.database import parse_file

    return parse_file(str(ROOT / "references.bib")).entries


def citation(form, keys):
    """'([Elman, 1990](https://doi.org/…))' or, in a sentence (form t), '[Elman (1990)](…)'."""
    found = []
    for key in map(str.strip, keys):
        entry = sources()[key]
        names, year = authors(entry), entry.fields.get("year", "no year")
        text = f"{names} ({year})" if form == "t" else f"{names}, {year}"
        fields = entry.fields
        url = next((at + fields[name] for name, at in AT.items() if name in fields), None)
        found.append(f"[{text}]({url.replace('(', '%28').replace(')', '%29')})" if url else text)
    return ", ".join(found) if form == "t" else f"({'; '.join(found)})"


def authors(entry):
    from pybtex.richtext import Text

    people = entry.persons.get("author") or entry.persons["editor"]
    names = [str(Text.from_latex(" ".join(p.prelast_names + p.last_names))) for p in people]
    return (
        names[0]
        if len(names) == 1
        else f"{names[0]} and {names[1]}"
        if len(names) == 2
        else f"{names[0]} et al."
    )
