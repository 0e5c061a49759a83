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
# Open MPI by its versions up to 4 and from 5 on: more ranks than cores, and in containers.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
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
    command = ["mpirun", "-n", str(ranks), sys.executable, str(PROGRAM)]
    done = subprocess.run(command, env={**os.environ, **ENVIRONMENT}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("all is well") == ranks, done.stdout + done.stderr
