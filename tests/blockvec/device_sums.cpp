// Sums over ranks of values in device memory: each way gives the host's bits, and errors reach every rank.
#include <cuda_runtime.h>

#include <blockvec/communicator.hpp>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "blockvec/device_transport.hpp"
#include "tests/support/naive.hpp"

#if BLOCKVEC_HAVE_MPI
#include <blockvec/mpi.hpp>
#endif

namespace blockvec {
namespace {

using Device = Kokkos::CudaSpace;

/// Numbers on the device, in the order of a context's instance.
template <class Scalar>
class DeviceNumbers {
 public:
  DeviceNumbers(const Context& context, const std::vector<Scalar>& values)
      : context_(context), view_("numbers", values.size()) {
    assign(values);
  }
  Scalar* data() const { return view_.data(); }
  void assign(const std::vector<Scalar>& values) const {
    EXPECT_EQ(cudaMemcpyAsync(view_.data(), values.data(), values.size() * sizeof(Scalar), cudaMemcpyDefault, stream()),
              cudaSuccess);
  }
  std::vector<Scalar> values() const {
    std::vector<Scalar> result(view_.extent(0));
    EXPECT_EQ(cudaMemcpyAsync(result.data(), view_.data(), result.size() * sizeof(Scalar), cudaMemcpyDefault, stream()),
              cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(stream()), cudaSuccess);
    return result;
  }

 private:
  cudaStream_t stream() const { return context_.execution_space<Device>().cuda_stream(); }
  Context context_;
  Kokkos::View<Scalar*, Device> view_;
};

template <class Scalar>
std::vector<Scalar> numbers_of(int rank, std::size_t count) {
  std::vector<Scalar> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const double x = std::ldexp(std::sin(1.0 + 5.0 * rank + static_cast<double>(i)), 3 * rank % 11);
    values[i] = Scalar(static_cast<RealOf<Scalar>>(i >= count / 2 ? x : 1e8 * x));
  }
  return values;
}

/// A graph of what body() orders on the context's stream.
class Graph {
 public:
  template <class Body>
  Graph(const Context& context, Body body) : stream_(context.execution_space<Device>().cuda_stream()) {
    cudaGraph_t graph = nullptr;
    EXPECT_EQ(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), cudaSuccess);
    body();
    EXPECT_EQ(cudaStreamEndCapture(stream_, &graph), cudaSuccess);
    EXPECT_EQ(cudaGraphInstantiate(&executable_, graph, 0), cudaSuccess);
    cudaGraphDestroy(graph);
  }
  ~Graph() { cudaGraphExecDestroy(executable_); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch() const { EXPECT_EQ(cudaGraphLaunch(executable_, stream_), cudaSuccess); }

 private:
  cudaStream_t stream_;
  cudaGraphExec_t executable_ = nullptr;
};

/// A context on a stream of its own, which can be captured.
class OnStream {
 public:
  explicit OnStream(const Communicator& ranks) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
    context_ = Context(ranks, 1, {.cuda = Kokkos::Cuda(stream_)});
  }
  ~OnStream() {
    context_ = Context();
    cudaStreamDestroy(stream_);
  }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;
  const Context& context() const { return context_; }

 private:
  cudaStream_t stream_ = nullptr;
  Context context_;
};

/// Two ranks, the other of which does what this one does, with a transport that keeps to the stream as NCCL does.
class GatheringTwins final : public CommunicatorBackend {
 public:
  std::string name() const override { return "twins"; }
  int rank() const override { return 0; }
  int size() const override { return 2; }
  int local_size() const override { return 2; }
  bool same_ranks(const CommunicatorBackend& other) const override { return this == &other; }
  void meet(Envelope& envelope) override {
    EXPECT_EQ(envelope.count, 0u) << "values stay on the device";
    ++meetings;
  }
  void all_reduce(void*, std::size_t, WireType, Reduction) override { ADD_FAILURE() << "a sum on the host"; }
  void broadcast(void*, std::size_t, int) override {}
  void exchange(std::span<const Message>, std::span<const Message>) override {}
  DeviceTransport device_transport(int) const override { return DeviceTransport::nccl; }
  void all_gather_on_device(const void* mine, void* all, std::size_t bytes, CUstream_st* stream) override {
    for (int twin = 0; twin < 2; ++twin) {
      void* const to = static_cast<char*>(all) + static_cast<std::size_t>(twin) * bytes;
      EXPECT_EQ(cudaMemcpyAsync(to, mine, bytes, cudaMemcpyDeviceToDevice, stream), cudaSuccess);
    }
  }
  void all_reduce_on_device(void*, std::size_t, WireType, CUstream_st*) override { ++reduced_by_the_library; }
  int meetings = 0, reduced_by_the_library = 0;
};

template <class C>
class DeviceSumsOfProducts : public ::testing::Test {};
TYPED_TEST_SUITE(DeviceSumsOfProducts, testing::CasesIn<Device>, testing::CaseName);

// Twins have every product twice: exactly.
TYPED_TEST(DeviceSumsOfProducts, AreTwiceTheProductsOfTwinsAndDoNotWait) {
  using Scalar = typename TypeParam::Scalar;
  using Products = InnerProducts<Scalar, typename TypeParam::Layout, Device>;
  using Small = typename TypeParam::Small;
  constexpr std::int64_t m = 6, b = 3;
  const auto twins = std::make_shared<GatheringTwins>();
  const OnStream both{Communicator(twins)}, alone(Communicator::self());
  struct Work {
    explicit Work(const Context& context)
        : rows(RowDistribution::uniform(1000 * context.communicator().size(), context.communicator())),
          v(context, rows, m, "V"),
          w(context, rows, b, "W"),
          s(context, m, b),
          wide(context, m + 2, b),
          g(context, b, b),
          high(context, b, b),
          low(context, b, b),
          dots(context, 1, b) {
      fill_random(v, 1);
      fill_random(w, 2);
    }
    void reduce() const {
      const Context& context = v.context();
      Products(context).add(v, w, s).reduce();
      Products(context).add(v, w, wide.block(1, m + 1, 0, b)).add_dd(w, w, {high, low}).reduce();
      inner_product(w, w, g);
      column_dots(w, w, dots);
    }
    RowDistribution rows;
    typename TypeParam::Vector v, w;
    Small s, wide, g, high, low, dots;
  };
  const Work work(both.context()), expected(alone.context());
  expected.reduce();
  work.reduce();
  EXPECT_EQ(twins->meetings, 4);
  EXPECT_EQ(both.context().waits(), 0);
  const auto expect_twice = [](const Small& mine, const Small& single) {
    const auto x = mine.to_host(), y = single.to_host();
    for (std::size_t j = 0; j < x.extent(1); ++j) {
      for (std::size_t i = 0; i < x.extent(0); ++i) ASSERT_EQ(x(i, j), Scalar(2) * y(i, j)) << i << ", " << j;
    }
  };
  const auto expect_all_twice = [&] {
    expect_twice(work.s, expected.s);
    expect_twice(work.wide.block(1, m + 1, 0, b), expected.wide.block(1, m + 1, 0, b));
    expect_twice(work.g, expected.g);
    expect_twice(work.high, expected.high);
    expect_twice(work.low, expected.low);
    expect_twice(work.dots, expected.dots);
  };
  expect_all_twice();

  work.reduce();
  const Graph graph(both.context(), [&] { work.reduce(); });
  for (int i = 0; i < 2; ++i) {
    for (const Small& c : {work.s, work.wide, work.g, work.high, work.low, work.dots})
      c.from_host(
          HostMatrix<Scalar>("zeros", static_cast<std::size_t>(c.rows()), static_cast<std::size_t>(c.columns())));
    graph.launch();
    expect_all_twice();
  }

  const SmallMatrix<Scalar> s_here(both.context(), m, b), g_here(both.context(), b, b);
  const std::int64_t waits = both.context().waits();
  Products(both.context()).add(work.v, work.w, s_here).add(work.w, work.w, g_here).reduce();
  EXPECT_EQ(both.context().waits(), waits + 1);
  const auto s = expected.s.to_host(), g = expected.g.to_host();
  for (std::size_t j = 0; j < b; ++j) {
    for (std::size_t i = 0; i < m; ++i) ASSERT_EQ(s_here.view()(i, j), Scalar(2) * s(i, j));
    for (std::size_t i = 0; i < b; ++i) ASSERT_EQ(g_here.view()(i, j), Scalar(2) * g(i, j));
  }
}

TEST(DeviceSums, OfManyWordsAreLeftToTheLibrary) {
  const auto twins = std::make_shared<GatheringTwins>();
  const OnStream both{Communicator(twins)};
  const std::size_t most = (std::size_t{1} << 20) / (2 * sizeof(double));
  const DeviceNumbers<double> numbers(both.context(), std::vector<double>(most + 1, 1.0));
  both.context().sum_in<Device>(numbers.data(), static_cast<std::int64_t>(most), 1);
  EXPECT_EQ(twins->reduced_by_the_library, 0);
  both.context().sum_in<Device>(numbers.data(), static_cast<std::int64_t>(most + 1), 1);
  EXPECT_EQ(twins->reduced_by_the_library, 1);
}

#if BLOCKVEC_HAVE_MPI

int device_number() { return Kokkos::Cuda().cuda_device(); }

/// All ranks, and one way for their sums on devices.
class DeviceSumsBy : public ::testing::TestWithParam<DeviceTransport> {
 protected:
  void SetUp() override {
    if (ranks_.size() == 1) GTEST_SKIP() << "needs two ranks";
    if (GetParam() == DeviceTransport::mpi && !mpi_takes_device_pointers())
      GTEST_SKIP() << "this MPI does not take device pointers";
    ranks_.set_device_transport(GetParam());
    try {
      EXPECT_EQ(ranks_.connect_device(device_number()), GetParam());
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  Communicator ranks_ = mpi_communicator(MPI_COMM_WORLD);
};
INSTANTIATE_TEST_SUITE_P(Ways, DeviceSumsBy,
                         ::testing::Values(DeviceTransport::staged, DeviceTransport::mpi, DeviceTransport::nccl),
                         [](const auto& way) { return std::string(detail::name_of(way.param)); });

template <class Scalar>
void expect_the_hosts_bits(const Context& context, std::size_t count, bool double_double) {
  const auto mine = numbers_of<Scalar>(context.communicator().rank(), double_double ? 2 * count : count);
  auto expected = mine;
  context.sum_in<Kokkos::HostSpace>(expected.data(), static_cast<std::int64_t>(count), 1, double_double);
  const DeviceNumbers<Scalar> numbers(context, mine);
  context.sum_in<Device>(numbers.data(), static_cast<std::int64_t>(count), 1, double_double);
  const auto sums = numbers.values();
  EXPECT_EQ(std::memcmp(sums.data(), expected.data(), sums.size() * sizeof(Scalar)), 0)
      << count << (double_double ? " in double-double" : "");
}

TEST_P(DeviceSumsBy, HaveTheHostsBits) {
  const OnStream on(ranks_);
  for (int round = 0; round < 2; ++round) {
    for (const std::size_t count : {0u, 1u, 7u, 64u, 1024u, 4096u}) {
      for (const bool double_double : {false, true}) {
        expect_the_hosts_bits<double>(on.context(), count, double_double);
        expect_the_hosts_bits<float>(on.context(), count, double_double);
        expect_the_hosts_bits<Complex<float>>(on.context(), count, double_double);
      }
      expect_the_hosts_bits<Complex<double>>(on.context(), count, false);
    }
  }
}

TEST_P(DeviceSumsBy, OfManyWordsAreRight) {
  const OnStream on(ranks_);
  const std::size_t count = std::size_t{1} << 19;
  const DeviceNumbers<double> numbers(on.context(), std::vector<double>(count, 1.0 + ranks_.rank()));
  on.context().sum_in<Device>(numbers.data(), static_cast<std::int64_t>(count), 1);
  const int size = ranks_.size();
  EXPECT_EQ(numbers.values(), std::vector<double>(count, size * (size + 1) / 2.0));
}

TEST_P(DeviceSumsBy, NoticeRanksThatDisagreeOrRefuse) {
  const OnStream on(ranks_);
  const Context& context = on.context();
  const bool first = ranks_.rank() == 0;
  const std::vector<double> ones(64, 1.0);
  const DeviceNumbers<double> numbers(context, ones);
  std::vector<double> here(64, 1.0);
  EXPECT_THROW(context.sum_in<Device>(numbers.data(), first ? 10 : 11, 1), DisagreementError);
  EXPECT_THROW(context.sum_in<Device>(numbers.data(), 10, first ? 1 : 2), DisagreementError);
  if (GetParam() != DeviceTransport::staged) {
    EXPECT_THROW(first ? context.sum_in<Device>(numbers.data(), 10, 1) : context.sum(here.data(), 10, 1),
                 DisagreementError);
  }
  EXPECT_EQ(numbers.values(), ones) << "untouched";
  const auto refusing = [&] {
    context.collective([&] {
      if (!first) throw Error("on purpose");
      context.sum_in<Device>(numbers.data(), 10, 1);
    });
  };
  if (first) {
    EXPECT_THROW(refusing(), RefusedError);
  } else {
    EXPECT_THROW(refusing(), Error);
  }
  EXPECT_EQ(numbers.values(), ones) << "untouched";
  context.sum_in<Device>(numbers.data(), 64, 1);
  EXPECT_EQ(numbers.values(), std::vector<double>(64, ranks_.size()));
}

TEST_P(DeviceSumsBy, CanBeCapturedByNccl) {
  if (GetParam() != DeviceTransport::nccl) GTEST_SKIP() << "waits for the device";
  const OnStream on(ranks_);
  for (const std::size_t count : {std::size_t{1}, std::size_t{4096}, std::size_t{1} << 18}) {
    const std::vector<double> ones(count, 1.0);
    const DeviceNumbers<double> numbers(on.context(), ones);
    const auto sum = [&] { on.context().sum_in<Device>(numbers.data(), static_cast<std::int64_t>(count), 1); };
    sum();
    on.context().fence<Device>();
    const std::int64_t waits = on.context().waits();
    const Graph graph(on.context(), sum);
    EXPECT_EQ(on.context().waits(), waits);
    for (int i = 0; i < 3; ++i) {
      numbers.assign(ones);
      graph.launch();
      EXPECT_EQ(numbers.values(), std::vector<double>(count, ranks_.size()));
    }
  }
}

TEST(DeviceSums, ByNcclWithOneRank) {
#if BLOCKVEC_HAVE_NCCL
  const Communicator self = mpi_communicator(MPI_COMM_SELF);
  self.set_device_transport(DeviceTransport::nccl);
  ASSERT_EQ(self.connect_device(device_number()), DeviceTransport::nccl);
  testing::expect_parts(self.describe_device_transport(), {"NCCL 2."});
  const OnStream on(self);
  const auto stream = on.context().execution_space<Device>().cuda_stream();
  const std::vector<double> values = numbers_of<double>(3, 4096);
  const DeviceNumbers<double> mine(on.context(), values), all(on.context(), std::vector<double>(4096));
  self.all_gather_on_device(mine.data(), all.data(), 4096 * sizeof(double), stream);
  EXPECT_EQ(all.values(), values);
  self.all_reduce_on_device(all.data(), 4096, WireType::float64, stream);
  EXPECT_EQ(all.values(), values);
  all.assign(std::vector<double>(4096));
  const Graph graph(on.context(),
                    [&] { self.all_gather_on_device(mine.data(), all.data(), 4096 * sizeof(double), stream); });
  graph.launch();
  EXPECT_EQ(all.values(), values);
#else
  GTEST_SKIP() << "built without NCCL";
#endif
}

TEST(DeviceSums, ChooseTheirWayByThemselves) {
  const Communicator ranks = mpi_communicator(MPI_COMM_WORLD);
  if (ranks.size() == 1) GTEST_SKIP() << "needs two ranks";
  EXPECT_EQ(ranks.describe_device_transport(), "not yet chosen");
  const OnStream on(ranks);
  const DeviceNumbers<double> numbers(on.context(), {1.0});
  on.context().sum_in<Device>(numbers.data(), 1, 1);
  EXPECT_EQ(numbers.values()[0], ranks.size());
  const DeviceTransport transport = ranks.connect_device(device_number());
  const std::string chosen = ranks.describe_device_transport();
  if (transport != DeviceTransport::nccl) {
    EXPECT_NE(chosen.find('('), std::string::npos) << "no reason: " << chosen;
  }
  if (ranks.rank() == 0) std::printf("chosen: %s\n", chosen.c_str());

  on.context().profile().start();
  const auto rows = RowDistribution::uniform(1000, ranks);
  const BlockVector<double, RowMajor, Device> v(on.context(), rows, 4, "V");
  fill_random(v, 1);
  inner_product(v, v, SmallMatrix<double, Device>(on.context(), 4, 4));
  on.context().profile().stop();
  testing::expect_parts(on.context().report(), {("sums by " + chosen).c_str()});
  if (transport == DeviceTransport::nccl) return;
  ranks.set_device_transport(DeviceTransport::nccl);
  testing::expect_parts(testing::message_of<Error>([&] { ranks.connect_device(device_number()); }),
                        {"NCCL was wished for"});
  ranks.barrier();
}

TEST(DeviceSums, WantOneWishOnAllRanks) {
  const Communicator ranks = mpi_communicator(MPI_COMM_WORLD);
  if (ranks.size() == 1) GTEST_SKIP() << "needs two ranks";
  ranks.set_device_transport(ranks.rank() == 0 ? DeviceTransport::staged : DeviceTransport::mpi);
  testing::expect_parts(testing::message_of<Error>([&] { ranks.connect_device(device_number()); }),
                        {"rank 0 wishes for staged", "rank 1 for mpi"});
  ranks.barrier();
}

#endif

}  // namespace
}  // namespace blockvec
