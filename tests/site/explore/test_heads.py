import collections
import itertools
import re

import pytest
import torch
from explorable_data import HEADS
from letters import faint_letters
from playwright.sync_api import expect

import sdpa_lib as sdpa
from sdpa_lib.book.heads.results import LONGER, load_places, load_vectors

from .conftest import PLACES, state, wait_for_quiet, wait_for_state


def row_of(moment, layer, head, place):
    """The scores of a stored row, up to its own character."""
    query, key = (x[moment, layer, head] for x in load_vectors(HEADS, "line", LONGER))
    scores = sdpa.attention_scores(query, key).double()
    return scores[place, : place + 1]


def over_the_border(row):
    """The row's standard deviation, over sqrt(2 ln n)."""
    return (row.std(correction=0) / (2 * torch.tensor(len(row)).log()).sqrt()).item()


def ratio(figure):
    """What the tile of the chosen head says."""
    return float(figure.get_by_role("radio", checked=True).text_content())


def drawn(figure, part="all"):
    """A part's effective keys, and those of a normal row of its spread."""
    dot = figure.locator(f"[data-panel=keys] [data-part={part}]")
    return [float(dot.get_attribute(f"data-{name}")) for name in ("keys", "normal")]


def rows_of(layer, head, place, moment=4):
    """A row, after the longer training if no other moment is asked for, whole and in its parts."""
    whole = row_of(moment, layer, head, place)
    of_place = load_places(HEADS, "line", LONGER)[moment, layer, head, place, : place + 1].double()
    return {"all": whole, "place": of_place, "read": whole - of_place}


def even(row):
    """Effective keys, 1/sum p^2."""
    return 1 / row.softmax(-1).square().sum().item()


def normal_keys(row):
    """Effective keys of normal rows with as many keys and the same spread."""
    normal = sdpa.sample(4000, len(row), seed=0, device="cpu").double()
    normal = (normal - normal.mean(-1, keepdim=True)) / normal.std(-1, correction=0, keepdim=True)
    squares = (normal * row.std(correction=0)).softmax(-1).square().sum(-1)
    return 1 / squares.mean().item()


PARTS = {"all": "as it is", "place": "only place", "read": "without place"}


@pytest.mark.parametrize(
    ("moment", "step", "layer", "head", "place"),
    [(4, 2400, 2, 2, 62), (4, 2400, 0, 3, 20), (0, 0, 3, 1, 40), (2, 600, 1, 0, 8)],
)
def test_a_row_is_the_one_that_is_stored(explorable, moment, step, layer, head, place):
    _, figure = explorable("heads", f"head={4 * layer + head},step={step},place={place}")
    figure.locator("[data-panel=text] .character").first.wait_for()
    row = row_of(moment, layer, head, place)
    weights = row.softmax(-1)
    assert ratio(figure) == pytest.approx(over_the_border(row), rel=0.02, abs=0.005)
    assert drawn(figure)[0] == pytest.approx(even(row), rel=0.02, abs=0.02)
    told = figure.get_by_role("slider", name="the character that looks")
    said = re.findall(r" at (\d+): ([\d.]+)", told.get_attribute("aria-valuetext"))
    shown = {int(at) - 1: float(weight) for at, weight in said}
    assert shown == pytest.approx({at: weights[at].item() for at in shown}, abs=0.02)
    assert (weights > 0.12).sum() <= len(shown) <= (weights > 0.08).sum()


def test_a_normal_row_has_as_many_keys_as_the_library_says(explorable):
    _, figure = explorable("heads", "head=10,place=62")
    figure.locator("[data-panel=text] .character").first.wait_for()
    row = row_of(4, 2, 2, 62)
    assert drawn(figure)[1] == pytest.approx(normal_keys(row), rel=0.06)


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
    with page.expect_response("**/heads_0.js"):
        figure.get_by_label("after training steps").press("Home")
    row = row_of(0, 2, 2, 62)
    page.wait_for_function(
        "now => Math.abs(document.querySelector('[data-panel=keys] [data-part=all]')"
        ".dataset.keys / now - 1) < 0.02",
        arg=even(row),
    )
    assert ratio(figure) == pytest.approx(over_the_border(row), rel=0.02)


@pytest.mark.parametrize(("layer", "head", "place"), [(1, 0, 62), (1, 1, 40)])
def test_each_part_is_the_stored_one_and_is_not_shown_before_it_is_chosen(
    explorable, layer, head, place
):
    page, figure = explorable("heads", f"head={4 * layer + head},place={place}")
    figure.locator("[data-panel=text] .character").first.wait_for()
    dots = figure.locator("[data-panel=keys] [data-part]")
    for seen, (part, row) in enumerate(rows_of(layer, head, place).items()):
        assert dots.count() == max(1, seen)
        figure.get_by_role("button", name=PARTS[part]).click()
        wait_for_state(page, f"part={part}")
        assert ratio(figure) == pytest.approx(over_the_border(row), rel=0.02, abs=0.01)
        assert drawn(figure, part)[0] == pytest.approx(even(row), rel=0.05)
    assert dots.count() == 3
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "part=all")
    assert dots.count() == 1


def test_place_by_itself_is_even_and_the_rest_is_not(explorable):
    """The answer to what the caption asks."""
    page, figure = explorable("heads")
    figure.locator("[data-panel=text] .character").first.wait_for()
    for part in ("place", "read"):
        figure.get_by_role("button", name=PARTS[part]).click()
        wait_for_state(page, f"part={part}")
    (whole, normal), (place, of_place), (read, of_read) = (drawn(figure, part) for part in PARTS)
    assert f"{normal:.1f}" == "1.8"
    assert 5.25 < whole < 5.75
    assert place > 2 * of_place
    assert read < of_read


def test_the_axis_is_one_for_all_steps_and_parts_of_a_row(explorable):
    page, figure = explorable("heads", "head=4,step=2400,place=62")
    figure.locator("[data-panel=text] .character").first.wait_for()
    ticks = figure.locator("[data-panel=back] .axis text")
    shown = ticks.all_text_contents()
    for part in ("place", "read"):
        figure.get_by_role("button", name=PARTS[part]).click()
        wait_for_state(page, f"part={part}")
        wait_for_quiet(figure)
        assert ticks.all_text_contents() == shown
    figure.get_by_label("after training steps").press("Home")
    wait_for_state(page, "step=0,")
    wait_for_quiet(figure)
    assert ticks.all_text_contents() == shown
    figure.get_by_role("radio").nth(7).click()
    wait_for_state(page, "head=7,")
    wait_for_quiet(figure)
    assert ticks.all_text_contents() != shown


def seen_while(page, press):
    """How high the first dot of the scores stands, and how opaque the line of place is, frame by
    frame from a press on.
    """
    return page.evaluate(
        """async (press) => {
            const figure = document.querySelector('[data-explorable=heads]');
            const find = (selector) => figure.querySelector(selector);
            find(press).dispatchEvent(new MouseEvent('click', { bubbles: true }));
            const seen = [];
            for (let i = 0; i < 90; i++) {
                await new Promise(requestAnimationFrame);
                const height = Number(find('[data-panel=back] circle').getAttribute('cy'));
                seen.push([height, Number(find('path.place')?.style.opacity ?? 0)]);
            }
            return seen;
        }""",
        press,
    )


LAST_BUTTON = ".explorable-buttons button:last-child"


def test_what_place_decides_is_taken_away_before_the_readers_eyes(explorable):
    page, figure = explorable("heads", "head=4,step=2400,place=62")
    dots = figure.locator("[data-panel=back] circle")
    dots.first.wait_for()
    first = "dots => Number(dots[0].getAttribute('cy'))"
    start = dots.evaluate_all(first)
    seen = seen_while(page, LAST_BUTTON)
    wait_for_quiet(figure)
    end = dots.evaluate_all(first)
    assert end < start - 20, "the first character's score rises to the others"
    assert any(end + 5 < height < start - 5 for height, _ in seen)


def test_the_line_of_place_goes_with_place(explorable):
    page, figure = explorable("heads", "head=4,step=2400,place=62")
    line, name = figure.locator("path.place"), figure.get_by_text("what place decides", exact=True)
    expect(line).to_be_visible()
    expect(name).to_be_visible()
    seen = seen_while(page, LAST_BUTTON)
    assert any(0.1 < opacity < 0.9 for _, opacity in seen)
    for part, there in (("read", 0), ("place", 1), ("all", 1)):
        figure.get_by_role("button", name=PARTS[part]).click()
        wait_for_state(page, f"part={part},")
        wait_for_quiet(figure)
        expect(line).to_have_count(there)
        expect(name).to_have_count(there)
        told = figure.locator("[data-panel=back] svg").get_attribute("aria-label")
        assert ("What place decides goes" in told) == bool(there)


def test_scores_move_from_one_head_to_the_next(explorable):
    page, figure = explorable("heads", "head=4,step=2400,place=62")
    figure.locator("[data-panel=back] circle").first.wait_for()
    heights = [height for height, _ in seen_while(page, "g.head:nth-child(16)")]
    assert len({round(height) for height in heights}) > 5


@pytest.mark.parametrize("width", [360, 1280])
def test_letters_under_the_axis_stand_in_a_line_clear_of_each_other(explorable, width):
    """All of them where there is room, else those of the keys with much weight."""
    page, figure = explorable("heads", "head=5,place=62")
    page.set_viewport_size({"width": width, "height": 800})
    wait_for_quiet(figure)
    spelt = figure.locator("[data-panel=back] .axes > .axis-label")
    boxes = sorted((letter.bounding_box() for letter in spelt.all()), key=lambda box: box["x"])
    assert len({round(box["y"]) for box in boxes}) == 1
    for one, other in itertools.pairwise(boxes):
        assert one["x"] + one["width"] <= other["x"] + 0.5
    weights = row_of(4, 1, 1, 62).softmax(-1)
    if width == 1280:
        assert len(boxes) == 63
    else:
        assert (weights > 0.1).sum() <= len(boxes) <= (weights > 0.02).sum() + 1
    beyond = figure.locator("[data-panel=back] svg").evaluate(
        """svg => [...svg.querySelectorAll('text')].filter(text => {
            const [all, own] = [svg, text].map(shape => shape.getBoundingClientRect());
            return own.top < all.top || own.bottom > all.bottom;
        }).length"""
    )
    assert beyond == 0


def test_the_parts_and_all_that_they_do_fit_a_phone(explorable):
    page, figure = explorable("heads")
    page.set_viewport_size({"width": 360, "height": 800})
    wait_for_quiet(figure)
    buttons = figure.locator(".explorable-buttons").bounding_box()
    said = figure.locator(".explorable-formula")
    panels = figure.locator(".explorable-panels").bounding_box()
    assert 0 <= said.bounding_box()["y"] - buttons["y"] - buttons["height"] <= 10
    assert panels["y"] + panels["height"] - buttons["y"] <= 800
    keys = figure.locator("[data-panel=keys]").bounding_box()
    assert keys["y"] + keys["height"] - buttons["y"] <= 320, "what is asked about comes first"
    tiles = figure.get_by_role("radio").evaluate_all(
        "tiles => tiles.map(tile => tile.getBoundingClientRect().height)"
    )
    assert min(tiles) >= 24
    height = said.bounding_box()["height"]
    for part in ("place", "read"):
        figure.get_by_role("button", name=PARTS[part]).click()
        wait_for_state(page, f"part={part}")
        assert said.bounding_box()["height"] == pytest.approx(height, abs=0.5)


def kind(row):
    """What a factor of 2 to normal rows makes of a row: even, sharp, or nothing."""
    ratio = even(row) / normal_keys(row)
    return "even" if ratio > 2 else "sharp" if ratio < 1 / 2 else ""


def answer(whole, place, read):
    """What is said of three numbers of keys, each over those of normal rows."""
    if 0.5 <= whole <= 2:
        return f"As it is, {two_digits(whole)} times normal: within a factor of 2 it may be chance."
    like, sign = ("even", 1) if whole > 2 else ("sharp", -1)
    alike = [name for name, ratio in (("place", place), ("what is read", read)) if ratio**sign > 2]
    named = {0: "only both together make", 2: "either part alone makes"}
    return f"So {named.get(len(alike)) or f'{alike[0]} alone makes'} the row {like} for its spread"


def two_digits(x):
    return f"{x:.1f}" if x >= 1 else f"{x:.2f}"


def test_the_answer_follows_from_the_three_numbers_that_stand_there(still):
    page, figure = still("heads", "head=4,step=2400,place=62")
    figure.locator("[data-panel=text] .character").first.wait_for()
    said = figure.locator(".explorable-formula")
    for head in range(16):
        for part in PARTS:
            setting = f"part={part},head={head},step=2400,place=62"
            page.evaluate("setting => (location.hash = `#heads:${setting}`)", setting)
            wait_for_state(page, setting)
    answers = set()
    settings = [(2400, place) for place in range(12, 63, 5)] + [(0, 62)]
    for step, place in settings:
        shown = page.evaluate(
            SHOWN, [f"part=all,head={head},step={step},place={place}" for head in range(16)]
        )
        for head, (ratios, sentence) in enumerate(shown):
            asked = answer(*map(float, ratios))
            assert sentence.startswith(asked), (head, step, place)
            answers.add(asked)
            if "sharpens" in sentence:
                rows = rows_of(*divmod(head, 4), place, 4 if step else 0)
                keys = {name: even(row) for name, row in rows.items()}
                part = "read" if asked.startswith("So place") else "place"
                assert keys[part] > 0.97 * keys["all"]
    for lead in ("So either part", "So place", "So what is read", "So only", "As it is"):
        assert any(answer.startswith(lead) for answer in answers), lead
    page.evaluate("location.hash = '#heads:part=all,head=4,step=2400,place=62'")
    expect(said).to_contain_text(
        "So place alone makes the row even for its spread: "
        "it sharpens, but less than normal scores would."
    )


SHOWN = """async (settings) => {
    const figure = document.querySelector('[data-explorable=heads]');
    const shown = [];
    for (const setting of settings) {
        location.hash = `#heads:${setting}`;
        while (!figure.dataset.state.endsWith(setting)) await new Promise(requestAnimationFrame);
        const ratios = [...figure.querySelectorAll('[data-ratio]')].map((text) => text.textContent);
        const said = figure.querySelector('.explorable-formula').lastElementChild.textContent;
        shown.push([ratios, said]);
    }
    return shown;
}"""
"""At each setting the numbers of keys over a normal row's, and the last that is said of them."""


def test_of_untrained_rows_99_in_100_lie_within_a_factor_of_2():
    kinds = [
        kind(row_of(0, *divmod(head, 4), place)) for head in range(16) for place in range(7, 63)
    ]
    assert round(kinds.count("") / len(kinds), 2) == 0.99


def test_the_caption_counts_heads():
    trained, untrained = (
        [rows_of(*divmod(head, 4), 62, moment) for head in range(16)] for moment in (4, 0)
    )
    answers = [
        answer(*(round(even(row) / normal_keys(row), 1) for row in rows.values()))
        for rows in trained
        if kind(rows["all"]) == "even"
    ]
    assert len(answers) == 6
    leads = collections.Counter(" ".join(answer.split()[:3]) for answer in answers)
    assert leads["So place alone"] == 3
    assert leads["So either part"] == 2
    assert leads["So only both"] == 1
    assert [kind(rows["all"]) for rows in untrained if kind(rows["all"])] == ["sharp"]


def test_a_part_is_said_with_the_numbers_that_are_drawn(explorable):
    page, figure = explorable("heads", "head=4,step=2400,place=62")
    figure.locator("[data-panel=text] .character").first.wait_for()
    said = figure.locator(".explorable-formula .explorable-line")
    for part in PARTS:
        figure.get_by_role("button", name=PARTS[part]).click()
        wait_for_state(page, f"part={part},")
        keys, normal = (f"{x:.1f}" if x < 10 else f"{x:.0f}" for x in drawn(figure, part))
        expect(said.first).to_have_text(
            f"{PARTS[part].capitalize()}: {keys} effective keys; "
            f"a normal row of its spread: {normal}."
        )
        ratio = figure.locator(f"[data-ratio={part}]").text_content()
        keys, normal = drawn(figure, part)
        assert ratio == two_digits(keys / normal)


def test_each_head_keeps_what_was_looked_at(explorable):
    page, figure = explorable("heads", "head=4,place=62")
    figure.locator("[data-panel=text] .character").first.wait_for()
    dots = figure.locator("[data-panel=keys] [data-part]")
    for part in ("place", "all"):
        figure.get_by_role("button", name=PARTS[part]).click()
        wait_for_state(page, f"part={part}")
    expect(dots).to_have_count(2)
    figure.get_by_role("radio").nth(9).click()
    expect(dots).to_have_count(1)
    figure.get_by_role("radio").nth(4).click()
    expect(dots).to_have_count(2)


def test_a_weight_is_a_bar_under_its_character(still):
    _, figure = still("heads", "head=4,step=2400,place=62")
    bars = figure.locator("[data-panel=text] .weight")
    bars.first.wait_for(state="attached")
    wait_for_quiet(figure)
    heights = bars.evaluate_all("bars => bars.map(bar => bar.height.baseVal.value)")
    weights = row_of(4, 1, 0, 62).softmax(-1).tolist()
    assert [height / 8 for height in heights] == pytest.approx(weights, abs=0.03)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_letter_with_much_weight_can_be_read(tab, base, theme):
    page, _ = tab(
        f"{base}{PLACES['heads']}#heads:head=14,part=read", theme=theme, reduced_motion="reduce"
    )
    app = page.locator("[data-explorable=heads] .explorable-app")
    app.locator(".weight").first.wait_for(state="attached")
    wait_for_quiet(app)
    heights = app.locator(".weight").evaluate_all(
        "bars => bars.map(bar => bar.height.baseVal.value)"
    )
    assert max(heights) > 0.5 * 8
    assert faint_letters(app) == {}


def test_it_asks_which_part_departs_only_where_one_does_and_is_not_shown(explorable):
    page, figure = explorable("heads", "head=4,step=2400,place=62")
    figure.locator("[data-panel=text] .character").first.wait_for()
    said = figure.locator(".explorable-formula")
    asked = "That is even for its spread. Does place make it so, or what is read?"
    assert asked in said.text_content()
    for part in ("place", "read", "all"):
        figure.get_by_role("button", name=PARTS[part]).click()
        wait_for_state(page, f"part={part},")
        assert asked not in said.text_content()
    figure.get_by_role("button", name="Reset").click()
    expect(said).to_contain_text(asked)
    figure.get_by_label("after training steps").press("Home")
    expect(said).to_contain_text("it may be chance")
    assert asked not in said.text_content()


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


def test_where_one_of_the_first_characters_is_pressed_the_nearest_that_may_looks(explorable):
    page, figure = explorable("heads", "place=62")
    characters = figure.locator("[data-panel=text] .character")
    characters.first.wait_for()
    wait_for_quiet(figure)
    style = "cell => getComputedStyle(cell.querySelector('text')).fontStyle"
    assert characters.nth(6).evaluate(style) != characters.nth(7).evaluate(style)
    characters.nth(2).click()
    wait_for_state(page, "place=7")


def test_a_drag_along_the_text_looks_from_one_character_after_the_other(explorable):
    page, figure = explorable("heads", "place=62")
    characters = figure.locator("[data-panel=text] .character")
    characters.first.wait_for()
    wait_for_quiet(figure)
    begin, end = (characters.nth(place).bounding_box() for place in (24, 33))
    page.mouse.move(begin["x"] + 4, begin["y"] + 8)
    page.mouse.down()
    wait_for_state(page, "place=24")
    page.mouse.move(end["x"] + 4, end["y"] + 8, steps=6)
    wait_for_state(page, "place=33")
    page.mouse.up()
    page.mouse.move(begin["x"] + 4, begin["y"] + 8)
    page.wait_for_timeout(200)
    assert state(figure)["place"] == "33"


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
        assert 22 <= min(heights) < max(heights) <= 144
