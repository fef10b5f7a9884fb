"""Lines of autoencoders: training steps of variational ones on pictures of 28 x 28, Adam and a Bernoulli likelihood, beside PyTorch, eager and compiled."""
import torch
import torch.nn.functional as F
from torch import nn

import training

DENSE, CONVOLUTIONAL = range(2)


class Vae(nn.Module):
    def __init__(self, kind):
        super().__init__()
        if kind == DENSE:
            width, latent = 200, 50
            self.encoder = nn.Sequential(nn.Flatten(), nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU())
            self.decoder = nn.Sequential(nn.Linear(latent, 200), nn.ReLU(), nn.Linear(200, 200), nn.ReLU(), nn.Linear(200, 784), nn.Unflatten(1, (1, 28, 28)))
        else:
            width, latent = 256, 32
            self.encoder = nn.Sequential(nn.Conv2d(1, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(3136, 256),
                                         nn.ReLU())
            self.decoder = nn.Sequential(nn.Linear(latent, 256), nn.ReLU(), nn.Linear(256, 3136), nn.ReLU(), nn.Unflatten(1, (64, 7, 7)),
                                         nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 1, 4, 2, 1))
        self.mu, self.log_sigma = nn.Linear(width, latent), nn.Linear(width, latent)

    def forward(self, x):
        h = self.encoder(x)
        mu, log_sigma = self.mu(h), self.log_sigma(h)
        sigma = log_sigma.exp()
        y = self.decoder(mu + sigma * torch.randn_like(mu))
        kl = 0.5 * (mu ** 2 + sigma ** 2 - 2 * log_sigma - 1).sum()
        return (F.binary_cross_entropy_with_logits(y, x, reduction="sum") + kl) / len(x)


def step_variant(pictures, kind, compiled):
    net = Vae(kind)
    x = (torch.randn(pictures, 1, 28, 28) > 0).float()
    return training.step(lambda: net(x), torch.optim.Adam(net.parameters(), lr=1e-3, fused=True), compiled)


def vae_step(pictures, kind, _):
    return [("eager", step_variant(pictures, kind, False)), ("compile", step_variant(pictures, kind, True))]


def lines():
    yield "VAE 784-200-200-50, 128 pictures, training step", vae_step, (128, DENSE, 0), (1.3, 1.3)
    yield "VAE of convolutions 32-64, 128 pictures, training step", vae_step, (128, CONVOLUTIONAL, 0), (1.1, 1.1)
