"""Every example runs, and says what its page says; every sample in a docstring gives what it shows."""

from __future__ import annotations

import doctest
import importlib
import os
import pathlib
import re
import subprocess
import sys

import pytest

import blockvec

EXAMPLES = sorted((pathlib.Path(__file__).parents[1] / "examples").glob("*.py"))
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "python.md"
MODULES = [
    "blockvec",
    *(f"blockvec.{name}" for name in ("_dense", "_orthonormalize", "_operators", "_eigsh", "_lobpcg", "_config")),
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, tmp_path):
    environment = dict(os.environ, MPLBACKEND="Agg")
    done = subprocess.run(
        [sys.executable, str(example)], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    promised = example.read_text(encoding="utf-8").rpartition("# Prints:\n")[2]
    for line in promised.splitlines():
        assert line.removeprefix("# ") in done.stdout, done.stdout


@pytest.mark.skipif(not PAGE.exists(), reason="the page is not beside the package")
def test_page(tmp_path, monkeypatch):
    """The programs of docs/python.md run, one after the other."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(programs) >= 2
    for program in programs:
        if "plot" in program:
            pytest.importorskip("matplotlib")
        exec(compile(program, str(PAGE), "exec"), {})


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    module = importlib.import_module(name)
    failed, tried = doctest.testmod(module)
    assert tried > 0 and failed == 0


def test_everything_public_has_a_docstring():
    for name in blockvec.__all__:
        assert name.startswith("__") or getattr(blockvec, name).__doc__, name
