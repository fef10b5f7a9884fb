"""Lines of pictures: ResNet-50's 3 x 3 convolutions forward+backward, beside PyTorch (oneDNN)."""
import torch
import torch.nn.functional as F

STAGES = [(56, 64), (28, 128), (14, 256), (7, 512)]  # side of the pictures that come out, channels


def conv(pictures, side, channels, stride):
    x = torch.randn(pictures, channels, side * stride, side * stride).requires_grad_()
    w = torch.randn(channels, channels, 3, 3).requires_grad_()
    dy = torch.randn(pictures, channels, side, side)

    def run():
        F.conv2d(x, w, None, stride, 1).backward(dy)
        x.grad = w.grad = None
    return [("eager", run)]


def conv_both(pictures, side, channels):
    return conv(pictures, side, channels, 1)


def conv_half_both(pictures, side, channels):
    return conv(pictures, side, channels, 2)


def lines():
    for side, channels in STAGES:
        yield f"conv 3x3 8 x {channels} x {side} x {side} forward+backward", conv_both, (8, side, channels), (0.9, 0.9)
    for side, channels in STAGES[1:]:
        yield f"conv 3x3 stride 2 to 8 x {channels} x {side} x {side} forward+backward", conv_half_both, (8, side, channels), (0.9, 0.9)
