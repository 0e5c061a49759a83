"""Every notebook runs from its first cell to its last, and says what it promises."""

from __future__ import annotations

import json
import os
import pathlib
import sys

import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[1] / "examples").glob("*.ipynb"))
PROMISED = {"spin_levels": ["-5.387390917  1 states", "converged: residual <=", "array([0., 1., 1., 1.", "True"]}


def outputs_of(notebook):
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            texts.append(output.get("text") or output.get("data", {}).get("text/plain", ""))
    return "\n".join(texts)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    pytest.importorskip("matplotlib")
    # A kernel of the Python that runs the tests, whatever is installed beside it.
    kernel = tmp_path / "kernels" / "python3"
    kernel.mkdir(parents=True)
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (kernel / "kernel.json").write_text(json.dumps({"argv": command, "display_name": "tests", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "outputs are not committed"
    nbclient.NotebookClient(notebook, timeout=200, resources={"metadata": {"path": os.fspath(tmp_path)}}).execute()
    outputs = outputs_of(notebook)
    for promised in PROMISED[path.stem]:
        assert promised in outputs, outputs
