"""same_models.py for autoencoders: python same_autoencoders.py HEED [FAMILY...] [--cases N] [--seed S].

Draws sizes of pictures, odd ones too, dense layers and convolutions, and all keys, of the modules of autoencoders.py."""
import json
import sys

import torch

import autoencoders
import drawn

ACTS = ["relu", "gelu", "silu", "tanh", "softplus", "leaky_relu", "linear"]


class AsTransformers(torch.nn.Module):
    """With the arguments that same_models.py gives."""

    def __init__(self, model):
        super().__init__()
        self.inner = model

    dtype = property(lambda self: next(self.inner.parameters()).dtype)

    def named_parameters(self, *arguments, **keys):
        return self.inner.named_parameters(*arguments, **keys)

    def forward(self, output_attentions, return_dict, **inputs):
        return self.inner(**inputs)


def draw(r, family):
    convs = r.choice([0, 0, 1, 2, 3])
    sides = [r.randint(max(1, 2 ** convs), 20) for _ in range(2)]
    keys = dict(num_channels=r.choice([1, 3]), image_size=r.choice([sides[0], sides]), hidden_sizes=[r.randint(1, 20) for _ in range(r.randint(0, 3))],
                conv_channels=[r.randint(1, 6) for _ in range(convs)], kernel_size=r.choice([2, 3, 4, 5]), latent_size=r.randint(1, 9),
                hidden_act=r.choice(ACTS), likelihood=r.choice(["gaussian", "bernoulli"]), reconstruction_weight=r.choice([1.0, 0.25, 7.0]))
    keys["output_act"] = "sigmoid" if keys["likelihood"] == "bernoulli" else r.choice(["sigmoid", "linear", "tanh"])
    if family == "vae":
        keys |= dict(beta=r.choice([0.0, 1.0, 0.1, 4.0]), half_kl=r.choice([None, True, False]), sigma=r.choice(["input", "learnt", "fixed"]),
                     sigma_value=r.choice([1.0, 0.2, 3.0]))
    model, config = autoencoders.make_model(family, **keys)
    given = dict(n=r.randint(1, 5), target=r.random() < 0.4, latents=r.random() < 0.1)
    return model.eval(), config, given | (dict(noise=r.random() < 0.7) if family == "vae" else {})


def case(family, r, folder):
    model, config, given = draw(r, family)
    (folder / "config.json").write_text(json.dumps(config))
    drawn.save_weights(model, folder)
    return AsTransformers(model), autoencoders.make_inputs(config, **given), json.dumps(config)


if __name__ == "__main__":
    sys.exit(drawn.run(__doc__, autoencoders.KINDS, case, 60))
