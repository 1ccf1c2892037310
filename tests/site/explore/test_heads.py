import collections
import itertools
import math
import re

import pytest
from letters import faint_letters
from playwright.sync_api import expect

import sdpa_lib as sdpa
from sdpa_book.explorables.heads_explorable import HEADS
from sdpa_book.studies.heads.read import LONGER, load_places, load_vectors

from .conftest import PLACES, state, wait_for_quiet, wait_for_state


def row_of(moment, layer, head, place):
    """The scores of a stored row, up to its own character."""
    query, key = (x[moment, layer, head] for x in load_vectors(HEADS, "line", LONGER))
    scores = sdpa.attention_scores(query, key).double()
    return scores[place, : place + 1]


def ratio(figure):
    """What the tile of the chosen head says."""
    return float(re.search(r"[\d.]+", tile(figure))[0])


def tile(figure):
    return figure.get_by_role("radio", checked=True).text_content()


def told(figure):
    """The effective keys of the part that is shown, and those of a normal row of its spread: as
    they are said, with two digits.
    """
    said = figure.locator(".explorable-formula .explorable-line").first.text_content()
    return [float(number) for number in re.findall(r"[\d.]*\d", said)]


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


PARTS = {"all": "as it is", "place": "only place", "read": "what is read"}


@pytest.mark.parametrize(
    ("moment", "step", "layer", "head", "place"),
    [(4, 2400, 2, 2, 62), (4, 2400, 0, 3, 20), (0, 0, 3, 1, 40), (2, 600, 1, 0, 8)],
)
def test_a_row_is_the_one_that_is_stored(explorable, moment, step, layer, head, place):
    _, figure = explorable("heads", f"head={4 * layer + head},step={step},place={place}")
    figure.locator("[data-panel=text] .character").first.wait_for()
    row = row_of(moment, layer, head, place)
    weights = row.softmax(-1)
    assert told(figure)[0] == pytest.approx(even(row), rel=0.06)
    looks = figure.get_by_role("slider", name="the character that looks")
    said = re.findall(r" at (\d+): ([\d.]+)", looks.get_attribute("aria-valuetext"))
    shown = {int(at) - 1: float(weight) for at, weight in said}
    assert shown == pytest.approx({at: weights[at].item() for at in shown}, abs=0.02)
    assert (weights > 0.12).sum() <= len(shown) <= (weights > 0.08).sum()


def test_a_normal_row_has_as_many_keys_as_the_library_says(data):
    """Also between the spreads that are stored."""
    gap, stored = (data["heads"][name] for name in ("gap", "normal"))
    for keys, at in itertools.product((8, 30, 63), (0.5, 3, 4.5, 13.5, 30, 41.5)):
        spread = sdpa.sample(1, keys, seed=1, device="cpu").double()[0]
        spread *= gap * at / spread.std(correction=0)
        low, high = (stored[keys - 8][rounded] for rounded in (int(at), math.ceil(at)))
        assert math.sqrt(low * high) == pytest.approx(normal_keys(spread), rel=0.05)


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
    said = figure.locator(".explorable-formula")
    expect(said).to_contain_text(f"As it is: {even(row):.0f} effective keys")
    assert ratio(figure) == pytest.approx(even(row) / normal_keys(row), rel=0.06)


@pytest.mark.parametrize(("layer", "head", "place"), [(1, 0, 62), (1, 1, 40)])
def test_each_part_is_the_stored_one_and_is_not_shown_before_it_is_chosen(
    explorable, layer, head, place
):
    page, figure = explorable("heads", f"head={4 * layer + head},place={place}")
    figure.locator("[data-panel=text] .character").first.wait_for()
    hidden = figure.get_by_role("button", name="?")
    for seen, (part, row) in enumerate(rows_of(layer, head, place).items()):
        assert hidden.count() == min(2, 3 - seen)
        figure.get_by_role("button", name=PARTS[part]).click()
        wait_for_state(page, f"part={part}")
        keys, normal = told(figure)
        assert keys == pytest.approx(even(row), rel=0.06)
        assert normal == pytest.approx(normal_keys(row), rel=0.08)
        assert ratio(figure) == pytest.approx(even(row) / normal_keys(row), rel=0.08)
        expect(figure.get_by_role("button", pressed=True)).to_contain_text(f"{tile(figure)} normal")
    assert hidden.count() == 0
    figure.get_by_role("radio").first.click()
    wait_for_state(page, "head=0")
    assert hidden.count() == 0, "the table has told them of all heads"
    figure.get_by_role("button", name="Reset").click()
    wait_for_state(page, "part=all")
    expect(hidden).to_have_count(2)


def test_place_by_itself_is_even_and_the_rest_is_not(explorable):
    """The answer to what the caption asks."""
    page, figure = explorable("heads")
    figure.locator("[data-panel=text] .character").first.wait_for()
    shown = {}
    for part, label in PARTS.items():
        figure.get_by_role("button", name=label).click()
        wait_for_state(page, f"part={part}")
        shown[part] = tile(figure)
    assert shown == {"all": "▲\u20093.1×", "place": "▲\u20094.7×", "read": "0.75×"}


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


def test_the_weights_stand_beside_those_of_normal_rows(still):
    _, figure = still("heads", "head=4,step=2400,place=62")
    heights = figure.locator("[data-panel=weights] rect").evaluate_all(
        "bars => bars.map(bar => bar.height.baseVal.value)"
    )
    weights = rows_of(1, 0, 62)["all"].softmax(-1).sort(descending=True).values[:20]
    scale = heights[0] / weights[0].item()
    assert [height / scale for height in heights] == pytest.approx(weights.tolist(), abs=0.03)
    steps = figure.locator("[data-panel=weights] .normal").get_attribute("d")
    floor = figure.locator("[data-panel=weights] rect").first.evaluate(
        "bar => bar.y.baseVal.value + bar.height.baseVal.value"
    )
    levels = [(floor - float(level)) / scale for level in re.findall(r"V([\d.]+)", steps)]
    spread = rows_of(1, 0, 62)["all"].std(correction=0)
    normal = sdpa.sample(4000, 63, seed=0, device="cpu").double()
    normal = (normal - normal.mean(-1, keepdim=True)) / normal.std(-1, correction=0, keepdim=True)
    expected = (normal * spread).softmax(-1).sort(descending=True).values.mean(0)[:20]
    assert levels == pytest.approx(expected.tolist(), abs=0.05)


def test_the_parts_and_all_that_they_do_fit_a_phone(explorable):
    """From the title down to the text, and nothing moves when a part is pressed."""
    page, figure = explorable("heads")
    page.set_viewport_size({"width": 360, "height": 800})
    wait_for_quiet(figure)
    title = figure.locator(".explorable-title").bounding_box()["y"]
    said = figure.locator(".explorable-formula")
    text = figure.locator("[data-panel=text]").bounding_box()
    assert text["y"] + text["height"] - title <= 740
    tiles = figure.get_by_role("radio").evaluate_all(
        "tiles => tiles.map(tile => tile.getBoundingClientRect().height)"
    )
    assert min(tiles) >= 24
    buttons = figure.locator(".explorable-buttons")
    heights = [box.bounding_box()["height"] for box in (buttons, said)]
    for press, what in (
        (figure.get_by_role("button", name=PARTS["place"]), "part=place,"),
        (figure.get_by_role("button", name=PARTS["read"]), "part=read,"),
        (figure.get_by_role("radio").nth(10), "head=10,"),
        (figure.get_by_role("radio").nth(7), "head=7,"),
    ):
        press.click()
        wait_for_state(page, what)
        now = [box.bounding_box()["height"] for box in (buttons, said)]
        assert now == pytest.approx(heights, abs=0.5)


def kind_of(ratio):
    """What a factor of 2 to normal rows makes of a row: even, sharp, or nothing."""
    return "even" if ratio > 2 else "sharp" if ratio < 1 / 2 else ""


def answer(whole, place, read):
    """What is said first of three numbers of keys, each over those of normal rows."""
    like, *parts = map(kind_of, (whole, place, read))
    if not like and not any(parts):
        return "So it is like a normal row, whole and in parts."
    if not like and sorted(parts) == ["even", "sharp"]:
        return f"So the parts cancel: place alone is {parts[0]}, what is read alone {parts[1]}."
    alike = [part in ({like} if like else {"even", "sharp"}) for part in parts]
    name = {(1, 0): "place", (0, 1): "what is read", (1, 1): "either part", (0, 0): "neither part"}
    named = name[tuple(alike)]
    lead = f"{named[0].upper()}{named[1:]} alone is"
    if not like:
        return f"{lead} {parts[0] or parts[1]}; the whole is within a factor of 2"
    if alike[0] == alike[1]:
        return f"{lead} {like}{', too.' if alike[0] else ': only both together.'}"
    other, kind = ("what is read", parts[1]) if alike[0] else ("place", parts[0])
    return f"{lead} {like}, too; {other} alone {f'is {kind}' if kind else 'is not'}."


def test_the_answer_follows_from_the_three_numbers_that_stand_there(still):
    page, figure = still("heads", "head=4,step=2400,place=62")
    figure.locator("[data-panel=text] .character").first.wait_for()
    for part in PARTS:
        setting = f"part={part},head=4,step=2400,place=62"
        page.evaluate("setting => (location.hash = `#heads:${setting}`)", setting)
        wait_for_state(page, setting)
    answers = set()
    settings = [(2400, place) for place in range(12, 63, 5)] + [(0, 62)]
    for step, place in settings:
        shown = page.evaluate(
            SHOWN, [f"part=all,head={head},step={step},place={place}" for head in range(16)]
        )
        for head, (ratios, sentence) in enumerate(shown):
            asked = answer(*(float(re.search(r"[\d.]+", ratio)[0]) for ratio in ratios))
            assert sentence.startswith(asked), (head, step, place)
            answers.add(asked)
    leads = "Place alone", "What is read", "Either part", "Neither part"
    for lead in (*leads, "So the parts cancel", "So it is like"):
        assert any(answer.startswith(lead) for answer in answers), lead


SHOWN = """async (settings) => {
    const figure = document.querySelector('[data-explorable=heads]');
    const shown = [];
    for (const setting of settings) {
        location.hash = `#heads:${setting}`;
        while (!figure.dataset.state.endsWith(setting)) await new Promise(requestAnimationFrame);
        const results = [...figure.querySelectorAll('.explorable-buttons small')];
        const said = figure.querySelector('.explorable-formula').lastElementChild.textContent;
        shown.push([results.map((result) => result.textContent), said]);
    }
    return shown;
}"""
"""At each setting the results of the three parts, and the last that is said of them."""


def test_the_chapter_counts_heads():
    answers = []
    for head in range(16):
        rows = rows_of(*divmod(head, 4), 62).values()
        answers.append(answer(*(round(even(row) / normal_keys(row), 2) for row in rows)))
    counts = collections.Counter(answers)
    assert counts["Place alone is even, too; what is read alone is not."] == 3
    assert counts["Either part alone is even, too."] == 2
    assert counts["Neither part alone is even: only both together."] == 1
    assert sum("cancel" in said for said in answers) == 3
    assert not any("sharp, too" in said for said in answers)


def test_the_table_is_of_the_part_that_is_pressed_and_counts_it(explorable):
    """What an even or a sharp row looks like is told by a sign, too."""
    page, figure = explorable("heads", "head=4,step=2400,place=62")
    tiles = figure.get_by_role("radio")
    tiles.first.wait_for()
    grounds = set()
    for part, label in PARTS.items():
        figure.get_by_role("button", name=label).click()
        wait_for_state(page, f"part={part},")
        wait_for_quiet(figure)
        rows = [rows_of(*divmod(head, 4), 62)[part] for head in range(16)]
        ratios = [even(row) / normal_keys(row) for row in rows]
        shown = tiles.all_text_contents()
        assert [float(re.search(r"[\d.]+", text)[0]) for text in shown] == pytest.approx(
            ratios, rel=0.1
        )
        signs = {"▲": "even", "▼": "sharp"}
        kinds = [signs.get(text[0], "") for text in shown]
        assert kinds == [kind_of(ratio) for ratio in ratios]
        for name in ("even", "sharp"):
            count = figure.locator(f"[data-count={name}]").text_content()
            assert count.endswith(f": {kinds.count(name)}")
        colour = "tiles => tiles.map(tile => getComputedStyle(tile.querySelector('rect')).fill)"
        grounds |= set(zip(kinds, tiles.evaluate_all(colour), strict=True))
    assert len(grounds) == 3, "a colour for each kind"


@pytest.mark.parametrize(("part", "right"), [("place", True), ("read", False)])
def test_the_first_part_that_is_pressed_is_a_guess_and_is_judged(explorable, part, right):
    _, figure = explorable("heads", "head=4,step=2400,place=62")
    said = figure.locator(".explorable-formula")
    expect(said).to_contain_text("Which part alone is even, too? Press your guess.")
    other = "read" if part == "place" else "place"
    figure.get_by_role("button", name=PARTS[part]).click()
    expect(said).to_contain_text("as you guessed")
    assert ("not as you guessed" in said.text_content()) != right
    expect(said).to_contain_text(f"Now press “{PARTS[other]}”.")
    figure.get_by_role("button", name=PARTS[other]).click()
    expect(said).to_contain_text(
        "Place alone is even, too; what is read alone is not. "
        f"You guessed {'so' if right else 'what is read'}."
    )
    figure.get_by_role("radio").nth(7).click()
    expect(said).to_contain_text("Either part alone is even, too.")
    assert "guessed" not in said.text_content()


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


def test_where_a_whole_is_like_a_normal_row_it_asks_for_no_guess(explorable):
    _, figure = explorable("heads", "head=10,step=2400,place=62")
    said = figure.locator(".explorable-formula")
    expect(said).to_contain_text("within a factor of 2 of normal rows. Do its parts cancel?")
    figure.get_by_role("button", name=PARTS["place"]).click()
    expect(said).to_contain_text("Place alone is even. Now press “what is read”.")
    figure.get_by_role("button", name=PARTS["read"]).click()
    expect(said).to_contain_text(
        "So the parts cancel: place alone is even, what is read alone sharp."
    )


def test_tiles_choose_a_head(explorable):
    page, figure = explorable("heads", "head=4,place=62")
    tiles = figure.get_by_role("radio")
    tiles.first.wait_for()
    assert tiles.count() == 16
    tiles.nth(3).click()
    wait_for_state(page, "head=3")
    tiles.nth(3).press("ArrowDown")
    wait_for_state(page, "head=7")
    chosen = figure.get_by_role("radio", checked=True)
    assert chosen.get_attribute("aria-label").startswith("layer 2, head 4: 3.7 times normal, even")
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
