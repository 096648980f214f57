# SPDX-License-Identifier: GPL-3.0-or-later
"""The program: `python -m shoal run study.cfg`."""

import os
import sys

from ._c import program


def main() -> None:
    """Become the program `shoal`, with the arguments of this process."""
    path = program()
    try:
        os.execv(path, ["shoal", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"shoal: {path}: {error.strerror}")


if __name__ == "__main__":
    main()
