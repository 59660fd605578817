"""Stand-ins for what SGLang imports at start but never calls when a text model runs on a CPU.

SGLang 0.5.23 imports GPU kernels (`triton`, `sgl_kernel`), image code (`torchvision`) and a notebook helper
(`IPython`) unconditionally. No wheel carries its CPU kernels, PyPI's torchvision does not load beside a CPU
build of torch, and triton alone is 1 GB.

A stand-in can be imported, subclassed and used as a decorator; calling one of its functions for real raises
`NotImplementedError`, so that a wrong path shows at once instead of giving wrong numbers.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

PACKAGES = frozenset({"triton", "torchvision", "IPython", "sgl_kernel"})
ABSENT = frozenset({"sgl_kernel.scalar_type"})
"""SGLang brings its own when this import fails."""
SUBMODULES = frozenset({"language", "runtime", "compiler", "transforms", "functional", "io", "ops"})
"""What the real packages load by themselves, so that it is used without an import of its own."""
DECORATORS = frozenset({"jit", "autotune", "heuristics"})
"""Names of triton's that are called when a kernel is defined, not when it runs."""
LOWER_CASE_CLASSES = frozenset({"constexpr", "dtype", "tensor"})
VERSIONS = {"triton": "3.9.0", "torchvision": "0.28.0"}
"""What is compared with at import; the releases that go with torch 2.13."""


def missing(name: str) -> Callable[..., Any]:
    """Make a function that says, when called, that `name` is not really there."""

    def call(*_args: Any, **_options: Any) -> Any:
        raise NotImplementedError(f"{name} is a stand-in: this path does not run on the CPU")

    return call


def _decorate(*args: Any, **options: Any) -> Any:
    """Act as `@jit` and as `@jit(...)`: give the function back unchanged."""
    if len(args) == 1 and callable(args[0]) and not options:
        return args[0]
    return lambda function: function


class _AnyMember(type):
    """Makes a stand-in class answer for its members too (`InterpolationMode.BICUBIC`)."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return f"{cls.__name__}.{name}"


class StandIn(ModuleType):
    """A module in which every public name exists."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        value: Any
        if name in SUBMODULES:
            value = importlib.import_module(full)
        elif name in DECORATORS:
            value = _decorate
        elif name[0].isupper() or name in LOWER_CASE_CLASSES:
            value = _AnyMember(name, (), {"__module__": self.__name__, "__init__": lambda *_a, **_k: None})
        else:
            value = missing(full)
        setattr(self, name, value)
        return value


class StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the stand-ins and any of their submodules. Meant to be asked last, so that real packages win."""

    def __init__(self) -> None:
        self._torch_asked = False
        self._torch_decided = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for the names in `PACKAGES` alone."""
        package = fullname.partition(".")[0]
        if package not in PACKAGES or fullname in ABSENT:
            return None
        if package == "triton" and not self._after_torch():
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> StandIn:
        """Make the module."""
        module = StandIn(spec.name)
        if spec.name in VERSIONS:
            module.__dict__["__version__"] = VERSIONS[spec.name]
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run."""

    def _after_torch(self) -> bool:
        """Let torch find out that there is no triton before SGLang is given the stand-in.

        torch asks while these modules load and remembers the answer; its compiler would believe a stand-in.
        """
        if not self._torch_asked:
            self._torch_asked = True
            importlib.import_module("torch._inductor.runtime.triton_compat")
            importlib.import_module("torch._dynamo.utils")
            importlib.import_module("torch.utils._triton").has_triton_package()
            self._torch_decided = True
        return self._torch_decided
