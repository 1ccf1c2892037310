"""A dot product is a random walk: its ends spread by the root of its steps, and by 1 divided."""

import re

import numpy as np
import pytest

from sdpa_lib.moments import exact_moments

from ..conftest import SAMPLE, act, described, go, numbers, sentence, state

SETTINGS = [(4, "none"), (64, "none"), (64, "sqrt_d_k"), (128, "d_k"), (256, "d_k")]


def walks(scripts, draw=0):
    """All walks of a draw, (walks, steps)."""
    drawn = np.array(scripts(SAMPLE, [(500 * 2 * 256, draw)])[0]).reshape(500, 2, 256)
    return np.pad(drawn.prod(1).cumsum(-1), ((0, 0), (1, 0)))


def divided_by(d_k, divisor):
    return {"none": 1, "sqrt_d_k": d_k**0.5, "d_k": d_k}[divisor]


def spread(d_k, divisor):
    """The library's, of divided dot products."""
    return exact_moments(d_k).variance ** 0.5 / divided_by(d_k, divisor)


@pytest.mark.parametrize(("d_k", "divisor"), SETTINGS)
def test_the_spread_is_the_librarys(explorable, d_k, divisor):
    figure = explorable("walk", f"d_k={d_k},divisor={divisor}")
    expected = spread(d_k, divisor)
    within = re.search(r"within ±([\d.]+)", sentence(figure))[1]
    assert float(within) == pytest.approx(expected, rel=0.005)
    label = figure.locator("[data-panel=walks] .words text").first.text_content()
    assert numbers(label) == [float(within)]
    own, other = numbers(described(figure, "walks"))[1:]
    assert own == pytest.approx(expected, rel=0.005)
    instead = "sqrt_d_k" if divisor == "none" else "none"
    assert other == pytest.approx(spread(d_k, instead), rel=0.005)


@pytest.mark.parametrize(("d_k", "divisor"), SETTINGS)
def test_lines_are_sums_and_bars_count_their_ends(explorable, scripts, d_k, divisor):
    figure = explorable("walk", f"d_k={d_k},divisor={divisor},draw=3")
    sums = walks(scripts, 3)[:, : d_k + 1] / divided_by(d_k, divisor)
    lines = figure.locator("[data-panel=walks] .walks path")
    assert lines.count() == 12
    drawn = [
        -float(y) for y in re.findall(r"[ML][-\d.]+,([-\d.]+)", lines.nth(7).get_attribute("d"))
    ]
    assert np.corrcoef(drawn, sums[7])[0, 1] == pytest.approx(1, abs=1e-5)
    fan = figure.locator(".fans path").nth(1).get_attribute("d")
    heights = [float(y) for y in re.findall(r"[ML][\d.]+,([\d.]+)", fan)]
    assert np.ptp(drawn) / np.ptp(heights) == pytest.approx(
        np.ptp(sums[7]) / (2 * spread(d_k, divisor)), rel=0.01, abs=0.002
    )
    bars = figure.locator(".bell rect").evaluate_all(
        "bars => bars.map(bar => Number(bar.getAttribute('width')))"
    )
    edges = np.linspace(-4, 4, len(bars) + 1) * spread(d_k, divisor)
    counts, _ = np.histogram(sums[:, -1], edges)
    assert np.array(bars) / max(bars) == pytest.approx(counts / counts.max(), abs=1e-6)


def test_the_bracket_and_the_fan_end_at_the_spread(explorable):
    figure = explorable("walk")
    panel = figure.locator("[data-panel=walks]")
    for d_k, divisor in SETTINGS:
        go(figure, f"d_k={d_k},divisor={divisor}")
        ticks = panel.locator(".axis").first.locator(".tick")
        levels = [
            numbers(tick)[-1]
            for tick in ticks.evaluate_all(
                "ticks => ticks.map(tick => tick.getAttribute('transform'))"
            )
        ]
        values = [numbers(text)[0] for text in ticks.all_text_contents()]
        pixels = (levels[0] - levels[-1]) / (values[-1] - values[0]) * spread(d_k, divisor)
        bracket = panel.locator(".width .bar").get_attribute("d")
        ends = [float(x) for x in re.match(r"M([\d.]+),[-\d.]+H([\d.]+)", bracket).groups()]
        fan = panel.locator(".fans path").nth(1).get_attribute("d")
        heights = [float(y) for y in re.findall(r"[ML][\d.]+,([\d.]+)", fan)]
        for low, high in (sorted(ends), (min(heights), max(heights))):
            assert (high - low) / 2 == pytest.approx(pixels, abs=0.01)


def test_it_begins_with_an_ordinary_draw(explorable, scripts):
    draw = int(state(explorable("walk"))["draw"])
    for d_k in (4, 8, 16, 32, 64, 128, 256):
        ends = walks(scripts, draw)[:, d_k]
        error = ((3 + 6 / d_k - 1) / 500) ** 0.5 / 2  # of the standard deviation, over itself
        assert ends.std() / d_k**0.5 == pytest.approx(1, abs=2 * error)


def test_arrows_have_the_length_of_their_vectors(explorable):
    """To one scale: the query is as long as the root says, and so are keys, in the mean."""
    figure = explorable("walk")
    for d_k in (16, 256):
        go(figure, f"d_k={d_k}")
        panel = figure.locator("[data-panel=arrows] .arrows")
        unit = float(panel.locator("rect").get_attribute("height")) / 2
        lengths = panel.locator("> line[style*=opacity]").evaluate_all(
            "lines => lines.map(line => line.getTotalLength())"
        )
        assert len(lengths) == 24
        mean_square = np.mean(np.square(lengths)) / unit**2
        assert mean_square == pytest.approx(d_k, rel=3 * (2 / d_k / 24) ** 0.5)
        size, again, cosine, product = numbers(
            figure.locator("[data-panel=arrows] .words text").last.text_content()
        )
        assert size == again == product == d_k**0.5
        assert cosine == pytest.approx(d_k**-0.5, rel=0.005)


@pytest.mark.parametrize(("motion", "moves"), [("no-preference", True), ("reduce", False)])
def test_walks_go_step_by_step_unless_nothing_is_to_move(begin, motion, moves):
    figure, wrong = begin("walk", motion=motion)
    act(figure, figure.get_by_role("button", name="Walk again").click)
    running = "figure => figure.getAnimations({ subtree: true }).length > 0"
    assert figure.locator("[data-panel=walks]").evaluate(running) == moves
    figure.page.wait_for_function(f"figure => !({running})(figure)", arg=figure.element_handle())
    assert state(figure)["draw"] == "1"
    assert wrong == []
