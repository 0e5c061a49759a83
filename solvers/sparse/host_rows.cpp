#include "solvers/sparse/host_rows.hpp"

#include <algorithm>
#include <blockvec/instantiate.hpp>
#include <blockvec/kernels/parallel.hpp>
#include <type_traits>

namespace blockvec::solvers {
namespace {

/// The rows of X between those of the ghosts before and behind them: X itself where there are none, else a copy. Begins
/// with X's first row.
template <class Scalar, class Layout>
auto beside_ghosts(WorkspaceScope<>& scope, const BlockVector<Scalar, Layout>& x, const Scalar* ghosts,
                   std::int64_t before, std::int64_t count) {
  auto matrix = x.matrix();
  if (count == 0) return matrix;
  constexpr bool by_rows = std::is_same_v<Layout, RowMajor>;
  const std::int64_t rows = x.local_rows(), width = x.width();
  const std::int64_t row_step = by_rows ? width : 1, column_step = by_rows ? 1 : rows + count;
  Scalar* const first = scope.take<Scalar>(static_cast<std::size_t>((rows + count) * width)) + before * row_step;
  const auto view = x.view();
  const auto copy_rows = [&](std::int64_t begin, std::int64_t end, std::int64_t place, const auto& entry) {
    constexpr std::int64_t together = 1024;
    kernels::parallel_for(x.context().threads(), (end - begin + together - 1) / together, [&](std::int64_t item, int) {
      const std::int64_t from = begin + item * together;
      const std::int64_t to = std::min(end, from + together);
      Scalar* const target = first + place * row_step;
      if (by_rows) {
        for (std::int64_t i = from; i < to; ++i) {
          for (std::int64_t j = 0; j < width; ++j) target[(i - begin) * row_step + j] = entry(i, j);
        }
      } else {
        for (std::int64_t j = 0; j < width; ++j) {
          for (std::int64_t i = from; i < to; ++i) target[i - begin + j * column_step] = entry(i, j);
        }
      }
    });
  };
  const auto ghost = [&](std::int64_t i, std::int64_t j) { return ghosts[i * width + j]; };
  copy_rows(0, before, -before, ghost);
  copy_rows(0, rows, 0, [&](std::int64_t i, std::int64_t j) { return view(i, j); });
  copy_rows(before, count, rows, ghost);
  matrix.data = reinterpret_cast<decltype(matrix.data)>(first);
  matrix.ld = by_rows ? width : column_step;
  return matrix;
}

/// Strips of a recurrence: two cache lines a row of doubles.
constexpr std::int64_t strip_width = 16;
/// Fewer steps do not pay for the copies.
constexpr std::int64_t least_steps = 3;

/// Columns of a column-major block vector by rows, in scratch memory. A row is made of whole registers, which cost less
/// than parts of them: copies of the last column stand for those that are missing.
template <class Scalar>
class StripByRows {
 public:
  using Columns = BlockVector<Scalar, ColumnMajor>;

  /// For as many columns as `model` has.
  StripByRows(WorkspaceScope<>& scope, const Columns& model) {
    const std::int64_t width = model.width();
    const std::int64_t ld = width < 3 ? width : (width + together - 1) / together * together;
    auto* const data = scope.take<Scalar>(static_cast<std::size_t>(model.local_rows() * ld));
    rows_ = BlockVector<Scalar, RowMajor>::wrap(model.context(), model.rows(), data, ld, ld);
  }
  const BlockVector<Scalar, RowMajor>& rows() const { return rows_; }
  /// The columns, times a factor.
  void read(const Columns& columns, Scalar factor = Scalar(1)) const {
    copy(columns, [factor](Scalar& row, const Scalar& column) { row = factor * column; });
  }
  void write(const Columns& columns) const {
    copy(columns, [](const Scalar& row, Scalar& column) { column = row; });
  }

 private:
  static constexpr std::int64_t together = 4;

  /// move(entry of the rows, entry of the columns) for all of them, with the context's threads.
  template <class Move>
  void copy(const Columns& columns, const Move& move) const {
    constexpr std::int64_t piece = 512;
    const std::int64_t count = columns.local_rows(), ld = rows_.ld(), last = columns.width() - 1;
    kernels::parallel_for(columns.context().threads(), (count + piece - 1) / piece, [&](std::int64_t item, int) {
      const std::int64_t begin = item * piece, end = std::min(count, begin + piece);
      for (std::int64_t first = 0; first < ld; first += together) {
        Scalar* const rows = rows_.data() + first;
        const auto column = [&](std::int64_t j) { return columns.data() + std::min(first + j, last) * columns.ld(); };
        if (first + together <= ld) {
          Scalar *const a = column(0), *const b = column(1), *const c = column(2), *const d = column(3);
          for (std::int64_t i = begin; i < end; ++i) {
            move(rows[i * ld], a[i]), move(rows[i * ld + 1], b[i]);
            move(rows[i * ld + 2], c[i]), move(rows[i * ld + 3], d[i]);
          }
        } else {
          for (std::int64_t j = 0; first + j < ld; ++j) {
            for (std::int64_t i = begin; i < end; ++i) move(rows[i * ld + j], column(j)[i]);
          }
        }
      }
    });
  }

  BlockVector<Scalar, RowMajor> rows_;
};

/// action(begin, end) for the strips of so many columns.
template <class Action>
void for_each_strip(std::int64_t width, const Action& action) {
  for (std::int64_t begin = 0; begin < width; begin += strip_width) {
    action(begin, std::min(width, begin + strip_width));
  }
}

}  // namespace

template <class Scalar>
HostRows<Scalar>::HostRows(const Context& context, const RowDistribution& rows, SplitRows<Scalar> split)
    : ghosts_before_(split.ghosts_before),
      own_rows_(std::move(split.own)),
      ghost_rows_(std::move(split.ghost)),
      halo_(rows, context.communicator(), split.ghosts) {
  if (!context.is_reproducible()) local_.emplace(own_rows_);
}

template <class Scalar>
template <class Layout>
void HostRows<Scalar>::multiply(Scalar alpha, Scalar shift, const BlockVector<Scalar, Layout>& x, Scalar beta,
                                const BlockVector<Scalar, Layout>& y, const RunningSum<Kernel>& sum) {
  const int threads = x.context().threads();
  WorkspaceScope<> scope(x.context());
  auto* const ghosts = scope.take<Scalar>(static_cast<std::size_t>(halo_.ghosts() * x.width()));
  halo_.exchange(x, ghosts);
  if (local_ && sum.to.data == nullptr) {
    local_->apply(threads, alpha, shift, x, beta, y);
  } else {
    const auto own = local_ ? x.matrix() : beside_ghosts(scope, x, ghosts, ghosts_before_, halo_.ghosts());
    sparse_product<Kernel>(threads, own_rows_.matrix(), Kernel(alpha), Kernel(shift), own, Kernel(beta), y.matrix(),
                           sum);
  }
  if (ghost_rows_.entries() == 0) return;
  const kernels::Matrix<const Kernel> others{reinterpret_cast<const Kernel*>(ghosts), halo_.ghosts(), x.width(),
                                             x.width(), kernels::Layout::row_major};
  const auto add_to = [&](Kernel factor, const kernels::Matrix<Kernel>& result) {
    sparse_product<Kernel>(threads, ghost_rows_.matrix(), factor, Kernel(0), others, Kernel(1), result);
  };
  add_to(Kernel(alpha), y.matrix());
  if (sum.to.data != nullptr) add_to(sum.weight * Kernel(alpha), sum.to);
}

template <class Scalar>
void HostRows<Scalar>::recur_on_rows(Scalar shift, std::span<const RecurrenceStep<Scalar>> steps, const Rows& newest,
                                     const Rows& before, const Scalar* weights, const Rows* sum) {
  Rows last = newest, place = before;
  RunningSum<Kernel> running;
  if (sum != nullptr) running.to = sum->matrix();
  for (const RecurrenceStep<Scalar>& step : steps) {
    if (sum != nullptr) running.weight = Kernel(*weights++);
    multiply(step.alpha, shift, last, step.beta, place, running);
    std::swap(last, place);
  }
}

template <class Scalar>
template <class Layout>
void HostRows<Scalar>::recur(Scalar shift, std::span<const RecurrenceStep<Scalar>> steps,
                             const BlockVector<Scalar, Layout>& newest, const BlockVector<Scalar, Layout>& before) {
  if constexpr (std::is_same_v<Layout, RowMajor>) {
    recur_on_rows(shift, steps, newest, before);
  } else if (std::ssize(steps) < least_steps) {
    recur_by_products(*this, shift, steps, newest, before);
  } else {
    for_each_strip(newest.width(), [&](std::int64_t begin, std::int64_t end) {
      WorkspaceScope<> scope(newest.context());
      const auto of_newest = newest.columns(begin, end), of_before = before.columns(begin, end);
      const StripByRows<Scalar> last(scope, of_newest), place(scope, of_before);
      last.read(of_newest);
      if (steps.front().beta != Scalar(0)) place.read(of_before);
      recur_on_rows(shift, steps, last.rows(), place.rows());
      last.write(of_newest);
      place.write(of_before);
    });
  }
}

template <class Scalar>
template <class Layout>
void HostRows<Scalar>::apply_polynomial(const Polynomial<Scalar>& p, const BlockVector<Scalar, Layout>& x,
                                        const BlockVector<Scalar, Layout>& y) {
  const std::span<const RecurrenceStep<Scalar>> steps = p.steps;
  const bool is_sum = !p.weights.empty();
  if constexpr (std::is_same_v<Layout, RowMajor>) {
    apply_polynomial_on_scratch(p, x, y, [&](const Rows& newest, const Rows& before, const Rows* sum) {
      recur_on_rows(p.shift, steps, newest, before, is_sum ? p.weights.data() + 1 : nullptr, sum);
    });
  } else if (std::ssize(steps) < least_steps) {
    apply_polynomial_by_products(*this, p, x, y);
  } else {
    for_each_strip(x.width(), [&](std::int64_t begin, std::int64_t end) {
      WorkspaceScope<> scope(x.context());
      const auto of_x = x.columns(begin, end), of_y = y.columns(begin, end);
      const StripByRows<Scalar> last(scope, of_x), place(scope, of_x);
      last.read(of_x);
      if (!is_sum) {
        recur_on_rows(p.shift, steps, last.rows(), place.rows());
        (steps.size() % 2 == 0 ? last : place).write(of_y);
      } else {
        const StripByRows<Scalar> sum(scope, of_x);
        sum.read(of_x, p.weights.front());
        recur_on_rows(p.shift, steps, last.rows(), place.rows(), p.weights.data() + 1, &sum.rows());
        sum.write(of_y);
      }
    });
  }
}

#define BLOCKVEC_HOST_ROWS_OF(Scalar, Layout)                                                                     \
  template void HostRows<Scalar>::multiply(Scalar, Scalar, const BlockVector<Scalar, Layout>&, Scalar,            \
                                           const BlockVector<Scalar, Layout>&,                                    \
                                           const RunningSum<typename ScalarTraits<Scalar>::Kernel>&);             \
  template void HostRows<Scalar>::recur(Scalar, std::span<const RecurrenceStep<Scalar>>,                          \
                                        const BlockVector<Scalar, Layout>&, const BlockVector<Scalar, Layout>&);  \
  template void HostRows<Scalar>::apply_polynomial(const Polynomial<Scalar>&, const BlockVector<Scalar, Layout>&, \
                                                   const BlockVector<Scalar, Layout>&);
#define BLOCKVEC_HOST_ROWS(Scalar)        \
  template class HostRows<Scalar>;        \
  BLOCKVEC_HOST_ROWS_OF(Scalar, RowMajor) \
  BLOCKVEC_HOST_ROWS_OF(Scalar, ColumnMajor)
BLOCKVEC_FOR_SCALARS(BLOCKVEC_HOST_ROWS)

}  // namespace blockvec::solvers
