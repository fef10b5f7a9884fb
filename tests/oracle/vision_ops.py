"""The golden cases of the ops on pictures, each op with its large case for the thread test."""
import numpy as np
import torch
import torch.nn.functional as F

from case import Family, distinct, few, given, normal, positive


# ---- convolutions ----


def conv_case(f, x, w, stride=(1, 1), padding=(0, 0), more=(0, 0), dilation=(1, 1), groups=1, bias=True, plain=False):
    """x and w are shapes. more: so much more padding behind."""
    def fn(x, w, b):
        x = F.pad(x, (padding[1], padding[1] + more[1], padding[0], padding[0] + more[0]))
        return F.conv2d(x, w, b, stride, 0, dilation, groups)
    attr = dict(stride=stride, padding=padding, more=more, dilation=dilation, groups=groups)
    f.case("conv2d", [normal(*x), normal(*w), normal(w[0]) if bias else None], fn, **({} if plain else attr))


def transpose_case(f, x, w, stride=(1, 1), padding=(0, 0), output_padding=(0, 0), dilation=(1, 1), groups=1, bias=True):
    def fn(x, w, b):
        return F.conv_transpose2d(x, w, b, stride, padding, output_padding, groups, dilation)
    f.case("conv_transpose2d", [normal(*x), normal(*w), normal(w[1] * groups) if bias else None], fn, stride=stride,
           padding=padding, output_padding=output_padding, dilation=dilation, groups=groups)


def conv():
    f = Family("conv")
    conv_case(f, (2, 3, 5, 6), (4, 3, 3, 3), plain=True)
    conv_case(f, (1, 1, 1, 1), (1, 1, 1, 1), bias=False)
    conv_case(f, (2, 5, 4, 3), (7, 5, 1, 1))  # plain products
    conv_case(f, (2, 6, 4, 3), (4, 3, 1, 1), groups=2)
    conv_case(f, (2, 3, 7, 7), (5, 3, 3, 3), padding=(1, 1))
    conv_case(f, (3, 2, 9, 5), (3, 2, 3, 3), stride=(2, 2), padding=(1, 1), bias=False)
    conv_case(f, (1, 2, 8, 8), (3, 2, 1, 1), stride=(2, 2))
    conv_case(f, (1, 2, 7, 9), (3, 2, 2, 3), stride=(3, 2), padding=(0, 2), dilation=(2, 1))
    conv_case(f, (2, 2, 9, 11), (2, 2, 3, 2), stride=(2, 3), padding=(3, 1), dilation=(3, 2))
    conv_case(f, (1, 2, 9, 9), (2, 2, 3, 3), stride=(4, 4), dilation=(2, 2), padding=(2, 2))
    conv_case(f, (1, 2, 4, 4), (2, 2, 3, 3), padding=(4, 3))  # more padding than a gradient needs
    conv_case(f, (1, 2, 6, 5), (3, 2, 4, 2), padding=(1, 0), more=(1, 1))
    conv_case(f, (1, 2, 6, 5), (3, 2, 2, 2), padding=(1, 1), more=(-1, -1))
    conv_case(f, (2, 4, 6, 6), (6, 2, 3, 3), groups=2, padding=(1, 1))
    conv_case(f, (2, 4, 6, 5), (4, 1, 3, 3), groups=4, padding=(1, 1))  # depthwise
    conv_case(f, (1, 3, 7, 9), (6, 1, 5, 3), groups=3, stride=(2, 2), padding=(2, 1), dilation=(1, 2))
    conv_case(f, (2, 3, 8, 8), (5, 3, 4, 4), stride=(4, 4))  # patches
    conv_case(f, (1, 2, 5, 5), (2, 2, 2, 2), stride=(3, 3))  # places that no patch sees
    conv_case(f, (1, 1, 2, 300), (2, 1, 1, 3), padding=(0, 1))  # a row of several tiles
    conv_case(f, (1, 2, 3, 37), (2, 2, 2, 2), stride=(1, 6))
    conv_case(f, (1, 40, 4, 4), (3, 40, 3, 3), padding=(1, 1))  # several blocks of k
    conv_case(f, (0, 2, 5, 5), (3, 2, 3, 3))
    for shape, weight, attr in [((2, 3, 9), (4, 3, 3), {}), ((1, 4, 10), (6, 2, 4), dict(stride=[2], padding=[3], groups=2)),
                                ((2, 2, 12), (2, 2, 3), dict(dilation=[4], padding=[2])), ((1, 3, 7), (3, 1, 3), dict(groups=3))]:
        f.case("conv1d", [normal(*shape), normal(*weight), normal(weight[0])],
               lambda x, w, b: F.conv1d(x, w, b, **{k: v if k == "groups" else tuple(v) for k, v in attr.items()}), **attr)
    f.large("conv2d", "normal 3 16 29 31", "normal 40 16 3 3", "normal 40", padding=[1, 1])
    f.large("conv2d", "normal 5 70 14 14", "normal 34 35 3 3", None, padding=[1, 1], stride=[2, 2], groups=2)
    f.large("conv2d", "normal 5 64 28 28", "normal 64 1 3 3", "normal 64", padding=[1, 1], groups=64)
    f.large("conv2d", "normal 5 64 28 28", "normal 50 64 1 1", "normal 50")
    f.large("conv1d", "normal 3 16 2000", "normal 24 16 5", "normal 24", padding=[2])

    transpose_case(f, (2, 3, 4, 5), (3, 4, 3, 3))
    transpose_case(f, (2, 3, 4, 5), (3, 4, 1, 1))
    transpose_case(f, (2, 3, 4, 3), (3, 2, 2, 2), stride=(2, 2), bias=False)
    transpose_case(f, (1, 2, 4, 3), (2, 3, 3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 1))
    transpose_case(f, (1, 2, 4, 3), (2, 3, 2, 3), stride=(3, 2), padding=(0, 2), output_padding=(2, 1), dilation=(1, 2))
    transpose_case(f, (1, 4, 3, 3), (4, 3, 4, 4), stride=(2, 2), padding=(1, 1), groups=2)
    transpose_case(f, (1, 3, 5, 4), (3, 1, 3, 3), padding=(1, 1), groups=3)
    transpose_case(f, (1, 1, 1, 1), (1, 1, 2, 2), stride=(4, 4), output_padding=(3, 2))  # places with nothing but bias
    for shape, weight, attr in [((2, 3, 5), (3, 2, 4), dict(stride=[2], padding=[1])), ((1, 2, 4), (2, 2, 3), {}),
                                ((1, 4, 4), (4, 1, 3), dict(stride=[3], output_padding=[2], groups=2))]:
        f.case("conv_transpose1d", [normal(*shape), normal(*weight), normal(weight[1] * attr.get("groups", 1))],
               lambda x, w, b: F.conv_transpose1d(x, w, b, **{k: v if k == "groups" else tuple(v) for k, v in attr.items()}),
               **attr)
    f.large("conv_transpose2d", "normal 3 40 14 15", "normal 40 20 4 4", "normal 20", stride=[2, 2], padding=[1, 1])
    return f


# ---- pooling ----


def pooling():
    f = Family("pooling")
    shapes = [((2, 3, 6, 7), dict(kernel=[2, 2])), ((1, 2, 7, 9), dict(kernel=[3, 2], stride=[2, 3], padding=[1, 1])),
              ((1, 1, 5, 5), dict(kernel=[3, 3], stride=[2, 2], ceil_mode=True)),
              ((2, 1, 6, 8), dict(kernel=[3, 3], stride=[2, 3], padding=[1, 0], ceil_mode=True)),
              ((1, 2, 4, 4), dict(kernel=[4, 4])), ((1, 1, 7, 7), dict(kernel=[2, 2], stride=[3, 3], padding=[1, 1], ceil_mode=True)),
              ((0, 2, 4, 4), dict(kernel=[2, 2])),
              ((1, 2, 2, 1), dict(kernel=[3, 4], stride=[2, 4], padding=[0, 1], ceil_mode=True))]  # larger than the picture
    for shape, attr in shapes:
        kernel = attr["kernel"]
        options = dict(stride=attr.get("stride", kernel), padding=attr.get("padding", 0), ceil_mode=attr.get("ceil_mode", False))
        f.case("max_pool2d", [distinct(*shape)], lambda x: F.max_pool2d(x, kernel, **options), **attr)
        for exclude in (False, True):
            f.case("avg_pool2d", [normal(*shape)],
                   lambda x: F.avg_pool2d(x, kernel, **options, count_include_pad=not exclude),
                   **attr, **({"exclude_padding": True} if exclude else {}))
    f.case("max_pool2d", [distinct(1, 2, 8, 9)], lambda x: F.max_pool2d(x, (3, 2), 2, 1, (2, 3)), kernel=[3, 2], stride=[2, 2],
           padding=[1, 1], dilation=[2, 3])
    f.case("max_pool2d", [few(2, 2, 6, 6)], lambda x: F.max_pool2d(x, 3, 1), kernel=[3, 3], stride=[1, 1], kink=True)
    f.case("max_pool2d", [given([[[[1, np.nan, 2], [3, -np.inf, -np.inf], [0, 1, -np.inf]]]])],
           lambda x: F.max_pool2d(x, 2, 1), kernel=[2, 2], stride=[1, 1], frozen=(0,))
    for shape, size in [((2, 3, 7, 5), [3, 2]), ((1, 2, 4, 4), [1, 1]), ((1, 1, 3, 4), [5, 7]), ((0, 2, 4, 4), [2, 2])]:
        f.case("adaptive_max_pool2d", [distinct(*shape)], lambda x: F.adaptive_max_pool2d(x, size), size=size)
        f.case("adaptive_avg_pool2d", [normal(*shape)], lambda x: F.adaptive_avg_pool2d(x, size), size=size)
    f.case("max_pool1d", [distinct(2, 3, 9)], lambda x: F.max_pool1d(x, 3, 2, 1), kernel=[3], stride=[2], padding=[1])
    f.case("avg_pool1d", [normal(2, 3, 9)], lambda x: F.avg_pool1d(x, 2), kernel=[2])
    f.case("adaptive_max_pool1d", [distinct(2, 3, 9)], lambda x: F.adaptive_max_pool1d(x, 4), places=4)
    f.case("adaptive_avg_pool1d", [normal(2, 3, 9)], lambda x: F.adaptive_avg_pool1d(x, 4), places=4)
    f.large("max_pool2d", "normal 5 64 28 28", kernel=[3, 3], stride=[2, 2], padding=[1, 1])
    f.large("avg_pool2d", "normal 5 64 28 28", kernel=[3, 3], stride=[2, 2], padding=[1, 1])
    f.large("adaptive_max_pool2d", "normal 5 64 28 28", size=[5, 5])
    f.large("adaptive_avg_pool2d", "normal 5 64 28 28", size=[5, 5])
    return f


# ---- norms over channels ----


def norms():
    f = Family("channel_norm")
    for shape in [(4, 3, 2, 3), (2, 1, 5), (7, 5), (3, 2, 2, 2, 2), (2, 3, 33)]:
        c = shape[1]
        for affine in (True, False):
            weights = [normal(c), normal(c)] if affine else [None, None]
            f.case("batch_norm", [normal(*shape), *weights, None, None],
                   lambda x, g, b, m, v: F.batch_norm(x, None, None, g, b, True, 0, 1e-5), eps=1e-5)
            f.case("batch_norm", [normal(*shape), *weights, normal(c), positive(c)],
                   lambda x, g, b, m, v: F.batch_norm(x, m, v, g, b, False, 0, 1e-3), eps=1e-3, frozen=(3, 4))
    f.case("batch_norm", [normal(0, 3, 2), normal(3), normal(3), normal(3), positive(3)],
           lambda x, g, b, m, v: (x - m[:, None]) / (v[:, None] + 1e-5).sqrt() * g[:, None] + b[:, None], eps=1e-5, frozen=(3, 4))
    for shape, groups in [((2, 6, 3, 4), 3), ((3, 4, 5), 1), ((2, 4, 3), 4), ((1, 8, 17), 2), ((3, 6), 2), ((0, 4, 3), 2)]:
        for affine in (True, False):
            weights = [normal(shape[1]), normal(shape[1])] if affine else [None, None]
            f.case("group_norm", [normal(*shape), *weights], lambda x, g, b: F.group_norm(x, groups, g, b, 1e-5),
                   groups=groups, eps=1e-5)
    f.large("batch_norm", "normal 7 30 29 31", "normal 30", "normal 30", None, None, eps=1e-5)
    f.large("batch_norm", "normal 7 30 29 31", "normal 30", "normal 30", "normal 30", "positive 30", eps=1e-5)
    f.large("group_norm", "normal 7 30 29 31", "normal 30", "normal 30", groups=5, eps=1e-5)
    return f


# ---- resizing and patches ----


def resizing():
    f = Family("resizing")
    for kind in ("nearest", "nearest-exact", "bilinear", "bicubic"):
        smooth = kind in ("bilinear", "bicubic")
        for shape, size in [((2, 2, 5, 6), [9, 7]), ((1, 2, 7, 8), [3, 5]), ((1, 1, 1, 3), [4, 6]), ((1, 1, 4, 5), [1, 1]),
                            ((1, 1, 3, 3), [3, 3]), ((1, 1, 13, 2), [4, 9]), ((0, 1, 3, 3), [2, 2])]:
            for align in (False, True) if smooth else (False,):
                for antialias in (False, True) if smooth else (False,):
                    if antialias and shape[0] == 0:
                        continue
                    attr = {k: True for k, v in dict(align_corners=align, antialias=antialias).items() if v}
                    f.case("interpolate", [normal(*shape)],
                           lambda x: F.interpolate(x, size=size, mode=kind, align_corners=align if smooth else None,
                                                   antialias=antialias), kind=kind, size=size, **attr)
        for scale in [[2.0, 2.0], [0.5, 1.7], [0.3, 0.45]]:
            for antialias in (False, True) if smooth else (False,):
                f.case("interpolate", [normal(1, 2, 7, 9)],
                       lambda x: F.interpolate(x, scale_factor=tuple(scale), mode=kind, antialias=antialias), kind=kind,
                       scale=scale, **({"antialias": True} if antialias else {}))
        for scale in [[1.05, 2.06], [2.2, 1.1]]:  # to as many places, or twice as many
            f.case("interpolate", [normal(1, 2, 9, 4)], lambda x: F.interpolate(x, scale_factor=tuple(scale), mode=kind), kind=kind, scale=scale)
        f.large("interpolate", "normal 3 20 40 41", kind=kind, size=[71, 33])
    for shape, kernel, attr in [((2, 3, 5, 6), [2, 3], {}), ((1, 2, 7, 7), [3, 3], dict(stride=[2, 2], padding=[1, 1])),
                                ((1, 2, 8, 9), [2, 3], dict(stride=[3, 2], padding=[0, 2], dilation=[2, 3])),
                                ((2, 1, 4, 4), [2, 2], dict(stride=[2, 2])), ((0, 2, 4, 4), [2, 2], {})]:
        f.case("unfold", [normal(*shape)], lambda x: F.unfold(x, kernel, **attr), kernel=kernel, **attr)
        columns = F.unfold(torch.zeros(shape), kernel, **attr).shape
        f.case("fold", [normal(*columns)], lambda x: F.fold(x, shape[2:], kernel, **attr), size=list(shape[2:]), kernel=kernel, **attr)
    for shape, heads, kernel, attr in [((1, 3, 4, 4), 2, [3, 3], dict(stride=[2, 2], padding=[1, 1])), ((1, 2, 2, 9), 1, [3, 3], dict(padding=[1, 1])),
                                       ((1, 7, 5, 3), 3, [2, 2], dict(stride=[3, 3])), ((2, 1, 1, 2), 1, [3, 3], dict(stride=[2, 2], padding=[1, 1])),
                                       ((1, 2, 5, 2), 2, [2, 3], dict(stride=[1, 2], padding=[1, 2])), ((0, 3, 3, 4), 2, [3, 3], dict(padding=[1, 1]))]:
        windows, taps = F.unfold(torch.zeros(1, 1, *shape[1:3]), kernel, **attr).shape[2], kernel[0] * kernel[1]
        f.case("outlook", [normal(*shape), normal(shape[0], windows, heads, taps, taps)], lambda x, w: outlook(x, w, kernel, attr), kernel=kernel, **attr)
    f.large("outlook", "normal 3 15 14 40", "normal 3 56 5 9 9", kernel=[3, 3], stride=[2, 2], padding=[1, 1])
    f.large("unfold", "normal 3 10 40 41", kernel=[3, 3], padding=[1, 1])
    f.large("fold", "normal 3 90 1640", size=[40, 41], kernel=[3, 3], padding=[1, 1])
    return f


def outlook(x, weights, kernel, attr):
    b, n, heads, taps, _ = weights.shape
    if b == 0:
        return x + weights.sum()
    cols = F.unfold(x.permute(0, 3, 1, 2), kernel, **attr)  # (B, heads size taps, N)
    v = cols.reshape(b, heads, -1, taps, n).permute(0, 4, 1, 3, 2)
    y = (weights @ v).permute(0, 2, 4, 3, 1).reshape(cols.shape)
    return F.fold(y, x.shape[1:3], kernel, **attr).permute(0, 2, 3, 1)


def families():
    return [conv(), pooling(), norms(), resizing()]
