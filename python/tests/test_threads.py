"""How many threads a call takes where nobody says it."""

from __future__ import annotations

import os

import pytest

from blockvec import _threads
from blockvec._modules import host


@pytest.mark.parametrize("value, expected", [("3", 3), ("2,4", 2), ("0", 1)])
def test_environment(value, expected, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", value)
    assert _threads.thread_count(None) == expected
    assert _threads.thread_count(5) == 5


@pytest.mark.parametrize("value", [None, "", "many"])
def test_cores_of_the_process(value, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if value is not None:
        monkeypatch.setenv("OMP_NUM_THREADS", value)
    cores = host().available_cores()  # fewer than it may run on where a container has a quota
    assert 1 <= cores <= (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())
    assert _threads.thread_count(None) == cores


def test_one_in_a_child(monkeypatch):
    monkeypatch.setattr(_threads, "_is_child", True)
    assert _threads.thread_count(8) == 1


@pytest.mark.parametrize("value", [0, -1, 2.0, "2"])
def test_refused(value):
    with pytest.raises(ValueError, match="threads="):
        _threads.thread_count(value)
