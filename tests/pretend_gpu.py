"""A pretend GPU, for machines without one: it computes on the CPU and refuses what a real one
refuses, tensors on two devices, a generator of the CPU's and NumPy.

``python -m pytest -p tests.pretend_gpu book sdpa_book tests/sdpa_lib/test_accelerator.py`` has it
as the device of the tests and of the notebooks' kernels.
"""

import os

import torch
from torch.utils import _pytree as pytree

NAME = "pretend"
TAKES_BOTH = {"aten::copy_", "aten::_to_copy"}
TAKES_INDICES = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}
LIBRARY = torch.library.Library("_", "IMPL", "PrivateUse1")


class Pretend(torch.Tensor):
    """A tensor on the pretend device, whose numbers are those of ``there``, on the CPU."""

    @staticmethod
    def __new__(cls, there):
        tensor = torch.Tensor._make_wrapper_subclass(
            cls,
            there.shape,
            strides=there.stride(),
            storage_offset=there.storage_offset(),
            dtype=there.dtype,
            device=torch.device(NAME, 0),
        )
        tensor.there = there
        return tensor

    # For subclasses PyTorch has none of these four.

    def numpy(self, *, force=False):
        if force:
            return self.detach().cpu().numpy()
        raise TypeError(f"can't convert {self.device} device type tensor to numpy.")

    def tolist(self):
        return self.cpu().tolist()

    def __format__(self, spec):
        return format(repr(self) if self.dim() else self.item(), spec)

    def __repr__(self):
        return repr(self.cpu()).removesuffix(")") + f", device='{self.device}')"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return compute(func, *args, **kwargs or {})


def compute(func, *args, **kwargs):
    """What ``func`` gives, on the CPU, and on the pretend device if it belongs there."""
    name, given = func._schema.name, pytree.tree_leaves((args, kwargs))
    if any(isinstance(x, torch.Generator) for x in given):
        raise RuntimeError(f"Expected a '{NAME}' device type for generator but found 'cpu'")
    checked = args[:1] + args[2:] if name in TAKES_INDICES else given
    tensors = [x for x in pytree.tree_leaves(checked) if isinstance(x, torch.Tensor)]
    if name not in TAKES_BOTH and any(x.is_cpu and x.dim() for x in tensors):
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{NAME}:0 and cpu! ({name})"
        )
    away = kwargs.get("device") is not None and kwargs["device"].type != NAME
    if "device" in kwargs:
        kwargs["device"] = torch.device("cpu")
    known = {id(getattr(x, "there", x)): x for x in given}  # what is changed in place, or filled

    def back(x):
        return known.get(id(x), x) if away or id(x) in known else Pretend(x)

    args, kwargs = pytree.tree_map_only(Pretend, lambda x: x.there, (args, kwargs))
    return pytree.tree_map_only(torch.Tensor, back, func(*args, **kwargs))


def taking_lists(make):
    """``torch.tensor`` of a list of tensors, which it would read behind the subclass's back."""

    def tensor(data, **named):
        if not isinstance(data, torch.Tensor):
            data = pytree.tree_map_only(Pretend, torch.Tensor.cpu, data)
        return make(data, **named)

    return tensor


def pytest_configure():
    """Make it the device, here and in the notebooks' kernels, which start with this file."""
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

    _setup_privateuseone_for_python_backend(NAME)
    LIBRARY.fallback(compute, "PrivateUse1")
    torch._C._set_only_lift_cpu_tensors(True)  # or torch.tensor(…, device=…) would not come by
    torch.tensor, torch.as_tensor = map(taking_lists, (torch.tensor, torch.as_tensor))
    os.environ |= {"SDPA_DEVICE": NAME, "PYTHONSTARTUP": __file__}


if __name__ == "__main__":
    pytest_configure()
