"""Translation's lines: PyTorch's Transformer for a training step; CTranslate2 and transformers' `generate` for beam search with one and the same
model directory; Python's `tokenizers` for BPE."""
import math
import os
import pydoc_data.topics
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

import attention
import training

VOCABULARY, WIDTH, HIDDEN, HEADS, LAYERS, LONGEST = 10000, 128, 256, 4, 4, 64
EOS, UNK, PAD = 0, 1, VOCABULARY - 1  # as Marian numbers them
SENTENCES, BEAMS, TOKENS = 1000, 5, 8000
MEMORY = 0.75  # of PyTorch's
WORKER = FOLDER = None  # heed's side, and where it finds what both sides read


def share(worker, folder):
    global WORKER, FOLDER
    WORKER, FOLDER = worker, folder


# ---- a training step ----

class Transformer(nn.Module):
    """Attention is all you need, with PyTorch's own stacks, sine positions and one table for both sides and the output."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, WIDTH)
        self.stacks = nn.Transformer(WIDTH, HEADS, LAYERS, LAYERS, HIDDEN, dropout=0.1, batch_first=True)
        angles = torch.arange(LONGEST)[:, None] * torch.exp(-math.log(1e4) * torch.arange(0, WIDTH, 2) / WIDTH)
        self.register_buffer("positions", torch.cat([angles.sin(), angles.cos()], -1))
        self.register_buffer("causal", nn.Transformer.generate_square_subsequent_mask(LONGEST))

    def embed(self, ids):
        return F.dropout(self.table(ids) * WIDTH ** 0.5 + self.positions[:ids.shape[1]], 0.1)

    def forward(self, source, target):
        n = target.shape[1]
        y = self.stacks(self.embed(source), self.embed(target), tgt_mask=self.causal[:n, :n], tgt_is_causal=True)
        return F.linear(y, self.table.weight)


def transformer_variant(pairs, length, compiled):
    model = Transformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    ids = (torch.arange(pairs * length) * 7919 % 9973).view(pairs, length)
    return training.step(lambda: F.cross_entropy(model(ids, ids).view(-1, VOCABULARY), ids.view(-1)), optimizer, compiled)


def transformer_step(pairs, length, _):
    return [("eager", transformer_variant(pairs, length, False)), ("compile", transformer_variant(pairs, length, True))]


def transformer_peak_bytes(pairs, length):
    """How much more memory a process has held at its peak, after some steps, than before there was a model."""
    before = attention.memory_of_process("VmRSS")
    run = transformer_variant(pairs, length, False)
    for _ in range(4):
        run()
    return attention.memory_of_process("VmHWM") - before


# ---- beam search ----

def copier():
    """A Marian model that copies its source, so that translations end where sentences do. Weights are drawn as always; on top of them, tokens take
    the dimensions where positions hardly turn, and two heads of the decoder's first layer look across from position t to position t and bring the
    token they find there. The last norm says how sure it is: other tokens are left a few percent, which is what the other beams live on."""
    from transformers import MarianConfig, MarianMTModel
    torch.manual_seed(1)
    model = MarianMTModel(MarianConfig(
        vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS, encoder_ffn_dim=HIDDEN, decoder_ffn_dim=HIDDEN, max_position_embeddings=LONGEST,
        activation_function="relu", scale_embedding=True, pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=PAD,
        forced_eos_token_id=None, bad_words_ids=[[PAD]], init_std=0.02)).eval()
    half, head = WIDTH // 2, WIDTH // HEADS
    fast = [*range(head // 2), *range(half, half + head // 2)]
    slow = [*range(half // 2, half), *range(half + half // 2, WIDTH)]
    with torch.no_grad():
        table = torch.zeros(VOCABULARY, WIDTH)
        noise = torch.randn(VOCABULARY, len(slow))
        table[:, slow] = 0.72 * F.normalize(noise - noise.mean(1, keepdim=True))  # no mean, equally long: norms treat all alike
        table[:, slow[half // 2:]] -= WIDTH ** -0.5  # without the cosines, which are 1 there
        table[PAD] = 0
        model.model.shared.weight.copy_(table)
        look = model.model.decoder.layers[0].encoder_attn
        for i in range(2):
            rows, tokens = slice(i * head, (i + 1) * head), slow[i * head:(i + 1) * head]
            for projection in (look.q_proj, look.k_proj):
                projection.weight[rows, fast] += 6 * torch.eye(head)
                projection.weight[rows, slow] -= 6 / len(slow)  # by which norms have shifted all
            look.v_proj.weight[rows, tokens] += torch.eye(head)
            look.out_proj.weight[tokens, rows] += 4 * torch.eye(head)
        model.model.decoder.layers[-1].final_layer_norm.weight.fill_(1.5)
    return model


def sentences():
    """Lengths as those of picture captions, 13 and some, the end token last."""
    draw = torch.Generator().manual_seed(2)
    lengths = (13 + 4 * torch.randn(SENTENCES, generator=draw)).round().clamp(4, 40).int().tolist()
    return [torch.randint(2, PAD, (n,), generator=draw).tolist() + [EOS] for n in lengths]


def write_model():
    model, source = copier(), sentences()
    model.save_pretrained(os.path.join(FOLDER, "model"))
    with open(os.path.join(FOLDER, "source.txt"), "w") as f:
        f.writelines(" ".join(map(str, s)) + "\n" for s in source)
    return model, source


def generate(model, source, batch):
    """transformers, sentences of like length together; the best hypothesis of each, without start and end."""
    order, found = sorted(range(len(source)), key=lambda i: -len(source[i])), [None] * len(source)
    for at in range(0, len(order), batch):
        rows = order[at:at + batch]
        longest = len(source[rows[0]])
        ids = torch.tensor([source[i] + [PAD] * (longest - len(source[i])) for i in rows])
        made = model.generate(input_ids=ids, attention_mask=(ids != PAD).long(), num_beams=BEAMS, length_penalty=1.0, early_stopping=True,
                              max_length=LONGEST)
        for i, row in zip(rows, made.tolist()):
            found[i] = [t for t in row[1:] if t not in (EOS, PAD)]
    return found


def translator(model, threads):
    """The model as CTranslate2 has it: its own converter, and tokens named by their numbers."""
    import ctranslate2
    from ctranslate2.converters.transformers import MarianMTLoader
    path = os.path.join(FOLDER, "ctranslate2")
    if not os.path.exists(path):
        spec = MarianMTLoader().get_model_spec(model)
        tokens = ["</s>", "<unk>", *map(str, range(2, PAD))]
        spec.register_source_vocabulary(tokens)
        spec.register_target_vocabulary(tokens)
        spec.config.eos_token = spec.config.decoder_start_token = "</s>"
        spec.config.unk_token = "<unk>"
        spec.validate()
        os.mkdir(path)
        spec.save(path)
    return ctranslate2.Translator(path, device="cpu", compute_type="float32", inter_threads=1, intra_threads=threads)


def translate_with_ctranslate2(peer, source, batch, kind):
    text = [[str(t) for t in s[:-1]] + ["</s>"] for s in source]
    made = peer.translate_batch(text, beam_size=BEAMS, length_penalty=1, max_batch_size=batch, batch_type=kind, max_decoding_length=LONGEST - 1)
    return [[int(t) for t in m.hypotheses[0]] for m in made]


def check_same(made, who):
    """Equal work is compared: all but a few sentences, where rounding decides, are translated alike."""
    with open(os.path.join(FOLDER, "heed.txt")) as f:
        ours = [[int(t) for t in line.split()] for line in f]
    equal = sum(a == b for a, b in zip(ours, made))
    print(f"  beam {BEAMS}: {equal} of {len(made)} translations are {who}'s", flush=True)
    if len(ours) != len(made) or equal < 0.98 * len(made):
        raise SystemExit(f"bench: heed and {who} do not translate alike")


def quickest(choices):
    """Of functions, the one that took least time, once."""
    took = []
    for run in choices:
        begin = time.perf_counter()
        run()
        took.append(time.perf_counter() - begin)
    return choices[took.index(min(took))]


def translate(count, longest, _):
    """CTranslate2 with the batches that it is quickest with."""
    model, source = write_model()
    WORKER.best("translate", (count, longest, 0), torch.get_num_threads(), 0)
    peer = translator(model, torch.get_num_threads())
    choices = ((32, "examples"), (64, "examples"), (128, "examples"), (512, "tokens"), (2048, "tokens"))
    run = quickest([lambda b=b, k=k: translate_with_ctranslate2(peer, source, b, k) for b, k in choices])
    check_same(run(), "CTranslate2")
    return [("CTranslate2", run)]


def translate_generate(count, longest, _):
    """transformers, the same."""
    model, source = write_model()
    WORKER.best("translate", (count, longest, 0), torch.get_num_threads(), 0)
    run = quickest([lambda b=b: generate(model, source, b) for b in (32, 100, 250)])
    check_same(run(), "transformers")
    return [("generate", run)]


# ---- BPE ----

def encode(tokens, _, __):
    """Python's own manual, which every Python has in it, line by line."""
    with open(os.path.join(FOLDER, "text.txt"), "w") as f:
        f.write("\n".join(pydoc_data.topics.topics.values()) + "\n")
    WORKER.best("train_bpe", (tokens, 0, 0), 1, 0)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer
    peer = Tokenizer.from_file(os.path.join(FOLDER, "tokenizer.json"))
    with open(os.path.join(FOLDER, "text.txt"), newline="\n") as f:
        lines = f.read().split("\n")[:-1]
    return [("encode_batch", lambda: peer.encode_batch(lines)), ("encode", lambda: [peer.encode(line) for line in lines])]


def lines():
    yield "Transformer 4+4, 128 pairs of 16 + 16, training step", transformer_step, (128, 16, 0), (2, 2.5)
    yield f"beam {BEAMS}, {SENTENCES} sentences, CTranslate2", translate, (SENTENCES, LONGEST, 0), (1.2, 1.2)
    yield f"beam {BEAMS}, {SENTENCES} sentences, transformers", translate_generate, (SENTENCES, LONGEST, 0), (5, 5)
    yield "BPE, encoding of Python's manual", encode, (TOKENS, 0, 0), (1,)


def extras(worker, failed):
    """The memory of a training step: how much both processes have grown at their peak, model and optimizer included."""
    before = worker.memory("VmRSS")
    worker.best("transformer_step", (128, 16, 0), 1, 0)
    ours, peer = worker.memory("VmHWM") - before, attention.fresh_process("transformer_peak_bytes(128, 16)", "translate")
    print(f"  Transformer 4+4, training step: {ours / 1e6:.0f} MB at the peak, PyTorch {peer / 1e6:.0f} MB ({MEMORY} of it at most)")
    if ours > MEMORY * peer:
        failed.append(f"the Transformer's training step takes {ours / peer:.2f} of PyTorch's memory")
