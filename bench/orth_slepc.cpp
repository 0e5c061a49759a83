// The default orthogonalisation of a block against an orthonormal basis beside SLEPc's and LAPACK's, in one run on the
// same cores: medians as CSV.
//   OMP_PROC_BIND=false mpirun -n 2 --bind-to none orth_slepc rows=1000000 width=64 block=8 rounds=7
// One rank a core: SLEPc knows no threads. Each library finds the same numbers, which it may overwrite:
//   blockvec      Orthogonalizer().project_and_normalize(V, W), row- and column-major
//   slepc         BVOrthogonalize with V as leading columns of a BV, by each of its methods for blocks, once and twice
//   lapack-block  W -= V (V^T W) twice by dgemm, then Householder on the projected block: dgeqrf and dorgqr
//   lapack-all    dgeqrf and dorgqr on [V W]
// LAPACK knows no ranks: the first one runs it with a thread for each, and the others sleep.
//   roof          what the words of one and of two sweeps take at the bandwidth of reading (and, where W is written, of
//                 copying) that all cores reach together, sampled after each round
// Two kinds of W: "random" columns, and columns "within" V but for a part of 1e-6. loss: ||I - Q^T Q||_F of Q =
// [V W] afterwards.
#include <mpi.h>
#include <omp.h>
#include <slepcbv.h>

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "bench/machine.hpp"
#include "bench/roofs.hpp"
#include "bench/settings.hpp"
#include "orth/dense/lapacke.hpp"

extern "C" {
void cblas_dgemm(int, int, int, int, int, int, double, const double*, int, const double*, int, double, double*, int);
[[gnu::weak]] void openblas_set_num_threads(int threads);
}

namespace {

using namespace blockvec;

void use_blas_threads(int threads) {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(threads);
}

void check(PetscErrorCode code) {
  if (code != 0) throw Error("orth_slepc: SLEPc failed with code " + std::to_string(code));
}

/// Waits for the first rank without keeping a core busy.
void wait_asleep() {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0; MPI_Test(&request, &done, MPI_STATUS_IGNORE))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

struct Problem {
  std::int64_t rows, width, block, rounds;
  std::string kind;
};

/// V and W of a problem, in the columns of one block vector.
template <class Layout>
void fill_problem(const Problem& problem, const BlockVector<double, Layout>& all) {
  const Context& context = all.context();
  const std::int64_t m = problem.width, b = problem.block;
  orth::Orthogonalizer orthogonalizer(context);
  fill_random(all, 1);
  for (std::int64_t j = 0; j < m; j += b) {
    const auto block = all.columns(j, std::min(m, j + b));
    const auto result = orthogonalizer.project_and_normalize(all.columns(0, j), block);
    if (result.rank < block.width()) throw Error("the basis has dependent columns");
  }
}
template <class Layout>
void fill_block(const Problem& problem, const BlockVector<double, Layout>& v, const BlockVector<double, Layout>& w) {
  fill_random(w, 1, problem.width);
  if (problem.kind == "random") return;
  const SmallMatrix<double> c(v.context(), v.width(), w.width());
  HostMatrix<double> values("values", static_cast<std::size_t>(v.width()), static_cast<std::size_t>(w.width()));
  for (std::size_t i = 0; i < values.extent(0); ++i) {
    for (std::size_t j = 0; j < values.extent(1); ++j) values(i, j) = 1.0 / static_cast<double>(1 + i + 3 * j);
  }
  c.from_host(values);
  update(1.0, v, c, 1e-6 / std::sqrt(static_cast<double>(problem.rows)), w);
}

/// What one library makes of a problem. The methods of all libraries take turns, so that whatever else the machine does
/// meets all of them.
struct Case {
  const char* library;
  std::string method;
  bool alone;  // on the first rank, while the others sleep
  std::int64_t most_rounds;
  std::function<void()> fill, run;
  std::function<double()> loss;
  std::vector<double> seconds = {};
  double last_loss = 0;
};

/// Bandwidths of the machine: all ranks at the same time, each on memory of its own.
class Bandwidths {
 public:
  void sample(const Communicator& communicator) {
    double sums[2];
    communicator.barrier();
    sums[0] = roofs_.read();
    communicator.barrier();
    sums[1] = roofs_.copy();
    communicator.sum(std::span(sums));
    read_.push_back(sums[0]);
    copy_.push_back(sums[1]);
  }
  /// Seconds for words a row that are read, and others that are read and written.
  double seconds(std::int64_t rows, std::int64_t read, std::int64_t copied) const {
    return 8e-9 * static_cast<double>(rows) *
           (static_cast<double>(read) / bench::median(read_) + static_cast<double>(copied) / bench::median(copy_));
  }
  double read() const { return bench::median(read_); }

 private:
  static constexpr std::size_t bytes = std::size_t{1} << 28;
  bench::Memory from_{bytes}, to_{bytes};
  bench::Roofs roofs_{from_, to_};
  std::vector<double> read_, copy_;
};

void measure(const Problem& problem, const Communicator& communicator, Bandwidths& bandwidths,
             std::vector<Case>& cases) {
  const bool first = communicator.rank() == 0;
  for (std::int64_t round = -1; round < problem.rounds; ++round) {  // the first to warm up
    for (Case& one : cases) {
      if (round >= one.most_rounds) continue;
      if (first || !one.alone) {
        use_blas_threads(one.alone ? communicator.size() : 1);
        one.fill();
        if (!one.alone) communicator.barrier();
        const auto begin = std::chrono::steady_clock::now();
        one.run();
        if (!one.alone) communicator.barrier();
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
        if (round >= 0) one.seconds.push_back(time.count());
        one.last_loss = one.loss();
      }
      if (one.alone) wait_asleep();
    }
    bandwidths.sample(communicator);
  }
  const auto roof = [&](const char* words, std::int64_t read, std::int64_t copied) {
    const double seconds = bandwidths.seconds(problem.rows, read, copied);
    std::printf("%lld,%lld,%lld,%s,roof,%s at %.1f GB/s,%.4f,%.4f,0\n", static_cast<long long>(problem.rows),
                static_cast<long long>(problem.width), static_cast<long long>(problem.block), problem.kind.c_str(),
                words, bandwidths.read(), seconds, seconds);
  };
  const std::int64_t m = problem.width, b = problem.block;
  if (first) {
    roof("V and W read once: m + b words", m + b, 0);
    roof("one sweep: 2m + 3b words", 2 * m + b, 2 * b);
    roof("two sweeps: 3m + 5b words", 3 * m + b, 4 * b);
  }
  for (Case& one : cases) {
    if (!first) break;
    std::sort(one.seconds.begin(), one.seconds.end());
    std::printf("%lld,%lld,%lld,%s,%s,%s,%.4f,%.4f,%.1e\n", static_cast<long long>(problem.rows),
                static_cast<long long>(problem.width), static_cast<long long>(problem.block), problem.kind.c_str(),
                one.library, one.method.c_str(), one.seconds[one.seconds.size() / 2], one.seconds.front(),
                one.last_loss);
  }
}

/// V and W; `all` has room for both side by side, and W may be its last columns.
template <class Layout>
struct Operands {
  BlockVector<double, Layout> all, v, w;
};
template <class Layout>
Operands<Layout> side_by_side(const Problem& problem, const BlockVector<double, Layout>& all) {
  return {all, all.columns(0, problem.width), all.columns(problem.width, all.width())};
}

template <class Layout>
Case case_of(const Problem& problem, const char* library, std::string method, const Operands<Layout>& operands,
             std::function<void()> run) {
  return {library,
          std::move(method),
          false,
          problem.rounds,
          [=] { fill_block(problem, operands.v, operands.w); },
          std::move(run),
          [=] {
            copy(operands.w, operands.all.columns(problem.width, operands.all.width()));
            return static_cast<double>(orth::orthogonality_loss(operands.all));
          }};
}

template <class Layout>
void add_blockvec(const Problem& problem, const Context& context, std::vector<Case>& cases) {
  const auto rows = RowDistribution::uniform(problem.rows, context.communicator());
  const BlockVector<double, Layout> all(context, rows, problem.width + problem.block, "V and W");
  fill_problem(problem, all);
  // A solver works on the new block in memory of its own, beside a basis that has as many columns as it may get.
  const Operands<Layout> operands{all, BlockVector<double, Layout>(context, rows, problem.width, "V"),
                                  BlockVector<double, Layout>(context, rows, problem.block, "W")};
  copy(all.columns(0, problem.width), operands.v);
  cases.push_back(
      case_of(problem, "blockvec", std::is_same_v<Layout, RowMajor> ? "default row" : "default column", operands, [=] {
        // Its time is what is asked.
        std::ignore = orth::Orthogonalizer(context).project_and_normalize(operands.v, operands.w);
      }));
}

/// The caller destroys the BV after measuring.
BV add_slepc(const Problem& problem, const Context& context, std::vector<Case>& cases) {
  const auto rows = RowDistribution::uniform(problem.rows, context.communicator());
  const auto width = static_cast<PetscInt>(problem.width),
             columns = static_cast<PetscInt>(problem.width + problem.block);
  BV basis;
  check(BVCreate(PETSC_COMM_WORLD, &basis));
  check(BVSetSizes(basis, static_cast<PetscInt>(rows.local_rows()), static_cast<PetscInt>(problem.rows), columns));
  check(BVSetType(basis, BVMAT));
  PetscScalar* data = nullptr;
  check(BVGetArray(basis, &data));
  const auto all = BlockVector<double, ColumnMajor>::wrap(context, rows, data, columns, rows.local_rows(), "BV");
  fill_problem(problem, all);
  check(BVRestoreArray(basis, &data));
  const std::pair<const char*, BVOrthogBlockType> methods[] = {{"gs", BV_ORTHOG_BLOCK_GS},
                                                               {"chol", BV_ORTHOG_BLOCK_CHOL},
                                                               {"tsqr", BV_ORTHOG_BLOCK_TSQR},
                                                               {"tsqrchol", BV_ORTHOG_BLOCK_TSQRCHOL},
                                                               {"svqb", BV_ORTHOG_BLOCK_SVQB}};
  for (const auto& [name, method] : methods) {
    for (const int times : {1, 2}) {  // what projects once is orthogonal to rounding after the second time alone
      if (times == 2 && method == BV_ORTHOG_BLOCK_GS) continue;
      const auto run = [=, type = method] {
        check(BVSetOrthogonalization(basis, BV_ORTHOG_CGS, BV_ORTHOG_REFINE_IFNEEDED, PETSC_DEFAULT, type));
        // It may keep what it knows of columns: tell it that they are new.
        PetscScalar* touched = nullptr;
        check(BVGetArray(basis, &touched));
        check(BVRestoreArray(basis, &touched));
        check(BVSetActiveColumns(basis, width, columns));
        for (int i = 0; i < times; ++i) check(BVOrthogonalize(basis, nullptr));
      };
      cases.push_back(
          case_of(problem, "slepc", name + std::string(times == 2 ? " twice" : ""), side_by_side(problem, all), run));
    }
  }
  return basis;
}

void householder(int rows, int columns, double* a) {
  std::vector<double> tau(static_cast<std::size_t>(columns));
  if (LAPACKE_dgeqrf(LAPACK_COL_MAJOR, rows, columns, a, rows, tau.data()) != 0 ||
      LAPACKE_dorgqr(LAPACK_COL_MAJOR, rows, columns, columns, a, rows, tau.data()) != 0) {
    throw Error("orth_slepc: LAPACK failed");
  }
}

/// Ranks beyond the first only take part in waiting.
void add_lapack(const Problem& problem, const Communicator& communicator, std::vector<Case>& cases) {
  const Context context = Context::self(communicator.size());
  const std::int64_t count = communicator.rank() == 0 ? problem.rows : 0;
  const auto rows = RowDistribution::uniform(count, context.communicator());
  const BlockVector<double, ColumnMajor> all(context, rows, problem.width + problem.block, "V and W");
  if (count > 0 && all.ld() != count) throw Error("orth_slepc: rows are to be a multiple of 16");
  if (count > 0) fill_problem(problem, all);
  const auto k = static_cast<int>(count), m = static_cast<int>(problem.width), b = static_cast<int>(problem.block);
  double* const v = all.data();
  double* const w = v + count * problem.width;
  constexpr int by_columns = 102, plain = 111, transposed = 112;  // of CBLAS
  const auto operands = side_by_side(problem, all);
  cases.push_back(case_of(problem, "lapack-block", "2 dgemm pairs + Householder", operands, [=] {
    std::vector<double> s(static_cast<std::size_t>(m * b));
    for (int pass = 0; pass < 2; ++pass) {
      cblas_dgemm(by_columns, transposed, plain, m, b, k, 1, v, k, w, k, 0, s.data(), m);
      cblas_dgemm(by_columns, plain, plain, k, b, m, -1, v, k, s.data(), m, 1, w, k);
    }
    householder(k, b, w);
  }));
  cases.push_back(
      case_of(problem, "lapack-all", "Householder", operands, [=, at = all] { householder(k, m + b, at.data()); }));
  cases.back().most_rounds = 2;  // it takes seconds
  for (Case* one : {&cases.back(), &cases.back() - 1}) one->alone = true;
}

}  // namespace

int main(int argc, char** argv) {
  const Environment environment(argc, argv);
  return Environment::guard([&] {
    const auto settings = bench::read_settings(
        argc, argv, {{"rows", "1000000"}, {"width", "64"}, {"block", "8"}, {"rounds", "7"}, {"commit", "unknown"}});
    check(SlepcInitializeNoArguments());
    const Context context = Context::world(1);
    const bool first = context.communicator().rank() == 0;
    use_blas_threads(1);
    omp_set_num_threads(1);
    Bandwidths bandwidths;
    if (first) {
      std::printf(
          "# %s, %d ranks of one thread (LAPACK: as many threads), SLEPc %d.%d.%d, compiler %s, commit %s; medians of "
          "%s\n",
          bench::machine().c_str(), context.communicator().size(), SLEPC_VERSION_MAJOR, SLEPC_VERSION_MINOR,
          SLEPC_VERSION_SUBMINOR, __VERSION__, settings.at("commit").c_str(), settings.at("rounds").c_str());
      std::printf("rows,width,block,kind,library,method,median_seconds,least_seconds,loss\n");
    }
    for (const char* kind : {"random", "within"}) {
      const Problem problem{std::stoll(settings.at("rows")), std::stoll(settings.at("width")),
                            std::stoll(settings.at("block")), std::stoll(settings.at("rounds")), kind};
      std::vector<Case> cases;
      add_blockvec<RowMajor>(problem, context, cases);
      add_blockvec<ColumnMajor>(problem, context, cases);
      BV basis = add_slepc(problem, context, cases);
      add_lapack(problem, context.communicator(), cases);
      measure(problem, context.communicator(), bandwidths, cases);
      check(BVDestroy(&basis));
    }
    check(SlepcFinalize());
    return 0;
  });
}
