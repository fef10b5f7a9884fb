"""Golden directories of the Transformer: what transformers' MarianMTModel saves, beside what it gives and its gradients.

Each is a model directory with golden.safetensors in it: in.NAME, out.NAME, grad.NAME for every parameter that has one.
"""
import pathlib
import shutil

import torch
from safetensors.torch import save_file
from transformers import MarianConfig, MarianMTModel

COMMON = dict(pad_token_id=1, eos_token_id=0, decoder_start_token_id=1, forced_eos_token_id=None, max_position_embeddings=32)
CASES = {
    "marian-shared": dict(vocab_size=23, d_model=12, encoder_layers=2, decoder_layers=1, encoder_attention_heads=3,
                          decoder_attention_heads=2, encoder_ffn_dim=10, decoder_ffn_dim=14, scale_embedding=True,
                          activation_function="swish"),
    "marian-apart": dict(vocab_size=19, decoder_vocab_size=17, share_encoder_decoder_embeddings=False, d_model=8, encoder_layers=1,
                         decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=16, decoder_ffn_dim=9,
                         activation_function="gelu"),
}


def make(folder: pathlib.Path):
    for name, sizes in CASES.items():
        torch.manual_seed(len(name))
        config = MarianConfig(**COMMON, **sizes)
        model = MarianMTModel(config).eval()
        with torch.no_grad():  # fresh weights are small and biases zero: too tame to find mistakes
            for p in model.parameters():
                if p.requires_grad:
                    p.copy_(p * 10 if p.dim() > 1 else p + 0.2 * torch.randn_like(p))
            model.final_logits_bias.copy_(torch.randn_like(model.final_logits_bias))
        path = folder / name
        shutil.rmtree(path, ignore_errors=True)
        model.save_pretrained(path)
        (path / "generation_config.json").unlink(missing_ok=True)
        model.set_attn_implementation("eager")
        source = torch.randint(2, config.vocab_size, (3, 6))
        mask = torch.ones(3, 6, dtype=torch.long)
        mask[1, 4:], source[1, 4:] = 0, config.pad_token_id
        labels = torch.randint(2, config.decoder_vocab_size, (3, 5))
        labels[2, 3:] = -100
        out = model.double()(input_ids=source, attention_mask=mask, labels=labels, output_attentions=True)
        out.loss.backward()
        tensors = {"in.input_ids": source, "in.attention_mask": mask, "in.labels": labels, "out.logits": out.logits, "out.loss": out.loss}
        for kind in ("encoder_attentions", "decoder_attentions", "cross_attentions"):
            for layer, weights in enumerate(getattr(out, kind)):
                tensors[f"out.{kind}.{layer}"] = weights
        for parameter, p in model.named_parameters():
            if p.grad is not None:
                tensors[f"grad.{parameter}"] = p.grad
        tensors = {n: (t.float() if t.is_floating_point() else t).detach().contiguous().clone() for n, t in tensors.items()}
        save_file(tensors, path / "golden.safetensors")
        print(f"model/{name}: {len(tensors)} tensors, {sum(f.stat().st_size for f in path.iterdir())} bytes")
