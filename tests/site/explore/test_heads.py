import pytest
import torch
from explorable_data import HEADS

import sdpa_lib as sdpa
from sdpa_lib.book.heads.results import LONGER, load_places, load_vectors

from .conftest import read, wait_for_state


def row_of(moment, layer, head, place, temperature=1.0):
    """The scores of a stored row, up to its own character."""
    query, key = (x[moment, layer, head] for x in load_vectors(HEADS, "line", LONGER))
    scores = sdpa.attention_scores(query, key).double()
    return scores[place, : place + 1] / temperature


def wait_for_another_spread(page, before):
    page.wait_for_function(
        "before => Number(document.querySelector('[data-readout=sigma]').dataset.value) !== before",
        arg=before,
    )


@pytest.mark.parametrize(
    ("moment", "step", "layer", "head", "place", "temperature"),
    [(4, 2400, 2, 2, 62, 1), (4, 2400, 0, 3, 20, 4), (0, 0, 3, 1, 40, 0.25), (2, 600, 1, 0, 8, 2)],
)
def test_a_row_is_the_one_that_is_stored(explorable, moment, step, layer, head, place, temperature):
    setting = f"head={4 * layer + head},step={step},place={place},T={temperature}"
    _, figure = explorable("heads", setting)
    figure.locator("[data-panel=text] .character").first.wait_for()
    row = row_of(moment, layer, head, place, temperature)
    weights = row.softmax(-1)
    assert read(figure, "sigma") == pytest.approx(row.std(correction=0).item(), rel=0.02)
    assert read(figure, "critical") == pytest.approx(
        (2 * torch.tensor(len(row)).log()).sqrt().item()
    )
    assert read(figure, "keys") == pytest.approx(
        1 / weights.square().sum().item(), rel=0.02, abs=0.02
    )
    assert read(figure, "largest") == pytest.approx(weights.max().item(), abs=0.02)


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
    shown = figure.locator("[data-panel=text] svg").get_attribute("aria-label")
    assert shown.startswith("Weights of a tenth or more: ")


def test_another_moment_comes_when_it_is_asked_for(explorable):
    page, figure = explorable("heads", "head=10,step=2400")
    figure.locator("[data-panel=text] .character").first.wait_for()
    before = read(figure, "sigma")
    with page.expect_response("**/heads_0.js"):
        figure.get_by_label("after training steps").press("Home")
    wait_for_another_spread(page, before)
    row = row_of(0, 2, 2, 62)
    assert read(figure, "sigma") == pytest.approx(row.std(correction=0).item(), rel=0.02)


def test_place_is_taken_away(explorable):
    page, figure = explorable("heads", "head=4,step=2400,place=62")
    figure.locator("[data-panel=text] .character").first.wait_for()
    before = read(figure, "sigma")
    with page.expect_response("**/heads_2400_read.js"):
        figure.get_by_label("what place decides").select_option("read")
    wait_for_another_spread(page, before)
    read_row = row_of(4, 1, 0, 62) - load_places(HEADS, "line", LONGER)[4, 1, 0, 62]
    assert read(figure, "sigma") == pytest.approx(read_row.std(correction=0).item(), rel=0.02)
    assert read(figure, "sigma") < before / 4
    assert "With what place decides the spread was" in figure.text_content()


def test_a_row_is_said_in_words(explorable):
    _, figure = explorable("heads", "head=4,step=2400,place=62")
    figure.locator("[data-panel=text] .character").first.wait_for()
    said = figure.locator(".explorable-formula").text_content()
    assert said.startswith("Layer 2, head 1, looking from ")
    assert "is past the border" in said
    assert said.endswith("the row is more even than a normal one.")


def test_a_label_of_another_head_chooses_it(explorable):
    page, figure = explorable("heads", "head=4,place=62")
    labels = figure.locator("[data-panel=plane] .other-head")
    labels.first.wait_for()
    assert labels.count() == 15
    labels.get_by_text("1.4", exact=True).click()
    wait_for_state(page, "head=3")


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
    assert read(figure, "sigma") > read(figure, "critical")
    assert read(figure, "keys") > 2 * read(figure, "normal")
