"""Batch norms whose statistics are not those of fresh ones."""
import torch


def whole_gradient(module, given, out):
    """PyTorch 2.13 gives wrong gradients of batch norm, or NaN, where that of its output is expanded, as behind a mean over one picture."""
    if out.requires_grad:
        out.register_hook(lambda g: g.clone(memory_format=torch.contiguous_format))


def lively_norms(model):
    for m in model.modules():
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm):
            m.register_forward_hook(whole_gradient)
            m.running_mean.normal_(0, 0.3)
            m.running_var.uniform_(0.3, 2)
            m.num_batches_tracked.fill_(3)
            with torch.no_grad():
                m.weight.add_(0.5 * (m.weight == 0))  # residuals that start as zeros
    return model
