"""Golden directories of the Transformer: what transformers' Marian, BART, mBART and Pegasus save, beside what they give and their gradients.

Each is a model directory with golden.safetensors in it: in.NAME, out.NAME, grad.NAME for every parameter that has one.
"""
import json
import pathlib
import shutil

import torch
import transformers
from safetensors.torch import save_file

CLASSES = {"marian": ("MarianConfig", "MarianMTModel"), "bart": ("BartConfig", "BartForConditionalGeneration"),
           "mbart": ("MBartConfig", "MBartForConditionalGeneration"), "pegasus": ("PegasusConfig", "PegasusForConditionalGeneration")}
MARIAN = dict(pad_token_id=1, eos_token_id=0, decoder_start_token_id=1, forced_eos_token_id=None, max_position_embeddings=32)
CASES = {  # heads of 3, 4, 5 and 6 numbers, layers and hidden layers of their own for encoder and decoder
    "marian-shared": dict(vocab_size=23, d_model=12, encoder_layers=2, decoder_layers=1, encoder_attention_heads=3,
                          decoder_attention_heads=2, encoder_ffn_dim=10, decoder_ffn_dim=14, scale_embedding=True,
                          activation_function="swish", **MARIAN),
    "marian-apart": dict(vocab_size=19, decoder_vocab_size=17, share_encoder_decoder_embeddings=False, d_model=8, encoder_layers=1,
                         decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=16, decoder_ffn_dim=9,
                         activation_function="gelu", **MARIAN),
    "marian-untied": dict(vocab_size=18, tie_word_embeddings=False, d_model=6, encoder_layers=1, decoder_layers=1, encoder_attention_heads=1,
                          decoder_attention_heads=3, encoder_ffn_dim=5, decoder_ffn_dim=7, activation_function="relu", **MARIAN),
    "bart": dict(vocab_size=21, d_model=15, encoder_layers=1, decoder_layers=2, encoder_attention_heads=3, decoder_attention_heads=5,
                 encoder_ffn_dim=13, decoder_ffn_dim=10, activation_function="gelu", max_position_embeddings=30, forced_eos_token_id=None),
    "mbart": dict(vocab_size=22, d_model=12, encoder_layers=2, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=2,
                  encoder_ffn_dim=9, decoder_ffn_dim=16, activation_function="relu", max_position_embeddings=32, scale_embedding=True),
    "pegasus": dict(vocab_size=20, d_model=10, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=1,
                    encoder_ffn_dim=12, decoder_ffn_dim=11, activation_function="gelu_new", max_position_embeddings=32,
                    scale_embedding=True, tie_word_embeddings=False),
}
# What decoding is told. Directories have it in config.json, as older releases wrote it, or in a file that stands over it.
IN_CONFIG = {"mbart": dict(forced_bos_token_id=7)}
IN_FILE = {"pegasus": dict(decoder_start_token_id=3, eos_token_id=1, pad_token_id=0, forced_bos_token_id=5, bad_words_ids=[[9], [4, 6]])}


def kind(name):
    return [getattr(transformers, c) for c in CLASSES[name.split("-")[0]]]


def inputs(name, config):
    source = torch.randint(2, config.vocab_size, (3, 6))
    mask = torch.ones(3, 6, dtype=torch.long)
    mask[1, 4:], source[1, 4:] = 0, config.pad_token_id
    labels = torch.randint(2, getattr(config, "decoder_vocab_size", config.vocab_size), (3, 5))
    labels[2, 3:] = -100
    if not name.startswith("marian"):  # holes, and padding on the left
        mask[0, 2], mask[2, :2], source[2, :2] = 0, 0, config.pad_token_id
    return source, mask, labels


def make(folder: pathlib.Path):
    for name, sizes in CASES.items():
        torch.manual_seed(len(name))
        configuration, network = kind(name)
        config = configuration(**sizes)
        model = network(config).eval()
        with torch.no_grad():  # fresh weights are small and biases zero: too tame to find mistakes
            for p in model.parameters():
                if p.requires_grad:
                    p.copy_(p * 10 if p.dim() > 1 else p + 0.2 * torch.randn_like(p))
            model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias))
            if not name.startswith("marian"):  # so that sentences end now and then
                model.final_logits_bias[0, config.eos_token_id] += 2
        path = folder / name
        shutil.rmtree(path, ignore_errors=True)
        model.save_pretrained(path)
        (path / "generation_config.json").unlink(missing_ok=True)
        if name in IN_CONFIG:
            saved = json.loads((path / "config.json").read_text())
            (path / "config.json").write_text(json.dumps(saved | IN_CONFIG[name], indent=2) + "\n")
        if name in IN_FILE:
            (path / "generation_config.json").write_text(json.dumps(IN_FILE[name], indent=2) + "\n")
        model.set_attn_implementation("eager")
        source, mask, labels = inputs(name, config)
        out = model.double()(input_ids=source, attention_mask=mask, labels=labels, output_attentions=True)
        out.loss.backward()
        tensors = {"in.input_ids": source, "in.attention_mask": mask, "in.labels": labels, "out.logits": out.logits, "out.loss": out.loss}
        for site in ("encoder_attentions", "decoder_attentions", "cross_attentions"):
            for layer, weights in enumerate(getattr(out, site)):
                tensors[f"out.{site}.{layer}"] = weights
        for parameter, p in model.named_parameters():
            if p.grad is not None:
                tensors[f"grad.{parameter}"] = p.grad
        tensors = {n: (t.float() if t.is_floating_point() else t).detach().contiguous().clone() for n, t in tensors.items()}
        save_file(tensors, path / "golden.safetensors")
        print(f"model/{name}: {len(tensors)} tensors, {sum(f.stat().st_size for f in path.iterdir())} bytes")
