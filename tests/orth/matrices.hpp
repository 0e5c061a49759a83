#pragma once

#include <blockvec/block_vector.hpp>
#include <span>
#include <vector>

#include "tests/orth/suite.hpp"
#include "tests/support/cases.hpp"

/// Matrices of the suite on their way into block vectors and back.
namespace blockvec::test {

/// This rank's rows of a matrix that every rank has whole.
template <class Scalar, class Layout, class Space>
void distribute(const HostColumns<Wide<Scalar>>& a, const BlockVector<Scalar, Layout, Space>& to) {
  const auto v = testing::on_host(to);
  for (std::int64_t j = 0; j < a.columns; ++j) {
    for (std::int64_t i = 0; i < v.local_rows(); ++i) v.view()(i, j) = narrow<Scalar>(a(v.rows().begin() + i, j));
  }
  copy(v, to);
}

/// The whole matrix, on every rank.
template <class Scalar, class Layout, class Space>
HostColumns<Wide<Scalar>> collect(const BlockVector<Scalar, Layout, Space>& from) {
  const auto v = testing::on_host(from);
  std::vector<Scalar> values(static_cast<std::size_t>(v.global_rows() * v.width()), Scalar(0));
  for (std::int64_t j = 0; j < v.width(); ++j) {
    for (std::int64_t i = 0; i < v.local_rows(); ++i) {
      values[static_cast<std::size_t>(v.rows().begin() + i + j * v.global_rows())] = v.view()(i, j);
    }
  }
  if (!values.empty()) v.context().communicator().sum(std::span(values));
  HostColumns<Wide<Scalar>> a(v.global_rows(), v.width());
  for (std::size_t i = 0; i < values.size(); ++i) a.entries[i] = widen<Scalar>(values[i]);
  return a;
}

template <class Scalar, class Space>
HostColumns<Wide<Scalar>> collect(const SmallMatrix<Scalar, Space>& a) {
  const auto host = a.to_host();
  HostColumns<Wide<Scalar>> b(a.rows(), a.columns());
  for (std::int64_t j = 0; j < a.columns(); ++j) {
    for (std::int64_t i = 0; i < a.rows(); ++i) b(i, j) = widen<Scalar>(host(i, j));
  }
  return b;
}

}  // namespace blockvec::test
