"""What only the book computes: its figures, tables, exercises, ledger of claims, studies, and the
data of its explorables.

The package imports the library and is never imported by it. It is in no wheel and needs more than
torch and numpy: ``pip install -e "PATH[book]"``, with PATH a clone of the repository.

Importing it has three effects on the process. PyTorch computes with one thread, unless
``OMP_NUM_THREADS`` is set: the book's tensors are small, and threads that wait for each other cost
more than they save. Matplotlib's settings become its defaults, so that figures are the same
whatever a reader's own matplotlibrc says. And two warnings are ignored that belong in no chapter:
one that concerns only the users of Python 3.13.0, and one of the first gradient on a GPU.
"""

import os
import warnings

import matplotlib as mpl
import torch

from sdpa_book.drawing import plotting
from sdpa_book.exercises import check
from sdpa_book.explorables import movable
from sdpa_book.writing.measured import Measured, mean_and_error
from sdpa_book.writing.names import display_name
from sdpa_book.writing.tables import Table

__all__ = ["Measured", "Table", "check", "display_name", "mean_and_error", "movable", "plotting"]

if "OMP_NUM_THREADS" not in os.environ:
    torch.set_num_threads(1)
mpl.rcdefaults()
warnings.filterwarnings("ignore", "Guards may run slower on Python 3.13.0", RuntimeWarning)
warnings.filterwarnings("ignore", "Attempting to run cuBLAS, but there was no current", UserWarning)
