"""An operator without a matrix: a particle on a grid of 40 x 40 points in a harmonic trap."""

import numpy as np

import blockvec as bv

POINTS, WIDTH = 40, 12.0
STEP = WIDTH / (POINTS + 1)
X = np.linspace(-WIDTH / 2, WIDTH / 2, POINTS + 2)[1:-1]
POTENTIAL = 0.5 * (X[:, None] ** 2 + X**2)


def multiply(block: np.ndarray) -> np.ndarray:
    """H psi for all columns at once: kinetic energy by differences, and the trap."""
    psi = block.reshape(POINTS, POINTS, -1)
    result = (POTENTIAL[:, :, None] + 2 / STEP**2) * psi
    result[1:] -= psi[:-1] / (2 * STEP**2)
    result[:-1] -= psi[1:] / (2 * STEP**2)
    result[:, 1:] -= psi[:, :-1] / (2 * STEP**2)
    result[:, :-1] -= psi[:, 1:] / (2 * STEP**2)
    return result.reshape(block.shape)


steps = []
H = bv.Operator(multiply, (POINTS**2, POINTS**2))
energies, states = bv.eigsh(H, k=6, which="SA", callback=steps.append)
print("energies", energies.round(3))
print("in the whole plane: 1, 2, 2, 3, 3, 3")
print(len(steps), "steps")

# Prints:
# energies [0.995 1.984 1.984 2.962 2.962 2.973]
