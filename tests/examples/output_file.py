"""output_file.py BLOCK_LANCZOS [LAUNCHER...]: files that cannot be written are refused before the solve, old ones stay until new
ones are complete, and nothing else is left behind."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])
LAUNCHER = sys.argv[2:]
PROBLEM = ("--problem", "laplacian", "--grid", 12, 12)
OUTPUTS = ("--json", "--plot", "--vectors", "--write-matrix")
OLD = "an older file\n"


def run(*arguments, status=0, where=None, **options):
    command = [os.fsencode(str(part) if isinstance(part, int) else part) for part in (*LAUNCHER, PROGRAM, *arguments)]
    result = subprocess.run(command, stderr=subprocess.PIPE, **{"stdout": subprocess.PIPE, **options}, timeout=100, cwd=where)
    errors = result.stderr.decode(errors="replace")
    text = (result.stdout or b"").decode(errors="replace")
    assert result.returncode == status, f"{command}: status {result.returncode}\n{text}\n{errors}"
    return text, errors


def listing(folder):
    return sorted(os.listdir(os.fsencode(folder)))


def refused(folder, *arguments, message, **options):
    """Ends with status 2 and the message, before the solve, and leaves the folder as it is."""
    before = listing(folder)
    text, errors = run(*PROBLEM, *arguments, status=2, **options)
    assert message in errors, (message, errors)
    assert "eigenvalue" not in text, text
    assert listing(folder) == before, (before, listing(folder))


def check_refusals(folder):
    missing = folder / "missing"
    old = folder / "old.mtx"
    old.write_text(OLD)
    (folder / "link.mtx").symlink_to(old)
    for option in OUTPUTS if not LAUNCHER else OUTPUTS[:1]:
        refused(folder, option, missing / "x.png", message=f"{missing / 'x.png'}: cannot be written: there is no folder {missing}")
        refused(folder, option, folder, message=f"{folder}: cannot be written: it is a folder")
        refused(folder, option, old / "x.png", message="x.png: cannot be written: Not a directory")
    assert not missing.exists()

    locked = folder / "locked"
    locked.mkdir()
    locked.chmod(0o555)
    no_entry = pathlib.Path("/proc/self") if os.geteuid() == 0 else locked
    refused(folder, "--json", no_entry / "x.json", message="x.json: cannot be written: ")

    refused(folder, "--json", folder / "one", "--vectors", folder / "." / "one", message="both --json and --vectors have this name")
    refused(folder, "--plot", old, "--json", folder / "link.mtx", message="both --json and --plot have this name")
    refused(folder, "--json", "x.json", "--plot", "x.json", where=folder, message="x.json: both --json and --plot have this name")
    if not LAUNCHER:  # a launcher keeps the standard output to itself
        with open(folder / "log", "w") as log:
            refused(folder, "--json", folder / "log", stdout=log, message="it is the standard output, too")
    # Faults that show only later.
    refused(folder, "--json", old, "--basis", 3, message="a basis of 3 columns is too small")
    refused(folder, "--json", old, "--vectors", missing / "x", message="there is no folder")
    assert old.read_text() == OLD
    (folder / "link.mtx").unlink()
    old.unlink()


def check_matrix_is_kept(folder):
    matrix = folder / "matrix.mtx"
    run(*PROBLEM, "--quiet", "--write-matrix", matrix)
    content = matrix.read_text()
    for option in OUTPUTS[:-1] if not LAUNCHER else OUTPUTS[:1]:
        _, errors = run("--matrix", matrix, option, folder / "." / "matrix.mtx", status=2)
        assert f"both --matrix and {option} have this name" in errors, errors
    assert matrix.read_text() == content and listing(folder) == [b"matrix.mtx"]
    matrix.unlink()


def check_names(folder):
    run(*PROBLEM, "--quiet", "--json", b"caf\xe9.json", where=folder)
    with open(os.path.join(os.fsencode(folder), b"caf\xe9.json")) as file:
        assert json.load(file)["converged"] is True
    os.unlink(os.path.join(os.fsencode(folder), b"caf\xe9.json"))

    text, _ = run(*PROBLEM, "--quiet", "--json", "/dev/stdout")
    assert json.loads(text)["finished"] is True

    # A link goes on to lead where it led, and a file keeps its mode.
    target = folder / "target.json"
    target.write_text(OLD)
    target.chmod(0o640)
    (folder / "link.json").symlink_to("target.json")
    run(*PROBLEM, "--quiet", "--json", folder / "link.json")
    assert (folder / "link.json").is_symlink() and json.loads(target.read_text())["converged"] is True
    assert target.stat().st_mode & 0o777 == 0o640
    (folder / "link.json").unlink()
    target.unlink()


def check_plot(folder):
    """The file beside a plot is nobody's business; the matrix has a name that is not UTF-8."""
    (folder / "x.png.json").write_text(OLD)
    matrix = os.path.join(os.fsencode(folder), b"\xff.mtx")
    run(*PROBLEM, "--quiet", "--write-matrix", matrix)
    run("--matrix", matrix, "--quiet", "--plot", folder / "x.png", "--json", folder / "x.json")
    assert (folder / "x.png.json").read_text() == OLD
    assert (folder / "x.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((folder / "x.json").read_text())["options"]["matrix"].endswith("\ufffd.mtx")
    os.unlink(matrix)
    for name in ("x.json", "x.png.json", "x.png"):
        (folder / name).unlink()


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name).resolve()
        check_refusals(folder)
        (folder / "locked").rmdir()
        (folder / "log").unlink(missing_ok=True)
        check_matrix_is_kept(folder)
        check_names(folder)
        check_plot(folder)
        assert listing(folder) == [], listing(folder)


main()
