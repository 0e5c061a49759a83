"""program.py BLOCK_LANCZOS [LAUNCHER...]: runs the program as a user would, and compares its JSON with exact eigenvalues."""
import itertools
import json
import math
import os
import re
import struct
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
LAUNCHER = sys.argv[2:]


def run(*arguments, status=0, where=None):
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    command = LAUNCHER + [PROGRAM] + [str(argument) for argument in arguments]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=where, env=environment)
    assert status is None or result.returncode == status, f"{command}: status {result.returncode}\n{result.stdout}\n{result.stderr}"
    return result


def check(run_file, exact, largest=False):
    with open(run_file) as file:
        result = json.load(file)
    exact = sorted(exact, reverse=largest)
    tolerance = result["options"]["tol"] * result["norm_estimate"]
    assert result["converged"] is True
    wanted = result["options"]["nev"]
    assert result["last_level_cut"] is (wanted < len(exact) and abs(exact[wanted] - exact[wanted - 1]) <= tolerance)
    assert len(result["eigenvalues"]) == result["options"]["nev"]
    for index, (value, residual) in enumerate(zip(result["eigenvalues"], result["residual_norms"])):
        assert residual <= tolerance, (index, residual, tolerance)
        assert abs(value - exact[index]) <= 2 * tolerance, (index, value, exact[index])
    assert result["orthogonality_loss"] <= 1e3 * len(result["eigenvalues"]) * sys.float_info.epsilon
    if LAUNCHER:
        assert result["ranks"] == ranks(), result["ranks"]
    assert result["reductions"] > 0 and result["seconds"] > 0 and result["history"]
    names = [operation["name"] for operation in result["operations"]]
    assert "inner_product" in names and len(set(names)) == len(names), names
    return result


def ranks():
    """The launcher is: mpiexec, its option for the number of ranks, that number, ..."""
    return int(LAUNCHER[2])


def laplacian(*grid):
    lists = [[2 - 2 * math.cos(math.pi * k / (n + 1)) for k in range(1, n + 1)] for n in grid]
    return [sum(parts) for parts in itertools.product(*lists)]


def write_petsc_chain(path, n):
    """laplacian(n) in PETSc's binary format."""
    rows = [[(j, 2.0 if i == j else -1.0) for j in (i - 1, i, i + 1) if 0 <= j < n] for i in range(n)]
    entries = [entry for row in rows for entry in row]
    with open(path, "wb") as file:
        file.write(struct.pack(">4i", 1211216, n, n, len(entries)))
        file.write(struct.pack(f">{n}i", *map(len, rows)))
        file.write(struct.pack(f">{len(entries)}i", *(column for column, _ in entries)))
        file.write(struct.pack(f">{len(entries)}d", *(value for _, value in entries)))


def write_npy(path, values, is_complex, fortran_order):
    """A = Q D Q in NumPy's format: D holds the values, Q = I - 2 u u^H with |u| = 1."""
    n = len(values)
    u = [complex(math.cos(i * i), math.sin(3 * i) if is_complex else 0) for i in range(n)]
    norm = math.sqrt(sum(abs(x) ** 2 for x in u))
    u = [x / norm for x in u]
    mean = sum(value * abs(x) ** 2 for value, x in zip(values, u))

    def entry(i, j):
        return (values[i] if i == j else 0) + (4 * mean - 2 * (values[i] + values[j])) * u[i] * u[j].conjugate()

    header = f"{{'descr': '{'<c16' if is_complex else '<f8'}', 'fortran_order': {fortran_order}, 'shape': ({n}, {n}), }}"
    header += " " * (64 - (len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        for i, j in itertools.product(range(n), repeat=2):
            value = entry(j, i) if fortran_order else entry(i, j)
            file.write(struct.pack("<2d", value.real, value.imag) if is_complex else struct.pack("<d", value.real))


def graphene(nx, ny):
    for i, j in itertools.product(range(nx), range(ny)):
        a, b = 2 * math.pi * i / nx, 2 * math.pi * j / ny
        value = math.hypot(1 + math.cos(a) + math.cos(b), math.sin(a) + math.sin(b))
        yield value
        yield -value


def check_orthogonalisations(out):
    """Every method by its name: right eigenvalues, or without escalation perhaps a word on why it stopped."""
    words = re.search(r"between blocks\s+/\s+within:\s+(.*?)\s+--no-escalation", run("--help").stdout, re.S).group(1)
    between, within = (re.findall(r"[^\s,]+", half) for half in words.split(" / "))
    assert "p-1s" in between and "cholqr2" in within, words
    problem = ("--problem", "laplacian", "--grid", 9, 9, "--nev", 4, "--json", out, "--orth")
    pairs = itertools.zip_longest(between, within, fillvalue="")
    for method in (f"{first}/{second}" for first, second in pairs):
        assert f"orthogonalisation, {method}:" in run(*problem, method).stdout
        check(out, laplacian(9, 9))
    for method in ("bcgs/cholqr", "bmgs/cgs", "pip/cholqr", "bcgs2/cgs2"):
        strict = run(*problem, method, "--no-escalation", status=None)
        with open(out) as file:
            stopped = json.load(file)["stopped"]
        if strict.returncode == 0:
            check(out, laplacian(9, 9))
        else:
            assert "not orthonormal" in stopped and "stopped: " in strict.stdout, strict.stdout


def main():
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "run.json")
        matrix = os.path.join(folder, "matrix.mtx")
        vectors = os.path.join(folder, "vectors.mtx")

        text = run("--problem", "laplacian", "--grid", 12, 12, 12, "--json", out).stdout
        assert "converged: residual <=" in text and "restart" in text and "inner_product" in text, text
        assert "\033" not in text, text  # a pipe is no terminal, also behind a launcher
        check(out, laplacian(12, 12, 12))

        run("--problem", "laplacian", "--grid", 1, "--nev", 1, "--json", out)  # more ranks than rows
        check(out, [2.0])
        run("--problem", "graphene", "--grid", 12, 9, "--flux", 0, 1, "--block", 1, "--json", out)
        check(out, graphene(12, 9))
        if LAUNCHER and ranks() != 2:
            return  # every run takes the launcher a second

        quiet = run("--problem", "laplacian", "--grid", 30, 30, "--which", "largest", "--nev", 5, "--block", 2, "--layout",
                    "column", "--orth", "bcgs2/svqb", "--quiet", "--json", out, "--write-matrix", matrix)
        assert quiet.stdout == "", quiet.stdout
        check(out, laplacian(30, 30), largest=True)
        run("--matrix", matrix, "--nev", 5, "--json", out, "--vectors", vectors)
        check(out, laplacian(30, 30))
        with open(vectors) as file:
            lines = [line for line in file if not line.startswith("%")]
        assert lines[0].split() == ["900", "5"] and len(lines) == 1 + 900 * 5

        write_petsc_chain(matrix, 50)
        run("--matrix", matrix, "--nev", 4, "--json", out)
        check(out, laplacian(50))
        sparse = run("--matrix", matrix, "--packed", status=2).stderr
        assert f"{matrix}: --packed is for dense matrices, and this one is sparse" in sparse, sparse

        values = [math.sqrt(1 + i) for i in range(90)]
        for is_complex in (False, True):
            write_npy(matrix, values, is_complex, fortran_order=is_complex)
            for packed in ([], ["--packed"]):
                run("--matrix", matrix, *packed, "--nev", 4, "--method", "chebyshev" if is_complex else "lanczos",
                    "--json", out)
                assert check(out, values)["matrix"]["nonzeros"] == 90 * 90
        with open(matrix, "r+b") as file:
            file.truncate(os.path.getsize(matrix) - 1)
        broken = run("--matrix", matrix, status=2).stderr
        assert f"{matrix}: at byte " in broken and "the file ends after 8099 entries of a matrix of 90 rows" in broken, broken

        cut = run("--problem", "laplacian", "--grid", 9, 9, 9, "--nev", 3, "--json", out)
        assert "The last level is cut" in cut.stdout, cut.stdout
        check(out, laplacian(9, 9, 9))

        run("--problem", "anderson", "--grid", 6, 6, 6, "--disorder", 0, "--block", 3, "--filter", 0, "--json", out)
        check(out, [6 - value for value in (4 * 3 - sum(2 + 2 * math.cos(2 * math.pi * k / 6) for k in ks)
                                            for ks in itertools.product(range(6), repeat=3))])

        for option in ([], ["--matrix-free"]):
            if option and LAUNCHER:
                assert "--matrix-free works on one rank" in run(*option, status=2).stderr
                continue
            ring = run("--sites", 10, "--periodic", *option, "--json", out)
            assert "Bethe ansatz for 10 sites" in ring.stdout, ring.stdout
            with open(out) as file:
                assert abs(json.load(file)["eigenvalues"][0] + 4.515446354492) < 1e-11  # ten spins, from the tables

        helps = ([], ["--preconditioner", "chebyshev"], ["--preconditioner", "jacobi", "--which", "largest"],
                 ["--preconditioner", "block-jacobi:9"])
        for method, option in itertools.product(("lobpcg", "jacobi-davidson"), helps):
            run("--problem", "laplacian", "--grid", 9, 9, 9, "--nev", 8, "--method", method, *option, "--json", out)
            result = check(out, laplacian(9, 9, 9), largest="largest" in option)
            assert (result["preconditionings"] > 0) is (option != []), result["preconditionings"]
        run("--problem", "laplacian", "--grid", 9, 9, 9, "--nev", 8, "--method", "chebyshev", "--json", out)
        check(out, laplacian(9, 9, 9))
        exact = sorted(laplacian(9, 9, 9))
        nearest = sorted(exact, key=lambda value: abs(value - 4.1))[:5]
        for option in [], ["--method", "jacobi-davidson"]:
            near = run("--problem", "laplacian", "--grid", 9, 9, 9, "--nev", 5, "--target", 4.1, *option, "--json", out)
            said = "method: interior, since pairs inside the spectrum are wanted" in near.stdout
            assert said is (option == []), near.stdout
            with open(out) as file:
                found = json.load(file)["eigenvalues"]
            assert max(abs(abs(a - 4.1) - abs(b - 4.1)) for a, b in zip(found, nearest)) < 1e-7, (found, nearest)
        run("--problem", "laplacian", "--grid", 9, 9, 9, "--interval", 3.9, 4.3, "--json", out)
        with open(out) as file:
            found = json.load(file)["eigenvalues"]
        inside = [value for value in exact if 3.9 <= value <= 4.3]
        assert len(found) == len(inside) and max(abs(a - b) for a, b in zip(found, inside)) < 1e-7, (found, inside)
        run("--problem", "laplacian", "--grid", 9, "--interval", 20, 21)  # nothing is there
        with open(mass := os.path.join(folder, "mass.mtx"), "w") as file:  # twice the identity
            file.write("%%MatrixMarket matrix coordinate real symmetric\n81 81 81\n")
            file.writelines(f"{i} {i} 2\n" for i in range(1, 82))
        pair = ["--problem", "laplacian", "--grid", 9, 9, "--mass", mass, "--nev", 4, "--json", out]
        assert "method: dense, since the whole spectrum of so few rows" in run(*pair, "--target", 2).stdout
        assert "method: lanczos, since B is diagonal" in run(*pair, "--max-restarts", 300).stdout
        assert "method: chebyshev, since B is diagonal" in run(*pair, "--max-iterations", 900).stdout
        chosen = "lobpcg, since" if LAUNCHER else "jacobi-davidson, since B and"
        assert f"method: {chosen} a preconditioner " in run(*pair, "--preconditioner", "jacobi").stdout
        assert "method: lanczos, since" in run(*pair, "--block", 2).stdout
        assert "method: jacobi-davidson, since" in run(*pair, "--block", 2, "--preconditioner", "jacobi").stdout
        for option in (["--target", 2, "--max-restarts", 300], ["--target", 2, "--method", "jacobi-davidson"],
                       ["--target", 2, "--method", "dense"], ["--interval", 0.9, 1.3, "--max-restarts", 300],
                       ["--interval", 0.9, 1.3, "--method", "dense"]):
            said = "method: interior, since pairs inside" in run(*pair[:-4], *option, "--json", out).stdout
            assert said is ("--method" not in option)
            with open(out) as file:
                found = json.load(file)["eigenvalues"]
            halves = [value / 2 for value in laplacian(9, 9)]
            if "--target" in option:
                distances = sorted(abs(value - 2) for value in halves)
                assert max(abs(abs(a - 2) - b) for a, b in zip(found, distances)) < 1e-7, (found, distances)
            else:
                inside = sorted(value for value in halves if 0.9 <= value <= 1.3)
                assert len(found) == len(inside) and max(abs(a - b) for a, b in zip(found, inside)) < 1e-7, found
        run(*pair[:-4], "--interval", 20, 21)  # nothing is there
        with open(elements := os.path.join(folder, "elements.mtx"), "w") as file:
            file.write("%%MatrixMarket matrix coordinate real symmetric\n81 81 161\n")
            file.writelines(f"{i} {i} 4\n" + (f"{i + 1} {i} 1\n" if i < 81 else "") for i in range(1, 82))
        near = run(*pair[:5], "--mass", elements, "--target", 0.5, "--max-iterations", 2000).stdout
        assert "method: jacobi-davidson, since pairs near a target are wanted, and B is not diagonal" in near, near
        for method in ("lanczos", "lobpcg", "jacobi-davidson", "chebyshev", "dense"):
            run(*pair, "--method", method)
            with open(out) as file:
                result = json.load(file)
            assert result["converged"] and max(result["backward_errors"]) <= 1e-8
            for value, exact in zip(result["eigenvalues"], sorted(laplacian(9, 9))):
                assert abs(value - exact / 2) <= 1e-7, (value, exact)
            assert result["applications_b"] > 0
        gave_up = run("--problem", "laplacian", "--grid", 300, 300, "--max-restarts", 1, "--filter", 0, "--json", out, status=1)
        assert "NOT CONVERGED" in gave_up.stdout
        with open(out) as file:
            assert json.load(file)["converged"] is False

        if not LAUNCHER:
            check_orthogonalisations(out)

        with open(matrix, "w") as file:
            file.write("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 1\n")
        for arguments, message in (
            (["--matrix", matrix, "--nev", 1], "matrix.mtx:3: the file ends after 1 of 2 entries"),
            (["--matrix", os.path.join(folder, "none.mtx")], "none.mtx: cannot be read"),
            (["--problem", "nothing"], "--problem"),
            (["--frobnicate"], "frobnicate"),
            (["--checkpoint", out, "--checkpoint-every", "nan"], "expected 0 minutes or more"),
            (["--orth", "magic"], "magic"),
            (["--problem", "graphene", "--grid", 4, 4, "--flux", 1, 3], "does not fit"),
            (["--sites", 4, "--nev", 7], "7 eigenpairs were asked of a matrix with 6 rows"),
            (["--problem", "laplacian", "--grid", 100, "--nev", 0], "0 eigenpairs"),
            (["--problem", "laplacian", "--grid", 100, "--filter", 5000], "degree 5000 overflows; the greatest sensible one is 300"),
            (["--matrix", matrix, "--grid", 4, 4], "--grid and --matrix exclude each other"),
            (["--matrix", matrix, "--sites", 4], "--sites and --matrix exclude each other"),
            (["--matrix", matrix, "--problem", "laplacian"], "--problem and --matrix exclude each other"),
            (["--problem", "laplacian", "--grid", 9, "--periodic"], "--periodic is no option of --problem laplacian"),
            (["--mass", mass, "--sites", 10], "it has 81 rows, and the other matrix of the pair has 252"),
            (["--method", "lobpcg", "--filter", 3], "--filter is no option of --method lobpcg"),
            (["--guard", 3, "--method", "lanczos"], "--guard is no option of --method lanczos"),
            (["--filter-precision", "single", "--method", "lobpcg"], "--filter-precision is no option of --method lobpcg"),
            (["--filter-precision", "single", "--matrix-free"], "--filter-precision single needs a stored matrix"),
            (["--target", 3, "--interval", 1, 2], "takes one of --target and --interval"),
            (["--interval", 2, 1], "--interval takes its lower end and then its upper one"),
            (["--target", 3, "--which", "largest"], "--which is no option of --method interior"),
            (["--target", 3, "--interval", 1, 2, "--method", "dense"], "--target and --interval exclude each other"),
            (["--interval", 1, 2, "--which", "largest", "--method", "dense"], "--interval and --which exclude each other"),
            (["--method", "dense", "--max-iterations", 9], "--max-iterations is no option of --method dense"),
            (["--method", "dense", "--checkpoint", out], "--checkpoint is no option of --method dense"),
            (["--method", "dense", "--orth", "bcgs2/svqb"], "--orth is no option of --method dense"),
            (["--method", "dense", "--problem", "laplacian", "--grid", 40000], "LAPACK's indices reach 32766 rows"),
            (["--target", 3, "--nev", 0], "0 eigenpairs"),
            (["--target", 3, "--which", "largest", "--method", "jacobi-davidson"], "--target and --which exclude each other"),
            (["--target", 3, "--preconditioner", "chebyshev"], "helps at an end of the spectrum, not near --target"),
            (["--preconditioner", "block-jacobi:0"], "block-jacobi[:SIZE] with 1 to 1024 rows"),
            (["--preconditioner", "jacobi:4"], "not jacobi:4"),
            (["--problem", "laplacian", "--matrix-free"], "--matrix-free is no option of --problem laplacian"),
            (["--grid", 9, 9], "--grid is no option of --problem heisenberg, the default"),
            (["--problem", "laplacian", "--grid", 100, "--json", os.path.join(folder, "matrix.mtx", "x.json")], "cannot be written"),
        ):
            errors = run(*arguments, status=2).stderr
            assert message in errors, (message, errors)
        assert "--max-restarts" in run("--help").stdout


main()
