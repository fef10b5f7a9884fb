"""Reformers of random configurations beside transformers, by hand: python same_reformer.py HEED [--cases N] [--seed S].

As same_models.py does, but layers run with an ordinary tape and hashes are those of float32 (reformer.py). Where PyTorch's
own float32 sorts positions into other buckets than float64 does, its outputs differ and so much is allowed."""
import json
import sys

import torch
import torchvision_ops  # noqa: F401, before transformers
import transformers as hf

import drawn
import golden
import reformer
import same_models

HEADS = "Model ModelWithLMHead ForMaskedLM ForSequenceClassification ForQuestionAnswering".split()


def draw(r, head):
    width, rows = r.randint(2, 12), r.randint(2, 8)
    part = r.randint(1, width - 1)
    causal = head == "ModelWithLMHead" or (head != "ForMaskedLM" and r.random() < 0.3)
    after = 0 if causal else r.choice([0, 0, 1])
    return dict(
        vocab_size=r.randint(12, 40), hidden_size=width, num_attention_heads=r.randint(1, 4), attention_head_size=r.randint(1, 9),
        feed_forward_size=r.randint(3, 20), attn_layers=[r.choice(["local", "lsh"]) for _ in range(r.randint(1, 4))],
        axial_pos_embds=r.random() < 0.7, axial_pos_shape=[rows, -(-120 // rows)], axial_pos_embds_dim=[part, width - part],
        axial_norm_std=0.05, max_position_embeddings=r.choice([120, 400]), local_attn_chunk_length=r.choice([2, 3, 4, 8]),
        lsh_attn_chunk_length=r.choice([2, 4, 6, 8]), local_num_chunks_before=r.randint(0, 2), lsh_num_chunks_before=r.randint(0, 3),
        local_num_chunks_after=after, lsh_num_chunks_after=0 if causal else r.choice([0, 0, 1]), num_hashes=r.randint(1, 4),
        num_buckets=r.choice([None, 2, 4, 8, [2, 4], [4, 2, 2], [6]]), hash_seed=r.randint(0, 1000), is_decoder=causal,
        hidden_act=r.choice(same_models.ACTS), layer_norm_eps=r.choice([1e-12, 1e-5, 1e-2]), num_labels=2 if head == HEADS[4] else 4,
        pad_token_id=r.randint(0, 3), use_cache=False)


def inputs(r, head, config):
    rows, length = r.randint(1, 3), r.randint(2, 40)
    ids = torch.randint(4, config.vocab_size, (rows, length))
    mask = same_models.padding(r, rows, max(length, 3), False)[:, :length]
    given = dict(input_ids=ids)
    if r.random() < 0.7:
        given["attention_mask"] = mask
    if head == "ForSequenceClassification":
        return given | dict(labels=torch.randint(0, config.num_labels, (rows,)))
    if head == "ForQuestionAnswering":
        return given | same_models.spans(rows, length)
    return given if head == "Model" else given | dict(labels=same_models.some(mask, ids))


def case(family, r, folder):
    head = r.choice(HEADS)
    keys = draw(r, head)
    model = golden.enliven(getattr(hf, "Reformer" + head)(hf.ReformerConfig(**keys))).eval()
    model.save_pretrained(folder)
    return model, inputs(r, head, model.config), f"Reformer{head} {json.dumps(keys)}"


def main():
    hf.logging.set_verbosity_error()
    with reformer.hashes():
        return drawn.run(__doc__, ["reformer"], case, cases=100)


if __name__ == "__main__":
    sys.exit(main())
