"""Which peers are there, and how they are made ready to be imported."""
import importlib.util
import os
import sys


def missing(package):
    if importlib.util.find_spec(package):
        return False
    print(f"  {package} is not installed: left out")
    return True


def torchvision():
    """Where its compiled operators do not fit this torch, their names do for what is used here. transformers imports it too."""
    try:
        import torchvision
    except RuntimeError:
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "oracle"))
        import torchvision_ops  # noqa: F401
        import torchvision
    return torchvision


def prepare():
    """To be called once in every process, before transformers looks for torchvision."""
    if importlib.util.find_spec("torchvision"):
        torchvision()
