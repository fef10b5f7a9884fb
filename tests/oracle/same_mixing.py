"""same_models.py for kinds of cheaper attention: python same_mixing.py HEED [FAMILY...] [--cases N] [--seed S].

Draws sizes, keys, a head, masks and lengths, of the modules of mixing.py. A family is a line of FAMILIES: its module, its heads
and the keys that are its own."""
import json
import sys

import torch

import drawn
import mixing
import performer as performers
import sparse as sparses

ENCODER = "mlm classify tag qa bare".split()


def linformer(r, head):
    return dict(sharing=r.choice(["none", "headwise", "key-value", "layerwise"]), projected_length=r.randint(1, 9))


def token_mixer(r, head):
    return dict(tokens_mlp_dim=r.randint(1, 30), causal=head == "lm" or r.random() < 0.4)


def workspace(r, head):
    return dict(num_slots=r.randint(1, 6), top_k=r.randint(0, 7), persistent=r.random() < 0.6, share_layers=r.random() < 0.4)


def performer(r, head):
    """Sums of sines and cosines come close to 0, where float32 has few digits left: enough of them."""
    kind = r.choice(["positive", "positive", "hyperbolic", "trigonometric"])
    m = r.choice([64, 100]) if kind == "trigonometric" else 2 * r.randint(1, 40)
    return dict(feature_kind=kind, num_random_features=m - (kind == "positive" and r.random() < 0.5), orthogonal_features=r.random() < 0.5,
                redraw_interval=r.choice([0, 1, 1000]), causal=head == "lm" or r.random() < 0.4)


def sparse(r, head):
    causal = dict(causal=head == "lm" or r.random() < 0.4)
    if r.random() < 0.5:
        return causal | dict(attention_window=r.choice([0, 1, 2, 5, 17, 64, 500]))
    return causal | dict(attention_block=r.choice([1, 2, 3, 8, 16, 33]), window_blocks=r.randint(0, 3), global_blocks=r.randint(0, 3),
                         random_blocks=r.randint(0, 4), attention_seed=r.randint(0, 10 ** 6))


FAMILIES = {"linformer": (mixing.Linformer, ENCODER, linformer), "token-mixer": (mixing.TokenMixer, ENCODER + ["lm"], token_mixer),
            "workspace": (mixing.Workspace, ENCODER, workspace), "performer": (performers.Performer, ENCODER + ["lm"], performer),
            "sparse": (sparses.Sparse, ENCODER + ["lm"], sparse)}


class AsTransformers(torch.nn.Module):
    """With the names and the arguments that same_models.py expects."""

    def __init__(self, model):
        super().__init__()
        self.inner = model

    dtype = property(lambda self: next(self.inner.parameters()).dtype)

    def named_parameters(self, *arguments, **keys):
        return self.inner.named_parameters(*arguments, **keys)

    def forward(self, output_attentions, return_dict, **inputs):
        return self.inner(**inputs)


def draw(r, family):
    kind, heads, own = FAMILIES[family]
    head = r.choice(heads)
    attention_heads = r.randint(1, 4)
    # two numbers are 1 and -1 after a norm, and tokens that are alike are equally good to a workspace: wider than that
    longest = r.choice([r.randint(7, 12), r.randint(13, 40), r.randint(100, 200)])  # the last: more than one block of a kernel
    keys = dict(vocab_size=r.randint(5, 40), hidden_size=attention_heads * r.randint(2 if attention_heads > 1 else 3, 6), num_hidden_layers=r.randint(1, 3),
                intermediate_size=r.randint(1, 20), max_position_embeddings=longest, layer_norm_eps=r.choice([1e-5, 1e-2]),
                hidden_act=r.choice(list(mixing.ACTS)), pad_token_id=r.choice([None, 0, 3]))
    if "num_attention_heads" in kind.keys:
        keys["num_attention_heads"] = attention_heads
    if head in ("mlm", "lm"):
        keys["tie_word_embeddings"] = r.random() < 0.5
    if head == "classify":
        keys["pooling"] = r.choice(["mean", "first"])
    model, config = mixing.make_model(kind, head, **keys | own(r, head))
    given = mixing.make_inputs(config, head, r.choice([None, "right", "left", "holes"]), r.randint(4, longest))
    if r.random() < 0.3:
        rows, length = given["input_ids"].shape  # no position twice: equal tokens are equally good
        given["position_ids"] = torch.stack([torch.randperm(config.max_position_embeddings)[:length] for _ in range(rows)])
    return model.eval(), config, given


def case(family, r, folder):
    model, config, given = draw(r, family)
    (folder / "config.json").write_text(json.dumps(config))
    drawn.save_weights(model, folder)
    return AsTransformers(model), given, json.dumps(config)


if __name__ == "__main__":
    sys.exit(drawn.run(__doc__, FAMILIES, case))
