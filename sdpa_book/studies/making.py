"""What all studies are made with: plans from files, and how results are noted and written."""

from __future__ import annotations

import os
import platform
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import torch

import sdpa_lib
from sdpa_lib._checks import unknown_name
from sdpa_lib.rescaling import RESCALINGS

T = TypeVar("T")


def load_tables(
    path: Path, kinds: Sequence[type], build: Callable[..., T], given: Collection[str] = ()
) -> dict[str, T]:
    """A plan: by its name what is built of each table of a TOML file, in the file's order.

    Args:
        path: the file.
        kinds: the dataclasses whose fields a table may have.
        build: is given the table's name, and for each of ``kinds`` what the table says of it, lists
            as tuples. What a table leaves out is as in the one before it that its ``like`` names.
        given: fields that no table has.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no TOML, or a table has a field that is not known, lacks one, or has one
            with a value that cannot be.
    """
    plan: dict[str, T] = {}
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"plan must be a TOML file, got {path}: {error}") from None
    all_fields = [f for kind in kinds for f in fields(kind) if f.name not in given]
    known = [f.name for f in all_fields]
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise ValueError(f"plan must consist of tables, got {name} = {table!r} in {path}")
        if (like := table.pop("like", None)) is not None:
            if like not in plan:
                raise unknown_name(f"like of [{name}]", like, plan)
            table.update(tables[like] | table)
        for key in table:
            if key not in known:
                raise unknown_name(f"a field of [{name}]", key, known)
        for f in all_fields:
            if f.name not in table and f.default is MISSING:
                raise ValueError(f"[{name}] must have the field {f.name!r}, got {list(table)}")
        parts = (
            {f.name: _tuples(table[f.name]) for f in fields(kind) if f.name in table}
            for kind in kinds
        )
        plan[name] = build(name, *parts)
    return plan


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def with_known_rescalings(names: Iterable[str]) -> list[str]:
    """What a table of all rescalings lists: those of the library, whether they were measured or
    not, and then those that were measured when the library still had them.

    Example:
        >>> with_known_rescalings(["none", "of old"])[-1]
        'of old'
    """
    return list(dict.fromkeys([*RESCALINGS, *names]))


@contextmanager
def denormals_are_zero() -> Iterator[None]:
    """Within it, numbers too small for full precision are 0: weights of saturated rows underflow,
    and each such number costs ten times as much. After it they are themselves again, for whatever
    else the process computes.
    """
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def versions(*packages: str) -> dict[str, str]:
    """Of Python, of packages and of the library: what is noted beside every result."""
    return (
        {"python": platform.python_version()}
        | {name: version(name) for name in packages}
        | {"sdpa-lib": sdpa_lib.__version__}
    )


def device_name(device: torch.device) -> str:
    """What a device is called beside a result.

    Example:
        >>> device_name(torch.device("cpu")).endswith(" cpu")
        True
    """
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()} {device.type}"


def check_settings(path: Path, there: Mapping[str, Any], here: Mapping[str, Any]) -> None:
    """Refuse to go on with results that were made with other settings, of those that are noted."""
    for name, value in here.items():
        if name in there and there[name] != value:
            raise ValueError(
                f"out must hold results made with these settings, or none, got {path}, where "
                f"{name} is {there[name]!r} and not {value!r}; give another folder"
            )


def write(path: Path, content: str | bytes) -> None:
    """Write a file whole: an interruption leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content.encode() if isinstance(content, str) else content)
    os.replace(part, path)


def short(value: float, digits: int = 4) -> float:
    """A number with the significant digits that are stored.

    Example:
        >>> short(0.123456)
        0.1235
    """
    return float(f"{value:.{digits}g}")
