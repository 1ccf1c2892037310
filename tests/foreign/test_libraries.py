"""``watch`` and ``rescaled`` on one small model each of timm, x-transformers and diffusers, with
random weights.
"""

import pytest
import torch

from sdpa_lib import rescaled, watch


def normal(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def tokens():
    return torch.randint(0, 40, (2, 10), generator=torch.Generator().manual_seed(1))


def timm():
    models = pytest.importorskip("timm", reason="make test-foreign installs it")
    model = models.create_model(
        "vit_tiny_patch16_224",
        img_size=32,
        patch_size=8,
        embed_dim=24,
        depth=2,
        num_heads=3,
        attn_drop_rate=0.1,
    )
    return model, lambda: model(normal(2, 3, 32, 32))


def x_transformers():
    """Rotary, grouped, and with cross-attention."""
    models = pytest.importorskip("x_transformers", reason="make test-foreign installs it")
    layers = models.Decoder(
        dim=24,
        depth=2,
        heads=4,
        attn_kv_heads=2,
        attn_dim_head=8,
        attn_flash=True,
        rotary_pos_emb=True,
        cross_attend=True,
    )
    model = models.TransformerWrapper(num_tokens=40, max_seq_len=16, attn_layers=layers)
    return model, lambda: model(tokens(), context=normal(2, 7, 24))


def diffusers_unet():
    models = pytest.importorskip("diffusers", reason="make test-foreign installs it")
    model = models.UNet2DConditionModel(
        sample_size=8,
        in_channels=3,
        out_channels=3,
        layers_per_block=1,
        block_out_channels=(16, 16),
        norm_num_groups=4,
        attention_head_dim=8,
        cross_attention_dim=12,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )
    steps = torch.tensor([1, 5])
    return model, lambda: model(normal(2, 3, 8, 8), steps, normal(2, 5, 12)).sample


def diffusers_transformer():
    models = pytest.importorskip("diffusers", reason="make test-foreign installs it")
    model = models.DiTTransformer2DModel(
        num_attention_heads=3,
        attention_head_dim=8,
        in_channels=4,
        num_layers=2,
        sample_size=8,
        norm_num_groups=4,
        num_embeds_ada_norm=10,
    )
    steps = torch.tensor([1, 5])
    inputs = {"timestep": steps, "class_labels": steps}
    return model, lambda: model(normal(2, 4, 8, 8), **inputs).sample


# The names of some layers, each with its heads, rows of a sequence and keys that a row sees.
MODELS = {
    timm: {f"blocks.{i}.attn": (3, 17, 17) for i in range(2)},
    x_transformers: {
        "attn_layers.layers.0.1.attend": (4, 10, 5.5),
        "attn_layers.layers.1.1.attend": (4, 10, 7),
        "attn_layers.layers.3.1.attend": (4, 10, 5.5),
        "attn_layers.layers.4.1.attend": (4, 10, 7),
    },
    diffusers_unet: {
        f"{block}.attentions.{i}.transformer_blocks.0.{layer}": (8, rows, keys or rows)
        for block, i, rows in (
            ("down_blocks.0", 0, 64),
            ("mid_block", 0, 16),
            ("up_blocks.1", 0, 64),
            ("up_blocks.1", 1, 64),
        )
        for layer, keys in (("attn1", 0), ("attn2", 5))
    },
    diffusers_transformer: {f"transformer_blocks.{i}.attn1": (3, 16, 16) for i in range(2)},
}


def step(model, compute):
    """Output and gradients of a step of training, and the next random number."""
    model.train()
    model.zero_grad()
    torch.manual_seed(3)
    output = compute()
    output.square().mean().backward()
    gradients = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    return [output.detach(), *gradients, torch.rand(3)]


@pytest.mark.parametrize("make", MODELS)
def test_a_step_of_training_is_the_same_bit_for_bit_and_each_layer_is_seen(make):
    torch.manual_seed(0)
    model, compute = make()
    expected = step(model, compute)
    with watch(model) as seen:
        watched = step(model, compute)
    assert len(watched) == len(expected)
    assert all(map(torch.equal, watched, expected))
    assert not seen.unmeasured
    layers = {
        layer["where"]: (layer["heads"], layer["queries"] / 2, layer["keys"])
        for layer in seen.layers()
    }
    assert layers == MODELS[make]


@pytest.mark.parametrize("make", MODELS)
def test_another_divisor_reaches_every_layer(make):
    torch.manual_seed(0)
    model, compute = make()
    plain = step(model, compute)
    with watch(model) as seen, rescaled("d_k"):
        divided = step(model, compute)
    assert not torch.equal(divided[0], plain[0])
    assert all(layer["scale"] == pytest.approx(1 / layer["d_k"]) for layer in seen.layers())
    with rescaled("sqrt_d_k"):  # which is their own
        for ours, theirs in zip(step(model, compute), plain, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-5)
