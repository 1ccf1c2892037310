import math
import statistics

import pytest
from playwright.sync_api import expect

from sdpa_lib.book.training import depth

from .conftest import check_labels, drag, state, wait_for_state

UNSET = "guess_none=5.5,guess_sqrt_d_k=5.5,"
KINDS = {"pre": ("pre", "1/inputs"), "post": ("post", "1/inputs"), "linear": ("pre", "nn.Linear")}


@pytest.fixture(scope="module")
def measured():
    """A function that gives the norms of thirty models in order."""
    stored = depth.load_depth()[1]

    def totals(d_k, blocks, scaling, kind):
        return sorted(stored[depth.Depth(d_k, blocks, scaling, *KINDS[kind])].total)

    return totals


def number(text):
    return float(text.replace(",", ""))


@pytest.mark.parametrize("kind", KINDS)
def test_medians_are_those_that_are_stored(still, measured, kind):
    page, figure = still("depth", "d_k=64")
    for d_k in depth.DIMENSIONS:
        for blocks in depth.LAYERS:
            page.evaluate(f"location.hash = '#depth:d_k={d_k},blocks={blocks},kind={kind}'")
            wait_for_state(page, f"d_k={d_k},blocks={blocks},guess")
            for name in ("none", "sqrt_d_k"):
                totals = measured(d_k, blocks, name, kind)
                median = figure.locator(f"[data-readout={name}]").inner_text()
                assert number(median) == pytest.approx(statistics.median(totals), rel=5.1e-3)


def test_growth_is_a_power_of_the_depth_or_a_factor_for_each_block(still, measured):
    page, figure = still("depth", f"d_k=256,blocks=48,{UNSET}kind=pre")
    said = figure.locator(".explorable-formula")

    def times(kind, *depths):
        before, now = (statistics.median(measured(256, n, "none", kind)) for n in depths)
        return now / before

    grown = times("pre", 2, 48)
    rounded = f"×{float(f'{grown:.2g}'):,.0f}"
    assert f"grows {rounded} undivided (like L{math.log(grown, 24):.2f}), " in said.inner_text()
    names = figure.locator("[data-panel=norms] text.end")
    expect(names.filter(has_text=f"undivided {rounded}")).to_be_visible()
    page.evaluate("location.hash = '#depth:d_k=256,blocks=24,kind=post'")
    wait_for_state(page, "blocks=24")
    first = times("post", 2, 8) ** (1 / 6)
    second = times("post", 8, 24) ** (1 / 16)
    assert f"a block gives ×{first:.2f} up to 8, ×{second:.2f} up to 24." in said.inner_text()


def test_marks_start_level_and_keep_a_guess_until_reset(explorable):
    page, figure = explorable("depth")
    said = figure.locator(".explorable-formula")
    assert "Set the red circle and the blue square" in said.inner_text()
    marks = figure.get_by_role("slider", name="your guess")
    levels = marks.evaluate_all("marks => marks.map(mark => mark.transform.baseVal[0].matrix.f)")
    assert levels[0] == levels[1]
    undivided, root = marks.all()
    drag(page, undivided, 0, 60)
    guess = 10 ** float(state(figure)["guess_none"])
    assert 1_000 < guess < 100_000
    for press in ("Home", "PageUp"):
        root.press(press)
    wait_for_state(page, "guess_sqrt_d_k=1,")
    assert f"{float(f'{guess:.2g}'):,.0f} undivided, 10 with the root. Now" in said.inner_text()
    figure.get_by_role("slider", name="blocks of the model").press("End")
    wait_for_state(page, "blocks=48")
    expect(said).to_contain_text("You said 10 with the root")
    median = figure.locator("[data-readout=sqrt_d_k]").inner_text()
    assert f"You said 10 with the root; it is {median}." in said.inner_text()
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, f"blocks=2,{UNSET}")
    assert "You said" not in said.inner_text()


def test_a_question_is_gone_when_its_answer_is_drawn(explorable):
    _, figure = explorable("depth")
    said = figure.locator(".explorable-formula")
    undivided, root = figure.get_by_role("slider", name="your guess").all()
    blocks = figure.get_by_role("slider", name="blocks of the model")
    misses = figure.locator(".misses line")
    undivided.press("PageDown")
    blocks.press("End")
    expect(root).to_be_hidden()
    expect(undivided).to_be_visible()
    expect(misses).to_have_count(1)
    blocks.press("Home")
    expect(said).to_have_text("With 2 blocks division makes little difference.")
    expect(root).to_be_hidden()
    expect(misses).to_have_count(0)
    figure.get_by_label("dk, components").press("ArrowLeft")
    expect(root).to_be_visible()
    figure.get_by_label("dk, components").press("End")
    expect(root).to_be_hidden()
    figure.get_by_role("button", name="Reset").click()
    expect(root).to_be_visible()


def test_a_miss_goes_from_its_mark_to_the_median(still):
    _, figure = still("depth", "d_k=256,blocks=48,guess_none=3")
    at = "shape => [shape.transform.baseVal[0].matrix.e, shape.transform.baseVal[0].matrix.f]"
    x, y = figure.get_by_role("slider", name="your guess").first.evaluate(at)
    _, median = figure.locator(".curves path[transform]").nth(3).evaluate(at)
    miss = "line => ['x1', 'y1', 'x2', 'y2'].map(end => line[end].baseVal.value)"
    drawn = figure.locator(".misses line").evaluate(miss)
    assert drawn == pytest.approx([x, y, x, median], abs=0.01)


def test_medians_follow_the_lines_and_nothing_is_said_before_they_are_there(explorable, measured):
    _, figure = explorable("depth")
    said, spoken = (figure.locator(f".explorable-{name}") for name in ("formula", "spoken"))
    figure.get_by_role("slider", name="blocks of the model").press("End")
    early = figure.evaluate(
        """async (figure, all) => {
            const models = () => figure.querySelectorAll('circle.model').length;
            const read = (part) => figure.querySelector(part).textContent;
            const seen = [];
            for (let i = 0; models() < all && i < 600; i++) {
                const parts = ['.explorable-formula', '.explorable-spoken', '[data-readout=none]'];
                seen.push([models(), ...parts.map(read)]);
                await new Promise(requestAnimationFrame);
            }
            return seen;
        }""",
        2 * depth.SEEDS * len(depth.LAYERS),
    )
    for models, sentence, spoken_early, median in early:
        blocks = depth.LAYERS[models // (2 * depth.SEEDS) - 1]
        assert "From 2" not in sentence + spoken_early
        assert sentence.startswith("With 2") or sentence == f"Drawn as far as {blocks} blocks."
        expected = statistics.median(measured(256, blocks, "none", "linear"))
        assert number(median) == pytest.approx(expected, rel=5.1e-3)
    assert len({models for models, *_ in early}) > 1
    expect(said).to_contain_text("From 2 to 48 blocks")
    expect(spoken).to_contain_text("with 48 blocks. From 2 to 48 blocks")


def test_every_width_and_kind_keeps_its_own_guess_and_its_verdict(still):
    page, figure = still("depth", "d_k=64")
    said = figure.locator(".explorable-formula")
    undivided, root = figure.get_by_role("slider", name="your guess").all()
    blocks = figure.get_by_role("slider", name="blocks of the model")
    width, kind = figure.get_by_label("dk, components"), figure.get_by_role("combobox")
    for change, back in (
        (lambda: width.press("End"), lambda: width.press("ArrowLeft")),
        (lambda: kind.select_option("post"), lambda: kind.select_option("linear")),
    ):
        undivided.press("PageDown")
        wait_for_state(page, "guess_none=4.5,")
        blocks.press("End")
        wait_for_state(page, "blocks=48")
        median = figure.locator("[data-readout=none]").inner_text()
        verdict = f"You said 32,000 undivided; it is {median}."
        assert said.inner_text().endswith(verdict)
        change()
        wait_for_state(page, f"blocks=2,{UNSET}")
        assert "Set the red circle" in said.inner_text()
        expect(root).to_be_visible()
        back()
        wait_for_state(page, "blocks=48,guess_none=4.5,")
        assert said.inner_text().endswith(verdict)
        figure.get_by_role("button", name="Reset").click()
        wait_for_state(page, f"d_k=256,blocks=2,{UNSET}kind=linear")
        width.press("ArrowLeft")
        wait_for_state(page, f"d_k=64,blocks=2,{UNSET}")


def test_who_guesses_nothing_sees_another_width_at_once(still):
    page, figure = still("depth", "d_k=64,blocks=48")
    figure.get_by_label("dk, components").press("End")
    wait_for_state(page, "d_k=256,blocks=48,")
    assert "From 2 to 48 blocks" in figure.locator(".explorable-formula").inner_text()


def test_a_new_question_is_not_answered_by_lines_on_their_way_back(explorable):
    page, figure = explorable("depth", "d_k=64,blocks=48,guess_none=3")
    models = figure.locator("circle.model")
    expect(models).to_have_count(2 * depth.SEEDS * len(depth.LAYERS))
    figure.get_by_label("dk, components").press("End")
    wait_for_state(page, "d_k=256,blocks=2,")
    assert models.count() == 2 * depth.SEEDS


def test_the_title_says_guess_while_there_is_something_to_guess(still):
    _, figure = still("depth", "d_k=64")
    title = figure.locator(".explorable-title")
    blocks = figure.get_by_role("slider", name="blocks of the model")
    asked = "large is the first gradient of a model of 48 blocks?"
    expect(title).to_have_text(f"Guess: how {asked}")
    figure.get_by_role("slider", name="your guess").first.press("PageDown")
    blocks.press("End")
    expect(title).to_have_text(f"How {asked}")
    figure.get_by_label("dk, components").press("End")
    expect(title).to_have_text(f"Guess: how {asked}")


def test_the_first_question_is_one_that_the_chapter_has_not_answered(explorable, measured):
    page, figure = explorable("depth")
    before = page.evaluate("""() => {
        const range = document.createRange();
        range.setStartBefore(document.querySelector('h1'));
        range.setEndBefore(document.querySelector('[data-explorable=depth]'));
        return range.toString();
    }""")
    figure.get_by_role("slider", name="blocks of the model").press("End")
    expect(figure.locator(".explorable-formula")).to_contain_text("From 2 to 48 blocks")
    for name in ("none", "sqrt_d_k"):
        median = figure.locator(f"[data-readout={name}]").inner_text()
        assert number(median) == pytest.approx(
            statistics.median(measured(256, 48, name, "linear")), rel=5.1e-3
        )
        assert median not in before


def test_a_mark_says_that_it_is_not_set(explorable):
    _, figure = explorable("depth")
    for mark in figure.get_by_role("slider", name="your guess").all():
        expect(mark).to_have_attribute("aria-valuetext", "not set")
        mark.press("PageDown")
        expect(mark).to_have_attribute("aria-valuetext", "32,000")


def test_a_handle_has_its_ring_for_the_keyboard_alone(explorable):
    page, figure = explorable("depth")
    handle = figure.get_by_role("slider", name="blocks of the model")
    ring = handle.locator(".ring")
    drag(page, handle, 400, 0)
    expect(handle).to_be_focused()
    expect(ring).to_have_css("stroke", "none")
    handle.press("ArrowLeft")
    expect(ring).not_to_have_css("stroke", "none")


def test_margin_of_a_phone_has_the_growth_in_a_row_of_its_own(explorable):
    page, figure = explorable("depth", f"d_k=256,blocks=48,{UNSET}kind=pre")
    page.set_viewport_size({"width": 360, "height": 800})
    names = figure.locator("[data-panel=norms] text.end")
    expect(names).to_have_text(["undivided", "×3,400", "root", "×4.8"])


def test_thin_lines_are_those_of_the_widths_that_were_drawn(explorable):
    page, figure = explorable("depth")
    names = figure.locator("[data-panel=norms] text.end")
    width = figure.get_by_label("dk, components")
    width.press("Home")
    wait_for_state(page, "d_k=16,")
    width.press("ArrowRight")
    wait_for_state(page, "d_k=64,")
    figure.get_by_role("slider", name="blocks of the model").press("End")
    expect(figure.locator("circle.model")).to_have_count(2 * depth.SEEDS * len(depth.LAYERS))
    assert names.filter(has_text="heads").count() == 0
    width.press("End")
    wait_for_state(page, "d_k=256,")
    expect(names.filter(has_text="heads")).to_have_text(["heads of 64"])


def test_lines_grow_until_they_have_come_to_the_upright_line(explorable):
    page, figure = explorable("depth")
    line = figure.locator("[data-panel=norms] .curves path").first
    end = "path => path.getBBox().x + path.getBBox().width"
    figure.get_by_role("slider", name="blocks of the model").press("End")
    wait_for_state(page, "blocks=48")
    on_the_way = line.evaluate(end)
    expect(figure.locator("circle.model")).to_have_count(2 * depth.SEEDS * len(depth.LAYERS))
    assert line.evaluate(end) > on_the_way + 20


def test_every_model_is_drawn_at_its_norm(explorable, measured):
    _, figure = explorable("depth", "d_k=256,blocks=48,kind=post")
    panel = figure.locator("[data-panel=norms] svg")
    models = panel.locator("circle.model")
    expect(models).to_have_count(2 * depth.SEEDS * len(depth.LAYERS))
    places = models.evaluate_all("all => all.map(c => c.cy.baseVal.value)")
    norms = [
        math.log(total)
        for name in ("none", "sqrt_d_k")
        for blocks in depth.LAYERS
        for total in measured(256, blocks, name, "post")
    ]
    assert statistics.correlation(places, norms) == pytest.approx(-1, abs=1e-6)
    assert all(32 < place < 280 for place in places)
    assert "NaN" not in panel.inner_html()


def test_nothing_is_drawn_beyond_the_line(explorable):
    page, figure = explorable("depth")
    models = figure.locator("[data-panel=norms] circle.model")
    handle = figure.get_by_role("slider", name="blocks of the model")
    for i, blocks in enumerate(depth.LAYERS):
        wait_for_state(page, f"blocks={blocks},")
        expect(models).to_have_count(2 * depth.SEEDS * (i + 1))
        handle.press("ArrowRight")


def test_blocks_by_the_handle(explorable):
    page, figure = explorable("depth", "d_k=64,blocks=48,kind=pre")
    handle = figure.get_by_role("slider", name="blocks of the model")
    handle.press("ArrowLeft")
    wait_for_state(page, "blocks=24")
    drag(page, handle, -400, 0)
    assert state(figure)["blocks"] == "2"
    figure.get_by_label("dk, components").press("End")
    wait_for_state(page, "d_k=256")


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d_k", "blocks"), [(16, 2), (16, 48), (64, 48), (256, 24), (256, 48)])
def test_labels_stand_apart_and_inside(explorable, d_k, blocks, kind, width):
    page, figure = explorable("depth", f"d_k={d_k},blocks={blocks},kind={kind}")
    reached = 2 * depth.SEEDS * (depth.LAYERS.index(blocks) + 1)
    expect(figure.locator("circle.model")).to_have_count(reached)
    check_labels(page, figure, "[data-panel=norms] text.end", width)
