"""Directories that heed wrote, opened by transformers, by hand: python directories.py HEED.

For each kind a model of odd sizes that the command HEED made: Python finds every parameter, gives heed's logits, and generates
from the directory what it generates with the rules of its config.json; what Python saves again, heed opens and gives the same.
Prints the largest difference of logits. Encoders: every head of every family, by the class that Auto finds.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
from safetensors.torch import load_file, save_file

import seq2seq

torch.set_num_threads(1)

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
SIZES = dict(vocab_size=37, encoder_layers=2, decoder_layers=3, encoder_ffn_dim=20, decoder_ffn_dim=9, max_position_embeddings=24,
             init_std=0.3)
CASES = {"transformer": dict(d_model=12, encoder_attention_heads=3, decoder_attention_heads=2, forced_eos_token_id=2),
         "transformer ": dict(d_model=12, encoder_attention_heads=3, decoder_attention_heads=2, decoder_vocab_size=31,
                              share_encoder_decoder_embeddings="false"),
         "transformer  ": dict(d_model=12, encoder_attention_heads=1, decoder_attention_heads=1, tie_word_embeddings="false"),
         "bart": dict(d_model=15, encoder_attention_heads=3, decoder_attention_heads=5),
         "bart ": dict(d_model=15, encoder_attention_heads=3, decoder_attention_heads=5, forced_bos_token_id=4, tie_word_embeddings="false"),
         "mbart": dict(d_model=14, encoder_attention_heads=2, decoder_attention_heads=7, forced_bos_token_id=7, scale_embedding="true"),
         "mbart ": dict(d_model=14, encoder_attention_heads=2, decoder_attention_heads=7, forced_eos_token_id="null"),
         "pegasus": dict(d_model=10, encoder_attention_heads=5, decoder_attention_heads=1, scale_embedding="true")}


def heed(*arguments):
    subprocess.run([sys.argv[1], *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def forward(folder, path, source, mask, target):
    save_file({"input_ids": source.int(), "attention_mask": mask.int(), "decoder_input_ids": target.int()}, path / "in.safetensors")
    heed("forward", folder, "--in", path / "in.safetensors", "--out", path / "out.safetensors")
    return load_file(path / "out.safetensors")["logits"]


def check(name, settings, path):
    folder, family = path / "heed", name.strip()
    pairs = [a for k, v in (SIZES | settings).items() for a in ("--set", f"{k}={v}")]
    heed("new", family, folder, "--quiet", "--seed", 3, *pairs)
    network = seq2seq.kind("marian" if family == "transformer" else family)[1]
    model, report = network.from_pretrained(folder, output_loading_info=True)
    missing = {k for k in report["missing_keys"] if not k.endswith("embed_positions.weight")}  # sine positions
    assert not missing and not report["unexpected_keys"] and not report["mismatched_keys"], report
    torch.manual_seed(1)
    source, mask = torch.randint(3, 37, (4, 9)), torch.ones(4, 9, dtype=torch.long)
    mask[0, 6:], mask[1, 2], mask[2, :3] = 0, 0, 0
    target = torch.randint(3, 31, (4, 7))
    model.eval()
    with torch.no_grad():
        want = model(input_ids=source, attention_mask=mask, decoder_input_ids=target).logits
    error = (forward(folder, path, source, mask, target) - want).abs().max().item()
    rules = json.loads((folder / "config.json").read_text())
    told = {k: rules[k] for k in ("forced_bos_token_id", "forced_eos_token_id", "eos_token_id")}
    told["decoder_start_token_id"] = rules["bos_token_id"] if rules["decoder_start_token_id"] is None else rules["decoder_start_token_id"]
    for beams in (1, 4):  # by itself, and told what heed_generate goes by
        by_itself, by_rules = (model.generate(input_ids=source, attention_mask=mask, num_beams=beams, max_length=12, **r) for r in ({}, told))
        assert torch.equal(by_itself, by_rules), (name, by_itself, by_rules)
    model.save_pretrained(path / "python")
    back = (forward(path / "python", path, source, mask, target) - want).abs().max().item()
    assert error < 1e-4 and back < 1e-4, (name, error, back)
    print(f"{name:14} {sum(p.numel() for p in model.parameters()):6} numbers, logits of {want.abs().max().item():.2f}: {error:.1e}, back {back:.1e}")


BERT = dict(vocab_size=37, hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=10, max_position_embeddings=19)
ENCODERS = {"bert": BERT, "ernie": BERT | dict(use_task_id="true"), "roberta": BERT, "xlm-roberta": BERT | dict(pad_token_id=3),
            "camembert": BERT, "distilbert": dict(vocab_size=37, dim=12, n_layers=2, n_heads=3, hidden_dim=10, max_position_embeddings=19),
            "electra": BERT | dict(embedding_size=7), "albert": BERT | dict(embedding_size=7, inner_group_num=2), "mpnet": BERT,
            "modernbert": BERT | dict(pad_token_id=3, local_attention=6)}
HEADS = {"mlm": "ForMaskedLM", "classify": "ForSequenceClassification", "tag": "ForTokenClassification", "qa": "ForQuestionAnswering",
         "choose": "ForMultipleChoice", "embed": "", "pretrain": "ForPreTraining", "nsp": "ForNextSentencePrediction"}


def check_encoder(family, task, path):
    """A head that the command made, in the class that Auto finds for it; and again what Python saves of it."""
    folder = path / "heed"
    settings = ENCODERS[family] | (dict(num_labels=5) if task in ("classify", "tag") else {})
    heed("new", family, folder, "--task", task, "--quiet", "--seed", 3, *[a for k, v in settings.items() for a in ("--set", f"{k}={v}")])
    model, report = getattr(transformers, "AutoModel" + HEADS[task]).from_pretrained(folder, output_loading_info=True)
    assert not any(report[k] for k in ("missing_keys", "unexpected_keys", "mismatched_keys")), (family, task, report)
    assert type(model).__name__ in json.loads((folder / "config.json").read_text())["architectures"]
    torch.manual_seed(1)
    mask = torch.ones(4, 9, dtype=torch.long)
    mask[0, 6:], mask[1, 2], mask[2, :3] = 0, 0, 0
    given = dict(input_ids=torch.randint(4, 37, (4, 9)), attention_mask=mask)
    if task == "choose":
        given = {k: t.reshape(2, 2, 9) for k, t in given.items()}
    with torch.no_grad():
        want = {k: t for k, t in model.eval()(**given).items() if isinstance(t, torch.Tensor)}
    model.save_pretrained(path / "python")
    for place in (folder, path / "python"):
        save_file({k: t.int() for k, t in given.items()}, path / "in.safetensors")
        heed("forward", place, "--in", path / "in.safetensors", "--out", path / "out.safetensors")
        got = load_file(path / "out.safetensors")
        assert got.keys() == want.keys(), (family, task, got.keys(), want.keys())
        error = max((got[k] - want[k]).abs().max().item() for k in want)
        assert error < 1e-4, (family, task, error)
    print(f"{family:14} {task:9} {error:.1e}")


for name, settings in CASES.items():
    with tempfile.TemporaryDirectory() as path:
        check(name, settings, pathlib.Path(path))
for family in ENCODERS:
    for task in HEADS:
        no_such = task == "nsp" and family not in ("bert", "ernie") or task == "pretrain" and family not in ("bert", "ernie", "electra", "albert")
        with tempfile.TemporaryDirectory() as path:
            if not no_such:
                check_encoder(family, task, pathlib.Path(path))
