// The default orthogonalisation of a block against an orthonormal basis beside SLEPc's and LAPACK's, in one run on the
// same cores: medians as CSV.
//   OMP_PROC_BIND=false mpirun -n 2 --bind-to none orth_slepc rows=1000000 width=64 block=8 rounds=7
// One rank a core: SLEPc knows no threads. Each library finds the same numbers, which it may overwrite:
//   blockvec      Orthogonalizer().project_and_normalize(V, W), row- and column-major
//   slepc         BVOrthogonalize with V as leading columns of a BV, by each of its methods for blocks, once and twice
//   lapack-block  W -= V (V^T W) twice by dgemm, then Householder on the projected block: dgeqrf and dorgqr
//   lapack-all    dgeqrf and dorgqr on [V W]
// LAPACK knows no ranks: the first one runs it with a thread for each, and the others sleep.
// Two kinds of W: "random" columns, and columns "within" V but for a part of 1e-6. loss: ||I - Q^T Q||_F of Q =
// [V W] afterwards.
#include <mpi.h>
#include <slepcbv.h>

#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/orth/orthogonalizer.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "bench/machine.hpp"
#include "bench/settings.hpp"
#include "orth/lapacke.hpp"

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
  for (std::int64_t j = 0; j < m; j += b)
    orthogonalizer.project_and_normalize(all.columns(0, j), all.columns(j, std::min(m, j + b)));
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

void report(const Problem& problem, const char* library, const char* method, std::vector<double> seconds, double loss) {
  std::sort(seconds.begin(), seconds.end());
  std::printf("%lld,%lld,%lld,%s,%s,%s,%.4f,%.4f,%.1e\n", static_cast<long long>(problem.rows),
              static_cast<long long>(problem.width), static_cast<long long>(problem.block), problem.kind.c_str(),
              library, method, seconds[seconds.size() / 2], seconds.front(), loss);
  std::fflush(stdout);
}

/// V and W of a problem; `all` has room for both side by side, and W may be its last columns.
template <class Layout>
struct Operands {
  BlockVector<double, Layout> all, v, w;
};

/// Seconds of action(), with W filled anew each time and all ranks waited for.
template <class Layout>
void measure(const Problem& problem, const char* library, const char* method, const Operands<Layout>& operands,
             const std::function<void()>& action) {
  const auto& [all, v, w] = operands;
  const Communicator& communicator = all.context().communicator();
  std::vector<double> seconds;
  for (std::int64_t i = -1; i < problem.rounds; ++i) {  // the first to warm up
    fill_block(problem, v, w);
    communicator.barrier();
    const auto begin = std::chrono::steady_clock::now();
    action();
    communicator.barrier();
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    if (i >= 0) seconds.push_back(time.count());
  }
  copy(w, all.columns(problem.width, all.width()));
  const double loss = orth::orthogonality_loss(all);
  if (communicator.rank() == 0) report(problem, library, method, seconds, loss);
}

/// W being the last columns of `all`.
template <class Layout>
Operands<Layout> side_by_side(const Problem& problem, const BlockVector<double, Layout>& all) {
  return {all, all.columns(0, problem.width), all.columns(problem.width, all.width())};
}

template <class Layout>
void measure_blockvec(const Problem& problem, const Context& context) {
  const auto rows = RowDistribution::uniform(problem.rows, context.communicator());
  const BlockVector<double, Layout> all(context, rows, problem.width + problem.block, "V and W");
  fill_problem(problem, all);
  // A solver works on the new block in memory of its own.
  const Operands<Layout> operands{all, all.columns(0, problem.width),
                                  BlockVector<double, Layout>(context, rows, problem.block, "W")};
  orth::Orthogonalizer orthogonalizer(context);
  measure(problem, "blockvec", std::is_same_v<Layout, RowMajor> ? "default row" : "default column", operands,
          [&] { orthogonalizer.project_and_normalize(operands.v, operands.w); });
}

void measure_slepc(const Problem& problem, const Context& context) {
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
      check(BVSetOrthogonalization(basis, BV_ORTHOG_CGS, BV_ORTHOG_REFINE_IFNEEDED, PETSC_DEFAULT, method));
      measure(problem, "slepc", (name + std::string(times == 2 ? " twice" : "")).c_str(), side_by_side(problem, all),
              [&] {
                // It may keep what it knows of columns: tell it that they are new.
                check(BVGetArray(basis, &data));
                check(BVRestoreArray(basis, &data));
                check(BVSetActiveColumns(basis, width, columns));
                for (int i = 0; i < times; ++i) check(BVOrthogonalize(basis, nullptr));
              });
    }
  }
  check(BVDestroy(&basis));
}

void measure_lapack(const Problem& problem, int threads) {
  const Context context = Context::self(threads);
  const auto rows = RowDistribution::uniform(problem.rows, context.communicator());
  const auto k = static_cast<int>(problem.rows), m = static_cast<int>(problem.width),
             b = static_cast<int>(problem.block);
  std::vector<double> data(static_cast<std::size_t>(k) * static_cast<std::size_t>(m + b));
  const auto all = BlockVector<double, ColumnMajor>::wrap(context, rows, data.data(), m + b, k, "V and W");
  fill_problem(problem, all);
  double* const v = data.data();
  double* const w = v + static_cast<std::size_t>(k) * static_cast<std::size_t>(m);
  std::vector<double> s(static_cast<std::size_t>(m) * static_cast<std::size_t>(b)),
      tau(static_cast<std::size_t>(m + b));
  const auto householder = [&](double* a, int columns) {
    if (LAPACKE_dgeqrf(LAPACK_COL_MAJOR, k, columns, a, k, tau.data()) != 0 ||
        LAPACKE_dorgqr(LAPACK_COL_MAJOR, k, columns, columns, a, k, tau.data()) != 0) {
      throw Error("orth_slepc: LAPACK failed");
    }
  };
  constexpr int by_columns = 102, plain = 111, transposed = 112;  // of CBLAS
  use_blas_threads(threads);
  measure(problem, "lapack-block", "2 dgemm pairs + Householder", side_by_side(problem, all), [&] {
    for (int pass = 0; pass < 2; ++pass) {
      cblas_dgemm(by_columns, transposed, plain, m, b, k, 1, v, k, w, k, 0, s.data(), m);
      cblas_dgemm(by_columns, plain, plain, k, b, m, -1, v, k, s.data(), m, 1, w, k);
    }
    householder(w, b);
  });
  Problem once = problem;
  once.rounds = 1;  // it takes seconds, and only the first time finds V as it was
  measure(once, "lapack-all", "Householder", side_by_side(problem, all), [&] { householder(v, m + b); });
  use_blas_threads(1);
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
      measure_blockvec<RowMajor>(problem, context);
      measure_blockvec<ColumnMajor>(problem, context);
      measure_slepc(problem, context);
      if (first) measure_lapack(problem, context.communicator().size());
      wait_asleep();
    }
    check(SlepcFinalize());
    return 0;
  });
}
