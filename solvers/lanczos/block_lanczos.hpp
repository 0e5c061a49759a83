#pragma once

#include <blockvec/instantiate.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <blockvec/solvers/lanczos.hpp>
#include <string>

#include "solvers/lanczos/search.hpp"
#include "solvers/lanczos/search_result.hpp"

namespace blockvec::solvers {

/// Vectors that a problem brings along have the operator's rows and context. Throws ShapeError.
template <class Vector>
void require_vectors(const char* name, const Vector& v, const AnyOperator<Vector>& a) {
  if (v.width() == 0 || (v.context().same(a.context()) && v.rows() == a.rows())) return;
  throw ShapeError("block_lanczos: " + std::string(name) + " vectors " + v.describe() +
                   ": expected the context of the operator, and its rows: " + a.rows().describe());
}

/// Orthonormal columns with the span of V, which stays as it is.
template <class Vector>
Vector orthonormal_copy(const Vector& v, const orth::Options& options) {
  if (v.width() == 0) return {};
  orth::Options dropping = options;
  dropping.deficiency = orth::Deficiency::drop;
  const Vector q = v.deep_copy("deflated vectors");
  const auto result = orth::Orthogonalizer(v.context(), dropping).normalize(q);
  return q.columns(0, result.rank);
}

template <class Vector>
Result<Vector> block_lanczos(const Problem<Vector>& problem, const LanczosOptions& options, const Observer& observer) {
  require_vectors("deflated", problem.deflation, problem.a);
  require_vectors("initial", problem.initial, problem.a);
  const Vector deflation = orthonormal_copy(problem.deflation, options.orth);
  const LanczosOptions filled = checked(options, default_block(is_host_space<typename Vector::Space>),
                                        problem.a.rows().global_rows(), deflation.width());
  return LanczosSearch<Vector>(problem, deflation, filled, observer).solve();
}

}  // namespace blockvec::solvers

/// One file for each scalar, since each takes its time to compile.
#define BLOCKVEC_BLOCK_LANCZOS(Scalar, Layout, Space)                \
  template Result<BlockVector<Scalar, Layout, Space>> block_lanczos( \
      const Problem<BlockVector<Scalar, Layout, Space>>&, const LanczosOptions&, const Observer&);
