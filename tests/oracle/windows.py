"""transformers' Swin gives the attention of each stage's last block; here that of the others too, windows_attentions.N by block."""

def every_block(model):
    stages = [m for m in model.modules() if type(m).__name__ in ("SwinStage", "Swinv2Stage")]
    seen = {}

    def forward(self, *args, **options):
        seen.clear()
        result = dict(super(self.__class__, self).forward(*args, **options).items())
        return result | {f"windows_attentions.{n}": t for n, t in seen.items()}

    number = 0
    for stage in stages:
        for i, block in enumerate(stage.blocks):
            if i + 1 < len(stage.blocks):
                block.attention.register_forward_hook(lambda module, given, out, n=number: seen.__setitem__(n, out[1]))
            number += 1
    model.__class__ = type(model.__class__.__name__, (model.__class__,), dict(forward=forward))
    return model
