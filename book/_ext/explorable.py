"""Sphinx extension: figures that a reader can move, and pictures of them for where no script runs.

In a chapter ``:::{explorable} growth`` with a sentence inside stands for the explorable of that
name, ``book/_explore/src/growth.js``. The page shows a picture until the script takes its place.
Each explorable has a page of its own besides, ``explore/growth.html``, for lectures: as large as
the screen, with nothing around it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import sdpa_lib as sdpa
import torch
from docutils import nodes
from sdpa_book.drawing import plotting, svg
from sdpa_book.drawing.attended_text import looked_at
from sdpa_book.studies.heads.read import LONGER, load_vectors
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

import explorable_data


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("explorable", Explorable)
    app.connect("builder-inited", write_data)
    app.connect("html-page-context", mark)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("html-collect-pages", lectures)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Explorable(SphinxDirective):
    """A figure to move: its name, and as content a sentence for its caption."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        (name,) = self.arguments
        if name not in STATIC:
            raise self.error(f"explorable must be one of {', '.join(STATIC)}, got {name}")
        alt, draw = STATIC[name]
        file = Path(self.env.app.outdir).parent / "explorables" / f"{name}.svg"
        file.parent.mkdir(parents=True, exist_ok=True)
        draw()
        file.write_text(svg.picture(plt.gcf()), encoding="utf-8")
        plt.close()
        uri = "/" + Path(os.path.relpath(file, self.env.srcdir)).as_posix()
        env = self.env
        places(env)[name] = env.docname
        alone = env.app.builder.get_relative_uri(env.docname, f"explore/{name}")
        start = (
            f'<figure class="explorable" id="explorable-{name}" data-explorable="{name}" '
            f'data-alone="{alone}">'
        )
        return [
            nodes.raw("", start, format="html"),
            nodes.image(uri=uri, alt=alt, classes=["explorable-static"]),
            nodes.raw("", "<figcaption>", format="html"),
            *self.parse_content_to_nodes(),
            nodes.raw("", "</figcaption></figure>", format="html"),
        ]


def mark(
    _app: Sphinx,
    _page: str,
    _template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Only a page with explorables loads what they need."""
    context["has_explorables"] = doctree is not None and any(
        "data-explorable" in node.astext() for node in doctree.findall(nodes.raw)
    )


def places(env: BuildEnvironment) -> dict[str, str]:
    """By explorable the page that it stands on."""
    if not hasattr(env, "explorables"):
        env.explorables = {}  # type: ignore[attr-defined]
    found: dict[str, str] = env.explorables  # type: ignore[attr-defined]
    return found


def forget(_app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """What a page had that is read again."""
    for name in [name for name, where in places(env).items() if where == page]:
        del places(env)[name]


def merge(_app: Sphinx, env: BuildEnvironment, _pages: set[str], other: BuildEnvironment) -> None:
    """What another process read."""
    places(env).update(places(other))


def lectures(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """A page for each explorable, and nothing else on it."""
    for name, chapter in places(app.env).items():
        title = app.env.titles[chapter].astext()
        yield f"explore/{name}", {"name": name, "chapter": chapter, "title": title}, "lecture.html"


def write_data(app: Sphinx) -> None:
    """Scripts with what the explorables know of the library, among the static files."""
    static = Path(app.outdir).parent / "explorables" / "static"
    folder = static / "explore"
    folder.mkdir(parents=True, exist_ok=True)
    scripts = {f"{name}_data": explorable_data.script(name) for name in STATIC}
    for name, script in (scripts | explorable_data.heads_scripts()).items():
        (folder / f"{name}.js").write_text(script, encoding="utf-8")
    app.config.html_static_path.append(str(static))


def growth() -> None:
    """Densities of q·k for few components and for more, on the same axes."""
    _, axes = plotting.figure(columns=2, height=3.0, share_y=True)
    x = torch.linspace(-30, 30, 401, dtype=torch.float64)
    for ax, d_k in zip(axes, (4, 64), strict=True):
        density = sdpa.normal_dot_product_density(x, d_k)
        ax.plot(x, density, color=plotting.ROLES["key"])
        ax.set(title=f"raw, $d_k = {d_k}$", xlabel="q·k")
    axes[0].set_ylabel("density")


def saturation() -> None:
    """Four scores and their weights."""
    _, axes = plotting.figure(columns=2, height=3.0)
    scores = torch.tensor([2.0, 1.0, 0.0, -1.0])
    weights = torch.softmax(scores, -1)
    keys = ["key 1", "key 2", "key 3", "key 4"]
    axes[0].bar(keys, scores, color=plotting.ROLES["query"])
    axes[0].set_title("scores")
    axes[1].bar(keys, weights, color=plotting.ROLES["weights"])
    axes[1].set(title="weights", ylim=(0, 1))


def blend() -> None:
    """Three values, their triangle, and an output inside it."""
    _, ax = plotting.figure(height=3.6)
    values = torch.tensor([[0.9, 0.1], [0.2, 0.8], [0.4, -0.2]])
    output = torch.softmax(torch.tensor([1.25, 0.8, -0.2]), -1) @ values
    ax.fill(*values.T, color=plotting.ROLES["value"], alpha=0.15)
    ax.plot(*values.T, "o", color=plotting.ROLES["value"], label="values")
    ax.plot(*output, "s", color=plotting.ROLES["weights"], label="output")
    ax.legend()


def scalings() -> None:
    """Effective keys and gradient along the divisor, and the rescalings on them."""
    _, axes = plotting.figure(columns=2, height=3.0)
    told = explorable_data.scalings()
    row, column = told["n"].index(32), told["d_k"].index(64)
    root = 8
    for at, (ax, title) in enumerate(
        zip(axes, ("effective keys, of 32", "gradient at the query, median"), strict=True)
    ):
        along = [measures[at] for measures in told["along"][row][column]]
        ax.plot(root * np.array(told["ratios"]), along, color=plotting.MUTED)
        for name, label in told["labels"].items():
            ratio = told["compared"][name][row][column]
            look = plotting.style(name, marker=True) | {"linestyle": "none", "label": label}
            found = np.interp(np.log(ratio), np.log(told["ratios"]), along)
            ax.plot(root * ratio, found, **look)
        ax.set(xscale="log", xlim=(0.1, 5e4), xlabel="divisor", title=title)
    axes[1].set(yscale="log", ylim=(0.001, 20))
    axes[1].legend(fontsize=9)


def phases() -> None:
    """How many keys share the weight, by their number and the scores' spread, and the border."""
    _, ax = plotting.figure(height=4.2)
    told = explorable_data.phases()
    share = np.array(told["share"]).T
    ax.contourf(told["n"], told["sigma"], share, np.linspace(0, 1, 11), cmap="Purples_r")
    keys = torch.tensor(told["n"])
    ax.plot(keys, (2 * keys.log()).sqrt(), color=plotting.INK)
    ax.text(9e4, 2.6, "border, $\\sqrt{2 \\ln n}$", ha="right", va="top")
    for name, sigma, label, color in (
        ("none", 8, "undivided", "white"),
        ("sqrt_d_k", 1, r"$\sqrt{d_k}$", "black"),
        ("d_k", 1 / 8, "$d_k$", "black"),
    ):
        ax.axhline(sigma, **plotting.style(name))
        ax.text(9e4, 1.1 * sigma, label, color=color, ha="right")
    ax.set(xscale="log", yscale="log", xlabel="keys", ylabel="std of the scores, $d_k = 64$")
    ax.set_title("strong colour: one key has the weight; faint: all share it", fontsize=11)


def heads() -> None:
    """Whom the last character looks at, in three heads."""
    _, axes = plotting.figure(rows=3, height=1.7)
    query, key = (x[-1] for x in load_vectors(explorable_data.HEADS, "line", LONGER))
    weights = sdpa.attention_weights(query, key, is_causal=True)
    line = explorable_data.heads()["text"]
    for ax, (layer, head) in zip(axes, ((0, 3), (1, 1), (2, 2)), strict=True):
        looked_at(ax, line, weights[layer, head], (30, 62))
        ax.set_title(f"layer {layer + 1}, head {head + 1}")


def variance() -> None:
    """The derived variance over d_k against d_k, with each assumption dropped."""
    _, ax = plotting.figure(height=3.0)
    d_k = 2.0 ** torch.arange(8)
    for constant, excess, label, at in (
        (1, 0.0, "all assumptions hold", 0.7),
        (3, 0.0, "mean 1 in both", 3.3),
        (1, 0.09, "correlation 0.3 in both", 9.0),
    ):
        ax.plot(d_k, constant + (d_k - 1) * excess, color=plotting.ROLES["weights"])
        ax.text(1.1 if excess == 0 else 60, at, label, ha="left" if excess == 0 else "right")
    ax.set(xscale="log", yscale="log", xlabel="$d_k$", ylabel="variance of q·k, over $d_k$")
    ax.set_ylim(0.5, 30)


def online() -> None:
    """The terms of the keys that were read, before and after a block with a larger score."""
    _, axes = plotting.figure(columns=2, height=2.6, share_y=True)
    scores = torch.tensor([1, 0.2, 2, 0.5, -0.5, 3.4])
    for read, ax in zip((4, 6), axes, strict=True):
        seen = scores[:read]
        ax.bar(range(1, read + 1), (seen - seen.max()).exp(), color=plotting.ROLES["weights"])
        ax.set(xlim=(0.4, 8.6), title=f"{read} keys read, m = {seen.max():.1f}", xlabel="key")
        ax.set_xticks(range(1, 9))
    axes[0].set_ylabel("$e^{z - m}$")


def row() -> None:
    """What is left of the gradient in two rows, against the divisor."""
    _, ax = plotting.figure(height=3.0)
    ratios = 2.0 ** torch.linspace(-5, 5, 101)
    for name, label, at in (
        ("decided", "an ordinary row", (0.07, 3e-3)),
        ("level", "two best keys nearly level", (0.2, 7.0)),
    ):
        scores = torch.tensor(explorable_data.row()[name])
        weights = torch.softmax(scores / ratios.unsqueeze(-1), -1)
        ax.plot(ratios, sdpa.jacobian_norm(weights) / ratios, color=plotting.ROLES["weights"])
        ax.text(*at, label)
    ax.set(xscale="log", yscale="log", xlabel="$r = c / \\sqrt{d_k}$", ylim=(1e-5, 30))
    ax.set_ylabel("norm of J, over r")


def budget(stop: int = 200) -> None:
    """The models that have not learned yet, pale from where a study stops."""
    fig, ax = plotting.figure(height=3.8)
    told = explorable_data.budget()
    end = told["steps"][-1]
    for name, times in told["cells"][told["start"]]["learned"].items():
        waiting = range(len(times), -1, -1)
        ax.step([0, *times, end], [*waiting, 0], where="post", **plotting.style(name))
        if name == "none":
            ax.lines[-1].set_label(told["labels"][name])
    ax.axvspan(stop, end, color="white", alpha=0.75, zorder=2.5)
    ax.axvline(stop, color=plotting.INK, linewidth=1.5, zorder=3)
    ax.set(xlim=(0, end), xlabel="step", ylabel="models that have not learned")
    fig.legend(fontsize=9, ncols=4, loc="outside lower center")


def power(p: float = 0.5) -> None:
    """The start's and the step's size by d_k when the root divides: lines and measured points."""
    _, ax = plotting.figure(height=3.4)
    told = explorable_data.power()
    colors = {"start": plotting.INK, **explorable_data.OPTIMISERS}
    widths = np.array(told["measured_at"])
    for (name, line), dashes, mark in zip(
        told["lines"].items(), (":", "-", "--"), "so^", strict=True
    ):
        exponent = explorable_data.GROWTHS[name].exponent(p)
        look = {"color": colors[name], "linestyle": dashes}
        ax.plot(widths, (widths / widths[0]) ** exponent, **look)
        ax.plot(widths, line["measured"][f"{p:g}"], mark, color=colors[name], label=line["label"])
    ax.set(xscale="log", yscale="log", xlabel="$d_k$", ylabel=f"over that at {widths[0]}")
    ax.legend(fontsize=9)


def depth() -> None:
    """The norm of the first gradient by the number of blocks: models with heads of 256, their
    medians, and thin those of undivided ones with narrower heads.
    """
    _, ax = plotting.figure(height=3.4)
    told = explorable_data.depth()
    of_kind = told["kinds"]["pre"]["norms"]
    blocks = told["blocks"]
    for name, line, mark in (("none", "-", "o"), ("sqrt_d_k", "--", "s")):
        color = plotting.style(name)["color"]
        for d_k, of_width in zip(told["d_k"], of_kind[name], strict=True):
            medians = [of_depth["median"] for of_depth in of_width]
            if d_k == told["d_k"][-1]:
                for x, of_depth in zip(blocks, of_width, strict=True):
                    models = of_depth["all"]
                    ax.plot([x] * len(models), models, ".", color=color, alpha=0.2)
                ax.plot(blocks, medians, line, marker=mark, color=color)
                end = told["labels"][name]
            elif name == "none":
                ax.plot(blocks, medians, line, linewidth=0.8, color=color)
                end = f"heads of {d_k}"
            else:
                continue  # the root's lie on each other
            at = (blocks[-1], medians[-1])
            beside = (10, -4 if name == "sqrt_d_k" else 0)  # below that of heads of 16
            ax.annotate(end, at, beside, textcoords="offset points", color=color, va="center")
    ax.set(xscale="log", yscale="log", xlabel="blocks", ylabel="norm of the first gradient")
    ax.set_xticks(blocks, map(str, blocks))
    ax.set_xlim(1.8, 110)
    ax.minorticks_off()


STATIC: dict[str, tuple[str, Callable[[], None]]] = {
    "growth": (
        "Two densities of raw dot products on the same axes: of 4 components, high and narrow, "
        "with standard deviation 2, and of 64, low and wide, with 8.",
        growth,
    ),
    "saturation": (
        "Four scores, 2, 1, 0 and -1, and their weights after softmax: 0.64, 0.24, 0.09 and 0.03.",
        saturation,
    ),
    "blend": (
        "Three values in the plane, the triangle between them, and the output inside it, nearest "
        "to the first two.",
        blend,
    ),
    "scalings": (
        "Two curves against the divisor, with four divisors on them: the effective keys rise from "
        "one to all, and the gradient at the query has a maximum below the root and falls in "
        "proportion beyond it. k_mean lies on the root, and k_total far to its right.",
        scalings,
    ),
    "phases": (
        "A map of the spread of the scores against the number of keys: far below the border a "
        "fixed share of the keys has the weight, above it a few keys have. Undivided scores lie "
        "above the border, those with the root below it, and those divided by d_k far below.",
        phases,
    ),
    "heads": (
        "Three heads: a passage of code up to two places, in which the background of a character "
        "is the darker the more weight it gets.",
        heads,
    ),
    "variance": (
        "Variance of q·k over d_k against d_k: level at 1 where all assumptions hold, level at 3 "
        "with means of 1 in queries and keys, and rising with correlations of 0.3 in both.",
        variance,
    ),
    "online": (
        "Bars for the terms of the keys that were read, four at the left and six at the right: a "
        "larger score has come, and the bars of all earlier keys have shrunk by one factor.",
        online,
    ),
    "row": (
        "Norm of the Jacobian over r against the divisor: below the root it rises and then "
        "vanishes in an ordinary row; where the two best keys are nearly level it rises longer.",
        row,
    ),
    "budget": (
        "How many of ten models have not learned yet, against the step, for each divisor. At step "
        "200 a line stops the study: the curve of the undivided models is still at ten there, and "
        "what comes behind the line is pale.",
        budget,
    ),
    "power": (
        "Size of the first scores, of a step of gradient descent and of a step of Adam, over those "
        "at 16 components, when the root divides: the first two stay at 1 up to 4,096 components, "
        "the third rises to about 16.",
        power,
    ),
    "depth": (
        "The norm of the first gradient against 2 to 48 blocks, on logarithmic axes: the median of "
        "undivided models rises, the more steeply the wider the heads, and with the root that of "
        "models with heads of 256 stays below ten.",
        depth,
    ),
}
"""The explorables by name: what their picture shows, and what draws it."""
