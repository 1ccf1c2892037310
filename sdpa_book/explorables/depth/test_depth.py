"""Through many layers: how large the first gradient becomes."""

import statistics

import pytest

from sdpa_book.studies import depth

from ..conftest import act, go, numbers, sentence, slider, state

NAMES = ("none", "sqrt_d_k")


@pytest.fixture(scope="module")
def stored():
    return depth.load_depth()[1]


def test_the_growths_that_are_told_are_the_studys(explorable, stored):
    figure = explorable("depth")

    def median(d_k, blocks, name):
        return statistics.median(stored[depth.Depth(d_k, blocks, name, "pre", "1/inputs")].total)

    for d_k in depth.DIMENSIONS:
        for blocks in depth.LAYERS[1:]:
            go(figure, f"d_k={d_k},blocks={blocks}")
            growths = [median(d_k, blocks, name) / median(d_k, 2, name) for name in NAMES]
            asked = [48] * (blocks < 48)
            stated = numbers(sentence(figure))
            assert stated == pytest.approx([2, blocks, *growths, *asked], rel=0.06)


def test_nothing_is_drawn_beyond_the_line(explorable, stored):
    figure = explorable("depth", "blocks=2")
    models, line = figure.locator("circle.model"), slider(figure, "blocks of the model")
    dots = sum(len(stored[depth.Depth(64, 2, name, "pre", "1/inputs")].total) for name in NAMES)
    for reached in range(1, len(depth.LAYERS)):
        assert models.count() == dots * reached
        act(figure, line.press, "ArrowRight")


def test_a_guess_waits_for_the_line_and_stays_with_its_width(explorable):
    figure = explorable("depth")
    ring, line = slider(figure, "your guess"), slider(figure, "blocks of the model")
    act(figure, ring.press, "PageUp")
    act(figure, ring.press, "PageUp")
    assert float(state(figure)["guess"]) == 3200
    assert sentence(figure) == "You guess 3,200; now drag the line to 48."
    for _ in depth.LAYERS[1:]:
        act(figure, line.press, "ArrowRight")
        assert sentence(figure).endswith("And with 48?") == ring.is_visible()
    assert sentence(figure).startswith("It explodes. You guessed 3,200, 3.1 times too low:")
    assert not ring.is_visible()
    width = slider(figure, "width of a head")
    act(figure, width.press, "ArrowLeft")
    assert "guessed" not in sentence(figure)
    aims = figure.locator("[data-panel=norms] .aims")
    assert aims.text_content() == "your guessfor 256"
    act(figure, line.press, "ArrowLeft")
    assert not ring.is_visible()


def test_a_guess_before_the_line_is_there_is_for_the_width_at_which_it_was_made(explorable):
    figure = explorable("depth")
    ring, width = slider(figure, "your guess"), slider(figure, "width of a head")
    act(figure, ring.press, "PageUp")
    act(figure, ring.press, "PageUp")
    act(figure, width.press, "ArrowLeft")
    assert ring.text_content() == "your guessfor 256"
    act(figure, ring.press, "ArrowDown")
    assert (state(figure)["guess"], state(figure)["of"]) == ("2500", "64")
    act(figure, width.press, "ArrowRight")
    assert ring.text_content() == "your guessfor 64"


def test_once_it_is_revealed_no_guess_is_asked_for_until_reset(explorable):
    figure = explorable("depth", "guess=3200")
    prompt = figure.locator(".explorable-prompt")
    for blocks, asked in ((24, "Drag the ring"), (48, "Try another width"), (24, "Try another")):
        go(figure, f"blocks={blocks},guess=3200")
        assert prompt.text_content().startswith(asked)
        assert ("And with 48?" in sentence(figure)) == (asked == "Drag the ring")
    assert "your guess:3,200" in figure.locator("[data-panel=norms] .aims").text_content()
    act(figure, figure.get_by_role("button", name="Reset").click)
    assert prompt.text_content().startswith("Drag the ring")


def test_where_none_was_made_a_guess_waits_again_when_the_line_comes_back(explorable):
    figure = explorable("depth", "blocks=48")
    ring, line = slider(figure, "your guess"), slider(figure, "blocks of the model")
    assert not ring.is_visible()
    act(figure, line.press, "Home")
    act(figure, ring.press, "PageUp")
    act(figure, ring.press, "PageUp")
    assert sentence(figure) == "You guess 3,200; now drag the line to 48."
    act(figure, line.press, "End")
    assert "You guessed 3,200" in sentence(figure)


def test_a_press_beside_the_ring_tells_nothing_and_a_drag_there_is_a_guess(explorable):
    figure = explorable("depth")
    figure.scroll_into_view_if_needed()
    box = figure.locator(".guess .explorable-handle circle.ring").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = state(figure)
    figure.page.mouse.click(x, y + 60)
    figure.page.wait_for_timeout(300)
    assert state(figure) == before
    figure.page.mouse.move(x, y + 60)
    figure.page.mouse.down()
    figure.page.mouse.move(x, y + 70, steps=3)
    figure.page.mouse.up()
    figure.page.wait_for_timeout(300)
    assert state(figure)["blocks"] == before["blocks"]
    assert sentence(figure).startswith("You guess ")
