// examples_faulty_operator FAULT RANK FILE OPTIONS...: block_lanczos with an operator that goes wrong on one rank as
// soon as FILE exists. faults.py looks at how that ends.
#include <unistd.h>

#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/matrix_market.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <stdexcept>
#include <string>

#include "solve_and_report.hpp"
#include "write_all.hpp"

namespace blockvec::examples {
namespace {

struct Fault {
  std::string kind;
  int rank;
  std::string file;
};

template <class Operator>
class FaultyOperator {
 public:
  FaultyOperator(Operator& a, Fault fault) : a_(a), fault_(std::move(fault)) {}

  const Context& context() const { return a_.context(); }
  const RowDistribution& rows() const { return a_.rows(); }

  template <class Scalar, class Vector>
  void apply(Scalar alpha, Scalar shift, const Vector& x, Scalar beta, const Vector& y) {
    const bool is_wrong = fault_.rank == context().communicator().rank() && access(fault_.file.c_str(), F_OK) == 0;
    if (is_wrong && fault_.kind == "exception") throw std::runtime_error("injected fault: no such row");
    if (is_wrong && fault_.kind == "allocation") {
      const auto rows = RowDistribution::uniform(std::int64_t{1} << 55, Communicator::self());
      const BlockVector<Scalar> v(Context::self(1), rows, 4, "injected fault");
    }
    a_.apply(alpha, shift, x, beta, is_wrong && fault_.kind == "shapes" ? y.columns(0, y.width() - 1) : y);
  }

 private:
  Operator& a_;
  Fault fault_;
};

int program(const Fault& fault, int argc, char** argv, Interruption& interruption) {
  const Context context = Context::world(1);
  const Communicator& communicator = context.communicator();
  ProgramOptions options;
  if (const auto status = parse_command_line(argc, argv, communicator.rank() == 0, options)) return *status;
  OutputFiles files(options, communicator);
  Reporter reporter(options, files, interruption, communicator);
  const auto matrix =
      std::get<solvers::LocalMatrix<double>>(solvers::read_matrix_market(options.matrix_file, communicator));
  solvers::SparseOperator<double> a(context, matrix.rows, *matrix.source);
  FaultyOperator faulty(a, fault);
  return solve_and_report(solvers::Problem<BlockVector<double, ColumnMajor>>{faulty}, {}, options, reporter);
}

}  // namespace
}  // namespace blockvec::examples

int main(int argc, char** argv) {
  constexpr int own_arguments = 3;
  blockvec::examples::guard_standard_streams();
  blockvec::examples::Interruption interruption;
  int no_arguments = 1;
  char* program_name[] = {argv[0], nullptr};
  char** no_argument_list = program_name;
  blockvec::Environment environment(no_arguments, no_argument_list);
  if (argc <= own_arguments) return 2;
  const blockvec::examples::Fault fault{argv[1], std::stoi(argv[2]), argv[3]};
  return blockvec::Environment::guard(
      [&] { return blockvec::examples::program(fault, argc - own_arguments, argv + own_arguments, interruption); });
}
