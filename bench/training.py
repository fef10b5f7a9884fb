"""A training step as PyTorch's users write it."""
import torch


def step(loss_of, optimizer, compiled):
    """Gradients of a loss, which may be compiled, and an update."""
    loss_of = torch.compile(loss_of) if compiled else loss_of

    def run():
        loss_of().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return run
