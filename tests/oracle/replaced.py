"""Golden files of replaced-token detection: make.py replaced.

electra: a discriminator, its generator beside it, and case.safetensors with inputs, given samples, both losses and all
gradients of loss = cross entropy of the generator + 50 * binary cross entropy of the discriminator."""
import torch
import transformers as hf
from safetensors.torch import save_file

SHARED = ("word_embeddings.weight", "position_embeddings.weight", "token_type_embeddings.weight", "LayerNorm.weight",
          "LayerNorm.bias")


def config(**keys):
    return hf.ElectraConfig(vocab_size=13, embedding_size=5, num_hidden_layers=2, max_position_embeddings=9,
                            hidden_dropout_prob=0, attention_probs_dropout_prob=0, **keys)


def make(folder):
    torch.manual_seed(5)
    wide = config(hidden_size=8, num_attention_heads=4, intermediate_size=12)
    narrow = config(hidden_size=4, num_attention_heads=2, intermediate_size=6)
    discriminator, generator = hf.ElectraForPreTraining(wide).eval(), hf.ElectraForMaskedLM(narrow).eval()
    for p in [*discriminator.parameters(), *generator.parameters()]:
        torch.nn.init.normal_(p, std=0.3)
    generator.electra.embeddings = discriminator.electra.embeddings
    generator.tie_weights()
    ids, labels = torch.randint(1, 13, (3, 7)), torch.full((3, 7), -100)
    mask = torch.ones(3, 7, dtype=torch.long)
    mask[1, 5:] = 0
    chosen = (torch.rand(3, 7) < 0.4) & (mask == 1)
    labels[chosen] = torch.randint(1, 13, (int(chosen.sum()),))
    samples = torch.where(chosen, torch.where(torch.rand(3, 7) < 0.3, labels, torch.randint(1, 13, (3, 7))), ids)
    replaced = (chosen & (samples != labels)).long()
    wide.generator_size = 0.5
    wide.architectures, narrow.architectures = ["ElectraForPreTraining"], ["ElectraForMaskedLM"]
    discriminator.save_pretrained(folder / "electra")
    generator.save_pretrained(folder / "electra" / "generator")
    discriminator.double(), generator.double()
    of_words = generator(input_ids=ids, attention_mask=mask, labels=labels).loss
    loss = of_words + 50 * discriminator(input_ids=samples, attention_mask=mask, labels=replaced).loss
    loss.backward()
    case = {"input_ids": ids.int(), "attention_mask": mask.int(), "labels": labels.int(), "samples": samples.int(),
            "out.loss": loss.detach().float(), "out.generator_loss": of_words.detach().float()}
    for prefix, model in (("", discriminator), ("generator.", generator)):
        for name, p in model.named_parameters():
            if not (prefix and "electra.embeddings." in name):
                case[f"grad.{prefix}{name}"] = p.grad.float().contiguous()
    save_file(case, folder / "electra" / "case.safetensors")
    print(f"{folder.name}/electra: {len(case)} tensors")
