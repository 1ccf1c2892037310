"""Two pages that name each other's terms, symbols, figures and tables."""

NOTATION = """# Notation

| Symbol | Meaning |
| --- | --- |
| $W_Q, W_K$ | projections |
| $c$ | a divisor |

**Entropy**
: $H = \\ln n$, in nats.

**QK-norm**
: Of length 1.
"""
CHAPTER = """# Entropy

The entropy and `QK-norm` of $W_K$ and $c$, as the entropy of Figure 4.1 and Tables 4.1 and 4.2
has it; their Figure 1 has none. See [one](notation.md).

> Of *QK-norm* much is said.

## A section

![Nothing.](nothing.svg)
"""
SETTINGS = {
    "html_math_renderer": "mathml",
    "myst_enable_extensions": ["deflist", "dollarmath"],
}
