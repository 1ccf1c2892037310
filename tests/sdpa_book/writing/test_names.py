"""What people call a scaling or a distribution is written in one place."""

import ast
import itertools
import re
from pathlib import Path

import nbformat
from cells.table_names import table, typeset
from outputs.notebooks import stored

import sdpa_lib as sdpa
from sdpa_book.drawing import plotting
from sdpa_book.explorables import looks
from sdpa_book.writing.names import display_name, names_of_code
from sdpa_lib.sampling import DISTRIBUTIONS

ROOT = Path(__file__).resolve().parents[3]
TYPED = {*names_of_code().values(), "nothing"}
"""No text that a program writes is one of these: it asks for the name. Within a sentence they are
words. The last is what scores that are undivided were called besides.
"""

JAVASCRIPT_TEXT = re.compile(r'"([^"\n]*)"|`([^`]*)`')


def texts_of_python(source):
    lines = [line for line in source.splitlines() if not line.startswith(("%", "!"))]
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def texts_of(path):
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".js":
        return itertools.chain(*JAVASCRIPT_TEXT.findall(text))
    if path.suffix == ".py":
        return texts_of_python(text)
    cells = [c.source for c in nbformat.reads(text, 4).cells if c.cell_type == "code"]
    return itertools.chain.from_iterable(map(texts_of_python, cells))


def test_no_script_module_or_chapter_has_a_name_of_its_own():
    """Whichever apostrophe it has."""
    scripts = (ROOT / "sdpa_book" / "explorables").glob("*/*.js")
    modules = [*(ROOT / "book" / "_ext").rglob("*.py"), *(ROOT / "sdpa_book").rglob("*.py")]
    modules.remove(ROOT / "sdpa_book" / "writing" / "names.py")
    modules = [path for path in modules if not path.name.startswith("test_")]
    typed = {}
    for path in (*scripts, *modules, *stored(ROOT / "book")):
        if names := TYPED & {text.replace("'", "’") for text in texts_of(path)}:
            typed[path.relative_to(ROOT).as_posix()] = names
    assert not typed, "display_name gives it, and to a script the build, as `label` or in a table"


def test_names_differ():
    names = [display_name(name) for name in (*sdpa.RESCALINGS, *DISTRIBUTIONS)]
    assert len({*names}) == len(names)


class RootMeanSquare(sdpa.Rescaling):
    """A rescaling that is in no list."""

    name = "k_rms"
    formula = r"\sqrt{\frac{1}{n} \sum_j \|k_j\|^2}"

    def divisor(self, key, visible):
        lengths = sdpa.key_lengths(key)
        return visible.norm(lengths, 2.0) / visible.count(lengths).clamp(min=1).sqrt()


def test_a_new_rescaling_has_its_name_everywhere(monkeypatch):
    monkeypatch.setitem(sdpa.RESCALINGS, "k_rms", RootMeanSquare())
    assert plotting.style("k_rms")["label"] == r"$k_\mathrm{rms}$"
    assert looks.look("k_rms")["label"] == "k_rms"
    assert typeset("k_rms") == "<i>k</i><sub>rms</sub>"
    assert "<i>k</i><sub>rms</sub>" in table("<tr><th>divided by</th></tr><tr><td>k_rms</td></tr>")
