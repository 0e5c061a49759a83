"""faults.py FAULTS.md BLOCK_LANCZOS FAULTY_OPERATOR RANKS [LAUNCHER...]: brings about the faults in the page's table for that number
of ranks. The table says what must come of each."""
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

PAGE, PROGRAM, FAULTY, RANKS = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
LAUNCHER = sys.argv[5:]
START_LIMIT = 120  # seconds until the first pairs are found: that is no promise
END_LIMIT = 10  # seconds from the fault to the end of the program
OLD = "an older file\n"
FOUND = [-100, -90, -80]
TOLERANCE = 1e-12
ROWS = 20000
# Each rank says who it is, so that a fault can pick one.
WRAPPER = 'echo $$ >"$0/${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}.pid"; '


def table():
    """The rows for this number of ranks, as dictionaries with the header's words."""
    lines = pathlib.Path(PAGE).read_text(encoding="utf-8").splitlines()
    start = next(index for index, line in enumerate(lines) if line.startswith("| fault |"))
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:] if line.startswith("|")]
    rows = [dict(zip(cells[0], row)) for row in cells[2:]]
    rows = [row for row in rows if str(RANKS) in re.findall(r"\d+", row["ranks"])]
    rows = [row for row in rows if "Open MPI" not in row["fault"] or f"(Open MPI {launcher_version()})" in row["fault"]]
    return [{**row, "fault": row["fault"].split(" (")[0]} for row in rows]


def launcher_version():
    """4 or 5."""
    text = subprocess.run([LAUNCHER[0], "--version"], capture_output=True, text=True).stdout if LAUNCHER else ""
    return 4 if re.search(r"\b4\.\d", text) else 5


def write_matrix(file):
    """Diagonal: three eigenvalues far below the others, which lie so close together that the search for more has no end."""
    values = [FOUND[i] if i < len(FOUND) else (i / ROWS) ** 2 for i in range(ROWS)]
    entries = "".join(f"{i} {i} {value!r}\n" for i, value in enumerate(values, 1))
    file.write_text(f"%%MatrixMarket matrix coordinate real symmetric\n{ROWS} {ROWS} {ROWS}\n{entries}")


class Run:
    """The program, from its start to its end."""

    def __init__(self, folder, program, redirection=""):
        self.folder = folder
        (folder / "run.json").write_text(OLD)
        (folder / "vectors.mtx").write_text(OLD)
        options = ["--matrix", folder / "matrix.mtx", "--filter", 0, "--nev", 6, "--basis", 18, "--tol", TOLERANCE, "--max-restarts", 10**6,
                   "--threads", 1, "--json", folder / "run.json", "--vectors", folder / "vectors.mtx"]
        shell = ["sh", "-c", f'{WRAPPER}exec "$@" {redirection}', folder]
        command = [str(part) for part in (*LAUNCHER, *shell, *program, *options)]
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.lines = []
        self.end = START_LIMIT

    def wait_until_found(self):
        timer = threading.Timer(START_LIMIT, self.kill)
        timer.start()
        for line in self.process.stdout:
            self.lines.append(line)
            if f"converged {len(FOUND)} of 6" in line:
                break
        timer.cancel()
        assert "converged" in "".join(self.lines), f"nothing was found:\n{self.text()}"
        self.end = END_LIMIT

    def pid(self, rank):
        return int((self.folder / f"{rank}.pid").read_text())

    def wait(self):
        begin = time.monotonic()
        try:
            if self.process.stdout.closed:
                self.process.wait(timeout=self.end)
            else:
                self.lines.append(self.process.communicate(timeout=self.end)[0])
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"no end within {self.end} s:\n{self.text()}") from None
        status = self.process.returncode
        return time.monotonic() - begin, status if status >= 0 else 128 - status

    def kill(self):
        self.process.kill()
        for file in self.folder.glob("*.pid"):
            try:
                os.kill(int(file.read_text()), signal.SIGKILL)
            except (ProcessLookupError, ValueError):
                pass

    def text(self):
        self.errors.seek(0)
        return "".join(self.lines) + self.errors.read()


def faulty_operator(kind):
    def run(folder, rank):
        trigger = folder / "trigger"
        program = Run(folder, [FAULTY, kind, rank, trigger])
        program.wait_until_found()
        trigger.touch()
        return program
    return run


def signalled(number, to_launcher=False):
    def run(folder, rank):
        program = Run(folder, [PROGRAM])
        program.wait_until_found()
        os.kill(program.process.pid if to_launcher else program.pid(rank), number)
        return program
    return run


def full_disk(folder, rank):
    program = Run(folder, [PROGRAM])
    program.wait_until_found()
    megabyte = 2**20  # JSON fits, the vectors do not
    for each in range(RANKS):
        resource.prlimit(program.pid(each), resource.RLIMIT_FSIZE, (megabyte, megabyte))
    os.kill(program.pid(rank), signal.SIGTERM)
    return program


def closed_at_start(folder, rank):
    return Run(folder, [PROGRAM], ">&-")


def closed_later(folder, rank):
    program = Run(folder, [PROGRAM])
    program.wait_until_found()
    program.process.stdout.close()
    return program


LAST = RANKS - 1
FAULTS = {
    "bad shapes on one rank": (faulty_operator("shapes"), LAST),
    "exception in the operator on one rank": (faulty_operator("exception"), LAST),
    "allocation that fails on one rank": (faulty_operator("allocation"), 0 if RANKS == 4 else LAST),
    "full disk": (full_disk, LAST),
    "SIGTERM": (signalled(signal.SIGTERM), 0),
    "SIGTERM to mpirun": (signalled(signal.SIGTERM, to_launcher=True), 0),
    "SIGTERM to one rank": (signalled(signal.SIGTERM), LAST),
    "SIGKILL of a rank": (signalled(signal.SIGKILL), LAST),
    "SIGKILL of rank 0": (signalled(signal.SIGKILL), 0),
    "standard output closed at the start": (closed_at_start, LAST),
    "standard output closed later": (closed_later, LAST),
    "standard output of mpirun closed later": (closed_later, LAST),
}


def check_found(values, norm=100):
    assert len(values) >= len(FOUND), values
    for value, exact in zip(values, FOUND):
        assert abs(value - exact) <= 2 * TOLERANCE * norm, (value, exact)


def check(row, rank, run):
    seconds, status = run.wait()
    text = run.text()
    assert status != 0 if row["status"] == "not 0" else status == int(row["status"]), f"status {status}\n{text}"
    message = row["message"].strip("`")
    pattern = re.sub(r"\brank R\b", f"rank {rank}", re.escape(message).replace(r"\.\.\.", ".*").replace(r"\ ", " "))
    assert re.search(pattern, text), f"no {pattern!r} in:\n{text}"

    printed = re.findall(r"^ +\d+ +(-?[\d.]+) +[\d.e+-]+", "".join(run.lines), re.M)
    assert row["printed"] == "any" or bool(printed) == (row["printed"] == "yes"), text
    if printed:
        check_found([float(value) for value in printed])
    content = (run.folder / "run.json").read_text()
    assert (content == OLD) == (row["JSON"] == "old"), content
    if content != OLD:
        result = json.loads(content)
        check_found(result["eigenvalues"])
        assert result["converged"] is False and (result["stopped"] or not result["finished"]), result
    content = (run.folder / "vectors.mtx").read_text()
    if row["vectors"] == "old":
        assert content == OLD
    if row["vectors"] == "new" or content != OLD:
        assert f"\n{ROWS} 6\n" in content and len(content.splitlines()) == 3 + 6 * ROWS
    drafts = list(run.folder.glob("*-part-*"))
    if row["vectors"] != "any" and not ("SIGKILL" in row["fault"] and rank == 0):
        assert not drafts, drafts
    return seconds


def main():
    rows = table()
    assert len(rows) >= 7
    for row in rows:
        inject, rank = FAULTS[row["fault"]]
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name).resolve()
            write_matrix(folder / "matrix.mtx")
            run = inject(folder, rank)
            try:
                seconds = check(row, rank, run)
            except AssertionError as error:
                sys.exit(f"{row['fault']}, {RANKS} rank(s): {error}")
            finally:
                run.kill()
            print(f"{row['fault']}: over after {seconds:.1f} s", flush=True)


main()
