"""LeViT's attention, which neither transformers nor timm gives: attentions.N of blocks that keep the grid, downsample_attentions.N of the
others. And batch norms whose statistics are not those of fresh ones."""
import torch

SHRINKS = ("LevitAttentionSubsample", "AttentionDownsample")
KEEPS = ("LevitAttention", "Attention")


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
                m.weight.add_(0.5 * (m.weight == 0))  # timm's residuals start as zeros
    return model


def with_maps(model):
    """model, whose forward gives them beside what it gives"""
    kinds = [type(m).__name__ in SHRINKS for m in model.modules() if type(m).__name__ in SHRINKS + KEEPS]

    def forward(self, *args, output_attentions=None, **options):
        seen, kept = [], torch.Tensor.softmax

        def softmax(x, *args, **options):
            seen.append(kept(x, *args, **options))
            return seen[-1]

        torch.Tensor.softmax = softmax
        try:
            result = dict(super(self.__class__, self).forward(*args, **options).items())
        finally:
            torch.Tensor.softmax = kept
        for name, shrinks in (("attentions", False), ("downsample_attentions", True)):
            result |= {f"{name}.{n}": t for n, t in enumerate(t for t, s in zip(seen, kinds) if s == shrinks)}
        return result

    model.__class__ = type(model.__class__.__name__, (model.__class__,), dict(forward=forward))
    return lively_norms(model)
