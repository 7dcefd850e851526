"""Fetch the scripts the site serves itself, from their npm packages, at pinned versions.

    python -m tools.site.vendor          writes assets/vendor/; commit the result

Each archive is checked against the digest below; each package's licence is kept beside its files.
"""

import base64
import hashlib
import io
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from tools.repository import ROOT

VENDOR = ROOT / "assets" / "vendor"
PACKAGES = {
    # folder: npm package, digest of its archive, {file or folder in it: name in our folder}
    "mathjax": (
        "mathjax@3.2.2",
        "sha512-Bt+SSVU8eBG27zChVewOicYs7Xsdt40qm4+UpHyX7k0/O9NliPc+x77k1/FEsPsjKPZGJvtRZM1vO+geW0OhGw==",
        {
            "LICENSE": "LICENSE",
            **{
                f"es5/{name}.js": f"{name}.js"
                for name in (
                    "startup",
                    "core",
                    "input/tex",
                    "output/chtml",
                    "output/chtml/fonts/tex",
                    "a11y/assistive-mml",
                )
            },
            "es5/output/chtml/fonts/woff-v2": "output/chtml/fonts/woff-v2",
        },
    ),
}
# The bold font serves \\mathbf: letters, digits, Greek and a few operators are a third of it.
# (Needs fontTools.)
SUBSETS = {
    "mathjax": {
        "output/chtml/fonts/woff-v2/MathJax_Main-Bold.woff": "".join(
            map(chr, [*range(0x20, 0x7F), *range(0x391, 0x3CA), *range(0x3D0, 0x3F6)])
        )
        + "\u00a0±×·∂∇∏∑−∞√≤≥′ℓ"
    }
}


def subset(font: Path, text: str) -> None:
    """Keep only these characters of a font file, in place."""
    from fontTools import subset as fonts  # comes with matplotlib

    options = fonts.Options(flavor="woff", hinting=False, notdef_outline=True)
    loaded = fonts.load_font(font, options)
    cutter = fonts.Subsetter(options)
    cutter.populate(text=text)
    cutter.subset(loaded)
    fonts.save_font(loaded, font, options)


def fetch(package: str) -> bytes:
    """The bytes of an npm package's archive, through npm: its settings (mirror, proxy) hold."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", package, "--silent"], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
        return next(Path(folder).glob("*.tgz")).read_bytes()


def vendor(folder: str, package: str, digest: str, files: dict[str, str]) -> None:
    """Write the files of a package into a folder of VENDOR; ends the program if it is another."""
    archive = fetch(package)
    found = "sha512-" + base64.b64encode(hashlib.sha512(archive).digest()).decode()
    if found != digest:
        raise SystemExit(f"{package} is not what it was: its digest is {found}, expected {digest}")
    target = VENDOR / folder
    shutil.rmtree(target, ignore_errors=True)
    with tempfile.TemporaryDirectory() as unpacked:
        tarfile.open(fileobj=io.BytesIO(archive)).extractall(unpacked, filter="data")
        for inside, name in files.items():
            source, copy = Path(unpacked, "package", inside), target / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, copy)
            else:
                shutil.copyfile(source, copy)
    for font, text in SUBSETS.get(folder, {}).items():
        subset(target / font, text)
    (target / "VERSION").write_text(
        package
        + "".join(f"; {font} cut to what is used" for font in SUBSETS.get(folder, {}))
        + "\n",
        encoding="utf-8",
    )
    print(f"wrote {target} from {package}")


if __name__ == "__main__":
    for folder, details in PACKAGES.items():
        vendor(folder, *details)
