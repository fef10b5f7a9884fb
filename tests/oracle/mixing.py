"""Golden directories of cheaper attention: one body of torch.nn modules, in which each kind is a module that mixes the
tokens, written as the plain formula. A kind of another file imports Kind and directory."""
import functools

import torch
from torch import nn
from torch.nn import functional as F

import golden
from models import some


class Config(dict):
    def __getattr__(self, name):
        if name in self:
            return self[name]
        raise AttributeError(name)


class Kind(nn.Module):
    """Kind(config, number, shared), and forward(x, mask, carried) -> y, carried, {site: weights (B,H,Tq,Tk)};
    mask (B,T) of 0 and 1. Kind.shared(config) makes what all layers share, a module or None."""

    @staticmethod
    def shared(config):
        return None


ACTS = {"gelu": F.gelu, "relu": F.relu, "silu": F.silu, "tanh": torch.tanh, "gelu_new": functools.partial(F.gelu, approximate="tanh")}


def activation(config):
    return ACTS[config.get("hidden_act", "gelu")]


class Layer(nn.Module):
    def __init__(self, kind, config, number, shared):
        super().__init__()
        C = config.hidden_size
        self.norm1, self.norm2 = nn.LayerNorm(C, config.layer_norm_eps), nn.LayerNorm(C, config.layer_norm_eps)
        self.linear1, self.linear2 = nn.Linear(C, config.intermediate_size), nn.Linear(config.intermediate_size, C)
        setattr(self, kind.name, kind(config, number, shared))
        self.mix, self.act = kind.name, activation(config)

    def forward(self, x, mask, carried):
        y, carried, weights = getattr(self, self.mix)(self.norm1(x), mask, carried)
        x = x + y
        return x + self.linear2(self.act(self.linear1(self.norm2(x)))), carried, weights


class Body(nn.Module):
    def __init__(self, kind, config):
        super().__init__()
        C = config.hidden_size
        self.word_embeddings = nn.Embedding(config.vocab_size, C, padding_idx=config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, C)
        shared = kind.shared(config)
        for name, module in shared.named_children() if shared else ():
            setattr(self, name, module)
        self.layers = nn.ModuleList(Layer(kind, config, i, shared) for i in range(config.num_hidden_layers))
        self.norm = nn.LayerNorm(C, config.layer_norm_eps)

    def forward(self, input_ids, attention_mask=None, position_ids=None):
        B, T = input_ids.shape
        at = torch.arange(T)[None] if position_ids is None else position_ids
        x = self.word_embeddings(input_ids) + self.position_embeddings(at)
        mask = (torch.ones(B, T) if attention_mask is None else attention_mask).to(x.dtype)
        carried, maps = None, {}
        for layer in self.layers:
            x, carried, weights = layer(x, mask, carried)
            for site, w in weights.items():
                maps.setdefault("attentions" if site == "attention" else site + "_attentions", []).append(w)
        return self.norm(x), mask, maps


class Masked(nn.Module):
    def __init__(self, config):
        super().__init__()
        C = config.hidden_size
        self.dense, self.norm, self.act = nn.Linear(C, C), nn.LayerNorm(C, config.layer_norm_eps), activation(config)

    def forward(self, h):
        return self.norm(self.act(self.dense(h)))


class Model(nn.Module):
    """head: lm, mlm, classify, tag or qa."""

    def __init__(self, kind, config, head):
        super().__init__()
        C = config.hidden_size
        self.config, self.kind_of_head, self.model = config, head, Body(kind, config)
        if head == "mlm":
            self.head = Masked(config)
            self.decoder = nn.Linear(C, config.vocab_size)
            if config.tie_word_embeddings:
                del self.decoder.weight
        elif head == "lm":
            if not config.tie_word_embeddings:
                self.lm_head = nn.Linear(C, config.vocab_size, bias=False)
        elif head == "qa":
            self.qa_outputs = nn.Linear(C, 2)
        else:
            self.classifier = nn.Linear(C, config.num_labels)

    def of_tokens(self, h):
        words = self.model.word_embeddings.weight
        if self.kind_of_head == "mlm":
            return F.linear(self.head(h), getattr(self.decoder, "weight", words), self.decoder.bias)
        if self.kind_of_head == "lm":
            return F.linear(h, self.lm_head.weight if hasattr(self, "lm_head") else words)
        return self.classifier(h)

    def forward(self, labels=None, shift_labels=None, start_positions=None, end_positions=None, **inputs):
        h, mask, maps = self.model(**inputs)
        if self.kind_of_head == "qa":
            start, end = self.qa_outputs(h).unbind(-1)
            loss = (F.cross_entropy(start, start_positions) + F.cross_entropy(end, end_positions)) / 2
            return dict(start_logits=start, end_logits=end, loss=loss) | maps
        if self.kind_of_head == "classify":
            if self.config.pooling == "mean":
                pooled = (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
            else:
                pooled = h[torch.arange(len(h)), mask.argmax(1)]
            logits = self.classifier(pooled)
            return dict(logits=logits, loss=F.cross_entropy(logits, labels)) | maps
        logits = self.of_tokens(h)
        if self.kind_of_head == "lm":
            labels = torch.cat([labels[:, 1:], torch.full_like(labels[:, :1], -100)], 1) if shift_labels is None else shift_labels
        return dict(logits=logits, loss=F.cross_entropy(logits.flatten(0, 1), labels.flatten())) | maps


class Bare(Body):
    def forward(self, **inputs):
        h, _, maps = super().forward(**inputs)
        return dict(last_hidden_state=h) | maps


ARCHITECTURES = {"lm": "ForCausalLM", "mlm": "ForMaskedLM", "classify": "ForSequenceClassification",
                 "tag": "ForTokenClassification", "qa": "ForQuestionAnswering", "bare": "Model"}


def make_model(kind, head, **keys):
    """A model of random weights, and its config.json."""
    config = Config(model_type="heed-" + kind.family, architectures=[kind.title + ARCHITECTURES[head]], vocab_size=17,
                    hidden_size=6, num_hidden_layers=2, intermediate_size=7, max_position_embeddings=9,
                    hidden_dropout_prob=0.1, layer_norm_eps=1e-5, pad_token_id=None) | kind.keys
    config |= dict(tie_word_embeddings=True) if head in ("lm", "mlm") else {}
    config |= dict(num_labels=2 if head == "qa" else 3) if head in ("classify", "tag", "qa") else {}
    config |= dict(pooling="mean") if head == "classify" else {}
    config = Config(config | keys)
    model = Bare(kind, config) if head == "bare" else Model(kind, config, head)
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(0.5 * torch.randn_like(p) if p.dim() > 1 else p + 0.3 * torch.randn_like(p))
    return model, config


def make_inputs(config, head, mask, length=6):
    """mask: None, right, left or holes."""
    ids = torch.randint(1, config.vocab_size, (3, length))
    seen = torch.ones_like(ids)
    if mask == "right":
        seen[1, length - 2:], seen[2, 1:] = 0, 0
    elif mask == "left":
        seen[0, :2], seen[2, :length - 1] = 0, 0
    elif mask == "holes":
        seen[0, 2:4], seen[1, length - 1], seen[2, 0], seen[2, 3] = 0, 0, 0, 0
    given = dict(input_ids=ids) | (dict(attention_mask=seen) if mask else {})
    if config.pad_token_id is not None:
        given["input_ids"] = torch.where(seen == 0, config.pad_token_id, ids)
    if head == "classify":
        given["labels"] = torch.randint(0, config.num_labels, (3,))
    elif head == "qa":
        given |= dict(start_positions=torch.tensor([0, 1, 3]), end_positions=torch.tensor([2, 1, 3]))
    elif head != "bare":
        given["labels"] = some(torch.randint(0, config.get("num_labels", config.vocab_size), ids.shape))
    return given


def directory(folder, name, kind, head, mask="right", length=6, inputs=None, **keys):
    golden.seed(name)
    model, config = make_model(kind, head, **keys)
    golden.save(folder / name, model, make_inputs(config, head, mask, length) | (inputs or {}), dict(config))


# ---- Linformer ----


class Linformer(Kind):
    name, family, title = "self_attn", "linformer", "Linformer"
    keys = dict(num_attention_heads=2, attention_probs_dropout_prob=0.1, projected_length=4, sharing="headwise")

    @staticmethod
    def shared(config):
        if config.sharing != "layerwise":
            return None
        return nn.ModuleDict({"project": nn.Linear(config.max_position_embeddings, config.projected_length, bias=False)})

    def __init__(self, config, number, shared):
        super().__init__()
        C, n, self.heads = config.hidden_size, config.max_position_embeddings, config.num_attention_heads
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(C, C))
        rows = config.projected_length * (self.heads if config.sharing == "none" else 1)
        if config.sharing != "layerwise":
            self.project_k = nn.Linear(n, rows, bias=False)
        if config.sharing in ("none", "headwise"):
            self.project_v = nn.Linear(n, rows, bias=False)
        self.sharing, self.common = config.sharing, [shared.project if shared else None]

    def forward(self, x, mask, carried):
        B, T, C = x.shape
        H, D = self.heads, C // self.heads
        q, k, v = (p(x).view(B, T, H, D).transpose(1, 2) for p in (self.q_proj, self.k_proj, self.v_proj))
        E = (self.common[0] or self.project_k).weight[:, :T]
        F_ = self.project_v.weight[:, :T] if hasattr(self, "project_v") else E
        E, F_ = (P.view(H if self.sharing == "none" else 1, -1, T) * mask[:, None, None] for P in (E, F_))
        weights = torch.softmax(q @ (E @ k).transpose(-1, -2) / D ** 0.5, -1)
        y = weights @ (F_ @ v)
        return self.out_proj(y.transpose(1, 2).reshape(B, T, C)), None, {"attention": weights}


def linformer(folder):
    directory(folder, "linformer-mlm", Linformer, "mlm")
    directory(folder, "linformer-mlm-none", Linformer, "mlm", sharing="none", mask="left", num_attention_heads=3,
              tie_word_embeddings=False)
    directory(folder, "linformer-classify", Linformer, "classify", sharing="key-value", mask="holes", pad_token_id=0)
    directory(folder, "linformer-tag", Linformer, "tag", sharing="layerwise", num_hidden_layers=3, length=9)
    directory(folder, "linformer-qa", Linformer, "qa", mask=None, projected_length=1, sharing="none", length=4)
    directory(folder, "linformer-bare", Linformer, "bare", sharing="layerwise", projected_length=11, mask=None)


# ---- MLP-Mixer over tokens ----


class TokenMixer(Kind):
    name, family, title = "token_mixing", "token-mixer", "TokenMixer"
    keys = dict(tokens_mlp_dim=5)

    def __init__(self, config, number, shared):
        super().__init__()
        n, S = config.max_position_embeddings, config.tokens_mlp_dim
        self.linear1, self.linear2 = nn.Linear(n, S), nn.Linear(S, n)
        self.causal, self.act = config.get("causal", False), activation(config)

    def forward(self, x, mask, carried):
        T = x.shape[1]
        w1, w2 = self.linear1.weight, self.linear2.weight
        if self.causal:
            place = torch.arange(len(w1)) * len(w2) // len(w1)
            seen = torch.arange(len(w2)) <= place[:, None]
            w1, w2 = w1 * seen, w2 * (place <= torch.arange(len(w2))[:, None])
        x = (x * mask[..., None]).transpose(1, 2)
        y = F.linear(self.act(F.linear(x, w1[:, :T], self.linear1.bias)), w2[:T], self.linear2.bias[:T])
        return y.transpose(1, 2), None, {}


def token_mixer(folder):
    directory(folder, "token-mixer-mlm", TokenMixer, "mlm", mask="holes")
    directory(folder, "token-mixer-lm", TokenMixer, "lm", mask="right", causal=True, tokens_mlp_dim=13)
    directory(folder, "token-mixer-lm-small", TokenMixer, "lm", mask=None, causal=True, tokens_mlp_dim=4, length=9,
              tie_word_embeddings=False)
    directory(folder, "token-mixer-classify", TokenMixer, "classify", mask="left", pooling="first", pad_token_id=0)
    directory(folder, "token-mixer-tag", TokenMixer, "tag", causal=True, mask="left")
    directory(folder, "token-mixer-qa", TokenMixer, "qa", num_hidden_layers=1, tokens_mlp_dim=1)
    directory(folder, "token-mixer-bare", TokenMixer, "bare", mask=None, length=9)


# ---- a shared workspace ----


class Attention(nn.Module):
    def __init__(self, C, heads):
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj", "out_proj"):
            setattr(self, name, nn.Linear(C, C))
        self.heads = heads

    def forward(self, q, x, seen, top):
        B, C = len(q), q.shape[-1]
        q, k, v = (p(y).view(B, -1, self.heads, C // self.heads).transpose(1, 2)
                   for p, y in ((self.q_proj, q), (self.k_proj, x), (self.v_proj, x)))
        score = (q @ k.transpose(-1, -2) / (C // self.heads) ** 0.5).masked_fill(seen == 0, -torch.inf)
        if top:
            best = score.topk(min(top, score.shape[-1]), -1)
            score = torch.full_like(score, -torch.inf).scatter(-1, best.indices, best.values)
        weights = torch.softmax(score, -1)
        return self.out_proj((weights @ v).transpose(1, 2).reshape(B, -1, C)), weights


class Workspace(Kind):
    name, family, title = "workspace", "workspace", "Workspace"
    keys = dict(num_attention_heads=2, attention_probs_dropout_prob=0.1, num_slots=3, top_k=2, persistent=True,
                share_layers=False)

    @staticmethod
    def shared(config):
        slots = nn.Embedding(config.num_slots, config.hidden_size)
        return nn.ModuleDict({"slots": slots} | ({"workspace": Workspace(config, 0, None)} if config.share_layers else {}))

    def __init__(self, config, number, shared):
        super().__init__()
        C, heads, self.top, self.persistent = config.hidden_size, config.num_attention_heads, config.top_k, config.persistent
        self.common = [shared] if shared and config.share_layers else None  # in a list: not a module of this one
        self.start = [shared]
        if self.common is None:
            self.write, self.broadcast = Attention(C, heads), Attention(C, heads)
            self.gate, self.input_gate, self.forget_gate = nn.Linear(C, C), nn.Linear(C, C), nn.Linear(C, C)

    def forward(self, x, mask, carried):
        slots = self.start[0].slots.weight.expand(len(x), -1, -1) if carried is None else carried
        y, slots, weights = (self.common[0].workspace if self.common else self).exchange(x, mask, slots)
        return y, slots if self.persistent else None, weights

    def exchange(self, x, mask, slots):
        heard, write = self.write(slots, x, mask[:, None, None], self.top)
        told = (F.relu(self.gate(x)) * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        gate = told[:, None] + torch.tanh(slots)
        slots = torch.sigmoid(self.input_gate(gate)) * torch.tanh(heard) + torch.sigmoid(self.forget_gate(gate)) * slots
        y, broadcast = self.broadcast(x, slots, torch.ones(1), 0)
        return y, slots, dict(write=write, broadcast=broadcast)


def workspace(folder):
    directory(folder, "workspace-mlm", Workspace, "mlm", mask="holes", vocab_size=11)
    directory(folder, "workspace-classify", Workspace, "classify", mask="left", top_k=0, pad_token_id=0)
    directory(folder, "workspace-tag", Workspace, "tag", share_layers=True, num_hidden_layers=3, top_k=1)
    directory(folder, "workspace-qa", Workspace, "qa", persistent=False, num_attention_heads=3, top_k=8, mask=None)
    directory(folder, "workspace-bare", Workspace, "bare", num_slots=9, length=4, share_layers=True, persistent=False)


def make(folder):
    linformer(folder)
    token_mixer(folder)
    workspace(folder)
