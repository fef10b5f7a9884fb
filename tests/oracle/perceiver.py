"""Perceiver: golden directories below tests/golden/model, and random configurations beside transformers, by hand:
python perceiver.py HEED [--cases N] [--seed S].

transformers' classes have convolutions of 256 and 64 channels, 64 frequencies and keys of 256 numbers, too many for a small file:
masked() and narrow() build the same of its own parts with fewer, as heed's keys decoder_qk_channels, in_channels, out_channels,
num_bands and max_resolution say. The random configurations are of the classes as they are."""
import json
import sys

import torchvision_ops  # noqa: F401, before transformers
import torch
import transformers as hf
from transformers.models.perceiver import modeling_perceiver as parts

import drawn
import golden

CASES = {}


def case(f):
    CASES[f.__name__.replace("_", "-")] = f
    return f


SMALL = dict(num_latents=3, d_latents=4, d_model=8, num_blocks=2, num_self_attends_per_block=2, num_self_attention_heads=2,
             num_cross_attention_heads=4, vocab_size=11, max_position_embeddings=6)


def config(**keys):
    return hf.PerceiverConfig(**(SMALL | keys))


def tokens(rows, length, words=11, padded=0):
    mask = torch.ones(rows, length, dtype=torch.long)
    if padded:
        mask[-1, -padded:] = 0
    return dict(input_ids=torch.randint(0, words, (rows, length)), attention_mask=mask)


def masked(**keys):
    """PerceiverForMaskedLM whose decoder has keys of 16 numbers, not of 256."""
    c = config(**keys)
    model = hf.PerceiverForMaskedLM(c)
    decoder = parts.PerceiverBasicDecoder(c, output_num_channels=c.d_latents, output_index_dims=c.max_position_embeddings, num_channels=c.d_model,
                                          qk_channels=16, v_channels=c.d_model, num_heads=8, use_query_residual=False, final_project=False,
                                          trainable_position_encoding_kwargs=dict(num_channels=c.d_model, index_dims=c.max_position_embeddings))
    model.perceiver = parts.PerceiverModel(c, input_preprocessor=parts.PerceiverTextPreprocessor(c), decoder=decoder)
    c.decoder_qk_channels = 16
    return model


@case
def perceiver_mlm():  # every position is filled, so that transformers has a loss
    labels = torch.tensor([[3, -100, 1, 10, -100, 0], [-100, 5, 5, -100, 2, -100]])
    return masked(num_self_attends_per_block=1), tokens(2, 6, padded=2) | dict(labels=labels)


@case
def perceiver_mlm_short():  # logits of all positions for fewer tokens; queries and keys as wide as the latents
    return masked(cross_attention_shape_for_attention="q", use_query_residual=False), tokens(2, 4)


@case
def perceiver_classify():
    keys = dict(d_latents=6, d_model=9, num_cross_attention_heads=3, num_labels=3, hidden_act="relu", self_attention_widening_factor=2,
                cross_attention_widening_factor=3, max_position_embeddings=9, num_self_attends_per_block=1)
    return hf.PerceiverForSequenceClassification(config(**keys)), tokens(3, 7, padded=3) | dict(labels=torch.tensor([2, 0, 1]))


@case
def perceiver_widths():  # keys narrower than values, several layers
    keys = dict(d_latents=8, d_model=5, qk_channels=4, v_channels=8, num_labels=1, use_query_residual=False)
    return hf.PerceiverForSequenceClassification(config(**keys)), tokens(2, 5) | dict(labels=torch.randn(2))


@case
def perceiver_bare():
    return hf.PerceiverModel(config(d_latents=8, d_model=12)), dict(inputs=torch.randn(2, 5, 12), attention_mask=tokens(2, 5, padded=2)["attention_mask"])


def narrow(name, prep, channels, width, fourier, **keys):
    """A class of pictures of transformers, with a narrower preprocessor."""
    c = config(num_self_attends_per_block=1, cross_attention_shape_for_attention="q", **keys)
    model = getattr(hf, "PerceiverForImageClassification" + name)(c)
    if fourier:
        where = dict(fourier_position_encoding_kwargs=dict(concat_pos=True, sine_only=False) | fourier)
    else:
        where = dict(position_encoding_type="trainable", concat_or_add_pos="concat", project_pos_dim=width,
                     trainable_position_encoding_kwargs=dict(num_channels=width, index_dims=c.image_size ** 2))
    see = parts.PerceiverImagePreprocessor(c, prep_type=prep, spatial_downsample=1, in_channels=channels, out_channels=width, **where)
    decoder = parts.PerceiverClassificationDecoder(c, num_channels=c.d_latents, use_query_residual=True,
                                                   trainable_position_encoding_kwargs=dict(num_channels=c.d_latents, index_dims=1))
    model.perceiver = parts.PerceiverModel(c, input_preprocessor=see, decoder=decoder)
    c.in_channels, c.out_channels = channels, width
    if fourier:
        c.num_bands, c.max_resolution = fourier["num_bands"], list(fourier["max_resolution"])
    return model


def pictures(count, channels, height, width):
    return dict(pixel_values=torch.randn(count, channels, height, width))


@case
def perceiver_learned():
    return narrow("Learned", "conv1x1", 3, 6, None, image_size=4, num_labels=3), pictures(2, 3, 4, 4) | dict(labels=torch.tensor([2, 0]))


@case
def perceiver_learned_resized():
    model = narrow("Learned", "conv1x1", 1, 4, None, image_size=3, num_labels=2)
    return model, pictures(2, 1, 4, 5) | dict(interpolate_pos_encoding=torch.tensor(True))


@case
def perceiver_fourier():
    model = narrow("Fourier", "pixels", 3, 64, dict(num_bands=5, max_resolution=(224, 20)), num_labels=3)
    return model, pictures(2, 3, 3, 7) | dict(labels=torch.tensor([1, 2]))


@case
def perceiver_conv():
    model = narrow("ConvProcessing", "conv", 2, 3, dict(num_bands=3, max_resolution=(56, 9)), num_labels=2)
    batch_norm = model.perceiver.input_preprocessor.convnet.batchnorm
    batch_norm.running_mean.normal_()
    batch_norm.running_var.uniform_(0.5, 2)
    return model, pictures(2, 2, 9, 13) | dict(labels=torch.tensor([1, 0]))


def make(folder):
    hf.logging.set_verbosity_error()
    for name, function in CASES.items():
        golden.seed(name)
        model, inputs = function()
        golden.save(folder / name, golden.enliven(model), inputs)


# ---- random configurations ----

DRAWN = set()  # the keys that are drawn
HEADS = ["Model", "ForMaskedLM", "ForSequenceClassification"] + ["ForImageClassification" + n for n in ("Learned", "Fourier", "ConvProcessing")]


def draw(r, head):
    """A configuration, and inputs for it."""
    self_heads, cross_heads = r.choice([(1, 1), (2, 4), (3, 3), (4, 2)])
    latents = 12 * r.randint(1, 2)
    keys = dict(num_latents=r.randint(1, 9), d_latents=latents, num_blocks=r.randint(1, 3), num_self_attends_per_block=r.randint(0, 3),
                num_self_attention_heads=self_heads, num_cross_attention_heads=cross_heads, hidden_act=r.choice(["gelu", "relu", "silu", "gelu_new"]),
                self_attention_widening_factor=r.randint(1, 3), cross_attention_widening_factor=r.randint(1, 3),
                use_query_residual=r.random() < 0.5, cross_attention_shape_for_attention=r.choice(["kv", "q"]), layer_norm_eps=r.choice([1e-12, 0.1]),
                vocab_size=r.randint(5, 40), max_position_embeddings=r.randint(4, 12), num_labels=r.randint(1, 5), image_size=r.randint(5, 8))
    keys["d_model"] = r.choice([24, 48]) if head == "ForMaskedLM" else 12 * r.randint(1, 3)
    if "Image" in head:
        keys["cross_attention_shape_for_attention"] = "q" if cross_heads != 1 and head != HEADS[3] or cross_heads == 3 else r.choice(["kv", "q"])
    if r.random() < 0.6:  # what the self-attention gives is as wide as the latents
        keys |= r.choice([dict(qk_channels=12 * r.randint(1, 3), v_channels=latents), dict(v_channels=latents), dict(qk_channels=latents)])
    if keys["num_self_attends_per_block"] == 0 and r.random() < 0.5:
        keys |= dict(qk_channels=12 * r.randint(1, 3), v_channels=12 * r.randint(1, 3))
    if "Classification" in head and r.random() < 0.3:
        keys["problem_type"] = "multi_label_classification"
    DRAWN.update(keys)
    c = hf.PerceiverConfig(**keys)
    rows = r.randint(1, 3)
    if "Image" in head:
        other = head != HEADS[3] or r.random() < 0.4
        side = (r.randint(5, 9), r.randint(5, 9)) if other else (c.image_size, c.image_size)
        given = dict(pixel_values=torch.randn(rows, 3, *side))
        if head == HEADS[3] and other:
            given["interpolate_pos_encoding"] = torch.tensor(True)
        length = side[0] * side[1]
    else:
        length = r.randint(2, c.max_position_embeddings)
        given = dict(inputs=torch.randn(rows, length, c.d_model)) if head == "Model" else dict(input_ids=torch.randint(0, c.vocab_size, (rows, length)))
    if head != HEADS[5] and r.random() < 0.7:
        mask = torch.ones(rows, length, dtype=torch.long)
        mask[-1, :r.randint(0, length - 1)] = 0
        given["attention_mask"] = mask if r.random() < 0.5 else mask.flip(1)
    if head == "ForMaskedLM" and length == c.max_position_embeddings:
        given["labels"] = torch.randint(0, c.vocab_size, (rows, length))
    if "Classification" in head and r.random() < 0.8:
        if c.problem_type:
            given["labels"] = torch.randint(0, 2, (rows, c.num_labels)).float()
        else:
            given["labels"] = torch.randn(rows) if c.num_labels == 1 else torch.randint(0, c.num_labels, (rows,))
    return c, given


def case(family, r, folder):
    head = r.choice(HEADS)
    keys, given = draw(r, head)
    model = golden.enliven(getattr(hf, "Perceiver" + head)._from_config(keys, attn_implementation="eager")).eval()
    model.save_pretrained(folder)
    return model, given, f"Perceiver{head} {json.dumps({k: v for k, v in keys.to_dict().items() if k in DRAWN})}"


def main():
    hf.logging.set_verbosity_error()
    return drawn.run(__doc__, ["perceiver"], case)


if __name__ == "__main__":
    sys.exit(main())
