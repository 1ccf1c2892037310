"""That the figures are right on this device: their distance from float64's."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from benchmarks.contestants import Shape, inputs
from benchmarks.machine import dtype_name
from benchmarks.tables import grid
from sdpa_lib import _fused, _rows

SHAPE = (2, 4, 1000, 64)
DTYPES = (torch.float32, torch.bfloat16, torch.float16)

Row = dict[str, object]
"""The dtype, the order and the road, and by figure the largest difference."""


def differences(dtype: torch.dtype, is_causal: bool, shape: Shape) -> list[Row]:
    """A row for each road that can be taken."""
    query, key, _ = inputs(shape, dtype)
    exact = _rows.prepare(query.double(), key.double(), is_causal=is_causal)
    expected = _rows.figures_of_rows(exact, road="blocks")
    call = _rows.prepare(query, key, is_causal=is_causal)
    rows: list[Row] = []
    for road in ("blocks", *(("fused",) if _fused.takes(call.query, None) else ())):
        figures = _rows.figures_of_rows(call, road=road)
        largest = {
            name: ((x.double() - y).abs() / y.abs().clamp(min=1.0)).max().item()
            for name, x, y in zip(figures._fields, figures, expected, strict=True)
        }
        rows.append({"dtype": dtype_name(dtype), "causal": is_causal, "road": road} | largest)
    return rows


def measure(shape: Shape = SHAPE) -> list[Row]:
    """The largest difference of each figure from float64's, over its size or 1, on both roads."""
    return [
        row
        for dtype in DTYPES
        for is_causal in (False, True)
        for row in differences(dtype, is_causal, shape)
    ]


def tables(results: Sequence[Row]) -> list[str]:
    """One table."""
    return [
        "Largest differences from float64, of each figure over its size or 1.",
        "",
        *grid(
            list(results[0]),
            [
                [f"{x:.1e}" if isinstance(x, float) else str(x) for x in row.values()]
                for row in results
            ],
        ),
    ]
