"""Lines of diffusion: training steps of a U-Net beside diffusers' modules, eager and compiled."""
import torch
import torch.nn.functional as F

import attention
import training
from peers import missing, torchvision

MEMORY = 0.7  # of PyTorch's


def step_variant(pictures, side, compiled):
    torchvision()
    import diffusers
    torch.manual_seed(0)
    net = diffusers.UNet2DModel(block_out_channels=(32, 64, 128), down_block_types=("DownBlock2D", "AttnDownBlock2D", "AttnDownBlock2D"),
                                up_block_types=("AttnUpBlock2D", "AttnUpBlock2D", "UpBlock2D"), norm_num_groups=8).train()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    x, noise, steps = torch.randn(pictures, 3, side, side), torch.randn(pictures, 3, side, side), torch.full((pictures,), 500)
    return training.step(lambda: F.mse_loss(net(x, steps).sample, noise), optimizer, compiled)


def unet_step(pictures, side, _):
    return [("eager", step_variant(pictures, side, False)), ("compile", step_variant(pictures, side, True))]


def step_peak_bytes(pictures, side):
    before = attention.memory_of_process("VmRSS")
    run = step_variant(pictures, side, False)
    for _ in range(3):
        run()
    return attention.memory_of_process("VmHWM") - before


def lines():
    if not missing("diffusers"):
        yield "U-Net 32/64/128 at 32 x 32, 16 pictures, training step", unet_step, (16, 32, 0), (1.0, 1.0)


def extras(worker, failed):
    if missing("diffusers"):
        return
    before = worker.memory("VmRSS")
    worker.best("unet_step", (16, 32, 0), 1, 0)
    ours, peer = worker.memory("VmHWM") - before, attention.fresh_process("step_peak_bytes(16, 32)", "diffusion")
    print(f"  U-Net training step: {ours / 1e6:.0f} MB at the peak, PyTorch {peer / 1e6:.0f} MB ({MEMORY} of it at most)")
    if ours > MEMORY * peer:
        failed.append(f"the U-Net's training step takes {ours / peer:.2f} of PyTorch's memory")
