"""Golden directories of transformers' classes, one function for each: the class and its config, and inputs."""
import torch
import torchvision_ops  # noqa: F401, before transformers
import transformers as hf

import golden

CASES = {}


def case(fn):
    CASES[fn.__name__.replace("_", "-")] = fn
    return fn


def tokens(words, rows=3, length=6):
    """Tokens of three sentences, the second with padding at the end, the third with a hole."""
    mask = torch.ones(rows, length, dtype=torch.long)
    mask[1, length - 2:], mask[2, 1] = 0, 0
    return dict(input_ids=torch.randint(1, words, (rows, length)), attention_mask=mask)


def some(labels):
    """Labels of which every third does not count."""
    return torch.where(torch.arange(labels.numel()).reshape(labels.shape) % 3 == 1, -100, labels)


# ---- encoders ----

SIZES = dict(vocab_size=19, hidden_size=6, num_attention_heads=3, num_hidden_layers=2, intermediate_size=7,
             max_position_embeddings=9)
SMALL = SIZES | dict(num_hidden_layers=1)
SEQUENCE = (3, 6)


def words():
    return dict(labels=some(torch.randint(0, 19, SEQUENCE)))


def choices(given, choices=2):
    """The same inputs for two questions, with so many answers each."""
    def laid(t):
        return t[:1].repeat(2 * choices, 1).reshape(2, choices, -1)
    given = {name: laid(t) for name, t in given.items() if name != "task_type_ids"}
    given["input_ids"] = torch.randint(2, 19, given["input_ids"].shape)
    if "attention_mask" in given:
        given["attention_mask"][1, 0, -2:] = 0
    return given | dict(labels=torch.tensor([1, 0]))


def span():
    """The second start is beyond the sequence and does not count."""
    return dict(start_positions=torch.tensor([1, 9, 4]), end_positions=torch.tensor([2, 5, 0]))


def bert(**keys):
    return hf.BertConfig(**SIZES, **keys)


def sentences():
    return tokens(19) | dict(token_type_ids=torch.randint(0, 2, SEQUENCE))


@case
def bert_bare():
    return hf.BertModel(bert()), sentences()


@case
def bert_mlm():
    return hf.BertForMaskedLM(bert(hidden_act="gelu_new")), sentences() | words()


@case
def bert_classify():
    return hf.BertForSequenceClassification(bert(num_labels=4)), sentences() | dict(labels=torch.tensor([3, 0, 1]))


@case
def bert_regress():
    return hf.BertForSequenceClassification(bert(num_labels=1)), sentences() | dict(labels=torch.randn(3))


@case
def bert_pretrain():
    return hf.BertForPreTraining(bert()), sentences() | words() | dict(next_sentence_label=torch.tensor([1, 0, 1]))


@case
def bert_sentence():
    return hf.BertForNextSentencePrediction(bert()), sentences() | dict(labels=torch.tensor([1, 0, 1]))


@case
def bert_tag():
    return hf.BertForTokenClassification(bert(num_labels=5)), sentences() | dict(labels=some(torch.randint(0, 5, SEQUENCE)))


@case
def bert_answer():
    return hf.BertForQuestionAnswering(bert()), sentences() | span()


@case
def bert_choose():
    return hf.BertForMultipleChoice(bert()), choices(sentences())


def heads(family, prefix, config, given, names="bare mlm classify tag answer choose"):
    """A case for each head: NAME-HEAD."""
    def add(head, name, labels=None, **keys):
        def build():
            inputs = given()
            inputs = choices(inputs) if head == "choose" else inputs | (labels() if labels else {})
            return getattr(hf, prefix + name)(config(**keys)), inputs
        if head in names.split():
            CASES[f"{family}-{head}"] = build
    add("bare", "Model")
    add("mlm", "ForMaskedLM", words)
    add("pretrain", "ForPreTraining", lambda: words() | dict(next_sentence_label=torch.tensor([1, 0, 1])))
    add("sentence", "ForNextSentencePrediction", lambda: dict(labels=torch.tensor([1, 0, 1])))
    add("classify", "ForSequenceClassification", lambda: dict(labels=torch.tensor([2, 0, 1])), num_labels=3)
    add("tag", "ForTokenClassification", lambda: dict(labels=some(torch.randint(0, 5, SEQUENCE))), num_labels=5)
    add("answer", "ForQuestionAnswering", span)
    add("choose", "ForMultipleChoice")


heads("ernie", "Ernie", lambda **keys: hf.ErnieConfig(**SMALL, use_task_id=True, **keys),
      lambda: sentences() | dict(task_type_ids=torch.randint(0, 3, SEQUENCE)),
      "bare mlm pretrain sentence classify tag answer choose")


# Ids of padding tokens, which are not at the end alone: RoBERTa's positions do not count them.
def padded(padding):
    given = tokens(19)
    given["input_ids"][given["attention_mask"] == 0] = padding
    return given


for name, prefix, padding in (("roberta", "Roberta", 1), ("xlm-roberta", "XLMRoberta", 1), ("camembert", "Camembert", 3)):
    def config(prefix=prefix, padding=padding, **keys):
        return getattr(hf, prefix + "Config")(**SMALL | dict(max_position_embeddings=11), pad_token_id=padding, **keys)

    def given(padding=padding):
        return padded(padding) | dict(token_type_ids=torch.randint(0, 2, SEQUENCE))
    heads(name, prefix, config, given)


def distilbert(**keys):
    return hf.DistilBertConfig(vocab_size=19, dim=6, n_heads=3, n_layers=1, hidden_dim=7, max_position_embeddings=9, **keys)


heads("distilbert", "DistilBert", distilbert, lambda: tokens(19))


def electra(**keys):
    return hf.ElectraConfig(**SMALL, embedding_size=5, **keys)


heads("electra", "Electra", electra, sentences)


@case
def electra_replaced():
    return hf.ElectraForPreTraining(electra(hidden_act="relu")), sentences() | dict(labels=torch.randint(0, 2, SEQUENCE))


@case
def electra_choose_mean():
    keys = dict(summary_type="mean", summary_use_proj=False, summary_activation="tanh")
    return hf.ElectraForMultipleChoice(electra(**keys)), choices(sentences())


def albert(**keys):
    return hf.AlbertConfig(**SIZES | dict(num_hidden_layers=3), embedding_size=5, **keys)


heads("albert", "Albert", albert, sentences, "bare mlm classify tag answer")


@case
def albert_choose():
    """Wide weights: with the usual ones its shared layers make all choices alike, and the gradients next to nothing."""
    return hf.AlbertForMultipleChoice(albert(initializer_range=0.06)), choices(sentences())


@case
def albert_groups():
    return hf.AlbertModel(albert(num_hidden_groups=2, inner_group_num=2)), sentences()


@case
def albert_pretrain():
    return hf.AlbertForPreTraining(albert()), sentences() | words() | dict(sentence_order_label=torch.tensor([1, 0, 1]))


def mpnet(**keys):
    return hf.MPNetConfig(**SMALL | dict(max_position_embeddings=11), **keys)


heads("mpnet", "MPNet", mpnet, lambda: padded(1))


@case
def mpnet_far():
    return hf.MPNetModel(hf.MPNetConfig(**SMALL | dict(max_position_embeddings=22), relative_attention_num_buckets=33)), tokens(19, length=20)


def modernbert(**keys):
    ends = dict(bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, pad_token_id=0)
    sizes = dict(vocab_size=19, hidden_size=6, intermediate_size=5, num_hidden_layers=2, num_attention_heads=3,
                 max_position_embeddings=9, local_attention=8)
    return hf.ModernBertConfig(**sizes | ends | keys)


heads("modernbert", "ModernBert", modernbert, lambda: tokens(19))


@case
def modernbert_mean():
    keys = dict(classifier_pooling="mean", norm_bias=True, attention_bias=True, mlp_bias=True, classifier_bias=True,
                layer_types=["sliding_attention", "full_attention"], local_attention=7, hidden_activation="silu", num_labels=3)
    given = tokens(19) | dict(position_ids=torch.randint(0, 30, SEQUENCE), labels=torch.tensor([2, 0, 1]))
    return hf.ModernBertForSequenceClassification(modernbert(**keys)), given


# ---- GPT-2 ----

def fnet(**keys):
    sizes = {name: size for name, size in SMALL.items() if name != "num_attention_heads"}
    return hf.FNetConfig(**sizes | dict(type_vocab_size=3), **keys)


# Its classes take no mask: what would be padding is transformed with the rest.
heads("fnet", "FNet", fnet,
      lambda: dict(input_ids=tokens(19)["input_ids"], token_type_ids=torch.randint(0, 3, SEQUENCE)),
      "bare mlm pretrain sentence classify tag answer choose")


@case
def fnet_mlm_untied():
    given = dict(input_ids=torch.randint(4, 19, (2, 7)), labels=some(torch.randint(0, 19, (2, 7))))
    return hf.FNetForMaskedLM(fnet(tie_word_embeddings=False, hidden_act="relu")), given


@case
def fnet_matrices():  # of the transform, complex, among the weights
    return hf.FNetModel(fnet(use_tpu_fourier_optimizations=True, tpu_short_seq_length=5)), dict(input_ids=torch.randint(4, 19, (3, 5)))


def clip_text(**keys):
    return hf.CLIPTextConfig(**SIZES, projection_dim=4, **keys)


def captions(end):
    """Tokens of three captions, one of which has the end's token twice."""
    given = tokens(12)
    given["input_ids"][:, 4], given["input_ids"][0, 2] = end, end
    return given


@case
def clip_text_bare():  # 2 stands for the highest token, as in older files
    return hf.CLIPTextModel(clip_text(eos_token_id=2)), captions(18)


@case
def clip_text_projection():
    return hf.CLIPTextModelWithProjection(clip_text(eos_token_id=7, hidden_act="gelu")), captions(7)


def gpt2(**keys):
    return hf.GPT2Config(vocab_size=21, n_embd=6, n_head=2, n_layer=2, n_positions=10, bos_token_id=20, eos_token_id=20, **keys)


@case
def gpt2_bare():
    return hf.GPT2Model(gpt2(n_inner=5, scale_attn_by_inverse_layer_idx=True)), tokens(20)


@case
def gpt2_lm():
    given = tokens(20)
    return hf.GPT2LMHeadModel(gpt2()), given | dict(labels=some(given["input_ids"]))


def apart(model):
    """An output layer of its own although the config says tied: transformers 5 believes the file."""
    output = model.get_output_embeddings()
    output.weight = torch.nn.Parameter(0.02 * torch.randn_like(output.weight))
    return model


@case
def gpt2_apart():
    given = tokens(20)
    return apart(hf.GPT2LMHeadModel(gpt2())), given | dict(labels=some(given["input_ids"]))


@case
def gpt2_classify():
    return hf.GPT2ForSequenceClassification(gpt2(num_labels=3, pad_token_id=0)), ends(20) | dict(labels=torch.tensor([2, 0, 1]))


# ---- LLaMA and its kin ----

def ends(words, length=6):
    """Sentences that end with padding, begin with its token, which is not masked, and have it inside."""
    given = tokens(words, length=length)
    ids, mask = given["input_ids"], torch.ones_like(given["attention_mask"])
    mask[0, length - 2:] = 0
    ids[0, length - 2:], ids[1, :2], ids[2, 1] = 0, 0, 0
    return dict(input_ids=ids, attention_mask=mask)


def decoder(family, prefix, config, bare={}, lm={}, classify={}, **more):
    """A case for each head, with keys of their own; more: other language models, NAME=keys."""
    def add(name, head, given, keys):
        CASES[f"{family}-{name}"] = lambda: (getattr(hf, prefix + head)(config(**keys)), given())

    def sentence():
        given = tokens(17)
        return given | dict(labels=some(given["input_ids"]))

    def anywhere():
        return tokens(17) | dict(position_ids=torch.randint(0, 40, SEQUENCE))
    add("bare", "Model", anywhere, bare)
    add("classify", "ForSequenceClassification", lambda: ends(17) | dict(labels=torch.tensor([2, 0, 1])), dict(num_labels=3) | classify)
    add("lm", "ForCausalLM", sentence, lm)
    for name, keys in more.items():
        add(name, "ForCausalLM", sentence, keys)


def kin(prefix, **own):
    sizes = dict(vocab_size=17, hidden_size=8, intermediate_size=5, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
                 max_position_embeddings=12, pad_token_id=0, bos_token_id=1, eos_token_id=2)
    return lambda **keys: getattr(hf, prefix + "Config")(**sizes | own | keys)


def scaled(kind, theta=100.0, **keys):
    return dict(rope_parameters=dict(rope_type=kind, rope_theta=theta, **keys))


LLAMA3 = scaled("llama3", factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=8)
YARN = scaled("yarn", factor=3.0, original_max_position_embeddings=8, beta_fast=4.0, beta_slow=0.5)
LONG = scaled("longrope", short_factor=[1.0, 1.5, 2.0], long_factor=[1.5, 3.0, 5.0], original_max_position_embeddings=4)

decoder("llama", "Llama", kin("Llama"), bare=LLAMA3 | dict(head_dim=4),
        lm=dict(attention_bias=True, mlp_bias=True, hidden_act="gelu"), tied=dict(tie_word_embeddings=True, num_key_value_heads=4) | YARN,
        dynamic=scaled("dynamic", factor=2.0) | dict(max_position_embeddings=6, head_dim=4),
        classify=scaled("dynamic", factor=2.0) | dict(max_position_embeddings=4, head_dim=4))
decoder("mistral", "Mistral", kin("Mistral", sliding_window=3), bare=scaled("linear", factor=2.5), lm=dict(head_dim=6, num_key_value_heads=1),
        classify=LONG | dict(head_dim=6))
decoder("qwen2", "Qwen2", kin("Qwen2", use_sliding_window=True, sliding_window=3, max_window_layers=1),
        bare=YARN | dict(use_sliding_window=False), classify=dict(layer_types=["sliding_attention", "full_attention"]))
decoder("qwen3", "Qwen3", kin("Qwen3", head_dim=6), bare=dict(attention_bias=True) | LONG,
        classify=dict(use_sliding_window=True, sliding_window=3, max_window_layers=1))
decoder("phi3", "Phi3", kin("Phi3", original_max_position_embeddings=4, hidden_size=12, num_attention_heads=2, num_key_value_heads=1), bare=LONG, lm=dict(sliding_window=3),
        classify=dict(partial_rotary_factor=0.7), long=LONG | dict(original_max_position_embeddings=6))
decoder("gemma2", "Gemma2", kin("Gemma2", head_dim=6, query_pre_attn_scalar=5, sliding_window=3, attn_logit_softcapping=2.0,
                               final_logit_softcapping=3.0), lm=dict(attention_bias=True),
        bare=dict(attn_logit_softcapping=None), classify=dict(layer_types=["full_attention", "sliding_attention"]),
        untied=dict(tie_word_embeddings=False, final_logit_softcapping=None))


@case
def llama_apart():
    given = tokens(17)
    return apart(hf.LlamaForCausalLM(kin("Llama")(tie_word_embeddings=True))), given | dict(labels=some(given["input_ids"]))


@case
def llama_older():
    """A padding token of -1 is none to the head, and the last token to the embedding, whose row is not trained."""
    given = dict(input_ids=torch.tensor([[3, 16, 0, 5, 16], [16, 2, 7, 0, 0]]), labels=torch.tensor([1, 0]))
    return hf.LlamaForSequenceClassification(kin("Llama")(pad_token_id=-1)), given


def gpt_neox(**keys):
    sizes = dict(vocab_size=17, hidden_size=12, num_hidden_layers=2, num_attention_heads=2, intermediate_size=7, max_position_embeddings=12,
                 pad_token_id=0, bos_token_id=1, eos_token_id=2, rotary_pct=0.5)
    return hf.GPTNeoXConfig(**sizes | keys)


decoder("gpt_neox", "GPTNeoX", gpt_neox, bare=dict(use_parallel_residual=False, rotary_pct=0.75), classify=dict(attention_bias=False),
        tied=dict(tie_word_embeddings=True, hidden_act="gelu_new"))


def packed(model, config, words):
    """Sequences of 4 and 5 tokens, and of 1, 6 and 2: none sees another. transformers knows them by positions that begin
    anew."""
    def forward(self, segment_ids=None, **given):
        return model.forward(self, use_cache=False, **given)
    given = dict(input_ids=torch.randint(0, words, (2, 9)),
                 position_ids=torch.tensor([[*range(4), *range(5)], [0, *range(6), *range(2)]]),
                 segment_ids=torch.tensor([[0] * 4 + [1] * 5, [7] + [3] * 6 + [4] * 2]))
    following = some(torch.randint(0, words, (2, 9)))
    return type(model.__name__, (model,), dict(forward=forward))(config), given | dict(labels=following, shift_labels=following)


@case
def gpt2_packed():
    return packed(hf.GPT2LMHeadModel, gpt2(), 20)


@case
def mistral_packed():
    return packed(hf.MistralForCausalLM, kin("Mistral", sliding_window=3)(), 17)


# ---- weights stored in 16 bits: the directory's, and then computed with in float64 ----

@case
def bert_mlm_bf16():
    return *bert_mlm(), torch.bfloat16


@case
def gpt2_lm_bf16():
    return *gpt2_lm(), torch.bfloat16


@case
def gpt2_lm_f16():
    return *gpt2_lm(), torch.float16


@case
def llama_lm_bf16():
    return *CASES["llama-lm"](), torch.bfloat16


def make(folder):
    for name, build in CASES.items():
        if not golden.wanted(name):
            continue
        golden.seed(name)
        model, inputs, *stored = build()
        golden.save(folder / name, golden.enliven(model).to(*stored), inputs)
