#include <gtest/gtest.h>

#include <blockvec/solvers/operator.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <limits>
#include <string>
#include <vector>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "problems/heisenberg.hpp"
#include "tests/solvers/operator_products.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

/// The same matrix with other scalars.
template <class Scalar, class Source>
RowFunction<Scalar> converted(const Source& source) {
  return RowFunction<Scalar>(source.size(), [&source](std::int64_t row, RowEntries<Scalar>& entries) {
    RowEntries<double> given;
    source.append_row(row, given);
    for (std::size_t i = 0; i < given.columns.size(); ++i) {
      entries.add(given.columns[i], Scalar(static_cast<RealOf<Scalar>>(given.values[i])));
    }
  });
}

TEST(SparseOperator, MultipliesAsTheDenseMatrix) {
  for (const int threads : {1, 3}) {
    const Anderson model({3, 4, 5}, 2, 1);
    expect_product<SparseOperator, float, RowMajor>(converted<float>(model), threads);
    expect_product<SparseOperator, Complex<float>, ColumnMajor>(converted<Complex<float>>(model), threads);
    expect_product<SparseOperator, double, RowMajor>(model, threads);
    expect_product<SparseOperator, double, ColumnMajor>(Anderson({3, 4, 5}, 2, 1), threads);
    expect_product<SparseOperator, double, RowMajor>(SpinChain(6, 3, true, 1), threads);
    expect_product<SparseOperator, Complex<double>, RowMajor>(Graphene<Complex<double>>({6, 3}, 1, 6), threads);
    expect_product<SparseOperator, Complex<double>, ColumnMajor>(Graphene<Complex<double>>({6, 3}, 1, 6), threads);
    expect_product<SparseOperator, double, RowMajor>(SpinChain(3, 0, false, 1),
                                                     threads);  // one row, so most ranks have none
  }
}

TEST(SparseOperator, CountsAndRecords) {
  const auto context = Context::world();
  const Anderson model({4, 4, 4}, 1, 1);
  const auto rows = RowDistribution::uniform(model.size(), context.communicator());
  SparseOperator<double> op(context, rows, model);
  EXPECT_EQ(op.nonzeros(), 64 * 7);
  EXPECT_EQ(op.ghosts() == 0, context.communicator().size() == 1);
  BlockVector<double> x(context, rows, 3);
  BlockVector<double> y(context, rows, 3);
  op.apply(x, y);
  const std::int64_t allocations = context.workspace().allocations();
  const std::int64_t reductions = context.reductions();
  context.profile().start();
  op.apply(x, y);
  EXPECT_EQ(context.workspace().allocations(), allocations);
  EXPECT_EQ(context.reductions(), reductions);
  ASSERT_EQ(context.profile().records().size(), 1U);
  EXPECT_EQ(context.profile().records()[0].name, operation_name(Operation::user_operator));
  EXPECT_EQ(op.applications(), 6);
}

/// Products of an operator, and nothing else that it can do.
template <class Scalar, class Layout>
struct ProductsOf {
  using Vector = BlockVector<Scalar, Layout>;
  SparseOperator<Scalar>& a;
  const Context& context() const { return a.context(); }
  const RowDistribution& rows() const { return a.rows(); }
  void apply(Scalar alpha, Scalar shift, const Vector& x, Scalar beta, const Vector& y) {
    a.apply(alpha, shift, x, beta, y);
  }
};

template <class Scalar, class Layout>
void expect_equal_blocks(const BlockVector<Scalar, Layout>& found, const BlockVector<Scalar, Layout>& expected,
                         std::size_t steps) {
  const SmallMatrix<RealOf<Scalar>> difference(found.context(), 1, found.width());
  const SmallMatrix<RealOf<Scalar>> norm(found.context(), 1, found.width());
  column_norms(expected, norm);
  axpby(Scalar(-1), found, Scalar(1), expected);
  column_norms(expected, difference);
  // A step adds up to 9 products a row in some order; factors are of size 1, and A's norm is at most 12.
  const auto bound = static_cast<RealOf<Scalar>>(16 * 12 * steps) * epsilon<Scalar>;
  for (std::int64_t j = 0; j < found.width(); ++j) {
    EXPECT_LE(difference.to_host()(0, j), bound * (1 + norm.to_host()(0, j))) << "column " << j;
  }
}

/// The operator's own recurrences and those by its products, for blocks of several widths.
template <class Scalar, class Layout>
struct RecurrenceCase {
  using Vector = BlockVector<Scalar, Layout>;
  static Scalar number(double value) { return Scalar(static_cast<RealOf<Scalar>>(value)); }
  static Scalar nan() { return number(std::numeric_limits<double>::quiet_NaN()); }

  SparseOperator<Scalar>& op;
  RowDistribution rows;
  std::int64_t width;
  AnyOperator<Vector> own = op;
  AnyOperator<Vector> by_products = ProductsOf<Scalar, Layout>{op};

  Vector block() const { return Vector(op.context(), rows, width); }

  void expect_steps(std::size_t count) {
    std::vector<RecurrenceStep<Scalar>> steps(count, {number(0.1), number(-0.75)});
    if (count != 5) steps.front().beta = Scalar(0);
    const Vector blocks[2][2] = {{block(), block()}, {block(), block()}};
    for (const auto& [newest, before] : blocks) {
      fill_random(newest, 1);
      count == 5 ? fill_random(before, 2) : fill(before, nan());
    }
    const std::int64_t applications = op.applications();
    own.recur(number(0.25), steps, blocks[0][0], blocks[0][1]);
    EXPECT_EQ(op.applications(), applications + width * std::ssize(steps));
    by_products.recur(number(0.25), steps, blocks[1][0], blocks[1][1]);
    for (int i = 0; i < 2; ++i) expect_equal_blocks(blocks[0][i], blocks[1][i], count);
  }

  void expect_polynomial(std::size_t degree, bool is_summed) {
    Polynomial<Scalar> p{number(0.25), std::vector(degree, RecurrenceStep<Scalar>{number(0.1), number(-0.75)}), {}};
    if (degree > 0) p.steps.front().beta = Scalar(0);
    for (std::size_t k = 0; is_summed && k <= degree; ++k) p.weights.push_back(number(k % 3 == 0 ? -2 : 0.5));
    const Vector x = block(), x_before = block(), y = block(), expected = block();
    for (const Vector& given : {x, x_before}) fill_random(given, 1);
    for (const Vector& unread : {y, expected}) fill(unread, nan());
    const std::int64_t applications = op.applications();
    own.apply_polynomial(p, x, y);
    EXPECT_EQ(op.applications(), applications + width * static_cast<std::int64_t>(degree));
    by_products.apply_polynomial(p, x, expected);
    expect_equal_blocks(y, expected, degree + 1);
    expect_equal_blocks(x, x_before, 0);
  }
};

template <class Scalar, class Layout>
void expect_recurrences(const RowSource<Scalar>& source, int threads, Summation summation) {
  const auto context = Context::world(threads, summation);
  for (const RowDistribution& rows : distributions(source.size(), context.communicator())) {
    SparseOperator<Scalar> op(context, rows, source);
    for (const std::int64_t width : {0, 1, 2, 3, 4, 17, 35}) {
      RecurrenceCase<Scalar, Layout> one{op, rows, width};
      for (const std::size_t degree : {0, 1, 2, 5, 6}) {
        SCOPED_TRACE(std::to_string(width) + " columns, degree " + std::to_string(degree));
        if (degree > 0) one.expect_steps(degree);
        for (const bool is_summed : {false, true}) one.expect_polynomial(degree, is_summed);
      }
    }
  }
}

TEST(SparseOperator, RecursAsByProducts) {
  const Anderson model({3, 4, 5}, 2, 1);
  const Graphene<Complex<double>> complex_model({6, 3}, 1, 6);
  for (const int threads : {1, 3}) {
    for (const Summation summation : {Summation::fast, Summation::reproducible}) {
      expect_recurrences<double, ColumnMajor>(model, threads, summation);
      expect_recurrences<double, RowMajor>(model, threads, summation);
      expect_recurrences<Complex<double>, ColumnMajor>(complex_model, threads, summation);
    }
    expect_recurrences<float, ColumnMajor>(converted<float>(model), threads, Summation::fast);
    expect_recurrences<Complex<float>, ColumnMajor>(converted<Complex<float>>(model), threads, Summation::fast);
    expect_recurrences<Complex<float>, RowMajor>(converted<Complex<float>>(model), threads, Summation::fast);
  }
}

TEST(SparseOperator, RefusesRecurrencesOfOtherShapes) {
  const auto context = Context::self();
  const Anderson model({3, 4, 5}, 2, 1);
  const auto rows = RowDistribution::uniform(model.size(), context.communicator());
  SparseOperator<double> op(context, rows, model);
  const BlockVector<double> three(context, rows, 3), four(context, rows, 4);
  const RecurrenceStep<double> steps[] = {{1, 0}};
  EXPECT_THROW(op.recur(0, steps, three, four), ShapeError);
  EXPECT_THROW(op.apply_polynomial({0, {{1, 0}}, {}}, three, four), ShapeError);
  EXPECT_THROW(op.apply_polynomial({0, {{1, 0}}, {1}}, three, three), ShapeError);
  const AnyOperator<BlockVector<double>> by_products = ProductsOf<double, ColumnMajor>{op};
  EXPECT_THROW(by_products.apply_polynomial({0, {{1, 0}}, {1}}, three, three), ShapeError);
}

/// Rows of a model in arrays of somebody else's, each backwards and with its first entry in two halves.
template <class Scalar>
struct ForeignArrays {
  using Kernel = typename ScalarTraits<Scalar>::Kernel;
  explicit ForeignArrays(const RowSource<Scalar>& source) : size(source.size()) {
    for (std::int64_t row = 0; row < size; ++row) {
      RowEntries<Scalar> entries;
      source.append_row(row, entries);
      for (std::size_t i = entries.columns.size(); i-- > 0;) {
        const auto value = Kernel(entries.values[i]);
        const bool is_halved = i == 0;
        for (int part = 0; part < (is_halved ? 2 : 1); ++part) {
          column.push_back(static_cast<std::int32_t>(entries.columns[i]));
          values.push_back(is_halved ? value / Kernel(2) : value);
        }
      }
      begin.push_back(static_cast<std::int64_t>(column.size()));
    }
  }
  kernels::CsrMatrix<Kernel, std::int64_t> matrix() const {
    return {size, size, begin.data(), column.data(), values.data()};
  }

  std::int64_t size;
  std::vector<std::int64_t> begin{0};
  std::vector<std::int32_t> column;
  std::vector<Kernel> values;
};

template <class Scalar, class Layout>
void expect_wrapped_product(const RowSource<Scalar>& source) {
  const ForeignArrays<Scalar> arrays(source);
  for (const Summation summation : {Summation::fast, Summation::reproducible}) {
    const auto context = Context::self(2, summation);
    const auto rows = RowDistribution::uniform(source.size(), context.communicator());
    SparseOperator<Scalar> copied(context, rows, source);
    auto wrapped = SparseOperator<Scalar>::wrap(context, rows, arrays.matrix());
    EXPECT_EQ(wrapped.nonzeros(), copied.nonzeros() + source.size());
    for (const std::int64_t width : {1, 3, 17}) {
      BlockVector<Scalar, Layout> x(context, rows, width), y(context, rows, width), expected(context, rows, width);
      fill_random(x, 1);
      copied.apply(x, expected);
      wrapped.apply(x, y);
      axpby(Scalar(-1), expected, Scalar(1), y);
      SmallMatrix<RealOf<Scalar>> difference(context, 1, width), norm(context, 1, width);
      column_norms(y, difference);
      column_norms(expected, norm);
      for (std::int64_t j = 0; j < width; ++j) {  // both have at most 9 products a row, and few cancel
        EXPECT_LE(difference.to_host()(0, j), 64 * epsilon<Scalar> * norm.to_host()(0, j)) << j;
      }
    }
  }
}

TEST(SparseOperator, WrapsForeignArrays) {
  const Anderson model({3, 4, 5}, 2, 1);
  expect_wrapped_product<double, RowMajor>(model);
  expect_wrapped_product<double, ColumnMajor>(model);
  expect_wrapped_product<Complex<float>, RowMajor>(converted<Complex<float>>(model));
  expect_wrapped_product<Complex<double>, RowMajor>(Graphene<Complex<double>>({6, 3}, 1, 6));
}

TEST(SparseOperator, RefusesForeignArraysThatDoNotFit) {
  const auto context = Context::self();
  const auto rows = RowDistribution::uniform(3, context.communicator());
  const RowFunction<double> identity(3, [](std::int64_t row, RowEntries<double>& entries) { entries.add(row, 1); });
  const auto wrap = [&](const auto& change) {
    ForeignArrays<double> arrays(identity);
    auto matrix = arrays.matrix();
    change(arrays, matrix);
    (void)SparseOperator<double>::wrap(context, rows, matrix);
  };
  EXPECT_NO_THROW(wrap([](auto&, auto&) {}));
  EXPECT_THROW(wrap([](auto&, auto& matrix) { matrix.rows = 2; }), ShapeError);
  EXPECT_THROW(wrap([](auto&, auto& matrix) { matrix.columns = 4; }), ShapeError);
  EXPECT_THROW(wrap([](auto& arrays, auto&) { arrays.begin[0] = 1; }), ShapeError);
  EXPECT_THROW(wrap([](auto& arrays, auto&) { arrays.begin[1] = 5; }), ShapeError);
  EXPECT_THROW(wrap([](auto& arrays, auto&) { arrays.column[3] = 3; }), Error);
  EXPECT_THROW(wrap([](auto& arrays, auto&) { arrays.column[3] = -1; }), Error);
  EXPECT_THROW(wrap([](auto& arrays, auto&) { arrays.values[5] = std::numeric_limits<double>::infinity(); }),
               NotFiniteError);
}

/// One row is wrong in a way of its own.
class BadRow final : public RowSource<double> {
 public:
  BadRow(std::int64_t column, double value) : column_(column), value_(value) {}
  std::int64_t size() const override { return 5; }
  void append_row(std::int64_t row, RowEntries<double>& entries) const override {
    entries.add(row == 3 ? column_ : row, row == 3 ? value_ : 1.0);
  }
  std::string describe() const override { return "bad"; }

 private:
  std::int64_t column_;
  double value_;
};

template <class Body>
std::string message_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(SparseOperator, NamesWhatIsWrong) {
  const auto context = Context::self();
  const auto five = RowDistribution::uniform(5, context.communicator());
  EXPECT_EQ(message_of([&] { SparseOperator<double>(context, five, BadRow(5, 1)); }),
            "row 3 has an entry in column 5 of a matrix with 5 columns");
  EXPECT_EQ(
      message_of([&] { SparseOperator<double>(context, five, BadRow(1, std::numeric_limits<double>::infinity())); }),
      "entry (3, 1) of the matrix is not finite");
  const auto six = RowDistribution::uniform(6, context.communicator());
  EXPECT_NE(message_of([&] { SparseOperator<double>(context, six, BadRow(1, 1)); }).find("for a matrix of 5 rows"),
            std::string::npos);
  SparseOperator<double> op(context, five, BadRow(1, 1));
  BlockVector<double> x(context, five, 2);
  BlockVector<double> y(context, five, 3);
  EXPECT_NE(message_of([&] { op.apply(x, y); }).find("both must have the same width"), std::string::npos);
}

}  // namespace
}  // namespace blockvec::solvers
