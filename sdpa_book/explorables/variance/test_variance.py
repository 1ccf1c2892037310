"""Which assumption guards the constant of the variance of q·k, and which the power."""

import itertools
import re
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


def test_the_line_and_what_is_said_of_it_are_the_librarys(explorable):
    figure = explorable("variance")
    for boxes in itertools.product(*([0, value] for value in BOXES.values())):
        go(figure, address(boxes))
        drawn = numbers(described(figure, "line"))[:-1]
        small, large = (derived(d_k, *boxes) for d_k in (1, 16))
        assert drawn[::2] == pytest.approx([small, large], abs=0.0051)
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
    assert "level at 1" in sentence(figure)
    act(figure, figure.get_by_label("mean 1", exact=True).first.check)
    assert "Lifted to 2, but level: the root keeps" in sentence(figure)
    act(figure, figure.get_by_label("correlation 0.3", exact=True).last.check)
    assert "correlation: terms rise together" in sentence(figure)


def test_the_line_of_before_stays_pale_until_the_next_change(explorable):
    figure = explorable("variance")
    words, pale = figure.locator(".behind text"), figure.locator(".behind line").last
    height = "line => [line.getAttribute('y1'), line.getAttribute('y2')]"
    box = figure.get_by_label("mean 1", exact=True).first
    for number in (None, 2, 3, 2):
        line = figure.locator("[data-panel=line] path.line").get_attribute("d")
        act(figure, box.uncheck if box.is_checked() else box.check)
        assert pale.evaluate(height) == re.findall(r",([\d.]+)", line)
        assert [f"before: {number}"] * bool(number) == words.all_text_contents()[:-1]
        box = figure.get_by_label("mean 1", exact=True).last
    reset = figure.get_by_role("button", name="Reset")
    act(figure, reset.click)
    assert len(set(pale.evaluate(height))) == words.count() == 1
    act(figure, box.check)
    act(figure, box.uncheck)
    reset.click()
    figure.get_by_text("before: 2").wait_for(state="detached")


def test_without_the_other_vectors_correlation_the_line_is_level(explorable):
    figure = explorable("variance", "rho_q=0.3,rho_k=0.3")
    assert "Both are correlated: terms rise together" in sentence(figure)
    act(figure, figure.get_by_label("correlation 0.3", exact=True).last.uncheck)
    assert "the key’s random signs undo it" in sentence(figure)


def test_all_lines_are_on_one_scale_and_labels_stay_at_their_end(explorable):
    figure = explorable("variance")
    ticks = figure.locator("[data-panel=line] .tick text")
    steep = "mu_q=1,mu_k=1,rho_q=0.3,rho_k=0.3"
    for boxes in ("", "mu_q=1,rho_k=0.3", steep):
        go(figure, boxes)
        assert ticks.all_text_contents()[:3] == ["0", "5", "10"]
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
