"""Which assumption guards the constant of the variance of q·k, and which the power."""

import itertools
from statistics import correlation

import pytest

from sdpa_lib.moments import exact_moments
from sdpa_lib.sampling import get_distribution

from ..conftest import act, described, go, numbers, sentence

BOXES = {"mu_q": 1, "mu_k": 1, "rho_q": 0.3, "rho_k": 0.3}


def address(boxes):
    return ",".join(f"{name}={value}" for name, value in zip(BOXES, boxes, strict=True))


def derived(d_k, mu_q, mu_k, rho_q, rho_k):
    """Over d_k; the library's where components are independent, which knows no correlation."""
    normal = get_distribution("normal")
    moments = exact_moments(d_k, query=normal.shifted(mu_q), key=normal.shifted(mu_k))
    excess = rho_q * rho_k + mu_q**2 * rho_k + mu_k**2 * rho_q
    return moments.variance / d_k + (d_k - 1) * excess


def scale(figure):
    """Where a variance stands on the axis of the line."""
    ticks = figure.locator("[data-panel=line] .axis").first.locator(".tick")
    low, high = (
        (float(tick.text_content()), numbers(tick.get_attribute("transform"))[-1])
        for tick in (ticks.first, ticks.last)
    )
    return lambda value: low[1] + (value - low[0]) * (high[1] - low[1]) / (high[0] - low[0])


def test_the_line_and_what_is_said_of_it_are_the_librarys(explorable):
    figure = explorable("variance")
    for boxes in itertools.product(*([0, value] for value in BOXES.values())):
        go(figure, address(boxes))
        line, measured = described(figure, "line").split("Measured at ")
        small, large = (derived(d_k, *boxes) for d_k in (1, 16))
        assert numbers(line)[:-1:2] == pytest.approx([small, large], abs=0.0051)
        expected = [derived(int(d_k), *boxes) for d_k in numbers(measured)[:5]]
        assert numbers(measured)[5:] == pytest.approx(expected, rel=0.12)
        texts = figure.locator("[data-panel=line] .now text").all_text_contents()
        label = " ".join(texts)
        assert numbers(label) == pytest.approx(
            [small] * (1 < small < large) + [large] * (large > 1)
        )
        assert ("Lifted" in sentence(figure)) == (1 < small == large)
        assert ("level" in sentence(figure).lower()) == (large == small)
        assert ("terms rise together" in sentence(figure)) == (large > small)


def test_a_mean_lifts_the_line_and_the_other_ones_correlation_tilts_it(explorable):
    figure = explorable("variance")
    assert "Lifted to 2, but level: the root keeps" in sentence(figure)
    box = figure.get_by_label("mean 1", exact=True).first
    act(figure, box.uncheck)
    assert "level at 1" in sentence(figure)
    act(figure, box.check)
    act(figure, figure.get_by_label("correlation 0.3", exact=True).last.check)
    assert "correlation: terms rise together" in sentence(figure)


def test_the_line_of_before_stays_pale_until_the_next_change(explorable):
    figure = explorable("variance", "mu_q=0")
    words, pale = figure.locator(".behind text"), figure.locator(".behind line").last
    height = "line => [line.getAttribute('y1'), line.getAttribute('y2')]"
    box = figure.get_by_label("mean 1", exact=True).first
    for number in (None, 2, 3, 2):
        ends = numbers(described(figure, "line"))[:3:2]
        act(figure, box.uncheck if box.is_checked() else box.check)
        at = scale(figure)
        assert [float(y) for y in pale.evaluate(height)] == pytest.approx([*map(at, ends)], abs=0.6)
        assert [f"before: {number}"] * bool(number) == words.all_text_contents()[1:-1]
        box = figure.get_by_label("mean 1", exact=True).last
    act(figure, figure.get_by_role("button", name="Reset").click)
    assert len(set(pale.evaluate(height))) == words.count() - 1 == 1


def test_without_the_other_vectors_correlation_the_line_is_level(explorable):
    figure = explorable("variance", "mu_q=0,rho_q=0.3,rho_k=0.3")
    assert "Both are correlated: terms rise together" in sentence(figure)
    act(figure, figure.get_by_label("correlation 0.3", exact=True).last.uncheck)
    assert "the key’s random signs undo it" in sentence(figure)


def test_the_axis_follows_the_line_and_the_label_stays_at_its_end(explorable):
    figure = explorable("variance")
    for boxes, highest in (
        ("mu_q=0", 2),
        ("mu_q=1,mu_k=0,rho_k=0.3", 6),
        ("mu_q=1,mu_k=1,rho_q=0.3,rho_k=0.3", 15),
    ):
        go(figure, boxes)
        ticks = figure.locator("[data-panel=line] .axis").first.locator(".tick text")
        assert float(ticks.last.text_content()) == highest
    end = figure.locator("[data-panel=line]").evaluate(
        "(panel) => [panel.querySelector('.to').getAttribute('transform'),"
        " panel.querySelector('path.line').getAttribute('d')]"
    )
    assert numbers(end[0])[-1] == numbers(end[1])[-1]


def test_the_points_are_what_is_ticked(explorable):
    figure = explorable("variance", "mu_q=1,mu_k=1,rho_q=0.3,rho_k=0.3")
    for panel in ("query", "key"):
        assert described(figure, panel).endswith("mean 1, correlation 0.3.")
        points = figure.locator(f"[data-panel={panel}] circle")
        asks = "all => ['cx', 'cy'].map((c) => all.map((point) => +point.getAttribute(c)))"
        assert correlation(*points.evaluate_all(asks)) == pytest.approx(-0.3, abs=0.05)
