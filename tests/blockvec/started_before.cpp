// An Environment stops what it has started, and leaves to the program what that had started before.
#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <blockvec/blockvec.hpp>
#include <blockvec/mpi.hpp>
#include <cstdio>
#include <stdexcept>
#include <string>

namespace {

bool all_right = true;

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "expected %s\n", what);
  all_right = false;
}

bool mpi_is_stopped() {
  int stopped = 0;
  MPI_Finalized(&stopped);
  return stopped != 0;
}

void work() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  // A part of the job, first of all: nobody has counted its ranks yet where the program has started MPI.
  const blockvec::Context part(blockvec::mpi_communicator(MPI_COMM_SELF), 1);
  expect(part.communicator().local_size() == ranks, "all ranks of the job to share this machine");
  const auto context = blockvec::Context::world(1);
  expect(context.communicator().size() == ranks, "all ranks of the job");
  const auto rows = blockvec::RowDistribution::uniform(100, context.communicator());
  const blockvec::BlockVector<double> v(context, rows, 1, "V");
  const blockvec::SmallMatrix<double> c(context, 1, 1);
  fill(v, 2.0);
  inner_product(v, v, c);
  expect(c.to_host()(0, 0) == 400, "the sum over all rows");
}

}  // namespace

int main(int argc, char** argv) {
  const std::string started = argc > 1 ? argv[1] : "both";
  const bool mpi = started == "mpi" || started == "both", kokkos = started == "kokkos" || started == "both";
  if (mpi) MPI_Init(&argc, &argv);
  if (kokkos) Kokkos::initialize(argc, argv);
  {
    const blockvec::Environment environment(argc, argv);
    work();
  }
  expect(Kokkos::is_initialized() == kokkos, "Kokkos to run on where the program has started it");
  expect(mpi_is_stopped() == !mpi, "MPI to run on where the program has started it");
  if (mpi && kokkos) {  // an exception that unwinds such an Environment is the program's
    bool caught = false;
    try {
      const blockvec::Environment environment(argc, argv);
      throw std::runtime_error("on purpose");
    } catch (const std::runtime_error&) {
      caught = true;
    }
    expect(caught && !mpi_is_stopped(), "the exception to arrive");
  }
  if (kokkos) Kokkos::finalize();
  if (mpi) MPI_Finalize();
  return all_right ? 0 : 1;
}
