"""Whatever does not fit is refused by a message in the caller's terms."""

from __future__ import annotations

import conftest
import numpy as np
import pytest
import scipy.sparse

import blockvec as bv

A = conftest.laplacian(6, 2)
N = A.shape[0]
V = np.ones((10, 3))


def nan_at(row, column, shape=(10, 3)):
    array = np.ones(shape)
    array[row, column] = np.nan
    return array


def read_only():
    array = np.ones((10, 3))
    array.flags.writeable = False
    return array


EIGSH = [
    ((A, 3), {}, TypeError, "which is missing.*SA.*LA"),
    ((A, 3), {"which": "LM"}, ValueError, "which='LM'.*'SA'.*'LA'.*sigma"),
    ((A, 3), {"which": "SA", "sigma": 1}, ValueError, "which='SA' beside sigma"),
    ((A, 3), {"sigma": 1, "interval": (0, 1)}, ValueError, "both given"),
    ((A,), {"interval": (1, 0)}, ValueError, "lower one first"),
    ((A, 37), {"which": "SA"}, bv.ShapeError, "k=37.*36 rows"),
    ((A, 0), {"which": "SA"}, ValueError, "k=0: expected 1"),
    ((A, 2.5), {"which": "SA"}, TypeError, "k=2.5: expected a whole number"),
    ((A[:5], 2), {"which": "SA"}, bv.ShapeError, r"A has the shape \(5, 36\): expected a square"),
    ((A, 2, A[:5, :5]), {"which": "SA"}, bv.ShapeError, r"M has the shape \(5, 5\): expected \(36, 36\)"),
    ((A, 2, -A), {"which": "SA"}, ValueError, "M is not positive definite"),
    ((scipy.sparse.triu(A), 2), {"which": "SA"}, ValueError, r"A is not Hermitian.*x\^H A y is"),
    ((1j * A, 2), {"which": "SA"}, ValueError, "A is not Hermitian"),
    ((A.toarray().astype(object), 2), {"which": "SA"}, TypeError, "A has the dtype object: expected float32"),
    ((A.toarray().astype(np.longdouble), 2), {"which": "SA"}, TypeError, "A has the dtype (float128|longdouble)"),
    ((lambda x: x, 2), {"which": "SA"}, TypeError, "A is a function.*blockvec.Operator"),
    (("matrix", 2), {"which": "SA"}, TypeError, "A is a str: expected a scipy.sparse matrix"),
    ((np.ones(5), 2), {"which": "SA"}, bv.ShapeError, r"A has the shape \(5,\)"),
    ((A, 2), {"which": "SA", "method": "arpack"}, ValueError, "method='arpack': expected 'auto', 'lanczos'"),
    (
        (A, 2),
        {"which": "SA", "method": "lanczos", "preconditioner": "jacobi"},
        ValueError,
        "'lanczos' takes no preconditioner: 'lobpcg' and",
    ),
    ((A, 2), {"which": "SA", "method": "chebyshev", "preconditioner": "jacobi"}, ValueError, "no preconditioner"),
    ((A, 2), {"sigma": 1, "method": "lobpcg"}, ValueError, "takes no sigma: .* and 'interior' and 'dense' do"),
    ((A, 2), {"which": "SA", "method": "lanczos", "filter_precision": "single"}, ValueError, "no filter_precision"),
    ((A, 2), {"which": "SA", "filter_precision": "half"}, ValueError, "expected 'double' or 'single'"),
    ((A.toarray(), 2), {"which": "SA", "filter_precision": "single"}, TypeError, "needs a sparse matrix, A is none"),
    ((A, 2), {"which": "SA", "method": "interior"}, ValueError, "needs sigma or interval"),
    ((A, 2), {"sigma": 1, "preconditioner": "chebyshev"}, ValueError, "'chebyshev' helps at an end"),
    ((A, 2), {"interval": (1, 2), "preconditioner": "jacobi"}, ValueError, "no method takes interval and precond"),
    ((A, 2), {"interval": (1, 2), "method": "jacobi-davidson"}, ValueError, "no interval: 'interior' and 'dense' do"),
    ((A, 2), {"which": "SA", "Minv": A}, ValueError, "Minv is given, but no M"),
    ((A, 2, A), {"which": "SA", "Minv": A, "preconditioner": "jacobi"}, ValueError, "no method takes .*Minv and pre"),
    ((A, 2, A), {"which": "SA", "Minv": A, "method": "lobpcg"}, ValueError, "takes no Minv: .*'chebyshev' and"),
    ((A, 36), {"which": "SA", "Y": np.eye(36, 2)}, bv.ShapeError, "k=36 .*36 rows beside 2 constraints"),
    ((A, 2), {"which": "SA", "method": "lobpcg", "block": 2}, ValueError, "takes no block: ncv"),
    ((A, 5), {"which": "SA", "ncv": 3}, ValueError, "ncv=3: expected at least k=5"),
    ((A, 5), {"which": "SA", "ncv": 6}, ValueError, "a basis of 6 columns is too small"),
    ((A, 2), {"which": "SA", "tol": -1}, ValueError, "tol=-1"),
    ((A, 2), {"which": "SA", "tol": 1e-17}, ValueError, "tol=1.0e-17 is below 3.6e-15.*tol=0"),
    ((A, 2), {"which": "SA", "maxiter": 0}, ValueError, "maxiter=0: expected 1"),
    ((A, 2), {"which": "SA", "threads": 0}, ValueError, "threads=0"),
    ((A, 2), {"which": "SA", "rng": "one"}, TypeError, "rng='one'"),
    ((A, 2), {"which": "SA", "v0": np.ones(5)}, bv.ShapeError, r"v0 has the shape \(5,\): expected \(36,\)"),
    ((A, 2), {"which": "SA", "v0": np.full(N, np.inf)}, bv.NotFiniteError, "v0 has NaN or Inf"),
    ((A, 2), {"which": "SA", "preconditioner": "ilu"}, ValueError, "preconditioner='ilu': expected 'jacobi'"),
    ((bv.Operator(A.dot, A.shape), 2), {"which": "SA", "preconditioner": "jacobi"}, ValueError, "diagonal of A"),
    ((A, 2, A), {"which": "SA", "preconditioner": "chebyshev"}, ValueError, "knows no M"),
    ((np.full((5, 5), np.nan), 2), {"which": "SA"}, bv.NotFiniteError, "A X has NaN or Inf in column 0"),
    ((bv.Operator(lambda x: x[:-1], (9, 9)), 2), {"which": "SA"}, bv.ShapeError, r"A X has the shape \(8, 2\)"),
    ((bv.Operator(lambda x: 1j * x, (9, 9)), 2), {"which": "SA"}, TypeError, "A X has the dtype complex128"),
]


@pytest.mark.parametrize("arguments, options, error, message", EIGSH, ids=[row[3][:24] for row in EIGSH])
def test_eigsh(arguments, options, error, message):
    with pytest.raises(error, match=message):
        bv.eigsh(*arguments, **options)


DENSE = [
    (bv.gram, ([[1.0]],), {}, TypeError, "V is a list: expected a numpy.ndarray"),
    (bv.gram, (np.ones((3, 2), int),), {}, TypeError, "V has the dtype int64: expected float32"),
    (bv.gram, (np.ones((3, 2), ">f8"),), {}, TypeError, "V has the dtype >f8"),
    (bv.gram, (np.ma.masked_array(V),), {}, TypeError, "V is a MaskedArray"),
    (bv.gram, (np.ones(3),), {}, bv.ShapeError, r"V has the shape \(3,\).*V\[:, None\]"),
    (bv.gram, (np.ones((6, 6))[::2, ::2],), {}, ValueError, "V has the strides.*ascontiguousarray"),
    (bv.gram, (nan_at(4, 1),), {}, bv.NotFiniteError, "V has NaN or Inf in column 1"),
    (bv.gram, (np.full((10, 1), 1e200),), {}, bv.NotFiniteError, "overflows float64"),
    (bv.inner_product, (V, np.ones((9, 3))), {}, bv.ShapeError, r"V has the shape \(10, 3\), W \(9, 3\)"),
    (bv.inner_product, (V, V.astype("f")), {}, TypeError, "V has the dtype float64, W float32"),
    (bv.inner_product, (V, np.asfortranarray(V)), {}, ValueError, "V is in C order, W is in Fortran order"),
    (bv.inner_product, (V, nan_at(0, 2)), {}, bv.NotFiniteError, "W has NaN or Inf in column 2"),
    (bv.inner_product, (V, V), {"out": np.ones((2, 3))}, bv.ShapeError, r"out is \(2, 3\)"),
    (bv.inner_product, (V, V), {"out": V[:3]}, ValueError, "out and V share memory"),
    (bv.inner_product, (V, V), {"alpha": 1j}, TypeError, "alpha=1j is complex"),
    (bv.update, (V, V, np.eye(3)), {}, ValueError, "W and V share memory"),
    (bv.update, (read_only(), V, np.eye(3)), {}, ValueError, "W is read-only"),
    (bv.update, (np.ones((10, 2)), V, np.eye(3)), {}, bv.ShapeError, r"C has the shape \(3, 3\): expected \(3, 2\)"),
    (bv.update, (np.ones((10, 3)), V, 1j * np.eye(3)), {}, TypeError, "C has the dtype complex128"),
    (bv.update, (np.ones((10, 3)), V, nan_at(1, 2, (3, 3))), {}, bv.NotFiniteError, "C has NaN or Inf in column 2"),
    (bv.update, (np.ones((10, 3)), V, np.eye(3)), {"beta": np.inf}, bv.NotFiniteError, "beta=inf"),
    (bv.multiply_in_place, (V.copy(), np.ones((3, 4))), {}, bv.ShapeError, "at most 3 columns"),
    (bv.multiply_in_place, (V.copy(), np.ones((2, 2))), {}, bv.ShapeError, r"expected \(3, 2\)"),
    (bv.multiply_in_place, (V.copy(), np.eye(3)), {"triangle": "left"}, ValueError, "triangle='left'"),
    (bv.qr, (np.ones((2, 3)),), {}, bv.ShapeError, "at least as many rows as columns"),
    (bv.qr, (nan_at(4, 1),), {}, bv.NotFiniteError, "X .*column 1"),
    (bv.orthonormalize, (V,), {"method": "magic"}, ValueError, "magic.*bcgs2"),
    (bv.orthonormalize, (V,), {"deficient": "ignore"}, ValueError, "deficient='ignore'"),
    (bv.orthonormalize, (V,), {"deficient": "report"}, bv.RankError, "rank"),
    (bv.orthonormalize, (V,), {"basis": np.ones((9, 1))}, bv.ShapeError, r"X has the shape \(10, 3\), basis \(9, 1\)"),
    (bv.orthonormalize, (V,), {"basis": [V[:, :1]] * 5}, bv.ShapeError, "basis has 5 arrays"),
    (bv.orthonormalize, (V,), {"basis": V[:, :1], "overwrite_x": True}, ValueError, "X and basis share memory"),
    (bv.orthonormalize, (V,), {"metric": -np.eye(10)}, ValueError, "metric is not positive definite"),
    (bv.orthonormalize, (V,), {"metric": np.eye(9)}, bv.ShapeError, r"metric has the shape \(9, 9\)"),
    (bv.project, (V, None), {}, TypeError, "basis is None"),
    (bv.explain, (bv.qr, V), {}, ValueError, "function is 'qr': expected one of inner_product"),
    (bv.explain, (bv.gram, V, V), {}, TypeError, "gram takes V: 2 arrays"),
    (bv.Operator, (3, (2, 2)), {}, TypeError, "matmat is a int"),
]


@pytest.mark.parametrize("function, arguments, options, error, message", DENSE, ids=[row[4][:24] for row in DENSE])
def test_dense(function, arguments, options, error, message):
    before = [np.copy(one) for one in arguments if isinstance(one, np.ndarray)]
    with pytest.raises(error, match=message):
        function(*arguments, **options)
    after = [one for one in arguments if isinstance(one, np.ndarray)]
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(before, after))


def test_sparse_matrix_with_nan():
    a = A.copy()
    a.data[7] = np.inf
    with pytest.raises(bv.NotFiniteError):
        bv.eigsh(a, 2, which="SA")


def test_classes():
    for error in (bv.ShapeError, bv.InputError, bv.NotFiniteError):
        assert issubclass(error, bv.BlockVecError) and issubclass(error, ValueError)
    assert issubclass(bv.NoConvergence, bv.BlockVecError) and issubclass(bv.RankError, bv.BlockVecError)
