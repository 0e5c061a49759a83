"""checkpoint.py BLOCK_LANCZOS [LAUNCHER...]: stops the program in several ways and continues it, as a user would."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM = sys.argv[1]
LAUNCHER = sys.argv[2:]
SAME = ["eigenvalues", "residual_norms", "residual_estimates", "restarts", "random_starts", "applications", "reductions", "filter_degree"]
PROBLEM = ["--problem", "laplacian", "--grid", 30, 31, "--nev", 6, "--threads", 1, "--quiet"]
LANCZOS = ["--block", 2, "--filter", 0]


def command(folder, *arguments):
    method = [] if "--method" in arguments else LANCZOS
    return [str(part) for part in (*LAUNCHER, PROGRAM, *PROBLEM, *method, "--json", folder / "run.json", *arguments)]


def run(folder, *arguments, status=0):
    result = subprocess.run(command(folder, *arguments), capture_output=True, text=True, timeout=200)
    assert result.returncode == status, f"{arguments}: status {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result.stderr


def found(folder):
    with open(folder / "run.json", encoding="utf-8") as file:
        result = json.load(file)
    return {name: result[name] for name in SAME}, [step["residuals"] for step in result["history"]]


def interrupted(folder, number):
    """The status of a run that gets a signal once it has written a checkpoint. Its tolerance is out of reach."""
    checkpoint = folder / "long.ckp"
    process = subprocess.Popen(
        command(folder, "--checkpoint", checkpoint, "--checkpoint-every", 0, "--tol", 1e-30, "--max-restarts", 10**6))
    end = time.monotonic() + 100
    while not checkpoint.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    process.send_signal(number)
    return process.wait(timeout=60)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        checkpoint = folder / "run.ckp"
        run(folder)
        expected = found(folder)

        for method in ("lobpcg", "jacobi-davidson", "chebyshev"):
            arguments = ("--method", method)
            run(folder, *arguments)
            of_method = found(folder)
            saving = ("--checkpoint", checkpoint, "--checkpoint-every", 0)
            run(folder, *arguments, *saving, "--max-iterations", 2, status=1)
            run(folder, *arguments, "--restart", checkpoint)
            assert found(folder) == of_method, method
            checkpoint.unlink()

        # It gives up early, and goes on where more restarts are allowed. Both files may be the same.
        run(folder, "--checkpoint", checkpoint, "--checkpoint-every", 0, "--max-restarts", 2, status=1)
        assert found(folder) != expected
        assert [file.name for file in folder.glob("run.ckp*")] == ["run.ckp"]
        whole = checkpoint.read_bytes()
        run(folder, "--checkpoint", checkpoint, "--restart", checkpoint)
        assert found(folder) == expected
        assert checkpoint.read_bytes() == whole, "ten minutes had not passed"

        for content, cause in [(whole[:-1], "it is cut off"),
                               (whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], "it is damaged"),
                               (b"{}", "it is no checkpoint")]:
            checkpoint.write_bytes(content)
            errors = run(folder, "--restart", checkpoint, status=2)
            assert f"error: {checkpoint}: no checkpoint to go on from: {cause}" in errors, errors
        checkpoint.write_bytes(whole)
        errors = run(folder, "--restart", checkpoint, "--seed", 2, status=2)
        assert "seed is 1 there and 2 here" in errors, errors
        assert "(Laplacian, 30 x 31 Dirichlet grid, " in errors, errors
        errors = run(folder, "--checkpoint", folder / "missing" / "run.ckp", status=2)
        assert "missing/run.ckp: the checkpoint cannot be written: No such file or directory" in errors, errors
        errors = run(folder, "--checkpoint", folder / "run.json", status=2)
        assert "run.json: both --checkpoint and --json have this name" in errors, errors
        run(folder, "--checkpoint-every", 1, status=2)
        run(folder, "--checkpoint", checkpoint, "--checkpoint-every", -1, status=2)

        if not LAUNCHER:  # a launcher has a way of its own with signals
            for number, status in [(signal.SIGTERM, 1), (signal.SIGINT, 1), (signal.SIGKILL, -signal.SIGKILL)]:
                assert interrupted(folder, number) == status
                run(folder, "--restart", folder / "long.ckp", "--tol", 1e-30, "--max-restarts", 1, status=1)
                os.unlink(folder / "long.ckp")


main()
