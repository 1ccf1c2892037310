"""Begin a new explorable: ``python -m sdpa_book.explorables NAME`` copies the template."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from sdpa_book.explorables import FOLDER

TEMPLATE = FOLDER / "_template"
NEXT = "{folder} is an explorable. Go on as CONTRIBUTING.md says: *Add or change an explorable*, 1."


def copy(name: str, folder: Path = FOLDER) -> Path:
    """Copy the template to a new explorable of this name.

    Returns:
        the folder of the new explorable.

    Raises:
        ValueError: ``name`` is no word of small letters and digits, or is taken.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*", name):
        raise ValueError(f"name must be a word of small letters and digits, got {name!r}")
    new = folder / name
    if new.exists() or (folder / f"{name}.py").exists():
        raise ValueError(f"name must be one that no explorable has, got {name!r}")
    new.mkdir()
    for file in sorted(path for path in TEMPLATE.iterdir() if path.is_file()):
        text = file.read_text(encoding="utf-8").replace("template", name)
        (new / file.name.replace("template", name)).write_text(text, encoding="utf-8")
    return new


def main() -> None:
    parser = argparse.ArgumentParser(prog="sdpa_book.explorables", description=__doc__)
    parser.add_argument("name", metavar="NAME", help="a word of small letters")
    name = parser.parse_args().name
    try:
        folder = copy(name)
    except ValueError as error:
        parser.error(str(error))
    print(NEXT.format(folder=folder))


if __name__ == "__main__":
    main()
