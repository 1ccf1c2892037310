"""What people call the things that code calls ``sqrt_d_k``, ``qk_norm`` or ``student_t``: in
figures, tables, explorables and chapters.

They stand here and nowhere else. A rescaling that is not named here goes by its own name, or by its
formula.
"""

from __future__ import annotations

import re

from sdpa_lib._checks import unknown_name
from sdpa_lib.rescaling import RESCALINGS, AnyRescaling, get_rescaling, known_rescalings

OTHERS = {
    "qk_norm": "QK-norm",
    "log_n": "with ln n",
    "t5_start": "T5’s start",
    "rademacher": "±1",
    "laplace": "Laplace",
    "student_t": "Student’s t",
}
"""By code's name. Others are read as they are written, such as ``learned`` and ``normal``."""


RESCALED = {"none": "undivided", "sqrt_d_k": "√d_k", "n_sqrt_d_k": "n√d_k"}
"""Rescalings, by their own names. A norm of key lengths is called as in the text: k_4."""


def display_name(name: AnyRescaling) -> str:
    """The name that people read, where no formula can stand.

    Example:
        >>> [display_name(name) for name in ("sqrt_d_k", "none", "k_total", "student_t")]
        ['√d_k', 'undivided', 'k_total', 'Student’s t']
    """
    if isinstance(name, str) and name not in known_rescalings():
        return OTHERS.get(name, name)
    own = get_rescaling(name).name
    return RESCALED.get(own, re.sub(r"^k_norm_", "k_", own))


def word_for(name: str) -> str:
    """The same beside a curve or within a sentence, where even √d_k is too much of a formula.

    Example:
        >>> word_for("sqrt_d_k"), word_for("none")
        ('root', 'undivided')
    """
    return "root" if name == "sqrt_d_k" else display_name(name)


def known_rescaling(name: AnyRescaling) -> AnyRescaling:
    """A rescaling as it came, if code knows it.

    Raises:
        ValueError: no rescaling of that name; what people mean by it is suggested.

    Example:
        >>> known_rescaling("root")
        Traceback (most recent call last):
        ValueError: rescaling 'root' is not known. Did you mean 'sqrt_d_k'? Known names: ...
    """
    if isinstance(name, str) and name not in (known := known_rescalings()):
        people = {call(code): code for code in known for call in (display_name, word_for)}
        raise unknown_name("rescaling", name, known, meant=people.get(name))
    return name


def plot_label(rescaling: AnyRescaling) -> str:
    r"""A rescaling's name for Matplotlib: the text's name where that is a word or a length of keys,
    else the formula.

    Example:
        >>> print(plot_label("none"), plot_label("k_total"), plot_label("sqrt_d_k"))
        undivided $k_\mathrm{total}$ $\sqrt{d_k}$
    """
    chosen = get_rescaling(rescaling)
    label = display_name(chosen)
    if length := re.fullmatch(r"k_(\w+)", label):
        return rf"$k_\mathrm{{{length[1]}}}$"
    return label if label != chosen.name and label.isalpha() else f"${chosen.formula}$"


def names_of_code() -> dict[str, str]:
    """What people call by another name than code does, by code's."""
    both = {name: display_name(name) for name in (*RESCALINGS, *OTHERS)}
    return {code: name for code, name in both.items() if name != code}
