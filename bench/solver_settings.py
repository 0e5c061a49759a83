"""The settings of each library that solver_peers.py tries on a problem."""

# Likely winners first: `few` of them have to do for large problems. ncv 0: the library's own choice.
SLEPC = [
    {"method": "krylovschur", "ncv": 0},
    {"method": "krylovschur", "ncv": 40},
    {"method": "krylovschur", "filter": 10, "ncv": 40},
    {"method": "krylovschur", "ncv": 80},
    {"method": "krylovschur", "filter": 20, "ncv": 40},
    {"method": "lobpcg", "block": 8, "pc": "none"},
    {"method": "gd", "block": 4, "ncv": 40, "pc": "none"},
]
PRIMME = [
    {"method": "DYNAMIC", "block": 1, "ncv": 40},
    {"method": "JDQMR_ETol", "block": 1, "ncv": 40},
    {"method": "GD_Olsen_plusK", "block": 1, "ncv": 40},
    {"method": "LOBPCG_OrthoBasis", "block": 0},
    {"method": "GD_Olsen_plusK", "block": 4, "ncv": 60},
    {"method": "GD_Olsen_plusK", "block": 8, "ncv": 80},
    {"method": "JDQMR_ETol", "block": 4, "ncv": 60},
]
FEW = {"BlockVec": 2, "SLEPc": 3, "PRIMME": 2, "ARPACK": 2, "SciPy lobpcg": 0}
SETTINGS = {
    "BlockVec": [{"method": name} for name in ("lanczos", "chebyshev", "lobpcg", "jacobi-davidson")],
    "SLEPc": SLEPC,
    "PRIMME": PRIMME,
    "ARPACK": [{"ncv": 0}, {"ncv": 60}],
    "SciPy lobpcg": [{"guard": 0}, {"guard": 4}],
}
ON_PAIRS = {
    "BlockVec": [{"method": name, "preconditioner": "jacobi"} for name in ("lobpcg", "jacobi-davidson")]
    + [{"method": "chebyshev"}, {"method": "lanczos"}],
    "SLEPc": [
        {"method": "lobpcg", "block": 8, "pc": "jacobi"},
        {"method": "gd", "block": 1, "ncv": 40, "pc": "jacobi"},
    ],
    "PRIMME": PRIMME,
    "ARPACK": [],  # would need B's inverse
    "SciPy lobpcg": [{"guard": 0}, {"guard": 4}],
}
REFINED = {"ncv": 100, "projection_projection": "primme_proj_refined"}
INTERIOR = [{"method": "interior"}, {"method": "interior", "block": 1}]
INSIDE = {
    "SLEPc": [{"method": "krylovschur", "filter": degree, "ncv": 40} for degree in (100, 200, 400)],
    "PRIMME": [{"method": "GD_Olsen_plusK", "block": 1} | REFINED, {"method": "JDQMR_ETol", "block": 1} | REFINED],
    "ARPACK": [],  # would need a factorisation
    "SciPy lobpcg": [],
}
INSIDE_ON_PAIRS = INSIDE | {
    "SLEPc": [],  # its filter would need a factorisation of B
    "PRIMME": [{"method": name, "block": 1, "ncv": 100} for name in ("GD_Olsen_plusK", "JDQMR_ETol")],
}


MOST_DENSE_ROWS = 1000  # of which we try the whole spectrum


def settings_of(problem, is_pair, rows):
    """{library: settings} for this problem."""
    if not problem.is_inside():
        settings = ON_PAIRS if is_pair else SETTINGS
        ours = settings["BlockVec"]
    else:
        settings = INSIDE_ON_PAIRS if is_pair else INSIDE
        davidson = {"method": "jacobi-davidson"}
        ours = INTERIOR[:1] if is_pair else INTERIOR
        if not problem.interval:
            ours = [davidson, davidson | {"block": 2}] + [davidson | {"preconditioner": "block-jacobi"}] * is_pair + ours
    return settings | {"BlockVec": ours + [{"method": "dense"}] * (rows <= MOST_DENSE_ROWS)}
