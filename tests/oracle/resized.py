"""Tables over grids of other sizes, as timm and transformers interpolate them for fine-tuning."""
import torchvision_ops  # noqa: F401, before timm
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from timm.layers import resample_abs_pos_embed, resize_rel_pos_bias_table


def plain(table, grid):  # ViTEmbeddings.interpolate_pos_encoding
    first, rest = table[:, :1], table[:, 1:]
    side = round(rest.shape[1] ** 0.5)
    rest = rest.reshape(1, side, side, -1).permute(0, 3, 1, 2)
    rest = F.interpolate(rest, size=grid, mode="bicubic", align_corners=False)
    return torch.cat([first, rest.permute(0, 2, 3, 1).reshape(1, grid[0] * grid[1], -1)], 1)


def make(folder):
    torch.manual_seed(7)
    positions, biases = torch.randn(1, 26, 8), torch.randn(25, 2)
    out = {"positions": positions, "biases": biases}
    for h, w in ((8, 8), (3, 4), (5, 9)):
        out[f"vit.{h}.{w}"] = plain(positions, (h, w))
        out[f"timm-vit.{h}.{w}"] = resample_abs_pos_embed(positions, new_size=[h, w], num_prefix_tokens=1)
    for h, w in ((5, 5), (2, 2), (4, 6)):
        shape = ((2 * h - 1) * (2 * w - 1), 2)
        out[f"timm-swin.{h}.{w}"] = resize_rel_pos_bias_table(biases, (h, w), shape)
    path = folder / "resized.safetensors"
    save_file({k: v.contiguous() for k, v in out.items()}, path)
    print(f"{folder.name}/{path.name}: {len(out)} tensors, {path.stat().st_size} bytes")
