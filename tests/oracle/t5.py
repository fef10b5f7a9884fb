"""Golden directories of T5 and mT5, and what they generate: model/generate_t5.json, as generate.py has it."""
import json

import torch
import transformers as hf

import generate
import golden
import models

SIZES = dict(vocab_size=23, d_model=6, d_kv=3, d_ff=7, num_layers=2, num_decoder_layers=1, num_heads=2, decoder_start_token_id=0,
             relative_attention_num_buckets=6, relative_attention_max_distance=8)
CALLS = [dict(beams=1, max_length=12), dict(beams=1, max_length=20, min_length=8), dict(beams=1, max_length=16, no_repeat_ngram=2)]
CALLS += [dict(beams=beams, max_length=14, n_best=2, length_penalty=penalty) for beams in (2, 4) for penalty in (0.6, 1.0, 2.0)]
CALLS += [dict(beams=3, max_length=24, early_stopping=stop) for stop in (True, "never")]


def lively(model, factor=2.0):
    """Fresh weights are lively but for the norms, which are all one, and the biases by distance."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.dim() == 1:
                p.add_(0.2 * torch.randn_like(p))
            elif "relative_attention_bias" in name:
                p.mul_(factor)
    return model


def source(length=9):
    """Padding on the right, on the left and a hole: more tokens than distances have buckets of their own."""
    given = models.tokens(23, length=length)
    given["attention_mask"][0, :3] = 0
    return given


def target(length=8):
    return dict(labels=models.some(torch.randint(0, 23, (3, length))))


def decoded(length=8):
    mask = torch.ones(3, length, dtype=torch.long)
    mask[1, length - 3:], mask[2, 2] = 0, 0
    return dict(decoder_input_ids=torch.randint(0, 23, (3, length)), decoder_attention_mask=mask)


def config(prefix, **keys):
    return getattr(hf, prefix + "Config")(**SIZES | keys)


def untied(model):
    """An output layer of its own: transformers 5 opens it so, but does not make it."""
    model.lm_head.weight = torch.nn.Parameter(0.4 * torch.randn_like(model.lm_head.weight))
    return model


def ended(given):
    """One end token for each source."""
    given["input_ids"][given["input_ids"] == 1] = 2
    given["input_ids"][:, 5] = 1
    return given


def cases(prefix):
    """NAME: (model, inputs)"""
    def made(head, **keys):
        return getattr(hf, prefix + head)(config(prefix, **keys))
    name = prefix.lower()
    yield name, lambda: (made("ForConditionalGeneration", feed_forward_proj="relu"), source() | target())
    yield f"{name}-gated", lambda: (untied(made("ForConditionalGeneration", feed_forward_proj="gated-gelu", tie_word_embeddings=False)),
                                    source() | decoded() | target())
    yield f"{name}-bare", lambda: (made("Model", feed_forward_proj="gated-silu"), source() | decoded(5))
    yield f"{name}-encoder", lambda: (made("EncoderModel", relative_attention_num_buckets=9, relative_attention_max_distance=5), source(14))
    yield f"{name}-classify", lambda: (made("ForSequenceClassification", num_labels=3), ended(source()) | dict(labels=torch.tensor([2, 0, 1])))
    yield f"{name}-tag", lambda: (made("ForTokenClassification", num_labels=5), source() | dict(labels=models.some(torch.randint(0, 5, (3, 9)))))
    yield f"{name}-answer", lambda: (made("ForQuestionAnswering"), source() | models.span())


def as_of_release_4(path):
    """What config.json of older releases lacks, and how they say that the output has a table of its own."""
    saved = json.loads((path / "config.json").read_text())
    for key in ("scale_decoder_outputs", "dense_act_fn", "is_gated_act"):
        saved.pop(key, None)
    (path / "config.json").write_text(json.dumps(saved | dict(tie_word_embeddings=False, n_positions=512), indent=2) + "\n")


def make(folder):
    for prefix in ("T5", "MT5"):
        for name, build in cases(prefix):
            golden.seed(name)
            model, inputs = build()
            golden.save(folder / name, lively(model), inputs)
    as_of_release_4(folder / "t5-gated")
    written = []
    for name in ("t5", "t5-gated", "mt5"):
        kind = hf.MT5ForConditionalGeneration if name == "mt5" else hf.T5ForConditionalGeneration
        model = kind.from_pretrained(folder / name).eval()
        written += generate.cases(name, model, {}, CALLS)
    path = folder / "generate_t5.json"
    path.write_text("[\n" + ",\n".join(json.dumps(c) for c in written) + "\n]\n")
    print(f"model/generate_t5.json: {len(written)} calls, {path.stat().st_size} bytes")
