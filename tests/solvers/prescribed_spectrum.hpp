#pragma once

#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <vector>

namespace blockvec::solvers {

/// A = Q D Q with Q = I - 2 u u^H for a random unit vector u, so that D holds A's eigenvalues.
template <class Vector>
class PrescribedSpectrum {
 public:
  using Scalar = typename Vector::Scalar;
  using Space = typename Vector::Space;

  PrescribedSpectrum(const Context& context, const std::vector<double>& values)
      : context_(context),
        rows_(RowDistribution::uniform(std::ssize(values), context.communicator())),
        u_(context, rows_, 1),
        values_(context, rows_, 1) {
    fill_normal(u_, 7);
    const SmallMatrix<RealOf<Scalar>, Space> norm(context, 1, 1);
    column_norms(u_, norm);
    scale(u_, Scalar(1 / norm.to_host()(0, 0)));
    const auto host = Kokkos::create_mirror_view(values_.view());
    for (std::size_t i = 0; i < host.extent(0); ++i)
      host(i, 0) = Scalar(static_cast<RealOf<Scalar>>(values[static_cast<std::size_t>(rows_.begin()) + i]));
    Kokkos::deep_copy(values_.view(), host);
  }
  const Context& context() const { return context_; }
  const RowDistribution& rows() const { return rows_; }

  void apply(Scalar alpha, Scalar shift, const Vector& x, Scalar beta, const Vector& y) {
    WorkspaceScope<Space> scope(context_);
    const Vector image = scratch_like(scope, x, x.width());
    copy(x, image);
    reflect(image);
    for (std::size_t i = 0; i < image.view().extent(0); ++i) {
      for (std::size_t j = 0; j < image.view().extent(1); ++j) image.view()(i, j) *= values_.view()(i, 0);
    }
    reflect(image);
    axpby(-shift, x, Scalar(1), image);
    axpby(alpha, image, beta, y);
    ++calls;
  }

  int calls = 0;

 private:
  void reflect(const Vector& x) const {
    WorkspaceScope<Space> scope(context_);
    const auto c = SmallMatrix<Scalar, Space>::scratch(scope, 1, x.width());
    inner_product(u_, x, c);
    update(Scalar(-2), u_, c, Scalar(1), x);
  }

  Context context_;
  RowDistribution rows_;
  Vector u_, values_;
};

}  // namespace blockvec::solvers
