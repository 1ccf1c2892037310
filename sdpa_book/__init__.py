"""What only the book needs: figures, tables, exercises, the ledger of claims and the training
study.

The package imports the library and is never imported by it. It is in no wheel and needs more than
torch and numpy: ``pip install -e "PATH[book]"``, with PATH a clone of the repository.
"""

import os
import warnings

import torch

from sdpa_book.drawing import plotting
from sdpa_book.exercises import check
from sdpa_book.measured import Measured, mean_and_error
from sdpa_book.names import display_name
from sdpa_book.tables import Table

__all__ = ["Measured", "Table", "check", "display_name", "mean_and_error", "plotting"]

# The book's tensors are small. Threads that wait for each other cost more than they save, on a busy
# machine many times over. Whoever sets OMP_NUM_THREADS gets what it says.
if "OMP_NUM_THREADS" not in os.environ:
    torch.set_num_threads(1)

# torch.compile's advice to those whose Python is 3.13.0 belongs in no chapter.
warnings.filterwarnings("ignore", "Guards may run slower on Python 3.13.0", RuntimeWarning)
