#!/usr/bin/env python3
"""Builds the site of these pages, or says what is missing for it.

build.py OUT [--tools ENVIRONMENT]     the pages are OUT/html/index.html; any warning is an error

It takes the first Python that has Sphinx, Breathe, MyST and furo: that of ENVIRONMENT, its own, the system's.
Exit status: 0, 1 for a page that is wrong, 77 where a tool is missing.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

DOCS = pathlib.Path(__file__).resolve().parent
MODULES = ("sphinx", "breathe", "myst_parser", "furo", "numpy", "scipy")
MISSING = 77


def lacking(python):
    """The modules that this Python has not."""
    program = "import importlib.util, sys; print(*[m for m in sys.argv[1:] if importlib.util.find_spec(m) is None])"
    try:
        answer = subprocess.run([python, "-c", program, *MODULES], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return list(MODULES)
    return answer.stdout.split()


def find_tools(environment):
    """The Python to call and Doxygen; exits where there is none."""
    pythons = [str(environment / "bin/python")] if environment else []
    pythons += [sys.executable, "/usr/bin/python3"]
    missing = min((lacking(python) for python in pythons), key=len)
    doxygen = shutil.which("doxygen")
    if missing or doxygen is None:
        names = ", ".join(missing + ([] if doxygen else ["doxygen"]))
        print(f"The pages were not built. Missing: {names}. docs/development.md says how to get them.")
        sys.exit(MISSING)
    return next(python for python in pythons if not lacking(python)), doxygen


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--tools", type=pathlib.Path, help="a virtual environment to look for Sphinx in")
    arguments = parser.parse_args()
    python, doxygen = find_tools(arguments.tools)

    out, include = arguments.out.resolve(), DOCS.parent / "include"
    shutil.rmtree(out / "xml", ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)
    settings = (DOCS / "Doxyfile").read_text(encoding="utf-8")
    settings += f'INPUT = "{include}"\nSTRIP_FROM_PATH = "{include}"\nOUTPUT_DIRECTORY = "{out}"\n'
    subprocess.run([doxygen, "-"], input=settings, text=True, check=True)
    subprocess.run([python, "-B", DOCS / "by_header.py", out / "xml"], check=True)
    subprocess.run(
        [python, "-B", "-m", "sphinx", "-q", "-E", "-W", "--keep-going", "-d", out / "doctrees"]
        + ["-D", f"breathe_projects.BlockVec={out / 'xml'}", DOCS, out / "html"],
        check=True,
    )
    print(f"The pages are in {out / 'html/index.html'}")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"{error.cmd[0]} ended with status {error.returncode}")
