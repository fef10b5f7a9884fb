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


# ---- BERT ----

def bert(**keys):
    return hf.BertConfig(vocab_size=19, hidden_size=6, num_attention_heads=3, num_hidden_layers=2, intermediate_size=7,
                         max_position_embeddings=9, **keys)


def sentences():
    return tokens(19) | dict(token_type_ids=torch.randint(0, 2, (3, 6)))


@case
def bert_bare():
    return hf.BertModel(bert()), sentences()


@case
def bert_mlm():
    return hf.BertForMaskedLM(bert(hidden_act="gelu_new")), sentences() | dict(labels=some(torch.randint(0, 19, (3, 6))))


@case
def bert_classify():
    return hf.BertForSequenceClassification(bert(num_labels=4)), sentences() | dict(labels=torch.tensor([3, 0, 1]))


@case
def bert_regress():
    return hf.BertForSequenceClassification(bert(num_labels=1)), sentences() | dict(labels=torch.randn(3))


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


def make(folder):
    for name, build in CASES.items():
        golden.seed(name)
        model, inputs = build()
        golden.save(folder / name, golden.enliven(model), inputs)
