import math
import re
import statistics

import pytest
from playwright.sync_api import expect

from sdpa_book.studies import depth

from .conftest import check_labels, drag, state, wait_for_quiet, wait_for_state

UNSET = "guess_none=9,guess_sqrt_d_k=9,"
KINDS = {"pre": ("pre", "1/inputs"), "post": ("post", "1/inputs"), "linear": ("pre", "nn.Linear")}


@pytest.fixture(scope="module")
def measured():
    """A function that gives the norms of thirty models in order."""
    stored = depth.load_depth()[1]

    def totals(d_k, blocks, scaling, kind):
        return sorted(stored[depth.Depth(d_k, blocks, scaling, *KINDS[kind])].total)

    return totals


def number(text):
    """What a readout begins with."""
    return float(text.split()[0].replace(",", ""))


def rounded(x):
    """Two significant digits."""
    x = float(f"{x:.2g}")
    return f"{x:,.0f}" if x >= 10 else f"{x:.1f}"


def place(shape):
    """Where a shape is in its drawing."""
    matrix = "shape.transform.baseVal[0].matrix"
    return tuple(shape.evaluate(f"shape => [{matrix}.e, {matrix}.f]"))


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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d_k", depth.DIMENSIONS)
def test_the_verdict_says_in_words_what_is_stored(still, measured, d_k, kind):
    def median(blocks, name):
        return statistics.median(measured(d_k, blocks, name, kind))

    _, figure = still("depth", f"d_k={d_k},blocks=48,{UNSET}kind={kind}")
    said = figure.locator(".explorable-formula").inner_text()
    undivided, root = (median(48, name) / median(2, name) for name in ("none", "sqrt_d_k"))
    assert said.startswith(f"Undivided ×{rounded(undivided)} from 2 to 48 blocks: it ")
    assert re.search(rf" the root,? ×{rounded(root)}[;.] ", said)
    assert said.endswith(f"24 times as many parameters alone would make ×{24**0.5:.1f}.")
    # Number alone gives the power 1/2 of the depth; what explodes has clearly more.
    assert ("it explodes" in said) == (math.log(undivided, 24) > 1)
    assert ("explodes" in said) == (kind != "linear" and d_k > 16)
    assert ("more than" in said) == (undivided < 24 and undivided / root > 1.25)
    assert ("about as much as" in said) == (undivided < 24 and 0.8 < undivided / root < 1.25)
    ends = median(48, "none") / median(24, "none")
    assert ("hardly grows from 24 on" in said) == ("explodes" in said and ends < 1.25)


def test_a_guess_is_answered_by_how_far_it_is_from_the_median(still, measured):
    page, figure = still("depth", f"blocks=48,{UNSET}kind=pre")
    said = figure.locator(".explorable-formula")
    undivided, root = (
        statistics.median(measured(256, 48, name, "pre")) for name in ("none", "sqrt_d_k")
    )
    low, high = rounded(undivided / 100), rounded(1_000 / root)
    for none, sqrt_d_k, answer in (
        (2, 3, f"{low} times too low undivided, {high} times too high with the root"),
        (2, 9, f"{low} times too low undivided"),
        (9, 1, "about right with the root"),
    ):
        guesses = f"guess_none={none},guess_sqrt_d_k={sqrt_d_k},"
        page.evaluate(f"location.hash = '#depth:d_k=256,blocks=48,{guesses}kind=pre'")
        wait_for_state(page, guesses)
        assert said.inner_text().endswith(f" make ×4.9. You were {answer}.")


def test_an_axis_suits_its_kind_of_model_and_no_other(still):
    page, figure = still("depth", "d_k=256,blocks=48")
    ticks = figure.locator("[data-panel=norms] .axis").first.locator(".tick text")
    for kind, top in (("pre", "10⁵"), ("post", "10⁶"), ("linear", "100")):
        figure.get_by_role("combobox").select_option(kind)
        wait_for_state(page, f"kind={kind}")
        shown = []
        for d_k in depth.DIMENSIONS:
            page.evaluate(f"location.hash = '#depth:d_k={d_k},blocks=48,kind={kind}'")
            wait_for_state(page, f"d_k={d_k},blocks=48")
            shown.append(ticks.all_text_contents())
        assert shown[0] == shown[1] == shown[2]
        assert shown[0][-1] == top


def test_marks_wait_above_the_axis_and_keep_a_guess_until_reset(explorable):
    page, figure = explorable("depth")
    said = figure.locator(".explorable-formula")
    assert said.inner_text().startswith("Drag the red circle")
    undivided, root = figure.get_by_role("slider", name="your guess").all()
    largest = figure.locator("[data-panel=norms] .axis").first.locator(".tick").last
    assert place(undivided)[1] == place(root)[1] < place(largest)[1] - 30
    at = figure.locator("[data-panel=norms] .axis").last.locator(".tick").last  # 48 blocks
    middle = (place(undivided)[0] + place(root)[0]) / 2
    assert middle == pytest.approx(place(at)[0], abs=1)
    assert place(root)[0] - place(undivided)[0] < 20
    drag(page, undivided, 0, 120)
    guess = 10 ** float(state(figure)["guess_none"])
    assert 100 < guess < 10_000
    for press in ("Home", "PageUp", "PageUp"):
        root.press(press)
    wait_for_state(page, "guess_sqrt_d_k=1,")
    assert f"guesses: {rounded(guess)} undivided, 10 with the root. Now" in said.inner_text()
    figure.get_by_role("slider", name="blocks of the model").press("End")
    wait_for_state(page, "blocks=48")
    expect(said).to_contain_text("too low undivided, about right with the root.")
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, f"blocks=2,{UNSET}")
    expect(said).to_contain_text("Drag the red circle")


@pytest.mark.parametrize("kind", KINDS)
def test_a_mark_dragged_out_of_the_axis_is_no_guess(still, kind):
    page, figure = still("depth", f"d_k=64,blocks=2,{UNSET}kind={kind}")
    undivided, root = figure.get_by_role("slider", name="your guess").all()
    waiting = place(undivided)
    assert waiting[1] == place(root)[1] == 14
    undivided.press("ArrowDown")
    expect(undivided).not_to_have_attribute("aria-valuetext", "not set")
    drag(page, undivided, 0, -60)
    expect(undivided).to_have_attribute("aria-valuetext", "not set")
    assert place(undivided) == waiting


def test_a_question_is_gone_when_its_answer_is_drawn(explorable):
    page, figure = explorable("depth")
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
    wait_for_state(page, "blocks=2,")
    expect(said).to_contain_text("it explodes")
    expect(root).to_be_hidden()
    expect(misses).to_have_count(1)
    figure.get_by_label("dk, components").press("ArrowLeft")
    expect(root).to_be_visible()
    figure.get_by_label("dk, components").press("End")
    expect(root).to_be_hidden()
    figure.get_by_role("button", name="Reset").click()
    expect(root).to_be_visible()


def test_a_miss_goes_from_its_mark_to_the_median(still):
    _, figure = still("depth", "d_k=256,blocks=48,guess_none=3")
    x, y = place(figure.get_by_role("slider", name="your guess").first)
    _, median = place(figure.locator(".curves path[transform]").nth(3))
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
        assert "48 blocks:" not in sentence + spoken_early
        assert sentence.startswith("Drag" if blocks == 2 else f"From 2 to {blocks} blocks")
        assert median.endswith(f"at L = {blocks}")
        expected = statistics.median(measured(256, blocks, "none", "pre"))
        assert number(median) == pytest.approx(expected, rel=5.1e-3)
    assert len({models for models, *_ in early}) > 1
    expect(said).to_contain_text("from 2 to 48 blocks: it explodes")
    expect(spoken).to_contain_text("at L = 48. Undivided ×3,400 from 2 to 48 blocks")


def test_every_width_and_kind_keeps_its_own_guess_and_its_verdict(still):
    page, figure = still("depth", "d_k=64")
    said = figure.locator(".explorable-formula")
    undivided, root = figure.get_by_role("slider", name="your guess").all()
    blocks = figure.get_by_role("slider", name="blocks of the model")
    width, kind = figure.get_by_label("dk, components"), figure.get_by_role("combobox")
    for change, back in (
        (lambda: width.press("End"), lambda: width.press("ArrowLeft")),
        (lambda: kind.select_option("post"), lambda: kind.select_option("pre")),
    ):
        undivided.press("PageDown")
        wait_for_state(page, "guess_none=4,")
        blocks.press("End")
        wait_for_state(page, "blocks=48")
        verdict = said.inner_text()
        assert re.search(r"You were .* times too high undivided\.$", verdict)
        change()
        wait_for_state(page, f"blocks=2,{UNSET}")
        assert "Drag the red circle" in said.inner_text()
        expect(root).to_be_visible()
        back()
        wait_for_state(page, "blocks=48,guess_none=4,")
        assert said.inner_text() == verdict
        figure.get_by_role("button", name="Reset").click()
        wait_for_state(page, f"d_k=256,blocks=2,{UNSET}kind=pre")
        width.press("ArrowLeft")
        wait_for_state(page, f"d_k=64,blocks=2,{UNSET}")


def test_who_guesses_nothing_sees_another_width_at_once(still):
    page, figure = still("depth", "d_k=64,blocks=48")
    figure.get_by_label("dk, components").press("End")
    wait_for_state(page, "d_k=256,blocks=48,")
    assert "from 2 to 48 blocks" in figure.locator(".explorable-formula").inner_text()


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
    expect(figure.locator(".explorable-formula")).to_contain_text("from 2 to 48 blocks")
    for name in ("none", "sqrt_d_k"):
        median = figure.locator(f"[data-readout={name}]").inner_text()
        assert number(median) == pytest.approx(
            statistics.median(measured(256, 48, name, "pre")), rel=5.1e-3
        )
        assert median.split()[0] not in before


def test_a_mark_says_that_it_is_not_set(explorable):
    _, figure = explorable("depth")
    for mark in figure.get_by_role("slider", name="your guess").all():
        expect(mark).to_have_attribute("aria-valuetext", "not set")
        mark.press("PageDown")
        expect(mark).to_have_attribute("aria-valuetext", "10,000")


def test_a_handle_has_its_ring_for_the_keyboard_alone(explorable):
    page, figure = explorable("depth")
    handle = figure.get_by_role("slider", name="blocks of the model")
    ring = handle.locator(".ring")
    drag(page, handle, 400, 0)
    expect(handle).to_be_focused()
    expect(ring).to_have_css("stroke", "none")
    handle.press("ArrowLeft")
    expect(ring).not_to_have_css("stroke", "none")


@pytest.mark.parametrize("kind", KINDS)
def test_a_phone_has_the_names_above_and_its_width_for_the_way(explorable, kind):
    page, figure = explorable("depth", f"d_k=256,blocks=2,{UNSET}kind={kind}")
    page.set_viewport_size({"width": 360, "height": 800})
    names = figure.locator("[data-panel=norms] .curves text")
    expect(names).to_have_text(["undivided", "root"])
    from_2, to_48 = (
        tick.bounding_box()["x"]
        for tick in figure.locator("[data-panel=norms] .axis").last.locator(".tick line").all()[::3]
    )
    assert to_48 - from_2 > 180
    handle = figure.get_by_role("slider", name="blocks of the model")
    for key in ("ArrowRight", "ArrowRight"):
        handle.press(key)
    expect(names.first).to_contain_text("×")
    wait_for_quiet(figure)
    undivided, root = (name.bounding_box() for name in names.all())
    mark = figure.get_by_role("slider", name="your guess").first.locator("path").bounding_box()
    assert undivided["x"] + undivided["width"] + 15 < root["x"]  # and its square
    assert root["x"] + root["width"] + 2 < mark["x"]


@pytest.mark.parametrize("width", [360, 1280])
def test_the_line_follows_the_mouse_and_medians_are_drawn_on_the_way(explorable, measured, width):
    page, figure = explorable("depth")
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_timeout(200)
    handle = figure.get_by_role("slider", name="blocks of the model")
    handle.scroll_into_view_if_needed()
    circle = handle.locator("circle").last
    line = figure.locator(".curves path[d]:not([transform])").first
    models = figure.locator("circle.model")
    end = "path => path.getBBox().x + path.getBBox().width"
    medians = [statistics.median(measured(256, n, "none", "pre")) for n in depth.LAYERS]

    def middle():
        box = circle.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    ticks = figure.locator("[data-panel=norms] .axis").last.locator(".tick line").all()
    stops = [tick.bounding_box()["x"] for tick in ticks]
    x, y = middle()
    way = 120 if width == 360 else 260
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(to := x + way * step / 10, y)
        stop = min(stops, key=lambda stop: abs(stop - to))
        there = stop if abs(stop - to) < 14 else to  # a number of blocks near by holds the line
        page.wait_for_timeout(100)
        assert middle()[0] == pytest.approx(there, abs=1)
        wait_for_quiet(figure)
        blocks = float(state(figure)["blocks"])
        passed = sum(n <= blocks for n in depth.LAYERS)
        assert models.count() == 2 * depth.SEEDS * passed
        seen = number(figure.locator("[data-readout=none]").inner_text())
        assert seen == pytest.approx(medians[passed - 1], rel=5.1e-3)
        assert line.evaluate(end) == pytest.approx(place(handle)[0], abs=0.5)
    page.mouse.up()
    assert 8 < blocks < 24
    handle.press("ArrowRight")
    wait_for_state(page, "blocks=24,")
    drag(page, handle, -30, 0)
    handle.press("ArrowLeft")
    wait_for_state(page, "blocks=8,")


def test_going_back_keeps_what_was_drawn(explorable):
    page, figure = explorable("depth", f"d_k=256,blocks=24,{UNSET}kind=pre")
    models = figure.locator("circle.model")
    expect(models).to_have_count(6 * depth.SEEDS)
    line = figure.locator(".curves path").first
    drawn = line.get_attribute("d")
    handle = figure.get_by_role("slider", name="blocks of the model")
    handle.press("ArrowLeft")
    wait_for_state(page, "blocks=8,")
    expect(figure.locator("[data-readout=none]")).to_contain_text("at L = 8")
    handle.press("Home")
    wait_for_state(page, "blocks=2,")
    assert models.count() == 6 * depth.SEEDS
    assert line.get_attribute("d") == drawn
    figure.get_by_role("button", name="Reset").click()
    expect(models).to_have_count(2 * depth.SEEDS)


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
    assert all(58 < place < 300 for place in places)
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("d_k", "blocks"), [(16, 2), (16, 48), (64, 48), (256, 24), (256, 48)])
def test_labels_stand_apart_and_inside(explorable, d_k, blocks, kind):
    page, figure = explorable("depth", f"d_k={d_k},blocks={blocks},kind={kind}")
    reached = 2 * depth.SEEDS * (depth.LAYERS.index(blocks) + 1)
    expect(figure.locator("circle.model")).to_have_count(reached)
    check_labels(page, figure, "[data-panel=norms] text.end", 1280)
