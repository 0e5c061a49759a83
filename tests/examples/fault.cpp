// examples_fault MODE FILE: the second rank fails in one way or another while the others go on to wait for it. fault.py
// looks at how that ends.
#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/matrix_market.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <string>

#include "problems/laplacian.hpp"

namespace blockvec::examples {
namespace {

/// A matrix whose last row cannot be had.
class BrokenLaplacian final : public solvers::RowSource<double> {
 public:
  std::int64_t size() const override { return laplacian_.size(); }
  void append_row(std::int64_t row, solvers::RowEntries<double>& entries) const override {
    if (row == size() / 2) throw Error("injected fault: no such row");
    laplacian_.append_row(row, entries);
  }
  std::string describe() const override { return "broken"; }

 private:
  Laplacian laplacian_{{10, 10}};
};

int run(const std::string& mode, const std::string& file) {
  const auto context = Context::world(1);
  const Communicator& communicator = context.communicator();
  const bool fails = communicator.rank() == 1;
  if (mode == "read") {
    solvers::read_matrix_market(fails ? "injected_fault_missing.mtx" : file, communicator);
  } else if (mode == "allocate") {
    const std::int64_t rows = fails ? std::int64_t{1} << 55 : 10;
    const BlockVector<double> v(Context::self(1), RowDistribution::uniform(rows, Communicator::self()), 4,
                                "injected fault");
    communicator.barrier();
  } else if (mode == "mismatch") {
    const auto rows = RowDistribution::uniform(100, communicator);
    BlockVector<double> v(context, rows, 4);
    const std::int64_t width = fails ? 3 : 4;
    SmallMatrix<double> c(context, 4, width);
    inner_product(v, v.columns(0, width), c);
  } else if (mode == "throw_late") {
    solvers::SparseOperator<double> a(context, RowDistribution::uniform(100, communicator), BrokenLaplacian());
  }
  communicator.barrier();
  return 0;
}

}  // namespace
}  // namespace blockvec::examples

int main(int argc, char** argv) {
  blockvec::Environment environment(argc, argv);
  return blockvec::Environment::guard(
      [&] { return blockvec::examples::run(argc > 1 ? argv[1] : "", argc > 2 ? argv[2] : ""); });
}
