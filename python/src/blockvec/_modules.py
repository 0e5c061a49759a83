"""The extension modules. Each is loaded when it is first needed, so that importing the package takes no time."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from typing import Any

from ._errors import DeviceError
from ._lifetime import stop_at_exit


@functools.cache
def host() -> Any:
    from . import _host

    stop_at_exit(_host)
    return _host


def device_name() -> str | None:
    """Of the module for CUDA devices, where one is installed: a part of this package, or the package blockvec-cuda."""
    for package in ("blockvec", "blockvec_cuda"):
        if importlib.util.find_spec(package) and importlib.util.find_spec(f"{package}._device"):
            return f"{package}._device"
    return None


@functools.cache
def device() -> Any:
    name = device_name()
    if name is None:
        raise DeviceError(
            "arrays on a device need a build of blockvec with CUDA, or the package blockvec-cuda (docs/python.md)"
        )
    try:
        module = importlib.import_module(name)
    except ImportError as error:
        raise DeviceError(f"arrays on a device need {name}, which cannot be loaded: {error}") from error
    here, there = host().config()["version"], module.config()["version"]
    if here != there:
        raise DeviceError(f"blockvec is of the version {here}, {name} of {there}: install the same version of both")
    stop_at_exit(module)
    return module
