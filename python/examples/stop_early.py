"""What a search that is not over has: a callback that ends it, and the exception of one that gives up."""

import numpy as np
import scipy.sparse

import blockvec as bv

A = scipy.sparse.diags(np.linspace(0, 1, 2000)).tocsr()


def enough(step: bv.Step) -> None:
    if step.converged >= 2:
        raise StopIteration


result = bv.eigsh(A, k=10, which="SA", method="lobpcg", callback=enough)
print("at least two:", len(result.eigenvalues) >= 2, "because:", result.reason)

try:
    bv.eigsh(A, k=10, which="SA", tol=1e-13, maxiter=1)
except bv.NoConvergence as error:
    print("not all of 10 pairs:", len(error.eigenvalues) < 10)

# Prints:
# at least two: True because: on request
# not all of 10 pairs: True
