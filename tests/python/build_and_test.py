"""Builds the Python package with an installed BlockVec, by pip, and runs its tests with what was installed.

Exit status 77, with the reason, where Python's headers or a package are missing: they are not fetched here. tests/run
prepares an environment with them (--tools).
"""

import argparse
import ctypes
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
NEEDED = ("pip", "numpy", "scipy", "nanobind", "scikit_build_core", "pytest", "hypothesis")
LOOK = """
import importlib.util, pathlib, sys, sysconfig
missing = [name for name in sys.argv[1:] if importlib.util.find_spec(name) is None]
if not pathlib.Path(sysconfig.get_paths()["include"], "Python.h").exists():
    missing.insert(0, "Python.h")
print(", ".join(missing))
"""


def has_device():
    """Whether the CUDA driver is there and finds one."""
    try:
        return ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
    except OSError:
        return False


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("package", "build", "tools", "prefix"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--device", action="store_true", help="this build's Kokkos needs a CUDA device")
    parser.add_argument("--skip", default="", help="why this build cannot have the package")
    arguments = parser.parse_args()
    if arguments.skip:
        skip(arguments.skip)
    if arguments.device and not has_device():
        skip("this build's Kokkos needs a CUDA device to start")

    own = arguments.tools / "bin" / "python"
    python = str(own) if own.exists() else sys.executable
    missing = subprocess.run([python, "-c", LOOK, *NEEDED], capture_output=True, text=True, check=True).stdout.strip()
    if missing:
        skip(f"{python} lacks {missing}")

    site = arguments.build / "site"
    environment = dict(os.environ, CXX=arguments.compiler, CMAKE_BUILD_PARALLEL_LEVEL="2", PYTHONDONTWRITEBYTECODE="1")
    install = [python, "-m", "pip", "install", "--quiet", "--no-build-isolation", "--no-deps", "--no-index"]
    install += ["--disable-pip-version-check", "--root-user-action=ignore", "--upgrade", "--target", str(site)]
    install += [f"--config-settings=build-dir={arguments.build / 'cmake'}"]
    install += [f"--config-settings=cmake.define.BlockVec_ROOT={arguments.prefix}", str(arguments.package)]
    subprocess.run(install, env=environment, check=True)

    environment |= {"PYTHONPATH": str(site), "OMP_NUM_THREADS": "1"}
    tests = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(arguments.package / "tests")]
    return subprocess.run(tests, env=environment, cwd=arguments.build, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
