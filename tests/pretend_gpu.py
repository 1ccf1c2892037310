"""A pretend GPU, which computes on the CPU and refuses what a real one refuses: tensors on two
devices, a generator of the CPU's, NumPy.

``SDPA_DEVICE`` names it once this module is imported: ``pytest -p pretend_gpu`` does so.
"""

import os

import torch
from torch.utils import _pytree as pytree
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "pretend"
_setup_privateuseone_for_python_backend(NAME)
torch._C._set_only_lift_cpu_tensors(True)  # so that torch.tensor(…, device=…) comes by
os.environ |= {"SDPA_DEVICE": NAME, "PYTHONSTARTUP": __file__}  # the latter for kernels
TAKES_OTHERS = {"aten::copy_", "aten::_to_copy"}
TAKES_INDICES = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}


class Pretend(torch.Tensor):
    """A tensor on the pretend device, whose numbers are those of ``real``, on the CPU."""

    @staticmethod
    def __new__(cls, real):
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            real.shape,
            strides=real.stride(),
            storage_offset=real.storage_offset(),
            dtype=real.dtype,
            device=torch.device(NAME, 0),
        )
        made.real_one = real
        return made

    def tolist(self):
        return self.cpu().tolist()

    def numpy(self, *, force=False):
        if force:
            return self.detach().cpu().numpy()
        raise TypeError(
            f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy "
            "the tensor to host memory first."
        )

    def __repr__(self):
        return f"{self.cpu()!r}"[:-1] + f", device='{self.device}')"

    def __format__(self, spec):
        return format(self.item() if self.dim() == 0 else repr(self), spec)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return on_the_cpu(func, args, kwargs or {})


def on_the_cpu(func, args, kwargs):
    """What ``func`` gives, on the pretend device where that of a GPU would be there."""
    name, flat = func._schema.name, pytree.tree_leaves((args, kwargs))
    given = {id(getattr(x, "real_one", x)): x for x in flat if isinstance(x, torch.Tensor)}
    if any(isinstance(x, torch.Generator) for x in flat):
        raise RuntimeError(f"Expected a '{NAME}' device type for generator but found 'cpu'")
    checked = args[:1] + args[2:] if name in TAKES_INDICES else args
    others = [x for x in pytree.tree_leaves((checked, kwargs)) if isinstance(x, torch.Tensor)]
    if name not in TAKES_OTHERS and any(not isinstance(x, Pretend) and x.dim() for x in others):
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{NAME}:0 and cpu! ({name})"
        )
    there = torch.device(kwargs.get("device") or NAME).type == NAME
    if "device" in kwargs:
        kwargs = kwargs | {"device": torch.device("cpu")}
    args, kwargs = pytree.tree_map_only(Pretend, lambda x: x.real_one, (args, kwargs))
    made = func(*args, **kwargs)

    def back(x):
        return given[id(x)] if id(x) in given else Pretend(x) if there else x

    return pytree.tree_map_only(torch.Tensor, back, made)


library = torch.library.Library("_", "IMPL", "PrivateUse1")
library.fallback(lambda func, *args, **kwargs: on_the_cpu(func, args, kwargs), "PrivateUse1")
