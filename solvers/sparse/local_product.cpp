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
  // Kokkos Kernels multiply wide blocks by rows: they take 1.6 times as long as the loop of our own, but others keep
  // them. For narrow blocks and by columns they take twice as long or more. They know no shift, for which they would
  // need another pass over X and Y, and a Serial Kokkos has one thread; calling them from several is not promised to
  // work.
  if constexpr (uses_kokkos_kernels<Scalar> && std::is_same_v<Layout, RowMajor>) {
    constexpr std::int64_t wide = 16;
    const bool is_serial = std::string_view(Matrix::Space::name()) == "Serial";  // a type that not every Kokkos has
    if (x.width() >= wide && shift == Scalar(0) && !(is_serial && threads > 1)) {
      return KokkosSparse::spmv("N", alpha, matrix_->crs, x.view(), beta, y.view());
    }
  }
#endif
  using Kernel = typename ScalarTraits<Scalar>::Kernel;
  sparse_product<Kernel>(threads, rows_.matrix(), Kernel(alpha), Kernel(shift), x.matrix(), Kernel(beta), y.matrix());
}

#define BLOCKVEC_LOCAL_PRODUCT(Scalar)                                                                            \
  template class LocalProduct<Scalar>;                                                                            \
  template void LocalProduct<Scalar>::apply(int, Scalar, Scalar, const BlockVector<Scalar, RowMajor>&, Scalar,    \
                                            const BlockVector<Scalar, RowMajor>&) const;                          \
  template void LocalProduct<Scalar>::apply(int, Scalar, Scalar, const BlockVector<Scalar, ColumnMajor>&, Scalar, \
                                            const BlockVector<Scalar, ColumnMajor>&) const;
BLOCKVEC_FOR_SCALARS(BLOCKVEC_LOCAL_PRODUCT)

}  // namespace blockvec::solvers
