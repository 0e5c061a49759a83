#pragma once

#include <blockvec/blockvec.hpp>
#include <blockvec/column_operations.hpp>
#include <blockvec/solvers/row_source.hpp>
#include <cmath>
#include <random>
#include <vector>

#include "solvers/hermitian_entries.hpp"

namespace blockvec::solvers {

/// A = Q D Q with Q = I + factor u u^H for a random unit vector u. With -2, D holds A's eigenvalues; with another
/// factor those of the pencil of A and Q^2.
template <class Vector>
class PrescribedSpectrum {
 public:
  using Scalar = typename Vector::Scalar;
  using Space = typename Vector::Space;

  PrescribedSpectrum(const Context& context, const std::vector<double>& values, double factor = -2)
      : context_(context),
        factor_(static_cast<RealOf<Scalar>>(factor)),
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
    multiply_q(image);
    for (std::size_t i = 0; i < image.view().extent(0); ++i) {
      for (std::size_t j = 0; j < image.view().extent(1); ++j) image.view()(i, j) *= values_.view()(i, 0);
    }
    multiply_q(image);
    axpby(-shift, x, Scalar(1), image);
    axpby(alpha, image, beta, y);
    ++calls;
  }

  int calls = 0;

 private:
  void multiply_q(const Vector& x) const {
    WorkspaceScope<Space> scope(context_);
    const auto c = SmallMatrix<Scalar, Space>::scratch(scope, 1, x.width());
    inner_product(u_, x, c);
    update(factor_, u_, c, Scalar(1), x);
  }

  Context context_;
  Scalar factor_;
  RowDistribution rows_;
  Vector u_, values_;
};

/// The same A = Q D Q by its entries, all of which differ from zero.
template <class Scalar>
class PrescribedMatrix final : public RowSource<Scalar> {
 public:
  explicit PrescribedMatrix(std::vector<double> values) : values_(std::move(values)), u_(values_.size()) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    double squares = 0;
    for (Scalar& entry : u_) {
      if constexpr (ScalarTraits<Scalar>::is_complex) {
        const auto real = static_cast<RealOf<Scalar>>(normal(random));
        entry = Scalar(real, static_cast<RealOf<Scalar>>(normal(random)));
      } else {
        entry = static_cast<Scalar>(normal(random));
      }
      squares += std::pow(magnitude(entry), 2);
    }
    for (std::size_t i = 0; i < u_.size(); ++i) {
      u_[i] = u_[i] * Scalar(static_cast<RealOf<Scalar>>(1 / std::sqrt(squares)));
      mean_ += values_[i] * std::pow(magnitude(u_[i]), 2);
    }
  }
  std::int64_t size() const override { return std::ssize(values_); }
  void append_row(std::int64_t row, RowEntries<Scalar>& entries) const override {
    const auto i = static_cast<std::size_t>(row);
    for (std::size_t j = 0; j < u_.size(); ++j) {
      const double factor = 4 * mean_ - 2 * (values_[i] + values_[j]);
      Scalar value = u_[i] * conjugate(u_[j]) * Scalar(static_cast<RealOf<Scalar>>(factor));
      if (i == j) value += Scalar(static_cast<RealOf<Scalar>>(values_[i]));
      entries.add(static_cast<std::int64_t>(j), value);
    }
  }
  std::string describe() const override { return "prescribed spectrum"; }

 private:
  std::vector<double> values_;
  std::vector<Scalar> u_;
  double mean_ = 0;  // u^H D u
};

}  // namespace blockvec::solvers
