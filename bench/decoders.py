"""Decoders' lines: GPT-2 124M in f32 with random weights beside llama.cpp, CTranslate2 and transformers, which must give the same tokens; T5 of the
small shape beside CTranslate2; training steps beside PyTorch, which must have the same loss. Then what heed is held against itself: the memory's
rate, bf16, and prompts side by side. Peers that are not installed are left out, which is said."""
import ctypes
import math
import os

import torch

import attention
import training
from encoders import ids_of
from peers import missing

PROMPT, NEW, SOURCE, SUMMARIES = 16, 64, 128, 32
CHARS = dict(vocab_size=65, n_positions=64, n_embd=128, n_layer=4, n_head=4, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
             bos_token_id=0, eos_token_id=0)
T5_SMALL = dict(vocab_size=32128, d_model=512, d_kv=64, d_ff=2048, num_layers=6, num_decoder_layers=6, num_heads=8)
PREFILL, GREEDY, RATE, BF16, EIGHT = 1.3, 1.0, 0.85, 1.6, 4
MEMORY = 0.8  # of PyTorch's
WORKER = FOLDER = None


def share(worker, folder):
    global WORKER, FOLDER
    WORKER, FOLDER = worker, folder


# ---- models ---- drawn once, saved for heed, and read by the peers

def drawn(kind):
    import transformers
    torch.manual_seed(0)
    if kind == "t5":
        return transformers.T5ForConditionalGeneration(transformers.T5Config(**T5_SMALL, decoder_start_token_id=0)).eval()
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**(CHARS if kind == "chars" else {"resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0})))
    with torch.no_grad():
        model.transformer.wpe.weight.mul_(20)  # so that it does not repeat one token for ever
    return model.to(torch.bfloat16).eval() if kind == "gpt2-bf16" else model.eval()


def model(kind):
    made = drawn(kind)
    path = os.path.join(FOLDER, kind)
    if not os.path.exists(path):
        made.save_pretrained(path)
    return made


def prompts(count, length):
    return ids_of(count, length).tolist()


def check_same(made, who):
    """Of one and the same model, heed's tokens are the peer's."""
    with open(os.path.join(FOLDER, "heed.txt")) as f:
        ours = [[int(t) for t in line.split()] for line in f]
    same = sum(a == b for a, b in zip(ours, made))
    print(f"  {same} of {len(made)} sequences are {who}'s", flush=True)
    if len(ours) != len(made) or same < len(made):
        at = [next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b))) for a, b in zip(ours, made) if a != b]
        print(f"  heed and {who} part at token {min(at, default=0)}: rounding, or another model")


# ---- peers ----

class Llama:
    """llama.cpp by its own calls: tokens in, the likeliest next one out. The key-value cache is f32 as everybody's."""

    def __init__(self, path, threads):
        import llama_cpp
        self.api = llama_cpp
        self.silent = llama_cpp.llama_log_callback(lambda *_: None)  # it is called as long as the library lives
        llama_cpp.llama_log_set(self.silent, None)
        params = llama_cpp.llama_model_default_params()
        self.model = llama_cpp.llama_model_load_from_file(path.encode(), params)
        params = llama_cpp.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_threads, params.n_threads_batch = 1024, 512, threads, threads
        params.type_k = params.type_v = llama_cpp.GGML_TYPE_F32
        self.context = llama_cpp.llama_init_from_model(self.model, params)
        self.vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))

    def feed(self, ids):
        tokens = (self.api.llama_token * len(ids))(*ids)
        if self.api.llama_decode(self.context, self.api.llama_batch_get_one(tokens, len(ids))) != 0:
            raise SystemExit("bench: llama.cpp failed")
        logits = self.api.llama_get_logits_ith(self.context, -1)
        return int(torch.frombuffer((ctypes.c_float * self.vocabulary).from_address(ctypes.addressof(logits.contents)), dtype=torch.float32).argmax())

    def greedy(self, ids, new):
        self.api.llama_memory_clear(self.api.llama_get_memory(self.context), True)
        made = []
        for _ in range(new):
            made.append(self.feed(ids))
            ids = made[-1:]
        return made


def llama(net, threads):
    import gpt2_gguf
    path = os.path.join(FOLDER, "gpt2.gguf")
    if not os.path.exists(path):
        gpt2_gguf.write(net, path)
    return Llama(path, threads)


def ctranslate2_model(net, kind, threads):
    """By CTranslate2's own converter; tokens are named by their numbers."""
    import ctranslate2
    from ctranslate2.converters import transformers as loaders
    path, vocabulary = os.path.join(FOLDER, f"ctranslate2-{kind}"), [str(i) for i in range(net.config.vocab_size)]
    if not os.path.exists(path):
        if kind == "t5":
            spec = loaders.T5Loader().get_model_spec(net)
            spec.register_source_vocabulary(vocabulary)
            spec.register_target_vocabulary(vocabulary)
            spec.config.decoder_start_token, spec.config.eos_token, spec.config.bos_token = "0", "1", "0"
        else:
            spec = loaders.GPT2Loader().get_model_spec(net)
            spec.register_vocabulary(vocabulary)
            spec.config.bos_token = spec.config.eos_token = str(net.config.eos_token_id)
        spec.config.unk_token = vocabulary[2]
        spec.validate()
        os.mkdir(path)
        spec.save(path)
    kind = ctranslate2.Translator if kind == "t5" else ctranslate2.Generator
    return kind(path, device="cpu", compute_type="float32", inter_threads=1, intra_threads=threads)


def text_of(ids):
    return [[str(t) for t in row] for row in ids]


def with_ctranslate2(peer, ids, new):
    made = peer.generate_batch(text_of(ids), max_length=new, min_length=new, sampling_topk=1, include_prompt_in_result=False)
    return [m.sequences_ids[0] for m in made]


def with_transformers(net, ids, new):
    with torch.no_grad():
        made = net.generate(torch.tensor(ids), attention_mask=torch.ones(len(ids), len(ids[0])), max_new_tokens=new, min_new_tokens=new,
                            do_sample=False, pad_token_id=net.config.eos_token_id)
    return [row[len(i):] for row, i in zip(made.tolist(), ids)]


# ---- the lines' peers ----

def prefill(_, length, __):
    net, threads, ids = model("gpt2"), torch.get_num_threads(), prompts(1, length)
    tensor = torch.tensor(ids)

    def forward():
        with torch.no_grad():
            net(tensor, use_cache=True, logits_to_keep=1)
    peers = [("eager", forward)]
    if not missing("ctranslate2"):
        generator = ctranslate2_model(net, "gpt2", threads)
        peers.append(("CTranslate2", lambda: with_ctranslate2(generator, ids, 1)))
    if not missing("llama_cpp") and not missing("gguf"):
        llm = llama(net, threads)
        peers.append(("llama.cpp", lambda: llm.greedy(ids[0], 1)))
    return peers


def greedy(count, new, _):
    net, threads, ids = model("gpt2"), torch.get_num_threads(), prompts(count, PROMPT)
    WORKER.best("greedy", (count, new, 0), threads, 0)
    peers = [("transformers", lambda: with_transformers(net, ids, new))]
    if not missing("ctranslate2"):
        generator = ctranslate2_model(net, "gpt2", threads)
        peers.append(("CTranslate2", lambda: with_ctranslate2(generator, ids, new)))
    if not missing("llama_cpp") and not missing("gguf"):
        llm = llama(net, threads)
        peers.append(("llama.cpp", lambda: [llm.greedy(row, new) for row in ids]))
    for who, run in peers:
        check_same(run(), who)
    return peers


def summaries(count, new, _):
    net, threads = model("t5"), torch.get_num_threads()
    ids = [row[:-1] + [1] for row in prompts(count, SOURCE)]
    WORKER.best("summaries", (count, new, 0), threads, 0)
    peer = ctranslate2_model(net, "t5", threads)

    def run():
        made = peer.translate_batch(text_of(ids), beam_size=1, max_decoding_length=new, min_decoding_length=new, max_batch_size=count)
        return [[int(t) for t in m.hypotheses[0]] for m in made]
    check_same(run(), "CTranslate2")
    return [("CTranslate2", run)]


def step_variant(sequences, length, chars, compiled):
    net = (model if FOLDER else drawn)("chars" if chars else "gpt2").train()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    ids = torch.arange(sequences * length) * 7919 % (61 if chars else 9973)
    ids = ids.view(sequences, length)
    return training.step(lambda: net(input_ids=ids, labels=ids, use_cache=False).loss, optimizer, compiled), lambda: net(input_ids=ids, labels=ids).loss


def lm_step(sequences, length, chars):
    eager, loss = step_variant(sequences, length, chars, False)
    WORKER.best("lm_step", (sequences, length, chars), torch.get_num_threads(), 0)
    with open(os.path.join(FOLDER, "loss.txt")) as f, torch.no_grad():
        ours, theirs = float(f.read()), float(loss())
    print(f"  first loss {ours:.6f}, PyTorch's {theirs:.6f}", flush=True)
    if not abs(ours - theirs) <= 1e-4 * theirs:
        raise SystemExit("bench: heed and PyTorch do not train the same model")
    return [("eager", eager), ("compile", step_variant(sequences, length, chars, True)[0])]


def step_peak_bytes(sequences, length, chars):
    before = attention.memory_of_process("VmRSS")
    run, _ = step_variant(sequences, length, chars, False)
    for _ in range(4):
        run()
    return attention.memory_of_process("VmHWM") - before


def lines():
    yield "GPT-2 124M, prompt of 128", prefill, (1, 128, 0), (PREFILL, PREFILL)
    yield f"GPT-2 124M, greedy, {NEW} tokens after {PROMPT}", greedy, (1, NEW, 0), (GREEDY, GREEDY)
    yield "GPT-2 124M, training step 4 x 64", lm_step, (4, 64, 0), (1.6, 1.6)
    yield "char GPT, training step 12 x 64", lm_step, (12, 64, 1), (1.8, 1.8)
    if missing("ctranslate2"):
        return
    yield f"T5-small, {SUMMARIES} summaries of {NEW} tokens", summaries, (SUMMARIES, NEW, 0), (1.1, 1.1)


# ---- heed against itself ----

def per_token(worker, rows, kind, threads, seconds):
    """ms of a step after the prompt."""
    some = worker.best("greedy", (rows, NEW // 2, kind), threads, seconds)[0]
    return (some - worker.best("greedy", (rows, 1, kind), threads, seconds)[0]) / (NEW // 2 - 1)


def hold(failed, what, value, least):
    print(f"  {what}: {value:.2f} ({least} at least){'' if value >= least else '  <- behind'}", flush=True)
    if value < least:
        failed.append(f"{what}: {value:.2f} < {least}")


def rates(worker, failed, turns, seconds):
    for kind in ("gpt2", "gpt2-bf16"):
        model(kind)
    weights = os.path.getsize(os.path.join(FOLDER, "gpt2", "model.safetensors")) / 1e6
    for threads in (1, 2):
        read, one, half, eight = (math.inf,) * 4
        for _ in range(turns):
            read = min(read, worker.best("read_weights", (1, 0, 0), threads, seconds)[0])
            one = min(one, per_token(worker, 1, 0, threads, seconds))
            half = min(half, per_token(worker, 1, 1, threads, seconds))
            eight = min(eight, per_token(worker, 8, 0, threads, seconds))
        print(f"  GPT-2 124M, {threads} threads: a plain read of {weights:.0f} MB {read:.2f} ms ({weights / read:.1f} GB/s); a token {one:.2f} ms, in bf16 "
              f"{half:.2f} ms, 8 prompts at once {eight:.2f} ms", flush=True)
        hold(failed, f"greedy against the memory's rate, {threads} threads", read / one, RATE)
        hold(failed, f"bf16 against f32, {threads} threads", one / half, BF16)
        hold(failed, f"8 prompts at once against one, {threads} threads", 8 * one / eight, EIGHT)


def extras(start, failed, turns, seconds):
    """start: makes a worker, whose memory nothing else has raised."""
    rates(start(), failed, turns, seconds)
    for title, sizes in (("GPT-2 124M, training step 4 x 64", (4, 64, 0)), ("char GPT, training step 12 x 64", (12, 64, 1))):
        model("chars" if sizes[2] else "gpt2")
        worker = start()
        before = worker.memory("VmRSS")
        worker.best("lm_step", sizes, 1, 0)
        ours, peer = worker.memory("VmHWM") - before, attention.fresh_process(f"step_peak_bytes{sizes}", "decoders")
        print(f"  {title}: {ours / 1e6:.0f} MB at the peak, PyTorch {peer / 1e6:.0f} MB ({MEMORY} of it at most)")
        if ours > MEMORY * peer:
            failed.append(f"{title} takes {ours / peer:.2f} of PyTorch's memory")
