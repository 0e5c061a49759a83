#include <blockvec/kernels/tall_skinny.hpp>
#include <blockvec/operations.hpp>

#include "blockvec/checks.hpp"
#include "blockvec/instantiate.hpp"

namespace blockvec {
namespace {

template <class Scalar, class Space>
kernels::Matrix<typename ScalarTraits<Scalar>::Kernel> small(const SmallMatrix<Scalar, Space>& c) {
  using Kernel = typename ScalarTraits<Scalar>::Kernel;
  return {reinterpret_cast<Kernel*>(c.data()), c.rows(), c.columns(), c.ld(), kernels::Layout::column_major};
}

template <class Scalar>
typename ScalarTraits<Scalar>::Kernel kernel_value(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {value.real(), value.imag()};
  } else {
    return value;
  }
}

template <class V>
bool same_block(const V& v, const V& w) {
  return v.data() == w.data() && v.width() == w.width() && v.ld() == w.ld();
}

kernels::HostExecution execution(const Context& context, WorkspaceScope& scope, std::size_t bytes) {
  return {context.threads(), std::span(scope.take<std::byte>(bytes), bytes)};
}

}  // namespace

template <class Scalar, class Layout, class Space>
InnerProducts<Scalar, Layout, Space>& InnerProducts<Scalar, Layout, Space>::add(
    const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
    const SmallMatrix<Scalar, Space>& c) {
  constexpr const char* name = "inner_product";
  require_same_rows(name, v, w);
  require_small(name, "C", c, v.width(), w.width(), v, w);
  if (!v.context().same(context_))
    throw ShapeError(std::string(name) + ": V = " + v.describe() + " belongs to another context");
  if (count_ == max_products) {
    throw ShapeError(std::string(name) + ": more than " + std::to_string(max_products) + " products in one reduction");
  }
  using Kernel = typename ScalarTraits<Scalar>::Kernel;
  const std::int64_t k = v.local_rows();
  const Profile::Timer timer(context_.profile(), Operation::inner_product,
                             Cost<Scalar>::inner_product_bytes(k, v.width(), w.width(), same_block(v, w)),
                             Cost<Scalar>::product_flops(k, v.width(), w.width()));
  WorkspaceScope scope(context_.workspace());
  const std::size_t bytes = kernels::tsmttsm_workspace<Kernel>(k, v.width(), w.width(), kernel_layout<Layout>);
  kernels::tsmttsm<Kernel>(kernels::Op::conjugate_transpose, Kernel(1), v.matrix(), w.matrix(), Kernel(0), small(c),
                           execution(context_, scope, bytes));
  results_[count_++] = c;
  words_ += c.rows() * c.columns();
  tag_ =
      (tag_ * 1000003 + static_cast<std::uint64_t>(c.rows())) * 1000003 + static_cast<std::uint64_t>(c.columns()) + 1;
  return *this;
}

template <class Scalar, class Layout, class Space>
void InnerProducts<Scalar, Layout, Space>::reduce() {
  if (count_ == 0) return;
  WorkspaceScope scope(context_.workspace());
  Scalar* const values = scope.take<Scalar>(static_cast<std::size_t>(words_));
  const auto for_each_column = [&](auto visit) {
    Scalar* position = values;
    for (int i = 0; i < count_; ++i) {
      const auto& c = results_[i];
      for (std::int64_t j = 0; j < c.columns(); ++j, position += c.rows())
        visit(c.data() + j * c.ld(), position, c.rows());
    }
  };
  const bool alone = context_.communicator().size() == 1;
  if (!alone) for_each_column([](const Scalar* c, Scalar* packed, std::int64_t n) { std::copy_n(c, n, packed); });
  context_.sum(values, words_, tag_);
  if (!alone) for_each_column([](Scalar* c, const Scalar* packed, std::int64_t n) { std::copy_n(packed, n, c); });
  count_ = 0;
  words_ = 0;
  tag_ = 0;
}

template <class Scalar, class Layout, class Space>
void inner_product(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w,
                   const SmallMatrix<Scalar, Space>& c) {
  InnerProducts<Scalar, Layout, Space>(v.context()).add(v, w, c).reduce();
}

template <class Scalar, class Layout, class Space>
void update(Scalar alpha, const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<Scalar, Space>& c, Scalar beta,
            const BlockVector<Scalar, Layout, Space>& w) {
  constexpr const char* name = "update";
  require_same_rows(name, v, w);
  require_small(name, "C", c, v.width(), w.width(), v, w);
  using Kernel = typename ScalarTraits<Scalar>::Kernel;
  const std::int64_t k = v.local_rows();
  const Profile::Timer timer(v.context().profile(), Operation::update,
                             Cost<Scalar>::update_bytes(k, v.width(), w.width(), beta != Scalar(0)),
                             Cost<Scalar>::product_flops(k, v.width(), w.width()));
  WorkspaceScope scope(v.context().workspace());
  const std::size_t bytes =
      kernels::tsmm_workspace<Kernel>(k, v.width(), w.width(), kernel_layout<Layout>, v.context().threads());
  kernels::tsmm<Kernel>(kernel_value(alpha), v.matrix(), small(c), kernel_value(beta), w.matrix(),
                        kernels::Triangle::general, execution(v.context(), scope, bytes));
}

template <class Scalar, class Layout, class Space>
void multiply_in_place(const BlockVector<Scalar, Layout, Space>& v, const SmallMatrix<Scalar, Space>& c,
                       kernels::Triangle triangle) {
  constexpr const char* name = "multiply_in_place";
  if (c.rows() != v.width() || c.columns() > v.width()) {
    throw ShapeError(std::string(name) + ": V = " + v.describe() + ": C is " + std::to_string(c.rows()) + " x " +
                     std::to_string(c.columns()) + ", expected " + std::to_string(v.width()) +
                     " rows and at most as many columns");
  }
  using Kernel = typename ScalarTraits<Scalar>::Kernel;
  const std::int64_t k = v.local_rows();
  const Profile::Timer timer(v.context().profile(), Operation::multiply_in_place,
                             Cost<Scalar>::multiply_in_place_bytes(k, v.width(), c.columns()),
                             Cost<Scalar>::product_flops(k, v.width(), c.columns()));
  WorkspaceScope scope(v.context().workspace());
  const std::size_t bytes =
      kernels::tsmm_workspace<Kernel>(k, v.width(), c.columns(), kernel_layout<Layout>, v.context().threads());
  kernels::tsmm_inplace<Kernel>(v.matrix(), small(c), triangle, execution(v.context(), scope, bytes));
}

template <class Scalar>
double Cost<Scalar>::inner_product_bytes(std::int64_t rows, std::int64_t m, std::int64_t b, bool same) {
  return kernels::tsmttsm_bytes<typename ScalarTraits<Scalar>::Kernel>(rows, m, b, same);
}
template <class Scalar>
double Cost<Scalar>::update_bytes(std::int64_t rows, std::int64_t m, std::int64_t b, bool reads_output) {
  return kernels::tsmm_bytes<typename ScalarTraits<Scalar>::Kernel>(rows, m, b, reads_output);
}
template <class Scalar>
double Cost<Scalar>::multiply_in_place_bytes(std::int64_t rows, std::int64_t m, std::int64_t n) {
  return update_bytes(rows, m, n, false);
}
template <class Scalar>
double Cost<Scalar>::product_flops(std::int64_t rows, std::int64_t m, std::int64_t b) {
  return kernels::product_flops<typename ScalarTraits<Scalar>::Kernel>(rows, m, b);
}
template <class Scalar>
double Cost<Scalar>::passes_bytes(std::int64_t rows, std::int64_t words_per_row) {
  return static_cast<double>(rows) * static_cast<double>(words_per_row) * static_cast<double>(sizeof(Scalar));
}

#define BLOCKVEC_COST(Scalar) template struct Cost<Scalar>;
BLOCKVEC_FOR_SCALARS(BLOCKVEC_COST)

#define BLOCKVEC_PRODUCTS(Scalar, Layout)                                                              \
  template class InnerProducts<Scalar, Layout, DefaultSpace>;                                          \
  template void inner_product(const BlockVector<Scalar, Layout>&, const BlockVector<Scalar, Layout>&,  \
                              const SmallMatrix<Scalar>&);                                             \
  template void update(Scalar, const BlockVector<Scalar, Layout>&, const SmallMatrix<Scalar>&, Scalar, \
                       const BlockVector<Scalar, Layout>&);                                            \
  template void multiply_in_place(const BlockVector<Scalar, Layout>&, const SmallMatrix<Scalar>&, kernels::Triangle);
BLOCKVEC_FOR_SCALARS_AND_LAYOUTS(BLOCKVEC_PRODUCTS)

}  // namespace blockvec
