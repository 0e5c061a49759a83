"""comm=: every function on 1, 2 and 3 MPI ranks, by mpirun. The ranks' program is ranks_program.py."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import pytest

import blockvec as bv

HAS_MPI = bv.show_config()["mpi"]
PROGRAM = pathlib.Path(__file__).with_name("ranks_program.py")


@pytest.mark.skipif(HAS_MPI, reason="this build has MPI")
def test_without_mpi():
    with pytest.raises(bv.BlockVecError, match="this build of blockvec has no MPI"):
        bv.gram(np.ones((3, 1)), comm=object())


@pytest.mark.skipif(not HAS_MPI, reason="this build has no MPI")
def test_not_a_communicator():
    with pytest.raises(TypeError, match="comm is a int: expected"):
        bv.gram(np.ones((3, 1)), comm=3)


@pytest.mark.skipif(not HAS_MPI, reason="this build has no MPI")
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks(ranks):
    pytest.importorskip("mpi4py")
    if shutil.which("mpirun") is None:
        pytest.skip("no mpirun here")
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command = ["mpirun", "-n", str(ranks), "--oversubscribe", sys.executable, str(PROGRAM)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("all is well") == ranks, done.stdout + done.stderr
