"""What timm's architectures are called and what they are, as tables for src/model: python timm_tables.py, by hand.

Each line of src/model/vision/timm_FAMILY.def is a name and the arguments of its class that are not the class's own defaults."""
import torchvision_ops  # noqa: F401, before timm
import fnmatch
import functools
import inspect
import pathlib

import timm
from timm.models import cait, deit, levit, mlp_mixer, resnet, swin_transformer, swin_transformer_v2, vision_transformer, volo

MODULES = {"vit": [vision_transformer, deit], "swin": [swin_transformer], "swinv2": [swin_transformer_v2], "mixer": [mlp_mixer], "cait": [cait], "levit": [levit], "volo": [volo], "resnet": [resnet]}
NAMES = {"resnet": ("resnet[0-9]*", "resnext[0-9]*", "wide_resnet*")}  # of a module not all
NORMS = {"LayerNorm": None, "RmsNorm": "rmsnorm", "rmsnorm": "rmsnorm", "Affine": "affine", "groupnorm": "groupnorm"}
found = {}


def noted(kind, variant, pretrained, **arguments):
    found[variant] = kind, arguments
    raise StopIteration


def text(value):
    if isinstance(value, (list, tuple)):
        return ",".join(map(text, value))
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) and value == float(f"{value:g}") else str(value)


def described(name, value):
    """key=value texts of an argument, layers by name."""
    options = {}
    if isinstance(value, functools.partial):
        value, options = value.func, value.keywords
    called = value if isinstance(value, str) else getattr(value, "__name__", None)
    if name == "norm_layer":
        yield from ([f"norm_layer={NORMS[called]}"] if NORMS[called] else [])
        yield from (f"norm_eps={text(v)}" for k, v in options.items() if k == "eps")
    elif name == "embed_norm_layer":
        yield f"embed_norm_layer={NORMS[called]}"
    elif name == "mlp_layer" and called == "GluMlp" and not options.get("gate_last", True):
        yield "mlp_layer=SwiGLUPacked"
    elif called is not None:
        yield f"{name}={called.lower() if name == 'act_layer' else called}"
        yield from (f"{k}={text(v)}" for k, v in options.items())
    else:
        yield f"{name}={text(value)}"


def row(name):
    try:
        timm.model_entrypoint(name)()
    except StopIteration:
        pass
    kind, arguments = found[name]
    config = timm.get_pretrained_cfg(name)
    class_defaults = {k: p.default for k, p in inspect.signature(kind).parameters.items()}
    defaults = class_defaults | {k: p.default for k, p in inspect.signature(kind.__mro__[1]).parameters.items()} if "Distilled" in kind.__name__ else class_defaults
    if config.fixed_input_size:
        height, width = config.input_size[1:]
        arguments = dict(img_size=height if height == width else (height, width)) | arguments
    if config.num_classes != 1000:
        arguments = arguments | dict(num_classes=config.num_classes)
    parts = ["distilled=true"] if "Distilled" in kind.__name__ else []
    for key, value in arguments.items():
        if key in defaults and (defaults[key] != value or callable(value)):
            parts += described(key, value)
    return " ".join(parts)


def main():
    folder = pathlib.Path(__file__).resolve().parents[2] / "src" / "model" / "vision"
    for family, modules in MODULES.items():
        for module in modules:
            module.build_model_with_cfg = noted
        names = sorted(n for n in timm.list_models() if timm.model_entrypoint(n).__module__ in [m.__name__ for m in modules] and any(fnmatch.fnmatch(n, p) for p in NAMES.get(family, "*")))
        lines = [f'TIMM("{name}", "{row(name)}")' for name in names]
        head = f"/* timm's architectures and what is not its class's default; made by tests/oracle/timm_tables.py, timm {timm.__version__}. */"
        (folder / f"timm_{family}.def").write_text("\n".join(["/* clang-format off */", head, *lines, "/* clang-format on */", ""]))


if __name__ == "__main__":
    main()
