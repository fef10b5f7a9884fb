"""COCO's measures of detections by pycocotools 2.0.11: writes data/detections*.json, random annotations and results with what they give.

    python detections.py LIBHEED [--cases N] [--seed S]    heed beside pycocotools, on draws that no golden file has

LIBHEED is libheed.so. The drawn files have crowds, ties, areas of their own, boxes outside of their picture and of no size, an annotation whose id is 0,
pictures without truths, categories without truths, unsorted ids with gaps, and more detections of a class in a picture than are counted. Every figure must
have the same bits."""
import argparse
import contextlib
import copy
import ctypes as c
import io
import json
import pathlib
import random
import sys
import tempfile

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval


def number(r, low, high):
    return r.randint(int(low), int(high)) if r.random() < 0.3 else round(r.uniform(low, high), r.choice([1, 2, 15]))


def box(r):
    side = r.choice([20, 60, 250])
    return [number(r, -10, 380), number(r, -10, 380), number(r, 0 if r.random() < 0.05 else 2, side), number(r, 2, side)]


def near(r, truth):
    by = r.choice([0, 0.03, 0.1, 0.3])
    x, y, w, h = (float(v) for v in truth)
    return [x + w * r.uniform(-by, by), y + h * r.uniform(-by, by), w * (1 + r.uniform(-by, by)), h * (1 + r.uniform(-by, by))]


def draw(seed, pictures=None):
    r = random.Random(seed)
    ids = r.sample(range(1000), pictures or r.randint(1, 40))
    kinds = r.sample(range(1, 95), r.randint(1, 7))
    score = r.choice([lambda: r.random(), lambda: r.randint(1, 9) / 10, lambda: round(r.random(), 2)])
    crowded, often = r.choice([0, 0.1, 0.5]), r.choice([1, 4, 12])
    annotations, results, numbers = [], [], r.sample(range(1, 100000), 4000)
    for i in ids:
        for _ in range(r.choice([0, 1, often, 3 * often])):
            b = box(r)
            annotations.append({"id": numbers.pop(), "image_id": i, "category_id": r.choice(kinds[: max(1, len(kinds) - 1)]), "bbox": b,
                                "area": r.choice([b[2] * b[3], b[2] * b[3] * 0.6, r.choice([1024, 9216])]), "iscrowd": int(r.random() < crowded)})
    if annotations and r.random() < 0.5:
        r.choice(annotations)["id"] = 0
    for a in annotations:
        for _ in range(r.choice([0, 1, 1, 2])):
            results.append({"image_id": a["image_id"], "category_id": a["category_id"] if r.random() < 0.9 else r.choice(kinds),
                            "bbox": near(r, a["bbox"]), "score": score()})
    for i in ids:
        for _ in range(r.choice([0, 1, 5])):
            results.append({"image_id": i, "category_id": r.choice(kinds), "bbox": box(r), "score": score()})
    if r.random() < 0.3 and annotations:  # more than are counted
        a = r.choice(annotations)
        results += [{"image_id": a["image_id"], "category_id": a["category_id"], "bbox": near(r, a["bbox"]), "score": score()} for _ in range(130)]
    if not results:
        results.append({"image_id": ids[0], "category_id": kinds[0], "bbox": [1, 2, 3, 4], "score": 0.5})
    r.shuffle(annotations)
    r.shuffle(results)
    listed = {"info": {"description": "drawn"}, "licenses": [], "images": [{"id": i, "file_name": f"{i:04}.png", "width": 400, "height": 300} for i in ids],
              "annotations": annotations, "categories": [{"id": k, "name": f"kind {k}", "supercategory": "drawn"} for k in kinds]}
    return listed, results


def measure(listed, results):
    """The twelve figures and the AP of each category, by its id."""
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO()
        truth.dataset = copy.deepcopy(listed)
        truth.createIndex()
        evaluation = COCOeval(truth, truth.loadRes(copy.deepcopy(results)), "bbox")
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    precision = evaluation.eval["precision"][:, :, :, 0, 2]
    ap = {}
    for k, category in enumerate(evaluation.params.catIds):
        of = precision[:, :, k]
        ap[str(category)] = float(np.mean(of[of > -1])) if (of > -1).any() else -1.0
    return [float(v) for v in evaluation.stats], ap


def make(folder):
    for name, seed, pictures in (("detections", 277, 6), ("detections-crowds", 14, 8)):
        listed, results = draw(seed, pictures)
        figures, ap = measure(listed, results)
        (folder / f"{name}.json").write_text(json.dumps(listed) + "\n")
        (folder / f"{name}-found.json").write_text(json.dumps(results) + "\n")
        (folder / f"{name}-figures.json").write_text(json.dumps({"figures": figures, "ap": ap}) + "\n")
        print(f"data/{name}.json: {len(listed['annotations'])} truths, {len(results)} detections")


# ---- heed ----

class Options(c.Structure):
    _fields_ = [("classes", c.c_void_p), ("pictures", c.c_char_p), ("count", c.c_int64), ("seed", c.c_uint64), ("optional", c.c_bool), ("unseen", c.c_bool)]


class Score(c.Structure):
    _fields_ = [("figure", c.c_double * 12), ("ap", c.POINTER(c.c_double))]


def library(path):
    lib = c.CDLL(path)
    for name in ("heed_open", "heed_object_set_open", "heed_detections_read"):
        getattr(lib, name).restype = c.c_void_p
    for name in ("heed_object_set_classes", "heed_object_set_category"):
        getattr(lib, name).restype = c.c_int64
    lib.heed_message.restype = c.c_char_p
    return lib


def heed(lib, cx, listed, results):
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder, name) for name in ("annotations.json", "results.json")]
        for path, what in zip(paths, (listed, results)):
            path.write_text(json.dumps(what))
        n, score = c.c_int64(), Score()
        data = c.c_void_p(lib.heed_object_set_open(cx, str(paths[0]).encode(), b"val", c.byref(Options(unseen=True))))
        found = c.c_void_p(lib.heed_detections_read(cx, data, str(paths[1]).encode(), c.byref(n)))
        if not lib.heed_coco_measure(cx, data, None, c.c_int64(0), found, n, c.byref(score)):
            sys.exit(lib.heed_message(cx).decode())
        ap = {str(lib.heed_object_set_category(data, c.c_int32(k))): score.ap[k] for k in range(lib.heed_object_set_classes(data))}
        figures = list(score.figure)
        lib.heed_coco_score_free(cx, c.byref(score))
        lib.heed_mem_free(cx, found)
        lib.heed_object_set_free(cx, data)
    return figures, ap


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", metavar="LIBHEED")
    parser.add_argument("--cases", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1000)
    arguments = parser.parse_args()
    lib = library(arguments.library)
    cx = c.c_void_p(lib.heed_open(None))
    different = 0
    for seed in range(arguments.seed, arguments.seed + arguments.cases):
        listed, results = draw(seed)
        wanted, got = measure(listed, results), heed(lib, cx, listed, results)
        if wanted != got:
            different += 1
            print(f"seed {seed}:\n  pycocotools {wanted}\n  heed        {got}")
    print(f"{arguments.cases} draws, {different} of them different")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
