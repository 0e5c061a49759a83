#include "bench/verdict.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace bench {
namespace {

/// Nine runs around a median, whose thirds differ by a relative `noise`.
std::vector<double> runs(double seconds, double noise) {
  std::vector<double> all;
  for (const double third : {0.0, -0.5, 0.5}) {
    for (const double outlier : {0.0, -0.3, 4.0}) all.push_back(seconds * (1 + third * noise) * (1 + outlier));
  }
  return all;
}

TEST(Verdict, NoiseIsTheSpreadOfTheMediansOfThirds) {
  EXPECT_DOUBLE_EQ(noise_of({1, 1, 1, 1, 1, 1}), 0);
  EXPECT_DOUBLE_EQ(noise_of({9, 2, 1, 2, 1, 2, 3, 0, 3}), 0.5);
  EXPECT_NEAR(noise_of(runs(2, 0.02)), 0.02, 1e-3);
}

TEST(Verdict, DiffersBeyondTheNoiseAlone) {
  const auto verdict = [](double seconds, double noise, double reference, double reference_noise) {
    return compare(runs(seconds, noise), runs(reference, reference_noise)).verdict;
  };
  EXPECT_EQ(verdict(0.97, 0.01, 1, 0.01), Verdict::faster);
  EXPECT_EQ(verdict(1.03, 0.01, 1, 0.01), Verdict::slower);
  EXPECT_EQ(verdict(1.005, 0.01, 1, 0.01), Verdict::same);
  EXPECT_EQ(verdict(0.995, 0.01, 1, 0.01), Verdict::same);
  EXPECT_EQ(verdict(1, 0, 1, 0), Verdict::same);
  // The noise of either is enough.
  EXPECT_EQ(verdict(0.97, 0.05, 1, 0), Verdict::same);
  EXPECT_EQ(verdict(1.03, 0, 1, 0.05), Verdict::same);
  EXPECT_NEAR(compare(runs(1, 0), runs(1, 0.05)).noise, 0.05, 3e-3);
}

/// "entry/reference verdict", one after the other.
std::string rows(const std::vector<double>& seconds, bool by_row) {
  std::vector<std::vector<double>> all;
  for (const double one : seconds) all.push_back(runs(one, 0.01));
  std::string text;
  for (const Finding& x : findings(all, by_row))
    text += std::to_string(x.entry) + '/' + std::to_string(x.reference) + ' ' + name_of(x.comparison.verdict) + ';';
  return text;
}

TEST(Verdict, WhatTuningWrites) {
  EXPECT_EQ(rows({1, 0.9, 0.95}, false), "1/0 faster;");
  EXPECT_EQ(rows({1, 0.999, 1.2}, false), "0/0 same;");
  EXPECT_EQ(rows({1}, false), "0/0 same;");
  // A row of the table, the model's choice, others.
  EXPECT_EQ(rows({1, 1.1, 0.9}, true), "2/0 faster;");
  EXPECT_EQ(rows({1, 1.1, 1.1}, true), "0/0 same;");
  EXPECT_EQ(rows({1, 0.999, 1.1}, true), "0/0 same;");
  EXPECT_EQ(rows({1.1, 1, 1.05}, true), "0/1 slower;");
  EXPECT_EQ(rows({1.1, 1, 0.9}, true), "0/1 slower;2/1 faster;");
  EXPECT_EQ(rows({1.1, 1, 0.999}, true), "0/1 slower;");
}

}  // namespace
}  // namespace bench
