// The one translation unit that includes Kokkos Kernels, where they are: they are slow to compile.
#include "solvers/sparse/local_product.hpp"

// They can be built without their sparse part.
#if BLOCKVEC_HAVE_KOKKOSKERNELS && __has_include(<KokkosSparse_spmv.hpp>)
#define BLOCKVEC_HAVE_SPMV 1
#include <KokkosSparse_CrsMatrix.hpp>
#include <KokkosSparse_spmv.hpp>
#include <string_view>
#include <type_traits>
#endif

#include <blockvec/instantiate.hpp>

#include "solvers/sparse/sparse_product.hpp"

namespace blockvec::solvers {

#if BLOCKVEC_HAVE_SPMV
/// Its templates take minutes to compile: single precision is left to the loop of our own.
template <class Scalar>
constexpr bool uses_kokkos_kernels = std::is_same_v<RealOf<Scalar>, double>;

template <class Scalar>
struct LocalProduct<Scalar>::Matrix {
  using Space = Kokkos::DefaultHostExecutionSpace;
  using Crs = KokkosSparse::CrsMatrix<std::conditional_t<uses_kokkos_kernels<Scalar>, Scalar, double>, int, Space, void,
                                      std::size_t>;
  explicit Matrix(const CompressedRows<Scalar>& rows) {
    if constexpr (uses_kokkos_kernels<Scalar>) {
      crs = Crs("BlockVec::solvers::LocalProduct", static_cast<int>(rows.rows()), rows.values,
                typename Crs::StaticCrsGraphType(rows.columns, rows.row_begin));
    }
  }
  Crs crs;
};
#else
template <class Scalar>
struct LocalProduct<Scalar>::Matrix {
  explicit Matrix(const CompressedRows<Scalar>&) {}
};
#endif

template <class Scalar>
LocalProduct<Scalar>::LocalProduct(CompressedRows<Scalar> rows)
    : rows_(std::move(rows)), matrix_(std::make_unique<Matrix>(rows_)) {}

template <class Scalar>
LocalProduct<Scalar>::~LocalProduct() = default;

template <class Scalar>
template <class Layout>
void LocalProduct<Scalar>::apply(int threads, Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout>& x,
                                 Scalar beta, const BlockVector<Scalar, Layout>& y) const {
  if (rows_.rows() == 0 || x.width() == 0) return;
#if BLOCKVEC_HAVE_SPMV
  // Where the loop of our own is used instead of Kokkos Kernels:
  // - with a shift, for which it would need another pass over X and Y;
  // - under a Serial Kokkos with more than one thread, since it uses one, and calling it from several is not promised
  //   to work;
  // - for one column of a row-major block: Kokkos Kernels 3.4 takes the stride of a vector for 1.
  if constexpr (uses_kokkos_kernels<Scalar>) {
    const bool is_serial = std::string_view(Matrix::Space::name()) == "Serial";  // a type that not every Kokkos has
    const bool is_strided = x.width() == 1 && std::is_same_v<Layout, RowMajor>;
    if (shift == Scalar(0) && !(is_serial && threads > 1) && !is_strided) {
      if (x.width() > 1) return KokkosSparse::spmv("N", alpha, matrix_->crs, x.view(), beta, y.view());
      return KokkosSparse::spmv("N", alpha, matrix_->crs, Kokkos::subview(x.view(), Kokkos::ALL, 0), beta,
                                Kokkos::subview(y.view(), Kokkos::ALL, 0));
    }
  }
#endif
  sparse_product<Layout, Layout>(threads, rows_, alpha, shift, TallPointer<const Scalar>{x.data(), x.ld()}, beta,
                                 TallPointer<Scalar>{y.data(), y.ld()}, x.width());
}

#define BLOCKVEC_LOCAL_PRODUCT(Scalar)                                                                            \
  template class LocalProduct<Scalar>;                                                                            \
  template void LocalProduct<Scalar>::apply(int, Scalar, Scalar, const BlockVector<Scalar, RowMajor>&, Scalar,    \
                                            const BlockVector<Scalar, RowMajor>&) const;                          \
  template void LocalProduct<Scalar>::apply(int, Scalar, Scalar, const BlockVector<Scalar, ColumnMajor>&, Scalar, \
                                            const BlockVector<Scalar, ColumnMajor>&) const;
BLOCKVEC_FOR_SCALARS(BLOCKVEC_LOCAL_PRODUCT)

}  // namespace blockvec::solvers
