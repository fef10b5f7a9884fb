"""Pictures by Pillow, transformers (the image processors on Pillow) and timm: image/files.safetensors (files of all kinds and what they decode to),
image/resize.safetensors, image/processors.safetensors (configurations, a picture, floats)."""
import importlib
import io
import json
import struct
import zlib

import numpy as np
from PIL import Image, ImageEnhance, ImageOps
from safetensors.numpy import save_file

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def rows(samples, bits):
    """samples: (height, width, channels) -> the rows of a PNG, each with filter 0"""
    out = b""
    for row in samples:
        flat = row.reshape(-1)
        if bits == 16:
            out += b"\0" + flat.astype(">u2").tobytes()
        elif bits == 8:
            out += b"\0" + flat.astype(np.uint8).tobytes()
        else:
            text = "".join(format(int(v), f"0{bits}b") for v in flat)
            text += "0" * (-len(text) % 8)
            out += b"\0" + int(text, 2).to_bytes(len(text) // 8, "big")
    return out


def png(samples, bits, colour, interlaced=False, palette=None, transparent=None):
    """Pillow does not write all kinds."""
    h, w = samples.shape[:2]
    parts = [(x, y, dx, dy) for x, y, dx, dy in ADAM7 if x < w and y < h] if interlaced else [(0, 0, 1, 1)]
    data = b"".join(rows(samples[y::dy, x::dx], bits) for x, y, dx, dy in parts)
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", w, h, bits, colour, 0, 0, interlaced))
    if palette is not None:
        out += chunk(b"PLTE", palette.astype(np.uint8).tobytes())
    if transparent is not None:
        out += chunk(b"tRNS", transparent)
    return out + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b"")


def smooth(w, h, n):
    y, x = np.mgrid[0:h, 0:w]
    return np.stack([127.5 + 127.5 * np.sin(.3 * x * (i + 1) + .4 * y + i) for i in range(n)], -1).astype(np.uint8)


def jpeg(image, **how):
    out = io.BytesIO()
    image.save(out, "JPEG", **how)
    return out.getvalue()


def files():
    rng = np.random.default_rng(0)
    w, h = 13, 11
    for colour, depths in {0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16]}.items():
        for bits in depths:
            samples = rng.integers(0, 600 if (colour, bits) == (0, 16) else 1 << bits, (h, w, CHANNELS[colour]))
            palette = rng.integers(0, 256, (1 << bits, 3)) if colour == 3 else None
            for interlaced in (False, True):
                yield f"png.{colour}.{bits}{'.interlaced' if interlaced else ''}", png(samples, bits, colour, interlaced, palette)
    index = rng.integers(0, 4, (h, w, 1))
    yield "png.alpha", png(index, 2, 3, palette=rng.integers(0, 256, (4, 3)), transparent=bytes([0, 100]))
    yield "png.short", png(index, 2, 3, palette=rng.integers(0, 256, (2, 3)))  # indices beyond the palette
    yield "png.key", png(index * 10, 8, 0, transparent=struct.pack(">H", 20))
    yield "png.one", png(np.array([[[7, 8, 9]]]), 8, 2)
    colour = Image.fromarray(smooth(37, 29, 3))
    for sampling in range(3):
        yield f"jpeg.{sampling}", jpeg(colour, quality=80, subsampling=sampling)
    yield "jpeg.grey", jpeg(colour.convert("L"), quality=60)
    yield "jpeg.progressive", jpeg(colour, quality=60, progressive=True)
    yield "jpeg.cmyk", jpeg(Image.fromarray(smooth(19, 16, 4), "CMYK"), quality=70)
    for o in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = o
        yield f"jpeg.turned{o}", jpeg(Image.fromarray(smooth(10, 7, 3)), quality=70, exif=exif)


def make_files(folder):
    tensors, names = {}, []
    for name, data in files():
        names.append(name)
        im = Image.open(io.BytesIO(data))
        tensors[f"{name}.file"] = np.frombuffer(data, np.uint8)
        turned = ImageOps.exif_transpose(im)
        tensors[f"{name}.rgb"] = np.asarray(turned.convert("RGB")).copy()
        tensors[f"{name}.grey"] = np.asarray(turned.convert("L")).copy()
        if im.mode in ("LA", "RGBA", "P") or name == "png.key":
            tensors[f"{name}.rgba"] = np.asarray(turned.convert("RGBA")).copy()
    save_file(tensors, folder / "files.safetensors", {"names": " ".join(names)})
    print(f"image/files.safetensors: {len(names)} files, {(folder / 'files.safetensors').stat().st_size} bytes")


FILTERS = dict(nearest=0, lanczos=1, bilinear=2, bicubic=3, box=4, hamming=5)
SIZES = [(7, 5, None), (40, 31, None), (23, 9, None), (9, 17, None), (12, 30, None), (30, 3, None), (1, 1, None), (11, 8, (2.5, 1.25, 20.75, 15.5))]


def make_resize(folder):
    rng = np.random.default_rng(1)
    tensors, cases = {}, []
    for mode, n in dict(L=1, LA=2, RGB=3, RGBA=4).items():
        a = smooth(23, 17, n)
        a[3:8, 4:12] = rng.integers(0, 2, (5, 8, n)) * 255
        a = a[:, :, 0] if n == 1 else a
        tensors[f"{mode}.in"] = a
        for name, filter in FILTERS.items():
            for w, h, box in SIZES if mode == "RGB" else SIZES[:1] + SIZES[3:4] + SIZES[-1:]:
                case = f"{mode}.{name}.{w}x{h}{'.box' if box else ''}"
                tensors[case] = np.asarray(Image.fromarray(a, mode).resize((w, h), filter, box)).copy()
                cases.append(dict(name=case, source=f"{mode}.in", filter=name, width=w, height=h, box=box or [0, 0, 23, 17]))
    save_file(tensors, folder / "resize.safetensors", {"list": json.dumps(cases)})
    print(f"image/resize.safetensors: {len(cases)} cases, {(folder / 'resize.safetensors').stat().st_size} bytes")


def processors():
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil
    from transformers.models.convnext.image_processing_pil_convnext import ConvNextImageProcessorPil
    from transformers.models.deit.image_processing_pil_deit import DeiTImageProcessorPil
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil
    small = dict(height=12, width=10)
    yield "vit", ViTImageProcessorPil(size=small)
    yield "vit.moments", ViTImageProcessorPil(size=small, resample=3, image_mean=[.4, .5, .6], image_std=[.2, .3, .25])
    yield "vit.shortest", ViTImageProcessorPil(size={"shortest_edge": 9})
    yield "vit.longest", ViTImageProcessorPil(size={"shortest_edge": 9, "longest_edge": 11}, resample=1)
    yield "vit.within", ViTImageProcessorPil(size={"max_height": 9, "max_width": 8})
    yield "vit.plain", ViTImageProcessorPil(do_resize=False, do_normalize=False)
    yield "deit", DeiTImageProcessorPil(size=dict(height=14, width=14), crop_size=dict(height=9, width=11))
    yield "deit.larger", DeiTImageProcessorPil(size=dict(height=8, width=8), crop_size=dict(height=11, width=7))
    yield "clip", CLIPImageProcessorPil(size={"shortest_edge": 10}, crop_size=dict(height=8, width=8))
    yield "convnext", ConvNextImageProcessorPil(size={"shortest_edge": 12})


def files_by_hand():
    """Files that leave most to the class, or have sizes in older ways."""
    yield "hand.vit", "ViT", dict(size=[12, 10])
    yield "hand.deit", "DeiT", dict(size=16, crop_size=[9, 11])
    yield "hand.deit.crop", "DeiT", dict(do_resize=False, size={"longest_edge": 9}, crop_size=8)
    yield "hand.clip", "CLIP", dict(size=10, crop_size=8)
    yield "hand.siglip", "Siglip", dict(size=9)
    yield "hand.convnext", "ConvNext", dict(size=12, crop_pct=0.8)
    yield "hand.beit", "Beit", dict(size={"shortest_edge": 12}, do_center_crop=True, crop_size={"height": 7, "width": 9}, image_mean=0.4, image_std=0.3)


def timm_configs():
    base = dict(input_size=[3, 12, 12], interpolation="bicubic", crop_pct=.9, crop_mode="center", mean=[.485, .456, .406], std=[.229, .224, .225])
    yield "timm", base
    yield "timm.squash", base | dict(crop_mode="squash", interpolation="bilinear")
    yield "timm.border", base | dict(crop_mode="border", mean=[.2, .5, .7])
    yield "timm.oblong", base | dict(input_size=[3, 10, 13])
    yield "timm.whole", base | dict(crop_pct=1.0, mean=[.5, .5, .5], std=[.5, .5, .5])


def make_processors(folder):
    from timm.data import create_transform
    a = smooth(27, 20, 3)
    tensors, configs = {"in": a}, {}
    for name, p in processors():
        configs[name] = json.loads(p.to_json_string())
        tensors[name] = np.asarray(p(Image.fromarray(a), return_tensors="np")["pixel_values"][0], np.float32).copy()
    for name, kind, c in files_by_hand():
        module = importlib.import_module(f"transformers.models.{kind.lower()}.image_processing_pil_{kind.lower()}")
        configs[name] = dict(image_processor_type=kind + "ImageProcessor", **c)
        p = getattr(module, kind + "ImageProcessorPil")(**c)
        tensors[name] = np.asarray(p(Image.fromarray(a), return_tensors="np")["pixel_values"][0], np.float32).copy()
    for name, c in timm_configs():
        configs[name] = dict(architecture="vit_tiny_patch16_224", pretrained_cfg=c)
        transform = create_transform(input_size=tuple(c["input_size"]), **{k: v for k, v in c.items() if k != "input_size"})
        tensors[name] = transform(Image.fromarray(a)).numpy()
    save_file(tensors, folder / "processors.safetensors", {"list": json.dumps([dict(name=k, config=json.dumps(v)) for k, v in configs.items()])})
    print(f"image/processors.safetensors: {len(configs)} processors, {(folder / 'processors.safetensors').stat().st_size} bytes")


def turn_hue(im, by):
    h, s, v = im.convert("HSV").split()
    turned = np.asarray(h) + np.int32(by * 255).astype(np.uint8)
    return Image.merge("HSV", (Image.fromarray(turned), s, v)).convert("RGB")


def make_operations(folder):
    a = smooth(14, 11, 3)
    a[2:6, 3:9] = np.random.default_rng(2).integers(0, 256, (4, 6, 3))
    im = Image.fromarray(a)
    made = dict(autocontrast=ImageOps.autocontrast(im), equalize=ImageOps.equalize(im), invert=ImageOps.invert(im), solarize=ImageOps.solarize(im, 100),
                solarize_add=im.point([min(255, v + 50) if v < 128 else v for v in range(256)] * 3), posterize=ImageOps.posterize(im, 3),
                color=ImageEnhance.Color(im).enhance(.3), contrast=ImageEnhance.Contrast(im).enhance(1.7), brightness=ImageEnhance.Brightness(im).enhance(1.4),
                sharpness=ImageEnhance.Sharpness(im).enhance(1.9), hue=turn_hue(im, -.3))
    matrix = (1.1, .2, -1.5, -.3, .9, 2.25)
    for name, filter in dict(nearest=0, bilinear=2, bicubic=3).items():
        made[f"rotate.{name}"] = im.rotate(25, filter, fillcolor=(9, 90, 200))
        made[f"affine.{name}"] = im.transform(im.size, Image.AFFINE, matrix, filter, fillcolor=(9, 90, 200))
    save_file({"in": a} | {k: np.asarray(v).copy() for k, v in made.items()}, folder / "operations.safetensors")
    print(f"image/operations.safetensors: {len(made)} operations")


def make_rand(folder):
    """Each operation of RandAugment at some magnitudes, forth and back: "torchvision.NAME" and "timm.NAME", (magnitudes, 2, height, width, 3)."""
    import torchvision_ops  # noqa: F401  before torchvision
    from timm.data import auto_augment as t
    from torchvision.transforms import InterpolationMode, autoaugment as v
    a = smooth(6, 5, 3)
    a[1:4, 2:5] = np.random.default_rng(3).integers(0, 256, (3, 3, 3))
    im, fill, tensors = Image.fromarray(a), (9, 90, 200), {"in": a}
    for name, (magnitudes, signed) in v.RandAugment()._augmentation_space(31, (5, 6)).items():
        value = lambda m: float(magnitudes[m]) if magnitudes.ndim else 0.0
        tensors["torchvision." + name] = np.stack([[np.asarray(v._apply_op(im, name, sign * value(m), InterpolationMode.NEAREST, None))
                                                    for sign in ((1, -1) if signed else (1, 1))] for m in (4, 9, 20, 30)])
    for name in t._RAND_INCREASING_TRANSFORMS:
        made = []
        for m, filter in ((2, Image.BILINEAR), (6.5, Image.BICUBIC), (9, Image.BILINEAR)):
            for sign in (1, -1):
                t._randomly_negate = lambda v: sign * v
                made.append(np.asarray(t.AugmentOp(name, 1.0, m, dict(img_mean=fill, interpolation=filter))(im)))
        tensors["timm." + name] = np.stack(made).reshape(3, 2, *a.shape)
    save_file(tensors, folder / "rand.safetensors")
    print(f"image/rand.safetensors: {len(tensors) - 1} operations, {(folder / 'rand.safetensors').stat().st_size} bytes")


def make(folder):
    make_operations(folder)
    make_rand(folder)
    make_files(folder)
    make_resize(folder)
    make_processors(folder)
