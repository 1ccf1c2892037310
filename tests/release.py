"""All of a release but the publishing: ``make release-check``, by the standard library alone.

``_build/release`` gets the wheel and the source distribution of which it was built, in ``dist``;
both checked as an index does; and ``notes.md``, CHANGELOG's section of the version. The doctests
run in an environment into which nothing but the wheel was installed, with what it asks for.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RELEASE = ROOT / "_build" / "release"
PUBLISHING = ["build==1.6.1", "twine==7.0.0", "readme_renderer[md]==46.0"]
DOCTESTS = """
import doctest, importlib, pkgutil, sys, sdpa_lib
print("Doctests of", sdpa_lib.__file__)
assert sdpa_lib.__file__.startswith(sys.prefix)
names = [f"sdpa_lib.{module.name}" for module in pkgutil.iter_modules(sdpa_lib.__path__)]
modules = [importlib.import_module(name) for name in names]
results = [doctest.testmod(m, optionflags=doctest.ELLIPSIS) for m in modules]  # pytest's default
print(sum(r.attempted for r in results), "examples,", sum(r.failed for r in results), "failed")
sys.exit(any(r.failed for r in results) or not any(r.attempted for r in results))
"""


def notes(changes: str, version: str) -> str:
    """What CHANGELOG says of a version."""
    for section in re.split(r"^## ", changes, flags=re.MULTILINE)[1:]:
        title, _, text = section.partition("\n")
        if title.split()[0] == version:
            return text.strip() + "\n"
    raise SystemExit(f"CHANGELOG.md has no section {version}")


def environment(folder: Path, *packages: str | Path) -> Path:
    """The Python of a fresh environment."""
    venv.create(folder, with_pip=True)
    python = folder / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)
    return python


def main(tag: str | None = None) -> None:
    shutil.rmtree(RELEASE, ignore_errors=True)
    dist = RELEASE / "dist"
    with tempfile.TemporaryDirectory() as folder:
        python = environment(Path(folder) / "publishing", *PUBLISHING)
        subprocess.run([python, "-m", "build", "--outdir", dist, ROOT], check=True)
        files = sorted(dist.iterdir())
        subprocess.run([python, "-m", "twine", "check", "--strict", *files], check=True)

        (wheel,) = dist.glob("*.whl")
        version = wheel.name.split("-")[1]
        if tag is not None and tag != f"v{version}":
            raise SystemExit(f"the tag is {tag}, and sdpa_lib.__version__ {version}")
        changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
        (RELEASE / "notes.md").write_text(notes(changes, version), encoding="utf-8")

        python = environment(Path(folder) / "alone", wheel)
        subprocess.run([python, "-c", DOCTESTS], cwd=folder, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
