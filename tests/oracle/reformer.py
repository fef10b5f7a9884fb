"""Golden directories of the Reformer.

transformers' reversible layers have gradients while training only, where every length must be a multiple of the chunks and
fill the axial positions. Here the same layers run one after the other with an ordinary tape (plain), so that gradients are
those of evaluation. Hashes are drawn as those of a model in float32 are, and the scores of queries that see no key (-1e5 and
-1e9) lose as many digits (hashes)."""
import contextlib

import torch
import torchvision_ops  # noqa: F401, before transformers
import transformers as hf
from transformers.models.reformer import modeling_reformer

import golden
from models import some, tokens

CASES = {}


def case(fn):
    CASES[fn.__name__.replace("_", "-")] = fn
    return fn


def plain(hidden, layers, mask, hashes, states, maps, past, cache, length, output_states, output_maps):
    hidden, attended = torch.chunk(hidden, 2, dim=-1)
    for layer in layers:
        out = layer.attention(hidden_states=hidden, attention_mask=mask, num_hashes=hashes, output_attentions=output_maps)
        attended = attended + out.hidden_states
        hidden = hidden + layer.feed_forward(attended)
        if output_maps:
            maps.append(out.attention_probs)
    return torch.cat([attended, hidden], dim=-1)


class Plain:
    apply = staticmethod(plain)


@contextlib.contextmanager
def hashes():
    """torch.randn of float64 gives what it gives in float32, and torch.logsumexp where it is that of masked scores."""
    randn, log_sum, reversible = torch.randn, torch.logsumexp, modeling_reformer._ReversibleFunction

    def narrow(*shape, dtype=None, **keys):
        t = randn(*shape, dtype=torch.float32 if dtype == torch.float64 else dtype, **keys)
        return t.double() if dtype == torch.float64 else t

    def rounded(*arguments, **keys):
        t = log_sum(*arguments, **keys)
        return torch.where(t < -5e4, t.float().to(t.dtype), t)
    torch.randn, torch.logsumexp, modeling_reformer._ReversibleFunction = narrow, rounded, Plain
    try:
        yield
    finally:
        torch.randn, torch.logsumexp, modeling_reformer._ReversibleFunction = randn, log_sum, reversible


def config(**keys):
    return hf.ReformerConfig(**(dict(
        vocab_size=13, hidden_size=8, num_attention_heads=2, attention_head_size=3, feed_forward_size=9,
        attn_layers=["local", "lsh"], axial_pos_shape=[4, 6], axial_pos_embds_dim=[3, 5], axial_norm_std=0.05,
        max_position_embeddings=30, local_attn_chunk_length=4, lsh_attn_chunk_length=4, num_hashes=2, num_buckets=4,
        hash_seed=11, use_cache=False) | keys))


def sentences(length):
    return tokens(13, length=length)


@case
def reformer_bare():
    """Chunks of both kinds, several hashes, and padding to a multiple of 4."""
    return hf.ReformerModel(config()), sentences(10)


@case
def reformer_bare_decoder():
    """LSH alone, causal, with factors of buckets and more chunks before."""
    return hf.ReformerModel(config(attn_layers=["lsh", "lsh"], is_decoder=True, num_buckets=[2, 4], num_hashes=3,
                                   lsh_num_chunks_before=2, hash_seed=5)), sentences(12)


@case
def reformer_bare_learned():
    """Learned positions, chunks on both sides of different lengths, the number of buckets by the length."""
    return hf.ReformerModel(config(axial_pos_embds=False, local_attn_chunk_length=6, local_num_chunks_after=1,
                                   lsh_num_chunks_after=1, lsh_num_chunks_before=0, num_buckets=None, num_hashes=1,
                                   hidden_act="gelu")), sentences(15)


@case
def reformer_bare_padded():
    """Windows of padding alone, and tokens that see themselves alone in all rounds."""
    mask = torch.ones(3, 12, dtype=torch.long)
    mask[1, 3:], mask[2, :5] = 0, 0
    return hf.ReformerModel(config(is_decoder=True)), dict(input_ids=torch.randint(1, 13, (3, 12)), attention_mask=mask)


@case
def reformer_lm():
    """Causal; LSH within one chunk, which is exact, so that decoding token by token gives the same."""
    given = sentences(10)
    return (hf.ReformerModelWithLMHead(config(is_decoder=True, lsh_attn_chunk_length=12, chunk_size_feed_forward=4)),
            given | dict(labels=some(given["input_ids"])))


@case
def reformer_mlm():
    return hf.ReformerForMaskedLM(config(num_buckets=6, num_hashes=1)), sentences(12) | dict(
        labels=some(torch.randint(0, 13, (3, 12))))


@case
def reformer_classify():
    """Shorter than any chunk: attention to all."""
    return hf.ReformerForSequenceClassification(config(attn_layers=["lsh", "local", "lsh"], lsh_attn_chunk_length=8,
                                                       local_attn_chunk_length=8, num_labels=3)), sentences(7) | dict(
        labels=torch.tensor([2, 0, 1]))


@case
def reformer_qa():
    return hf.ReformerForQuestionAnswering(config(attn_layers=["local", "local"], local_num_chunks_after=1)), sentences(
        9) | dict(start_positions=torch.tensor([1, 9, 4]), end_positions=torch.tensor([2, 5, 0]))


def make(folder):
    for name, fn in CASES.items():
        golden.seed(name)
        model, inputs = fn()
        with hashes():
            golden.save(folder / name, golden.enliven(model), inputs)
