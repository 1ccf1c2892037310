"""A layer is trained in the page as PyTorch trains it, and as long as somebody looks."""

import math
import re
from pathlib import Path

import pytest
import torch

from sdpa_book.explorables.train import DIVISORS, steps
from sdpa_book.studies.lookup import WIDTH, lookup_loss
from sdpa_lib.sampling import sample

from ..conftest import PLACES, act, described, numbers, sentence, slider, state, wait_for

SOURCES = Path(__file__).parents[1]
SEEDS = range(3, 11)
LEARNED = [(64, 32), (64, 256), (64, 2048), (256, 32), (256, 256), (16, 32)]
"""Components and queries of the settings, of which the study has the steps."""


@pytest.fixture(scope="module")
def mathematics(browser):
    """A function that gives what JavaScript makes of a module of the sources, ``layer``."""
    page = browser.new_page()
    home = "http://sources.test/"

    def answer(route):
        asked = SOURCES / route.request.url.removeprefix(home)
        kind = "text/javascript" if asked.suffix else "text/html"
        route.fulfill(body=asked.read_text("utf-8") if asked.suffix else "", content_type=kind)

    page.route(f"{home}**", answer)
    page.goto(home)
    page.evaluate("import('/train/layer.js').then((layer) => void (window.layer = layer))")
    yield lambda expression, given=None: page.evaluate(f"given => ({expression})(given)", given)
    page.close()


# ---------------------------------------------------------------- the mathematics


@pytest.mark.parametrize("name", ["none", "sqrt_d_k", "d_k"])
def test_the_gradient_by_hand_is_that_of_autograd(mathematics, name):
    d_k, n, keys = 8, 5, 16
    shapes = [(WIDTH, d_k), (WIDTH, d_k), (n, keys, WIDTH), (n, keys, WIDTH), (n, 1, WIDTH)]
    W_Q, W_K, k, v, noise = (
        sample(*shape, seed=0, stream=stream, device="cpu").double()
        for stream, shape in enumerate(shapes)
    )
    W_Q, W_K = W_Q / WIDTH**0.5, W_K / WIDTH**0.5
    x = k[:, :1] + 0.3 * noise
    c = {"none": 1.0, "sqrt_d_k": math.sqrt(d_k), "d_k": float(d_k)}[name]
    arrays = {"WQ": W_Q, "WK": W_K, "queries": x, "keys": k, "values": v}
    ours = mathematics(
        """({ WQ, WK, dK, c, ...batch }) => {
            const at = { WQ, WK, dK, c };
            const { atWQ, atWK } = layer.gradientOf(at, batch);
            return [layer.lossOf(at, batch), [...atWQ], [...atWK]];
        }""",
        {name: array.flatten().tolist() for name, array in arrays.items()}
        | {"dK": d_k, "c": c, "n": n},
    )
    W_Q, W_K = (W.unsqueeze(0).requires_grad_() for W in (W_Q, W_K))
    loss = lookup_loss(W_Q, W_K, x[None], k[None], v[None], name).sum()
    theirs = torch.autograd.grad(loss, (W_Q, W_K))
    assert ours[0] == pytest.approx(loss.item(), rel=1e-10)
    for by_hand, gradient in zip(ours[1:], theirs, strict=True):
        expected = gradient.flatten()
        off = torch.tensor(by_hand, dtype=torch.float64) - expected
        assert off.norm() < 1e-9 * expected.norm()


def test_adam_moves_as_in_pytorch(mathematics):
    gradients = sample(7, 5, seed=0, device="cpu").double() * torch.logspace(-9, 0, 5).double()
    gradients[3:, 1] = 0.0
    parameters = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    update = torch.optim.Adam([parameters], lr=3e-3)
    for gradient in gradients:
        parameters.grad = gradient.clone()
        update.step()
    ours = mathematics(
        """(gradients) => {
            const parameters = [0, 0, 0, 0, 0];
            const move = layer.makeAdam(parameters, 0.003);
            gradients.forEach(move);
            return parameters;
        }""",
        gradients.tolist(),
    )
    assert ours == pytest.approx(parameters.tolist(), rel=1e-8)


def test_normal_numbers_are_normal(mathematics):
    draw = """(uniforms) => {
        const uniform = (state => () => uniforms[state++ % uniforms.length])(0);
        return [...layer.makeNormal(uniform)(new Float64Array(20001), 2)];
    }"""
    uniforms = torch.rand(60_000, generator=torch.Generator().manual_seed(0)).tolist()
    drawn = torch.tensor(mathematics(draw, uniforms)).double() / 2
    moments = [drawn.mean(), drawn.var(), drawn.pow(3).mean(), drawn.pow(4).mean()]
    assert [m.item() for m in moments] == pytest.approx([0, 1, 0, 3], abs=0.12)
    assert (drawn[:-1] * drawn[1:]).mean().item() == pytest.approx(0, abs=0.03)


@pytest.mark.parametrize("spread", [0.25, 2])
def test_the_spread_of_dot_products_at_the_start_is_what_is_asked_for(mathematics, spread):
    """In units of the root, of queries and keys that are not copies of each other."""
    weights = mathematics(
        """(spread) => {
            const all = [];
            for (let seed = 0; seed < 60; seed++)
                all.push(...layer.beginTraining({
                    dK: 64, divisors: [8], spread, batch: 1, seed,
                }).weights().map((row) => [...row]));
            return all;
        }""",
        spread,
    )
    scores = torch.tensor(weights).double()[:, 1:].log()
    assert scores.std(-1).square().mean().sqrt().item() == pytest.approx(spread, rel=0.1)


@pytest.fixture(scope="module")
def learned(mathematics):
    """A function that gives the steps of eight layers of each divisor, none and the root."""
    made = {}

    def steps_of(d_k, batch):
        if (d_k, batch) not in made:
            settings = [
                {"dK": d_k, "divisors": [1, d_k**0.5], "spread": 1, "batch": batch, "seed": seed}
                for seed in SEEDS
            ]
            rows = mathematics("(settings) => settings.map(layer.stepsToLearn)", settings)
            made[d_k, batch] = torch.tensor(rows).double().T
        return made[d_k, batch]

    return steps_of


@pytest.mark.parametrize(("d_k", "batch"), LEARNED)
def test_layers_learn_in_the_studys_steps(learned, d_k, batch):
    for ours, name in zip(learned(d_k, batch), DIVISORS, strict=True):
        stored = steps(batch, name, d_k)
        error = math.hypot(ours.std().item() / math.sqrt(len(ours)), stored.error)
        off = abs(ours.mean().item() - stored.value)
        assert off < 3 * error, name
        assert off < 0.15 * stored.value, name


@pytest.mark.parametrize("batch", [32, 256, 2048])
def test_the_first_seed_is_a_typical_one(learned, batch):
    """Its steps are within a standard error of the study's means, or within a step."""
    for ours, name in zip(learned(64, batch), DIVISORS, strict=True):
        stored = steps(batch, name)
        assert abs(ours[0].item() - stored.value) < max(1, stored.error)


# ---------------------------------------------------------------- the figure


def wait_for_end(figure):
    """Until the training has ended; its sentence."""
    figure.page.wait_for_function(
        "figure => /needed|Neither/.test(figure.querySelector('.explorable-sentence').textContent)",
        arg=figure.element_handle(),
        timeout=60_000,
    )
    return sentence(figure)


def press(figure):
    figure.get_by_role("button", name="Train").click()


def step(figure):
    """How many steps are drawn."""
    after = re.search(r"after (\d+) steps", described(figure, "losses"))
    return int(after[1]) if after else None


def test_it_waits_for_the_button_and_says_what_each_layer_needed(begin, learned):
    """Nothing begins by itself for a reader who wants no motion."""
    figure, wrong = begin("train", "divisor=sqrt_d_k")
    figure.page.wait_for_timeout(500)
    assert sentence(figure) == "Train the layers to see how many steps each of them needs."
    press(figure)
    none, root = (int(ours[0]) for ours in learned(64, 32))
    text = wait_for_end(figure)
    assert text == (
        f"Divided by √64\u00a0=\u00a08, the layer needed {root} steps to a loss of 0.3; "
        f"without the division it needed {none}."
    )
    drawn = described(figure, "losses")
    assert re.search(rf"at 0\.3 from step {root}; undivided .* at 0\.3 from step {none}\.", drawn)
    marks = figure.locator("[data-panel=losses] .ends text").all_text_contents()
    assert sorted(marks) == sorted([str(none), str(root)])
    assert wrong == []


def test_on_large_batches_it_says_that_the_delay_is_gone(begin):
    figure, _ = begin("train", "batch=2048,divisor=sqrt_d_k")
    press(figure)
    text = wait_for_end(figure)
    assert text.startswith("On batches of 2,048 the delay is gone: divided by √64\u00a0=\u00a08, ")
    root, none = numbers(text)[3], numbers(text)[-1]
    assert none <= 1.1 * root


def test_layers_that_have_not_learned_are_said_to_be_cut_off(begin):
    """Four components are too few for a loss of 0.3."""
    figure, _ = begin("train", "d_k=4")
    press(figure)
    assert wait_for_end(figure) == (
        "Neither layer came down to a loss of 0.3 within 480 steps, where these trainings end: "
        "with 4 components keys look too much alike."
    )
    assert described(figure, "losses").count("after 480 steps, not yet at 0.3") == 2
    assert figure.locator("[data-panel=losses] .ends text").count() == 0


def test_one_that_has_not_learned_is_not_said_to_need_any_number(begin):
    figure, _ = begin("train")
    say = """([reached, divisor]) => {
        const record = { losses: [0.4, 0.2], reached, done: true, step: 480 };
        const other = divisor === "none" ? "sqrt_d_k" : "none";
        const state = { d_k: 64, batch: 256, spread: 1 };
        return Explorable.train.answer(record, [divisor, other], state).replaceAll("\u00a0", " ");
    }"""
    ask = figure.page.evaluate
    assert ask(say, [[None, 80], "d_k"]) == (
        "Divided by 64, the layer was not at a loss of 0.3 after 480 steps, where the training "
        "ends; without the division it needed 80."
    )
    assert ask(say, [[80, None], "sqrt_d_k"]) == (
        "Divided by √64 = 8, the layer needed 80 steps to a loss of 0.3; without the division it "
        "was not there after 480, where the training ends."
    )
    assert ask(say, [[22, 20], "none"]).startswith("On batches of 256 the delay is gone: without")
    assert ask(say, [[23, 20], "none"]).startswith("Without the division, the layer needed 23")


def test_where_nothing_is_divided_the_root_stands_behind_in_grey(begin):
    figure, _ = begin("train", "divisor=none")
    press(figure)
    assert re.fullmatch(
        r"Without the division, the layer needed (\d+) steps to a loss of 0\.3; divided by "
        r"√64\s=\s8 it needed \d+\.",
        wait_for_end(figure),
    )
    stroke = "paths => paths.map(path => path.style.stroke)"
    curves = figure.locator("[data-panel=losses] .curves path").evaluate_all(stroke)
    assert curves == ["var(--ex-muted)", "var(--ex-rescaling-0)"]


def test_training_again_takes_another_seed_and_reset_goes_back(begin):
    figure, _ = begin("train", "")
    press(figure)
    first = wait_for_end(figure)
    assert "seed 3" in figure.inner_text()
    act(figure, press, figure)
    assert state(figure)["seed"] == "4"
    assert "seed 4" in figure.inner_text()
    assert wait_for_end(figure) != first
    figure.get_by_role("button", name="Reset").click()
    wait_for(figure, "seed=3")
    figure.get_by_role("button", name="Train", exact=True).wait_for()
    assert sentence(figure).startswith("Train the layers")
    press(figure)
    assert wait_for_end(figure) == first


def test_it_begins_by_itself_once_and_a_control_begins_anew(begin):
    figure, wrong = begin("train", "", page=None, motion="no-preference")
    assert wait_for_end(figure).startswith("Without the division")
    hash_ = figure.page.evaluate("location.hash")
    figure.page.wait_for_timeout(700)
    assert figure.page.evaluate("location.hash") == hash_
    act(figure, slider(figure, "batch").press, "ArrowRight")
    figure.page.wait_for_function(
        "figure => figure.querySelector('.explorable-sentence').textContent.startsWith('After')",
        arg=figure.element_handle(),
    )
    again = [wait_for_end(figure), state(figure)["seed"]]
    assert again[1] == "3"
    assert numbers(again[0])[2:] != []
    assert wrong == []


def test_it_waits_while_nobody_sees_it_and_goes_on_from_there(begin):
    figure, _ = begin("train", "divisor=d_k,d_k=256", motion="no-preference")
    page = figure.page
    figure.locator(".explorable-panels").scroll_into_view_if_needed()
    press(figure)
    drawn = (
        "figure => /After [0-9]{2}/.test(figure.querySelector('.explorable-sentence').innerText)"
    )
    page.wait_for_function(drawn, arg=figure.element_handle())

    def still():
        """Whether nothing comes for a while, in which steps would."""
        page.wait_for_timeout(500)
        before = step(figure)
        page.wait_for_timeout(1000)
        return before, step(figure)

    page.evaluate("scrollTo(0, 0)")
    before, after = still()
    assert 0 < before == after < 480
    figure.locator(".explorable-panels").scroll_into_view_if_needed()
    page.wait_for_function(
        "([figure, before]) => Number(figure.querySelector('.explorable-sentence').innerText"
        ".match(/After ([0-9]+)/)?.[1]) > before",
        arg=[figure.element_handle(), before],
    )
    page.evaluate("""() => {
        Object.defineProperty(document, "hidden", { value: true, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }""")
    hidden, later = still()
    assert before < hidden == later < 480


NO_WORKER = {
    "at once": "throw new Error('none');",
    "later": "setTimeout(() => this.onerror(new Event('error')));",
}
"""How a browser that makes no worker says so."""


@pytest.mark.parametrize("when", NO_WORKER)
def test_without_a_worker_the_picture_stays(browser, base, when):
    page = browser.new_page()
    page.add_init_script(
        f"window.Worker = class {{ constructor() {{ {NO_WORKER[when]} }} postMessage() {{}} }};"
    )
    page.goto(f"{base}{PLACES['train']}#train:")
    figure = page.locator("[data-explorable=train]")
    figure.scroll_into_view_if_needed()
    page.wait_for_function("() => window.Explorable?.train")
    figure.locator("img").wait_for()
    assert figure.locator(".explorable-app").count() == 0
    page.close()
