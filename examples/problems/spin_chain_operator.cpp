#include "problems/spin_chain_operator.hpp"

#include <algorithm>
#include <array>
#include <blockvec/kernels/error.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <blockvec/solvers/input_error.hpp>
#include <blockvec/timer.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

#include "problems/spin_product.hpp"
#include "problems/spin_tiles.hpp"

namespace blockvec::examples {
namespace {

constexpr int team_threads = 128;

/// The team of a host's thread.
struct OneThread {
  KOKKOS_FUNCTION int team_rank() const { return 0; }
  KOKKOS_FUNCTION int team_size() const { return 1; }
  KOKKOS_FUNCTION void team_barrier() const {}
};

/// As measured to be fast. On the host most rows are streams then, and the branches that the others need are few; the
/// longest chains have fewer tiles. On a device teams keep tiles of 16 KB in scratch memory, which
/// an H100 multiplies fastest.
template <class Space>
int low_sites_for(const SpinChain& chain, int width) {
  if constexpr (is_host_space<Space>) {
    return std::min(chain.sites() - 1, std::clamp(chain.sites() - 18, 8, 10));
  } else {
    constexpr std::int64_t tile_words = (std::int64_t{16} << 10) / static_cast<std::int64_t>(sizeof(double));
    int sites = 0;
    while (sites + 1 < std::min(chain.sites(), SpinTiles<Space>::most_low_sites + 1) &&
           chain.binomial(sites + 1, (sites + 1) / 2) * width <= tile_words) {
      ++sites;
    }
    return sites;
  }
}

}  // namespace

template <class Space>
struct SpinChainOperator<Space>::Parts {
  /// Columns beside one another, in memory.
  struct Strips {
    const double* x;
    double* y;
    std::int64_t x_row, y_row, x_strip, y_strip;
    int count;
    double alpha, shift, beta;
  };

  Context context;
  RowDistribution rows;
  SpinChain chain;
  int low_sites;                                                                            // as asked for
  std::array<std::optional<SpinTiles<Space>>, SpinTiles<Space>::most_low_sites + 1> tiles;  // by their low sites

  const SpinTables& tables_for(int width) {
    int sites = low_sites_for<Space>(chain, width);
    if (low_sites > 0) sites = std::min(low_sites, is_host_space<Space> ? chain.sites() - 1 : sites);
    auto& found = tiles[static_cast<std::size_t>(sites)];
    if (!found) found.emplace(chain, sites);
    return found->tables();
  }

  void multiply(const Strips& s, int width) {
    switch (width) {
      case 1:
        return choose<1>(s);
      case 2:
        return choose<2>(s);
      case 3:
        return choose<3>(s);
      case 4:
        return choose<4>(s);
      default:
        return choose<8>(s);
    }
  }

  template <int width>
  void choose(const Strips& s) {
    if constexpr (is_host_space<Space>) {
      run<width, width>(s);
    } else {
      // Columns that a thread takes: as many as one or two of its widest accesses, where these are aligned.
      constexpr int columns = width % 2 != 0 ? 1 : width == 8 ? 4 : 2;
      const auto is_whole = [](auto... n) { return ((n % columns == 0) && ...); };
      const bool is_aligned = is_whole(s.x_row, s.y_row, s.x_strip, s.y_strip) &&
                              is_whole(reinterpret_cast<std::uintptr_t>(s.x) / sizeof(double),
                                       reinterpret_cast<std::uintptr_t>(s.y) / sizeof(double));
      is_aligned ? run<width, columns>(s) : run<width, 1>(s);
    }
  }

  template <int width, int columns>
  void run(const Strips& s) {
    using Product = SpinProduct<Space, width, columns, !is_host_space<Space>>;
    const Product product{tables_for(width), s.x,     s.y,     s.x_row, s.y_row, s.x_strip,
                          s.y_strip,         s.count, s.alpha, s.shift, s.beta};
    if constexpr (is_host_space<Space>) {
      kernels::parallel_for(context.threads(), product.tables.tile_count, [&](std::int64_t tile, int) {
        std::array<std::int64_t, SpinChain::max_sites> links;
        for (int strip = 0; strip < s.count; ++strip) product.multiply(OneThread{}, tile, strip, links.data(), nullptr);
      });
    } else {
      using Policy = Kokkos::TeamPolicy<ExecutionSpaceOf<Space>, Kokkos::LaunchBounds<team_threads, 8>>;
      static const std::string label("spin chain product");  // kept: a call allocates nothing
      Policy policy(context.execution_space<Space>(), static_cast<int>(product.tables.tile_count * s.count),
                    team_threads);
      policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(product.tile_bytes() + product.link_bytes())));
      Kokkos::parallel_for(label, policy, product);
    }
  }
};

template <class Space>
SpinChainOperator<Space>::SpinChainOperator(const Context& context, const RowDistribution& rows, const SpinChain& chain,
                                            int low_sites) {
  if (context.communicator().size() > 1) {
    throw solvers::InputError(
        "heisenberg: --matrix-free works on one rank: without it the matrix is stored, on any number of ranks");
  }
  if (rows.global_rows() != chain.size()) {
    throw ShapeError("SpinChainOperator: " + rows.describe() + " for a matrix of " + std::to_string(chain.size()) +
                     " rows");
  }
  parts_.reset(new Parts{context, rows, chain, low_sites, {}});
}

template <class Space>
SpinChainOperator<Space>::~SpinChainOperator() = default;
template <class Space>
SpinChainOperator<Space>::SpinChainOperator(SpinChainOperator&&) noexcept = default;

template <class Space>
const Context& SpinChainOperator<Space>::context() const {
  return parts_->context;
}
template <class Space>
const RowDistribution& SpinChainOperator<Space>::rows() const {
  return parts_->rows;
}
template <class Space>
std::int64_t SpinChainOperator<Space>::nonzeros() const {
  return parts_->chain.nonzeros();
}

template <class Space>
template <class Layout>
void SpinChainOperator<Space>::apply(double alpha, double shift, const BlockVector<double, Layout, Space>& x,
                                     double beta, const BlockVector<double, Layout, Space>& y) const {
  Parts& parts = *parts_;
  if (x.width() != y.width() || !(x.rows() == parts.rows) || !(y.rows() == parts.rows)) {
    throw ShapeError("SpinChainOperator::apply: X is " + x.describe() + ", Y is " + y.describe() +
                     ": both must have the same width and the operator's " + parts.rows.describe());
  }
  const auto entries = static_cast<double>(x.local_rows()) * static_cast<double>(x.width());
  const auto products = static_cast<double>(nonzeros()) * static_cast<double>(x.width());
  const OperationTimer<Space> timer(parts.context, Operation::user_operator,
                                    entries * (beta == 0 ? 2 : 3) * sizeof(double), 2 * products);
  if (x.local_rows() == 0 || x.width() == 0) return;
  constexpr bool by_rows = std::is_same_v<Layout, RowMajor>;
  if constexpr (!by_rows) {
    parts.multiply({x.data(), y.data(), 1, 1, x.ld(), y.ld(), static_cast<int>(x.width()), alpha, shift, beta}, 1);
  } else {
    std::int64_t first = 0;
    for (const int width : {8, 4, 3, 2, 1}) {
      const std::int64_t count = (x.width() - first) / width;
      if (count == 0) continue;
      parts.multiply({x.data() + first, y.data() + first, x.ld(), y.ld(), width, width, static_cast<int>(count), alpha,
                      shift, beta},
                     width);
      first += count * width;
    }
  }
}

#define BLOCKVEC_SPIN_CHAIN(Space)                                                                                   \
  template class SpinChainOperator<Space>;                                                                           \
  template void SpinChainOperator<Space>::apply(double, double, const BlockVector<double, RowMajor, Space>&, double, \
                                                const BlockVector<double, RowMajor, Space>&) const;                  \
  template void SpinChainOperator<Space>::apply(double, double, const BlockVector<double, ColumnMajor, Space>&,      \
                                                double, const BlockVector<double, ColumnMajor, Space>&) const;
BLOCKVEC_SPIN_CHAIN(Kokkos::HostSpace)
#if BLOCKVEC_HAVE_CUDA_SPACE
BLOCKVEC_SPIN_CHAIN(Kokkos::CudaSpace)
#endif

}  // namespace blockvec::examples
