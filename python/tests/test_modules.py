"""When extension modules are loaded, and where the one for devices may come from."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

import blockvec as bv

HOST = "import blockvec as bv, numpy as np; assert bv.gram(np.ones((10, 1)))[0, 0] == 10; "


def run(program, folder="."):
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_none():
    run("import sys, blockvec; assert not {'blockvec._host', 'blockvec._device'} & set(sys.modules)")
    assert run("import blockvec; print(blockvec.__version__)").strip() == bv.__version__
    with pytest.raises(AttributeError, match="no attribute 'eigs'"):
        bv.eigs  # noqa: B018


@pytest.mark.skipif(
    importlib.util.find_spec("blockvec._device") is not None or importlib.util.find_spec("blockvec_cuda") is not None,
    reason="there is a module for devices",
)
@pytest.mark.parametrize(
    "module, message",
    [
        ("raise ImportError('libcuda.so.1: cannot open')", "blockvec_cuda._device, which cannot be loaded: libcuda"),
        ("config = lambda: {'version': '0.0.7'}", f"blockvec is of the version {bv.__version__}, .* of 0.0.7"),
    ],
    ids=["no driver", "another version"],
)
def test_package_for_devices(tmp_path, module, message):
    """Arrays on the host do not need it to work."""
    package = tmp_path / "blockvec_cuda"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "_device.py").write_text(module)
    program = HOST + "from blockvec import _modules; assert bv.show_config()['cuda']; _modules.device()"
    with pytest.raises(AssertionError, match=f"DeviceError: .*{message}"):
        run(program, tmp_path)
    run(HOST, tmp_path)
