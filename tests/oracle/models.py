"""Golden directories of transformers' classes, one function for each: the class and its config, and inputs."""
import torch
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

def gpt2(**keys):
    return hf.GPT2Config(vocab_size=21, n_embd=6, n_head=2, n_layer=2, n_positions=10, bos_token_id=20, eos_token_id=20, **keys)


@case
def gpt2_bare():
    return hf.GPT2Model(gpt2(n_inner=5, scale_attn_by_inverse_layer_idx=True)), tokens(20)


@case
def gpt2_lm():
    given = tokens(20)
    return hf.GPT2LMHeadModel(gpt2()), given | dict(labels=some(given["input_ids"]))


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


def make(folder):
    for name, build in CASES.items():
        golden.seed(name)
        model, inputs, *stored = build()
        golden.save(folder / name, golden.enliven(model).to(*stored), inputs)
