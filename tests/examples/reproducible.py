"""reproducible.py BLOCK_LANCZOS MPIEXEC OPTION FLAGS...: the main job on 1 to 4 ranks with 1 and 2 threads gives the same
eigenvalues, residuals and vectors, bit for bit."""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM, LAUNCHER, FLAGS = sys.argv[1], sys.argv[2:4], sys.argv[4:]


def run(folder, ranks, threads):
    out, vectors = os.path.join(folder, "run.json"), os.path.join(folder, "vectors.mtx")
    command = [*LAUNCHER, str(ranks), *FLAGS, PROGRAM, "--sites", "16", "--periodic", "--nev", "8", "--quiet",
               "--reproducible", "--threads", str(threads), "--json", out, "--vectors", vectors]
    subprocess.run(command, check=True, timeout=100)
    with open(out) as file:
        result = json.load(file)
    assert result["ranks"] == ranks and result["threads"] == threads and result["converged"]
    with open(vectors) as file:
        return (result["eigenvalues"], result["residual_norms"], result["residual_estimates"],
                result["orthogonality_loss"], [step["residuals"] for step in result["history"]], file.read())


with tempfile.TemporaryDirectory() as folder:
    first = run(folder, 1, 1)
    for ranks in (1, 2, 3, 4):
        for threads in (1, 2):
            assert run(folder, ranks, threads) == first, f"{ranks} ranks with {threads} threads differ from one with one"
