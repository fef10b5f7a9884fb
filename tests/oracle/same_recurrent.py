"""same_models.py for recurrent networks and encoder-decoders: python same_recurrent.py HEED [FAMILY...] [--cases N] [--seed S].

Draws sizes, keys, a head, masks, states and lengths, of torch.nn's modules in recurrent.py, encdec.py,
forecaster.py and handwriting.py."""
import json
import sys

import torch

import drawn
import encdec
import forecaster
import handwriting
import recurrent
from same_mixing import AsTransformers


def mask_of(r, rows, length):
    """Padding on the right, on the left, anywhere, or none; a row has a token at least."""
    mask, kind = torch.ones(rows, length, dtype=torch.long), r.choice(["none", "right", "left", "holes"])
    for row in range(rows):
        hidden = r.randint(0, length - 1)
        if kind == "holes":
            mask[row, r.sample(range(length), hidden)] = 0
        elif kind != "none" and hidden:
            mask[row, slice(length - hidden, None) if kind == "right" else slice(0, hidden)] = 0
    return mask if kind != "none" or r.random() < 0.5 else None


def ids_of(r, words, mask, rows, length, padding):
    ids = torch.randint(0, words, (rows, length))
    return ids if mask is None or padding is None else ids.masked_fill(mask == 0, padding)


def labels_of(outputs, shape):
    labels = torch.randint(0, outputs, shape)
    labels[torch.rand(shape) < 0.2] = -100
    labels.view(-1)[0] = 0
    return labels


def draw_recurrent(r, kind):
    head = r.choice(list(recurrent.ARCHITECTURES))
    words, width, units, layers, outputs = r.randint(5, 40), r.randint(1, 20), r.randint(2, 40), r.randint(1, 4), r.randint(2, 7)
    rows, length = r.randint(1, 7), r.randint(2, 15)
    keys = dict(bias=r.random() < 0.7)
    if head != "lm":
        keys["bidirectional"] = r.random() < 0.5
    if kind == "lstm" and r.random() < 0.4:
        keys["proj_size"] = r.randint(1, units - 1)
    if kind == "rnn":
        keys["nonlinearity"] = r.choice(["tanh", "relu"])
    tied = head == "lm" and r.random() < 0.4
    if tied:
        width = keys.get("proj_size") or units
    padding, pooling = r.choice([None, 0, 3]), r.choice(["last", "mean", "max"])
    problem = r.choice(["regression", "multi_label_classification", None, None]) if head == "classify" else None
    if problem == "regression" and r.random() < 0.5:
        outputs = 1
    count = {"lm": words, "bare": None}.get(head, outputs)
    model = rough(recurrent.Recurrent(kind, words, width, units, layers, head, count, pooling, tied, padding, **keys), r)
    mask = mask_of(r, rows, length)
    if head == "classify" and mask is None:  # the oracle's pooling wants one
        mask = torch.ones(rows, length, dtype=torch.long)
    given = dict(input_ids=ids_of(r, words, mask, rows, length, padding)) | ({} if mask is None else dict(attention_mask=mask))
    if head == "classify":
        given["labels"] = torch.randint(0, outputs, (rows,))
        if problem:
            model.problem = problem
            given["labels"] = torch.randn(rows, outputs) if problem == "regression" else torch.randint(0, 2, (rows, outputs)).float()
    elif head in ("lm", "tag"):
        given["labels"] = labels_of(count, (rows, length))
        given["labels"].view(-1)[1] = 1
    if head == "lm" and r.random() < 0.4:
        given["shift_labels"] = given.pop("labels")
    if head == "lm" and r.random() < 0.4:
        given["state"] = torch.randn(layers, rows, keys.get("proj_size") or units)
        if kind == "lstm":
            given["cell"] = torch.randn(layers, rows, units)
    if head == "lm" and mask is None and r.random() < 0.4:
        given["teacher_forcing"] = torch.randint(0, 2, (rows, length))
    config = dict(model_type=f"heed-{kind}", architectures=[kind.upper() + recurrent.ARCHITECTURES[head]], vocab_size=words,
                  embedding_size=width, hidden_size=units, num_layers=layers, dropout=0.3, pad_token_id=padding) | keys
    if head == "lm":
        config["tie_word_embeddings"] = tied
    if head == "classify":
        config |= dict(pooling=pooling, problem_type=problem)
    if head in ("classify", "tag"):
        config["num_labels"] = outputs
    return model, config, given


def draw_translator(r, kind):
    words, targets = r.randint(6, 40), r.choice([0, r.randint(6, 40)])
    config = encdec.SHARED | dict(vocab_size=words, decoder_vocab_size=targets, embedding_size=r.randint(1, 20), hidden_size=r.randint(1, 30),
                                  reverse_source=r.random() < 0.4, pad_token_id=r.randint(0, 3), decoder_start_token_id=r.randint(0, 5),
                                  eos_token_id=r.randint(0, 3))
    if kind in ("sutskever", "luong"):
        config["num_layers"] = r.randint(1, 3)
    if kind in ("cho", "bahdanau"):
        config["maxout_size"] = r.choice([0, r.randint(1, 20)])
    if kind == "bahdanau":
        config["alignment_size"] = r.choice([0, r.randint(1, 20)])
    if kind == "luong":
        config |= dict(score=r.choice(["dot", "general", "concat"]), attention=r.choice(["global", "local-m", "local-p"]), window=r.randint(1, 5),
                       input_feeding=r.random() < 0.5)
    model = rough(encdec.CLASSES[kind](config), r)
    rows, length, steps = r.randint(1, 6), r.randint(1, 13), r.randint(1, 15)
    mask = mask_of(r, rows, length)
    given = dict(input_ids=ids_of(r, words, mask, rows, length, config["pad_token_id"]), labels=labels_of(targets or words, (rows, steps)))
    if mask is not None:
        given["attention_mask"] = mask
    if r.random() < 0.3:
        given["teacher_forcing"] = torch.randint(0, 2, (rows, steps))
    return model, dict(model_type=f"heed-{kind}", architectures=[f"{kind.title()}ForTranslation"]) | config, given


def rough(model, r):
    scale = r.choice([0.2, 0.5, 0.8])
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(scale * torch.randn_like(p))
    return model


def draw_forecaster(r, _):
    kind, context, horizon, targets = r.choice(["rnn", "gru", "lstm", "linear", "mlp"]), r.randint(2, 20), r.randint(1, 12), r.randint(1, 4)
    features, known, rows = r.choice([0, r.randint(1, 4)]), r.choice([0, r.randint(1, 4)]), r.randint(1, 6)
    quantiles = sorted(r.sample([0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95], r.randint(1, 5))) if r.random() < 0.5 else []
    keys = dict(quantiles=quantiles, loss=r.choice(["mse", "mae"]), normalize=r.choice(["last", "window", "none"]), units=r.randint(1, 20),
                layers=r.randint(1, 3), decoder=r.randint(1, 9), hidden=tuple(r.randint(1, 12) for _ in range(r.randint(1, 3) if kind == "mlp" else 0)),
                highway=r.choice([0, r.randint(1, context)]) if kind in forecaster.KINDS else 0)
    model = rough(forecaster.Forecaster(kind, context, horizon, targets, features, known, **keys), r)
    given = dict(past_values=3 * torch.randn(rows, context, targets) + 2)
    if features:
        given["past_features"] = torch.randn(rows, context, features)
    if known:
        given |= dict(past_time_features=torch.randn(rows, context, known), future_time_features=torch.randn(rows, horizon, known))
    if r.random() < 0.8:
        given["future_values"] = torch.randn(rows, horizon, targets)
    return model, dict(model_type="heed-forecaster", architectures=["HeedForecaster"], kind=kind, context_length=context,
                       prediction_length=horizon, num_targets=targets, num_features=features, num_time_features=known, quantiles=quantiles,
                       loss=keys["loss"], normalize=keys["normalize"], hidden_size=keys["units"], num_layers=keys["layers"],
                       decoder_size=keys["decoder"], highway_length=keys["highway"],
                       hidden_sizes=list(keys["hidden"]), activation="tanh", dropout=0.2), given


def draw_handwriting(r, _):
    units, layers, mixtures, rows, steps = r.randint(1, 16), r.randint(1, 4), r.randint(1, 8), r.randint(1, 5), r.randint(2, 12)
    characters, windows = ("", 0) if r.random() < 0.5 else ("01é23日x"[:r.randint(1, 7)], r.randint(1, 5))
    model = rough(handwriting.Handwriting(units, layers, mixtures, windows, len(characters), 0.5), r)
    pen = torch.randint(0, 2, (rows, steps))
    given = dict(strokes=torch.cat([2 * torch.randn(rows, steps, 2), pen[..., None].float()], -1))
    if r.random() < 0.8:
        pen[torch.rand(pen.shape) < 0.2] = -100
        pen[0, 1] = 1
        given["labels"] = pen.int()
    if characters:
        given["text"] = torch.randint(1, len(characters) + 1, (rows, r.randint(1, 6))).int()
    if r.random() < 0.4:
        given |= dict(state=torch.randn(layers, rows, units), cell=torch.randn(layers, rows, units))
        if characters:
            given |= dict(kappa=torch.rand(rows, windows), window=torch.rand(rows, len(characters)))
    config = dict(model_type="heed-handwriting", architectures=["HandwritingFor" + ("Synthesis" if characters else "Prediction")],
                  hidden_size=units, num_layers=layers, num_mixtures=mixtures, initializer_range=0.075)
    return model, config | (dict(num_windows=windows, window_pace=0.5, characters=characters) if characters else {}), given


FAMILIES = {kind: draw_recurrent for kind in recurrent.KINDS} | {kind: draw_translator for kind in encdec.CLASSES} | {
    "forecaster": draw_forecaster, "handwriting": draw_handwriting}


def case(family, r, folder):
    model, config, given = FAMILIES[family](r, family)
    (folder / "config.json").write_text(json.dumps(config))
    drawn.save_weights(model, folder)
    return AsTransformers(model.eval()), given, json.dumps(config)


if __name__ == "__main__":
    sys.exit(drawn.run(__doc__, FAMILIES, case))
