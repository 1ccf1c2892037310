"""Measure the heads of a causal model of Hugging Face Transformers as the study measures its own,
and print a table, or JSON.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from sdpa_book.studies.heads import hugging_face
from sdpa_book.studies.heads.corpus import load_corpus


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(
        prog="python -m sdpa_book.studies.heads",
        description=__doc__,
        epilog="python -m sdpa_book.studies heads makes the study itself",
    )
    parser.add_argument(
        "--model", metavar="NAME_OR_PATH", required=True, help="as from_pretrained takes it"
    )
    parser.add_argument(
        "--text", type=Path, help="what it reads (default: held-out modules of Python's library)"
    )
    parser.add_argument("--length", type=int, default=256, help="tokens a passage (default: 256)")
    parser.add_argument("--passages", type=int, default=8, help="how many it reads (default: 8)")
    parser.add_argument("--json", action="store_true", help="print every figure, as JSON")
    options = parser.parse_args()
    if options.text is None:
        modules = load_corpus().held_out.values()
        text = "\n".join(bytes(module.tolist()).decode(errors="ignore") for module in modules)
    else:
        text = options.text.read_text(encoding="utf-8")
    figures = hugging_face.measure(
        *hugging_face.load(options.model), text, length=options.length, passages=options.passages
    )
    print(json.dumps(figures) if options.json else hugging_face.shown(figures))


if __name__ == "__main__":
    main()
