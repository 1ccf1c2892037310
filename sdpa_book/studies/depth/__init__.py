"""The gradient at the start of training, through many blocks: measured, and followed by a
recursion.
"""

from sdpa_book.calculations.query_gradients import gap_density
from sdpa_book.studies.depth.one_attention import attention_gain
from sdpa_book.studies.depth.plan import DIMENSIONS, LAYERS, STARTS, TASK, Depth
from sdpa_book.studies.depth.read import Starts, listed_rescalings, load_depth, predicted
from sdpa_book.studies.depth.recursion import (
    mean_field,
    perceptron_products,
    relative_divisor,
    softmax_rows,
)
from sdpa_book.studies.depth.run import first_batch, first_gradient, started, without
from sdpa_book.studies.transformer import NORMS
