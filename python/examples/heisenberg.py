"""The lowest energies of a ring of 12 spins, from a scipy.sparse matrix."""

import numpy as np
import scipy.sparse

import blockvec as bv

SITES = 12


def heisenberg_ring(sites: int) -> scipy.sparse.csr_matrix:
    """H = sum of S_i S_{i+1}: a state is a number whose bits are the spins."""
    states = np.arange(2**sites)
    rows, columns, values = [states], [states], [np.zeros(2**sites)]
    for site in range(sites):
        pair = (1 << site) | (1 << (site + 1) % sites)
        differ = np.isin(states & pair, (0, pair), invert=True)
        values[0] += np.where(differ, -0.25, 0.25)
        rows.append(states[differ])
        columns.append(states[differ] ^ pair)
        values.append(np.full(differ.sum(), 0.5))
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    return scipy.sparse.coo_matrix(entries).tocsr()


result = bv.eigsh(heisenberg_ring(SITES), k=8, which="SA")
print(result.report())

try:
    figure = bv.plot_convergence(result).figure
    figure.savefig("heisenberg.png")
except ImportError:
    print("install matplotlib for the picture")

# Prints:
#     -5.387390917445
#     -5.03154340374
# converged: residual <=
