// Tutorial 4: the same on a GPU. One template argument says where a block vector lives; the operations are the same.
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <cstdio>
#include <limits>

#if BLOCKVEC_HAVE_CUDA_SPACE

#include <blockvec/solvers/lanczos.hpp>
#include <cmath>

namespace {

using Space = Kokkos::CudaSpace;
using Block = blockvec::BlockVector<double, blockvec::DefaultLayout<Space>, Space>;
namespace solvers = blockvec::solvers;
constexpr std::int64_t n = 200'000;

// Y = A X, a diagonal matrix with 0, 1, 2, ... / n, queued on the context's stream: nothing waits for it here.
void multiply(const Block& x, const Block& y) {
  const auto in = x.view(), out = y.view();
  const std::int64_t width = x.width(), begin = x.rows().begin();
  Kokkos::parallel_for(
      "diagonal", Kokkos::RangePolicy<Kokkos::Cuda>(x.context().execution_space<Space>(), 0, x.local_rows()),
      KOKKOS_LAMBDA(const std::int64_t i) {
        for (std::int64_t j = 0; j < width; ++j) out(i, j) = static_cast<double>(begin + i) / n * in(i, j);
      });
}

int run() {
  const auto context = blockvec::Context::world();
  const auto rows = blockvec::RowDistribution::uniform(n, context.communicator());
  const Block v(context, rows, 16, "V");
  blockvec::fill_random(v, 1);
  blockvec::orth::Orthogonalizer orthogonalizer(context);
  const auto result = orthogonalizer.normalize(v);
  const double loss = blockvec::orth::orthogonality_loss(v);

  const solvers::FunctionOperator<Block> a(context, rows, multiply);
  const solvers::LanczosOptions options{.wanted = 2, .tolerance = 1e-7, .which = solvers::Which::largest};
  const auto pairs = solvers::block_lanczos<Block>({a}, options);
  if (context.communicator().rank() == 0) {
    std::printf("%s, loss of orthogonality %.1e\n", result.describe().c_str(), loss);
    for (const double value : pairs.eigenvalues) std::printf("eigenvalue %.9f\n", value);
    std::printf("%s", context.report().c_str());
  }
  const double exact = static_cast<double>(n - 1) / n;
  const bool is_right = pairs.converged() && std::abs(pairs.eigenvalues[0] - exact) <= options.tolerance;
  return is_right && loss <= 100 * 16 * std::numeric_limits<double>::epsilon() ? 0 : 1;
}

}  // namespace

#else

namespace {
int run() {
  std::puts("no CUDA in this build's Kokkos: nothing to show");
  return 77;
}
}  // namespace

#endif

int main(int argc, char** argv) {
  const blockvec::Environment environment(argc, argv);
  return blockvec::Environment::guard(&run);
}
