"""Parameter shapes: published numbers of parameters, and files in three forms."""

from __future__ import annotations

import json

import numpy as np
import pytest

from refcoll.dataparallel.models import MODELS
from refcoll.dataparallel.shapes import parameter_shapes
from refcoll.dataparallel.tensors import Tensor
from refcoll.errors import ArgumentError

PUBLISHED = {
    "resnet18": (11_689_512, 62),
    "resnet34": (21_797_672, 110),
    "resnet50": (25_557_032, 161),
    "resnet101": (44_549_160, 314),
    "vgg16": (138_357_544, 32),
    "gpt2": (124_439_808, 148),
    "gpt2-xl": (1_557_611_200, 580),
    "gpt-7b": (
        50_257 * 4096 + 2048 * 4096 + 32 * (12 * 4096**2 + 13 * 4096) + 2 * 4096,
        2 + 12 * 32 + 2,
    ),
    "llama-7b": (6_738_415_616, 291),
}
"""Elements as torchvision's model pages (num_params) and transformers' num_parameters() give
them; tensors as len(list(model.parameters())) does.  Of gpt-7b, which nobody publishes with
GPT-2's vocabulary, by hand: each layer has 12 w^2 weights and 13 w biases and norms."""

SPOTS = {
    "resnet18": {0: ("conv1.weight", (64, 3, 7, 7)), 17: ("layer2.0.bn1.bias", (128,)),
                 21: ("layer2.0.downsample.0.weight", (128, 64, 1, 1)), -1: ("fc.bias", (1000,))},
    "resnet50": {9: ("layer1.0.conv3.weight", (256, 64, 1, 1)),
                 12: ("layer1.0.downsample.0.weight", (256, 64, 1, 1)),
                 -2: ("fc.weight", (1000, 2048))},
    "vgg16": {4: ("features.5.weight", (128, 64, 3, 3)), 25: ("features.28.bias", (512,)),
              26: ("classifier.0.weight", (4096, 25_088)), 31: ("classifier.6.bias", (1000,))},
    "gpt2": {0: ("transformer.wte.weight", (50_257, 768)),
             4: ("transformer.h.0.attn.c_attn.weight", (768, 2304)),
             -1: ("transformer.ln_f.bias", (768,))},
    "llama-7b": {7: ("model.layers.0.mlp.down_proj.weight", (4096, 11_008)),
                 8: ("model.layers.0.input_layernorm.weight", (4096,)),
                 -1: ("lm_head.weight", (32_000, 4096))},
}  # fmt: skip
"""As named_parameters() of torchvision and transformers has them, by their places."""


@pytest.mark.parametrize("name", MODELS)
def test_the_number_of_parameters_is_the_published_one(name):
    tensors = parameter_shapes(name)
    assert (sum(each.count for each in tensors), len(tensors)) == PUBLISHED[name]
    assert len({each.name for each in tensors}) == len(tensors)
    for place, (parameter, shape) in SPOTS.get(name, {}).items():
        assert tensors[place] == Tensor(parameter, shape)


def test_a_dtype_for_all():
    assert {each.dtype.name for each in parameter_shapes("gpt2", "bfloat16")} == {"bfloat16"}


WANTED = (
    Tensor("a.weight", (64, 3)),
    Tensor("b", (5,), np.dtype(np.float16)),
    Tensor("c", ()),
)
LINES = "# a model\na.weight  64x3  float32\n\nb 5 float16  # half\nc scalar\n"
LIST = json.dumps([["a.weight", [64, 3]], ["b", [5], "float16"], ["c", [], "float32"]])


@pytest.mark.parametrize("text", [LINES, LIST], ids=["lines", "JSON list"])
def test_files(text, tmp_path):
    path = tmp_path / "shapes"
    path.write_text(text)
    assert parameter_shapes(str(path)) == WANTED


def test_a_json_object_and_its_dtype(tmp_path):
    path = tmp_path / "shapes.json"
    path.write_text('{"b": [5], "a": [2, 2]}')
    half = np.dtype(np.float16)
    assert parameter_shapes(str(path), "float16") == (
        Tensor("b", (5,), half),
        Tensor("a", (2, 2), half),
    )


BAD = [
    ("a 3\nb\n", r"line 2: \['b'\] must be a name, a shape and perhaps a dtype"),
    ("a 3 float32 cpu\n", r"line 1: \['a', '3', 'float32', 'cpu'\] must be"),
    ("a 3\n\nb 3x-4\n", r"line 3: the shape '3x-4' must be lengths"),
    ("a 3,4\n", r"line 1: the shape '3,4' must be lengths, none negative, such as 64x3x7x7"),
    ("a 3 float33\n", r"line 1: the dtype 'float33' must be a float's"),
    ("a 3 int32\n", r"line 1: the dtype 'int32' must be a float's"),
    ("a 3\nb 4\na 5\n", r"parameter 3 has the name of parameter 1, 'a'"),
    ("", r"has no parameters; write one a line"),
    ("# nothing\n", r"has no parameters"),
    ("{}", r"has no parameters"),
    ('[["a", [3]],\n["b", [4]\n', r"line 3: not JSON, though it begins so"),
    ('[["a", [3]], ["b", "4"]]', r"entry 2: the shape '4' must be lengths"),
    ('[["a", [3, -4]]]', r"entry 1: the shape \[3, -4\] must be lengths, none negative"),
    ('[["a", [true]]]', r"entry 1: the shape \[True\] must be lengths"),
    ('[["a", [3], 32]]', r"entry 1: the dtype 32 must be a float's"),
    ("[[3, [3]]]", r"entry 1: the name 3 must be a string"),
    ("[3]", r"entry 1: \[3\] must be a name"),
    ('{"a": [1], "a": [2]}', r"parameter 2 has the name of parameter 1"),
]


@pytest.mark.parametrize(("text", "said"), BAD, ids=[said[:40] for _, said in BAD])
def test_what_is_wrong_with_a_file_is_said_with_its_place(text, said, tmp_path):
    path = tmp_path / "shapes"
    path.write_text(text)
    with pytest.raises(ArgumentError, match=f"shapes='{path}'.*{said}"):
        parameter_shapes(str(path))


def test_what_is_neither_a_model_nor_a_file(tmp_path):
    with pytest.raises(ArgumentError, match="'resnet19' is no file that can be read, nor one of r"):
        parameter_shapes("resnet19")
    with pytest.raises(ArgumentError, match="is no file that can be read"):
        parameter_shapes(str(tmp_path))
    with pytest.raises(ArgumentError, match="dtype: the dtype 'half32' must be a float's"):
        parameter_shapes("gpt2", "half32")
