"""The model files that the page may open and save: those of one folder, and nothing outside it."""

from __future__ import annotations

import os
from pathlib import Path

from chetaev.core.errors import ModelError
from chetaev.core.support.files import write_text
from chetaev.core.support.text import fault
from chetaev.io.reading import LARGEST_FILE, read_text

_MOST_FILES = 500
"""Largest number of files that are listed; a longer list is not usable."""
_DEEPEST = 3
"""Number of levels of folders that are searched for files."""


class OutsideError(Exception):
    """A path outside the folder, or not that of a model file: status 403."""


class MissingError(Exception):
    """A file that does not exist: status 404."""


class Folder:
    """A folder with model files. Names are relative to it; links are followed and must end inside."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.root = Path(os.path.realpath(path))

    def files(self) -> list[str]:
        """Return the names of the model files, including those in subfolders."""
        found: list[str] = []
        for here, folders, names in os.walk(self.root):
            inner = Path(here).relative_to(self.root)
            folders[:] = sorted(name for name in folders if not name.startswith(".")) if len(inner.parts) < _DEEPEST else []
            for name in sorted(names):
                path = (inner / name).as_posix()
                if name.endswith(".toml") and not name.startswith(".") and self._is_ours(path):
                    found.append(path)
                if len(found) == _MOST_FILES:
                    return found
        return found

    def open(self, name: str) -> str:
        """Return the text of a file."""
        path = self.path(name)
        if not path.is_file():
            raise MissingError(f"there is no file {name}.")
        return read_text(path)

    def save(self, name: str, text: str) -> bool:
        """Write a file atomically; return whether it replaced one. Its folder must exist."""
        path = self.path(name)
        if len(text.encode("utf-8", "surrogatepass")) > LARGEST_FILE:
            raise ModelError(f"the text has more than {LARGEST_FILE} bytes, the largest size allowed.", where=name)
        if path.exists() and not path.is_file():
            raise OutsideError(f"{name} is not a file.")
        if not path.parent.is_dir():
            raise MissingError("there is no such folder.")
        existed = path.exists()
        try:
            write_text(path, text)
        except OSError as cause:
            raise ModelError(f"the file cannot be written: {cause.strerror or cause}.", where=name, hint="another name") from None
        except UnicodeEncodeError:
            raise ModelError("the text contains a lone surrogate, which cannot be written to a file.", where=name) from None
        return existed

    def path(self, name: str) -> Path:
        """Return the path of a name, with links resolved.

        Raises:
            OutsideError: If it is outside the folder, or not the name of a model file.
        """
        if not name or fault(name) or "\\" in name or name.startswith(("/", "~")) or Path(name).is_absolute():
            raise OutsideError("this is not the name of a file in the folder.")
        if ".." in name.split("/"):
            raise OutsideError("this file is outside the folder.")
        if not name.endswith(".toml") or Path(name).name.startswith("."):
            raise OutsideError("a model file has the extension .toml.")
        try:
            found = Path(os.path.realpath(self.root / name))
        except (OSError, ValueError):
            raise OutsideError("this is not the name of a file in the folder.") from None
        if self.root not in found.parents or found.suffix != ".toml":
            raise OutsideError("this file is outside the folder.")
        try:
            os.stat(found)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            pass  # a new file, or one whose fault opening or writing reports
        except OSError:  # such as a name that is too long for the system
            raise OutsideError("this is not the name of a file in the folder.") from None
        return found

    def _is_ours(self, name: str) -> bool:
        try:
            return self.path(name).is_file()
        except OutsideError:
            return False
