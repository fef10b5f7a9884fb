"""Lines of pictures: ResNet-50's 3 x 3 convolutions forward+backward, beside PyTorch (oneDNN); training steps of DeiT-Ti and of a small ViT beside timm's;
forward of DeiT-Ti, Swin-T, LeViT-128S, VOLO-D1 and ResNet-50 beside PyTorch, ONNX Runtime and OpenVINO; JPEG files read and augmented beside torchvision with Pillow. Peers that are
not installed are left out, which is said."""
import os

import torch
import torch.nn.functional as F

import attention
import training
from peers import missing, torchvision

STAGES = [(56, 64), (28, 128), (14, 256), (7, 512)]  # side of the pictures that come out, channels
DEIT, SMALL, SWIN, LEVIT, VOLO, RESNET = range(6)
NAMES = ["deit_tiny_patch16_224", "vit_tiny_patch16_224", "swin_tiny_patch4_window7_224", "levit_128s", "volo_d1_224", "resnet50"]
ARGUMENTS = {SMALL: dict(img_size=28, patch_size=4, in_chans=1, embed_dim=64, depth=6, num_heads=4, num_classes=10)}
MEMORY = 0.6  # of PyTorch's
FOLDER = None


def share(folder):
    global FOLDER
    FOLDER = folder


# ---- convolutions ----

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


# ---- models ----

def model(kind):
    torchvision()
    import timm
    torch.manual_seed(0)
    return timm.create_model(NAMES[kind], **ARGUMENTS.get(kind, {}))


def pixels(pictures, kind):
    return torch.randn(pictures, 1, 28, 28) if kind == SMALL else torch.randn(pictures, 3, 224, 224)


def step_variant(pictures, kind, compiled):
    net = model(kind).train()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    x, labels = pixels(pictures, kind), torch.zeros(pictures, dtype=torch.long)
    return training.step(lambda: F.cross_entropy(net(x), labels), optimizer, compiled)


def vision_step(pictures, kind, _):
    return [("eager", step_variant(pictures, kind, False)), ("compile", step_variant(pictures, kind, True))]


def step_peak_bytes(pictures, kind):
    before = attention.memory_of_process("VmRSS")
    run = step_variant(pictures, kind, False)
    for _ in range(4):
        run()
    return attention.memory_of_process("VmHWM") - before


def to_onnx(kind, pictures):
    path = os.path.join(FOLDER, f"{NAMES[kind]}-{pictures}.onnx")
    if not os.path.exists(path):
        torchvision()
        from timm.layers import set_fused_attn
        set_fused_attn(False)
        torch.onnx.export(model(kind).eval(), (pixels(pictures, kind),), path, dynamo=False, opset_version=17, input_names=["pixel_values"],
                          output_names=["logits"])
        set_fused_attn(True)
    return path


def optimized(kind, pictures):
    """A DeiT is optimized as a ViT, whose attention ONNX Runtime knows; its own passes do the rest."""
    path = to_onnx(kind, pictures)
    if kind != DEIT:
        return path
    from onnxruntime.transformers import optimizer
    better = path.replace(".onnx", ".optimized.onnx")
    if not os.path.exists(better):
        optimizer.optimize_model(path, "vit", num_heads=3, hidden_size=192).save_model_to_file(better)
    return better


def onnx_runtime(path, x, threads):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"pixel_values": x.numpy()})


def openvino_compiled(path, x, threads):
    import openvino
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(path), "CPU",
                                  {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"})
    request = compiled.create_infer_request()
    return lambda: request.infer([x.numpy()])


def forward_of(net, x, path, better=None):
    """All that can run a network on x: `path` and `better` are functions that give it as an ONNX file, the second for ONNX Runtime; None: it cannot
    be written as one."""
    threads = torch.get_num_threads()

    def run(f):
        def once():
            with torch.no_grad():
                f(x)
        return once
    peers = [("eager", run(net)), ("compile", run(torch.compile(net)))]
    if not path:
        return peers
    if not missing("onnxruntime") and not missing("onnx"):
        peers.append(("ONNX Runtime", onnx_runtime((better or path)(), x, threads)))
    if not missing("openvino") and not missing("onnx"):
        peers.append(("OpenVINO", openvino_compiled(path(), x, threads)))
    return peers


def vision_forward(pictures, kind, _):
    path, better = lambda: to_onnx(kind, pictures), lambda: optimized(kind, pictures)
    if kind == VOLO:  # ONNX has no sums over windows that its exporter takes
        path = better = None
    return forward_of(model(kind).eval(), pixels(pictures, kind), path, better)


# ---- files ----

def draw_pictures(pictures, side):
    """Photographs of sorts: clouds of several sizes, and noise."""
    import numpy as np
    from PIL import Image
    folder = os.path.join(FOLDER, f"pictures-{side}")
    os.makedirs(folder, exist_ok=True)
    rng, paths = np.random.default_rng(0), []
    width, height = (32, 32) if side == 32 else (500, 400)
    for i in range(pictures):
        paths.append(os.path.join(folder, f"{i}.jpg"))
        clouds = sum(np.asarray(Image.fromarray(rng.integers(0, 256, (n, n, 3), dtype=np.uint8)).resize((width, height), Image.BICUBIC), float) / (k + 1)
                     for k, n in enumerate((3, 7, 20, 60)))
        a = clouds / (1 + 1 / 2 + 1 / 3 + 1 / 4) + rng.normal(0, 4, clouds.shape)
        Image.fromarray(np.clip(a, 0, 255).astype(np.uint8)).save(paths[-1], quality=90)
    return paths


def load_pictures(pictures, side, _):
    T = torchvision().transforms
    from PIL import Image
    crop = [T.RandomCrop(32, 4)] if side == 32 else [T.RandomResizedCrop(side, interpolation=T.InterpolationMode.BICUBIC)]
    transform = T.Compose([*crop, T.RandomHorizontalFlip(), T.RandAugment(2, 9), T.ToTensor(),
                           T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))])
    paths = draw_pictures(pictures, side)

    def run():
        for path in paths:
            with open(path, "rb") as f:
                transform(Image.open(f).convert("RGB"))
    return [("torchvision with Pillow", run)]


def lines():
    for side, channels in STAGES:
        yield f"conv 3x3 8 x {channels} x {side} x {side} forward+backward", conv_both, (8, side, channels), (0.9, 0.9)
    for side, channels in STAGES[1:]:
        yield f"conv 3x3 stride 2 to 8 x {channels} x {side} x {side} forward+backward", conv_half_both, (8, side, channels), (0.9, 0.9)
    if not missing("timm") and not missing("torchvision"):
        yield "DeiT-Ti at 224, 8 pictures, training step", vision_step, (8, DEIT, 0), (1.3, 1.3)
        yield "ViT 6 x 64 on 28 x 28, 64 pictures, training step", vision_step, (64, SMALL, 0), (1.8, 1.8)
        for pictures in (1, 8):
            yield f"DeiT-Ti at 224 forward, {pictures} picture{'s'[:pictures - 1]}", vision_forward, (pictures, DEIT, 0), (1.1, 1.1)
        yield "Swin-T at 224 forward, 1 picture", vision_forward, (1, SWIN, 0), (1.1, 1.1)
        yield "LeViT-128S at 224 forward, 1 picture", vision_forward, (1, LEVIT, 0), (1, 1)
        yield "VOLO-D1 at 224 forward, 1 picture", vision_forward, (1, VOLO, 0), (1, 1)
        yield "ResNet-50 at 224 forward, 1 picture", vision_forward, (1, RESNET, 0), (1, 1)
    if not missing("torchvision"):
        yield "pictures of 32 x 32 read and augmented", load_pictures, (200, 32, 0), (2, 2)
        yield "photographs of 500 x 400 read and augmented to 224", load_pictures, (20, 224, 0), (1.2, 1.2)


def extras(worker, failed):
    if missing("timm") or missing("torchvision"):
        return
    before = worker.memory("VmRSS")
    worker.best("vision_step", (8, DEIT, 0), 1, 0)
    ours, peer = worker.memory("VmHWM") - before, attention.fresh_process(f"step_peak_bytes(8, {DEIT})", "vision")
    print(f"  DeiT-Ti training step: {ours / 1e6:.0f} MB at the peak, PyTorch {peer / 1e6:.0f} MB ({MEMORY} of it at most)")
    if ours > MEMORY * peer:
        failed.append(f"DeiT-Ti's training step takes {ours / peer:.2f} of PyTorch's memory")
