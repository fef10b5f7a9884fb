"""Models of random configurations beside Python's, by hand: python same_models.py HEED [FAMILY...] [--cases N] [--seed S].

Draws sizes, keys of config.json, a head and inputs for each family, saves what transformers makes of them, runs `heed forward
--grad --attentions` and compares every output, gradient and attention map with PyTorch in float64. What may differ is a
multiple of what PyTorch's own float32 does, and some units of the last place of the largest number. Prints a line for each
family and whatever differs; a configuration that heed refuses is shown with its sentence, as is one whose output is NaN in
PyTorch itself (padding longer than a sliding window has nothing to attend to).

Decoders and T5 are then rewritten as other programs leave them (restyle): config.json as transformers 4 wrote it, without
keys that have their defaults, weights in 16 bits, in shards, or with an output layer that the config does not tell of; what
is right is what from_pretrained makes of that.

A family is a line of FAMILIES: transformers' prefix, what its sizes are called, its heads, and the values that keys are drawn
from (a pair of whole numbers is a range); draw() has what depends on other keys."""
import json
import sys

import torch
import torchvision_ops  # noqa: F401, before transformers
import transformers as hf
from safetensors.torch import load_file, save_file

import drawn
import golden

ACTS = ["gelu", "relu", "gelu_new", "silu", "tanh", "quick_gelu", "relu2", "gelu_fast", "leaky_relu", "mish", "sigmoid"]
BERT = dict(width="hidden_size", heads="num_attention_heads", layers="num_hidden_layers", hidden="intermediate_size",
            positions="max_position_embeddings")
DISTILBERT = BERT | dict(width="dim", heads="n_heads", layers="n_layers", hidden="hidden_dim")
GPT2 = dict(width="n_embd", heads="n_head", layers="n_layer", hidden="n_inner", positions="n_positions")
ENCODER = "Model ForMaskedLM ForSequenceClassification ForTokenClassification ForQuestionAnswering ForMultipleChoice".split()
PRETRAIN = ENCODER + ["ForPreTraining"]
NEXT = PRETRAIN + ["ForNextSentencePrediction"]
DECODER = "Model ForCausalLM ForSequenceClassification".split()
TEXT2TEXT = "Model ForConditionalGeneration EncoderModel ForTokenClassification ForQuestionAnswering".split()
T5 = dict(width="d_model", heads="num_heads", layers="num_layers", hidden="d_ff", positions="n_positions")
T5_KEYS = dict(d_kv=(1, 7), num_decoder_layers=(1, 3), relative_attention_num_buckets=(4, 12), relative_attention_max_distance=(7, 20),
               layer_norm_epsilon=[1e-6, 1e-2], feed_forward_proj=["relu", "gated-gelu", "gated-silu", "gelu"], decoder_start_token_id=[0, 2])
NORM = dict(layer_norm_eps=[1e-12, 1e-5, 1e-2])
KEYS = NORM | dict(hidden_act=ACTS, type_vocab_size=(1, 3), tie_word_embeddings=[True, False])
ROPE = dict(hidden_act=ACTS, rms_norm_eps=[1e-6, 1e-2], tie_word_embeddings=[True, False], rope_theta=[10000.0, 50.0])
WINDOW = dict(sliding_window=[None, 2, 4])

FAMILIES = {
    "bert": ("Bert", BERT, NEXT, KEYS),
    "ernie": ("Ernie", BERT, NEXT, KEYS | dict(use_task_id=[True, False], task_type_vocab_size=(1, 4))),
    "roberta": ("Roberta", BERT, ENCODER, KEYS | dict(pad_token_id=(0, 3))),
    "xlm-roberta": ("XLMRoberta", BERT, ENCODER, KEYS | dict(pad_token_id=(0, 3))),
    "camembert": ("Camembert", BERT, ENCODER, KEYS | dict(pad_token_id=(0, 3))),
    "distilbert": ("DistilBert", DISTILBERT, ENCODER, dict(activation=["gelu", "relu"], sinusoidal_pos_embds=[False, True])),
    "electra": ("Electra", BERT, PRETRAIN, KEYS | dict(embedding_size=(3, 12), summary_type=["first", "last", "mean"],
                                                       summary_activation=["gelu", "tanh"])),
    "albert": ("Albert", BERT, PRETRAIN, KEYS | dict(embedding_size=(3, 12), inner_group_num=(1, 2))),
    "mpnet": ("MPNet", BERT, ENCODER, NORM | dict(hidden_act=ACTS, relative_attention_num_buckets=[32, 40])),
    "modernbert": ("ModernBert", BERT, ENCODER, dict(
        hidden_activation=["gelu", "silu"], norm_eps=[1e-5, 1e-2], norm_bias=[True, False], attention_bias=[True, False],
        mlp_bias=[True, False], decoder_bias=[True, False], classifier_bias=[True, False], classifier_pooling=["cls", "mean"],
        global_attn_every_n_layers=(1, 3), local_attention=[4, 6, 128], tie_word_embeddings=[True, False])),
    "fnet": ("FNet", BERT, NEXT, KEYS | dict(pad_token_id=(0, 3))),
    "clip_text": ("CLIPText", BERT, ["Model", "ModelWithProjection"], dict(
        hidden_act=ACTS, layer_norm_eps=[1e-5, 1e-2], projection_dim=(1, 9), eos_token_id=[2, 5])),
    "gpt2": ("GPT2", GPT2, ["Model", "LMHeadModel", "ForSequenceClassification"], dict(
        activation_function=ACTS, layer_norm_epsilon=[1e-5, 1e-2], scale_attn_weights=[True, False],
        scale_attn_by_inverse_layer_idx=[True, False], tie_word_embeddings=[True, False])),
    "llama": ("Llama", BERT, DECODER, ROPE | dict(attention_bias=[True, False], mlp_bias=[True, False])),
    "mistral": ("Mistral", BERT, DECODER, ROPE | WINDOW),
    "qwen2": ("Qwen2", BERT, DECODER, ROPE | WINDOW | dict(use_sliding_window=[True, False], max_window_layers=(0, 2))),
    "qwen3": ("Qwen3", BERT, DECODER, ROPE | WINDOW | dict(use_sliding_window=[True, False], max_window_layers=(0, 2),
                                                           attention_bias=[True, False])),
    "gpt_neox": ("GPTNeoX", BERT, DECODER, NORM | dict(hidden_act=ACTS, rotary_pct=[0.5, 1.0], attention_bias=[True, False],
                                                       use_parallel_residual=[True, False], tie_word_embeddings=[True, False])),
    "phi3": ("Phi3", BERT, DECODER, ROPE | WINDOW),
    "gemma2": ("Gemma2", BERT, DECODER, ROPE | dict(
        hidden_activation=["gelu_pytorch_tanh", "gelu"], query_pre_attn_scalar=(2, 9), sliding_window=[2, 4], attention_bias=[True, False],
        attn_logit_softcapping=[None, 2.0, 50.0], final_logit_softcapping=[None, 3.0])),
    "t5": ("T5", T5, TEXT2TEXT, T5_KEYS | dict(tie_word_embeddings=[True, False])),
    "mt5": ("MT5", T5, TEXT2TEXT, T5_KEYS),
}
ROTARY = ("modernbert", "llama", "mistral", "qwen2", "qwen3", "gpt_neox", "phi3", "gemma2")
GROUPED = ("llama", "mistral", "qwen2", "qwen3", "phi3", "gemma2")
TYPED = ("bert", "ernie", "electra", "albert", "roberta", "xlm-roberta", "camembert", "fnet")


def rope(r, channels, phi):
    """rope_parameters of any kind that has so many channels to turn."""
    kinds = ["default", "longrope"] if phi else ["default", "linear", "yarn", "longrope", "llama3"] + ["dynamic"] * (channels > 2)
    p = dict(rope_type=r.choice(kinds), rope_theta=r.choice([10000.0, 50.0, 1000000]))
    some = dict(linear=dict(factor=[1.0, 3.5]), dynamic=dict(factor=[1.0, 2.0, 8]),
                yarn=dict(factor=[1.0, 4.0, 40.0], original_max_position_embeddings=[4, 16, 100]),
                llama3=dict(factor=[2.0, 32.0], low_freq_factor=[1.0, 0.5], high_freq_factor=[4.0, 2],
                            original_max_position_embeddings=[8, 64, 512])).get(p["rope_type"], {})
    rest = dict(yarn=dict(mscale=[0.707, 1.0, 0, None], mscale_all_dim=[0.5, 1.0, None], attention_factor=[0.8, None], beta_fast=[16.0, 4, None],
                          beta_slow=[2.0, 0.5, None], truncate=[True, False, None]),
                longrope=dict(attention_factor=[1.0, 1.19], factor=[1.0, 4.0], original_max_position_embeddings=[4, 6, 24])).get(p["rope_type"], {})
    p |= {key: r.choice(values) for key, values in some.items()} | {key: r.choice(values) for key, values in rest.items() if r.random() < 0.4}
    if p["rope_type"] == "longrope":
        p |= {name: [r.choice(values) for _ in range(channels // 2)]
              for name, values in dict(short_factor=[1.0, 1.1, 2], long_factor=[1.0, 4, 64.0]).items()}
    return p


def one(r, values):
    return r.randint(*values) if isinstance(values, tuple) else r.choice(values)


def draw(r, family, head):
    """The keys of a configuration."""
    prefix, names, _, keys = FAMILIES[family]
    heads, part = r.randint(1, 4), r.randint(1, 4) * 2 if family in ROTARY else r.randint(1, 7)
    part += heads * part < 2  # the norm of one number is nothing
    drawn = dict(heads=heads, width=heads * part, layers=r.randint(1, 3), hidden=r.randint(3, 20), positions=24)
    config = {names[name]: value for name, value in drawn.items()} | {name: one(r, values) for name, values in keys.items()}
    config |= dict(vocab_size=r.randint(12, 40), num_labels=r.randint(2, 5), bos_token_id=4, eos_token_id=5)
    config.setdefault("pad_token_id", 1 if family == "mpnet" else 0)
    if head == "ForQuestionAnswering":
        config["num_labels"] = 2
    if family == "albert":
        config["num_hidden_groups"] = r.randint(1, config["num_hidden_layers"])
    if family == "modernbert":
        config |= dict(cls_token_id=4, sep_token_id=5)
    if family in GROUPED:
        config["num_key_value_heads"] = r.choice([n for n in range(1, heads + 1) if heads % n == 0])
        config |= dict(head_dim=r.choice([part, part + 2])) if family != "phi3" else dict(original_max_position_embeddings=24)
        config["max_position_embeddings"] = r.choice([24, 6])
        config.pop("rope_theta")
        config["rope_parameters"] = rope(r, config.get("head_dim", part), family == "phi3")
    if family in ("qwen2", "qwen3") and not config["sliding_window"]:
        config["use_sliding_window"] = False
    if head == "ForSequenceClassification" and family not in ROTARY[1:] and r.random() < 0.3:
        config |= r.choice([dict(num_labels=1), dict(problem_type="multi_label_classification")])
    return config


def older(family, config):
    """rope_parameters as transformers 4 wrote them."""
    p = config.pop("rope_parameters")
    theta, part, kind = p.pop("rope_theta", 10000.0), p.pop("partial_rotary_factor", None), p.pop("rope_type")
    names = ("rotary_emb_base", "rotary_pct") if family == "gpt_neox" else ("rope_theta", "partial_rotary_factor")
    config |= {names[0]: theta} | ({} if part is None else {names[1]: part}) | dict(rope_scaling=None)
    if kind != "default":
        config["rope_scaling"] = dict(type=kind) | p


def restyle(r, family, config_class, folder):
    """The directory as another program could have left it."""
    config, plain = json.loads((folder / "config.json").read_text()), json.loads(config_class().to_json_string(use_diff=False))
    if "rope_parameters" in config and r.random() < 0.5:
        older(family, config)
    for key in [key for key, value in config.items() if key != "model_type" and key in plain and plain[key] == value]:
        if r.random() < 0.5:
            del config[key]
    file = folder / "model.safetensors"
    output, same = None, False
    weights, tables = load_file(file), ("wte.weight", "embed_tokens.weight", "embed_in.weight", "shared.weight")
    if config["architectures"][0].endswith(("LMHeadModel", "ForCausalLM", "ForConditionalGeneration")) and r.random() < 0.3:
        table = next(t for name, t in weights.items() if name.endswith(tables))
        output = "embed_out.weight" if family == "gpt_neox" else "lm_head.weight"
        weights[output] = r.choice([table.clone(), 0.1 * torch.randn_like(table)])
        same = torch.equal(weights[output], table)
    stored = r.choice([torch.float32, torch.float32, torch.bfloat16, torch.float16])
    weights = {name: t.to(stored) for name, t in weights.items()}
    file.unlink()
    names, shards = r.sample(list(weights), len(weights)), r.choice([1, 1, 2, 3])
    where = {name: f"model-{i % shards + 1:05d}-of-{shards:05d}.safetensors" for i, name in enumerate(names)}
    for shard in sorted(set(where.values())) if shards > 1 else []:
        save_file({name: weights[name] for name in names if where[name] == shard}, folder / shard, metadata={"format": "pt"})
    if shards > 1:
        (folder / "model.safetensors.index.json").write_text(json.dumps(dict(metadata={}, weight_map=where)))
    else:
        save_file(weights, file, metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config))
    return [name for name in weights if name != output or not same]  # one that is tied has no gradient of its own


def padding(r, rows, length, causal):
    """A mask with padding at the end, at the beginning, or none. What is before the first token of a causal model has
    nothing to attend to: PyTorch's weights are then uniform or NaN, heed's 0, and no sentence reads them. There, a hole."""
    mask, side = torch.ones(rows, length, dtype=torch.long), r.choice(["none", "right", "left"])
    if causal and side == "left":
        mask[:, r.randint(1, length - 1)] = 0
        return mask
    for row in range(rows if side != "none" else 0):
        n = r.randint(0, length - 2)
        mask[row, (slice(length - n, None) if side == "right" else slice(0, n))] = 0
    return mask


def inputs(r, family, head, config):
    rows, length = r.randint(1, 4), r.randint(3, 12)
    shape, words, labels = (rows, length), config.vocab_size, config.num_labels
    ids, mask = torch.randint(6, words, shape), padding(r, *shape, family == "clip_text" or FAMILIES[family][2][-1] == DECODER[-1])
    ids[mask == 0] = config.pad_token_id
    if family == "clip_text":  # one text without an end
        ids[torch.arange(1, rows), torch.randint(0, length, (rows - 1,))] = 5
    given = dict(input_ids=ids)
    if r.random() < 0.8 or (mask == 0).any():
        given["attention_mask"] = mask
    if family == "fnet":  # takes none: padding tokens are tokens
        given.pop("attention_mask", None)
    if FAMILIES[family][2] is TEXT2TEXT and head in TEXT2TEXT[:2] + TEXT2TEXT[-1:]:
        after = torch.randint(0, words, (rows, r.randint(1, 9)))
        if head == "ForConditionalGeneration":
            return given | dict(labels=some(torch.ones_like(after), after))
        return given | (dict(decoder_input_ids=after) if head == "Model" else spans(rows, length))
    if family in TYPED and r.random() < 0.7:
        given["token_type_ids"] = torch.randint(0, config.type_vocab_size, shape)
    if family == "ernie" and config.use_task_id and head != "ForMultipleChoice":
        given["task_type_ids"] = torch.randint(0, config.task_type_vocab_size, shape)
    if head == "ForMultipleChoice":
        choices = r.randint(2, 3)
        given = {name: t.unsqueeze(1).repeat(1, choices, 1) for name, t in given.items()}
        new = torch.randint(6, words, given["input_ids"].shape)
        given["input_ids"] = torch.where(given["input_ids"] == config.pad_token_id, given["input_ids"], new)
        return given | dict(labels=torch.randint(0, choices, (rows,)))
    if head == "ForSequenceClassification":
        if config.problem_type == "multi_label_classification":
            return given | dict(labels=torch.randint(0, 2, (rows, labels)).float())
        return given | dict(labels=torch.randn(rows) if labels == 1 else torch.randint(0, labels, (rows,)))
    if head == "ForTokenClassification":
        return given | dict(labels=some(mask, torch.randint(0, labels, shape)))
    if head == "ForQuestionAnswering":
        return given | spans(rows, length)
    if head == "ForNextSentencePrediction":
        return given | dict(labels=torch.randint(0, 2, (rows,)))
    if head == "ForPreTraining" and family == "electra":
        return given | dict(labels=torch.randint(0, 2, shape))
    if head == "ForPreTraining":
        sentence = "sentence_order_label" if family == "albert" else "next_sentence_label"
        return given | dict(labels=some(mask, torch.randint(0, words, shape))) | {sentence: torch.randint(0, 2, (rows,))}
    return given if head in ("Model", "EncoderModel", "ModelWithProjection") else given | dict(labels=some(mask, torch.randint(0, words, shape)))


def spans(rows, length):
    return dict(start_positions=torch.randint(0, length, (rows,)), end_positions=torch.randint(0, length + 2, (rows,)))


def some(mask, labels):
    """Some do not count; the last token, which a language model predicts, does."""
    labels = torch.where((torch.rand(labels.shape) < 0.3) | (mask == 0), -100, labels)
    labels[:, -1] = labels[:, -1].clamp(min=1)
    return labels


def case(family, r, folder):
    prefix, _, heads, _ = FAMILIES[family]
    head = r.choice(heads)
    keys = draw(r, family, head)
    config = getattr(hf, prefix + "Config")(**keys)
    model = golden.enliven(getattr(hf, prefix + head)._from_config(config, attn_implementation="eager")).eval()
    model.save_pretrained(folder)
    if heads is TEXT2TEXT or DECODER[-1] == heads[-1]:
        names = restyle(r, family, type(config), folder)
        model = type(model).from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    else:
        names = None
    return model, inputs(r, family, head, model.config), f"{prefix}{head} {json.dumps(keys)}", names


def main():
    hf.logging.set_verbosity_error()
    return drawn.run(__doc__, FAMILIES, case)


if __name__ == "__main__":
    sys.exit(main())
