"""The arrows of the house: the library stands without the book, whose package does what it says."""

import ast
import os
import subprocess
import sys
from pathlib import Path

LIBRARY = Path(__file__).parent.parent / "sdpa_lib"


def imported(path):
    """The modules that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_the_library_imports_nothing_that_only_the_book_needs():
    modules = sorted(LIBRARY.glob("*.py"))
    assert len(modules) > 8
    allowed = set(sys.stdlib_module_names) | {"torch", "numpy", "sdpa_lib"}
    for path in modules:
        for name in imported(path):
            assert name.partition(".")[0] in allowed, f"{path.name} imports {name}"
            assert not name.startswith("sdpa_book"), f"{path.name} imports {name}"


def test_the_library_runs_with_torch_and_numpy_alone():
    """With every package blocked that only the book lists, or an optional module needs."""
    code = """
import sys
for name in ("matplotlib", "scipy", "sklearn", "tqdm", "IPython", "transformers", "sdpa_book"):
    sys.modules[name] = None
import torch, sdpa_lib, sdpa_lib.models, sdpa_lib.transformers
x = torch.ones(2, 4)
assert sdpa_lib.scaled_dot_product_attention(x, x, x, rescaling="k_total").equal(x)
assert sdpa_lib.measure_dot_products(4, 10, seed=0).count == 10
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_books_package_has_the_effects_that_it_names_and_no_other(tmp_path):
    """One thread, Matplotlib's own settings, one warning ignored."""
    (tmp_path / "matplotlibrc").write_text("axes.grid: True\n")
    code = """
import os, random, warnings
import matplotlib, torch
assert matplotlib.rcParams["axes.grid"]
filters, seeds = len(warnings.filters), (random.getstate(), torch.random.initial_seed())
kept = torch.get_default_dtype(), torch.is_grad_enabled(), dict(os.environ)
import sdpa_book
assert torch.get_num_threads() == 1
assert not matplotlib.rcParams["axes.grid"]
assert len(warnings.filters) == filters + 1, warnings.filters
assert seeds == (random.getstate(), torch.random.initial_seed())
assert kept == (torch.get_default_dtype(), torch.is_grad_enabled(), dict(os.environ))
"""
    environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
    environment["MATPLOTLIBRC"] = str(tmp_path)
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
