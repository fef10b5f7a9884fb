"""Makes golden files again: python make.py [MODULE...] [--only NAME] [--into DIRECTORY]; without a name, all of them."""
import argparse
import importlib
import pathlib
import sys
import warnings

import torch
from safetensors import safe_open

import case

# module: folder below tests/golden. Modules have families() of cases, or make(folder).
MODULES = {"ops": "ops", "vision_ops": "ops", "nn": "nn", "blocks": "nn", "optim": "train", "positions": "attention", "scores": "attention",
           "attention": "attention", "linear": "attention", "lessons": "lessons", "vectors": "model", "recurrent": "model",
           "encdec": "model", "handwriting": "model", "forecaster": "model",
           "models": "model", "seq2seq": "model",
           "generate": "model",  # translates with those of seq2seq.py too
           "generate_options": "model", "generate_lm": "model", "generate_kin": "model", "rope": "model", "moses": "text", "bleu": "text", "chats": "text", "report": "train",
           "tags": "task", "questions": "task", "pairs": "task", "language": "task",
           "weights": "task", "replaced": "task",
           "streams": "task",  # of models that recurrent.py makes
           "curves": "task",  # of models that models.py and replaced.py make
           "t5": "model", "rouge": "text", "text2text": "task",
           "score": "model", "lora": "lora", "midi": "io", "images": "image", "vision": "model", "non_local": "model", "resized": "task",
           "detection": "model", "diffusion": "model", "mixing": "model", "performer": "model", "reformer": "model", "perceiver": "model", "sparse": "model",
           "picture_models": "task", "assignment": "kernel", "detections": "data", "hat": "task", "schedulers": "diffusion"}

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("modules", metavar="MODULE", nargs="*", help=" ".join(MODULES))
parser.add_argument("--into", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent / "golden")
parser.add_argument("--only", metavar="NAME", action="append", default=[],
                    help="only the directories of models, and the files of cases, with such a name: bert-classify, 'bert-*'; may be given several times")
arguments = parser.parse_args()
case.ONLY = arguments.only
for name in arguments.modules:
    if name not in MODULES:
        parser.error(f"{name} is not one of {' '.join(MODULES)}")

torch.set_num_threads(1)
warnings.filterwarnings("ignore", message="reduction: 'mean' divides")  # kl_div's, which is what heed's does
for name in arguments.modules or MODULES:
    module = importlib.import_module(name)
    folder = arguments.into / MODULES[name]
    folder.mkdir(parents=True, exist_ok=True)
    if hasattr(module, "make"):
        try:
            module.make(folder)
        except case.NotFinite as reason:
            sys.exit(f"make.py: {reason}")
        continue
    for family in module.families():
        if not case.wanted(family.name):
            continue
        path = folder / f"{family.name}.safetensors"
        family.write(path)
        with safe_open(path, "numpy") as written:  # the reference reader agrees that it is a safetensors file
            assert set(written.keys()) == set(family.tensors)
        print(f"{folder.name}/{path.name}: {len(family.cases)} cases, {path.stat().st_size} bytes")
if not case.WRITTEN and arguments.only:
    parser.error(f"--only {' '.join(arguments.only)}: there is no such case in {' '.join(arguments.modules or ['any module'])}")
