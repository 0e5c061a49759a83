// Fails on the last rank in the way that its argument names, while the others wait for it in a reduction.
#include <blockvec/blockvec.hpp>
#include <iostream>
#include <string>

namespace {

int run(const std::string& fault) {
  const auto context = blockvec::Context::world(1);
  const auto rows = blockvec::RowDistribution::uniform(100, context.communicator());
  const bool last = context.communicator().rank() == context.communicator().size() - 1;
  blockvec::BlockVector<double> v(context, rows, 8, "V");
  const blockvec::SmallMatrix<double> c(context, 8, 8);
  if (last && (fault == "throw" || fault == "unwind")) throw blockvec::Error("fault on purpose");
  if (last && fault == "allocate") {
    v = blockvec::BlockVector<double>(context, rows, std::int64_t{1} << 45, "too much");
  }
  if (last && fault == "mismatch") {
    inner_product(v.columns(0, 2), v, c.block(0, 2, 0, 8));
  } else if (last && fault == "inside") {
    inner_product(v, v, c.block(0, 8, 0, 7));
  } else {
    inner_product(v, v, c);
  }
  std::cout << "nothing failed\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string fault = argc > 1 ? argv[1] : "throw";
  if (fault == "unwind") {  // without guard
    try {
      const blockvec::Environment environment(argc, argv);
      return run(fault);
    } catch (const blockvec::Error&) {
      std::cout << "nothing failed\n";
      return 0;
    }
  }
  const blockvec::Environment environment(argc, argv);
  return blockvec::Environment::guard([&] { return run(fault); });
}
