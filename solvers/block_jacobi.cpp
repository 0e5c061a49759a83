#include <blockvec/block_diagonal.hpp>
#include <blockvec/instantiate.hpp>
#include <blockvec/orth/dense.hpp>
#include <blockvec/solvers/collective.hpp>
#include <blockvec/solvers/preconditioners.hpp>

namespace blockvec::solvers {
namespace {

/// The entries of a source in these rows and columns.
template <class Scalar>
void read_block(const RowSource<Scalar>& source, std::int64_t begin, std::int64_t size,
                const SmallMatrix<Scalar, Kokkos::HostSpace>& block) {
  orth::dense::fill(block, Scalar(0));
  RowEntries<Scalar> entries;
  for (std::int64_t row = 0; row < size; ++row) {
    entries.clear();
    source.append_row(begin + row, entries);
    for (std::size_t i = 0; i < entries.columns.size(); ++i) {
      const std::int64_t column = entries.columns[i] - begin;
      if (column >= 0 && column < size) block.data()[row + column * block.ld()] += entries.values[i];
    }
  }
}

/// X^H D_A X = diag(values) and X^H D_B X = I for the blocks of a pair, X and X^H by rows.
template <class Vector>
struct DiagonalBlocks {
  Vector x, adjoint, values;
};

template <class Vector>
DiagonalBlocks<Vector> diagonal_blocks(const Context& context, const RowDistribution& rows,
                                       const RowSource<typename Vector::Scalar>& a,
                                       const RowSource<typename Vector::Scalar>* b, std::int64_t size) {
  using Scalar = typename Vector::Scalar;
  using Small = SmallMatrix<Scalar, Kokkos::HostSpace>;
  const DiagonalBlocks<Vector> blocks{Vector(context, rows, size, "eigenvectors of diagonal blocks"),
                                      Vector(context, rows, size, "eigenvectors of diagonal blocks, adjoint"),
                                      Vector(context, rows, 1, "eigenvalues of diagonal blocks")};
  const Context here = Context::self(1);
  const Small of_a(here, size, size), of_b(here, size, size), vectors(here, size, size);
  const SmallMatrix<RealOf<Scalar>, Kokkos::HostSpace> row(here, 1, size);
  for (std::int64_t begin = rows.begin(); begin < rows.end(); begin += size) {
    const std::int64_t n = std::min(size, rows.end() - begin);
    const auto part = [n](const Small& all) { return all.block(0, n, 0, n); };
    const auto values = row.block(0, 1, 0, n);
    read_block(a, begin, n, part(of_a));
    if (b != nullptr) {
      read_block(*b, begin, n, part(of_b));
      orth::dense::generalized_eigendecomposition(part(of_a), part(of_b), values, part(vectors));
    } else {
      orth::dense::eigendecomposition(part(of_a), values, part(vectors));
    }
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(begin - rows.begin() + i);
      blocks.values.view()(at, 0) = Scalar(values.data()[i]);
      for (std::int64_t j = 0; j < n; ++j) {
        blocks.x.view()(at, static_cast<std::size_t>(j)) = vectors.data()[i + j * vectors.ld()];
        blocks.adjoint.view()(at, static_cast<std::size_t>(j)) = conjugate(vectors.data()[j + i * vectors.ld()]);
      }
    }
  }
  return blocks;
}

}  // namespace

template <class Vector>
Preconditioner<Vector> block_jacobi_preconditioner(const Context& context, const RowDistribution& rows,
                                                   const RowSource<typename Vector::Scalar>& a,
                                                   const RowSource<typename Vector::Scalar>* b, std::int64_t size,
                                                   Which which) {
  using Scalar = typename Vector::Scalar;
  using Space = typename Vector::Space;
  using OnHost = BlockVector<Scalar, typename Vector::Layout, Kokkos::HostSpace>;
  if (size < 1) {
    throw InputError("block_jacobi_preconditioner: a block has at least 1 row, not " + std::to_string(size));
  }
  const auto blocks =
      collectively(context.communicator(), [&] { return diagonal_blocks<OnHost>(context, rows, a, b, size); });
  const auto in_space = [](const OnHost& v) -> Vector {
    if constexpr (is_host_space<Space>) {
      return v;
    } else {
      return v.template converted_to_space<Space>();
    }
  };
  const Preconditioner<Vector> diagonal = jacobi_preconditioner(in_space(blocks.values), Vector(), which);
  return [x = in_space(blocks.x), adjoint = in_space(blocks.adjoint), diagonal](std::span<const double> theta,
                                                                                const Vector& r, const Vector& w) {
    WorkspaceScope<Space> scope(r.context());
    const Vector y = scratch_like(scope, r, r.width());
    multiply_block_diagonal(adjoint, r, y);
    diagonal(theta, y, y);
    multiply_block_diagonal(x, y, w);
  };
}

#define BLOCKVEC_BLOCK_JACOBI(Scalar, Layout, Space)                                                            \
  template Preconditioner<BlockVector<Scalar, Layout, Space>> block_jacobi_preconditioner(                      \
      const Context&, const RowDistribution&, const RowSource<Scalar>&, const RowSource<Scalar>*, std::int64_t, \
      Which);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_BLOCK_JACOBI)

}  // namespace blockvec::solvers
