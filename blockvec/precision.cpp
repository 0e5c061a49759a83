#include <blockvec/operations.hpp>
#include <blockvec/precision.hpp>
#include <blockvec/timer.hpp>

#include "blockvec/checks.hpp"
#include "blockvec/entries.hpp"
#include "blockvec/instantiate.hpp"

namespace blockvec {
namespace {

template <class To, class From>
KOKKOS_INLINE_FUNCTION To converted(const From& x) {
  return static_cast<To>(x);
}
template <class To, class Real>
KOKKOS_INLINE_FUNCTION To converted(const Complex<Real>& x) {
  return To(static_cast<RealOf<To>>(x.real()), static_cast<RealOf<To>>(x.imag()));
}

template <class From, class To, class Layout>
struct ConvertEvery {
  Entries<From, Layout> from;
  Entries<To, Layout> to;
  KOKKOS_FUNCTION void operator()(std::int64_t row, std::int64_t column) const {
    *to.at(row, column) = converted<To>(*from.at(row, column));
  }
};

}  // namespace

template <class From, class To, class Layout, class Space>
void convert(const BlockVector<From, Layout, Space>& v, const BlockVector<To, Layout, Space>& w) {
  require_same_width("convert", v, w);
  const std::int64_t rows = v.local_rows(), width = v.width();
  const OperationTimer<Space> timer(v.context(), Operation::copy,
                                    Cost<From>::passes_bytes(rows, width) + Cost<To>::passes_bytes(rows, width), 0);
  for_entries<Space, Layout>(v.context(), rows, width, ConvertEvery<From, To, Layout>{entries(v), entries(w)});
}

#define BLOCKVEC_CONVERT(From, To, Layout, Space) \
  template void convert(const BlockVector<From, Layout, Space>&, const BlockVector<To, Layout, Space>&);
#define BLOCKVEC_CONVERT_BOTH_WAYS(Long, Short, Layout, Space) \
  BLOCKVEC_CONVERT(Long, Short, Layout, Space)                 \
  BLOCKVEC_CONVERT(Short, Long, Layout, Space)
#define BLOCKVEC_CONVERT_LAYOUTS(Long, Short)                             \
  BLOCKVEC_WITH_SPACES(BLOCKVEC_CONVERT_BOTH_WAYS, Long, Short, RowMajor) \
  BLOCKVEC_WITH_SPACES(BLOCKVEC_CONVERT_BOTH_WAYS, Long, Short, ColumnMajor)
BLOCKVEC_CONVERT_LAYOUTS(double, float)
BLOCKVEC_CONVERT_LAYOUTS(Complex<double>, Complex<float>)

}  // namespace blockvec
