"""Golden LoRA adapters: directories as peft saves them over models of tests/golden/model, with logits, loss and gradients.

    adapter_config.json, adapter_model.safetensors    as peft writes them; base_model_name_or_path is relative to the directory
    case.safetensors                                  in.NAME, out.logits, out.loss, grad.NAME of every matrix, computed in float64
"""
import json

import peft
import torch
import transformers as hf
from case import write_tensors

import golden

CASES = {"gpt2": (hf.GPT2LMHeadModel, "gpt2-options", dict(r=3, lora_alpha=5, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True,
                                                           task_type="CAUSAL_LM", rank_pattern={"h.1.attn.c_attn": 2})),
         "bert": (hf.BertForSequenceClassification, "bert-classify", dict(r=2, lora_alpha=3, target_modules=["query", "value", "output.dense"],
                                                                         use_rslora=True, task_type="SEQ_CLS"))}


def make(folder):
    for name, (kind, base, options) in CASES.items():
        golden.seed("lora-" + name)
        path = folder / name
        model = kind.from_pretrained(folder.parent / "model" / base)
        adapted = peft.get_peft_model(model, peft.LoraConfig(**options, lora_dropout=0.25, init_lora_weights=False)).double().eval()
        for p in adapted.parameters():
            if p.requires_grad:  # numbers that float32 holds
                p.data.copy_((p.data + 0.1 * torch.randn_like(p.data)).float())
        ids = torch.randint(2, 12, (3, 7))
        inputs = dict(input_ids=ids, labels=ids if name == "gpt2" else torch.tensor([1, 0, 2]))
        out = adapted(**inputs)
        out.loss.backward()
        tensors = {f"in.{key}": value.to(torch.int32) for key, value in inputs.items()}
        tensors |= {"out.logits": out.logits.detach().float(), "out.loss": out.loss.detach().float()}
        for key, p in adapted.named_parameters():
            if p.grad is not None:
                key = key.removeprefix("base_model.model.").replace(".default", "").replace(".modules_to_save", "")
                tensors["grad." + key] = p.grad.float()
        adapted.float().save_pretrained(path)
        (path / "README.md").unlink()
        config = json.loads((path / "adapter_config.json").read_text()) | dict(base_model_name_or_path=f"../../model/{base}")
        (path / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")
        write_tensors(path / "case.safetensors", {key: value.contiguous().numpy() for key, value in tensors.items()}, {})
        print(f"lora/{name}: {sum(f.stat().st_size for f in path.iterdir())} bytes")
