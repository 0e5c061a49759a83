// main() of the tests that use Kokkos and, where it is enabled, MPI: both are started once for the whole program.
#include <gtest/gtest.h>

#include <blockvec/config.hpp>
#include <blockvec/environment.hpp>
#include <cstdio>
#include <string>

#if BLOCKVEC_HAVE_MPI
#include <mpi.h>
#endif

namespace {

#if BLOCKVEC_HAVE_MPI
bool mpi_runs() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  return initialized != 0;
}

int world_rank() {
  int rank = 0;
  if (mpi_runs()) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int max_over_ranks(int value) {
  int result = value;
  if (mpi_runs()) MPI_Allreduce(&value, &result, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return result;
}
#else
int world_rank() { return 0; }

int max_over_ranks(int value) { return value; }
#endif

/// Prints failures and nothing else: what ranks other than the first have to say.
class FailurePrinter : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}

  void OnTestStart(const testing::TestInfo& test) override {
    test_ = std::string(test.test_suite_name()) + "." + test.name();
  }

  // Called while GoogleTest holds its lock: the test's name cannot be asked for here.
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "[rank %d] %s failed at %s:%d\n%s\n", rank_, test_.c_str(),
                 result.file_name() ? result.file_name() : "unknown file", result.line_number(), result.message());
  }

  void OnTestEnd(const testing::TestInfo&) override { test_ = "set-up or tear-down"; }

 private:
  int rank_;
  std::string test_ = "set-up or tear-down";
};

int run(int argc, char** argv) {
  const blockvec::Environment environment(argc, argv);
  const int rank = world_rank();
  if (rank != 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter(rank));
  }
  return max_over_ranks(RUN_ALL_TESTS());
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  try {
    return run(argc, argv);
  } catch (const blockvec::NoDeviceError& error) {
    std::printf("all tests skipped: %s\n", error.what());
    return 77;
  }
}
