"""The parameters of well-known models, name by name, from formulas.

Names, shapes and their order are those of ``model.named_parameters()`` in torchvision (ResNet,
VGG) and transformers (GPT2LMHeadModel, whose output layer is the embedding, and
LlamaForCausalLM).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TypeAlias

Parameters: TypeAlias = Iterator[tuple[str, tuple[int, ...]]]


def _weight_and_bias(name: str, weight: tuple[int, ...], outputs: int) -> Parameters:
    yield f"{name}.weight", weight
    yield f"{name}.bias", (outputs,)


def _convolved(name: str, norm: str, outputs: int, inputs: int, kernel: int) -> Parameters:
    """A convolution without bias, and the batch normalization after it."""
    yield f"{name}.weight", (outputs, inputs, kernel, kernel)
    yield from _weight_and_bias(norm, (outputs,), outputs)


def _resnet_block(name: str, inputs: int, width: int, stride: int, wide: bool) -> Parameters:
    """Two 3x3 convolutions; or 1x1, 3x3 and a 1x1 that is four times as wide."""
    outputs = 4 * width if wide else width
    channels = (inputs, width, width, outputs) if wide else (inputs, width, width)
    for number, kernel in enumerate((1, 3, 1) if wide else (3, 3), 1):
        into, out = channels[number - 1], channels[number]
        yield from _convolved(f"{name}.conv{number}", f"{name}.bn{number}", out, into, kernel)
    if stride != 1 or inputs != outputs:
        short = f"{name}.downsample"
        yield from _convolved(f"{short}.0", f"{short}.1", outputs, inputs, 1)


def resnet(blocks: tuple[int, int, int, int], wide: bool) -> Parameters:
    """He et al., Deep residual learning for image recognition, 2016, table 1."""
    yield from _convolved("conv1", "bn1", 64, 3, 7)
    inputs = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        for block in range(count):
            stride = 2 if stage and not block else 1
            yield from _resnet_block(f"layer{stage + 1}.{block}", inputs, width, stride, wide)
            inputs = 4 * width if wide else width
    yield from _weight_and_bias("fc", (1000, inputs), 1000)


def vgg16() -> Parameters:
    """Simonyan and Zisserman, Very deep convolutional networks, 2015, column D."""
    place, inputs = 0, 3
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            yield from _weight_and_bias(f"features.{place}", (width, inputs, 3, 3), width)
            place, inputs = place + 2, width  # an activation follows
        place += 1  # and pooling
    inputs *= 7 * 7
    for place, outputs in ((0, 4096), (3, 4096), (6, 1000)):
        yield from _weight_and_bias(f"classifier.{place}", (outputs, inputs), outputs)
        inputs = outputs


def gpt2(width: int, layers: int, vocabulary: int = 50_257, positions: int = 1024) -> Parameters:
    """Radford et al., Language models are unsupervised multitask learners, 2019, table 2.

    Its linear layers keep their weights as (inputs, outputs).
    """
    yield "transformer.wte.weight", (vocabulary, width)
    yield "transformer.wpe.weight", (positions, width)
    for layer in range(layers):
        at = f"transformer.h.{layer}"
        yield from _weight_and_bias(f"{at}.ln_1", (width,), width)
        yield from _weight_and_bias(f"{at}.attn.c_attn", (width, 3 * width), 3 * width)
        yield from _weight_and_bias(f"{at}.attn.c_proj", (width, width), width)
        yield from _weight_and_bias(f"{at}.ln_2", (width,), width)
        yield from _weight_and_bias(f"{at}.mlp.c_fc", (width, 4 * width), 4 * width)
        yield from _weight_and_bias(f"{at}.mlp.c_proj", (4 * width, width), width)
    yield from _weight_and_bias("transformer.ln_f", (width,), width)


def llama(width: int, layers: int, inner: int, vocabulary: int = 32_000) -> Parameters:
    """Touvron et al., LLaMA: open and efficient foundation language models, 2023, table 2."""
    yield "model.embed_tokens.weight", (vocabulary, width)
    for layer in range(layers):
        at = f"model.layers.{layer}"
        for letter in "qkvo":
            yield f"{at}.self_attn.{letter}_proj.weight", (width, width)
        yield f"{at}.mlp.gate_proj.weight", (inner, width)
        yield f"{at}.mlp.up_proj.weight", (inner, width)
        yield f"{at}.mlp.down_proj.weight", (width, inner)
        yield f"{at}.input_layernorm.weight", (width,)
        yield f"{at}.post_attention_layernorm.weight", (width,)
    yield "model.norm.weight", (width,)
    yield "lm_head.weight", (vocabulary, width)


MODELS: Mapping[str, Callable[[], Parameters]] = {
    "resnet18": partial(resnet, (2, 2, 2, 2), wide=False),
    "resnet34": partial(resnet, (3, 4, 6, 3), wide=False),
    "resnet50": partial(resnet, (3, 4, 6, 3), wide=True),
    "resnet101": partial(resnet, (3, 4, 23, 3), wide=True),
    "vgg16": vgg16,
    "gpt2": partial(gpt2, 768, 12),
    "gpt2-xl": partial(gpt2, 1600, 48),
    "gpt-7b": partial(gpt2, 4096, 32, positions=2048),  # GPT-3 6.7B: Brown et al., 2020, table 2.1
    "llama-7b": partial(llama, 4096, 32, 11_008),
}
