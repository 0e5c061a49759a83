#pragma once

namespace blockvec::examples {

/// Ground-state energy per site of the Heisenberg ring (J = 1, an even number of sites >= 4), from the Bethe equations
///     sites * 2 atan(2 x_j) = 2 pi I_j + sum over k of 2 atan(x_j - x_k),   I_j = -(sites/2 - 1)/2, ..., (sites/2 -
///     1)/2, E / sites = 1/4 - (1/sites) sum over j of 2 / (4 x_j^2 + 1),
/// iterated to rounding. Sources: Bethe, Z. Phys. 71 (1931) 205; Hulthen, Ark. Mat. Astron. Fys. 26A (1938) 1.
double bethe_energy_per_site(int sites);

/// The same for infinitely many sites: 1/4 - ln 2.
double hulthen_energy_per_site();

}  // namespace blockvec::examples
