"""The explorables: their mathematics against sdpa_lib, and each one operated by keyboard and mouse
in its chapter.
"""

import gzip
import json
import math

import pytest
import torch
from conftest import ROOT, SITE

import sdpa_lib as sdpa

FOLDER = ROOT / "book" / "_static" / "explore"
PLACES = {
    "growth": "book/02_dot_products_grow.html",
    "saturation": "book/04_softmax_saturation.html",
    "blend": "book/06_what_at_v_does.html",
    "scalings": "book/07_alternative_scalings.html",
    "phases": "book/11_phase_transition.html",
}
TRIALS = 100


@pytest.fixture(scope="module")
def mathematics(browser):
    """A function that calls one of AttentionMath, once for each list of arguments."""
    page = browser.new_page()
    page.add_script_tag(path=str(FOLDER / "attention_math.js"))

    def call(name, trials):
        plain = "(_, x) => ArrayBuffer.isView(x) ? [...x] : x"
        text = page.evaluate(
            f"([name, all]) => JSON.stringify(all.map(a => AttentionMath[name](...a)), {plain})",
            [name, trials],
        )
        return json.loads(text)

    yield call
    page.close()


def draws(*shape, stream=0):
    return sdpa.sample(TRIALS, *shape, seed=7, stream=stream, device="cpu")


def close(ours, theirs):
    torch.testing.assert_close(
        torch.tensor(ours, dtype=torch.float64), theirs.double(), rtol=1e-6, atol=1e-6
    )


def test_weights_and_how_even_they_are(mathematics):
    scores = draws(9) * torch.linspace(0.1, 30, TRIALS, dtype=torch.float64).unsqueeze(-1)
    temperatures = torch.linspace(0.1, 10, TRIALS, dtype=torch.float64)
    weights = torch.softmax(scores / temperatures.unsqueeze(-1), -1)
    close(
        mathematics(
            "softmax", [[z, t] for z, t in zip(scores.tolist(), temperatures.tolist(), strict=True)]
        ),
        weights,
    )
    rows = [[row] for row in weights.tolist()]
    close(mathematics("entropy", rows), sdpa.entropy(weights))
    close(mathematics("effectiveKeys", rows), sdpa.effective_keys(weights))
    close(
        mathematics("effectiveKeys", [[row, 2] for (row,) in rows]),
        sdpa.effective_keys(weights, order=2),
    )
    close(mathematics("largestWeight", rows), sdpa.largest_weight(weights))
    close(mathematics("jacobian", rows), sdpa.softmax_jacobian(weights))
    close(mathematics("jacobianNorm", rows), sdpa.jacobian_norm(weights))


def test_the_blend(mathematics):
    weights, values = torch.softmax(draws(5), -1), draws(5, 2, stream=1)
    ours = mathematics(
        "blend", [list(pair) for pair in zip(weights.tolist(), values.tolist(), strict=True)]
    )
    close(ours, (weights.unsqueeze(-2) @ values).squeeze(-2))


@pytest.mark.parametrize("name", sdpa.RESCALINGS)
def test_divisors(mathematics, name):
    keys = draws(7, 16)
    ours = mathematics(
        "divisor", [[name, lengths, 16] for lengths in sdpa.key_lengths(keys).tolist()]
    )
    close(ours, sdpa.get_rescaling(name)(keys).flatten().expand(TRIALS))


@pytest.mark.parametrize("d_k", [1, 2, 3, 16, 64, 512])
def test_the_density_of_dot_products(mathematics, d_k):
    x = draws().sort().values * math.sqrt(d_k)
    x = x[x.abs() > 0.05]
    theirs = sdpa.normal_dot_product_density(x, d_k)
    ours = torch.tensor(
        mathematics("dotProductDensity", [[at, d_k] for at in x.tolist()]), dtype=torch.float64
    )
    torch.testing.assert_close(ours, theirs.double(), rtol=1e-5 if d_k < 3 else 1e-6, atol=1e-6)


@pytest.mark.parametrize("distribution", ["normal", "uniform", "rademacher", "laplace"])
def test_moments(mathematics, distribution):
    ours = mathematics("dotProductMoments", [[d_k, 0, distribution] for d_k in (1, 8, 512)])
    for d_k, got in zip((1, 8, 512), ours, strict=True):
        theirs = sdpa.exact_moments(d_k, query=distribution)
        assert got["variance"] == pytest.approx(theirs.variance, rel=1e-9)
        assert got["excessKurtosis"] == pytest.approx(theirs.excess_kurtosis, abs=1e-9)


def test_the_gradient_and_the_shape(mathematics):
    q, k, v, upstream = (
        draws(1, 8),
        draws(6, 8, stream=1),
        draws(6, 4, stream=2),
        draws(1, 4, stream=3),
    )
    theirs = sdpa.attention_gradients(q, k, v, upstream=upstream).query.norm(dim=-1).squeeze(-1)
    weights, products = sdpa.attention_weights(q, k).squeeze(-2), (upstream @ v.mT).squeeze(-2)
    rows = zip(weights.tolist(), products.tolist(), k.flatten(1).tolist(), strict=True)
    close(mathematics("gradientAtQuery", [[p, u, key, math.sqrt(8)] for p, u, key in rows]), theirs)
    first, second = draws(40, stream=4), draws(40, stream=5).exp()
    ours = mathematics(
        "shapeDistance", [list(pair) for pair in zip(first.tolist(), second.tolist(), strict=True)]
    )
    close(
        ours, torch.tensor([sdpa.shape_distance(a, b) for a, b in zip(first, second, strict=True)])
    )
    close(
        mathematics("criticalSigma", [[n] for n in (2, 32, 10**6)]),
        torch.tensor([2, 32, 10**6]).double().log().mul(2).sqrt(),
    )


def read(figure, name):
    return float(figure.locator(f"[data-readout={name}]").get_attribute("data-value"))


@pytest.fixture
def explorable(tab, base):
    """A function that opens an explorable in its chapter, at the setting of an address."""

    def begin(name, setting=""):
        page, wrong = tab(f"{base}{PLACES[name]}#{name}:{setting}")
        figure = page.locator(f"[data-explorable={name}]")
        figure.locator(".explorable-app").wait_for()
        assert not figure.locator("img").is_visible()
        assert wrong == []
        return page, figure

    return begin


def test_growth_by_the_keyboard(explorable):
    page, figure = explorable("growth", "d_k=64,p=0.5")
    assert read(figure, "raw_std") == pytest.approx(math.sqrt(sdpa.exact_moments(64).variance))
    assert read(figure, "std") == pytest.approx(1)
    figure.get_by_label("dk, components").press("ArrowRight")
    figure.get_by_label("p, the power").press("Home")
    page.wait_for_function("document.querySelector('[data-readout=std]').dataset.value > 11")
    assert read(figure, "variance") == pytest.approx(sdpa.exact_moments(128).variance)
    assert read(figure, "kurtosis") == pytest.approx(sdpa.exact_moments(128).excess_kurtosis)
    page.wait_for_function("location.hash === '#growth:d_k=128,p=0,components=normal'")
    assert "Standard deviation 11.3" in figure.locator(".explorable-spoken").inner_text()


def saturated(scores):
    weights = torch.softmax(torch.tensor(scores, dtype=torch.float64), -1)
    return sdpa.entropy(weights).item(), sdpa.jacobian_norm(weights).item()


def test_saturation_by_keyboard_and_mouse(explorable):
    page, figure = explorable("saturation", "z1=2,z2=1,z3=0,z4=-1,T=1")
    assert (read(figure, "entropy"), read(figure, "norm")) == pytest.approx(
        saturated([2.0, 1, 0, -1]), rel=1e-6
    )
    handle = figure.get_by_role("slider", name="score of key 3")
    handle.press("PageUp")
    page.wait_for_function(
        "document.querySelector('[data-explorable]').dataset.state.includes('z3=1,')"
    )
    assert (read(figure, "entropy"), read(figure, "norm")) == pytest.approx(
        saturated([2.0, 1, 1, -1]), rel=1e-6
    )
    handle = figure.get_by_role("slider", name="score of key 1")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 - 50, steps=5)
    page.mouse.up()
    page.wait_for_function(
        "!document.querySelector('[data-explorable]').dataset.state.includes('z1=2,')"
    )
    state = dict(
        pair.split("=") for pair in figure.get_attribute("data-state").split(":")[1].split(",")
    )
    scores = [float(state[f"z{j}"]) for j in (1, 2, 3, 4)]
    assert scores[0] > 4
    assert (read(figure, "entropy"), read(figure, "norm")) == pytest.approx(
        saturated(scores), rel=1e-6
    )


def test_blend_by_keyboard_and_mouse(explorable):
    page, figure = explorable("blend", "z1=1.2,z2=0.8,z3=-0.2,T=1")

    def expected():
        state = dict(
            pair.split("=") for pair in figure.get_attribute("data-state").split(":")[1].split(",")
        )
        scores = torch.tensor([float(state[f"z{j}"]) for j in (1, 2, 3)], dtype=torch.float64)
        values = torch.tensor(
            [[float(state[f"{c}{j}"]) for c in "xy"] for j in (1, 2, 3)], dtype=torch.float64
        )
        return (torch.softmax(scores / float(state["T"]), -1) @ values).tolist()

    assert [read(figure, "x"), read(figure, "y")] == pytest.approx(expected(), rel=1e-6)
    before = figure.get_attribute("data-state")
    figure.get_by_label("score of key 1").press("End")
    page.wait_for_function(
        "before => document.querySelector('[data-explorable]').dataset.state !== before", arg=before
    )
    assert [read(figure, "x"), read(figure, "y")] == pytest.approx(expected(), rel=1e-6)
    before = figure.get_attribute("data-state")
    handle = figure.get_by_role("slider", name="value 2")
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 - 40, box["y"] + box["height"] / 2 - 30, steps=5)
    page.mouse.up()
    page.wait_for_function(
        "before => document.querySelector('[data-explorable]').dataset.state !== before", arg=before
    )
    assert [read(figure, "x"), read(figure, "y")] == pytest.approx(expected(), rel=1e-6)


def test_scalings_by_the_keyboard(explorable):
    page, figure = explorable("scalings", "rescaling=sqrt_d_k,n=32,d_k=64")
    assert read(figure, "divisor") == pytest.approx(8)
    figure.get_by_role("combobox", name="divided by").select_option("d_k")
    page.wait_for_function("document.querySelector('[data-readout=divisor]').dataset.value == 64")
    q, k = (
        sdpa.sample(2000, 1, 64, seed=0, device="cpu"),
        sdpa.sample(2000, 32, 64, seed=0, stream=1, device="cpu"),
    )
    even = sdpa.effective_keys(sdpa.attention_weights(q, k, rescaling="d_k"), order=2).mean().item()
    assert read(figure, "effective") == pytest.approx(
        even, rel=0.01
    )  # other draws of the same thing
    figure.get_by_label("n, keys").press("ArrowRight")
    page.wait_for_function(
        "document.querySelector('[data-explorable]').dataset.state.includes('n=64')"
    )
    assert 60 < read(figure, "effective") <= 64


def test_phases_by_the_keyboard(explorable):
    page, figure = explorable("phases", "n=512,d_k=64")
    assert read(figure, "critical") == pytest.approx(math.sqrt(2 * math.log(512)))
    figure.get_by_label("dk, components").press("Home")
    page.wait_for_function(
        "document.querySelector('[data-explorable]').dataset.state.includes('d_k=1')"
    )
    assert read(figure, "undivided") == pytest.approx(1 / math.sqrt(2 * math.log(512)))
    row = figure.locator("tr[data-rescaling=k_total]")
    assert float(row.get_attribute("data-sigma")) == pytest.approx(1 / 512)


@pytest.mark.parametrize("name", PLACES)
def test_an_explorable_waits_until_it_is_near_and_weighs_little(tab, base, name):
    page, _ = tab(f"{base}{PLACES[name]}")
    assert page.locator(".explorable-app").count() == 0
    assert not page.evaluate("'AttentionMath' in window")
    page.locator(f"[data-explorable={name}]").scroll_into_view_if_needed()
    page.locator(".explorable-app").wait_for()
    files = [*FOLDER.glob("*.js"), *FOLDER.glob("*.css")]
    assert sum(len(gzip.compress(file.read_bytes(), 9)) for file in files) <= 150_000


@pytest.mark.parametrize("name", PLACES)
def test_an_explorable_runs_from_a_folder(tab, name):
    page, wrong = tab(f"{(SITE / PLACES[name]).as_uri()}#{name}:")
    page.locator(".explorable-app").wait_for()
    assert wrong == []


@pytest.mark.parametrize("name", PLACES)
def test_a_picture_stands_where_no_script_runs(browser, base, name):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(base + PLACES[name])
    picture = page.locator(f"[data-explorable={name}] img")
    picture.scroll_into_view_if_needed()
    assert picture.is_visible()
    assert len(picture.get_attribute("alt")) > 40
    assert picture.evaluate("image => image.complete && image.naturalWidth > 300")
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PLACES)
def test_an_explorable_is_accessible_and_fits_a_phone(browser, base, name, theme):
    from test_site import AXE

    context = browser.new_context(
        viewport={"width": 360, "height": 800}, color_scheme=theme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(f"{base}{PLACES[name]}#{name}:")
    page.locator(".explorable-app").wait_for()
    page.evaluate(AXE)
    violations = page.evaluate(
        "axe.run('.explorable').then(r => r.violations.map(v => v.id + ': ' + "
        "v.nodes[0].html.slice(0, 200)))"
    )
    assert violations == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    context.close()
