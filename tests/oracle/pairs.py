"""Golden file of the contrastive loss: make.py pairs.

pairs.safetensors: two batches of token ids with padding (in.NAME), the loss that sentence-transformers'
MultipleNegativesRankingLoss finds for the mean-pooled states of model/bert-bare (out.loss, and out.loss.warm with scale 2
in place of 20), and the gradient of out.loss by every parameter that it reaches (grad.NAME)."""
import numpy as np
import torch
import transformers
from sentence_transformers.losses import MultipleNegativesRankingLoss

from case import write_tensors

IDS = [[[2, 5, 9, 3, 0], [2, 7, 3, 0, 0], [2, 11, 12, 13, 3], [2, 18, 4, 3, 0]],
       [[2, 6, 9, 8, 14, 3], [2, 7, 7, 3, 0, 0], [2, 15, 3, 0, 0, 0], [2, 17, 4, 10, 3, 0]]]


def make(folder):
    model = transformers.AutoModel.from_pretrained(folder.parent / "model/bert-bare").double().eval()
    sides, tensors = [], {}
    for name, rows in zip(("", "pair_"), IDS):
        ids = torch.tensor(rows)
        mask = (ids != 0).long()
        tensors[f"in.{name}input_ids"] = ids.int().numpy()
        tensors[f"in.{name}attention_mask"] = mask.int().numpy()
        h = model(input_ids=ids, attention_mask=mask).last_hidden_state
        w = mask.unsqueeze(-1).double()
        sides.append((h * w).sum(1) / w.sum(1))
    body = torch.nn.Identity()
    loss = MultipleNegativesRankingLoss(body, scale=20.0).compute_loss_from_embeddings(sides, None)
    warm = MultipleNegativesRankingLoss(body, scale=2.0).compute_loss_from_embeddings(sides, None)
    scores = torch.nn.functional.normalize(sides[0]) @ torch.nn.functional.normalize(sides[1]).T * 20
    assert torch.allclose(loss, torch.nn.functional.cross_entropy(scores, torch.arange(len(scores))))
    loss.backward()
    tensors["out.loss"] = np.array([loss.item()], np.float32)
    tensors["out.loss.warm"] = np.array([warm.item()], np.float32)
    for name, p in model.named_parameters():
        if p.grad is not None:
            tensors[f"grad.{name}"] = p.grad.numpy().astype(np.float32)
    write_tensors(folder / "pairs.safetensors", tensors)
    print(f"{folder.name}/pairs.safetensors: loss {loss.item():.6f}, {warm.item():.6f}")
