#pragma once

#include <gtest/gtest.h>

#include <blockvec/blockvec.hpp>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/cases.hpp"

/// What several tests of block vectors share: gathered copies, tolerances, messages.
namespace blockvec::testing {

/// gamma(n) = n u / (1 - n u) of Higham, with u = eps / 2; a complex product has an error constant of 2 sqrt(2) times a
/// real one's.
template <class Scalar>
double gamma(double n) {
  const double u = static_cast<double>(epsilon<Scalar>) / 2;
  return (ScalarTraits<Scalar>::is_complex ? 2 * std::sqrt(2.0) : 1.0) * n * u / (1 - n * u);
}

template <class Scalar>
std::complex<long double> widened(Scalar value) {
  if constexpr (ScalarTraits<Scalar>::is_complex) {
    return {static_cast<long double>(value.real()), static_cast<long double>(value.imag())};
  } else {
    return {static_cast<long double>(value), 0};
  }
}

/// A dense matrix in long double, for oracles; entry (i, j) at [i][j].
using Wide = std::vector<std::vector<std::complex<long double>>>;

/// This rank's rows.
template <class Scalar, class Layout, class Space>
Wide local_copy(const BlockVector<Scalar, Layout, Space>& from) {
  const auto v = on_host(from);
  Wide result(static_cast<std::size_t>(v.local_rows()));
  for (std::int64_t i = 0; i < v.local_rows(); ++i) {
    for (std::int64_t j = 0; j < v.width(); ++j) result[static_cast<std::size_t>(i)].push_back(widened(v.view()(i, j)));
  }
  return result;
}

/// All rows, on every rank: each rank adds its own to zeros, which is exact.
template <class Scalar, class Layout, class Space>
Wide gathered_copy(const BlockVector<Scalar, Layout, Space>& from) {
  const auto v = on_host(from);
  std::vector<double> parts(static_cast<std::size_t>(2 * v.global_rows() * v.width()), 0.0);
  for (std::int64_t i = 0; i < v.local_rows(); ++i) {
    for (std::int64_t j = 0; j < v.width(); ++j) {
      const auto value = widened(v.view()(i, j));
      const auto place = static_cast<std::size_t>(2 * ((v.rows().begin() + i) * v.width() + j));
      parts[place] = static_cast<double>(value.real());
      parts[place + 1] = static_cast<double>(value.imag());
    }
  }
  v.context().communicator().sum(std::span(parts));
  Wide result(static_cast<std::size_t>(v.global_rows()));
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (std::int64_t j = 0; j < v.width(); ++j) {
      const auto place = 2 * (i * static_cast<std::size_t>(v.width()) + static_cast<std::size_t>(j));
      result[i].emplace_back(parts[place], parts[place + 1]);
    }
  }
  return result;
}

/// The splits of `rows` rows that are worth a test: uniform, all on the last rank, and rising with every second rank
/// empty.
inline std::vector<RowDistribution> splits(std::int64_t rows, const Communicator& communicator) {
  const int ranks = communicator.size();
  std::vector<RowDistribution> result{RowDistribution::uniform(rows, communicator)};
  if (ranks == 1) return result;
  std::vector<std::int64_t> last(static_cast<std::size_t>(ranks), 0);
  last.back() = rows;
  result.push_back(RowDistribution::from_rows(last, communicator));
  std::vector<std::int64_t> rising(static_cast<std::size_t>(ranks), 0);
  std::int64_t left = rows;
  for (int r = 1; r < ranks; r += 2) {
    rising[static_cast<std::size_t>(r)] = r + 2 >= ranks ? left : std::min<std::int64_t>(left, 3 * r + 1);
    left -= rising[static_cast<std::size_t>(r)];
  }
  result.push_back(RowDistribution::from_rows(rising, communicator));
  return result;
}

/// Runs `action`, which is to throw an Exception, and returns its message.
template <class Exception, class Action>
std::string message_of(Action action) {
  try {
    static_cast<void>(action());  // it is to throw: what it returns tells nothing
  } catch (const Exception& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

inline void expect_parts(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts) {
    EXPECT_NE(message.find(part), std::string::npos) << "\"" << part << "\" is missing in: " << message;
  }
}

/// Runs `action`, which is to throw an Exception with these parts on one rank, and to tell all others so.
template <class Exception, class Action>
void expect_refusal(const Communicator& communicator, int failing, std::initializer_list<const char*> parts,
                    Action action) {
  const bool fails = communicator.rank() == failing;
  const std::string message = fails ? message_of<Exception>(action) : message_of<RefusedError>(action);
  expect_parts(message, parts);
  if (!fails) expect_parts(message, {("rank " + std::to_string(failing) + " refused: ").c_str()});
}

}  // namespace blockvec::testing
