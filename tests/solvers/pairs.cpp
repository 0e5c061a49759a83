// LOBPCG, Chebyshev-filtered subspaces, Jacobi-Davidson, block Lanczos, whole spectra: pairs of matrices from files
// that others made, if the folder BLOCKVEC_MATRICES holds them.
#include <blockvec/solvers/matrix_file.hpp>
#include <blockvec/solvers/preconditioners.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "tests/solvers/drivers.hpp"

namespace blockvec::solvers {
namespace {

using Host = BlockVector<double, RowMajor, Kokkos::HostSpace>;
using SparseOnHost = SparseOperator<double, Kokkos::HostSpace>;

struct Pair {
  const char *a, *b, *eigenvalues;
  double lowest_b;  ///< the lowest eigenvalue of B
  std::int64_t wanted;
  double tolerance;
};
constexpr Pair pairs[] = {{"lund_a.mtx", "lund_b.mtx", "lund.eig.txt", 0.247, 10, 1e-12},
                          {"elast_a.mtx", "elast_b.mtx", "elast.eig.txt", 0.269, 10, 1e-12},
                          {"evsl_NM1A.mtx", "evsl_NM1B.mtx", "evsl_NM1.eig.txt", 3.8e7, 12, 1e-12},
                          {"evsl_A.mtx", "evsl_B.mtx", "evsl.eig.txt", 1.45e-5, 20, 1e-10}};

/// Ascending; a line that begins with % is a comment.
std::vector<double> eigenvalues_in(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<double> values;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '%') values.push_back(std::stod(line));
  }
  return values;
}

class FilesOfPairs : public testing::Test {
 protected:
  void SetUp() override {
    const char* const folder = std::getenv("BLOCKVEC_MATRICES");
    if (folder == nullptr) GTEST_SKIP() << "BLOCKVEC_MATRICES names no folder with pairs of matrices";
    folder_ = folder;
    for (const Pair& pair : pairs) {
      for (const char* const file : {pair.a, pair.b, pair.eigenvalues}) {
        if (!std::filesystem::exists(folder_ / file)) GTEST_SKIP() << folder_ / file << " does not exist";
      }
    }
  }
  LocalMatrix<double> read(const char* file) const {
    return std::get<LocalMatrix<double>>(read_matrix((folder_ / file).string(), context_.communicator()));
  }

  std::filesystem::path folder_;
  const Context context_ = Context::world(1);
};

template <class Driver>
class Pairs : public FilesOfPairs {};
TYPED_TEST_SUITE(Pairs, PairDrivers, DriverNames);

TYPED_TEST(Pairs, FindsAllThatIsWanted) {
  for (const Pair& pair : pairs) {
    SCOPED_TRACE(pair.a);
    const auto a_file = this->read(pair.a), b_file = this->read(pair.b);
    const RowDistribution& rows = a_file.rows;
    if constexpr (requires { TypeParam::most_rows; }) {
      if (rows.global_rows() > TypeParam::most_rows) continue;
    }
    SparseOnHost a(this->context_, rows, *a_file.source), b(this->context_, rows, *b_file.source);
    const auto diagonal_a = diagonal_of<Host>(this->context_, rows, *a_file.source);
    const auto diagonal_b = diagonal_of<Host>(this->context_, rows, *b_file.source);
    auto options = TypeParam::with(pair.wanted);
    options.tolerance = pair.tolerance;
    const auto result = TypeParam::template solve<Host>({.a = a,
                                                         .b = b,
                                                         .precondition = jacobi_preconditioner(diagonal_a, diagonal_b),
                                                         .inverse_b = inverse_of_diagonal(diagonal_b)},
                                                        options);
    ASSERT_TRUE(result.converged()) << result.why;
    const auto exact = eigenvalues_in(this->folder_ / pair.eigenvalues);
    const auto n = static_cast<double>(rows.global_rows());
    ASSERT_EQ(std::ssize(result.eigenvalues), pair.wanted);
    for (std::size_t j = 0; j < result.eigenvalues.size(); ++j) {
      EXPECT_LE(result.backward_errors[j], pair.tolerance);
      // |theta - lambda| <= ||r|| ||B^-1||^(1/2); what is known of lambda is good to n eps ||A|| ||B^-1||.
      const double rounding = 8 * n * epsilon<double> * result.norm_estimate / pair.lowest_b;
      EXPECT_NEAR(result.eigenvalues[j], exact[j], result.residual_norms[j] / std::sqrt(pair.lowest_b) + rounding) << j;
    }
    EXPECT_LE(result.orthogonality_loss, 64 * static_cast<double>(pair.wanted) * n * epsilon<double>);
  }
}

// B of rank 199 in 400 rows, and one that is semi-definite with rounding errors.
TYPED_TEST(Pairs, SaysWhereBIsNotDefinite) {
  for (const auto& [a_name, b_name] :
       {std::pair("shaft400_k.mtx", "shaft400_m.mtx"), std::pair("speaker107_k.mtx", "speaker107_m.mtx")}) {
    for (const char* const name : {a_name, b_name}) {
      if (!std::filesystem::exists(this->folder_ / name)) GTEST_SKIP() << this->folder_ / name << " does not exist";
    }
    const auto a_file = this->read(a_name), b_file = this->read(b_name);
    SparseOnHost a(this->context_, a_file.rows, *a_file.source), b(this->context_, a_file.rows, *b_file.source);
    std::string message;
    try {
      (void)TypeParam::template solve<Host>({.a = a, .b = b}, TypeParam::with(5));
    } catch (const Error& error) {
      message = error.what();
    }
    EXPECT_NE(message.find("B is not positive definite to rounding"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace blockvec::solvers
