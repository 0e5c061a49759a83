// Uses BlockVec::kernels alone: V is orthonormal by construction, so that its Gram matrix is the identity.
#include <blockvec/kernels/tall_skinny.hpp>
#include <blockvec/version.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <vector>

int main() {
  using namespace blockvec::kernels;
  const std::int64_t rows = 1000;
  const std::int64_t columns = 5;
  std::vector<double> v(static_cast<std::size_t>(rows * columns), 0.0);
  const double entry = 1 / std::sqrt(static_cast<double>(rows / columns));
  for (std::int64_t i = 0; i < rows; ++i) v[static_cast<std::size_t>(i * columns + i % columns)] = entry;
  std::vector<double> gram(static_cast<std::size_t>(columns * columns));
  const Matrix<const double> a{v.data(), rows, columns, columns};
  tsmttsm(Op::transpose, 1.0, a, a, 0.0, Matrix<double>{gram.data(), columns, columns, columns});

  double loss = 0;
  for (std::int64_t i = 0; i < columns; ++i) {
    for (std::int64_t j = 0; j < columns; ++j) {
      loss = std::fmax(loss, std::fabs(gram[static_cast<std::size_t>(i * columns + j)] - (i == j ? 1.0 : 0.0)));
    }
  }
  std::printf("%s: |V^T V - I| = %.2e\n", blockvec::version(), loss);
  const double u = std::numeric_limits<double>::epsilon() / 2;
  return loss <= static_cast<double>(summation_depth(rows) + 5) * u ? 0 : 1;
}
