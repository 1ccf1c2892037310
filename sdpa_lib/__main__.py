"""``python -m sdpa_lib MODEL``: what attention does in a model of Hugging Face Transformers while
it reads a text, and what becomes of it with another divisor.

It is :func:`sdpa_lib.watch <sdpa_lib.watching.watch>` and :func:`sdpa_lib.rescaled
<sdpa_lib.watching.rescaled>` around the model that the folder, name or GGUF file holds. The figures
of a head are those of :meth:`Seen.heads <sdpa_lib.watching.Seen.heads>`.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import inspect
import json
import math
import sys
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sdpa_lib.device import get_device
from sdpa_lib.rescaling import get_rescaling
from sdpa_lib.watching import Seen, as_text, rescaled, shortened_name, watch

PROGRAM = "python -m sdpa_lib"
LEAST = 8
"""How many tokens a text must have."""

FIGURES = {
    "spread": "spread",
    "effective_keys": "eff. keys",
    "largest_weight": "largest weight",
    "saturated": "rows > 0.9",
    "first_key": "first key",
    "largest_score": "top score",
}
"""The figures of a head that are shown, and what they are called; all are in JSON."""

Head = dict[str, Any]


class CommandError(Exception):
    """What the person who typed the command can mend, in one line."""


class Loaded(NamedTuple):
    """A model and its tokeniser, and which weights in its files the model did not take."""

    model: Any
    tokenizer: Any
    unused: list[str]


class Passages(NamedTuple):
    """Tokens (B, n) of a text, and the special tokens that the tokeniser put around each."""

    tokens: Tensor
    before: list[int]
    after: list[int]


class Reading(NamedTuple):
    """The loss of the next token in nats, of a causal model; the last hidden states (B n, width);
    and what was seen.
    """

    loss: float | None
    states: Tensor
    seen: Seen

    @property
    def heads(self) -> list[Head]:
        return self.seen.heads()


def main(arguments: list[str] | None = None) -> int:
    """The command; gives its exit status."""
    options = _parser().parse_args(arguments)
    try:
        return _run(options)
    except CommandError as error:
        print(f"{PROGRAM}: error: {_in_one_line(error)}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="What attention does in a model of Hugging Face Transformers while it reads a "
        "text: how far the scores of each head lie apart, over how many keys its weights spread, "
        "how large its scores grow; and what becomes of the model with another divisor.",
        epilog="The figures of a head are means over its rows, but for the largest score. It runs "
        "on a GPU if there is one (SDPA_DEVICE names another device) in the dtype of the weights, "
        "on a CPU in float32. Exit status: 0; 1 where no attention was seen; 2 for an error.",
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="a folder, a name on Hugging Face's hub, or a GGUF file: causal, an encoder, or both",
    )
    parser.add_argument(
        "--text",
        type=Path,
        metavar="FILE",
        help="what it reads, in UTF-8 (default: the README of sdpa_lib)",
    )
    parser.add_argument(
        "--length",
        type=int,
        default=256,
        help="tokens a passage, with the special ones; at most those the model takes, or the text "
        "has (default: %(default)s)",
    )
    parser.add_argument(
        "--passages",
        type=int,
        default=8,
        help="how many it reads, spread evenly over the text (default: %(default)s)",
    )
    parser.add_argument(
        "--swap",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="divisors to try in place of the model's own, such as none, d_k, k_mean, k_total",
    )
    parser.add_argument("--heads", action="store_true", help="a line for each head, too")
    parser.add_argument("--json", action="store_true", help="print every figure, as JSON")
    return parser


def _run(options: argparse.Namespace) -> int:
    for name in ("length", "passages"):
        if getattr(options, name) < 1:
            raise CommandError(f"--{name} must be at least 1, got {getattr(options, name)}")
    try:
        for name in options.swap:
            get_rescaling(name)
        device = get_device()
    except ValueError as error:
        raise CommandError(str(error)) from error
    text = _text(options.text)
    loaded = _load(options.model, device)
    model = loaded.model
    passages = _passages(loaded, text, options.length, options.passages)
    own = _read(model, passages.tokens)
    swaps: dict[str, Reading | str] = {}
    for name in options.swap if own.heads else ():
        try:
            with rescaled(name):
                swaps[name] = _read(model, passages.tokens)
        except ValueError as error:  # a model that scales its queries itself
            swaps[name] = str(error)
    source = "the README of sdpa_lib" if options.text is None else options.text.name
    facts = {
        "model": options.model,
        "class": type(model).__name__,
        "dtype": str(model.dtype).removeprefix("torch."),
        "text": source,
        "passages": len(passages.tokens),
        "tokens": passages.tokens.shape[1],
        "special_tokens": [
            loaded.tokenizer.convert_ids_to_tokens(ids) for ids in passages[1:]
        ],  # before, after
        "unused_weights": loaded.unused,
    }
    if options.json:
        facts |= {"loss": own.loss, "heads": own.heads, "unmeasured": own.seen.unmeasured}
        facts["swaps"] = {name: _as_dict(swap, own) for name, swap in swaps.items()}
        print(json.dumps(_finite(facts), indent=1, allow_nan=False))
    else:
        print("\n\n".join(_report(facts, own, swaps, options.heads)))
    return 0 if own.heads else 1


def _text(path: Path | None) -> str:
    if path is None:
        return Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"--text {path} can not be read as UTF-8: {error}") from error
    if not text.strip():
        raise CommandError(f"--text {path} is empty")
    return text


def _load(name: str, device: torch.device) -> Loaded:
    """The model that was saved under a name, as the class that it was saved as."""
    try:
        transformers = importlib.import_module("transformers")
    except ImportError as error:
        raise CommandError(
            "it needs Hugging Face Transformers: pip install transformers"
        ) from error
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    source, options = name, dict[str, Any](trust_remote_code=False)
    is_gguf = name.endswith(".gguf")
    is_path = Path(name).is_absolute() or name.startswith(".") or name.count("/") > 1 + is_gguf
    if is_path and not Path(name).exists():  # and what is no path may be a name on the hub
        raise CommandError(f"there is no {name}")
    if is_gguf:
        if absent := [x for x in ("gguf", "accelerate") if importlib.util.find_spec(x) is None]:
            raise CommandError(f"a GGUF file needs more packages: pip install {' '.join(absent)}")
        source = Path(name).parent.as_posix()
        options["gguf_file"] = Path(name).name
    try:
        config = transformers.AutoConfig.from_pretrained(source, **options)
        saved: Any = getattr(transformers, (config.architectures or [""])[0], None)
        if not (isinstance(saved, type) and issubclass(saved, transformers.PreTrainedModel)):
            saved = transformers.AutoModelForCausalLM if is_gguf else transformers.AutoModel
        loading = {
            "dtype": torch.float32 if device.type == "cpu" else "auto",
            "output_loading_info": True,
            **options,
        }
        try:
            model, info = saved.from_pretrained(source, attn_implementation="sdpa", **loading)
        except ValueError as error:
            if "scaled_dot_product_attention" not in str(error):
                raise
            model, info = saved.from_pretrained(source, **loading)  # and it will not be seen
        tokenizer = transformers.AutoTokenizer.from_pretrained(source, **options)
    except Exception as error:  # of whatever kind: the files are somebody else's
        if "trust_remote_code" in str(error):
            raise CommandError(
                f"{name} brings code of its own, which this command does not run: load it yourself "
                f"with trust_remote_code=True, and use sdpa_lib.watch(model)"
            ) from error
        raise CommandError(f"{name} can not be loaded: {error}") from error
    if missing := sorted(info["missing_keys"]):
        raise CommandError(
            f"{name} lacks weights of {type(model).__name__}, which would be random: "
            f"{_some(missing)}"
        )
    return Loaded(model.eval().to(device), tokenizer, sorted(info["unexpected_keys"]))


def _passages(loaded: Loaded, text: str, length: int, count: int) -> Passages:
    """Passages that do not overlap, spread evenly over a text."""
    model, tokenizer = loaded.model, loaded.tokenizer
    plain = tokenizer(text, add_special_tokens=False)["input_ids"]
    whole = tokenizer(text)["input_ids"]
    n_added = len(whole) - len(plain)
    begins = [i for i in range(n_added + 1) if whole[i : i + len(plain)] == plain]
    if not begins:
        raise CommandError("its tokeniser puts special tokens into a text, not around it")
    before, after = whole[: begins[0]], whole[begins[0] + len(plain) :]
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None) or length
    length = min(length, positions, tokenizer.model_max_length) - n_added
    length = min(length, len(plain))  # without the special tokens
    if length < LEAST:
        raise CommandError(
            f"a passage must have at least {LEAST} tokens beside the {n_added} special ones: the "
            f"text has {len(plain)}, and with --length and the model's positions {length} are left"
        )
    n_whole = len(plain) // length
    starts = [i * n_whole // count * length for i in range(count)] if n_whole > count else None
    starts = starts or [i * length for i in range(n_whole)]
    tokens = torch.tensor([[*before, *plain[i : i + length], *after] for i in starts])
    n_known = model.get_input_embeddings().weight.shape[0]
    if tokens.max() >= n_known:
        raise CommandError(
            f"its tokeniser gives token {tokens.max()}, but the model knows only {n_known} tokens"
        )
    return Passages(tokens.to(model.device), before, after)


@torch.no_grad()
def _read(model: Any, tokens: Tensor) -> Reading:
    """Have a model read passages (B, n), one at a time, and watch. A decoder that looks at an
    encoder reads what that reads.
    """
    predicts = model.can_generate() and not model.config.is_encoder_decoder
    has_two = "decoder_input_ids" in inspect.signature(model.forward).parameters
    losses, states = [], []
    with watch(model) as seen:
        for passage in tokens[:, None]:  # (1, n)
            given = {"decoder_input_ids": passage} if has_two else {}
            output = model(input_ids=passage, output_hidden_states=True, **given)
            layers = output.get("decoder_hidden_states") or output["hidden_states"]
            states.append(layers[-1][0].float())
            if predicts:
                losses.append(F.cross_entropy(output["logits"][0, :-1].float(), passage[0, 1:]))
    loss = torch.stack(losses).mean().item() if losses else None
    return Reading(loss, torch.cat(states), seen)


def _moved(swap: Reading, own: Reading) -> float:
    """How far the last hidden state of the median token moves, relative to its length."""
    return _median(((swap.states - own.states).norm(dim=-1) / own.states.norm(dim=-1)).tolist())


def _median(numbers: list[float]) -> float:
    return torch.tensor(numbers, dtype=torch.float64).quantile(0.5).item()  # NaN, if one is


def _as_dict(swap: Reading | str, own: Reading) -> dict[str, Any]:
    if isinstance(swap, str):
        return {"refused": swap}
    return {"loss": swap.loss, "moved": _moved(swap, own), "heads": swap.heads}


def _finite(value: Any) -> Any:
    """A value that JSON can say: null for what is no finite number."""
    if isinstance(value, dict):
        return {key: _finite(x) for key, x in value.items()}
    if isinstance(value, list):
        return [_finite(x) for x in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _report(
    facts: dict[str, Any], own: Reading, swaps: dict[str, Reading | str], every_head: bool
) -> list[str]:
    """What is printed, in paragraphs: the summary first."""
    before, after = (" ".join(tokens) or "none" for tokens in facts["special_tokens"])
    about = [
        f"{facts['model']}: {facts['class']}, {facts['dtype']}",
        f"read {facts['passages']} passages of {facts['tokens']} tokens of {facts['text']}; "
        f"special tokens before: {before}; after: {after}",
    ]
    if facts["unused_weights"]:
        about.append(f"weights that it does not use: {_some(facts['unused_weights'])}")
    if own.loss is not None:
        about.append(f"loss of the next token: {own.loss:.3f} nats")
    parts = ["\n".join(about)]
    if own.heads:
        parts.append(_summary(own.heads))
    parts.append(str(own.seen))
    if own.heads and every_head:
        parts.append(_every_head(own.heads))
    if swaps:
        parts.append(_swapped(own, swaps))
    return parts


def _summary(heads: list[Head]) -> str:
    """Of each figure the median over heads, and the extremes with their heads."""
    table = [[f"{len(heads)} heads", "median", "lowest", "in head", "highest", "in head"]]
    for name, label in FIGURES.items():
        line = [label, _cell(_median([head[name] for head in heads]))]
        for extreme in (min, max):
            head = extreme(heads, key=lambda head: head[name])
            line += [_cell(head[name]), f"{shortened_name(head['where'], 25)} {head['head']}"]
        table.append(line)
    return as_text(table)


def _every_head(heads: list[Head]) -> str:
    table = [["layer", "head", *FIGURES.values()]]
    for head in heads:
        figures = [_cell(head[name]) for name in FIGURES]
        table.append([shortened_name(head["where"], 25), str(head["head"]), *figures])
    return as_text(table)


def _swapped(own: Reading, swaps: dict[str, Reading | str]) -> str:
    """The model with each divisor, beside itself."""
    names = [name for name in FIGURES if name != "saturated"]
    table = [["divisor", "loss", "state moves", *(FIGURES[name] for name in names)]]
    refused = []
    for name, reading in {"its own": own, **swaps}.items():
        if isinstance(reading, str):
            refused.append(f"{name} is refused: {reading}")
            continue
        loss = "" if reading.loss is None else f"{reading.loss:.3f}"
        medians = [_cell(_median([head[figure] for head in reading.heads])) for figure in names]
        table.append([name, loss, f"{100 * _moved(reading, own):.1f} %", *medians])
    if own.loss is None:
        table = [[line[0], *line[2:]] for line in table]
    about = (
        "The same with other divisors: figures are medians over heads, and the last hidden state "
        "moves by so much of its length in the median token."
    )
    return "\n".join([textwrap.fill(about, 100), as_text(table), *refused])


def _cell(number: float) -> str:
    return f"{number:.2f}" if abs(number) < 100 else f"{number:,.0f}"


def _some(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _in_one_line(error: CommandError) -> str:
    return textwrap.shorten(str(error), 500, placeholder=" ...")


if __name__ == "__main__":
    sys.exit(main())
