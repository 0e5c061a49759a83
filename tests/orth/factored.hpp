#pragma once

#include "tests/orth/support.hpp"

namespace blockvec::test {

/// A tall matrix, what factorize made of it, and how well.
template <class K>
struct Factored {
  using Scalar = typename K::Scalar;
  using Columns = HostColumns<Wide<Scalar>>;

  Factored(const Context& context, const Columns& x_, std::int64_t width, const orth::Options& options)
      : x(rounded<Scalar>(x_)),
        storage(context, RowDistribution::uniform(x_.rows, context.communicator()), x_.columns + 1, "X"),
        q(storage.columns(0, x_.columns)),
        r(context, x_.columns, x_.columns, "R") {
    fill(storage, Scalar(7));
    distribute<Scalar>(x, q);
    orth::Orthogonalizer orthogonalizer(context, options);
    result = orthogonalizer.factorize(q, &r, width);
  }
  double loss() const {
    const Columns now = collect(q);
    std::vector<std::int64_t> zeros;
    for (std::int64_t j = 0; j < now.columns; ++j) {
      if (norm(columns_of(now, j, j + 1)) == 0) zeros.push_back(j);
    }
    zero_columns = static_cast<std::int64_t>(zeros.size());
    return loss_of_orthogonality(now, zeros);
  }
  double residual() const {
    const std::int64_t n = x.columns;
    return relative_residual(x, Columns(x.rows, 0), Columns(0, n), collect(q), collect(r));
  }
  bool is_block_upper(std::int64_t width) const {
    const Columns factor = collect(r);
    for (std::int64_t j = 0; j < factor.columns; ++j) {
      for (std::int64_t i = (j / width + 1) * width; i < factor.rows; ++i) {
        if (factor(i, j) != Wide<Scalar>(0)) return false;
      }
    }
    return true;
  }
  bool guard_holds() const {
    for (const auto& entry : collect(storage.column(x.columns)).entries) {
      if (entry != Wide<Scalar>(7)) return false;
    }
    return true;
  }

  Columns x;
  typename K::Vector storage, q;
  typename K::Small r;
  orth::Result result;
  mutable std::int64_t zero_columns = 0;
};

}  // namespace blockvec::test
