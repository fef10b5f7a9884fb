"""Precision, recall, F1 and confusion matrices, and R^2, MAE and RMSE, by scikit-learn: report.json."""
import json
import warnings

import numpy as np
from sklearn.metrics import (classification_report, confusion_matrix, mean_absolute_error, r2_score,
                             root_mean_squared_error)


def classes(name, classes, truth, predicted):
    truth, predicted = np.asarray(truth), np.asarray(predicted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a class was never predicted counts as 0, which is what is wanted
        report = classification_report(truth, predicted, output_dict=True)
    matrix = confusion_matrix(truth, predicted, labels=range(classes))
    number = lambda d: {"precision": d["precision"], "recall": d["recall"], "f1": d["f1-score"], "support": int(d["support"])}
    return {"name": name, "classes": classes, "truth": truth.tolist(), "predicted": predicted.tolist(),
            "accuracy": report["accuracy"], "confusion": matrix.tolist(), "macro": number(report["macro avg"]),
            "weighted": number(report["weighted avg"]),
            "scores": {k: number(v) for k, v in report.items() if k.isdigit()}}


def outputs(name, truth, predicted):
    truth, predicted = np.float32(truth), np.float32(predicted)
    exact = truth.astype(np.float64), predicted.astype(np.float64)
    return {"name": name, "outputs": truth.shape[1], "truth": truth.ravel().tolist(),
            "predicted": predicted.ravel().tolist(), "r2": r2_score(*exact, multioutput="raw_values").tolist(),
            "mae": mean_absolute_error(*exact, multioutput="raw_values").tolist(),
            "rmse": root_mean_squared_error(*exact, multioutput="raw_values").tolist()}


def make(folder):
    random = np.random.default_rng(11)
    truth = random.integers(0, 5, 60)
    noisy = np.where(random.random(60) < 0.6, truth, random.integers(0, 5, 60))
    skewed = np.minimum(random.geometric(0.4, 80) - 1, 6)
    y = random.normal(0, 1, (30, 3)) * [1, 100, 0] + [0, 1000, 7]
    cases = {
        "classes": [
            classes("five classes", 5, truth, noisy),
            classes("two classes", 2, truth % 2, noisy % 2),
            classes("all right", 5, truth, truth),
            classes("all wrong", 3, [0, 0, 1, 2], [1, 2, 0, 1]),
            classes("one is never predicted", 3, [0, 1, 2, 2, 1], [0, 1, 1, 0, 1]),
            classes("one is predicted and never true", 4, [0, 1, 1, 0], [3, 1, 1, 0]),
            classes("two do not occur at all", 5, [0, 2, 2, 4, 0], [0, 2, 4, 4, 2]),
            classes("one class alone", 2, [1, 1, 1], [1, 1, 1]),
            classes("skewed", 8, skewed, np.where(random.random(80) < 0.5, skewed, random.integers(0, 7, 80))),
        ],
        "outputs": [
            outputs("three, one constant", y, y + random.normal(0, 0.3, y.shape)),
            outputs("met exactly, constant too", y, y),
            outputs("worse than the mean", [[1.0], [2.0], [3.0]], [[3.0], [1.0], [9.5]]),
        ],
    }
    (folder / "report.json").write_text(json.dumps(cases, separators=(",", ":")) + "\n")
    print(f"train/report.json: {len(cases['classes'])} and {len(cases['outputs'])} cases")
