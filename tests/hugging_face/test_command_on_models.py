"""``python -m sdpa_lib`` on tiny models of random weights, saved with a tiny tokeniser."""

import importlib.util
import json

import pytest
import torch
import torch.nn.functional as F

transformers = pytest.importorskip("transformers", reason="make test-transformers installs it")
gguf = pytest.importorskip("gguf", reason="make test-transformers installs it")

from tiny_models import SHAPE  # noqa: E402
from tokenizers import Tokenizer, models, pre_tokenizers, processors  # noqa: E402

from sdpa_lib import rescaled, watch  # noqa: E402
from sdpa_lib.__main__ import FIGURES, _load, _passages, _read, main  # noqa: E402

BEGIN, END = 0, 1
TEXT = " ".join(f"w{i * i % 37}" for i in range(400))


def tokenizer(begin=True, end=False):
    """Of the words w0 to w36, which puts special tokens where it is told to."""
    vocabulary = {"<s>": BEGIN, "</s>": END, "?": 2} | {f"w{i}": 3 + i for i in range(37)}
    fast = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    fast.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast.post_processor = processors.TemplateProcessing(
        single=["<s>"] * begin + ["$A"] + ["</s>"] * end,
        special_tokens=[("<s>", BEGIN), ("</s>", END)],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=fast, bos_token="<s>", eos_token="</s>", unk_token="?"
    )


def llama():
    configuration = transformers.LlamaConfig(**SHAPE, num_key_value_heads=2)
    return transformers.LlamaForCausalLM(configuration)


def bert():
    return transformers.BertForMaskedLM(transformers.BertConfig(**SHAPE))


def t5():
    return transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=40, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4,
            decoder_start_token_id=BEGIN,
        )
    )  # fmt: skip


def opt():
    """Which scales its queries before attention."""
    return transformers.OPTForCausalLM(
        transformers.OPTConfig(
            vocab_size=40, hidden_size=32, word_embed_proj_dim=32, ffn_dim=48, num_hidden_layers=2,
            num_attention_heads=4, max_position_embeddings=64,
        )
    )  # fmt: skip


def deberta():
    """Which computes attention by hand."""
    return transformers.DebertaV2Model(
        transformers.DebertaV2Config(**SHAPE, relative_attention=False)
    )


@pytest.fixture
def saved(tmp_path):
    """Saves a model with a tokeniser; gives the model, and the command's first arguments."""

    def save(make, **special):
        torch.manual_seed(0)
        model = make().eval()
        folder, text = tmp_path / "model", tmp_path / "text.txt"
        model.save_pretrained(folder)
        tokenizer(**special).save_pretrained(folder)
        text.write_text(TEXT)
        return model, [str(folder), "--text", str(text)]

    return save


def report(capsys, *arguments, status=0):
    """What it says in JSON, which has no NaN."""
    capsys.readouterr()
    assert main([*arguments, "--json"]) == status

    def refuse(constant):
        raise AssertionError(constant)

    return json.loads(capsys.readouterr().out, parse_constant=refuse)


def refusal(capsys, *arguments):
    capsys.readouterr()
    assert main([*arguments]) == 2
    printed, messages = capsys.readouterr()
    assert printed == ""
    return messages.splitlines()[-1]


def passages(length, *, before=(BEGIN,), after=(), count=8):
    """Such as the command is to cut."""
    words = [3 + i * i % 37 for i in range(400)]
    width = length - len(before) - len(after)
    whole = [words[i : i + width] for i in range(0, len(words) - width + 1, width)]
    if len(whole) > count:
        whole = [whole[i * len(whole) // count] for i in range(count)]
    return torch.tensor([[*before, *words, *after] for words in whole])


def test_a_causal_model_reads_what_its_tokeniser_makes_of_the_text(saved, capsys):
    model, arguments = saved(llama)
    given = report(capsys, *arguments, "--length", "32", "--swap", "k_mean")
    tokens = passages(32)
    assert (given["passages"], given["tokens"]) == tuple(tokens.shape) == (8, 32)
    assert given["special_tokens"] == [["<s>"], []]
    with torch.no_grad():
        for swap, of_swap in (("k_mean", given["swaps"]["k_mean"]), (None, given)):
            with watch(model) as seen:
                if swap is None:
                    logits = model(tokens).logits
                else:
                    with rescaled(swap):
                        logits = model(tokens).logits
            loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
            assert of_swap["loss"] == pytest.approx(loss.item(), rel=1e-4)
            assert len(of_swap["heads"]) == 8
            for head, expected in zip(of_swap["heads"], seen.heads(), strict=True):
                assert head.pop("where") == expected.pop("where")
                assert head == pytest.approx(expected, rel=1e-3, abs=1e-5)
    assert given["swaps"]["k_mean"]["loss"] != pytest.approx(given["loss"], rel=1e-3)


def test_an_encoder_has_no_loss_and_both_special_tokens(saved, capsys):
    model, arguments = saved(bert, end=True)
    given = report(capsys, *arguments, "--length", "32", "--swap", "none", "sqrt_d_k")
    assert given["special_tokens"] == [["<s>"], ["</s>"]]
    assert given["loss"] is None
    tokens = passages(32, after=[END])
    with torch.no_grad(), watch(model) as seen:
        own = model(tokens, output_hidden_states=True).hidden_states[-1]
        with rescaled("none"):
            other = model(tokens, output_hidden_states=True).hidden_states[-1]
    moved = (((other - own).norm(dim=-1)) / own.norm(dim=-1)).quantile(0.5).item()
    assert given["swaps"]["none"]["moved"] == pytest.approx(moved, rel=1e-3)
    assert given["swaps"]["sqrt_d_k"]["moved"] == pytest.approx(0, abs=1e-5)  # which is its own
    assert {head["where"] for head in given["heads"]} == {x["where"] for x in seen.heads()}
    assert {head["keys"] for head in given["heads"]} == {32.0}


def test_an_encoder_and_decoder_are_both_seen(saved, capsys):
    _, arguments = saved(t5, begin=False, end=True)
    given = report(capsys, *arguments, "--length", "32", "--swap", "d_k")
    assert given["loss"] is None
    assert {head["where"].split(".")[0] for head in given["heads"]} == {"encoder", "decoder"}
    assert {head["scale"] for head in given["heads"]} == {1.0}
    assert given["swaps"]["d_k"]["moved"] > 0.01


def test_a_divisor_that_a_model_refuses_does_not_hide_what_was_seen(saved, capsys):
    _, arguments = saved(opt)
    given = report(capsys, *arguments, "--swap", "d_k")
    assert len(given["heads"]) == 8
    assert "scales its queries itself" in given["swaps"]["d_k"]["refused"]
    assert main([*arguments, "--swap", "d_k"]) == 0
    assert f"d_k is refused: {given['swaps']['d_k']['refused']}" in capsys.readouterr().out


def test_the_summary_comes_first_and_every_head_on_request(saved, capsys):
    _, arguments = saved(llama)
    heads = report(capsys, *arguments)["heads"]
    assert main([*arguments, "--swap", "d_k"]) == 0
    about, summary, layers, swaps = capsys.readouterr().out.split("\n\n")
    assert "LlamaForCausalLM, float32" in about
    assert "6 passages of 64 tokens of text.txt; special tokens before: <s>; after: none" in about
    lines = [line.split("  ") for line in summary.splitlines()]
    assert lines[0][0] == "8 heads"
    assert [line[0] for line in lines[1:]] == list(FIGURES.values())
    spreads = [head["spread"] for head in heads]
    for extreme, place in ((min, 3), (max, 5)):
        head = heads[spreads.index(extreme(spreads))]
        cells = [cell.strip() for cell in lines[1] if cell.strip()]
        assert cells[place - 1 : place + 1] == [
            f"{head['spread']:.2f}", f"{head['where']} {head['head']}"
        ]  # fmt: skip
    assert layers.splitlines()[1].startswith("model.layers.0.self_attn")
    assert [line.split()[0] for line in swaps.splitlines()[-2:]] == ["its", "d_k"]
    assert main([*arguments, "--heads"]) == 0
    every = capsys.readouterr().out.split("\n\n")[-1].splitlines()
    assert [line.split()[:2] for line in every[1:]] == [[x["where"], str(x["head"])] for x in heads]
    assert max(map(len, [*summary.splitlines(), *every, *swaps.splitlines()])) <= 100


def test_without_a_text_it_reads_the_readme(saved, capsys):
    _, arguments = saved(llama)
    given = report(capsys, arguments[0])
    assert (given["passages"], given["tokens"]) == (8, 64)
    assert given["text"] == "the README of sdpa_lib"


def test_a_short_text_is_read_whole_and_a_shorter_one_refused(saved, capsys, tmp_path):
    _, arguments = saved(llama)
    text = tmp_path / "short.txt"
    text.write_text("w1 " * 20)
    assert report(capsys, arguments[0], "--text", str(text))["tokens"] == 21
    text.write_text("w1 " * 7)
    assert "the text has 7" in refusal(capsys, arguments[0], "--text", str(text))
    assert "7 are left" in refusal(capsys, *arguments, "--length", "8")


def test_missing_weights_are_refused_by_name_and_unused_ones_told(saved, capsys, tmp_path):
    model, arguments = saved(bert)
    weights = model.state_dict()
    model.save_pretrained(
        tmp_path / "model", state_dict=weights | {"bert.cap.weight": torch.zeros(3)}
    )
    assert report(capsys, *arguments)["unused_weights"] == ["bert.cap.weight"]
    assert main(arguments) == 0
    assert "weights that it does not use: bert.cap.weight" in capsys.readouterr().out
    name = "bert.encoder.layer.1.attention.self.query.weight"
    del weights[name]
    model.save_pretrained(tmp_path / "model", state_dict=weights)
    assert name in refusal(capsys, *arguments)


@pytest.mark.parametrize("says_its_class", [True, False])
def test_an_encoder_is_no_causal_model_with_random_output_weights(
    says_its_class, saved, capsys, tmp_path
):
    """Transformers would make one of it, if asked for a causal model."""
    _, arguments = saved(lambda: transformers.BertModel(transformers.BertConfig(**SHAPE)))
    if not says_its_class:
        path = tmp_path / "model" / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"architectures": None}))
    given = report(capsys, *arguments)
    assert given["class"] == "BertModel"
    assert given["loss"] is None


def broken():
    model = llama()
    torch.nn.init.constant_(model.model.layers[1].self_attn.q_proj.weight, torch.nan)
    return model


def test_figures_that_are_no_numbers_are_null_in_json_and_told(saved, capsys):
    _, arguments = saved(broken)
    given = report(capsys, *arguments, "--swap", "d_k")
    assert given["loss"] is given["swaps"]["d_k"]["moved"] is given["heads"][-1]["spread"] is None
    assert given["heads"][0]["spread"] is not None
    assert main([*arguments, "--swap", "d_k"]) == 0
    assert "figures are not numbers: model.layers.1.self_attn" in capsys.readouterr().out


def test_a_model_that_is_not_seen_says_why(saved, capsys):
    _, arguments = saved(deberta)
    assert report(capsys, *arguments, status=1)["heads"] == []
    assert main([*arguments, "--swap", "d_k"]) == 1
    assert "No call of scaled_dot_product_attention was seen" in capsys.readouterr().out


def test_a_model_with_code_of_its_own_is_refused(saved, capsys, tmp_path):
    _, arguments = saved(llama)
    path = tmp_path / "model" / "config.json"
    theirs = {"model_type": "theirs", "auto_map": {"AutoConfig": "theirs.Configuration"}}
    path.write_text(json.dumps(json.loads(path.read_text()) | theirs))
    (tmp_path / "model" / "theirs.py").write_text("raise SystemExit('it was run')")
    assert "brings code of its own" in refusal(capsys, *arguments)


@pytest.mark.parametrize("what", ["nothing", "no tokeniser", "broken weights", "no path"])
def test_what_can_not_be_loaded_is_said_in_one_line(what, saved, capsys, tmp_path):
    _, arguments = saved(llama)
    folder = tmp_path / "model"
    for path in list(folder.iterdir()):
        if what == "nothing" or (what == "no tokeniser" and "token" in path.name):
            path.unlink()
    if what == "broken weights":
        (folder / "model.safetensors").write_bytes(b"broken")
    if what == "no path":
        assert f"there is no {folder}s" in refusal(capsys, f"{folder}s", *arguments[1:])
    else:
        assert f"{folder} can not be loaded: " in refusal(capsys, *arguments)


def test_a_tokeniser_of_another_model_is_refused(saved, capsys):
    small = SHAPE | {"vocab_size": 30}
    configuration = transformers.LlamaConfig(**small, num_key_value_heads=2)
    _, arguments = saved(lambda: transformers.LlamaForCausalLM(configuration))
    assert "the model knows only 30 tokens" in refusal(capsys, *arguments)


def write_gguf(model, path):
    """A Llama as llama.cpp would store it: names of its own, and rotated pairs side by side."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(SHAPE["max_position_embeddings"])
    writer.add_embedding_length(32)
    writer.add_block_count(2)
    writer.add_feed_forward_length(48)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_dimension_count(8)
    writer.add_vocab_size(40)
    writer.add_tokenizer_model("gpt2")
    tokens = ["<s>", "</s>", "?", "w", *"0123456789", "\u0120", "w1", "w2"]  # of pairs of letters
    writer.add_token_list([*tokens, *(f"other {i}" for i in range(40 - len(tokens)))])
    writer.add_token_merges(["w 1", "w 2"])
    writer.add_bos_token_id(BEGIN)
    writer.add_add_bos_token(True)
    writer.add_eos_token_id(END)
    names = {
        "model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
        "model.layers.": "blk.", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
        "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
        "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down",
        "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    }  # fmt: skip
    for name, weight in model.state_dict().items():
        heads = 4 * ("q_proj" in name) + 2 * ("k_proj" in name)
        if heads:
            weight = weight.unflatten(0, (heads, 2, -1)).transpose(1, 2).flatten(0, 2)
        for theirs, ours in names.items():
            name = name.replace(theirs, ours)
        writer.add_tensor(name, weight.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_a_gguf_file_gives_what_the_model_gives(saved, capsys, tmp_path):
    model, arguments = saved(llama)
    path = tmp_path / "model.gguf"
    write_gguf(model, path)
    given = report(capsys, str(path), *arguments[1:], "--length", "32")
    assert given["class"] == "LlamaForCausalLM"
    assert given["special_tokens"] == [["<s>"], []]
    assert len(given["heads"]) == 8
    tokens = _passages(_load(str(path), torch.device("cpu")), TEXT, 32, 8).tokens
    assert given["loss"] == pytest.approx(_read(model, tokens).loss, rel=1e-4)


def test_a_gguf_file_says_which_package_it_needs(saved, capsys, tmp_path, monkeypatch):
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert "pip install gguf accelerate" in refusal(capsys, str(path))
