// Uses BlockVec::orth as an outside program does: grows an orthonormal basis by two blocks and measures it.
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <cmath>
#include <cstdio>
#include <limits>

int main(int argc, char** argv) {
  blockvec::Environment environment(argc, argv);
  const auto context = blockvec::Context::world();
  const auto rows = blockvec::RowDistribution::uniform(1000, context.communicator());
  blockvec::BlockVector<double> basis(context, rows, 8, "basis");
  blockvec::fill_random(basis, 1);

  blockvec::orth::Orthogonalizer orthogonalizer(context);
  for (int j = 0; j < 8; j += 4) {
    const auto result = orthogonalizer.project_and_normalize(basis.columns(0, j), basis.columns(j, j + 4));
    if (result.rank != 4) return 1;
  }
  const double loss = blockvec::orth::orthogonality_loss(basis);
  std::printf("||V^T V - I|| = %.2e\n", loss);
  return loss <= 100 * 8 * std::numeric_limits<double>::epsilon() ? 0 : 1;
}
