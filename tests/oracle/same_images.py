"""same_images.py LIBHEED [--cases N] [--seed S]: heed's pictures beside Pillow's, on pictures that nobody has seen: decoding, converting, resizing, affine
maps; every operation of RandAugment at every magnitude beside torchvision's and timm's; and preprocessor_config.json and timm's pretrained_cfg of random keys.
Bytes and floats must be the same. Run by hand."""
import argparse
import ctypes as c
import importlib
import io
import json
import random
import sys

import numpy as np
import torchvision_ops  # noqa: F401  before torchvision and timm
from PIL import Image, ImageOps


class Picture(c.Structure):
    _fields_ = [("width", c.c_int64), ("height", c.c_int64), ("channels", c.c_int), ("data", c.POINTER(c.c_uint8))]


class Opts(c.Structure):
    _fields_ = [("mode", c.c_int), ("orient", c.c_bool), ("max_pixels", c.c_int64)]


class Box(c.Structure):
    _fields_ = [("left", c.c_float), ("top", c.c_float), ("right", c.c_float), ("bottom", c.c_float)]


class Heed:
    def __init__(self, path):
        self.lib = c.CDLL(path)
        self.lib.heed_open.restype = c.c_void_p
        self.lib.heed_message.restype = c.c_char_p
        self.lib.heed_mem_new.restype = c.c_void_p
        self.lib.heed_image_encode.restype = c.c_void_p
        self.cx = c.c_void_p(self.lib.heed_open(None))

    def call(self, name, *args):
        out = Picture()
        if not getattr(self.lib, name)(self.cx, *args, c.byref(out)):
            message = self.lib.heed_message(self.cx).decode()
            self.lib.heed_clear(self.cx)
            raise ValueError(message)
        shape = (out.height, out.width, out.channels)
        array = np.ctypeslib.as_array(out.data, shape).copy()
        self.lib.heed_image_free(self.cx, c.byref(out))
        return array[:, :, 0] if shape[2] == 1 else array

    def parse(self, data, mode=0, orient=False):
        return self.call("heed_image_parse", b"test", c.c_char_p(data), c.c_size_t(len(data)), c.byref(Opts(mode, orient, 0)))

    @staticmethod
    def picture(array):
        array = np.ascontiguousarray(array)
        h, w = array.shape[:2]
        p = Picture(w, h, 1 if array.ndim == 2 else array.shape[2], array.ctypes.data_as(c.POINTER(c.c_uint8)))
        p.keep = array
        return p


MODES = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}
FAILED = []


def same(what, ours, theirs):
    theirs = np.asarray(theirs)
    if ours.shape != theirs.shape or not (ours == theirs).all():
        where = "shape" if ours.shape != theirs.shape else f"{(ours != theirs).sum()} of {ours.size}, by {np.abs(ours.astype(int) - theirs).max()}"
        FAILED.append(what)
        print(f"differs: {what}: {where}")


def draw(rng, w, h, channels):
    """Smooth and rough parts, black and white ones."""
    kind = rng.integers(4)
    shape = (h, w) if channels == 1 else (h, w, channels)
    if kind == 0:
        return rng.integers(0, 256, shape, dtype=np.uint8)
    if kind == 1:
        return (rng.integers(0, 2, shape) * 255).astype(np.uint8)
    y, x = np.mgrid[0:h, 0:w]
    a = np.stack([127.5 + 127.5 * np.sin(x * rng.uniform(0, .5) + y * rng.uniform(0, .5) + i) for i in range(channels)], -1)
    a = np.clip(a + rng.normal(0, 20 * (kind - 2), a.shape), 0, 255).astype(np.uint8)
    return a[:, :, 0] if channels == 1 else a


def files(heed, rng):
    w, h = (int(v) for v in rng.integers(1, 70, 2))
    kind = rng.choice(["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "CMYK"])
    n = {"LA": 2, "RGB": 3, "RGBA": 4, "CMYK": 4}.get(kind, 1)
    a = draw(rng, w, h, n)
    if kind == "I;16":
        im = Image.fromarray(rng.integers(0, 600, (h, w)).astype(np.uint16))
    elif kind == "1":
        im = Image.fromarray(a).convert("1")
    elif kind == "P":
        im = Image.fromarray(draw(rng, w, h, 3)).quantize(int(rng.choice([2, 4, 16, 200])))
        if rng.integers(2):
            im.info["transparency"] = bytes(rng.integers(0, 256, 16, dtype=np.uint8).tolist())
    else:
        im = Image.fromarray(a, kind)
    out = io.BytesIO()
    if kind == "CMYK" or (kind in ("L", "RGB") and rng.integers(2)):
        exif = Image.Exif()
        exif[0x0112] = int(rng.integers(1, 9))
        im.save(out, "JPEG", quality=int(rng.integers(5, 100)), progressive=bool(rng.integers(2)), subsampling=int(rng.integers(3)), exif=exif)
    else:
        im.save(out, "PNG", transparency=im.info.get("transparency")) if "transparency" in im.info else im.save(out, "PNG")
    data = out.getvalue()
    theirs = Image.open(io.BytesIO(data))
    for mode, number in MODES.items():
        if mode == "LA" and theirs.mode not in ("LA",):
            continue
        if mode == "RGBA" and theirs.mode in ("CMYK", "I;16", "1"):
            continue
        same(f"{kind} {w} x {h} of {theirs.format} as {mode}", heed.parse(data, number), theirs.convert(mode))
    if theirs.format == "JPEG":
        same(f"{kind} turned", heed.parse(data, 3, True), ImageOps.exif_transpose(theirs).convert("RGB"))


FILTERS = [Image.NEAREST, Image.LANCZOS, Image.BILINEAR, Image.BICUBIC, Image.BOX, Image.HAMMING]


def resizing(heed, rng):
    w, h, ow, oh = (int(v) for v in rng.integers(1, rng.choice([8, 70, 400]), 4))
    if rng.integers(6) == 0:
        ow = w
    if rng.integers(6) == 0:
        oh = h
    mode = rng.choice(list(MODES))
    a = draw(rng, w, h, MODES[mode])
    box = None
    if rng.integers(3) == 0:
        left, right = sorted(rng.uniform(0, w, 2))
        top, bottom = sorted(rng.uniform(0, h, 2))
        if right - left > .1 and bottom - top > .1:
            box = [float(np.float32(v)) for v in (left, top, right, bottom)]
    filter = int(rng.integers(6))
    ours = heed.call("heed_image_resize", c.byref(heed.picture(a)), c.c_int64(ow), c.c_int64(oh), filter, c.byref(Box(*box)) if box else None)
    same(f"{mode} {w} x {h} to {ow} x {oh} by {filter}, box {box}", ours, Image.fromarray(a, str(mode)).resize((ow, oh), FILTERS[filter], box))


def rand_names(heed, kind):
    heed.lib.heed_rand_name.restype = c.c_char_p
    return [heed.lib.heed_rand_name(kind, i).decode() for i in range(heed.lib.heed_rand_count(kind))]


def rand_apply(heed, a, kind, operation, magnitude, negative, filter, fill):
    """On a copy that heed owns."""
    p = Picture()
    heed.lib.heed_image_copy(heed.cx, c.byref(heed.picture(a)), c.byref(p))
    ok = heed.lib.heed_rand_apply(heed.cx, kind, operation, c.c_double(magnitude), negative, filter, (c.c_uint8 * 4)(*fill), c.byref(p))
    if not ok:
        raise ValueError(heed.lib.heed_message(heed.cx).decode())
    shape = (p.height, p.width, p.channels)
    out = np.ctypeslib.as_array(p.data, shape).copy()
    heed.lib.heed_image_free(heed.cx, c.byref(p))
    return out[:, :, 0] if shape[2] == 1 else out


def rand_torchvision(heed, rng):
    from torchvision.transforms import InterpolationMode, autoaugment
    w, h = (int(v) for v in rng.integers(1, 70, 2))
    channels = int(rng.choice([1, 3]))
    a = draw(rng, w, h, channels)
    im = Image.fromarray(a)
    space = autoaugment.RandAugment()._augmentation_space(31, (h, w))
    if list(space) != rand_names(heed, 0):
        sys.exit(f"torchvision's operations are {list(space)}")
    for op, (name, (magnitudes, signed)) in enumerate(space.items()):
        for m in range(31):
            for negative in (False, True):
                value = float(magnitudes[m].item()) if magnitudes.ndim else 0.0
                value = -value if signed and negative else value
                theirs = autoaugment._apply_op(im, name, value, InterpolationMode.NEAREST, None)
                same(f"torchvision's {name} at {m}, {w} x {h}", rand_apply(heed, a, 0, op, m, negative, 0, (0, 0, 0, 0)), theirs)


def rand_timm(heed, rng):
    from timm.data import auto_augment as t
    w, h = (int(v) for v in rng.integers(1, 70, 2))
    a = draw(rng, w, h, 3)
    im, fill = Image.fromarray(a), tuple(int(v) for v in rng.integers(0, 256, 3))
    if t._RAND_INCREASING_TRANSFORMS != rand_names(heed, 1):
        sys.exit(f"timm's operations are {t._RAND_INCREASING_TRANSFORMS}")
    negate = t._randomly_negate
    for op, name in enumerate(t._RAND_INCREASING_TRANSFORMS):
        for m in [*range(11), *rng.uniform(0, 10, 4)]:
            for negative in (False, True):
                filter = int(rng.choice([2, 3]))
                t._randomly_negate = lambda v: -v if negative else v
                one = t.AugmentOp(name, 1.0, m, dict(img_mean=fill, interpolation=FILTERS[filter]))
                if name == "PosterizeIncreasing" and m == 10:  # no bit is left: black; Pillow refuses it since 13
                    same("no bits", rand_apply(heed, a, 1, op, m, negative, filter, (*fill, 0)), np.zeros_like(a))
                    continue
                same(f"timm's {name} at {m}, {w} x {h} by {filter}", rand_apply(heed, a, 1, op, m, negative, filter, (*fill, 0)), one(im))
    t._randomly_negate = negate


KINDS = ["ViT", "DeiT", "Beit", "Siglip", "CLIP", "Bit", "ConvNext"]


def some(r, **choices):
    """About half of the keys, each with what its function gives."""
    return {key: value() for key, value in choices.items() if r.random() < 0.5}


def transformers_config(r, kind):
    def side():
        return r.randint(1, 60)

    def both():
        return dict(height=side(), width=side())
    sizes = [side(), both(), [side(), side()], dict(shortest_edge=side()), dict(shortest_edge=side(), longest_edge=r.randint(20, 90)),
             dict(max_height=side(), max_width=side()), dict(longest_edge=side())]
    if kind == "ConvNext":
        sizes = [side(), dict(shortest_edge=side()), dict(shortest_edge=384), dict(shortest_edge=400)]
    config = some(r, size=lambda: r.choice(sizes), crop_size=lambda: r.choice([side(), both(), [side(), side()]]), do_convert_rgb=lambda: True,
                  resample=lambda: r.randrange(6), rescale_factor=lambda: r.choice([1 / 255, 1 / 127.5, 0.00392156862745098, 1.0, 2]),
                  image_mean=lambda: r.choice([[r.random() for _ in range(3)], 0.5]), image_std=lambda: r.choice([[r.uniform(.1, 1) for _ in range(3)], 0.25]))
    flags = some(r, **{key: lambda: r.random() < 0.7 for key in ("do_resize", "do_center_crop", "do_rescale", "do_normalize")})
    if kind == "ConvNext":  # crops in its own way
        flags.pop("do_center_crop", None)
        config |= some(r, crop_pct=lambda: r.choice([.5, .875, .9, 1.0]))
    return config | flags


def processed(heed, config, a):
    """None where heed refuses."""
    room, text = (c.c_char * 1024)(), json.dumps(config).encode()
    heed.lib.heed_image_process.restype = c.c_void_p
    sizes = [c.c_int64() for _ in range(3)]
    at = heed.lib.heed_image_processor_parse(heed.cx, b"config", text, c.c_size_t(len(text)), room) and \
        heed.lib.heed_image_process(heed.cx, room, c.byref(heed.picture(a)), *(c.byref(s) for s in sizes))
    if not at:
        heed.lib.heed_clear(heed.cx)
        return None
    out = np.ctypeslib.as_array(c.cast(at, c.POINTER(c.c_float)), [s.value for s in sizes]).copy()
    heed.lib.heed_mem_free(heed.cx, c.c_void_p(at))
    return out


def same_floats(what, ours, theirs):
    if (ours is None) != (theirs is None) or (ours is not None and not np.array_equal(ours, theirs)):
        FAILED.append(what)
        print(f"differs: {what}: {'refused' if ours is None else ours.shape} and {'refused' if theirs is None else theirs.shape}")


def processors(heed, rng):
    r = random.Random(int(rng.integers(2 ** 31)))
    kind = r.choice(KINDS)
    config = transformers_config(r, kind)
    a = draw(rng, *r.choice([(r.randint(1, 120), r.randint(1, 120)), (1, 1), (100, 1), (2, 300)]), 3)
    module = importlib.import_module(f"transformers.models.{kind.lower()}.image_processing_pil_{kind.lower()}")
    try:
        theirs = np.asarray(getattr(module, kind + "ImageProcessorPil")(**config)(Image.fromarray(a), return_tensors="np").pixel_values[0], np.float32)
    except (ValueError, TypeError):
        theirs = None
    config["image_processor_type"] = kind + "ImageProcessor"
    same_floats(f"{json.dumps(config)} of {a.shape}", processed(heed, config, a), theirs)


def timm_transforms(heed, rng):
    from timm.data import create_transform, resolve_data_config
    r = random.Random(int(rng.integers(2 ** 31)))
    channels = r.choice([3, 3, 1])
    config = dict(input_size=[channels] + r.choice([[r.randint(1, 60)] * 2, [r.randint(1, 60), r.randint(1, 60)]]))
    config |= some(r, crop_pct=lambda: r.choice([1.0, .875, .9, .5, .965, 1.2]), crop_mode=lambda: r.choice(["center", "squash", "border"]),
                   interpolation=lambda: r.choice(["bilinear", "bicubic", "nearest", "lanczos", "box", "hamming"]))
    if channels == 1 or r.random() < 0.5:
        config |= dict(mean=[r.random() for _ in range(channels)], std=[r.uniform(.1, 1) for _ in range(channels)])
    a = draw(rng, *r.choice([(r.randint(1, 120), r.randint(1, 120)), (1, 1), (100, 1), (2, 300)]), channels)
    try:
        full = resolve_data_config(pretrained_cfg=config)
        theirs = create_transform(**{key: full[key] for key in ("input_size", "interpolation", "mean", "std", "crop_pct", "crop_mode")})(Image.fromarray(a)).numpy()
    except (ValueError, ZeroDivisionError):
        theirs = None
    same_floats(f"timm {json.dumps(config)} of {a.shape}", processed(heed, dict(architecture="vit_tiny_patch16_224", pretrained_cfg=config), a), theirs)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("lib")
    p.add_argument("--cases", type=int, default=300)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    heed = Heed(args.lib)
    for case in range(args.cases):
        for check in (files, resizing, processors, timm_transforms):
            check(heed, np.random.default_rng([args.seed, case]))
    for case in range(args.cases // 30):
        for check in (rand_torchvision, rand_timm):
            check(heed, np.random.default_rng([args.seed, case]))
    print(f"{args.cases} cases: {len(FAILED)} differ")
    sys.exit(bool(FAILED))


if __name__ == "__main__":
    main()
