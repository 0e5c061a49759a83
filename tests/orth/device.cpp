// The same methods on a device and on the host: decisions agree, and results to the condition of the problem.
#include <cuda_runtime.h>

#include <blockvec/conditional_sweep.hpp>
#include <blockvec/operations.hpp>
#include <optional>
#include <tuple>
#include <vector>

#include "orth/queued_sweeps.hpp"
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
    EXPECT_EQ(orthogonalizer.normalize(basis.columns(0, m)).rank, m);
    const typename TypeParam::Small s(context, m, b), r(context, b, b);
    const auto result = orthogonalizer.project_and_normalize(basis.columns(0, m), basis.columns(m, m + b), &s, &r);
    EXPECT_EQ(result.rank, b);
    const double loss = static_cast<double>(orth::orthogonality_loss(basis));
    EXPECT_LE(loss, rounding_loss<Scalar>(m + b));
    return std::pair(collect(s).entries, collect(r).entries);
  };
  const auto first = run();
  EXPECT_TRUE(run() == first);
}

// A block behind its basis in one block vector: the host waits for the last verdict and for nothing else.
TYPED_TEST(OrthOnDevice, ACallWaitsOnceASweep) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 20011, m = 12, b = 4;
  const Context context = Context::world(1);
  const typename TypeParam::Vector basis(context, RowDistribution::uniform(count, context.communicator()), m + b,
                                         "basis");
  const auto v = basis.columns(0, m), w = basis.columns(m, m + b);
  fill_random(basis, 3);
  EXPECT_EQ(orth::Orthogonalizer(context).normalize(v).rank, m);
  const typename TypeParam::Small s(context, m, b), r(context, b, b);
  for (const bool adaptive : {true, false}) {
    orth::Options options;
    options.adaptive = adaptive;
    orth::Orthogonalizer orthogonalizer(context, options);
    fill_random(w, 4);
    for (int round = 0; round < 2; ++round) {  // after the second one W lies in the range of V but for a small part
      const std::int64_t waits = context.waits(), reductions = context.reductions();
      const auto result = orthogonalizer.project_and_normalize(v, w, &s, &r);
      if (context.communicator().size() == 1) {
        EXPECT_EQ(context.waits() - waits, adaptive ? result.sweeps : 1) << result.describe();
      }
      EXPECT_EQ(result.sweeps, round == 0 && adaptive ? 1 : 2);
      EXPECT_EQ(result.reductions, result.sweeps);
      EXPECT_EQ(context.reductions() - reductions, result.reductions);
      const std::int64_t first = result.sweeps > 1 ? conditional_sweep_words(basis, b, true) : 0;
      EXPECT_EQ(result.passes * b, static_cast<double>((m + b) + first + conditional_sweep_words(basis, b, false)))
          << result.describe();
      EXPECT_EQ(result.rank, b);
      EXPECT_TRUE(result.orthonormal);
      EXPECT_LE(static_cast<double>(orth::orthogonality_loss(basis)), rounding_loss<Scalar>(m + b));
      update(Scalar(20), v, s, Scalar(1), w);
    }
  }
}

/// Blocks that one sweep is enough for, that take two, and that have a column twice.
enum class Blocks { easy, hard, tidy, dependent };

template <class Tall>
void prepare(const Tall& v, const Tall& w, std::uint64_t seed, Blocks kind) {
  using Scalar = typename Tall::Scalar;
  fill_random(w, seed);
  if (kind == Blocks::hard) axpby(Scalar(1), w.column(0), Scalar(0.1F), w.column(1));
  if (kind == Blocks::hard) axpby(Scalar(100), v.column(0), Scalar(1), w.column(2));
  if (kind == Blocks::tidy) {  // orthogonal to V, but two columns are near each other
    orth::Orthogonalizer(w.context()).project(v, w);
    axpby(Scalar(1), w.column(0), Scalar(0.3F), w.column(1));
  }
  if (kind == Blocks::dependent) copy(w.column(0), w.column(1));
}

/// A stream of its own, so that it can be captured.
class OwnStream {
 public:
  OwnStream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~OwnStream() { EXPECT_EQ(cudaStreamDestroy(stream_), cudaSuccess); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// What submit(...) queues on a stream, as a graph.
class CapturedCall {
 public:
  template <class Submit>
  CapturedCall(cudaStream_t stream, Submit&& submit) : stream_(stream) {
    EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    submit();
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&launched_, graph, 0), cudaSuccess);
    EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  }
  ~CapturedCall() { EXPECT_EQ(cudaGraphExecDestroy(launched_), cudaSuccess); }
  CapturedCall(const CapturedCall&) = delete;
  CapturedCall& operator=(const CapturedCall&) = delete;
  void launch() const { EXPECT_EQ(cudaGraphLaunch(launched_, stream_), cudaSuccess); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t launched_ = nullptr;
};

// Captured sweeps work on what their memory holds when they are launched, and take as many as that needs.
TYPED_TEST(OrthOnDevice, QueuedSweepsMayBeCapturedInAGraph) {
  using Scalar = typename TypeParam::Scalar;
  using Sweeps = orth::QueuedSweeps<Scalar, typename TypeParam::Layout, typename TypeParam::Space>;
  constexpr std::int64_t count = 40009, m = 12, b = 4;
  const OwnStream stream;
  const Context context(Communicator::self(), 0, {.cuda = Kokkos::Cuda(stream.get())});
  const typename TypeParam::Vector basis(context, RowDistribution::uniform(count, context.communicator()), m + b,
                                         "basis");
  fill_random(basis, 3);
  const auto v = basis.columns(0, m), w = basis.columns(m, m + b);
  EXPECT_EQ(orth::Orthogonalizer(context).normalize(v).rank, m);
  const auto limits = orth::pythagorean_limits<Scalar>(m, b, true);
  const auto outcome = [&](const Sweeps& sweeps) {
    const auto results = sweeps.results();
    const auto& last = results.sweeps[results.formed - 1];
    return std::tuple(results.formed, last.status.certified, last.status.changes, collect(last.s).entries,
                      collect(last.g).entries, collect(w).entries);
  };
  const auto eagerly = [&](std::uint64_t seed, Blocks kind) {
    prepare(v, w, seed, kind);
    return outcome(Sweeps(basis, m, limits, orth::Another::may));
  };
  const std::pair<std::uint64_t, Blocks> blocks[] = {{5, Blocks::easy}, {6, Blocks::hard}, {7, Blocks::dependent},
                                                     {8, Blocks::hard}, {9, Blocks::tidy}, {10, Blocks::easy}};
  std::vector<decltype(eagerly(0, Blocks::easy))> expected;
  for (const auto& [seed, kind] : blocks) {
    expected.push_back(eagerly(seed, kind));
    EXPECT_EQ(std::get<0>(expected.back()), kind == Blocks::hard || kind == Blocks::tidy ? 2 : 1);
    EXPECT_EQ(std::get<1>(expected.back()), kind == Blocks::dependent ? 0U : 1U);
    EXPECT_EQ(std::get<2>(expected.back()), kind == Blocks::dependent ? 0U : 1U);
  }
  std::optional<Sweeps> sweeps;
  const CapturedCall graph(stream.get(), [&] { sweeps.emplace(basis, m, limits, orth::Another::may); });
  for (std::size_t i = 0; i < std::size(blocks); ++i) {
    prepare(v, w, blocks[i].first, blocks[i].second);
    const auto before = collect(w).entries;
    const std::int64_t waits = context.waits();
    graph.launch();
    const auto found = outcome(*sweeps);
    EXPECT_GE(context.waits(), waits + 1);
    EXPECT_TRUE(found == expected[i]) << i;
    if (blocks[i].second == Blocks::dependent) {
      EXPECT_TRUE(std::get<5>(found) == before) << "W is as it was";
    }
  }
}

// The two halves of a call give what the whole call gives, whatever has to be done for it.
TYPED_TEST(OrthOnDevice, SubmitAndGetAreOneCall) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 5003, m = 12, b = 4;
  const Context context = Context::world(1);
  const typename TypeParam::Vector basis(context, RowDistribution::uniform(count, context.communicator()), m + b,
                                         "basis");
  const auto v = basis.columns(0, m), w = basis.columns(m, m + b);
  fill_random(basis, 3);
  EXPECT_EQ(orth::Orthogonalizer(context).normalize(v).rank, m);
  const typename TypeParam::Small s(context, m, b), r(context, b, b), other(context, b, b);
  const auto outcome = [&](const orth::Result& result) {
    return std::tuple(result.describe(), result.lost, collect(s).entries, collect(r).entries, collect(w).entries);
  };
  for (const Blocks kind : {Blocks::easy, Blocks::hard, Blocks::tidy, Blocks::dependent}) {
    prepare(v, w, 6, kind);
    orth::Orthogonalizer orthogonalizer(context);
    const auto whole = outcome(orthogonalizer.project_and_normalize(v, w, &s, &r));
    prepare(v, w, 6, kind);
    const std::int64_t waits = context.waits();
    orth::Orthogonalizer again(context);
    auto submitted = again.submit(v, w, &s, &r);
    const bool alone = context.communicator().size() == 1;
    if (alone) {
      EXPECT_EQ(context.waits(), waits);
    }
    inner_product(w, w, other);  // a reduction of the caller's
    auto moved = std::move(submitted);
    EXPECT_FALSE(moved.left_to_device());
    const auto result = moved.get();
    EXPECT_EQ(moved.left_to_device(), kind != Blocks::dependent);
    EXPECT_TRUE(outcome(result) == whole) << result.describe() << "\n" << std::get<0>(whole);
    if (alone) {
      EXPECT_THROW(std::ignore = moved.get(), Error);
    }
    EXPECT_THROW(std::ignore = submitted.get(), Error);
  }
}

// By the public verbs: a default call in a graph, of which each launch has a result.
TYPED_TEST(OrthOnDevice, ASubmittedCallMayBeCapturedInAGraph) {
  using Scalar = typename TypeParam::Scalar;
  constexpr std::int64_t count = 40009, m = 12, b = 4;
  const OwnStream stream;
  const Context context(Communicator::self(), 0, {.cuda = Kokkos::Cuda(stream.get())});
  const typename TypeParam::Vector basis(context, RowDistribution::uniform(count, context.communicator()), m + b,
                                         "basis");
  const auto v = basis.columns(0, m), w = basis.columns(m, m + b);
  fill_random(basis, 3);
  const typename TypeParam::Small s(context, m, b), r(context, b, b);
  orth::Orthogonalizer orthogonalizer(context);
  EXPECT_EQ(orthogonalizer.normalize(v).rank, m);
  const auto eagerly = [&](Blocks kind) {
    prepare(v, w, 6, kind);
    const auto result = orthogonalizer.project_and_normalize(v, w, &s, &r);
    return std::tuple(result.describe(), collect(s).entries, collect(r).entries, collect(w).entries);
  };
  const auto easy = eagerly(Blocks::easy), hard = eagerly(Blocks::hard);
  using Handle = orth::Submitted<Scalar, typename TypeParam::Layout, typename TypeParam::Space>;
  std::optional<Handle> submitted;
  const CapturedCall graph(stream.get(), [&] { submitted.emplace(orthogonalizer.submit(v, w, &s, &r)); });
  for (const Blocks kind : {Blocks::hard, Blocks::easy, Blocks::hard}) {
    prepare(v, w, 6, kind);
    graph.launch();
    const auto result = submitted->get();
    EXPECT_TRUE(submitted->left_to_device());
    const auto found = std::tuple(result.describe(), collect(s).entries, collect(r).entries, collect(w).entries);
    EXPECT_TRUE(found == (kind == Blocks::easy ? easy : hard)) << result.describe();
  }
  prepare(v, w, 6, Blocks::dependent);
  graph.launch();
  EXPECT_EQ(submitted->get().rank, b - 1);
  EXPECT_FALSE(submitted->left_to_device());
  EXPECT_LE(static_cast<double>(orth::orthogonality_loss(basis)), rounding_loss<Scalar>(m + b));
}

}  // namespace
}  // namespace blockvec::test
