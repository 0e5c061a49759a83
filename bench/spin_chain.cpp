// Products with the Heisenberg ring without a matrix, beside those with the stored matrix.
//   spin_chain out=DIRECTORY sites=20;24;28 widths=1;2;4;8;16 reps=11 stored=24 space=device|host card=NAME commit=...
// Rings of more than `stored` sites are not stored. Writes DIRECTORY/spin_chain.csv. gbps: bytes of X and Y, each once,
// in the time of a product without a matrix. ratio: stored_ms / ms. error: the largest difference of an entry of Y.
#include <algorithm>
#include <blockvec/blockvec.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <chrono>
#include <cmath>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "bench/cuda_report.hpp"
#include "bench/settings.hpp"
#include "bench/verdict.hpp"
#include "problems/spin_chain_operator.hpp"

namespace {

using namespace blockvec;
using Settings = std::map<std::string, std::string>;

std::vector<int> numbers(const std::string& list) {
  std::vector<int> result;
  std::stringstream stream(list);
  for (std::string item; std::getline(stream, item, ';');) result.push_back(std::stoi(item));
  return result;
}

/// Median seconds of Y = A X, after two others.
template <class Operator, class Vector>
double seconds(Operator& a, const Vector& x, const Vector& y, int reps) {
  using Clock = std::chrono::steady_clock;
  std::vector<double> all;
  for (int i = -2; i < reps; ++i) {
    x.context().template fence<typename Vector::Space>();
    const auto begin = Clock::now();
    a.apply(1, 0, x, 0, y);
    x.context().template fence<typename Vector::Space>();
    if (i >= 0) all.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
  }
  return bench::median(all);
}

/// The largest entry of y - z, which takes the place of z.
template <class Vector>
double difference(const Vector& y, const Vector& z) {
  axpby(1.0, y, -1.0, z);
  const auto host = z.template converted_to_space<Kokkos::HostSpace>();
  double largest = 0;
  for (std::int64_t i = 0; i < host.local_rows(); ++i) {
    for (std::int64_t j = 0; j < host.width(); ++j) largest = std::max(largest, std::abs(host.view()(i, j)));
  }
  return largest;
}

template <class Space>
void measure(const Settings& settings, bench::Report& report) {
  using Vector = BlockVector<double, RowMajor, Space>;
  const Context context = Context::self();
  const int reps = std::stoi(settings.at("reps"));
  for (const int sites : numbers(settings.at("sites"))) {
    const examples::SpinChain chain(sites, sites / 2, true, 1);
    const auto rows = RowDistribution::uniform(chain.size(), context.communicator());
    const examples::SpinChainOperator<Space> matrix_free(context, rows, chain);
    std::optional<solvers::SparseOperator<double, Space>> stored;
    if (sites <= std::stoi(settings.at("stored"))) stored.emplace(context, rows, chain);
    for (const int width : numbers(settings.at("widths"))) {
      const Vector x(context, rows, width), y(context, rows, width);
      fill_random(x, 1);
      const double own = seconds(matrix_free, x, y, reps);
      double peer = 0, error = 0;
      if (stored) {
        const Vector z(context, rows, width);
        peer = seconds(*stored, x, z, reps);
        error = difference(y, z);
      }
      const double bytes = 2.0 * sizeof(double) * static_cast<double>(chain.size()) * width;
      const std::string key = std::to_string(sites) + ',' + std::to_string(chain.size()) + ',' + std::to_string(width);
      report.add(key, "%.4f,%.0f,%.4f,%.2f,%.1e", 1e3 * own, 1e-9 * bytes / own, 1e3 * peer, peer / own, error);
    }
  }
}

int run(const Settings& settings) {
  bench::Report report(settings.at("out") + "/spin_chain.csv", "sites,rows,width,ms,gbps,stored_ms,ratio,error",
                       [&] { return "# " + settings.at("card") + ", commit " + settings.at("commit") + '\n'; });
  if (settings.at("space") == "host") {
    measure<Kokkos::HostSpace>(settings, report);
  } else {
    measure<Kokkos::DefaultExecutionSpace::memory_space>(settings, report);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int no_arguments = 1;
  const blockvec::Environment environment(no_arguments, argv);
  return blockvec::Environment::guard([&] {
    return run(bench::read_settings(argc, argv,
                                    {{"out", "."},
                                     {"sites", "20;24;28"},
                                     {"widths", "1;2;4;8;16"},
                                     {"reps", "11"},
                                     {"stored", "24"},
                                     {"space", "device"},
                                     {"card", "unknown"},
                                     {"commit", "unknown"}}));
  });
}
