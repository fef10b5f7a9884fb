"""FNet's mixing beside PyTorch's torch.fft, in both forms: the transform of two axes at once, and of one after the other."""
import torch

SHAPES = [(1, 512, 768), (8, 128, 768), (1, 509, 768)]


def forms(x):
    return [("fftn", lambda: torch.fft.fftn(x, dim=(1, 2)).real),
            ("fft of each axis", lambda: torch.fft.fft(torch.fft.fft(x, dim=2), dim=1).real)]


def fourier_mix(m, n, k):
    x = torch.randn(m, n, k)

    def run(form):
        with torch.no_grad():
            form()
    return [(name, lambda form=form: run(form)) for name, form in forms(x)]


def fourier_mix_both(m, n, k):
    x, dy = torch.randn(m, n, k).requires_grad_(), torch.randn(m, n, k)

    def run(form):
        form().backward(dy)
        x.grad = None
    return [(name, lambda form=form: run(form)) for name, form in forms(x)]


def lines():
    for m, n, k in SHAPES:
        yield f"Fourier mixing {m} x {n} x {k} forward", fourier_mix, (m, n, k), (1.0, 1.0)
    yield "Fourier mixing 1 x 512 x 768 forward+backward", fourier_mix_both, (1, 512, 768), (1.0, 1.0)
