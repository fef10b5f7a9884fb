"""Golden directories of autoencoders: torch.nn modules, and the loss as its formula."""
import math

import torch
from torch import nn
from torch.nn import functional as F

import activations
import golden

DEFAULTS = dict(num_channels=1, image_size=28, conv_channels=[], kernel_size=4, hidden_sizes=[200, 200], latent_size=3, hidden_act="relu",
                output_act="sigmoid", likelihood="gaussian", reconstruction_weight=1.0)
VARIATIONAL = dict(beta=1.0, half_kl=None, sigma="input", sigma_value=1.0)


class Coder(nn.Module):
    """The encoder's hidden layers and the decoder, by the keys of config.json."""

    def __init__(self, **keys):
        super().__init__()
        self.keys = c = DEFAULTS | keys
        self.image = c["image_size"] if isinstance(c["image_size"], list) else [c["image_size"]] * 2
        act = lambda: activations.module(c["hidden_act"])  # noqa: E731, a new module each
        encoder, up = [], []
        channels, sides, k = c["num_channels"], self.image, c["kernel_size"]
        padding = (k - 1) // 2
        for wide in c["conv_channels"]:
            encoder += [nn.Conv2d(channels, wide, k, 2, padding), act()]
            less = [(side + 2 * padding - k) // 2 + 1 for side in sides]
            more = [side - ((s - 1) * 2 - 2 * padding + k) for side, s in zip(sides, less)]
            up = [nn.ConvTranspose2d(wide, channels, k, 2, padding, more), act()] + up
            channels, sides = wide, less
        encoder += [nn.Flatten()] if c["conv_channels"] else []
        width = channels * sides[0] * sides[1]
        sizes = [width] + c["hidden_sizes"]
        for a, b in zip(sizes, sizes[1:]):
            encoder += [nn.Linear(a, b), act()]
        decoder, back = [], [c["latent_size"]] + sizes[::-1]
        for a, b in zip(back, back[1:]):
            decoder += [nn.Linear(a, b), act()]
        decoder = decoder + [nn.Unflatten(1, (channels, *sides))] + up[:-1] if up else decoder[:-1]
        self.width, self.layers = sizes[-1], encoder
        self.decoder = nn.Sequential(*decoder)
        self.output = activations.module(c["output_act"])

    def decode(self, z):
        return self.decoder(z).view(len(z), self.keys["num_channels"], *self.image)

    def restored(self, y):
        return self.output(y)

    def errors(self, y, target):
        """Of each picture: the sum of squared errors, or of cross entropies."""
        bernoulli = self.keys["likelihood"] == "bernoulli"
        each = F.binary_cross_entropy_with_logits(y, target, reduction="none") if bernoulli else (self.output(y) - target) ** 2
        return each.flatten(1).sum(1)

    def flat(self, pixel_values):
        return pixel_values if self.keys["conv_channels"] else pixel_values.flatten(1)


class Autoencoder(Coder):
    def __init__(self, **keys):
        super().__init__(**keys)
        self.encoder = nn.Sequential(*self.layers, nn.Linear(self.width, self.keys["latent_size"]))

    def forward(self, pixel_values=None, target=None, latents=None):
        latent = None if pixel_values is None else self.encoder(self.flat(pixel_values))
        y = self.decode(latent if latents is None else latents)
        target = pixel_values if target is None else target
        loss = None if target is None else self.keys["reconstruction_weight"] * self.errors(y, target).mean()
        return dict(reconstruction=self.restored(y), latent=latent, loss=loss)


class Vae(Coder):
    def __init__(self, **keys):
        super().__init__(**VARIATIONAL | keys)
        self.keys = c = VARIATIONAL | self.keys
        self.encoder = nn.Sequential(*self.layers)
        self.mu = nn.Linear(self.width, c["latent_size"])
        if c["sigma"] == "input":
            self.log_sigma = nn.Linear(self.width, c["latent_size"])
        if c["sigma"] == "learnt":
            self.log_sigma = nn.Parameter(torch.full((c["latent_size"],), math.log(c["sigma_value"])))

    def forward(self, pixel_values, target=None, latents=None, noise=None):
        c = self.keys
        h = self.encoder(self.flat(pixel_values))
        mu = self.mu(h)
        log_sigma = self.log_sigma(h) if c["sigma"] == "input" else (
            self.log_sigma if c["sigma"] == "learnt" else torch.tensor(math.log(c["sigma_value"]), dtype=mu.dtype)).expand_as(mu)
        sigma = log_sigma.exp()
        z = latents if latents is not None else mu if noise is None else mu + sigma * noise
        y = self.decode(z)
        errors = self.errors(y, pixel_values if target is None else target)
        terms = (mu ** 2 + sigma ** 2 - torch.log(sigma ** 2) - 1).sum(1).mean()
        bernoulli = c["likelihood"] == "bernoulli"
        part = 0.5 if (bernoulli if c["half_kl"] is None else c["half_kl"]) else 1.0
        normal = torch.distributions.Normal(self.restored(y), math.sqrt(part / c["reconstruction_weight"]))
        given = pixel_values if target is None else target
        return dict(reconstruction=self.restored(y), mu=mu, log_sigma=log_sigma,
                    log_likelihood=-errors if bernoulli else normal.log_prob(given).flatten(1).sum(1),
                    loss=c["reconstruction_weight"] * errors.mean() + c["beta"] * part * terms,
                    loss_dict=dict(reconstruction=errors.mean(), kl=terms / 2))


KINDS = {"autoencoder": (Autoencoder, "HeedAutoencoder"), "vae": (Vae, "HeedVae")}


def make_model(kind, **keys):
    """The module, with biases that are not 0, and its config.json."""
    module, architecture = KINDS[kind]
    model = module(**keys)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.copy_(p * (1.0 if name.startswith("log_sigma") else 2.0) + 0.1 * torch.randn_like(p))
    return model, dict(model_type=f"heed-{kind}", architectures=[architecture], **model.keys)


def make_inputs(config, n=3, target=False, latents=False, noise=False):
    side = config["image_size"]
    shape = n, config["num_channels"], *(side if isinstance(side, list) else [side] * 2)
    codes = n, config["latent_size"]
    given = dict(pixel_values=torch.rand(shape))
    if config["likelihood"] == "bernoulli":
        given["pixel_values"] = given["pixel_values"].round() if torch.rand(()) < 0.5 else given["pixel_values"]
    return given | (dict(target=torch.rand(shape)) if target else {}) | (dict(latents=torch.randn(codes)) if latents else {}) | (
        dict(noise=torch.randn(codes)) if noise else {})


def make(folder):
    small = dict(image_size=[5, 4], hidden_sizes=[7, 6], latent_size=3)
    conv = dict(image_size=[7, 8], conv_channels=[3, 4], hidden_sizes=[6], latent_size=2)
    for name, kind, keys, given in (
            ("autoencoder", "autoencoder", small | dict(num_channels=2), dict(target=True)),
            ("autoencoder-conv", "autoencoder", conv | dict(output_act="linear", hidden_act="gelu", reconstruction_weight=0.5), {}),
            ("vae", "vae", small | dict(beta=0.7), dict(noise=True)),
            ("vae-mean", "vae", small | dict(sigma="fixed", sigma_value=0.3, half_kl=True), {}),
            ("vae-bernoulli", "vae", small | dict(likelihood="bernoulli", hidden_act="tanh", sigma="learnt", sigma_value=0.5), dict(noise=True)),
            ("vae-conv", "vae", conv | dict(likelihood="bernoulli", num_channels=3, kernel_size=3, half_kl=False),
             dict(noise=True, target=True))):
        golden.seed(name)
        model, config = make_model(kind, **keys)
        golden.save(folder / name, model, make_inputs(config, **given), config)
