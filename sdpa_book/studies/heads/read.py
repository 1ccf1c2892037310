"""What is stored of the decoders: figures, as JSON that is compressed, and beside them, as
``.npz``, vectors and matrices in half precision.
"""

from __future__ import annotations

import gzip
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sdpa_book.studies.heads.plan import DecoderRun
from sdpa_lib._checks import unknown_name

STORED = Path(__file__).parent / "results" / "heads.json.gz"
"""The figures that come with the book."""
LONGER = STORED.with_name("longer.json.gz")
"""Those of the longer trainings."""
WIDE = STORED.with_name("wide.json.gz")
"""Those with heads of 64 components."""
CAUSAL = {
    ("1/inputs", 0.1): STORED.with_name("causal.json.gz"),
    ("1/inputs", 0.0): STORED.with_name("causal_undecayed.json.gz"),
    ("0.02", 0.1): STORED.with_name("causal_small.json.gz"),
    ("0.02", 0.0): STORED.with_name("causal_small_undecayed.json.gz"),
}
"""Those of a decoder that is trained as people train them, by its start and AdamW's decay."""


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
        kept_steps: by run and passage the steps whose queries and keys are kept.
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
    kept_steps: dict[str, list[int]]
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
        return Results(results=results, checks=checks, kept_steps=stored.pop("kept"), **stored)
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
            f"path must hold results of the study of heads, got {path}: {error}"
        ) from None


def load_causal() -> dict[tuple[str, float], Results]:
    """The figures at each of ``CAUSAL``.

    Example:
        >>> load_causal()["1/inputs", 0.1][DecoderRun("qk_clip")].step
        2400
    """
    return {cell: load_results(path) for cell, path in CAUSAL.items()}


def mean_over_heads(results: Results, scaling: str, figure: str) -> Tensor:
    """A figure over the course of the runs with a scaling, in the order of their seeds.

    Returns:
        (seeds, moments), float64.

    Raises:
        ValueError: no run has the scaling, or its runs have no such figure.

    Example:
        >>> spread = mean_over_heads(load_causal()["1/inputs", 0.1], "sqrt_d_k", "sigma")
        >>> [f"{x:.1f}" for x in spread[:, 0]]  # of two fresh decoders
        ['0.9', '0.9']
    """
    runs = sorted(results.results.values(), key=lambda result: result.run.seed)
    some = [result for result in runs if result.run.scaling == scaling]
    if not some:
        raise unknown_name("scaling", scaling, dict.fromkeys(r.run.scaling for r in runs))
    if figure not in some[0].figures:
        raise unknown_name("figure", figure, some[0].figures)
    return torch.stack([result.figures[figure].flatten(1).mean(1) for result in some])


def load_vectors(run: DecoderRun, passage: str, path: Path = STORED) -> tuple[Tensor, Tensor]:
    """The kept queries and keys of a run on a passage.

    Args:
        run: which one.
        passage: in :attr:`Results.passages`.
        path: of the figures; the vectors stand beside it.

    Returns:
        Queries and keys, (steps, layers, heads, n, d_k), float32, for the steps of
        :attr:`Results.kept_steps`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: no such run or passage is kept.

    Example:
        >>> query, key = load_vectors(DecoderRun("sqrt_d_k"), "line")
        >>> query.shape[1:3], query.dtype
        (torch.Size([4, 4]), torch.float32)
    """
    query, key = _load(path, key_of(run, passage)).unbind(2)
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
    key = key_of(run, passage)
    return _load(path, f"{key}, values"), _load(path, f"{key}, output")


def load_places(run: DecoderRun, passage: str, path: Path = LONGER) -> Tensor:
    """What place alone decides of a run's scores: their mean over passages of the training text,
    each less its row's mean, for as many places as a passage has.

    Args:
        run, passage, path: as in :func:`load_values`.

    Returns:
        (steps, layers, heads, n, n), float32, -inf at hidden keys, for the steps of
        :attr:`Results.kept_steps`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not kept of that run and passage.

    Example:
        >>> load_places(DecoderRun("sqrt_d_k"), "line").shape
        torch.Size([5, 4, 4, 63, 63])
    """
    return _load(path, f"{key_of(run, passage)}, places")


def vectors_path(path: Path) -> Path:
    """Where the vectors stand that go with the figures at a path."""
    return path.with_name(f"{path.name.partition('.')[0]}.npz")


def _load(path: Path, name: str) -> Tensor:
    with np.load(vectors_path(path)) as vectors:
        if name not in vectors:
            raise unknown_name("run and passage", name, vectors.files)
        return torch.from_numpy(vectors[name]).float()


def key_of(run: DecoderRun, passage: str) -> str:
    return f"{run.name}, {passage}"


def _tensor(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)
