// The same methods on a device and on the host: decisions agree, and results to the condition of the problem.
#include <cuda_runtime.h>

#include <blockvec/operations.hpp>
#include <tuple>

#include "orth/queued_sweep.hpp"
#include "tests/orth/support.hpp"

namespace blockvec::test {
namespace {

template <class K>
class OrthOnDevice : public ::testing::Test {};
TYPED_TEST_SUITE(OrthOnDevice, testing::CasesIn<Kokkos::CudaSpace>, testing::CaseName);

TYPED_TEST(OrthOnDevice, FactorsEqualTheHosts) {
  using Scalar = typename TypeParam::Scalar;
  using HostCase = testing::Case<Scalar, typename TypeParam::Layout>;
  constexpr std::int64_t count = 700, b = 6;
  const Context context = Context::world(2);
  const auto rows = RowDistribution::uniform(count, context.communicator());
  for (const std::int64_t m : {0, 10}) {
    for (const char* method : {"bcgs2/cholqr2", "bcgs2/cgs2", "pipi+/cholqr2", "pipi+/svqb"}) {
      for (const double kappa : {1.0, 30.0}) {
        SCOPED_TRACE(std::string(method) + ", m = " + std::to_string(m) + ", kappa = " + std::to_string(kappa));
        Generator<Scalar> generator(31);
        const auto directions = generator.orthonormal(count, m + b);
        const auto v = columns_of(directions, 0, m);
        auto x = generator.with_condition(columns_of(directions, m, m + b), kappa);
        const auto inside = product(v, generator.random(m, b));
        for (std::size_t i = 0; i < x.entries.size(); ++i) x.entries[i] += inside.entries[i];
        auto options = orth::parse_options(method);
        options.adaptive = false;
        Trial<TypeParam> device(context, rows, v, x);
        Trial<HostCase> host(context, rows, v, x);
        const auto on_device = device.run(options), on_host = host.run(options);
        // Passes differ: on the host the steps of a sweep are one.
        EXPECT_EQ(on_device.describe().substr(0, on_device.describe().find(" reduction")),
                  on_host.describe().substr(0, on_host.describe().find(" reduction")));
        EXPECT_LE(device.loss(), rounding_loss<Scalar>(m + b));
        EXPECT_LE(device.residual(), rounding_residual<Scalar>(m + b));
        if (std::string(method).find("svqb") != std::string::npos) continue;  // its factors are not unique
        // A triangular factor with a positive diagonal is unique: rounding in X moves Q by kappa of it.
        const auto distance = [](auto a, const auto& c) {
          for (std::size_t i = 0; i < a.entries.size(); ++i) a.entries[i] -= c.entries[i];
          return norm(a);
        };
        const double factor = 2 * kappa * std::sqrt(static_cast<double>(b)) * rounding_residual<Scalar>(m + b);
        EXPECT_LE(distance(collect(device.w), collect(host.w)), factor);
        EXPECT_LE(distance(collect(device.r), collect(host.r)), factor * norm(x));
        EXPECT_LE(distance(collect(device.s), collect(host.s)), factor * norm(x));
      }
    }
  }
}

TYPED_TEST(OrthOnDevice, ResultsRepeatBitForBit) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 50021, m = 16, b = 8;
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(count, context.communicator());
  const auto run = [&] {
    const typename TypeParam::Vector basis(context, rows, m + b, "basis");
    fill_random(basis, 3);
    orth::Orthogonalizer orthogonalizer(context);
    orthogonalizer.normalize(basis.columns(0, m));
    const typename TypeParam::Small s(context, m, b), r(context, b, b);
    orthogonalizer.project_and_normalize(basis.columns(0, m), basis.columns(m, m + b), &s, &r);
    const double loss = static_cast<double>(orth::orthogonality_loss(basis));
    EXPECT_LE(loss, rounding_loss<Scalar>(m + b));
    return std::pair(collect(s).entries, collect(r).entries);
  };
  const auto first = run();
  EXPECT_TRUE(run() == first);
}

// A block behind its basis in one block vector: the host waits for the products of each sweep and for nothing else.
TYPED_TEST(OrthOnDevice, ASweepWaitsOnce) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 5003, m = 12, b = 4;
  const Context context = Context::world(1);
  const typename TypeParam::Vector basis(context, RowDistribution::uniform(count, context.communicator()), m + b,
                                         "basis");
  const auto v = basis.columns(0, m), w = basis.columns(m, m + b);
  orth::Orthogonalizer orthogonalizer(context);
  fill_random(basis, 3);
  orthogonalizer.normalize(v);
  const typename TypeParam::Small s(context, m, b), r(context, b, b);
  for (int round = 0; round < 2; ++round) {  // after the second one W lies in the range of V but for a small part
    const std::int64_t waits = context.waits();
    const auto result = orthogonalizer.project_and_normalize(v, w, &s, &r);
    EXPECT_EQ(context.waits() - waits, result.reductions) << result.describe();
    EXPECT_EQ(result.rank, b);
    EXPECT_LE(static_cast<double>(orth::orthogonality_loss(basis)), rounding_loss<Scalar>(m + b));
    update(Scalar(1000), v, s, Scalar(1), w);
  }
}

// A captured sweep works on what its memory holds when it is launched.
TYPED_TEST(OrthOnDevice, AQueuedSweepMayBeCapturedInAGraph) {
  using Scalar = typename TypeParam::Scalar;
  using Sweep = orth::QueuedSweep<Scalar, typename TypeParam::Layout, typename TypeParam::Space>;
  constexpr std::int64_t count = 40009, m = 12, b = 4;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  {
    const Context context(Communicator::self(), 0, {.cuda = Kokkos::Cuda(stream)});
    const typename TypeParam::Vector basis(context, RowDistribution::uniform(count, context.communicator()), m + b,
                                           "basis");
    fill_random(basis, 3);
    const auto w = basis.columns(m, m + b);
    orth::Orthogonalizer(context).normalize(basis.columns(0, m));
    const auto limits = orth::pythagorean_limits<Scalar>(m, b, true);
    // Blocks for which one sweep is enough, and one with two columns that are nearly the same.
    const auto prepare = [&](std::uint64_t seed, bool enough) {
      fill_random(w, seed);
      if (!enough) axpby(Scalar(1), w.column(0), Scalar(0.01F), w.column(1));
    };
    const auto eagerly = [&](std::uint64_t seed, bool enough) {
      prepare(seed, enough);
      const Sweep sweep(basis, m, limits);
      const auto results = sweep.results();
      return std::tuple(results.status.certified, collect(results.s).entries, collect(results.r).entries,
                        collect(w).entries);
    };
    const auto first = eagerly(5, true), second = eagerly(6, false), third = eagerly(7, true);
    EXPECT_EQ(std::get<0>(first), 1u);
    EXPECT_EQ(std::get<0>(second), 0u);
    ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    const Sweep sweep(basis, m, limits);
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t launched = nullptr;
    ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    ASSERT_EQ(cudaGraphInstantiate(&launched, graph, 0), cudaSuccess);
    const auto replayed = [&](std::uint64_t seed, bool enough) {
      prepare(seed, enough);
      EXPECT_EQ(cudaGraphLaunch(launched, stream), cudaSuccess);
      const auto results = sweep.results();
      return std::tuple(results.status.certified, collect(results.s).entries, collect(results.r).entries,
                        collect(w).entries);
    };
    EXPECT_TRUE(replayed(5, true) == first);
    const auto other = replayed(6, false);  // R is not said to be set there
    EXPECT_EQ(std::get<0>(other), 0u);
    EXPECT_TRUE(std::get<3>(other) == std::get<3>(second));
    EXPECT_TRUE(replayed(7, true) == third);
    EXPECT_EQ(cudaGraphExecDestroy(launched), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
}

}  // namespace
}  // namespace blockvec::test
