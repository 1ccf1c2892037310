"""A smaller divisor sharpens the row and multiplies its gradient: which of them wins?"""

import pytest
import torch

import sdpa_lib as sdpa

from .conftest import act, go, numbers, read, said, slider, state


def measures(scores, r):
    """The Jacobian's norm, over r, and over that at the root."""
    z = torch.tensor(scores, dtype=torch.float64)
    norm, root = (sdpa.jacobian_norm(torch.softmax(z / c, -1)).item() for c in (r, 1))
    return {"norm": norm, "factor": 1 / r, "left": norm / r, "ratio": norm / r / root}


@pytest.mark.parametrize("name", ["decided", "level"])
def test_the_readouts_are_the_librarys(explorable, data, name):
    figure = explorable("row", f"row={name}")
    for key in (None, "ArrowLeft", "Home", "End"):
        if key:
            act(figure, slider(figure, "r = c").press, key)
        expected = measures(data["row"][name], float(state(figure)["r"]))
        assert {of: read(figure, of) for of in expected} == pytest.approx(expected)


def test_the_largest_is_told_when_it_has_been_passed_and_forgotten_by_reset(explorable, data):
    figure = explorable("row", "r=0.5")
    most = max(measures(data["row"]["decided"], 2 ** (-i / 100))["ratio"] for i in range(500))
    for r, told in ((0.5, False), (0.0625, True), (0.5, True)):
        go(figure, f"r={r}")
        assert (pytest.approx(most, rel=0.02) in numbers(said(figure))) == told
    act(figure, figure.get_by_role("button", name="Reset").click)
    assert pytest.approx(most, rel=0.02) not in numbers(said(figure))


@pytest.mark.parametrize("r", [0.0625, 32])
def test_little_is_said_as_a_part(explorable, data, r):
    figure = explorable("row", f"r={r}")
    part = 1 / measures(data["row"]["decided"], r)["ratio"]
    assert f"1/{numbers(said(figure).split(': 1/')[1])[0]:,.0f}" in said(figure)
    assert numbers(said(figure).split(": 1/")[1])[0] == pytest.approx(part, rel=0.06)


def test_where_softmax_begins_to_win_is_what_the_chapter_says(data):
    for name, least, most in (("decided", 1 / 5, 1 / 3), ("level", 1 / 64, 1 / 32)):
        grid = [2 ** (-i / 50) for i in range(401)]
        best = max(grid, key=lambda r, name=name: measures(data["row"][name], r)["left"])
        assert least < best < most


def test_rows_are_the_median_one_and_a_level_one_of_many(data):
    drawn = sdpa.sample(2001, 6, seed=0, device="cpu").sort(-1, descending=True).values
    gaps = drawn[:, 0] - drawn[:, 1]
    for name, share in (("decided", 0.5), ("level", 0.05)):
        row = torch.tensor(data["row"][name], dtype=torch.float64)
        assert ((drawn - row).abs().amax(-1) < 6e-4).sum() == 1
        assert (row[0] - row[1]).item() == pytest.approx(gaps.quantile(share).item(), abs=2e-3)
