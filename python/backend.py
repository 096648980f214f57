# SPDX-License-Identifier: GPL-3.0-or-later
"""The build of the Python package, as pip asks for it (PEP 517): the Makefile compiles, this file packs a wheel.

    pip install .                     builds the kernels of this machine in build/, or those that KERNEL_ARCHS names
    python3 python/backend.py BUILD   packs BUILD/shoal-VERSION-py3-none-PLATFORM.whl (`make wheel`)

A wheel holds the package, and in shoal/lib the library, the program, and all libraries that they need but those of the
C library. It fits every version of Python 3, since the package calls the library through ctypes.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
# What belongs to the C library and has to come from the machine that runs it.
OF_LIBC = re.compile(
    r"(linux-vdso|ld-linux[^.]*|libc|libm|libmvec|libdl|libpthread|librt|libresolv|libanl|libutil)\.so"
)


def version() -> str:
    found = re.search(r'#define SHOAL_VERSION "(.*)"', (ROOT / "core/shoal.h").read_text())
    assert found
    return found[1]


def metadata() -> str:
    return f"""Metadata-Version: 2.1
Name: shoal
Version: {version()}
Summary: Ensembles of gravitational few-body systems, and likelihoods of what is measured of them
License: GPL-3.0-or-later
Requires-Python: >=3.10
Requires-Dist: numpy>=1.22
Provides-Extra: all
Requires-Dist: pandas; extra == 'all'
Requires-Dist: xarray; extra == 'all'
Requires-Dist: matplotlib; extra == 'all'
Requires-Dist: tqdm; extra == 'all'
Requires-Dist: rebound; extra == 'all'
Description-Content-Type: text/markdown

{(ROOT / "docs/python.md").read_text()}"""


def output_of(*command: str | Path) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def gather(build: Path, folder: Path) -> str:
    """Put the library, the program and what they need into a folder. Returns the version of glibc that it takes."""
    for name in ("libshoal.so", "shoal"):
        shutil.copy2(build / "python" / name, folder / name)
    for line in output_of("ldd", folder / "libshoal.so").splitlines():
        words = line.split()
        if "=>" in words and words[2].startswith("/") and not OF_LIBC.match(words[0]):
            shutil.copy(words[2], folder / words[0])
    for file in folder.iterdir():
        file.chmod(0o755)
        subprocess.run(["strip", "--strip-unneeded", file], check=True)
    needed = output_of("readelf", "-V", *folder.iterdir())
    return str(max(int(minor) for minor in re.findall(r"GLIBC_2\.(\d+)", needed)))


def pack(build: Path, output: Path, portable: bool) -> str:
    """Make the wheel of what is built, and return its name."""
    with tempfile.TemporaryDirectory() as scratch:
        stage = Path(scratch)
        package = shutil.copytree(
            ROOT / "python/shoal", stage / "shoal", ignore=shutil.ignore_patterns("__pycache__", "*.pyc", "lib")
        )
        shutil.copytree(ROOT / "configs", package / "configs")
        (package / "lib").mkdir()
        glibc = gather(build, package / "lib")
        system = f"manylinux_2_{glibc}" if portable else "linux"
        tag = f"py3-none-{system}_{platform.machine()}"
        info = stage / f"shoal-{version()}.dist-info"
        info.mkdir()
        shutil.copy(ROOT / "LICENSE", info)
        (info / "METADATA").write_text(metadata())
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: shoal\nRoot-Is-Purelib: false\nTag: {tag}\n")
        (info / "entry_points.txt").write_text("[console_scripts]\nshoal = shoal.__main__:main\n")
        name = f"shoal-{version()}-{tag}.whl"
        record = []
        with zipfile.ZipFile(output / name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
            for file in sorted(path for path in stage.rglob("*") if path.is_file()):
                data, place = file.read_bytes(), file.relative_to(stage).as_posix()
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                record.append(f"{place},sha256={digest},{len(data)}\n")
                add(wheel, place, data, file.stat().st_mode)
            place = f"{info.name}/RECORD"
            add(wheel, place, "".join([*record, f"{place},,\n"]).encode(), 0o100644)
    return name


def add(wheel: zipfile.ZipFile, place: str, data: bytes, mode: int) -> None:
    entry = zipfile.ZipInfo(place)  # of a date that is always the same
    entry.external_attr = mode << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    wheel.writestr(entry, data)


# ---- what pip calls -------------------------------------------------------------------------------------------------


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    archs = os.environ.get("KERNEL_ARCHS", "native")
    # The variables of a make that runs pip are not for this one.
    environment = {
        name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    }
    jobs = f"-j{os.cpu_count() or 1}"
    command = ["make", jobs, "-C", str(ROOT), "python", "BUILD=build", f"KERNEL_ARCHS={archs}"]
    if subprocess.run(command, env=environment).returncode:
        raise SystemExit("shoal: make failed; what it needs is installed by: tools/deps install build")
    return pack(ROOT / "build", Path(wheel_directory), portable=False)


def build_sdist(sdist_directory: str, config_settings: Any = None) -> str:
    name = f"shoal-{version()}"
    files = output_of("git", "-C", str(ROOT), "ls-files", "-z").split("\0")[:-1]
    with tarfile.open(Path(sdist_directory) / f"{name}.tar.gz", "w:gz") as archive:
        for file in files:
            archive.add(ROOT / file, f"{name}/{file}")
        with tempfile.NamedTemporaryFile("w") as info:
            info.write(metadata())
            info.flush()
            archive.add(info.name, f"{name}/PKG-INFO")
    return f"{name}.tar.gz"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    print(target / pack(target, target, portable=True))
