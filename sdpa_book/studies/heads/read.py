"""What is stored of a study: figures, as JSON that is compressed, and beside them, as ``.npz``,
vectors and matrices in half precision.
"""

from __future__ import annotations

import gzip
import json
import platform
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import sdpa_lib
from sdpa_book.studies.heads.corpus import LIBRARY, Corpus, as_tokens, load_corpus
from sdpa_book.studies.heads.look import (
    SWAPS,
    layers_of,
    model_figures,
    place_losses,
    place_scores,
    swapped_losses,
    temperatures,
    uniform_losses,
)
from sdpa_book.studies.heads.measure import DRAWN, LEAST, STRIDE, head_figures, parted_figures
from sdpa_book.studies.heads.ngrams import ngram_losses
from sdpa_book.studies.heads.study import CHOOSING, DecoderRun, Settings
from sdpa_book.studies.heads.train import (
    denormals_are_zero,
    in_parallel,
    load_model,
    make_runs,
    passage_losses,
)
from sdpa_book.studies.training.model import Transformer
from sdpa_book.studies.training.study import device_name
from sdpa_lib._checks import unknown_name

STORED = Path(__file__).parent / "results" / "heads.json.gz"
"""The figures that come with the book."""
LONGER = STORED.with_name("longer.json.gz")
"""Those of the longer trainings."""
WIDE = STORED.with_name("wide.json.gz")
"""Those with heads of 64 components."""

LINE = "def area(width, height):\n    return width * height\n\nprint(area("
"""A few lines that anyone can read, and no module holds: on them heads are shown."""
HELD_OUT = 2
"""Of which of the ``MEASURED`` passages the first bytes, as many, are kept beside them."""

MEASURED = 8
"""On how many held-out passages heads are measured."""
TESTED = 32
"""From how many the loss at the end is taken, and the losses with other divisors."""
MATCHED = 8
"""On how many passages of the training text a temperature a head is chosen."""
PLACED = 64
"""From how many passages of the training text it is estimated what place alone decides."""
ORDERS = 7
"""Up to how many bytes the pieces have whose counts the decoders are compared with."""


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
        error: its standard error, from one passage to the next.
        moments: the steps before which its heads were measured.
        figures: by name (moments, layers, heads), float64: what
            :func:`~sdpa_book.studies.heads.look.model_figures` gives.
        factors: (moments, layers, heads): the learned number that multiplies the scores; 1 where
            there is none.
        swaps: by divisor the loss at the end with it, as it is and with one temperature a head.
        changes: by what is done to the model at the end, by how much its loss rises, with the
            standard error from one passage to the next: the swaps with one temperature a head;
            ``uniform``, every key that is seen gets the same weight in all heads; ``place``, scores
            follow from places alone.
        parted: by name (layers, heads), float64, at the end: what
            :func:`~sdpa_book.studies.heads.measure.parted_figures` gives; and ``uniform``, by how
            much the loss rises if that head alone gives all keys the same weight.
    """

    run: DecoderRun
    rate: float
    step: int
    training: list[float]
    held_out: list[float]
    loss: float
    error: float
    moments: list[int]
    figures: dict[str, Tensor]
    factors: Tensor
    swaps: dict[str, tuple[float, float]]
    changes: dict[str, tuple[float, float]]
    parted: dict[str, Tensor]


@dataclass(frozen=True)
class Results:
    """The stored study.

    Attributes:
        provenance: settings, text, versions, device.
        trials: by scaling and learning rate the loss at the end of each trial.
        passages: by name the text whose queries and keys are kept.
        kept: by run and passage the steps whose queries and keys are kept.
        checks: the figures of kept queries and keys, (layers, heads), from before they were
            rounded, by run and passage: of the last step. Where values are kept, ``contribution``
            is the mean length of what a head adds to the residual stream.
        baselines: losses of pieces of one byte, of up to two, and so on, on the bytes that
            :attr:`Result.loss` is taken from: counted in all of the training text (``text``), and
            in the passages that the runs of seed 0 read (``read``).
        results: by the run's name.
    """

    provenance: dict[str, Any]
    trials: dict[str, dict[str, float]]
    passages: dict[str, str]
    kept: dict[str, list[int]]
    checks: dict[str, dict[str, Tensor]]
    baselines: dict[str, list[float]]
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
    content = path.read_bytes()
    try:
        stored = json.loads(gzip.decompress(content))
        results = {}
        for name, of_run in stored.pop("results").items():
            of_run["figures"] = {k: _tensor(v) for k, v in of_run["figures"].items()}
            of_run["parted"] = {k: _tensor(v) for k, v in of_run["parted"].items()}
            of_run["factors"] = _tensor(of_run["factors"])
            for name_of_pairs in ("swaps", "changes"):
                of_run[name_of_pairs] = {k: (v[0], v[1]) for k, v in of_run[name_of_pairs].items()}
            results[name] = Result(run=DecoderRun(**of_run.pop("run")), **of_run)
        checks = {
            key: {k: _tensor(v) for k, v in of_key.items()}
            for key, of_key in stored.pop("checks").items()
        }
        return Results(results=results, checks=checks, **stored)
    except (
        OSError,
        EOFError,
        zlib.error,
        KeyError,
        TypeError,
        AttributeError,
        ValueError,
    ) as error:
        raise ValueError(
            f"path must hold results of python -m sdpa_book.studies.heads, got {path}: {error}"
        ) from None


def load_vectors(run: DecoderRun, passage: str, path: Path = STORED) -> tuple[Tensor, Tensor]:
    """The kept queries and keys of a run on a passage.

    Args:
        run: which one.
        passage: in :attr:`Results.passages`.
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
    query, key = _load(path, _key(run, passage)).unbind(2)
    return query, key


def load_values(run: DecoderRun, passage: str, path: Path = LONGER) -> tuple[Tensor, Tensor]:
    """What the first run of the longer study makes of its weights at the end, to work through by
    hand.

    Args:
        run, passage, path: as in :func:`load_vectors`; values are kept of the first run of a study
            that keeps more than one moment.

    Returns:
        The values, (layers, heads, n, d_v), and W_O, (layers, heads, d_v, d_model), float32.
        ``(weights @ value) @ output``, summed over heads, is what a layer's attention adds to the
        residual stream.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: they are not kept of that run and passage.

    Example:
        >>> value, output = load_values(DecoderRun("sqrt_d_k"), "line")
        >>> value.shape[-1], output.shape
        (32, torch.Size([4, 4, 32, 128]))
    """
    key = _key(run, passage)
    return _load(path, f"{key}, values"), _load(path, f"{key}, output")


def load_places(run: DecoderRun, passage: str, path: Path = LONGER) -> Tensor:
    """What place alone decides of a run's scores: their mean over passages of the training text,
    each less its row's mean, for as many places as a passage has.

    Args:
        run, passage, path: as in :func:`load_values`.

    Returns:
        (steps, layers, heads, n, n), float32, -inf at hidden keys, for the steps of
        :attr:`Results.kept`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not kept of that run and passage.

    Example:
        >>> load_places(DecoderRun("sqrt_d_k"), "line").shape
        torch.Size([5, 4, 4, 63, 63])
    """
    return _load(path, f"{_key(run, passage)}, places")


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
        path: of the figures; the vectors are stored beside it.
        runs: which. Queries and keys at the end are kept of those with the first one's d_k and
            seed on ``LINE``, and of the first on a held-out passage; if more than one moment is
            kept, its values, W_O and what place decides on ``LINE``, too.
        settings: of the study.
        folder: where states and weights are kept, to go on from.
        kept_moments: of how many moments, spread over the training, the first run's are kept; with
            0 no vectors are.
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
    vectors: dict[str, Any] = {}
    kept: dict[str, list[int]] = {}
    checks: dict[str, Any] = {}
    line = as_tokens(LINE.encode())[: settings.n_tokens].long()
    held_out = corpus.passages(MEASURED, settings.n_tokens)[HELD_OUT, : len(line)]
    for run, moments in zip(runs, steps, strict=True):
        first = run == runs[0]
        many = min(kept_moments, len(moments)) if first else min(kept_moments, 1)
        if not many or run[1:] != runs[0][1:]:
            continue
        key, last = _key(run, "line"), len(moments) - 1
        kept[key] = [moments[last - i * last // max(1, many - 1)] for i in range(many)][::-1]
        models = [load_model(run, step, settings, folder) for step in kept[key]]
        vectors[key] = _vectors(models, line)
        checks[key] = _checks(models[-1], line)
        if first:
            beside = _key(run, "held out")
            kept[beside] = [moments[-1]]
            vectors[beside] = _vectors(models[-1:], held_out)
            checks[beside] = _checks(models[-1], held_out)
        if first and many > 1:
            value, output = _values(models[-1], line)
            of_layers = [layer.scores[0] for layer in layers_of(models[-1], line.unsqueeze(0))]
            weights = torch.softmax(torch.stack(of_layers), dim=-1)
            vectors[f"{key}, values"] = value.half().numpy()
            vectors[f"{key}, output"] = output.half().numpy()
            placing = _placing(settings, corpus)[:, : len(line) + 1]
            places = [torch.stack(place_scores(model, placing)) for model in models]
            vectors[f"{key}, places"] = torch.stack(places).half().numpy()
            checks[key]["contribution"] = _short(contribution(weights, value, output).tolist())
    stored = {
        "provenance": provenance(settings, corpus),
        "trials": trained["trials"],
        "passages": {"line": LINE, "held out": bytes(held_out.tolist()).decode()},
        "kept": kept,
        "checks": checks,
        "baselines": _baselines(settings, corpus),
        "results": results,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(stored, allow_nan=False, separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    if vectors:
        np.savez_compressed(_beside(path), **vectors)


def measure_run(
    run: DecoderRun, moments: Iterable[int], settings: Settings, corpus: Corpus, folder: Path
) -> dict[str, Any]:
    """What is measured of a run from its weights: ``loss``, ``error``, ``moments``,
    ``figures``, ``factors``, ``swaps``, ``changes`` and ``parted`` of :class:`Result`, numbers as
    they are stored.
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
    own = passage_losses(model, tested)
    swaps, rises = {}, {}
    for name in SWAPS:
        as_it_is = swapped_losses(model, tested, name)
        matched = swapped_losses(model, tested, name, temperatures(model, matching, name))
        swaps[name] = _short([as_it_is.mean().item(), matched.mean().item()])
        rises[name] = matched - own
    places = place_scores(model, _placing(settings, corpus))
    rises["uniform"] = uniform_losses(model, tested) - own
    rises["place"] = place_losses(model, tested, places) - own
    parted: dict[str, Any] = {}
    for layer, place in zip(layers_of(model, passages[:, :-1]), places, strict=True):
        for name, of_heads in parted_figures(layer.scores, place, least=least).items():
            parted.setdefault(name, []).append(_short(of_heads.tolist()))
    parted["uniform"] = [
        _short(
            [
                (uniform_losses(model, tested, (layer, head)) - own).mean().item()
                for head in range(settings.n_heads)
            ]
        )
        for layer in range(settings.n_layers)
    ]
    loss, error = _short(_with_error(own))
    return {
        "loss": loss,
        "error": error,
        "moments": moments,
        "figures": figures,
        "factors": factors,
        "swaps": swaps,
        "changes": {name: _short(_with_error(rise)) for name, rise in rises.items()},
        "parted": parted,
    }


def _placing(settings: Settings, corpus: Corpus) -> Tensor:
    """The passages from which it is estimated what place alone decides."""
    return corpus.batch(PLACED, settings.n_tokens, CHOOSING, settings.steps + 1)


def _with_error(values: Tensor) -> list[float]:
    """A mean, and its standard error."""
    return [values.mean().item(), values.std().item() / len(values) ** 0.5]


def provenance(settings: Settings, corpus: Corpus) -> dict[str, Any]:
    """What decides the figures."""
    return {
        "settings": asdict(settings)
        | {"measured": MEASURED, "tested": TESTED, "matched": MATCHED, "placed": PLACED}
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


def _baselines(settings: Settings, corpus: Corpus) -> dict[str, list[float]]:
    tested = corpus.passages(TESTED, settings.n_tokens)
    read = torch.cat(
        [
            corpus.batch(settings.batch, settings.n_tokens, 0, step).flatten()
            for step in range(settings.steps)
        ]
    )
    texts = {"text": corpus.training, "read": read.to(torch.uint8)}
    return {name: _short(ngram_losses(text, tested, ORDERS)) for name, text in texts.items()}


@denormals_are_zero()
def _measured(
    run: DecoderRun, moments: list[int], settings: Settings, library: Path, folder: Path
) -> dict[str, Any]:
    """Measured now, or by a call that was interrupted later."""
    path = folder / f"{run.name}.figures"
    if path.exists():
        there: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return there
    made = measure_run(run, moments, settings, load_corpus(library), folder)
    path.write_text(json.dumps(made, allow_nan=False), encoding="utf-8")
    return made


def _moments(settings: Settings, step: int) -> list[int]:
    """Those that a run came to."""
    return [moment for moment in settings.moments if moment <= step]


def _vectors(models: Sequence[Transformer], tokens: Tensor) -> Any:
    """Queries and keys of one text, (models, layers, 2, heads, n, d_k), in half precision."""
    of_models = [
        torch.stack(
            [torch.stack((q[0], k[0])) for q, k, _ in layers_of(model, tokens.unsqueeze(0))]
        )
        for model in models
    ]
    return torch.stack(of_models).half().numpy()


@torch.no_grad()
def _values(model: Transformer, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Values, (layers, heads, n, d_v), and W_O by heads, (layers, heads, d_v, d_model)."""
    x, values, outputs = model.embedded(tokens.unsqueeze(0)), [], []
    for block in model.blocks:
        attention = block.attention
        value = attention.value(block.attended(x))[0]  # (n, d_model)
        values.append(value.view(len(value), attention.n_heads, -1).transpose(0, 1))
        output = attention.output.weight.mT  # (d_model, d_model), what goes in first
        outputs.append(output.reshape(attention.n_heads, -1, output.shape[-1]))
        x = block(x)
    return torch.stack(values), torch.stack(outputs)


def contribution(weights: Tensor, value: Tensor, output: Tensor) -> Tensor:
    """The mean length over rows of what each head adds to the residual stream, (layers, heads)."""
    lengths: Tensor = (weights @ value @ output).norm(dim=-1)
    return lengths.mean(-1)


def _checks(model: Transformer, tokens: Tensor) -> dict[str, Any]:
    """The figures of one passage, (layers, heads)."""
    of_layers = [
        head_figures(*layer, least=len(tokens) // 2, stride=1)
        for layer in layers_of(model, tokens.unsqueeze(0))
    ]
    return {name: _short([f[name].tolist() for f in of_layers]) for name in of_layers[0]}


def _factor(attention: Any) -> list[float]:
    """The learned number of each head, and 1 where there is none."""
    if attention.log_scale is None:
        return [1.0] * attention.n_heads
    factors: list[float] = attention.log_scale.detach().exp().flatten().tolist()
    return factors


def _beside(path: Path) -> Path:
    """Where the vectors stand that go with the figures at a path."""
    return path.with_name(f"{path.name.partition('.')[0]}.npz")


def _load(path: Path, name: str) -> Tensor:
    with np.load(_beside(path)) as kept:
        if name not in kept:
            raise unknown_name("run and passage", name, kept.files)
        return torch.from_numpy(kept[name]).float()


def _key(run: DecoderRun, passage: str) -> str:
    return f"{run.name}, {passage}"


def _tensor(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def _short(values: Any) -> Any:
    """Numbers, in lists within lists, with four significant digits."""
    if isinstance(values, float):
        return float(f"{values:.4g}")
    return [_short(value) for value in values]
