"""The lecture shows what the chapters hold, and what it can't show fails the build."""

import html
import io
import re
import warnings
from pathlib import Path

import nbformat
import pytest
import slides
import stored
import torch
from bs4 import BeautifulSoup
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

from sdpa_book.studies import lookup
from sdpa_lib import attention_weights

LECTURE = Path(__file__).parents[2] / "lecture"
NOTES = "\n\n```{{notes}} {}\nSay it.\n```\n"


@pytest.fixture
def lecture(tmp_path):
    """A function that builds slides: the page, and the warnings."""

    def build(text, minutes, **asked):
        (tmp_path / "index.md").write_text(text, encoding="utf-8")
        warned = io.StringIO()
        settings = {"lecture_minutes": minutes, "revealjs_static_path": []}
        settings |= {"lecture_reserve": 0, "lecture_pace": 0, **asked}
        with warnings.catch_warnings(action="ignore"), patch_docutils(), docutils_namespace():
            folders = tmp_path, LECTURE, tmp_path / "site", tmp_path / "doctrees"
            Sphinx(*folders, "revealjs", settings, None, warned).build()
        page = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
        return BeautifulSoup(page, "html.parser"), warned.getvalue()

    return build


def slide(content, minutes=1):
    return f"# A\n\n{content}{NOTES.format(minutes)}"


def test_a_number_is_the_one_that_the_chapter_has_put_out(lecture, monkeypatch):
    asked = "{number}`04 cell-14 [64, undivided]` and {number}`04 backwards: a gap of 10 is … of *`"
    page, warned = lecture(slide(asked), 1)
    assert [number.text for number in page.select("section b")[:2]] == ["1.57", "22,026"]
    assert warned == ""
    changed = nbformat.from_dict(stored.cell("04", "cell-14"))
    changed.outputs[0].data["text/html"] = changed.outputs[0].data["text/html"].replace("1.57", "9")
    monkeypatch.setattr(stored, "cell", lambda *_: changed)
    assert stored.number("04 cell-14 [64, undivided]") == "9"


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("{number}`04 backwards: needs gaps of *`", "has printed 2 times"),
        ("{number}`04 backwards: no such words *`", "has printed 0 times"),
        ("{number}`04 cell-14 [65, undivided]`", "no table with 65"),
        ("```{shown} 04 no-such-cell\n```", "has no cell no-such-cell"),
        ("## Without notes", "a slide has one {notes}, this one 0"),
        ("", "the slides take 1 minutes, not 2"),
    ],
)
def test_what_a_chapter_has_not_got_fails_the_build(lecture, wrong, message):
    _, warned = lecture(slide("") + "\n" + wrong, 1 if wrong else 2)
    assert message in warned


def test_a_poll_marks_the_right_option_a_step_after_its_question(lecture):
    page, warned = lecture(slide("```{poll} 02\n```"), 1)
    assert warned == ""
    (question,) = page.select(".question")
    assert "fragment" not in question["class"]
    assert [li.text for li in question.select("li")] == ["1", "8", "64"]
    assert [li.text for li in page.select("li.fragment.custom.right")] == ["8"]
    assert "right one: B." in page.select_one("aside.notes").text
    assert "<!--" not in str(page)


def test_neighbours_may_talk_and_the_time_stands_first_in_the_notes(lecture):
    page, warned = lecture(slide("```{poll} 02\n:talk:\n```"), 1)
    assert warned == ""
    said = page.select_one("aside.notes").text
    assert said.startswith("Minutes 0 to 1")
    assert said.index("neighbour") < said.index("Say it.")


def test_a_poll_may_be_the_lectures_own_and_has_one_right_answer(lecture):
    own = "```{poll} 02\nWhich of two?\n\n- this <!-- right -->\n- that\n```"
    page, warned = lecture(slide(own), 1)
    assert warned == ""
    assert [asked.p.text for asked in page.select(".question")] == ["Which of two?"]
    assert [li.text for li in page.select("li.right")] == ["this"]
    _, warned = lecture(slide(own.replace(" <!-- right -->", "")), 1)
    assert "0 options of a poll are right" in warned


def test_what_is_worked_out_comes_a_row_at_a_time(lecture):
    table = "| sum | |\n| --- | --- |\n| 1 + 1 | 2 |\n| e | {worked}`exp(1)` |\n"
    page, warned = lecture(slide(f"```{{steps}} 1\n{table}```"), 1)
    assert warned == ""
    assert [row.text.split() for row in page.select("tr.fragment")] == [["e", "2.72"]]
    _, warned = lecture(slide("{worked}`open('x')`"), 1)
    assert "open('x'): " in warned


def test_a_slide_has_the_minutes_that_its_words_and_its_polls_take(lecture):
    said = "```{notes} 1\n" + "word " * 300 + "\n```\n"
    _, warned = lecture(f"# A\n\n{said}", 1, lecture_pace=130)
    assert "a slide of 1 minutes takes 2.93 to say and to show" in warned
    _, warned = lecture(slide("```{poll} 02\n```", 2), 2, lecture_pace=130)
    assert "a slide of 2 minutes takes 3.3" in warned


def test_a_slide_has_no_minutes_for_which_it_has_nothing_to_do(lecture):
    _, warned = lecture(slide("", 1), 1, lecture_pace=120)
    assert warned == ""
    _, warned = lecture(slide("", 2), 2, lecture_pace=120)
    assert "a slide of 2 minutes takes 0.4" in warned


def test_the_notes_say_what_the_minutes_go_to(lecture):
    page, warned = lecture(slide("```{poll} 02\n```", 4), 4, lecture_pace=120)
    assert warned == ""
    assert page.select_one("aside.notes b").text == "Minutes 0 to 4: 2.5 to vote, 1.5 to talk"


def test_what_is_said_only_if_asked_takes_no_minutes(lecture):
    said = "```{notes} 1\nSay it.\n\nIf asked: " + "word " * 300 + "\n```\n"
    _, warned = lecture(f"# A\n\n{said}", 1, lecture_pace=130)
    assert warned == ""


def test_numbers_drawings_and_what_was_measured_take_minutes():
    takes = {what: each for what, (_, each) in slides.TAKES.items()}
    table = nodes.table("", slides.raw("<b>0.5</b>"), slides.raw("<b>7</b>"))
    setup = nodes.container("", nodes.Text("Layers"), classes=["setup"])
    need = slides.needed(nodes.section("", setup, table, nodes.Text("Draw it.")), 120)
    for what, count in (("for numbers", 2), ("to draw", 1), ("to say what was measured", 1)):
        assert need[what] == pytest.approx(slides.TAKEN_IN * count * takes[what])


def test_a_slide_may_look_at_the_clock_within_a_part(lecture):
    check = NOTES.format(1).replace("Say it.", ":check:\n:late: leave it out\n\nSay it.")
    page, warned = lecture(slide("") + "\n## B" + check, 2)
    assert warned == ""
    rows = [[cell.text for cell in row.select("td")] for row in page.select("aside tr")[1:]]
    assert rows[1] == ["1", "B", "B: leave it out", ""]
    assert "B begins at minute 1" in page.select("aside.notes")[1].text


def test_within_learning_a_late_class_can_save_four_minutes_from_about_minute_65():
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    before, _, behind = text.partition(":check:")
    minutes = [float(m) for m in re.findall(r"^```\{notes\} ([\d.]+)$", before, re.M)]
    assert sum(minutes[:-1]) == pytest.approx(65, abs=2.5)
    saved = re.findall(r"^:late: .*\((\d) minutes?\)$", behind.partition("{part}")[0], re.M)
    assert sum(map(int, saved)) == 4


def test_queries_that_do_not_hear_are_of_two_kinds_as_a_backup_says():
    W_Q, W_K = (W.detach() for W in lookup.matrices(64))
    tokens, keys, _ = (torch.cat(x, 1) for x in zip(*lookup.draw_batches(), strict=True))
    found = {}
    for name in ("sqrt_d_k", "none"):
        q, k = tokens @ W_Q.unsqueeze(1), keys @ W_K.unsqueeze(1)
        right = attention_weights(q, k, rescaling=name)[..., 0, 0]
        found[name] = float(right[right < 0.02].median())
    assert round(found["sqrt_d_k"], 2) == 0.01
    assert found["none"] < 1e-6


def test_the_first_slide_has_a_table_of_all_parts(lecture):
    late = ":late: no vote (2 minutes)\n:early: 2.1: More of it\n\nSay it."
    text = slide("")
    text += "\n## B\n\n```{part} Scores spread\n```" + NOTES.format(1).replace("Say it.", late)
    text += "\n## C\n" + NOTES.format(1).replace("Say it.", ":late: leave it out\n\nSay it.")
    page, warned = lecture(text, 5, lecture_reserve=2, lecture_pace=120)
    assert warned == ""
    rows = [[cell.text for cell in row.select("td")] for row in page.select("aside tr")[1:]]
    assert rows == [
        ["0", "The question", "", ""],
        ["1", "Scores spread", "B: no vote (2 minutes); C: leave it out", "2.1: More of it"],
        ["3", "The end", "", ""],
    ]
    assert "In reserve: 2 minutes" in page.select_one("aside table + p").text
    notes = page.select("aside.notes")[1].text
    assert "Late: no vote (2 minutes)" in notes
    assert "Early: backup 2.1: More of it" in notes
    assert len(page.select(".spare")) == 2


def test_each_slide_with_a_measurement_of_learning_says_what_was_measured():
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    _, _, learning = text.partition("## Does it learn later?")
    learning, _, _ = learning.partition("## What breaks? The answer")
    slides = re.split(r"^### ", learning, flags=re.M)
    assert len(slides) == 6
    for one in slides:
        (setup,) = re.findall(r"^```\{container\} setup\n(.*)$", one, re.M)
        assert re.match(r"\*\*(Lookup layer|Random layers|Small Transformers):\*\* .* · ", setup)
        assert len(setup.split()) <= 22


def test_the_paper_is_quoted_as_it_stands():
    sentence = (
        "We suspect that for large values of $d_k$, the dot products grow large in magnitude, "
        "pushing the softmax function into regions where it has extremely small gradients."
    )
    text = (LECTURE / "index.md").read_text(encoding="utf-8").replace("**", "")
    assert sentence in text
    assert sentence.partition(", ")[2].partition(", ")[2].rstrip(".") in text.replace(sentence, "")


def test_the_reserve_is_kept_free_and_what_is_behind_the_last_slide_takes_no_time(lecture):
    text = slide("") + "\n## B\n" + NOTES.format("backup")
    page, warned = lecture(text, 11, lecture_reserve=10)
    assert warned == ""
    first, last = page.select("aside.notes")
    assert "In reserve: 10 minutes" in first.text
    assert last.text.startswith("Backup")
    assert page.select_one("[data-visibility=uncounted] .backup").text == "backup 2.1"
    assert len(page.select("[data-visibility]")) == 1


def test_a_slide_of_the_lecture_holds_few_words(lecture):
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    page, warned = lecture(text, 90, lecture_reserve=5, lecture_pace=120)
    assert warned == ""
    for apart in page.select("aside, table, math, svg, .from, .parts, .setup, ol"):
        apart.extract()
    slides = [one for one in page.select("section") if not one.find("section")]
    words = {one["id"]: len(re.findall(r"\w{2,}", one.text)) for one in slides}
    assert {name for name, count in words.items() if count > 30} == set()


def test_each_part_may_take_less_time_or_more_and_the_root_comes_behind_the_poll_about_it():
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    parts = re.split(r"^```\{part\} .*$", text, flags=re.M)
    assert len(parts) == 6  # the question, four parts, the answer
    assert "| $d_k$ | spread | of 64 keys seen, undivided |\n" in parts[2]
    for part in parts[1:5]:  # what a late class leaves out, and what an early one sees
        assert re.search(r"^:late: .*\(\d minutes?\)$", part, re.M)
        assert re.search(r"^:early: 8\.", part, re.M)


def test_what_an_early_class_sees_is_behind_the_last_slide():
    """And its number is the one that reveal.js jumps to: of the column, and of the slide in it."""
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    before, _, behind = text.partition("### Questions")
    column = 2 + len(re.findall(r"^## ", before, re.M))
    titles = dict(enumerate(re.findall(r"^##+ (.*)", behind, re.M), 1))
    early = re.findall(r"^:early: (\d+)\.(\d+): (.*)$", before, re.M)
    assert len(early) == 7
    for found, place, title in early:
        assert int(found) == column
        assert titles[int(place)].startswith(title.rstrip("?"))
    listed = re.findall(rf"\b{column}\.(\d+): ", behind.partition("\n## ")[0])
    assert [int(place) for place in listed] == list(titles)


def test_a_table_is_the_cells_and_a_drawing_the_part_that_a_slide_names(lecture):
    table = "```{shown} 05 starts\n```\n\n"
    cut = "```{shown} 05 late\n:crop: 0 0 100 50\n:letters: 1.2\n```"
    page, warned = lecture(slide(table + cut), 1)
    assert warned == ""
    assert [head.text for head in page.select(".sdpa-table thead th")] == [
        "start",
        "spread",
        "÷ 1",
        "÷ 8",
    ]
    assert page.img["src"] == "figures/05-late-0-0-100-50.svg"


def test_a_part_says_by_what_minute_it_begins_and_what_a_late_class_leaves_out(lecture):
    said = NOTES.format(3).replace("Say it.", ":late: leave it out (3 minutes)\n\nSay it.")
    text = slide("", 2) + "\n## B\n\n```{part} Scores spread\n```" + said
    page, warned = lecture(text, 5)
    assert warned == ""
    assert page.select_one(".parts .now").text == "Scores spread"
    said = page.select("aside.notes")[-1].text
    assert "Scores spread begins at minute 2" in said
    assert "If you are later: B: leave it out (3 minutes)" in said


def test_the_plan_has_all_parts_and_a_part_says_which_it_is(lecture):
    text = slide("```{part}\n```") + "\n## B\n\n```{part} One\n```" + NOTES.format(1)
    page, warned = lecture(text + "\n## C\n\n```{part} Two\n```" + NOTES.format(1), 3)
    assert warned == ""
    assert [strip.text for strip in page.select(".parts")] == ["OneTwo"] * 3
    assert [part.text for part in page.select(".now")] == ["One", "Two"]


def test_what_is_shown_is_what_the_cell_has_put_out(lecture):
    page, warned = lecture(slide("```{shown} 05 late\n```\n\n```{shown} 02 movable-growth\n```"), 1)
    assert warned == ""
    figure, on_paper = page.select("img.picture")
    assert "In batches of 32" in page.aside.text  # the caption is for the presenter
    assert "Undivided" in figure["alt"]
    assert page.iframe["data-src"] == "../explore/growth.html?theme=light&slide"
    assert on_paper["src"] == "figures/02-movable-growth.svg"


def test_a_figure_to_move_may_begin_elsewhere_and_its_own_picture_stands_for_it(lecture):
    asked = "```{shown} 09 movable-budget\n:state: stop=80\n```"
    page, warned = lecture(slide(asked), 1)
    assert warned == ""
    assert page.iframe["data-src"] == "../explore/budget.html?theme=light&slide#budget:stop=80"
    assert page.select_one("iframe + .picture")["src"] == "figures/09-movable-budget.svg"


@pytest.mark.parametrize("address", ["", "https://a.b"])
def test_the_last_slide_says_in_letters_where_the_lab_and_the_package_are(lecture, address):
    repository = "https://c.d/e" if address else ""
    known = {"lecture_address": address, "lecture_repository": repository}
    page, warned = lecture(slide("```{book}\n```"), 1, **known)
    assert warned == ""
    package = [line.text for line in page.select(".address")[2:]]
    assert package == ["The package: git clone https://c.d/e"] * bool(address)
    link = page.select(".address a")[1]
    assert link["href"] == "lab.ipynb"
    assert link.text == f"{address}/lecture/lab.ipynb".lstrip("/")


def test_the_lecture_types_no_number_that_was_measured():
    """Those with a point, or in thousands: what is counted by hand may be said."""
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    quoted = r"\{number\}`[^`]*`|\$[^$]*\$|^:(crop|letters):.*|^```{notes}.*"
    quoted += r"|backup 8\.\d+|8\.\d+:"
    text = re.sub(quoted, "", html.unescape(text), flags=re.M)
    allowed = {
        "0.3",
        "1,000",
        "1,024",
        "1,920",
        "2,048",
        "4,000",
        "8,192",
        "0.02",
        "0.003",
    }  # settings
    allowed |= {"0.99", "0.01", "0.0099"}  # a product of two
    allowed |= {"3.2"}  # the beginning of a section's number
    assert set(re.findall(r"\d+[.,]\d+", text)) - allowed == set()
