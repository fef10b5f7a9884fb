"""Makes every golden file again: python make.py [directory]."""
import pathlib
import sys
import warnings

import torch
from safetensors import safe_open

import attention
import bleu
import blocks
import generate
import lessons
import moses
import nn
import ops
import optim
import positions
import scores
import seq2seq

torch.set_num_threads(1)
warnings.filterwarnings("ignore", message="reduction: 'mean' divides")  # kl_div's, which is what heed's does
golden = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent.parent / "golden"
for folder, module in (("ops", ops), ("nn", nn), ("nn", blocks), ("train", optim), ("attention", positions),
                       ("attention", scores), ("attention", attention)):
    (golden / folder).mkdir(parents=True, exist_ok=True)
    for family in module.families():
        path = golden / folder / f"{family.name}.safetensors"
        family.write(path)
        with safe_open(path, "numpy") as written:  # the reference reader agrees that it is a safetensors file
            assert set(written.keys()) == set(family.tensors)
        print(f"{folder}/{path.name}: {len(family.cases)} cases, {path.stat().st_size} bytes")
lessons.make(golden / "lessons")
seq2seq.make(golden / "model")
generate.make(golden / "model")  # translates with those of seq2seq.py too
moses.make(golden / "text")
bleu.make(golden / "text")
