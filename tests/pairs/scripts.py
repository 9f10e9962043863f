"""The scripts of this folder that have no extension, as modules."""
import importlib.machinery
import importlib.util
from pathlib import Path


def loaded(name):
    loader = importlib.machinery.SourceFileLoader(f"{name}_script", str(Path(__file__).resolve().parent / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
