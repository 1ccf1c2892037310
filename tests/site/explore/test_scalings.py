"""Which divisors follow the keys when these grow longer, more, or have more components?"""

import re

import pytest
import torch

import sdpa_lib as sdpa

from .conftest import act, described, numbers, said, slider, state


def measures(rescaling, n, d_k, a):
    """Effective keys and gradient, of draws of the test's own with keys a times as long."""
    q, k, v = (
        sdpa.sample(40, size, d, seed=1, stream=s, device="cpu")
        for s, (size, d) in enumerate(((100, d_k), (n, d_k), (n, 64)))
    )
    gradient = sdpa.attention_gradients(q, a * k, v, rescaling=rescaling).query.norm(dim=-1)
    weights = sdpa.attention_weights(q, a * k, rescaling=rescaling)
    return sdpa.effective_keys(weights).mean().item(), gradient.median().item()


def told(figure, panel, labels):
    """What a panel says of every divisor."""
    text = described(figure, panel)
    return [float(re.search(rf"{re.escape(of)} <? ?([\d.]+)", text)[1]) for of in labels.values()]


def size(name, a, n, d_k):
    """A divisor of keys a times as long."""
    key = a * sdpa.sample(200, n, d_k, seed=1, device="cpu")
    return torch.as_tensor(sdpa.get_rescaling(name)(key)).mean().item()


def setting(figure):
    now = state(figure)
    return float(now["a"]), int(now["n"]), int(now["d_k"])


@pytest.mark.parametrize(("n", "d_k", "a"), [(32, 64, 1), (32, 64, 10), (256, 16, 0.1), (4, 4, 1)])
def test_what_every_divisor_does_is_the_librarys(explorable, data, n, d_k, a):
    figure = explorable("scalings", f"a={a},n={n},d_k={d_k}")
    labels = data["scalings"]["labels"]
    shown = zip(*(told(figure, panel, labels) for panel in ("evenness", "gradient")), strict=True)
    sizes = figure.locator(".explorable-size").all_text_contents()
    for name, (keys, gradient), text in zip(labels, shown, sizes, strict=True):
        theirs = measures(sdpa.get_rescaling(name), n, d_k, a)
        assert keys == pytest.approx(theirs[0], rel=0.1)
        assert gradient == pytest.approx(theirs[1], rel=0.15) or max(gradient, theirs[1]) < 0.01
        assert numbers(text) == [pytest.approx(size(name, a, n, d_k), rel=0.03)]


def test_a_question_is_guessed_and_judged_by_what_the_library_says(explorable, data):
    figure = explorable("scalings")
    names, picks = data["scalings"]["labels"], figure.locator(".explorable-picks button")
    *_, on = figure.locator(".explorable-buttons button").all()
    for question in range(3):
        before = setting(figure)
        picks.nth(question).click()  # a guess
        act(figure, on.click)
        after = setting(figure)
        moved = [abs(size(name, *after) / size(name, *before) - 1) > 0.05 for name in names]
        verdicts = picks.locator(".explorable-verdict").all_text_contents()
        assert [text == "moved" for text in verdicts] == moved
        signs = [re.findall("[✓✗]", text) for text in picks.all_text_contents()]
        assert signs == [["✓" if moved[i] else "✗"] * (i == question) for i in range(len(names))]
        assert sum(moved) in numbers(figure.locator(".explorable-asked").text_content())
        change = set(numbers(said(figure)))
        assert change & {*told(figure, "evenness", names), *told(figure, "gradient", names)}
        act(figure, on.click)  # to the next question
    act(figure, slider(figure, "keys, n").press, "End")
    assert not any(picks.locator(".explorable-verdict").all_text_contents())
