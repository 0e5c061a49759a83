#include <atomic>
#include <blockvec/block_vector.hpp>
#include <blockvec/operations.hpp>

#include "blockvec/allocate.hpp"
#include "blockvec/checks.hpp"
#include "blockvec/entries.hpp"
#include "blockvec/instantiate.hpp"

namespace blockvec {
namespace {

constexpr std::int64_t line_bytes = 128;

// Zero is that of empty handles.
std::uint64_t next_block() {
  static std::atomic<std::uint64_t> blocks{0};
  return ++blocks;
}

// Whole 128-byte lines for a row (row-major) or column, once one is at least that long: views that start on a line then
// stream at full speed. Narrower blocks are stored without gaps.
template <class Scalar>
std::int64_t padded(std::int64_t extent) {
  constexpr std::int64_t elements = line_bytes / static_cast<std::int64_t>(sizeof(Scalar));
  return extent <= elements ? std::max<std::int64_t>(extent, 1) : (extent + elements - 1) / elements * elements;
}

// A two-dimensional View with a leading dimension, over memory that something else keeps alive.
template <class View, class Scalar>
View strided_view(Scalar* data, std::int64_t rows, std::int64_t width, std::int64_t ld) {
  if constexpr (std::is_same_v<typename View::array_layout, RowMajor>) {
    return Kokkos::subview(View(data, static_cast<std::size_t>(rows), static_cast<std::size_t>(ld)), Kokkos::ALL,
                           std::pair<std::int64_t, std::int64_t>(0, width));
  } else {
    return Kokkos::subview(View(data, static_cast<std::size_t>(ld), static_cast<std::size_t>(width)),
                           std::pair<std::int64_t, std::int64_t>(0, rows), Kokkos::ALL);
  }
}

void require_ranks(const Context& context, const RowDistribution& rows, const std::string& label) {
  const Communicator& communicator = context.communicator();
  if (rows.lies_on(communicator)) return;
  throw ShapeError("BlockVector " + label + ": distribution of " + rows.describe() + ", context of " +
                   std::to_string(communicator.size()) +
                   "; expected the same ranks in the same order, those of one communicator or of a duplicate");
}

void require_width(std::int64_t width, const std::string& label) {
  if (width < 0)
    throw ShapeError("BlockVector " + label + ": width = " + std::to_string(width) + ", expected 0 or more");
}

// Zeros in storage that no thread has touched yet: those that will work on it touch it first.
template <class Space, class Scalar>
void clear_storage(const Context& context, Scalar* first, std::int64_t count) {
  assign<Space>(context, count, 1, Entries<Scalar, ColumnMajor>{first, count}, Constant<Scalar>{Scalar(0)});
}

template <class From, class To>
struct Convert {
  From from;
  To to;
  KOKKOS_FUNCTION void operator()(std::int64_t i, std::int64_t j) const {
    to(i, j) = static_cast<typename To::non_const_value_type>(from(i, j));
  }
};

template <class V, class W>
void convert_entries(const V& v, const W& w) {
  for_entries<typename V::Space, typename V::Layout>(v.context(), v.local_rows(), v.width(),
                                                     Convert<typename V::View, typename W::View>{v.view(), w.view()});
}

}  // namespace

template <class Scalar, class Layout, class Space>
BlockVector<Scalar, Layout, Space>::BlockVector(const Context& context, const RowDistribution& rows, std::int64_t width,
                                                const std::string& label)
    : context_(context), rows_(rows), label_(std::make_shared<const std::string>(label)), block_(next_block()) {
  require_width(width, label);
  require_ranks(context, rows, label);
  const std::int64_t k = rows.local_rows();
  const std::int64_t leading = padded<Scalar>(is_row_major<Layout> ? width : k);
  const std::int64_t lines = is_row_major<Layout> ? k : width;
  constexpr std::int64_t slack = line_bytes / static_cast<std::int64_t>(sizeof(Scalar));
  std::int64_t elements = 0;
  if (__builtin_mul_overflow(leading, lines, &elements) || __builtin_add_overflow(elements, slack, &elements)) {
    throw OutOfMemoryError(describe_shape(label, k, width) + ": more elements than 64 bits count");
  }
  storage_ = detail::allocate<Scalar, Space>(static_cast<std::size_t>(elements), "BlockVec::BlockVector::" + label);
  const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
  const auto base = (address + line_bytes - 1) / line_bytes * line_bytes;
  view_ = strided_view<View>(reinterpret_cast<Scalar*>(base), k, width, leading);
  clear_storage<Space>(context, view_.data(), leading * lines);  // with the padding
}

template <class Scalar, class Layout, class Space>
BlockVector<Scalar, Layout, Space> BlockVector<Scalar, Layout, Space>::wrap(const Context& context,
                                                                            const RowDistribution& rows,
                                                                            const View& view,
                                                                            const std::string& label) {
  require_ranks(context, rows, label);
  if (static_cast<std::int64_t>(view.extent(0)) != rows.local_rows()) {
    throw ShapeError("BlockVector::wrap " + label + ": View of " + std::to_string(view.extent(0)) + " x " +
                     std::to_string(view.extent(1)) + ", expected this rank's " + std::to_string(rows.local_rows()) +
                     " rows");
  }
  BlockVector result;
  result.context_ = context;
  result.rows_ = rows;
  result.view_ = view;
  result.label_ = std::make_shared<const std::string>(label);
  result.block_ = next_block();
  return result;
}

template <class Scalar, class Layout, class Space>
BlockVector<Scalar, Layout, Space> BlockVector<Scalar, Layout, Space>::wrap(const Context& context,
                                                                            const RowDistribution& rows, Scalar* data,
                                                                            std::int64_t width, std::int64_t ld,
                                                                            const std::string& label) {
  require_width(width, label);
  const std::int64_t k = rows.local_rows();
  const std::int64_t least = is_row_major<Layout> ? width : k;
  if (ld < least) {
    throw ShapeError("BlockVector::wrap " + label + ": " + std::to_string(k) + " x " + std::to_string(width) +
                     " entries, ld = " + std::to_string(ld) + ", expected at least " + std::to_string(least));
  }
  if (data == nullptr && k > 0 && width > 0) {
    throw ShapeError("BlockVector::wrap " + label + ": null data for " + std::to_string(k) + " x " +
                     std::to_string(width) + " entries");
  }
  return wrap(context, rows, strided_view<View>(data, k, width, ld), label);
}

template <class Scalar, class Layout, class Space>
std::int64_t BlockVector<Scalar, Layout, Space>::ld() const {
  const auto stride = static_cast<std::int64_t>(view_.stride(is_row_major<Layout> ? 0 : 1));
  // One line alone may carry any stride: it has no second.
  return std::max({stride, is_row_major<Layout> ? width() : local_rows(), std::int64_t{1}});
}

template <class Scalar, class Layout, class Space>
BlockVector<Scalar, Layout, Space> BlockVector<Scalar, Layout, Space>::columns(std::int64_t begin,
                                                                               std::int64_t end) const {
  if (begin < 0 || end < begin || end > width()) {
    throw ShapeError("columns [" + std::to_string(begin) + ", " + std::to_string(end) + ") of " + describe());
  }
  BlockVector result(*this);
  result.view_ = Kokkos::subview(view_, Kokkos::ALL, std::pair<std::int64_t, std::int64_t>(begin, end));
  result.first_column_ += begin;
  return result;
}

template <class Scalar, class Layout, class Space>
bool BlockVector<Scalar, Layout, Space>::shares_columns(const BlockVector& other) const {
  return block_ == other.block_ && first_column_ < other.first_column_ + other.width() &&
         other.first_column_ < first_column_ + width() && width() > 0 && other.width() > 0;
}

template <class Scalar, class Layout, class Space>
bool BlockVector<Scalar, Layout, Space>::precedes(const BlockVector& other) const {
  return block_ == other.block_ && first_column_ + width() == other.first_column_;
}

template <class Scalar, class Layout, class Space>
BlockVector<Scalar, Layout, Space> BlockVector<Scalar, Layout, Space>::joined(const BlockVector& other) const {
  if (!precedes(other)) {
    throw ShapeError("joined: " + describe() + " and " + other.describe() +
                     ": expected neighbouring columns of one block vector");
  }
  BlockVector result(*this);
  const std::int64_t columns = width() + other.width();
  // A view that is one line, or none, may know no leading dimension.
  const std::int64_t line = is_row_major<Layout> ? columns : local_rows();
  result.view_ = strided_view<View>(data(), local_rows(), columns, std::max({ld(), other.ld(), line}));
  return result;
}

template <class Scalar, class Layout, class Space>
BlockVector<Scalar, Layout, Space> BlockVector<Scalar, Layout, Space>::deep_copy(const std::string& label) const {
  BlockVector result(context_, rows_, width(), label);
  copy(*this, result);
  return result;
}

template <class Scalar, class Layout, class Space>
template <class OtherLayout>
BlockVector<Scalar, OtherLayout, Space> BlockVector<Scalar, Layout, Space>::converted_to_layout(
    const std::string& label) const {
  BlockVector<Scalar, OtherLayout, Space> result(context_, rows_, width(), label);
  convert_entries(*this, result);
  return result;
}

template <class Scalar, class Layout, class Space>
template <class OtherScalar>
BlockVector<OtherScalar, Layout, Space> BlockVector<Scalar, Layout, Space>::converted_to_scalar(
    const std::string& label) const {
  BlockVector<OtherScalar, Layout, Space> result(context_, rows_, width(), label);
  convert_entries(*this, result);
  return result;
}

template <class Scalar, class Layout, class Space>
template <class OtherSpace>
BlockVector<Scalar, Layout, OtherSpace> BlockVector<Scalar, Layout, Space>::converted_to_space(
    const std::string& label) const {
  BlockVector<Scalar, Layout, OtherSpace> result(context_, rows_, width(), label);
  copy(*this, result);
  return result;
}

template <class Scalar, class Layout, class Space>
std::string BlockVector<Scalar, Layout, Space>::describe() const {
  if (!label_) return "empty BlockVector";
  const int ranks = rows_.ranks();
  return describe_shape(*label_, global_rows(), width()) + " (" + std::string(scalar_name<Scalar>()) +
         (is_row_major<Layout> ? ", row-major, " : ", column-major, ") + std::to_string(ranks) +
         (ranks == 1 ? " rank)" : " ranks)");
}

template <class Scalar, class Layout, class Space>
kernels::Matrix<typename ScalarTraits<Scalar>::Kernel> BlockVector<Scalar, Layout, Space>::matrix() const {
  using Kernel = typename ScalarTraits<Scalar>::Kernel;
  return {reinterpret_cast<Kernel*>(data()), local_rows(), width(), ld(), kernel_layout<Layout>};
}

template <class Scalar, class Layout, class Space>
BlockVector<Scalar, Layout, Space> scratch_like(WorkspaceScope<Space>& scope,
                                                const BlockVector<Scalar, Layout, Space>& model, std::int64_t width) {
  require_width(width, "scratch");
  const std::int64_t k = model.local_rows();
  const std::int64_t ld = padded<Scalar>(is_row_major<Layout> ? width : k);
  Scalar* const data = scope.template take<Scalar>(static_cast<std::size_t>(ld * (is_row_major<Layout> ? k : width)));
  static const auto label = std::make_shared<const std::string>("scratch");
  BlockVector<Scalar, Layout, Space> result;
  result.context_ = model.context_;
  result.rows_ = model.rows_;
  result.view_ = strided_view<typename BlockVector<Scalar, Layout, Space>::View>(data, k, width, ld);
  result.label_ = label;
  result.block_ = next_block();
  return result;
}

#define BLOCKVEC_BLOCK_VECTOR(Scalar, Layout, Space)                               \
  template class BlockVector<Scalar, Layout, Space>;                               \
  template BlockVector<Scalar, Layout, Space> scratch_like(WorkspaceScope<Space>&, \
                                                           const BlockVector<Scalar, Layout, Space>&, std::int64_t);
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_BLOCK_VECTOR)

#define BLOCKVEC_CONVERT_LAYOUT(Scalar, Space)                                                      \
  template BlockVector<Scalar, ColumnMajor, Space>                                                  \
  BlockVector<Scalar, RowMajor, Space>::converted_to_layout<ColumnMajor>(const std::string&) const; \
  template BlockVector<Scalar, RowMajor, Space>                                                     \
  BlockVector<Scalar, ColumnMajor, Space>::converted_to_layout<RowMajor>(const std::string&) const;
BLOCKVEC_FOR_SMALL_MATRICES(BLOCKVEC_CONVERT_LAYOUT)

#define BLOCKVEC_CONVERT_SCALAR(From, To, Space)                                                               \
  template BlockVector<To, RowMajor, Space> BlockVector<From, RowMajor, Space>::converted_to_scalar<To>(       \
      const std::string&) const;                                                                               \
  template BlockVector<To, ColumnMajor, Space> BlockVector<From, ColumnMajor, Space>::converted_to_scalar<To>( \
      const std::string&) const;
BLOCKVEC_WITH_SPACES(BLOCKVEC_CONVERT_SCALAR, float, double)
BLOCKVEC_WITH_SPACES(BLOCKVEC_CONVERT_SCALAR, double, float)
BLOCKVEC_WITH_SPACES(BLOCKVEC_CONVERT_SCALAR, float, Complex<float>)
BLOCKVEC_WITH_SPACES(BLOCKVEC_CONVERT_SCALAR, double, Complex<double>)
BLOCKVEC_WITH_SPACES(BLOCKVEC_CONVERT_SCALAR, Complex<float>, Complex<double>)
BLOCKVEC_WITH_SPACES(BLOCKVEC_CONVERT_SCALAR, Complex<double>, Complex<float>)

// Between two spaces: from each to each.
#define BLOCKVEC_CONVERT_SPACE(Scalar, Layout, Space) \
  template BlockVector<Scalar, Layout, Space>         \
  BlockVector<Scalar, Layout, Kokkos::HostSpace>::converted_to_space<Space>(const std::string&) const;
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_CONVERT_SPACE)
#if BLOCKVEC_HAVE_CUDA_SPACE
#define BLOCKVEC_CONVERT_FROM_DEVICE(Scalar, Layout, Space) \
  template BlockVector<Scalar, Layout, Space>               \
  BlockVector<Scalar, Layout, Kokkos::CudaSpace>::converted_to_space<Space>(const std::string&) const;
BLOCKVEC_FOR_BLOCK_VECTORS(BLOCKVEC_CONVERT_FROM_DEVICE)
#endif

}  // namespace blockvec
