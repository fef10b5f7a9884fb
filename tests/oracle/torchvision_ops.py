"""Imported before transformers and timm where torchvision has no compiled operators: names them, so that its Python part loads."""
import importlib.util
import pathlib
import re

import torch

try:
    import torchvision  # noqa: F401, with its operators
except Exception:
    LIBRARY = torch.library.Library("torchvision", "DEF")
    found = importlib.util.find_spec("torchvision")
    source = pathlib.Path(found.submodule_search_locations[0], "_meta_registrations.py").read_text() if found else ""
    for name in sorted(set(re.findall(r'(?:register_meta\("|torchvision::)([a-z_0-9]+)', source))):
        LIBRARY.define(f"{name}(Tensor x) -> Tensor")
