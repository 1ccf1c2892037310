"""Train and measure the book's decoders, or measure a model of your own.

Without ``--model``, ``python -m sdpa_book.studies.heads`` makes the stored study, or goes on with
it where an interruption left it. With ``--model NAME_OR_PATH`` it measures the heads of a causal
model of Hugging Face Transformers, and prints a table, or JSON.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from sdpa_book.studies.heads.corpus import load_corpus
from sdpa_book.studies.heads.results import STORED, make_results
from sdpa_book.studies.heads.study import STUDIES


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m sdpa_book.studies.heads", description=__doc__)
    study = parser.add_argument_group("the study")
    study.add_argument(
        "--out",
        type=Path,
        default=STORED.parent,
        help="the folder of the figures (default: the book's own)",
    )
    study.add_argument(
        "--state",
        type=Path,
        default=Path(tempfile.gettempdir()) / "sdpa_heads",
        help="where weights are kept, to go on from (default: in the folder for temporary files)",
    )
    study.add_argument(
        "--only",
        nargs="+",
        metavar="STUDY",
        choices=STUDIES,
        default=list(STUDIES),
        help=f"which to make, of {', '.join(STUDIES)} (default: all of them)",
    )
    study.add_argument("--workers", type=int, default=1, help="runs at a time (default: 1)")
    model = parser.add_argument_group("a model of your own")
    model.add_argument("--model", metavar="NAME_OR_PATH", help="as from_pretrained takes it")
    model.add_argument(
        "--text", type=Path, help="what it reads (default: held-out modules of Python's library)"
    )
    model.add_argument("--length", type=int, default=256, help="tokens a passage (default: 256)")
    model.add_argument("--passages", type=int, default=8, help="how many it reads (default: 8)")
    model.add_argument("--json", action="store_true", help="print every figure, as JSON")
    options = parser.parse_args()
    if options.model is not None:
        from sdpa_book.studies.heads.hugging_face import load, measure, shown  # an extra

        if options.text is None:
            modules = load_corpus().held_out.values()
            text = "\n".join(bytes(module.tolist()).decode(errors="ignore") for module in modules)
        else:
            text = options.text.read_text(encoding="utf-8")
        figures = measure(
            *load(options.model), text, length=options.length, passages=options.passages
        )
        print(json.dumps(figures) if options.json else shown(figures))
        return
    for name in options.only:
        chosen = STUDIES[name]
        make_results(
            options.out / f"{name}.json.gz",
            chosen.runs,
            chosen.settings,
            options.state / name,
            kept_moments=chosen.kept,
            workers=options.workers,
        )


if __name__ == "__main__":
    main()
