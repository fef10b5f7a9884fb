"""Golden directories of the Transformer: transformers' Marian, BART, mBART and Pegasus."""
import json
import pathlib

import torch
import transformers

import golden

CLASSES = {"marian": ("MarianConfig", "MarianMTModel"), "bart": ("BartConfig", "BartForConditionalGeneration"),
           "mbart": ("MBartConfig", "MBartForConditionalGeneration"), "pegasus": ("PegasusConfig", "PegasusForConditionalGeneration")}
MARIAN = dict(pad_token_id=1, eos_token_id=0, decoder_start_token_id=1, forced_eos_token_id=None, max_position_embeddings=32)
CASES = {  # heads of 2, 3 and 6 numbers, layers and feed-forward layers of their own for encoder and decoder
    "marian-shared": dict(vocab_size=23, d_model=6, encoder_layers=2, decoder_layers=1, encoder_attention_heads=3,
                          decoder_attention_heads=2, encoder_ffn_dim=10, decoder_ffn_dim=14, scale_embedding=True,
                          activation_function="swish", **MARIAN),
    "marian-apart": dict(vocab_size=19, decoder_vocab_size=17, share_encoder_decoder_embeddings=False, d_model=6, encoder_layers=1,
                         decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=3, encoder_ffn_dim=16, decoder_ffn_dim=9,
                         activation_function="gelu", **MARIAN),
    "marian-untied": dict(vocab_size=18, tie_word_embeddings=False, d_model=6, encoder_layers=1, decoder_layers=1, encoder_attention_heads=1,
                          decoder_attention_heads=3, encoder_ffn_dim=5, decoder_ffn_dim=7, activation_function="relu", **MARIAN),
    "bart": dict(vocab_size=21, d_model=6, encoder_layers=1, decoder_layers=2, encoder_attention_heads=3, decoder_attention_heads=2,
                 encoder_ffn_dim=13, decoder_ffn_dim=10, activation_function="gelu", max_position_embeddings=30, forced_eos_token_id=None),
    "mbart": dict(vocab_size=22, d_model=6, encoder_layers=2, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=3,
                  encoder_ffn_dim=9, decoder_ffn_dim=16, activation_function="relu", max_position_embeddings=32, scale_embedding=True),
    "pegasus": dict(vocab_size=20, d_model=6, encoder_layers=1, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=1,
                    encoder_ffn_dim=12, decoder_ffn_dim=11, activation_function="gelu_new", max_position_embeddings=32,
                    scale_embedding=True, tie_word_embeddings=False),
}
# Added to the end token's logit, so that some sentences end and others do not.
END = {"marian-shared": 1.6, "bart": 0.8, "mbart": 1.3, "pegasus": 1.4}
# Rules of decoding. Directories have them in config.json, as older releases wrote it, or in a file that overrides it.
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
    return dict(input_ids=source, attention_mask=mask, labels=labels)


def lively(model, end):
    golden.enliven(model)
    model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias))
    model.final_logits_bias[0, model.config.eos_token_id] += end
    return model


def make(folder: pathlib.Path):
    for name, sizes in CASES.items():
        golden.seed(name)
        configuration, network = kind(name)
        config = configuration(**sizes)
        model = lively(network(config), END.get(name, 0))
        path = folder / name
        golden.save(path, model, inputs(name, config))
        if name in IN_CONFIG:
            saved = json.loads((path / "config.json").read_text())
            (path / "config.json").write_text(json.dumps(saved | IN_CONFIG[name], indent=2) + "\n")
        if name in IN_FILE:
            (path / "generation_config.json").write_text(json.dumps(IN_FILE[name], indent=2) + "\n")
