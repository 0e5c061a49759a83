"""Products and orthogonalisation of NumPy arrays: any shape, order, stride and dtype, within bounds of rounding."""

from __future__ import annotations

import conftest
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import blockvec as bv

dtypes = st.sampled_from(conftest.DTYPES)
orders = st.sampled_from(["C", "F"])


@st.composite
def tall(draw, rows, columns, dtype, order):
    """A view with gaps around it: rows and columns of a larger array, in the given order."""
    above, beside, behind = draw(st.integers(0, 2)), draw(st.integers(0, 3)), draw(st.integers(0, 3))
    seed = draw(st.integers(0, 2**16))
    random = np.random.default_rng(seed)
    whole = random.standard_normal((rows + 2 * above, beside + columns + behind))
    if np.dtype(dtype).kind == "c":
        whole = whole + 1j * random.standard_normal(whole.shape)
    whole = np.asarray(whole, dtype=dtype, order=order)
    return whole[above : above + rows, beside : beside + columns]


@st.composite
def pair(draw, most_columns=6):
    rows = draw(st.sampled_from([0, 1, 2, 7, 64, 1000]))
    dtype, order = draw(dtypes), draw(orders)
    widths = draw(st.tuples(st.integers(0, most_columns), st.integers(0, most_columns)))
    return tuple(draw(tall(rows, width, dtype, order)) for width in widths)


def gamma(n, dtype):
    """Of n products and sums, with the factor of complex numbers."""
    u = float(np.finfo(dtype).eps) / 2
    return 2 * np.sqrt(2) * (n + 4) * u


def wide(array):
    return np.asarray(array, dtype=np.clongdouble)


@given(pair())
def test_inner_product(operands):
    v, w = operands
    c = bv.inner_product(v, w)
    exact = wide(v).conj().T @ wide(w)
    bound = gamma(len(v), v.dtype) * (np.abs(v).T.astype(float) @ np.abs(w).astype(float))
    assert c.shape == exact.shape and c.dtype == v.dtype
    assert np.all(np.abs(c - exact) <= bound)


@given(pair())
def test_gram_and_out(operands):
    v, _ = operands
    out = np.full((v.shape[1], v.shape[1]), np.nan, dtype=v.dtype)
    assert bv.gram(v, out=out) is out
    assert np.array_equal(out, bv.inner_product(v, v))
    twice = bv.inner_product(v, v, out=out.copy(), alpha=0.5, beta=1.5)
    assert np.allclose(twice, 2 * out, rtol=8 * np.finfo(v.dtype).eps)


@given(pair(), st.sampled_from([0, 1, -0.5]), st.sampled_from([1, 2.5]), st.integers(0, 99))
def test_update(operands, beta, alpha, seed):
    w, v = operands
    c = np.random.default_rng(seed).standard_normal((v.shape[1], w.shape[1])).astype(w.dtype)
    exact = alpha * wide(v) @ wide(c) + beta * wide(w)
    size = abs(alpha) * np.abs(v).astype(float) @ np.abs(c).astype(float) + abs(beta) * np.abs(w).astype(float)
    whole = w.base
    before, after = whole.copy(), whole.copy()
    assert bv.update(w, v, c, alpha=alpha, beta=beta) is w
    assert np.all(np.abs(w - exact) <= gamma(v.shape[1] + 2, w.dtype) * size)
    after[...] = whole
    w[...] = 0
    inside = whole != after  # all but zeros of W: nothing else has changed
    assert np.array_equal(after[~inside & (after != 0)], before[~inside & (after != 0)])


@given(pair(), st.sampled_from([None, "upper", "lower"]), st.integers(0, 99))
def test_multiply_in_place(operands, triangle, seed):
    v, _ = operands
    m = v.shape[1]
    n = m if triangle else seed % (m + 1)
    c = np.random.default_rng(seed).standard_normal((m, n)).astype(v.dtype)
    taken = {"upper": np.triu, "lower": np.tril, None: np.asarray}[triangle](c)
    exact, size = wide(v) @ wide(taken), np.abs(v).astype(float) @ np.abs(taken).astype(float)
    rest = v[:, n:].copy()
    result = bv.multiply_in_place(v, c, triangle=triangle)
    assert np.shares_memory(result, v) or result.size == 0
    assert np.all(np.abs(result - exact) <= gamma(m, v.dtype) * size)
    assert np.array_equal(v[:, n:], rest)


def test_columns_of_one_array_beside_one_another(random):
    x = random.standard_normal((5000, 8))
    exact = x[:, 4:] - x[:, :4] @ np.ones((4, 4))
    bv.update(x[:, 4:], x[:, :4], np.ones((4, 4)), alpha=-1)
    assert np.abs(x[:, 4:] - exact).max() <= 64 * np.finfo(float).eps * np.abs(x).max()


def check_orthonormal(q, scale=1.0):
    loss = np.linalg.norm(np.eye(q.shape[1]) - wide(q).conj().T @ wide(q))
    assert loss <= scale * 64 * max(1, q.shape[1]) * np.finfo(q.dtype).eps


@given(pair(), st.sampled_from([0.0, 4.0, 12.0]))
def test_qr(operands, digits):
    x, _ = operands
    if x.shape[0] < x.shape[1]:
        return
    columns = x.shape[1]
    x = x * np.logspace(0, -digits, columns).astype(x.dtype) if columns else x
    if columns > 2:  # nearly dependent columns beside bad scales
        x[:, -1] = x[:, 0] + x[:, -1] * np.finfo(x.dtype).eps
    x = x.astype(x.dtype)
    q, r = bv.qr(x)
    assert q.dtype == r.dtype == x.dtype and r.shape == (columns, columns)
    check_orthonormal(q)
    assert np.array_equal(r, np.triu(r))
    lengths = np.linalg.norm(wide(x), axis=0).astype(float)
    left = np.linalg.norm(wide(x) - wide(q) @ wide(r), axis=0).astype(float)
    assert np.all(left <= 64 * max(1, columns) * np.finfo(x.dtype).eps * lengths)


@given(st.integers(0, 5), st.integers(0, 5), dtypes, orders, st.integers(0, 999))
def test_orthonormalize_beside_a_basis(m, b, dtype, order, seed):
    random = np.random.default_rng(seed)
    v = np.linalg.qr(random.standard_normal((300, m)))[0]
    v = np.asarray(v, dtype=dtype, order=order)
    x = np.asarray(random.standard_normal((300, b)), dtype=dtype, order=order)
    before = x.copy()
    found = bv.orthonormalize(x, basis=v)
    assert np.array_equal(x, before) and found.rank == b and found.lost == [] and found.orthonormal
    check_orthonormal(np.hstack([v, found.Q]))
    rest = wide(x) - wide(v) @ wide(found.S) - wide(found.Q) @ wide(found.R)
    assert np.linalg.norm(rest) <= 64 * (m + b) * np.finfo(dtype).eps * np.linalg.norm(x)
    pieces = [v[:, : m // 2], v[:, m // 2 :]]
    same = bv.orthonormalize(x, basis=pieces)
    assert same.S.shape == (m, b)
    check_orthonormal(np.hstack([v, same.Q]))


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 2), dtypes, orders, st.integers(0, 999))
def test_orthonormalize_behind_a_basis(m, b, gap, dtype, order, seed):
    random = np.random.default_rng(seed)
    whole = np.asarray(random.standard_normal((300, m + gap + b)), dtype=dtype, order=order)
    v, between, x = whole[:, :m], whole[:, m : m + gap], whole[:, m + gap :]
    v[...] = np.linalg.qr(v)[0]
    before, basis, others = x.copy(), v.copy(), between.copy()
    found = bv.orthonormalize(x, basis=v, overwrite_x=True)
    assert found.Q is x and np.array_equal(v, basis) and np.array_equal(between, others)
    check_orthonormal(np.hstack([v, x]))
    rest = wide(before) - wide(v) @ wide(found.S) - wide(x) @ wide(found.R)
    assert np.linalg.norm(rest) <= 64 * (m + b) * np.finfo(dtype).eps * np.linalg.norm(before)
    if gap == 0:
        before[3, 0] = x[3, 0] = np.nan
        with pytest.raises(bv.NotFiniteError, match="NaN"):
            bv.orthonormalize(x, basis=v, overwrite_x=True)


@pytest.mark.parametrize("dtype", conftest.DTYPES)
def test_dependent_columns(dtype, random):
    x = random.standard_normal((500, 5)).astype(dtype)
    x[:, 3] = x[:, 0] - x[:, 1]
    found = bv.orthonormalize(x)
    assert (found.rank, found.lost) == (4, [3])
    check_orthonormal(found.Q)
    dropped = bv.orthonormalize(x, deficient="drop")
    assert not dropped.Q[:, 4].any() and dropped.rank == 4
    check_orthonormal(dropped.Q[:, :4])
    with pytest.raises(bv.RankError):
        bv.orthonormalize(x, deficient="report")
    zeros = bv.orthonormalize(np.zeros((50, 3), dtype))
    assert zeros.rank == 0
    check_orthonormal(zeros.Q)


@pytest.mark.parametrize("method", ["bcgs2/svqb", "pip/cholqr", "pip-dd/dd-cholqr2", "/tsqr", "/cgs2"])
def test_methods(method, random):
    v = bv.qr(random.standard_normal((400, 3)))[0]
    found = bv.orthonormalize(random.standard_normal((400, 4)), basis=v, method=method)
    check_orthonormal(np.hstack([v, found.Q]))


def test_overwrite(random):
    x = random.standard_normal((400, 4))
    found = bv.orthonormalize(x, overwrite_x=True)
    assert found.Q is x
    q, _ = bv.qr(x, overwrite_x=True)
    assert q is x
    out, _ = bv.project(x, np.eye(400, 2), overwrite_x=True)
    assert out is x and np.abs(x[:2]).max() <= 8 * np.finfo(float).eps


@pytest.mark.parametrize("order", ["C", "F"])
def test_project(order, random):
    v = np.asarray(np.linalg.qr(random.standard_normal((700, 3)))[0], order=order)
    x = np.asarray(random.standard_normal((700, 2)), order="C")  # its copy takes the basis's order
    rest, s = bv.project(x, v)
    assert np.linalg.norm(v.T @ rest) <= 64 * np.finfo(float).eps * np.linalg.norm(x)
    assert np.linalg.norm(x - v @ s - rest) <= 64 * np.finfo(float).eps * np.linalg.norm(x)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["sparse", "function"])
def test_metric(kind, order, random):
    b = conftest.laplacian(20, 2) + conftest.laplacian(20, 2).T  # positive definite
    x = np.asarray(random.standard_normal((400, 3)), order=order)
    found = bv.orthonormalize(x, metric=b if kind == "sparse" else lambda block: b @ block)
    loss = found.Q.T @ (b @ found.Q) - np.eye(3)
    assert np.linalg.norm(loss) <= 64 * 3 * np.finfo(float).eps
    assert np.linalg.norm(x - found.Q @ found.R) <= 64 * 3 * np.finfo(float).eps * np.linalg.norm(x)


def test_many_columns(random):
    x = random.standard_normal((600, 200))
    check_orthonormal(bv.qr(x)[0])


def test_any_number_of_threads_same_bits(random):
    x = random.standard_normal((5000, 4))
    assert np.array_equal(bv.gram(x, threads=1), bv.gram(x, threads=2))
    assert np.array_equal(bv.qr(x, threads=1)[0], bv.qr(x, threads=2)[0])


def test_read_only_operands(random):
    x = random.standard_normal((100, 3))
    x.flags.writeable = False
    bv.gram(x)
    bv.qr(x)
    bv.update(np.zeros((100, 3)), x, np.eye(3))


def test_explain_and_config(random):
    x = np.ones((1000, 4))
    for function, arrays in {
        bv.gram: (x,),
        bv.inner_product: (x, x),
        bv.update: (x, x, np.eye(4)),
        bv.multiply_in_place: (x, np.eye(4)),
    }.items():
        assert "1000 x 4" in bv.explain(function, *arrays)
    config = bv.show_config()
    assert config["version"] == bv.__version__ and config["threads"] >= 1
    assert {"commit", "kokkos", "compiler", "mpi", "python", "numpy", "scipy"} <= config.keys()
