"""Variational autoencoders that heed and PyTorch train on the same pictures, by hand: python vae_curve.py HEED DATA_DIR [OPTIONS].

DATA_DIR has MNIST's files. Both draw fresh weights, batches, noise and binarised pictures of their own, from the same distributions, so that
their test ELBOs differ by chance alone: prints those of each seed, and their means. conv_channels and hidden_sizes as in config.json."""
import argparse
import gzip
import json
import math
import pathlib
import statistics
import subprocess
import tempfile

import numpy as np
import torch

import autoencoders


def pictures(folder, part):
    path = next(p for p in sorted(pathlib.Path(folder).iterdir()) if p.name.startswith(part) and "images" in p.name)
    data = (gzip.open(path) if path.suffix == ".gz" else open(path, "rb")).read()
    return torch.from_numpy(np.frombuffer(data, np.uint8, offset=16).reshape(-1, 1, 28, 28) / np.float32(255))


def train_torch(a, seed, train, test):
    torch.manual_seed(seed)
    model = autoencoders.Vae(latent_size=a.latent, hidden_sizes=a.hidden, conv_channels=a.conv, hidden_act=a.act, likelihood=a.likelihood)
    steps = a.epochs * math.ceil(len(train) / a.batch)
    optimizer = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=0)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: 0.5 * (1 + math.cos(math.pi * i / steps)))
    seen = torch.bernoulli if a.binarize else lambda x: x
    for _ in range(a.epochs):
        for rows in torch.randperm(len(train)).split(a.batch):
            x = seen(train[rows])
            loss = model(x, noise=torch.randn(len(x), a.latent))["loss"]
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    with torch.no_grad():
        parts = [model(x := seen(part), noise=torch.randn(len(x), a.latent)) for part in test.split(1000)]
    return float(torch.cat([p["log_likelihood"] for p in parts]).mean() - statistics.mean(float(p["loss_dict"]["kl"]) for p in parts))


def train_heed(a, seed, folder):
    keys = dict(latent_size=a.latent, hidden_sizes=a.hidden, conv_channels=a.conv, hidden_act=a.act, likelihood=a.likelihood)
    options = [f"--set={key}={json.dumps(value) if isinstance(value, list) else value}" for key, value in keys.items()]
    done = subprocess.run([a.heed, "train", "autoencode", "--data", a.data, *options, "--binarize", "dynamic" if a.binarize else "none", "--valid", "0",
                           "--epochs", str(a.epochs), "--batch", str(a.batch), "--lr", str(a.lr), "--seed", str(seed), "--out", folder, "--force",
                           "--threads", str(a.threads), "--json", "--quiet"], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["test_elbo"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("heed", metavar="HEED")
    parser.add_argument("data", metavar="DATA_DIR")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--lr", type=float, default=0.003)
    parser.add_argument("--latent", type=int, default=50)
    parser.add_argument("--hidden", type=int, nargs="*", default=[200, 200])
    parser.add_argument("--conv", type=int, nargs="*", default=[])
    parser.add_argument("--act", default="silu")
    parser.add_argument("--likelihood", default="bernoulli")
    parser.add_argument("--binarize", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    a = parser.parse_args()
    torch.set_num_threads(a.threads)
    train, test = pictures(a.data, "train"), pictures(a.data, "t10k")
    found = {"heed": [], "PyTorch": []}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(1, a.seeds + 1):
            found["heed"].append(train_heed(a, seed, folder))
            found["PyTorch"].append(train_torch(a, seed, train, test))
    for name, values in found.items():
        print(f"{name}: test ELBO {statistics.mean(values):.2f} nats, the mean of {', '.join(f'{v:.2f}' for v in values)}")


main()
