"""Windows and blocks: golden directories of heed-sparse, by exact attention with a bitmap of T x T."""
import torch
from torch import nn

from mixing import Kind, directory


def philox(seed, stream, position):
    """Number `position` of a stream: Philox4x32-10 (Salmon et al. 2011)."""
    low = 0xFFFFFFFF
    block = position // 4
    c = [block & low, block >> 32, stream & low, stream >> 32]
    k0, k1 = seed & low, seed >> 32
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k0, b & low, a >> 32 ^ c[3] ^ k1, a & low]
        k0, k1 = k0 + 0x9E3779B9 & low, k1 + 0xBB67AE85 & low
    return c[position % 4]


def blocks_seen(config, layer, block, end):
    """The blocks below `end` that a block sees."""
    seen = {j for j in range(config.global_blocks)} | {j for j in range(block - config.window_blocks, block + config.window_blocks + 1)}
    seen = {j for j in seen if 0 <= j < end}
    for k in range(config.random_blocks):
        free = [j for j in range(end) if j not in seen]
        if free:
            seen.add(free[philox(config.attention_seed, layer, block * 1024 + k) * len(free) >> 32])
    return seen


def pattern(config, layer, mask):
    """mask (B,T) -> (B,T,T): what each token sees."""
    B, T = mask.shape
    i, j = torch.arange(T)[:, None], torch.arange(T)[None]
    seen = (mask != 0)[:, None].expand(B, T, T).clone()
    if config.causal:
        seen &= j <= i
    if config.attention_window:
        seen &= (i - j).abs() < config.attention_window
    size = config.attention_block
    for b in range(B if size else 0):
        length = int(mask[b].nonzero().max()) + 1 if mask[b].any() else 1
        for t in range(T):
            if not config.causal and t < config.global_blocks * size:
                continue
            there = blocks_seen(config, layer, t // size, t // size + 1 if config.causal else -(-length // size))
            seen[b, t] &= torch.tensor([s // size in there for s in range(T)])
    return seen


class Sparse(Kind):
    name, family, title = "self_attn", "sparse", "Sparse"
    keys = dict(num_attention_heads=2, attention_probs_dropout_prob=0.1, attention_window=0, attention_block=0, window_blocks=1, global_blocks=1,
                random_blocks=0, attention_seed=0, causal=False)

    def __init__(self, config, number, shared):
        super().__init__()
        self.config, self.number = config, number
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(config.hidden_size, config.hidden_size))

    def forward(self, x, mask, carried):
        B, T, C = x.shape
        H, D = self.config.num_attention_heads, C // self.config.num_attention_heads
        q, k, v = (p(x).view(B, T, H, D).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        scores = (q @ k.transpose(-1, -2) / D ** 0.5).masked_fill(~pattern(self.config, self.number, mask)[:, None], float("-inf"))
        weights = torch.nan_to_num(torch.softmax(scores, -1))  # zeros where nothing is seen
        return self.out_proj((weights @ v).transpose(1, 2).reshape(B, T, C)), None, {"attention": weights}


def make(folder):
    def put(name, head, **keys):
        directory(folder, "sparse-" + name, Sparse, head, **keys)
    put("mlm", "mlm", attention_window=3, mask="right")
    put("classify", "classify", attention_block=2, random_blocks=1, attention_seed=7, mask="right", length=9)
    put("tag", "tag", attention_block=2, window_blocks=0, random_blocks=2, mask="holes", length=9, global_blocks=0, num_hidden_layers=1)
    put("qa", "qa", attention_block=3, global_blocks=2, window_blocks=0, mask="left", length=8, num_attention_heads=3)
    put("bare", "bare", mask=None)
    put("lm", "lm", causal=True, attention_window=2, mask="right")
    put("lm-blocks", "lm", causal=True, attention_block=2, random_blocks=1, attention_seed=3, mask="right", length=9, tie_word_embeddings=False)
