#pragma once

#include <algorithm>
#include <blockvec/on_host.hpp>
#include <blockvec/operations.hpp>

/// @file
/// Operations of block vectors on a device whose small matrices lie on the host. Each does what the operation of its
/// name in operations.hpp does.
namespace blockvec {
namespace detail {

/// A copy of a small matrix in the memory of Space, for what is ordered after it on the context's instance. The
/// original may change as soon as this returns: CUDA takes pageable memory into its own before. It does not
/// wait for the device.
template <class Space, class Scalar>
SmallMatrix<Scalar, Space> on_device(WorkspaceScope<Space>& scope, const SmallMatrix<Scalar>& c) {
  const auto copy = SmallMatrix<Scalar, Space>::scratch(scope, c.rows(), c.columns());
  const std::size_t bytes = static_cast<std::size_t>(c.rows() * c.columns()) * sizeof(Scalar);
  WorkspaceScope<> host_scope(scope.context());
  const Scalar* from = c.data();
  if (c.ld() != c.rows()) {  // pieces of pageable memory would be copied one by one
    auto* const whole = host_scope.template take<Scalar>(static_cast<std::size_t>(c.rows() * c.columns()));
    for (std::int64_t j = 0; j < c.columns(); ++j) std::copy_n(c.data() + j * c.ld(), c.rows(), whole + j * c.rows());
    from = whole;
  }
  copy_lines<Space>(scope.context(), from, bytes, copy.data(), bytes, bytes, 1);
  return copy;
}

/// Copies a small matrix from one memory to the other. Towards the host it waits.
template <class Scalar, class Space>
requires(!is_host_space<Space>) void assign(const SmallMatrix<Scalar>& from, const SmallMatrix<Scalar, Space>& to) {
  WorkspaceScope<Space> scope(to.context());
  const auto copy = on_device(scope, from);
  const auto bytes = [](std::int64_t numbers) { return static_cast<std::size_t>(numbers) * sizeof(Scalar); };
  copy_lines<Space>(to.context(), copy.data(), bytes(copy.ld()), to.data(), bytes(to.ld()), bytes(to.rows()),
                    static_cast<std::size_t>(to.columns()));
}
template <class Scalar, class Space>
void assign(const SmallMatrix<Scalar, Space>& from, const SmallMatrix<Scalar>& to) {
  on_host(
      [&](const auto& here) {
        for (std::int64_t j = 0; j < to.columns(); ++j) {
          std::copy_n(here.data() + j * here.ld(), to.rows(), to.data() + j * to.ld());
        }
      },
      reads(from));
}

}  // namespace detail

/// As inner_product() of operations.hpp; C is on the host when it returns, after one wait.
template <class Scalar, class Layout, class Space>
requires(!is_host_space<Space>) void inner_product(const BlockVector<Scalar, Layout, Space>& v,
                                                   const BlockVector<Scalar, Layout, Space>& w,
                                                   const SmallMatrix<Scalar>& c) {
  InnerProducts<Scalar, Layout, Space>(v.context()).add(v, w, c).reduce();
}

/// As inner_product_dd() of operations.hpp; C is on the host when it returns, after one wait.
template <class Scalar, class Layout, class Space>
requires(!is_host_space<Space>) void inner_product_dd(const BlockVector<Scalar, Layout, Space>& v,
                                                      const BlockVector<Scalar, Layout, Space>& w,
                                                      const DoubleDoubleMatrix<Scalar>& c) {
  InnerProducts<Scalar, Layout, Space>(v.context()).add_dd(v, w, c).reduce();
}

/// As update() of operations.hpp; C is copied to the device in the order of the instance, without a wait.
template <class Scalar, class Layout, class Space>
requires(!is_host_space<Space>) void update(Scalar alpha, const BlockVector<Scalar, Layout, Space>& v,
                                            const SmallMatrix<Scalar>& c, Scalar beta,
                                            const BlockVector<Scalar, Layout, Space>& w) {
  WorkspaceScope<Space> scope(v.context());
  update(alpha, v, detail::on_device(scope, c), beta, w);
}

/// As multiply_in_place() of operations.hpp; C is copied as for update().
template <class Scalar, class Layout, class Space>
requires(!is_host_space<Space>) void multiply_in_place(const BlockVector<Scalar, Layout, Space>& v,
                                                       const SmallMatrix<Scalar>& c,
                                                       kernels::Triangle triangle = kernels::Triangle::general,
                                                       std::int64_t first = 0) {
  WorkspaceScope<Space> scope(v.context());
  multiply_in_place(v, detail::on_device(scope, c), triangle, first);
}

/// As column_norms() of operations.hpp; norms are on the host when it returns, after one wait.
template <class Scalar, class Layout, class Space>
requires(!is_host_space<Space>) void column_norms(const BlockVector<Scalar, Layout, Space>& v,
                                                  const SmallMatrix<RealOf<Scalar>>& norms) {
  WorkspaceScope<Space> scope(v.context());
  const auto there = SmallMatrix<RealOf<Scalar>, Space>::scratch(scope, norms.rows(), norms.columns());
  column_norms(v, there);
  detail::assign(there, norms);
}

/// As scale_columns() of operations.hpp; factors are copied as for update().
template <class Scalar, class Layout, class Space>
requires(!is_host_space<Space>) void scale_columns(const BlockVector<Scalar, Layout, Space>& v,
                                                   const SmallMatrix<Scalar>& factors) {
  WorkspaceScope<Space> scope(v.context());
  scale_columns(v, detail::on_device(scope, factors));
}

/// As sketch_share() of operations.hpp; C is on the host when it returns, after one wait.
template <class Scalar, class Layout, class Space>
requires(!is_host_space<Space>) void sketch_share(const BlockVector<Scalar, Layout, Space>& v, std::uint64_t seed,
                                                  const SmallMatrix<Scalar>& c) {
  WorkspaceScope<Space> scope(v.context());
  const auto there = SmallMatrix<Scalar, Space>::scratch(scope, c.rows(), c.columns());
  sketch_share(v, seed, there);
  detail::assign(there, c);
}

}  // namespace blockvec
