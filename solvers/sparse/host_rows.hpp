#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/solvers/recurrence.hpp>
#include <optional>
#include <span>

#include "solvers/sparse/compressed_rows.hpp"
#include "solvers/sparse/halo.hpp"
#include "solvers/sparse/local_product.hpp"
#include "solvers/sparse/sparse_product.hpp"

namespace blockvec::solvers {

/// This rank's rows of a sparse matrix in host memory, times block vectors there.
template <class Scalar>
class HostRows {
 public:
  /// Collective: the halo's set-up. In a reproducible Context `split` has its parts together, else apart.
  HostRows(const Context& context, const RowDistribution& rows, SplitRows<Scalar> split);

  std::int64_t ghosts() const { return halo_.ghosts(); }

  /// Y = alpha (A - shift) X + beta Y. Collective.
  template <class Layout>
  void apply(Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout>& x, Scalar beta,
             const BlockVector<Scalar, Layout>& y) {
    multiply(alpha, shift, x, beta, y, {});
  }

  /// As recur_by_products(). Blocks go through it by rows: column-major ones are copied, a strip of columns at a time.
  /// Scratch for two strips. Collective.
  template <class Layout>
  void recur(Scalar shift, std::span<const RecurrenceStep<Scalar>> steps, const BlockVector<Scalar, Layout>& newest,
             const BlockVector<Scalar, Layout>& before);

  /// As apply_polynomial_by_products(), likewise by rows. Scratch for two or three strips. Collective.
  template <class Layout>
  void apply_polynomial(const Polynomial<Scalar>& p, const BlockVector<Scalar, Layout>& x,
                        const BlockVector<Scalar, Layout>& y);

 private:
  using Kernel = typename ScalarTraits<Scalar>::Kernel;
  using Rows = BlockVector<Scalar, RowMajor>;

  /// The steps, and S += weights[k] V_k after each where there is a sum.
  void recur_on_rows(Scalar shift, std::span<const RecurrenceStep<Scalar>> steps, const Rows& newest,
                     const Rows& before, const Scalar* weights = nullptr, const Rows* sum = nullptr);

  /// Y = alpha (A - shift) X + beta Y, and then S += weight Y. Collective.
  template <class Layout>
  void multiply(Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout>& x, Scalar beta,
                const BlockVector<Scalar, Layout>& y, const RunningSum<Kernel>& sum);

  std::int64_t ghosts_before_;
  CompressedRows<Scalar> own_rows_, ghost_rows_;
  Halo halo_;
  std::optional<LocalProduct<Scalar>> local_;  // not for rows whose ghosts are among their own columns
};

}  // namespace blockvec::solvers
