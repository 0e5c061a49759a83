"""Tall matrices in NumPy's memory: products, a factorisation, a block beside a basis."""

import numpy as np

import blockvec as bv

random = np.random.default_rng(1)
X = random.standard_normal((200_000, 24))

Q, R = bv.qr(X)
print("loss of orthogonality", "small" if abs(bv.gram(Q) - np.eye(24)).max() < 1e-14 else "large")
print(bv.explain(bv.gram, Q))

# The next block, orthogonal to Q, in two sweeps. Its last column depends on Q and is replaced.
W = random.standard_normal((200_000, 4))
W[:, 3] = Q[:, 0] - Q[:, 1]
found = bv.orthonormalize(W, basis=Q)
print("rank", found.rank, "of 4, dependent columns", found.lost, "by", found.method)
print("beside the basis:", "orthogonal" if abs(bv.inner_product(Q, found.Q)).max() < 1e-14 else "not orthogonal")

# Prints:
# loss of orthogonality small
# rank 3 of 4, dependent columns [3] by
# beside the basis: orthogonal
