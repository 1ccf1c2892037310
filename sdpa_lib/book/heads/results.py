"""What is stored of the study: one JSON file of figures, and beside it, as ``.npz``, queries and
keys in half precision.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import sdpa_lib
from sdpa_lib._checks import unknown_name
from sdpa_lib.book.heads.corpus import LIBRARY, Corpus, as_tokens, load_corpus
from sdpa_lib.book.heads.look import (
    SWAPS,
    layers_of,
    model_figures,
    swapped_loss,
    temperatures,
)
from sdpa_lib.book.heads.measure import DRAWN, LEAST, STRIDE, head_figures
from sdpa_lib.book.heads.study import CHOOSING, DecoderRun, Settings
from sdpa_lib.book.heads.train import held_out_loss, in_parallel, load_model, make_runs
from sdpa_lib.book.training.model import Transformer
from sdpa_lib.book.training.study import device_name

STORED = Path(__file__).parent / "results" / "heads.json"
"""The figures that come with the book."""
LONGER = STORED.with_name("longer.json")
"""Those of the longer trainings."""

LINE = "def area(width, height):\n    return width * height\n\nprint(area("
"""A few lines that anyone can read, and no module holds: on them heads are shown."""

MEASURED = 8
"""On how many held-out passages heads are measured."""
TESTED = 32
"""From how many the loss at the end is taken, and the losses with other divisors."""
MATCHED = 8
"""On how many passages of the training text a temperature a head is chosen."""
MODULE = 128
"""How long the passage of a held-out module is whose queries and keys are kept."""


@dataclass(frozen=True)
class Result:
    """What a run gave.

    Attributes:
        run: which one.
        rate: its learning rate, as a power of 10.
        step: how many steps it took.
        training: the training loss in nats a byte, mean over each ``Settings.every`` steps.
        held_out: the loss on held-out passages, at the start and after each ``Settings.every``.
        loss: at the end, on ``TESTED`` held-out passages.
        moments: the steps before which its heads were measured.
        figures: by name (moments, layers, heads), float64: what
            :func:`~sdpa_lib.book.heads.look.model_figures` gives.
        factors: (moments, layers, heads): the learned number that multiplies the scores; 1 where
            there is none.
        swaps: by divisor the loss at the end with it, as it is and with one temperature a head.
    """

    run: DecoderRun
    rate: float
    step: int
    training: list[float]
    held_out: list[float]
    loss: float
    moments: list[int]
    figures: dict[str, Tensor]
    factors: Tensor
    swaps: dict[str, tuple[float, float]]


@dataclass(frozen=True)
class Results:
    """The stored study.

    Attributes:
        provenance: settings, text, versions, device.
        trials: by scaling and learning rate the loss at the end of each trial.
        passages: by name the text whose queries and keys are kept.
        kept: by run and passage the steps whose queries and keys are kept.
        checks: the figures of kept queries and keys, (layers, heads), from before they were
            rounded, by run and passage: of the last step.
        results: by the run's name.
    """

    provenance: dict[str, Any]
    trials: dict[str, dict[str, float]]
    passages: dict[str, str]
    kept: dict[str, list[int]]
    checks: dict[str, dict[str, Tensor]]
    results: dict[str, Result]

    def __getitem__(self, run: DecoderRun) -> Result:
        """The result of a run.

        Raises:
            ValueError: it is not stored.
        """
        if run.name not in self.results:
            raise unknown_name("run", run.name, self.results)
        return self.results[run.name]


def load_results(path: Path = STORED) -> Results:
    """The stored figures.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file holds something else.

    Example:
        >>> load_results()[DecoderRun("sqrt_d_k")].figures["sigma"].shape
        torch.Size([10, 4, 4])
    """
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        results = {}
        for name, of_run in stored.pop("results").items():
            of_run["figures"] = {k: _tensor(v) for k, v in of_run["figures"].items()}
            of_run["factors"] = _tensor(of_run["factors"])
            of_run["swaps"] = {k: (v[0], v[1]) for k, v in of_run["swaps"].items()}
            results[name] = Result(run=DecoderRun(**of_run.pop("run")), **of_run)
        checks = {
            key: {k: _tensor(v) for k, v in of_key.items()}
            for key, of_key in stored.pop("checks").items()
        }
        return Results(results=results, checks=checks, **stored)
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(
            f"path must hold results of python -m sdpa_lib.book.heads, got {path}: {error}"
        ) from None


def load_vectors(run: DecoderRun, passage: str, path: Path = STORED) -> tuple[Tensor, Tensor]:
    """The kept queries and keys of a run on a passage.

    Args:
        run: which one.
        passage: ``"line"`` or ``"module"``.
        path: of the figures; the vectors stand beside it.

    Returns:
        Queries and keys, (steps, layers, heads, n, d_k), float32, for the steps of
        :attr:`Results.kept`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: no such run or passage is kept.

    Example:
        >>> query, key = load_vectors(DecoderRun("sqrt_d_k"), "line")
        >>> query.shape[1:3], query.dtype
        (torch.Size([4, 4]), torch.float32)
    """
    with np.load(path.with_suffix(".npz")) as kept:
        name = _key(run, passage)
        if name not in kept:
            raise unknown_name("run and passage", name, kept.files)
        query, key = torch.from_numpy(kept[name]).float().unbind(2)
    return query, key


def make_results(
    path: Path,
    runs: Sequence[DecoderRun],
    settings: Settings,
    folder: Path,
    *,
    kept_moments: int = 1,
    library: Path = LIBRARY,
    workers: int = 1,
) -> None:
    """Train and measure what ``folder`` does not hold yet, and store the study.

    Args:
        path: of the JSON file; the vectors are stored beside it.
        runs: which. The vectors at the end are kept of those with the first one's d_k and seed.
        settings: of the study.
        folder: where states and weights are kept, to go on from.
        kept_moments: of how many moments, spread over the training, the first run's are kept.
        library: the folder of the modules that are read.
        workers: runs at a time, each with one thread.
    """
    trained = make_runs(runs, settings, folder, library=library, workers=workers)
    corpus = load_corpus(library)
    steps = [_moments(settings, trained["runs"][run.name]["step"]) for run in runs]
    calls = [(*pair, settings, library, folder) for pair in zip(runs, steps, strict=True)]
    measured = in_parallel(_measured, calls, workers, "measured")
    results = {
        run.name: {"run": run._asdict()} | trained["runs"][run.name] | figures
        for run, figures in zip(runs, measured, strict=True)
    }
    passages = {"line": LINE, "module": _module(corpus, settings)}
    vectors: dict[str, Any] = {}
    kept: dict[str, list[int]] = {}
    checks: dict[str, Any] = {}
    for run, moments in zip(runs, steps, strict=True):
        for passage, text in passages.items():
            first, line = run == runs[0], passage == "line"
            if not first and (not line or run[1:] != runs[0][1:]):
                continue
            key = _key(run, passage)
            many = min(kept_moments, len(moments)) if first and line else 1
            last = len(moments) - 1
            kept[key] = [moments[last - i * last // max(1, many - 1)] for i in range(many)][::-1]
            models = [load_model(run, step, settings, folder) for step in kept[key]]
            tokens = as_tokens(text.encode())[: settings.n_tokens].long().unsqueeze(0)
            vectors[key] = torch.stack([_vectors(model, tokens) for model in models]).half().numpy()
            checks[key] = _checks(models[-1], tokens)
    stored = {
        "provenance": provenance(settings, corpus),
        "trials": trained["trials"],
        "passages": passages,
        "kept": kept,
        "checks": checks,
        "results": results,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(stored, allow_nan=False) + "\n", encoding="utf-8")
    np.savez_compressed(path.with_suffix(".npz"), **vectors)


def measure_run(
    run: DecoderRun, moments: Iterable[int], settings: Settings, corpus: Corpus, folder: Path
) -> dict[str, Any]:
    """What is measured of a run from its weights: ``loss``, ``moments``, ``figures``, ``factors``
    and ``swaps`` of :class:`Result`, numbers as they are stored.
    """
    passages = corpus.passages(MEASURED, settings.n_tokens)
    least = min(LEAST, settings.n_tokens // 2)
    moments, factors = list(moments), []
    figures: dict[str, Any] = {}
    for step in moments:
        model = load_model(run, step, settings, folder)
        for name, values in model_figures(model, passages, least=least).items():
            figures.setdefault(name, []).append(_short(values))
        factors.append(_short([_factor(block.attention) for block in model.blocks]))
    model = load_model(run, moments[-1], settings, folder)
    tested = corpus.passages(TESTED, settings.n_tokens)
    matching = corpus.batch(MATCHED, settings.n_tokens, CHOOSING, settings.steps)
    swaps = {
        name: _short(
            [
                swapped_loss(model, tested, name),
                swapped_loss(model, tested, name, temperatures(model, matching, name)),
            ]
        )
        for name in SWAPS
    }
    return {
        "loss": _short(held_out_loss(model, tested)),
        "moments": moments,
        "figures": figures,
        "factors": factors,
        "swaps": swaps,
    }


def provenance(settings: Settings, corpus: Corpus) -> dict[str, Any]:
    """What decides the figures."""
    return {
        "settings": asdict(settings)
        | {"measured": MEASURED, "tested": TESTED, "matched": MATCHED}
        | {"least": LEAST, "stride": STRIDE, "drawn": DRAWN},
        "corpus": {
            "files": dict(corpus.sizes),
            "held_out": list(corpus.held_out),
            "sha256": corpus.sha256,
        },
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("torch", "numpy")}
        | {"sdpa-lib": sdpa_lib.__version__},
        "device": device_name(torch.device("cpu")),
    }


def _measured(
    run: DecoderRun, moments: list[int], settings: Settings, library: Path, folder: Path
) -> dict[str, Any]:
    """Measured now, or by a call that was interrupted later."""
    path = folder / f"{run.name}.figures"
    if path.exists():
        there: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return there
    torch.set_flush_denormal(True)
    made = measure_run(run, moments, settings, load_corpus(library), folder)
    path.write_text(json.dumps(made, allow_nan=False), encoding="utf-8")
    return made


def _moments(settings: Settings, step: int) -> list[int]:
    """Those that a run came to."""
    return [moment for moment in settings.moments if moment <= step]


def _module(corpus: Corpus, settings: Settings) -> str:
    """A passage of the text that was held out, of whole characters."""
    passage = corpus.passages(settings.passages, settings.n_tokens)[settings.passages // 2]
    return bytes(passage[:MODULE].tolist()).decode(errors="ignore")


def _vectors(model: Transformer, tokens: Tensor) -> Tensor:
    """Queries and keys, (layers, 2, heads, n, d_k)."""
    return torch.stack([torch.stack((q[0], k[0])) for q, k, _ in layers_of(model, tokens)])


def _checks(model: Transformer, tokens: Tensor) -> dict[str, Any]:
    """The figures of one passage, (layers, heads)."""
    of_layers = [
        head_figures(*layer, least=tokens.shape[1] // 2, stride=1)
        for layer in layers_of(model, tokens)
    ]
    return {name: _short([f[name].tolist() for f in of_layers]) for name in of_layers[0]}


def _factor(attention: Any) -> list[float]:
    """The learned number of each head, and 1 where there is none."""
    if attention.log_scale is None:
        return [1.0] * attention.n_heads
    factors: list[float] = attention.log_scale.detach().exp().flatten().tolist()
    return factors


def _key(run: DecoderRun, passage: str) -> str:
    return f"{run.name}, {passage}"


def _tensor(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _short(values: Any) -> Any:
    """Numbers, in lists within lists, with four significant digits."""
    if isinstance(values, float):
        return float(f"{values:.4g}")
    return [_short(value) for value in values]
