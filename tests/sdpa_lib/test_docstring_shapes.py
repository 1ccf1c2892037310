"""The shapes in the docstrings are those that the functions take and give.

A docstring says ``query: (..., L, d_k)``. That is read here as jaxtyping's ``"*batch L d_k"``, and
the function is called with every shape checked: a letter stands for one number throughout a call,
the name of a parameter for its value.
"""

import inspect
import re
import textwrap
from typing import Union, get_args, get_type_hints

import pytest
from beartype import beartype
from every import EVERY_CLASS
from jaxtyping import Shaped, TypeCheckError, jaxtyped
from torch import Tensor

import sdpa_lib as sdpa
from sdpa_lib import device, moments, sampling, saturation
from sdpa_lib.models import MODELS
from sdpa_lib.sampling import sample
from sdpa_lib.visibility import CausalOrder, EveryKey

NAMES = {
    name: thing
    for module in (device, moments, sampling, saturation, sdpa)
    for name, thing in vars(module).items()
}

SHAPE = re.compile(
    r"(broadcastable to )?\((\.\.\.|\w+,|(?:\.\.\.|\w+)(?:, \w+)+)\)|any shape", re.I
)
OTHER = r"as in\s+:func:`[\w.~]*?(\w+)`"


def section(function, title):
    """What stands under one title of a docstring; nothing where there is no such title."""
    match = re.search(rf"^{title}:\n((?: .*\n|\n)+)", inspect.getdoc(function) + "\n", re.M)
    return textwrap.dedent(match[1]) if match else ""


def documented(function):
    """The shapes that a docstring gives to arguments, here or in the docstring to which it refers
    by "as in", and, as ``return``, to the result.
    """
    shapes = {}
    if other := re.search(f"Arguments {OTHER}", inspect.getdoc(function)):
        shapes = documented(NAMES[other[1]])
        shapes.pop("return", None)
    entries = re.findall(r"^(\w[\w, ]*): (.*\n(?: .*\n|\n)*)", section(function, "Args"), re.M)
    for names, entry in [*entries, ("return", section(function, "Returns"))]:
        names, matches = names.split(", "), list(SHAPE.finditer(entry))
        if other := re.match(OTHER, entry):
            there = documented(NAMES[other[1]])
            shapes |= {name: there[name] for name in names if name in there}
        elif matches:
            each = matches if len(matches) >= len(names) else matches * len(names)
            shapes |= dict(zip(names, each, strict=False))
    return shapes


def annotation(shape, parameters):
    """A shape in jaxtyping's words."""
    if shape[2] is None:  # any shape
        return Shaped[Tensor, "..."]
    mark, axes = "#" if shape[1] else "", []
    for axis in re.findall(r"\.\.\.|\w+", shape[2]):
        size = f"{{{axis}}}" if axis in parameters else f"{mark}{axis}"
        axes.append(f"*{mark}batch" if axis == "..." else axis if axis.isdigit() else size)
    return Shaped[Tensor, " ".join(axes)]


def checked(function):
    """The function; each call checks the shapes of its tensors against the docstring."""
    signature, shapes, hints = inspect.signature(function), documented(function), {}
    for name, kind in get_type_hints(function).items():
        if isinstance(kind, type) and issubclass(kind, tuple):  # its own docstring has the shapes
            matches = list(SHAPE.finditer(kind.__doc__))
            each = matches if len(matches) > 1 else matches * len(kind._fields)
            hints[name] = tuple[tuple(annotation(shape, signature.parameters) for shape in each)]
        elif Tensor in (kind, *get_args(kind)):
            if name not in shapes:
                raise LookupError(f"the docstring of {function.__name__} gives {name} no shape")
            shaped = annotation(shapes[name], signature.parameters)
            rest = [other for other in get_args(kind) if other is not Tensor]
            hints[name] = Union[shaped, *rest]

    def call(*args, **kwargs):
        return function(*args, **kwargs)

    call.__signature__ = signature.replace(
        parameters=[
            parameter.replace(annotation=hints.get(name, parameter.empty))
            for name, parameter in signature.parameters.items()
        ],
        return_annotation=hints.get("return", signature.empty),
    )
    return jaxtyped(call, typechecker=beartype)


def draw(*shape):
    return sample(*shape, seed=0, device="cpu")


def tensors(batch):
    """A query, a key and a value in which no two dimensions are of one size."""
    return draw(*batch, 5, 4), draw(*batch, 3, 4), draw(*batch, 3, 6)


OF_WEIGHTS = "effective_keys entropy jacobian_norm largest_weight perplexity softmax_jacobian"
CALLS = {
    **dict.fromkeys(OF_WEIGHTS.split(), lambda f, b: f(draw(*b, 5).softmax(-1))),
    "attention_gradients": lambda f, b: f(*tensors(b), upstream=draw(*b, 5, 6)),
    "attention_scores": lambda f, b: f(*tensors(b)[:2], draw(5, 3)),
    "attention_weights": lambda f, b: f(*tensors(b)[:2], draw(1, 3) > 0),
    "key_lengths": lambda f, b: f(draw(*b, 3, 4)),
    "measure_moments": lambda f, b: f(draw(*b, 5)),
    "normal_dot_product_density": lambda f, b: f(draw(*b, 5), 4),
    "sample_dot_products": lambda f, b: f(4, 7, seed=0),
    "sample_gradients": lambda f, b: f(5, 3, 4, draw(5, 1).exp(), seed=0, device="cpu"),
    "sample_normal_scores": lambda f, b: f(5, 3, 4, seed=0),
    "sample_qkv": lambda f, b: f(5, 3, 4, 6, seed=0),
    "saturation_of_rows": lambda f, b: f(*tensors(b)[:2]),
    "scaled_dot_product_attention": lambda f, b: f(*tensors(b), draw(*b, 5, 3)),
    "shape_distance": lambda f, b: f(draw(*b, 5), draw(*b, 5)),
}
BATCHES = pytest.mark.parametrize("batch", [(), (2, 7)], ids=str)


def has_tensors(function):
    """Whether tensors go in or come out, alone or as the fields of a tuple."""
    hints = get_type_hints(function).values()
    kinds = [kind for hint in hints for kind in (hint, *get_args(hint))]
    tuples = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, tuple)]
    return Tensor in [
        *kinds,
        *(field for kind in tuples for field in get_type_hints(kind).values()),
    ]


def test_every_public_function_of_tensors_is_called():
    public = {name: getattr(sdpa, name) for name in sdpa.__all__}
    of_tensors = {n for n, f in public.items() if inspect.isfunction(f) and has_tensors(f)}
    assert of_tensors - {"sample"} <= set(CALLS), "the shape of a sample is its argument"


@BATCHES
@pytest.mark.parametrize("name", CALLS)
def test_a_function_has_the_shapes_of_its_docstring(name, batch):
    CALLS[name](checked(NAMES[name]), batch)


@BATCHES
@EVERY_CLASS
def test_a_divisor_has_the_shape_of_its_docstring(rescaling, batch):
    rescaling, key = sdpa.get_rescaling(rescaling), tensors(batch)[1]
    for visible in (EveryKey(3), CausalOrder(5, 3)):
        checked(rescaling.divisor)(key, visible)
    for visible in (None, draw(*batch, 5, 3) > 0):
        checked(rescaling.__call__)(key, visible)


@BATCHES
def test_scores_of_a_model_have_the_shape_of_the_docstring(batch):
    checked(MODELS["Swin v2"].scores)(*tensors(batch)[:2])


def total(weights: Tensor, n: int) -> Tensor:
    """A sum of each row.

    Args:
        weights: (..., n).

    Returns:
        (..., n), which is not so.
    """
    return weights.sum(-1)


def test_a_docstring_with_a_wrong_shape_is_found():
    with pytest.raises(TypeCheckError, match="return value"):
        checked(total)(draw(2, 5), 5)
    with pytest.raises(TypeCheckError, match="weights"):
        checked(total)(draw(2, 5), 4)
    with pytest.raises(TypeCheckError, match="key"):
        checked(sdpa.attention_scores)(draw(5, 4), draw(3, 6))


def test_a_docstring_without_a_shape_is_found():
    def half(x: Tensor) -> Tensor:
        """One half of ``x``."""
        return x / 2

    with pytest.raises(LookupError, match="half gives x no shape"):
        checked(half)
