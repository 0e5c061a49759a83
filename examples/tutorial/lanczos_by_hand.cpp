// Tutorial 3: block Lanczos in its simplest form, from the operations of block vectors. The library's own has restarts,
// a filter and a search for copies; the recurrence is this one.
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/dense.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <cmath>
#include <cstdio>

namespace {

using Block = blockvec::BlockVector<double>;
using Small = blockvec::SmallMatrix<double>;
constexpr std::int64_t n = 4000, width = 2, columns = 80;

// A diagonal matrix with 0 and 0, then 1 to 2: its lowest eigenvalue has two copies.
double entry(std::int64_t i) { return i < 2 ? 0 : 1 + static_cast<double>(i) / n; }

void multiply(const Block& x, const Block& y) {
  const auto in = x.view(), out = y.view();
  for (std::int64_t i = 0; i < x.local_rows(); ++i) {
    for (std::int64_t j = 0; j < x.width(); ++j) out(i, j) = entry(x.rows().begin() + i) * in(i, j);
  }
}

int run() {
  const auto context = blockvec::Context::world();
  const auto rows = blockvec::RowDistribution::uniform(n, context.communicator());
  const Block basis(context, rows, columns, "basis"), image(context, rows, columns, "A basis");
  blockvec::orth::Orthogonalizer orthogonalizer(context);

  // A random block to begin with, made orthonormal. The result tells whether that worked, and what it took.
  blockvec::fill_random(basis.columns(0, width), 1);
  bool is_basis = orthogonalizer.normalize(basis.columns(0, width)).orthonormal;

  // A times the last block, orthogonal to all before it, is the next block. Columns are views of the one allocation.
  for (std::int64_t j = 0; j + width < columns; j += width) {
    multiply(basis.columns(j, j + width), image.columns(j, j + width));
    const Block next = basis.columns(j + width, j + 2 * width);
    blockvec::copy(image.columns(j, j + width), next);
    is_basis &= orthogonalizer.project_and_normalize(basis.columns(0, j + width), next).orthonormal;
  }
  multiply(basis.columns(columns - width, columns), image.columns(columns - width, columns));

  // H = V^T A V, its eigenvalues (Ritz values), and the vectors that belong to the lowest two (Ritz vectors).
  const Small h(context, columns, columns), values(context, 1, columns), z(context, columns, columns);
  blockvec::inner_product(basis, image, h);
  blockvec::orth::dense::eigendecomposition(h, values, z);
  const Block vectors(context, rows, width), residual(context, rows, width);
  blockvec::update(1.0, basis, z.block(0, columns, 0, width), 0.0, vectors);

  // R = A X - X diag(theta), by A V and V, both of which are there.
  const auto ritz = values.to_host();
  const Small shifted(context, columns, width), norms(context, 1, width);
  blockvec::orth::dense::scale_columns(z.block(0, columns, 0, width), values.block(0, 1, 0, width), shifted);
  blockvec::update(1.0, image, z.block(0, columns, 0, width), 0.0, residual);
  blockvec::update(-1.0, basis, shifted, 1.0, residual);
  blockvec::column_norms(residual, norms);
  const auto lengths = norms.to_host();
  if (context.communicator().rank() == 0) {
    std::printf("%.12f and %.12f, residuals %.1e and %.1e\n", ritz(0, 0), ritz(0, 1), lengths(0, 0), lengths(0, 1));
  }
  // A Ritz value lies within its residual of an eigenvalue.
  return is_basis && std::abs(ritz(0, 1)) <= lengths(0, 1) + 1e-12 && lengths(0, 1) <= 1e-8 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const blockvec::Environment environment(argc, argv);
  return blockvec::Environment::guard(&run);
}
