# SPDX-License-Identifier: GPL-3.0-or-later
"""Configs: from a file or a dictionary to a study of the library, in a form that can be pickled."""

from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ._c import CLONE, PACKAGE, Context, FileError, Handle, InputError

if TYPE_CHECKING:
    from pathlib import Path

Config = str | os.PathLike[str] | Mapping[str, Any]
Overrides = Mapping[str, Any] | Sequence[str] | None


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (hasattr(value, "tolist") and getattr(value, "ndim", 0) > 0)


def write_value(value: Any, indent: str = "") -> str:
    """A value in the syntax of libconfig."""
    inner = indent + "    "
    if isinstance(value, Mapping):
        return "{\n" + write_settings(value, inner) + indent + "}"
    if _is_list(value):
        items = list(value)
        plain = all(not isinstance(item, Mapping) and not _is_list(item) for item in items)
        if plain and any(_is_float(item) for item in items):
            items = [float(item) for item in items]  # numbers of an array are of one kind
        opening, closing = ("[", "]") if plain else ("(", ")")
        return opening + ", ".join(write_value(item, inner) for item in items) + closing
    if hasattr(value, "item"):
        value = value.item()  # a number of NumPy
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if -(2**31) <= value < 2**31 else f"{value}L"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InputError(f"{value}: a config has finite numbers only")
        written = repr(value)
        return written if any(mark in written for mark in ".e") else written + ".0"
    if isinstance(value, (str, os.PathLike)):
        quoted = os.fspath(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{quoted}"'
    raise InputError(f"{value!r}: expected a number, a text, a list or a dictionary")


def _is_float(value: Any) -> bool:
    return isinstance(value.item() if hasattr(value, "item") else value, float)


def write_settings(settings: Mapping[str, Any], indent: str = "") -> str:
    """The text of a config. None stands for a key that is not given."""
    return "".join(
        f"{indent}{key} = {write_value(value, indent)};\n" for key, value in settings.items() if value is not None
    )


def _override_texts(overrides: Overrides) -> tuple[str, ...]:
    if overrides is None:
        return ()
    if isinstance(overrides, Mapping):
        return tuple(f"{key}={write_value(value)}" for key, value in overrides.items())
    if isinstance(overrides, str):
        raise InputError("overrides: expected a dictionary, or a list of 'key=value'")
    return tuple(overrides)


def config_path(name: str) -> Path:
    """The path of a config that comes with Shoal.

    Parameters
    ----------
    name : str
        For instance ``"hd_164922"`` or ``"hd_164922.cfg"``.
    """
    from pathlib import Path  # which is slow to import

    file = name if name.endswith(".cfg") else name + ".cfg"
    for folder in (PACKAGE, CLONE):
        path = Path(folder, "configs", file)
        if path.is_file():
            return path
    raise FileError(f"{file}: no such config comes with shoal")


def identity(path: str) -> tuple[int, int, int] | None:
    """What is other in a file that was put in the place of another one."""
    if not os.path.exists(path):
        return None
    found = os.stat(path)
    return found.st_dev, found.st_ino, found.st_mtime_ns


class Recipe(NamedTuple):
    """What a study is made of. It holds the text, so that it stays the same if the file changes."""

    text: bytes
    path: str
    overrides: tuple[str, ...]
    allow_plugins: bool

    def load(self, context: Context) -> Handle:
        """The study; the caller holds the context's lock."""
        from ._c import C

        if self.allow_plugins:
            context.check(C.shoal_context_allow_plugins(context.address, 1))
        overrides = (ctypes.c_char_p * len(self.overrides))(*(word.encode() for word in self.overrides))
        return context.make(
            "shoal_study_parse",
            "shoal_study_destroy",
            context.address,
            self.text,
            os.fsencode(self.path),
            len(self.overrides),
            overrides,
            keeps=context,
        )


def make_recipe(config: Config, overrides: Overrides, allow_plugins: bool) -> Recipe:
    if isinstance(config, Mapping):
        text, path = write_settings(config).encode(), os.path.abspath("dict")
    else:
        path = os.path.abspath(os.fspath(config))
        try:
            with open(path, "rb") as file:
                text = file.read()
        except OSError as error:
            raise FileError(f"{os.fspath(config)}: {error.strerror}") from None
    return Recipe(text, path, _override_texts(overrides), allow_plugins)
