import re

import pytest
import torch
from explorable_data import HEADS

import sdpa_lib as sdpa
from sdpa_lib.book.heads.results import LONGER, load_places, load_vectors

from .conftest import read, wait_for_state


def row_of(moment, layer, head, place):
    """The scores of a stored row, up to its own character."""
    query, key = (x[moment, layer, head] for x in load_vectors(HEADS, "line", LONGER))
    scores = sdpa.attention_scores(query, key).double()
    return scores[place, : place + 1]


def over_the_border(row):
    """The row's standard deviation, over sqrt(2 ln n)."""
    return (row.std(correction=0) / (2 * torch.tensor(len(row)).log()).sqrt()).item()


def wait_for_another_spread(page, before):
    page.wait_for_function(
        "before => Number(document.querySelector('[data-readout=ratio]').dataset.value) !== before",
        arg=before,
    )


@pytest.mark.parametrize(
    ("moment", "step", "layer", "head", "place"),
    [(4, 2400, 2, 2, 62), (4, 2400, 0, 3, 20), (0, 0, 3, 1, 40), (2, 600, 1, 0, 8)],
)
def test_a_row_is_the_one_that_is_stored(explorable, moment, step, layer, head, place):
    _, figure = explorable("heads", f"head={4 * layer + head},step={step},place={place}")
    figure.locator("[data-panel=text] .character").first.wait_for()
    row = row_of(moment, layer, head, place)
    weights = row.softmax(-1)
    assert read(figure, "ratio") == pytest.approx(over_the_border(row), rel=0.02)
    assert read(figure, "keys") == pytest.approx(
        1 / weights.square().sum().item(), rel=0.02, abs=0.02
    )
    told = figure.get_by_role("slider", name="the character that looks")
    said = re.findall(r" at (\d+): ([\d.]+)", told.get_attribute("aria-valuetext"))
    shown = {int(at) - 1: float(weight) for at, weight in said}
    assert shown == pytest.approx({at: weights[at].item() for at in shown}, abs=0.02)
    assert (weights > 0.12).sum() <= len(shown) <= (weights > 0.08).sum()


def test_a_normal_row_has_as_many_keys_as_the_library_says(explorable):
    _, figure = explorable("heads", "head=10,place=62")
    figure.locator("[data-panel=text] .character").first.wait_for()
    row = row_of(4, 2, 2, 62)
    drawn = sdpa.sample(4000, len(row), seed=0, device="cpu").double()
    drawn = (drawn - drawn.mean(-1, keepdim=True)) / drawn.std(-1, correction=0, keepdim=True)
    squares = (drawn * row.std(correction=0)).softmax(-1).square().sum(-1)
    assert read(figure, "normal") == pytest.approx(1 / squares.mean().item(), rel=0.06)


def test_a_click_on_a_character_looks_from_there(explorable):
    page, figure = explorable("heads", "place=62")
    figure.locator("[data-panel=text] .character").nth(30).click()
    wait_for_state(page, "place=30")
    looks = figure.get_by_role("slider", name="the character that looks")
    assert "weights of a tenth or more: " in looks.get_attribute("aria-valuetext")
    looks.press("ArrowRight")
    wait_for_state(page, "place=31")
    looks.press("Home")
    wait_for_state(page, "place=7")


def test_another_moment_comes_when_it_is_asked_for(explorable):
    page, figure = explorable("heads", "head=10,step=2400")
    figure.locator("[data-panel=text] .character").first.wait_for()
    before = read(figure, "ratio")
    with page.expect_response("**/heads_0.js"):
        figure.get_by_label("after training steps").press("Home")
    wait_for_another_spread(page, before)
    row = row_of(0, 2, 2, 62)
    assert read(figure, "ratio") == pytest.approx(over_the_border(row), rel=0.02)


def test_place_is_taken_away_and_the_axis_stands_still(explorable):
    page, figure = explorable("heads", "head=4,step=2400,place=62")
    figure.locator("[data-panel=text] .character").first.wait_for()
    before = read(figure, "ratio")
    ticks = figure.locator("[data-panel=back] .axis text")
    shown = ticks.all_text_contents()
    figure.get_by_label("take away what place decides").press("Space")
    wait_for_another_spread(page, before)
    read_row = row_of(4, 1, 0, 62) - load_places(HEADS, "line", LONGER)[4, 1, 0, 62]
    assert read(figure, "ratio") == pytest.approx(over_the_border(read_row), rel=0.02)
    assert read(figure, "ratio") < before / 4
    assert f"With what place decides its spread is {before:.1f} times" in figure.text_content()
    assert ticks.all_text_contents() == shown
    figure.get_by_label("after training steps").press("Home")
    wait_for_state(page, "step=0,")
    figure.get_by_role("radio").nth(15).click()
    wait_for_state(page, "head=15,")
    page.wait_for_timeout(300)
    assert ticks.all_text_contents() == shown


def test_what_place_decides_is_taken_away_before_the_readers_eyes(explorable):
    page, figure = explorable("heads", "head=4,step=2400,place=62")
    dots = figure.locator("[data-panel=back] circle")
    dots.first.wait_for()
    first = "dots => Number(dots[0].getAttribute('cy'))"
    start = dots.evaluate_all(first)
    heights = page.evaluate(
        """async () => {
            document.querySelector('[data-explorable=heads] input[type=checkbox]').click();
            const seen = [];
            for (let i = 0; i < 90; i++) {
                await new Promise(requestAnimationFrame);
                const dot = document.querySelector('[data-panel=back] circle');
                seen.push(Number(dot.getAttribute('cy')));
            }
            return seen;
        }"""
    )
    page.wait_for_timeout(1000)
    end = dots.evaluate_all(first)
    unit = (210 - 22 - 40) / (26 + 21)  # of the axis, in pixels
    assert end < start - 6 * unit, "the first character's score rises to the others"
    assert any(end + 5 < height < start - 5 for height in heights)


def test_a_row_is_said_in_words(explorable):
    _, figure = explorable("heads", "head=4,step=2400,place=62")
    figure.locator("[data-panel=text] .character").first.wait_for()
    said = figure.locator(".explorable-formula").text_content()
    assert said.startswith(
        "Layer 2, head 1: a row past the border, and more even than a normal one of its spread."
    )


def test_tiles_say_where_heads_stand_and_choose_one(explorable):
    page, figure = explorable("heads", "head=4,place=62")
    tiles = figure.get_by_role("radio")
    tiles.first.wait_for()
    assert tiles.count() == 16
    border = (2 * torch.tensor(63.0).log()).sqrt()
    stand = [row_of(4, i // 4, i % 4, 62).std(correction=0) / border for i in range(16)]
    told = [float(text) for text in tiles.all_text_contents()]
    assert told == pytest.approx([x.item() for x in stand], rel=0.03, abs=0.01)
    tiles.nth(3).click()
    wait_for_state(page, "head=3")
    tiles.nth(3).press("ArrowDown")
    wait_for_state(page, "head=7")
    chosen = figure.get_by_role("radio", checked=True)
    assert chosen.get_attribute("aria-label").startswith("layer 2, head 4: ")
    assert chosen.evaluate("tile => tile === document.activeElement")


def test_the_first_characters_are_not_to_be_chosen(explorable):
    _, figure = explorable("heads", "place=62")
    characters = figure.locator("[data-panel=text] .character")
    characters.first.wait_for()
    cursor = "cell => getComputedStyle(cell).cursor"
    assert characters.nth(6).evaluate(cursor) != "pointer"
    assert characters.nth(7).evaluate(cursor) == "pointer"


def test_the_row_at_the_start_is_past_the_border_and_more_even_than_normal(explorable):
    """The caption asks why."""
    _, figure = explorable("heads")
    figure.locator("[data-panel=text] .character").first.wait_for()
    assert read(figure, "ratio") > 1
    assert read(figure, "keys") > 2 * read(figure, "normal")


def test_no_score_lies_beyond_the_axis(explorable):
    """Of the row that goes farthest, and of one from the first character that may look."""
    for setting in (
        "head=7,step=600,place=59",
        "head=4,step=2400,place=62",
        "head=0,step=0,place=7",
    ):
        _, figure = explorable("heads", setting)
        dots = figure.locator("[data-panel=back] .points circle")
        dots.first.wait_for()
        heights = dots.evaluate_all("dots => dots.map(dot => dot.cy.baseVal.value)")
        assert 22 <= min(heights) < max(heights) <= 170
