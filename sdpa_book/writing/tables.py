"""Small tables that read well in a notebook, on the site and in a terminal."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sdpa_book.writing.measured import Measured, significant
from sdpa_lib._checks import check_count, repr_of

Cell = str | int | float | tuple[float, float]
"""A text, a number, or a figure with its standard error."""


@dataclass(frozen=True)
class Table:
    """Columns by heading, shown as HTML in a notebook and as aligned text elsewhere.

    Args:
        columns: heading to cells, equally many in each column. A cell is a string, an int, a float,
            shown with ``digits`` significant digits, or a pair (value, standard error), such as
            :class:`~sdpa_book.writing.measured.Measured`, shown as value ± error.
        digits: significant digits, at least 1.

    Raises:
        TypeError: a heading that is no text, or a cell of another type.
        ValueError: no column, columns of different lengths, a negative error, or digits below 1.

    Example:
        >>> Table({"d_k": [2, 64], "variance": [(2.0123, 0.012), 63.94]})
        d_k       variance
          2  2.012 ± 0.012
         64          63.94
    """

    columns: Mapping[str, Sequence[Cell]]
    digits: int = 4

    @classmethod
    def from_rows(
        cls, headings: Sequence[str], rows: Iterable[Sequence[Cell]], digits: int = 4
    ) -> Table:
        """A table of rows, each with one cell for each heading.

        Raises:
            ValueError: a heading that stands twice, or a row of another length.

        Example:
            >>> Table.from_rows(("d_k", "divisor"), [(4, 2.0), (64, 8.0)])
            d_k  divisor
              4    2.000
             64    8.000
        """
        if len(set(headings)) != len(headings):
            raise ValueError(
                f"headings must differ from each other, got {repr_of(tuple(headings))}"
            )
        lines = list(rows)
        for line in lines:
            if len(line) != len(headings):
                raise ValueError(
                    f"rows must hold {len(headings)} cells, one for each heading, got "
                    f"{repr_of(line)}"
                )
        return cls(
            {heading: [line[i] for line in lines] for i, heading in enumerate(headings)}, digits
        )

    def __post_init__(self) -> None:
        check_count("digits", self.digits)
        if len({len(cells) for cells in self.columns.values()}) != 1:
            lengths = {heading: len(cells) for heading, cells in self.columns.items()}
            raise ValueError(f"columns must be one or more, of one length, got {repr_of(lengths)}")
        for heading, cells in self.columns.items():
            if not isinstance(heading, str):
                raise TypeError(f"headings must be texts, got {repr_of(heading)}")
            for cell in cells:
                self._check(heading, cell)

    def __repr__(self) -> str:
        lines = [list(self.columns), *self._rows()]
        aligned = []
        for cells, column in zip(zip(*lines, strict=True), self.columns.values(), strict=True):
            width = max(map(len, cells))
            aligned.append(
                [
                    cell.ljust(width) if self._is_text(column) else cell.rjust(width)
                    for cell in cells
                ]
            )
        return "\n".join("  ".join(line).rstrip() for line in zip(*aligned, strict=True))

    def _repr_html_(self) -> str:
        kinds = ["text" if self._is_text(cells) else "number" for cells in self.columns.values()]

        def line(tag: str, cells: Iterable[str]) -> str:
            return "".join(
                f'<{tag} class="{kind}">{html.escape(cell)}</{tag[:2]}>'
                for cell, kind in zip(cells, kinds, strict=True)
            )

        head = line('th scope="col"', self.columns)
        body = "".join(f"<tr>{line('td', row)}</tr>" for row in self._rows())
        return (
            '<div class="sdpa-table-wrap"><table class="sdpa-table">'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )

    @staticmethod
    def _check(heading: str, cell: object) -> None:
        numbers = cell if isinstance(cell, tuple) and len(cell) == 2 else (cell,)
        if not isinstance(cell, str) and not all(isinstance(x, (int, float)) for x in numbers):
            raise TypeError(
                f"column {repr_of(heading)} must hold texts, numbers or pairs (value, standard "
                f"error), got {repr_of(cell)}"
            )
        if isinstance(cell, tuple) and cell[1] < 0:
            raise ValueError(
                f"column {repr_of(heading)} must hold standard errors of at least 0, got "
                f"{repr_of(cell)}"
            )

    @staticmethod
    def _is_text(cells: Sequence[Cell]) -> bool:
        return any(isinstance(cell, str) for cell in cells)

    def _rows(self) -> list[list[str]]:
        columns = [[self._show(cell) for cell in cells] for cells in self.columns.values()]
        return [list(row) for row in zip(*columns, strict=True)]

    def _show(self, cell: Cell) -> str:
        if isinstance(cell, str):
            return cell
        if isinstance(cell, tuple):
            return str(Measured(*cell))
        return significant(cell, self.digits)
