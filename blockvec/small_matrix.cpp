#include <blockvec/on_host.hpp>
#include <blockvec/small_matrix.hpp>

#include "blockvec/instantiate.hpp"

namespace blockvec {
namespace {

template <class From, class To>
void copy_entries(const From& from, const To& to) {
  for (std::size_t j = 0; j < from.extent(1); ++j) {
    for (std::size_t i = 0; i < from.extent(0); ++i) to(i, j) = from(i, j);
  }
}

}  // namespace

template <class Scalar, class Space>
SmallMatrix<Scalar, Space>::SmallMatrix(const Context& context, std::int64_t rows, std::int64_t columns,
                                        const std::string& label)
    : context_(context) {
  if (rows < 0 || columns < 0) {
    throw ShapeError("SmallMatrix " + label + ": " + std::to_string(rows) + " x " + std::to_string(columns) +
                     ", expected extents of 0 or more");
  }
  view_ = View(Kokkos::view_alloc(label, context.execution_space<Space>()), static_cast<std::size_t>(rows),
               static_cast<std::size_t>(columns));
}

template <class Scalar, class Space>
SmallMatrix<Scalar, Space> SmallMatrix<Scalar, Space>::scratch(WorkspaceScope<Space>& scope, std::int64_t rows,
                                                               std::int64_t columns) {
  if (rows < 0 || columns < 0) {
    throw ShapeError("SmallMatrix::scratch: " + std::to_string(rows) + " x " + std::to_string(columns) +
                     ", expected extents of 0 or more");
  }
  Scalar* const data = scope.template take<Scalar>(static_cast<std::size_t>(rows * columns));
  return SmallMatrix(scope.context(), View(data, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns)));
}

template <class Scalar, class Space>
SmallMatrix<Scalar, Space> SmallMatrix<Scalar, Space>::block(std::int64_t row_begin, std::int64_t row_end,
                                                             std::int64_t column_begin, std::int64_t column_end) const {
  if (row_begin < 0 || row_end < row_begin || row_end > rows() || column_begin < 0 || column_end < column_begin ||
      column_end > columns()) {
    throw ShapeError("SmallMatrix::block: rows [" + std::to_string(row_begin) + ", " + std::to_string(row_end) +
                     ") and columns [" + std::to_string(column_begin) + ", " + std::to_string(column_end) + ") of a " +
                     std::to_string(rows()) + " x " + std::to_string(columns()) + " matrix");
  }
  return SmallMatrix(context_, View(Kokkos::subview(view_, std::pair<std::int64_t, std::int64_t>(row_begin, row_end),
                                                    std::pair<std::int64_t, std::int64_t>(column_begin, column_end))));
}

template <class Scalar, class Space>
HostMatrix<Scalar> SmallMatrix<Scalar, Space>::to_host() const {
  HostMatrix<Scalar> values("BlockVec::SmallMatrix::to_host", view_.extent(0), view_.extent(1));
  on_host([&](const auto& here) { copy_entries(here.view(), values); }, reads(*this));
  return values;
}

template <class Scalar, class Space>
void SmallMatrix<Scalar, Space>::from_host(const HostMatrix<Scalar>& values) const {
  if (values.extent(0) != view_.extent(0) || values.extent(1) != view_.extent(1)) {
    throw ShapeError("SmallMatrix::from_host: " + std::to_string(values.extent(0)) + " x " +
                     std::to_string(values.extent(1)) + " values for a " + std::to_string(rows()) + " x " +
                     std::to_string(columns()) + " matrix");
  }
  on_host([&](const auto& here) { copy_entries(values, here.view()); }, writes(*this));
}

#define BLOCKVEC_SMALL(Scalar, Space) template class SmallMatrix<Scalar, Space>;
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_SMALL)

}  // namespace blockvec
