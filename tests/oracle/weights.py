"""Golden files of class weights: make.py weights.

weights.json: logits, labels (-100 does not count), weights, the loss of torch's cross_entropy and its gradient; and labels
with the weights that scikit-learn calls balanced."""
import json

import numpy as np
import torch
from sklearn.utils.class_weight import compute_class_weight


def losses(draw):
    for rows, classes, ignored in [((7,), 3, False), ((2, 5), 4, True), ((1,), 2, False)]:
        logits = torch.tensor(draw.normal(size=(*rows, classes)) * 2, requires_grad=True)
        labels = torch.tensor(draw.integers(0, classes, size=rows))
        if ignored:
            labels[0, 1:3] = labels[1, -1] = -100
        weights = torch.tensor(draw.uniform(0.2, 3, size=classes).astype(np.float32)).double()
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, classes), labels.reshape(-1), weight=weights)
        loss.backward()
        yield {"shape": [*rows, classes], "logits": logits.flatten().tolist(), "labels": labels.flatten().tolist(),
               "weights": weights.tolist(), "loss": loss.item(), "gradient": logits.grad.flatten().tolist()}


def balanced(draw):
    for classes, n in [(2, 9), (3, 40)]:
        labels = np.concatenate([np.arange(classes), draw.choice(classes, n, p=np.arange(1, classes + 1) /
                                                                 np.arange(1, classes + 1).sum())])
        weights = compute_class_weight("balanced", classes=np.arange(classes), y=labels)
        yield {"labels": labels.tolist(), "weights": weights.tolist()}


def make(folder):
    draw = np.random.default_rng(11)
    cases = {"losses": list(losses(draw)), "balanced": list(balanced(draw))}
    (folder / "weights.json").write_text(json.dumps(cases) + "\n")
    print(f"{folder.name}/weights.json: {len(cases['losses'])} losses, {len(cases['balanced'])} lists of labels")
