"""Rotary positions by config: model/rope.json, a list of cases.

"config" is as transformers 4 wrote it where "rope_scaling" is there, else of transformers 5; "size" numbers has a head.
"speeds" are the inverse frequencies for sequences of "length", and "attention" what cosines and sines are multiplied by.
"""
import json

import torch
import torchvision_ops  # noqa: F401, before transformers
import transformers as hf
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

SIZE, LENGTHS = 10, (1, 16, 17, 40, 100)
LONG = dict(short_factor=[1.0, 1.1, 1.5, 2.0, 2.5], long_factor=[1.5, 2.0, 4.0, 8.0, 30.0], original_max_position_embeddings=16)
KINDS = [dict(rope_type="default"), dict(rope_type="linear", factor=2.5), dict(rope_type="dynamic", factor=1.0),
         dict(rope_type="dynamic", factor=3.5),
         dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64),
         dict(rope_type="llama3", factor=32.0, low_freq_factor=0.5, high_freq_factor=2.0, original_max_position_embeddings=16),
         dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16), dict(rope_type="yarn", factor=1.0),
         dict(rope_type="yarn", factor=3.0, original_max_position_embeddings=300, beta_fast=8.0, beta_slow=0.5, truncate=False),
         dict(rope_type="yarn", factor=40.0, mscale=0.707, mscale_all_dim=1.2, original_max_position_embeddings=64),
         dict(rope_type="yarn", factor=4.0, attention_factor=0.8),
         dict(rope_type="longrope", **LONG), dict(rope_type="longrope", factor=6.0, **LONG),
         dict(rope_type="longrope", attention_factor=1.25, **LONG),
         dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=16, truncate=None, beta_fast=None, mscale=None)]
THETAS = (100.0, 10000.0, 500000.0)


def speeds_of(config, kind, length):
    if kind == "default":
        rotary = hf.models.llama.modeling_llama.LlamaRotaryEmbedding(config)
        return rotary.inv_freq, rotary.attention_scaling
    return ROPE_INIT_FUNCTIONS[kind](config, None, seq_len=torch.tensor(length))  # as in forward


def older(parameters):
    """What transformers 4 wrote."""
    rest = {key: value for key, value in parameters.items() if key not in ("rope_type", "rope_theta")}
    scaling = None if parameters["rope_type"] == "default" else dict(type=parameters["rope_type"]) | rest
    return dict(rope_theta=parameters["rope_theta"], rope_scaling=scaling)


def make(folder):
    made = []
    for number, kind in enumerate(KINDS):
        parameters = kind | dict(rope_theta=THETAS[number % len(THETAS)])
        sizes = dict(max_position_embeddings=16)
        config = hf.LlamaConfig(hidden_size=4 * SIZE, num_attention_heads=4, rope_parameters=dict(parameters), **sizes)
        for length in LENGTHS:
            speeds, attention = speeds_of(config, kind["rope_type"], length)
            written = older(parameters) if (number + length) % 2 else dict(rope_parameters=parameters)
            made.append(dict(config=sizes | written, size=SIZE, length=length, speeds=speeds.tolist(), attention=attention))
    path = folder / "rope.json"
    path.write_text("[\n" + ",\n".join(json.dumps(c) for c in made) + "\n]\n")
    print(f"model/rope.json: {len(made)} cases, {path.stat().st_size} bytes")
