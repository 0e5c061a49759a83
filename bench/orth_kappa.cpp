// Measures the loss of orthogonality of every method against the condition number, and what the methods cost.
//   orth_kappa what=kappa out=TABLE.csv commit=...
//   mpirun -n 2 orth_kappa what=cost out=TABLE.csv commit=... rows=1000000 columns=64 width=8
// what=kappa factorises each matrix of tests/orth/suite.hpp, X = Q R, by blocks. Methods do what they were asked: they
// neither escalate nor leave out a sweep. The default method may do both. Losses are computed in long double, and "nan"
// says that a method gave up. what=cost factorises a random matrix by blocks on all ranks and takes the best of three.
// Rows are appended to the table.
#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bench/machine.hpp"
#include "bench/settings.hpp"
#include "tests/orth/suite.hpp"

namespace {

using namespace blockvec;
using test::HostColumns;
using test::Wide;
using Settings = std::map<std::string, std::string>;

const Settings defaults{{"what", "kappa"},   {"out", "orth_kappa.csv"}, {"commit", "unknown"},
                        {"rows", "1000000"}, {"columns", "64"},         {"width", "8"}};

const std::vector<std::string> within{
    "cgs",       "cgs2",       "cholqr", "cholqr2",     "scholqr3",          "svqb",
    "dd-cholqr", "dd-cholqr2", "tsqr",   "rand-cholqr", "rand-cholqr-gauss", "pcholqr"};
const std::vector<std::string> between{"bcgs/tsqr",         "bmgs/tsqr",    "bcgs2/cholqr", "bcgs2/tsqr",
                                       "bcgsi+a/cholqr2",   "pip/cholqr",   "pip+/cholqr",  "pipi+/cholqr2",
                                       "pip-dd/dd-cholqr2", "p-1s/cholqr2", "p-2s/tsqr",    "p-1s2s/tsqr",
                                       "two-stage/cholqr2"};

/// A table that is begun with a header, or goes on.
class Table {
 public:
  Table(const Settings& settings, const std::string& columns, const std::string& note, int threads) {
    const std::string path = settings.at("out");
    const bool begun = std::ifstream(path).good();
    file_.open(path, std::ios::app);
    if (!file_) throw Error("cannot write " + path);
    if (begun) return;
    file_ << "# " << bench::machine() << ", " << threads << " threads a rank, commit " << settings.at("commit") << '\n'
          << "# " << note << '\n'
          << columns << '\n';
  }
  void add(const std::string& row) {
    file_ << row << std::endl;
    std::puts(row.c_str());
  }

 private:
  std::ofstream file_;
};

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

template <class Scalar>
const char* letter() {
  if constexpr (std::is_same_v<Scalar, float>) return "S";
  if constexpr (std::is_same_v<Scalar, double>) return "D";
  if constexpr (std::is_same_v<Scalar, Complex<float>>) return "C";
  return "Z";
}

double seconds_of(auto&& body) {
  const auto begin = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

orth::Options as_asked(const std::string& method) {
  orth::Options options = orth::parse_options(method);
  options.escalate = false;
  options.adaptive = false;
  return options;
}

/// One matrix of the suite, factorised by every method that is asked for.
template <class Scalar>
class Subject {
 public:
  using Columns = HostColumns<Wide<Scalar>>;
  Subject(const Context& context, Table& table, std::string name, double kappa, const Columns& x, std::int64_t width)
      : context_(context),
        table_(table),
        name_(std::move(name)),
        kappa_(kappa),
        given_(test::rounded<Scalar>(x)),
        width_(width),
        x_(context, RowDistribution::uniform(x.rows, context.communicator()), x.columns, "X"),
        r_(context, x.columns, x.columns, "R") {}

  void run(const std::string& label, const orth::Options& options) {
    for (std::int64_t i = 0; i < given_.rows; ++i) {
      for (std::int64_t j = 0; j < given_.columns; ++j) x_.view()(i, j) = test::narrow<Scalar>(given_(i, j));
    }
    orth::Orthogonalizer orthogonalizer(context_, options);
    orth::Result result;
    const double seconds = seconds_of([&] { result = orthogonalizer.factorize(x_, &r_, width_); });
    Columns q(given_.rows, given_.columns), r(given_.columns, given_.columns);
    for (std::int64_t j = 0; j < q.columns; ++j) {
      for (std::int64_t i = 0; i < q.rows; ++i) q(i, j) = test::widen<Scalar>(x_.view()(i, j));
      for (std::int64_t i = 0; i < r.rows; ++i) r(i, j) = test::widen<Scalar>(r_.view()(i, j));
    }
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    const bool gave_up = !options.escalate && result.reason != orth::Reason::none;
    const Columns empty(given_.rows, 0), no_coefficients(0, given_.columns);
    table_.add(label + ',' + name_ + ',' + number(kappa_) + ',' + letter<Scalar>() + ',' + std::to_string(given_.rows) +
               ',' + std::to_string(given_.columns) + ',' + number(gave_up ? none : test::loss_of_orthogonality(q)) +
               ',' + number(test::relative_residual(given_, empty, no_coefficients, q, r)) + ',' +
               number(gave_up ? none : test::cholesky_residual(given_, r)) + ',' + std::to_string(result.reductions) +
               ',' + number(result.passes) + ',' + number(seconds) + ',' + to_string(result.method));
  }

 private:
  const Context& context_;
  Table& table_;
  std::string name_;
  double kappa_;
  Columns given_;
  std::int64_t width_;
  BlockVector<Scalar, RowMajor, Kokkos::HostSpace> x_;
  SmallMatrix<Scalar, Kokkos::HostSpace> r_;
};

template <class Scalar>
void curves_within(const Context& context, Table& table, std::int64_t rows, std::int64_t columns, int step) {
  test::Generator<Scalar> generator(1);
  const auto u = generator.orthonormal(rows, columns);
  const bool single = std::is_same_v<RealOf<Scalar>, float>;
  for (int power = 0; power <= (single ? 7 : 16); power += step) {
    const double kappa = std::pow(10.0, power);
    Subject<Scalar> subject(context, table, "default", kappa, generator.with_condition(u, kappa), columns);
    for (const std::string& method : within) subject.run(method, as_asked('/' + method));
    subject.run("default", {});
  }
}

template <class Scalar>
void curves_between(const Context& context, Table& table) {
  constexpr std::int64_t rows = 1000, blocks = 10, width = 5;
  for (int power = 1; power <= 15; power += 1) {
    const double kappa = std::pow(10.0, power);
    test::Generator<Scalar> generator(2);
    const auto run = [&](const std::string& name, const auto& x) {
      Subject<Scalar> subject(context, table, name, kappa, x, width);
      for (const std::string& method : between) subject.run(method, as_asked(method));
      subject.run("default", {});
    };
    run("glued", generator.glued(rows, blocks, width, kappa));
    run("piled", generator.piled(rows, blocks, width, std::sqrt(kappa)));
    run("default by blocks", generator.with_condition(rows, blocks * width, kappa));
  }
}

/// Matrices that stand for themselves.
template <class Scalar>
void singles(const Context& context, Table& table) {
  constexpr std::int64_t rows = 1000, blocks = 6, width = 4, columns = blocks * width;
  constexpr double unknown = std::numeric_limits<double>::infinity();
  test::Generator<Scalar> generator(3);
  const auto run = [&](const std::string& name, double kappa, const auto& x) {
    Subject<Scalar> subject(context, table, name, kappa, x, width);
    for (const std::string& method : between) subject.run(method, as_asked(method));
    subject.run("default", {});
  };
  run("laeuchli", std::sqrt(static_cast<double>(columns)) * 1e7, generator.laeuchli(rows, columns, 1e-7));
  run("monomial", unknown, generator.monomial(rows, columns, 10));
  run("s-step", unknown, generator.steps(rows, blocks, width, false));
  run("newton", unknown, generator.steps(rows, blocks, width, true));
  run("hilbert", unknown, generator.hilbert(rows, columns));
  run("stewart", unknown, generator.stewart(rows, columns, false));
  run("stewart_extreme", unknown, generator.stewart(rows, columns, true));
  run("rank_def", unknown, generator.rank_deficient(rows, columns));
}

int kappa(const Settings& settings) {
  const Context context = Context::self();
  Table table(
      settings,
      "method,matrix,kappa,scalar,rows,columns,loss,residual,cholesky_residual,reductions,passes,seconds,"
      "final_method",
      "X = Q R by blocks; loss ||I - Q^H Q||_F, residual of columns scaled to unit length, ||X^H X - R^H R||_F / "
      "||X||_F^2",
      context.threads());
  curves_within<double>(context, table, 2000, 16, 1);
  curves_within<float>(context, table, 500, 8, 1);
  curves_within<Complex<double>>(context, table, 500, 8, 4);
  curves_within<Complex<float>>(context, table, 500, 8, 2);
  curves_between<double>(context, table);
  singles<double>(context, table);
  return 0;
}

int cost(const Settings& settings) {
  const Context context = Context::world();
  const std::int64_t rows = std::stoll(settings.at("rows")), columns = std::stoll(settings.at("columns")),
                     width = std::stoll(settings.at("width"));
  const bool first = context.communicator().rank() == 0;
  std::unique_ptr<Table> table;
  if (first) {
    table = std::make_unique<Table>(settings, "method,ranks,threads,rows,columns,width,reductions,passes,seconds",
                                    "a random matrix by blocks, the best of three; passes in units of the matrix",
                                    context.threads());
  }
  const BlockVector<double, RowMajor, Kokkos::HostSpace> x(
      context, RowDistribution::uniform(rows, context.communicator()), columns, "X");
  const auto run = [&](const std::string& label, const orth::Options& options) {
    double best = std::numeric_limits<double>::infinity();
    orth::Result result;
    for (int round = 0; round < 3; ++round) {
      fill_random(x, 7);
      context.communicator().barrier();
      orth::Orthogonalizer orthogonalizer(context, options);
      best = std::min(best, seconds_of([&] { result = orthogonalizer.factorize(x, nullptr, width); }));
    }
    if (!first) return;
    table->add(label + ',' + std::to_string(context.communicator().size()) + ',' + std::to_string(context.threads()) +
               ',' + std::to_string(rows) + ',' + std::to_string(columns) + ',' + std::to_string(width) + ',' +
               std::to_string(result.reductions) + ',' + number(result.passes) + ',' + number(best));
  };
  run("default", {});
  for (const std::string& method : between) run(method, as_asked(method));
  for (const std::string& method : within) {
    const std::string pair = "bcgs2/" + method;
    if (std::find(between.begin(), between.end(), pair) == between.end()) run(pair, as_asked(pair));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Environment environment(argc, argv);
  return Environment::guard([&] {
    const Settings settings = bench::read_settings(argc, argv, defaults);
    if (settings.at("what") == "kappa") return kappa(settings);
    if (settings.at("what") == "cost") return cost(settings);
    throw Error("orth_kappa: what=" + settings.at("what") + ", expected kappa or cost");
  });
}
