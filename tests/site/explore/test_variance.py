"""Which assumptions of the variance of q·k may be dropped."""

import itertools

import pytest

from sdpa_lib.moments import exact_moments
from sdpa_lib.sampling import DISTRIBUTIONS, get_distribution

from .conftest import act, described, go, numbers, read, said, state

BOXES = {"mu_q": 1, "mu_k": 1, "rho_q": 0.3, "rho_k": 0.3}
TICKED = [[*boxes] for boxes in itertools.product(*([0, value] for value in BOXES.values()))]


def address(boxes, **others):
    pairs = [*zip(BOXES, boxes, strict=True), *others.items()]
    return ",".join(f"{name}={value}" for name, value in pairs)


def derived(d_k, mu_q, mu_k, rho_q, rho_k):
    """Over d_k; the library's where components are independent, which knows no correlation."""
    normal = get_distribution("normal")
    moments = exact_moments(d_k, query=normal.shifted(mu_q), key=normal.shifted(mu_k))
    excess = rho_q * rho_k + mu_q**2 * rho_k + mu_k**2 * rho_q
    return moments.variance / d_k + (d_k - 1) * excess


def agrees(figure, expected):
    """What is derived, and within four of its errors what is measured, up to rounding."""
    assert read(figure, "derived") == pytest.approx(expected)
    text = figure.locator("[data-readout=measured]").inner_text()
    measured, error = numbers(text)
    digit = 10.0 ** -len(text.split(".")[-1]) if "." in text else 1.0
    assert abs(measured - expected) < 4 * (error + digit / 2) + digit / 2
    assert numbers(described(figure, "dots"))[-2] == pytest.approx(expected**0.5, rel=0.005)


@pytest.mark.parametrize("components", DISTRIBUTIONS)
def test_the_variance_is_the_librarys_whatever_the_shape(explorable, components):
    figure = explorable("variance", f"components={components}")
    for boxes in TICKED if components == "normal" else TICKED[::5]:
        for within, d_k in (("all", 64), ("row", 16)):
            go(figure, address(boxes, components=components, within=within, d_k=d_k))
            seen = [boxes[0], boxes[1] if within == "all" else 0, *boxes[2:]]
            agrees(figure, derived(d_k, *seen))  # a row's mean takes that of the keys
            if derived(d_k, *seen) > 1:
                formula = figure.locator(".explorable-line").first.text_content()
                assert numbers(formula)[-1] == pytest.approx(derived(d_k, *seen), rel=0.005)
            assert ("power breaks" in said(figure)) == (derived(2, *seen) > derived(1, *seen))


def test_each_guess_is_judged_by_the_variance(explorable):
    figure = explorable("variance")
    verdict = figure.get_by_role("group", name="questions").locator("span")
    for guess in ("lifted", "stays", "stays", "rises"):
        pill = figure.locator(f".{guess} .pill")
        pill.focus()
        act(figure, pill.press, "Enter")
        seen = [float(state(figure)[name]) for name in BOXES]
        small, large = derived(1, *seen), derived(128, *seen)
        truth = "rises" if large > small else "lifted" if small > 1 else "stays"
        assert any(seen)
        assert truth in verdict.text_content()
        assert verdict.text_content().startswith("Yes" if guess == truth else "No")
        assert figure.locator(".sketches .dashes").count() == 1, "what was guessed stays"
        figure.page.keyboard.press("Enter")  # the next question has the focus
        figure.locator(".explorable-asked", has_text="Guess").or_(verdict).first.wait_for()
