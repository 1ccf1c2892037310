"""What is measured of one decoder, and the trainings and measurements of a plan, stored as
:mod:`~sdpa_book.studies.heads.read` reads them.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

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
from sdpa_book.studies.heads.plan import CHOOSING, DecoderRun, Settings, Study
from sdpa_book.studies.heads.read import key_of, load_results, vectors_path
from sdpa_book.studies.heads.train import (
    best_rate,
    check_folder,
    load_model,
    passage_losses,
    trained,
    trial_name,
)
from sdpa_book.studies.making import (
    check_settings,
    denormals_are_zero,
    device_name,
    short,
    versions,
    write,
)
from sdpa_book.studies.resuming import Calls, resume
from sdpa_book.studies.transformer import Transformer, check_scaling

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


def make(
    out: Path,
    plan: Mapping[str, Study],
    *,
    library: Path = LIBRARY,
    workers: int = 1,
    scheduler: str | None = None,
) -> None:
    """Train and measure what ``out`` does not hold yet, and store each study of a plan.

    Args:
        out: the folder of the figures; weights, to go on from, are kept in its folder ``state``.
        plan: the studies.
        library: the folder of the modules that are read.
        workers: runs at a time, each with one thread.
        scheduler: none, since weights are kept on this machine.

    Raises:
        ValueError: a scaling is not known, or the folder holds studies with other settings or
            another text.
    """
    if scheduler is not None:
        raise ValueError("scheduler must be none: heads keeps weights in a folder of this machine")
    for study in plan.values():
        for run in study.runs:
            check_scaling(run.divided)
    begun = {
        name: _Begun(study, out / f"{name}.json.gz", out / "state" / name, library)
        for name, study in plan.items()
        if not _is_stored(study, out / f"{name}.json.gz")
    }

    def left() -> Calls[tuple[str, str]]:
        return {
            (name, piece): call
            for name, study in begun.items()
            for piece, call in study.left().items()
        }

    def store(of: tuple[str, str], result: Any) -> None:
        name, piece = of
        begun[name].store(piece, result)

    def state(of: tuple[str, str]) -> Path:
        name, piece = of
        return begun[name].folder / f"{piece}.state"

    total = sum(map(_pieces, plan.values()))
    missing = sum(_pieces(study.study) - len(study.results) for study in begun.values())
    stored = total - missing
    resume(out, stored, left, store, total=total, state=state, workers=workers)


def _is_stored(study: Study, path: Path) -> bool:
    """Whether a file holds a study; one with other settings is left alone."""
    if not path.exists():
        return False
    there, here = load_results(path), json.loads(json.dumps(asdict(study.settings)))
    check_settings(path, there.provenance["settings"], here)
    return all(run.name in there.results for run in study.runs)


def _pieces(study: Study) -> int:
    """How many a study has: trials of rates, trainings, their measurements, and the files."""
    scalings, rates = {run.scaling for run in study.runs}, study.settings.rates
    trials = len(scalings) * len(rates) if len(rates) > 1 else 0
    return trials + 2 * len(study.runs) + 1


class _Begun:
    """A study whose files are not stored yet.

    Attributes:
        study: what is made.
        results: the results of its other pieces, by name, each kept as JSON in the study's folder.
    """

    def __init__(self, study: Study, path: Path, folder: Path, library: Path) -> None:
        check_folder(folder, study.settings, library)
        self.study, self.path, self.folder, self.library = study, path, folder, library
        self.results: dict[str, Any] = {}
        pieces = [f"{run.name}{kind}" for run in study.runs for kind in ("", ", measured")]
        pieces += [name for run in study.runs for name in self._trials(run.scaling)]
        for piece in dict.fromkeys(pieces):
            if (file := folder / f"{piece}.json").exists():
                self.results[piece] = json.loads(file.read_text(encoding="utf-8"))

    def left(self) -> Calls[str]:
        """The calls that can be made now. No rate is chosen before all of its scaling are tried."""
        settings, given = self.study.settings, (self.study.settings, self.library, self.folder)
        calls: dict[str, Callable[[], Any]] = {}
        for run in self.study.runs:
            trials, measurement = self._trials(run.scaling), f"{run.name}, measured"
            chooser = DecoderRun(run.scaling, settings.trial_d_k, CHOOSING)
            for name, rate in trials.items():
                if name not in self.results:
                    calls[name] = partial(trained, chooser, rate, *given, trial=True)
            if run.name in self.results and measurement not in self.results:
                moments = _moments(settings, self.results[run.name]["step"])
                calls[measurement] = partial(_measured, run, moments, *given)
            elif run.name not in self.results and trials.keys() <= self.results.keys():
                ends = self._ends(run.scaling)
                rate = best_rate(ends) if ends else settings.rates[0]
                calls[run.name] = partial(trained, run, rate, *given)
        if not calls:
            calls[""] = self._files
        return calls

    def store(self, piece: str, result: Any) -> None:
        """Keep a piece; the files have been written where they were made."""
        if piece:
            write(self.folder / f"{piece}.json", json.dumps(result))
        self.results[piece] = result

    def _trials(self, scaling: str) -> dict[str, float]:
        """The rates that are tried, by the names of their trials: none if there is no choice."""
        settings = self.study.settings
        if len(settings.rates) == 1:
            return {}
        chooser = DecoderRun(scaling, settings.trial_d_k, CHOOSING)
        return {trial_name(chooser, rate): rate for rate in settings.rates}

    def _ends(self, scaling: str) -> dict[str, float]:
        """The loss at the end of each trial."""
        trials = self._trials(scaling).items()
        return {f"{rate:g}": self.results[name]["held_out"][-1] for name, rate in trials}

    def _files(self) -> None:
        runs = self.study.runs
        trials = {run.scaling: self._ends(run.scaling) for run in runs}
        results = {
            run.name: {"run": run._asdict()}
            | self.results[run.name]
            | self.results[f"{run.name}, measured"]
            for run in runs
        }
        corpus = load_corpus(self.library, self.study.settings.fixed_first)
        store(self.path, self.study, trials, results, corpus, self.folder)


def store(
    path: Path,
    study: Study,
    trials: Mapping[str, Mapping[str, float]],
    results: Mapping[str, Mapping[str, Any]],
    corpus: Corpus,
    folder: Path,
) -> None:
    """Store a study.

    Args:
        path: of the figures; the vectors are stored beside it.
        study: its settings and runs. Queries and keys at the end are kept of those with the first
            one's d_k and seed on ``LINE``, and of the first on a held-out passage; if more than one
            moment is kept, its values, W_O and what place decides on ``LINE``, too.
            ``kept_moments`` says of how many moments, spread over the training, the first run's
            are; with 0 no vectors are.
        trials: the loss at the end of each trial, by scaling and rate.
        results: by the run's name what :func:`~sdpa_book.studies.heads.train.train` and
            :func:`measure_run` give.
        corpus: what was read.
        folder: where weights are kept.
    """
    settings, runs, kept_moments = study
    steps = [_moments(settings, results[run.name]["step"]) for run in runs]
    vectors: dict[str, Any] = {}
    kept_steps: dict[str, list[int]] = {}
    checks: dict[str, Any] = {}
    line = as_tokens(LINE.encode())[: settings.n_tokens].long()
    held_out = corpus.passages(MEASURED, settings.n_tokens)[HELD_OUT, : len(line)]
    for run, moments in zip(runs, steps, strict=True):
        first = run == runs[0]
        many = min(kept_moments, len(moments)) if first else min(kept_moments, 1)
        if not many or run[1:] != runs[0][1:]:
            continue
        key, last = key_of(run, "line"), len(moments) - 1
        kept_steps[key] = [moments[last - i * last // max(1, many - 1)] for i in range(many)][::-1]
        models = [load_model(run, step, settings, folder) for step in kept_steps[key]]
        vectors[key] = _vectors(models, line)
        checks[key] = _checks(models[-1], line)
        if first:
            beside = key_of(run, "held out")
            kept_steps[beside] = [moments[-1]]
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
        "trials": trials,
        "passages": {"line": LINE, "held out": bytes(held_out.tolist()).decode()},
        "kept": kept_steps,
        "checks": checks,
        "baselines": _baselines(settings, corpus),
        "results": results,
    }
    if vectors:
        content = io.BytesIO()
        np.savez_compressed(content, **vectors)
        write(vectors_path(path), content.getvalue())
    text = json.dumps(stored, allow_nan=False, separators=(",", ":"))
    write(path, gzip.compress(text.encode(), mtime=0))


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
        "versions": versions("torch", "numpy"),
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
    corpus = load_corpus(library, settings.fixed_first)
    return measure_run(run, moments, settings, corpus, folder)


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


def contribution(weights: Tensor, value: Tensor, output: Tensor) -> Tensor:
    """The mean length over rows of what each head adds to the residual stream, (layers, heads)."""
    lengths: Tensor = (weights @ value @ output).norm(dim=-1)
    return lengths.mean(-1)


def _short(values: Any) -> Any:
    """Numbers, in lists within lists, with four significant digits."""
    if isinstance(values, float):
        return short(values)
    return [_short(value) for value in values]
