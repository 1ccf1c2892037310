"""The lecture shows what the chapters hold, and what it can't show fails the build."""

import html
import io
import re
import warnings
from pathlib import Path

import nbformat
import pytest
import stored
from bs4 import BeautifulSoup
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

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
    first, second = page.select(".question")
    assert "fragment" not in first["class"]
    assert "fragment" in second["class"]
    assert [li.text for li in page.select("li.fragment.custom.right")] == [
        "8",
        "by more standard deviations",
    ]
    assert "right one: B, then A." in page.select_one("aside.notes").text
    assert "<!--" not in str(page)


def test_a_part_of_a_poll_is_one_question_and_the_time_stands_first_in_the_notes(lecture):
    page, warned = lecture(slide("```{poll} 02\n:only: 1\n:talk:\n```"), 1)
    assert warned == ""
    assert len(page.select(".question")) == 1
    said = page.select_one("aside.notes").text
    assert said.startswith("Minutes 0 to 1")
    assert said.index("neighbour") < said.index("Say it.")


def test_a_poll_may_be_asked_in_fewer_words_or_be_the_lectures_own(lecture):
    own = "```{poll} 02\nWhich of two?\n\n- this <!-- right -->\n- that\n```"
    page, warned = lecture(slide(f"```{{poll}} 02\n:only: 1\n\nHow far?\n```\n\n{own}"), 1)
    assert warned == ""
    assert [asked.p.text for asked in page.select(".question")] == ["How far?", "Which of two?"]
    assert [li.text for li in page.select("li.right")] == ["8", "this"]


def test_what_is_worked_out_comes_a_row_at_a_time(lecture):
    table = "| sum | |\n| --- | --- |\n| 1 + 1 | 2 |\n| e | {worked}`exp(1)` |\n"
    page, warned = lecture(slide(f"```{{steps}} 1\n{table}```"), 1)
    assert warned == ""
    assert [row.text.split() for row in page.select("tr.fragment")] == [["e", "2.72"]]
    _, warned = lecture(slide("{worked}`open('x')`"), 1)
    assert "open('x'): " in warned


def test_a_sum_may_have_a_number_of_a_cell_in_it_and_be_whole(lecture):
    asked = "{worked}`{04 cell-14 [64, undivided]} / 2`, {worked}`2 * 600`, {worked}`{04 no} + 1`"
    page, warned = lecture(slide(asked), 1)
    assert "0.79, 1,200," in page.p.text  # 1.57 / 2
    assert "{04 no} + 1: " in warned


def test_a_slide_has_the_minutes_that_its_words_and_its_polls_take(lecture):
    said = "```{notes} 1\n" + "word " * 300 + "\n```\n"
    _, warned = lecture(f"# A\n\n{said}", 1, lecture_pace=130)
    assert "a slide of 1 minutes takes 2.93 to say and to show" in warned
    _, warned = lecture(slide("```{poll} 02\n:only: 1\n```", 2), 2, lecture_pace=130)
    assert "a slide of 2 minutes takes 3.6" in warned


def test_a_slide_has_no_minutes_for_which_it_has_nothing_to_do(lecture):
    _, warned = lecture(slide("", 1), 1, lecture_pace=120)
    assert warned == ""
    _, warned = lecture(slide("", 2), 2, lecture_pace=120)
    assert "a slide of 2 minutes takes 0.4" in warned


def test_the_notes_say_what_the_minutes_go_to(lecture):
    page, warned = lecture(slide("```{poll} 02\n:only: 1\n```", 4), 4, lecture_pace=120)
    assert warned == ""
    assert page.select_one("aside.notes b").text == "Minutes 0 to 4: 2.75 to vote, 1.25 to talk"


def test_the_first_slide_has_a_table_of_all_parts(lecture):
    late = "**◇ Late?** No vote (2 minutes). **Early?** Backup 2.1: *More of it*."
    text = "# A\n\n````{notes} 1\nSay it.\n\n```{clock}\n```\n````\n"
    text += "\n## B\n\n```{part} 1\n```" + NOTES.format(1).replace("Say it.", late)
    text += "\n## C\n" + NOTES.format("1 spare")
    page, warned = lecture(text, 5, lecture_reserve=2, lecture_pace=120)
    assert warned == ""
    rows = [[cell.text for cell in row.select("td")] for row in page.select("aside tr")[1:]]
    assert rows == [
        ["0", "The question", "", ""],
        ["1", "Scores spread", "B: No vote (2 minutes); C (1 minutes)", "2.1: More of it"],
        ["3", "The end", "", ""],
    ]
    told = page.select_one("aside table + p + p").text
    assert "3 to talk, and 2 are in reserve" in told


def test_each_slide_with_a_measurement_of_learning_says_what_was_measured():
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    _, _, learning = text.partition("## Does it learn later?")
    learning, _, _ = learning.partition("## What we do not know")
    slides = re.split(r"^### ", learning, flags=re.M)
    assert len(slides) == 7
    for one in slides:
        (setup,) = re.findall(r"^```\{setup\}\n(.*)$", one, re.M)
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


def test_a_slide_without_minutes_is_for_an_early_class(lecture):
    clock = "````{notes} 1\nSay it.\n\n```{clock}\n```\n````\n"
    page, warned = lecture(f"# A\n\n{clock}\n## B\n" + NOTES.format("0 spare"), 1, lecture_pace=120)
    assert warned == ""
    first, second = page.select("aside.notes")
    assert "show it if you are early" in second.text
    assert "B (" not in first.text


def test_the_reserve_is_kept_free_and_what_is_behind_the_last_slide_takes_no_time(lecture):
    text = slide("", "1 check") + "\n## B\n" + NOTES.format("backup")
    page, warned = lecture(text, 11, lecture_reserve=10)
    assert warned == ""
    first, last = page.select("aside.notes")
    assert "be here by minute 0. The reserve has 10 minutes" in first.text
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


def test_each_part_has_a_checkpoint_and_the_root_comes_behind_the_poll_about_it():
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    parts = re.split(r"^```\{part\} [1-4]$", text, flags=re.M)
    assert [len(re.findall(r"^```\{notes\} .* check$", part, re.M)) for part in parts] == [
        0,
        1,
        1,
        1,
        1,
    ]
    assert "| $d_k$ | spread | of 64 keys seen, undivided |\n" in parts[2]
    for part in parts[1:]:  # what a late class leaves out, and what an early one sees
        assert re.search(r"^```\{notes\} .* spare$|◇ Late\?", part, re.M)
        assert "**Early?** Backup 8." in part


def test_what_an_early_class_sees_is_behind_the_last_slide():
    """And its number is the one that reveal.js jumps to: of the column, and of the slide in it."""
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    before, _, behind = text.partition("### Questions")
    column = 2 + len(re.findall(r"^## ", before, re.M))
    titles = dict(enumerate(re.findall(r"^##+ (.*)", behind, re.M), 1))
    early = re.findall(r"Backup (\d+)\.(\d+): \*(.*?)\*", before)
    assert len(early) == 4
    for found, place, title in early:
        assert int(found) == column
        assert titles[int(place)].startswith(title.rstrip("?"))
    listed = re.findall(rf"\b{column}\.(\d+): ", behind.partition("\n## ")[0])
    assert [int(place) for place in listed] == list(titles)


def test_a_table_has_the_headings_and_a_drawing_the_part_that_a_slide_names(lecture):
    table = "```{shown} 05 starts\n:heads: start | wide | 1 | d_k\n```\n\n"
    cut = "```{shown} 05 late\n:crop: 0 0 100 50\n:letters: 1.2\n```"
    page, warned = lecture(slide(table + cut), 1)
    assert warned == ""
    assert [head.text for head in page.select("thead th")] == ["start", "wide", "1", "dk"]
    assert page.img["src"] == "figures/05-late-0-0-100-50.svg"
    page, _ = lecture(slide("```{shown} 05 starts\n:heads: start | - | 1 | -\n```"), 1)
    assert [[cell.text for cell in row.select("th, td")] for row in page.select("tr")[:2]] == [
        ["start", "1"],
        ["Kaiming", "1.2"],
    ]
    _, warned = lecture(slide("```{shown} 05 starts\n:heads: a | b\n```"), 1)
    assert "2 headings for 4 columns" in warned


def test_a_part_says_by_what_minute_it_begins_and_what_a_late_class_leaves_out(lecture):
    text = slide("", 2) + "\n## B\n\n```{part} 1\n```" + NOTES.format("3 spare")
    page, warned = lecture(text, 5)
    assert warned == ""
    assert page.select_one(".parts .now").text == "Scores spread"
    said = page.select("aside.notes")[-1].text
    assert "Scores spread begins at minute 2" in said
    assert "leave out: B (3 minutes)." in said


def test_what_comes_behind_the_last_part_is_one_of_its_own(lecture):
    asked = slide("```{part} 2\n```\n\n```{part} 1\n```")
    page, warned = lecture(asked, 1, lecture_parts=["All"])
    assert warned == ""
    assert len(page.select(".parts")) == 1
    assert "The answer begins at minute 0" in page.aside.text


def test_what_is_shown_is_what_the_cell_has_put_out(lecture):
    page, warned = lecture(slide("```{shown} 05 late\n```\n\n```{shown} 02 movable-growth\n```"), 1)
    assert warned == ""
    figure, on_paper = page.select("img.picture")
    assert "In batches of 32" in page.aside.text  # the caption is for the presenter
    assert "Undivided" in figure["alt"]
    assert page.iframe["data-src"] == "../explore/growth.html?theme=light&slide"
    assert on_paper["src"] == "figures/02-movable-growth.svg"


def test_a_figure_to_move_may_begin_elsewhere_show_some_rows_and_have_another_picture(lecture):
    asked = "```{shown} 09 movable-budget\n:only: none,sqrt_d_k\n:state: stop=80\n"
    page, warned = lecture(slide(f"{asked}:paper: who-learns-when\n```"), 1)
    assert warned == ""
    address = "../explore/budget.html?theme=light&slide&only=none,sqrt_d_k#budget:stop=80"
    assert page.iframe["data-src"] == address
    assert page.select_one("iframe + .picture")["src"] == "figures/09-who-learns-when.svg"


@pytest.mark.parametrize("address", ["", "https://a.b"])
def test_the_last_slide_has_the_address_of_the_lab_in_letters(lecture, address):
    page, warned = lecture(slide("```{book}\n```"), 1, lecture_address=address)
    assert warned == ""
    link = page.select(".address a")[1]
    assert link["href"] == "lab.ipynb"
    assert link.text == f"{address}/lecture/lab.ipynb".lstrip("/")


def test_the_lecture_types_no_number_that_was_measured():
    """Those with a point, or in thousands: what is counted by hand may be said."""
    text = (LECTURE / "index.md").read_text(encoding="utf-8")
    quoted = r"\{number\}`[^`]*`|\$[^$]*\$|^:(crop|letters):.*|^```{notes}.*"
    quoted += r"|backup 8\.\d+|8\.\d+:"
    text = re.sub(quoted, "", html.unescape(text), flags=re.M)
    allowed = {"0.3", "1,000", "1,024", "1,920", "2,048", "8,192", "0.02", "0.003"}  # settings
    allowed |= {"0.99", "0.01", "0.0099"}  # a product of two
    allowed |= {"3.2"}  # the beginning of a section's number
    assert set(re.findall(r"\d+[.,]\d+", text)) - allowed == set()
