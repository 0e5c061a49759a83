// Block vectors on a device: the caller's stream, no waiting and no allocation, the same results as on the host.
#include <cuda_runtime.h>

#include <blockvec/kernels/cuda.hpp>
#include <blockvec/kernels/tall_skinny.hpp>
#include <blockvec/transfer.hpp>
#include <chrono>
#include <memory>
#include <thread>

#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

using Device = Kokkos::CudaSpace;

class Stream {
 public:
  Stream() { EXPECT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

template <class C>
class DeviceTest : public ::testing::Test {};
TYPED_TEST_SUITE(DeviceTest, testing::CasesIn<Device>, testing::CaseName);

/// Operands of every operation.
template <class C>
struct Operands {
  using Scalar = typename C::Scalar;
  static constexpr std::int64_t m = 9, b = 4;
  Operands(const Context& context, std::int64_t count)
      : basis(context, RowDistribution::uniform(count, context.communicator()), m + b + 3, "basis"),
        v(basis.columns(0, m)),
        w(basis.columns(m, m + b)),
        s(context, m, b),
        g(context, b, b),
        dots(context, 1, b),
        norms(context, 1, b) {
    reset();
  }
  void reset() const { fill_random(basis, 5); }
  void everything() const {
    InnerProducts<Scalar, typename C::Layout, Device> products(basis.context());
    products.add(v, w, s).add(w, w, g).reduce();
    update(Scalar(-0.5), v, s, Scalar(1), w);
    multiply_in_place(w, g, kernels::Triangle::upper);
    column_dots(v.columns(0, b), w, dots);
    column_norms(w, norms);
    scale_columns(w, dots);
    axpby(Scalar(0.25), v.columns(1, 1 + b), Scalar(2), w);
    scale(w, Scalar(0.5));
    copy(w, v.columns(2, 2 + b));
    fill(v.column(0), Scalar(3));
    fill_random(v.column(1), 8);
  }
  testing::Wide result() const { return testing::local_copy(basis); }

  typename C::Vector basis, v, w;
  typename C::Small s, g, dots;
  typename C::RealSmall norms;
};

// A stream that is being captured admits neither waiting for it nor allocating: what can be captured does not.
TYPED_TEST(DeviceTest, OperationsNeitherWaitNorAllocateOnTheCallersStream) {
  const Stream stream;
  const Context context(Communicator::self(), 1, {.cuda = Kokkos::Cuda(stream.get())});
  EXPECT_EQ(context.execution_space<Device>().cuda_stream(), stream.get());
  const Operands<TypeParam> operands(context, 3001);
  operands.everything();
  operands.everything();
  operands.reset();
  operands.everything();
  const auto expected = operands.result();
  operands.reset();
  context.fence<Device>();

  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  operands.everything();
  ASSERT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
  cudaGraphExec_t executable = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  for (int i = 0; i < 2; ++i) {
    operands.reset();
    ASSERT_EQ(cudaGraphLaunch(executable, stream.get()), cudaSuccess);
    EXPECT_EQ(operands.result(), expected) << "the same bits from a graph";
  }
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
}

// The widths of a block decide what is launched: each is captured and run again with other data.
TYPED_TEST(DeviceTest, ProductsInDoubleDoubleNeitherWaitNorAllocate) {
  using Scalar = typename TypeParam::Scalar;
  const Stream stream;
  const Context context(Communicator::self(), 1, {.cuda = Kokkos::Cuda(stream.get())});
  const typename TypeParam::Vector basis(context, RowDistribution::uniform(3001, context.communicator()), 20, "basis");
  for (const std::int64_t width : {1, 2, 5, 20}) {
    const auto v = basis.columns(0, width), w = basis.columns(20 - width, 20);
    const typename TypeParam::Small high(context, width, width), low(context, width, width);
    const auto values = [&] {
      std::vector<Scalar> all;
      for (const auto& c : {high.to_host(), low.to_host()}) {
        for (std::size_t j = 0; j < c.extent(1); ++j) {
          for (std::size_t i = 0; i < c.extent(0); ++i) all.push_back(c(i, j));
        }
      }
      return all;
    };
    fill_random(basis, 5);
    inner_product_dd(v, w, {high, low});
    const auto expected = values();
    fill_random(basis, 6);
    const std::int64_t waits = context.waits();
    inner_product_dd(v, w, {high, low});
    EXPECT_EQ(context.waits(), waits);
    context.fence<Device>();

    cudaGraph_t graph = nullptr;
    ASSERT_EQ(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
    inner_product_dd(v, w, {high, low});
    ASSERT_EQ(cudaStreamEndCapture(stream.get(), &graph), cudaSuccess);
    cudaGraphExec_t executable = nullptr;
    ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
    fill_random(basis, 5);
    ASSERT_EQ(cudaGraphLaunch(executable, stream.get()), cudaSuccess);
    EXPECT_EQ(values(), expected) << "the same bits from a graph, " << width << " columns";
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }
}

TYPED_TEST(DeviceTest, ProductsEqualTheHosts) {
  using Scalar = typename TypeParam::Scalar;
  const Context context = Context::world(2);
  constexpr std::int64_t count = 20011, m = 12, b = 5;
  for (const auto& rows : testing::splits(count, context.communicator())) {
    const typename TypeParam::Vector v(context, rows, m, "V"), w(context, rows, b, "W");
    fill_random(v, 1);
    fill_random(w, 2);
    const auto v_host = testing::on_host(v), w_host = testing::on_host(w);
    const BlockVector<Scalar, typename TypeParam::Layout> random(context, rows, b, "random");
    fill_random(random, 2);
    EXPECT_EQ(testing::local_copy(random), testing::local_copy(w)) << "random numbers have the same bits";

    const typename TypeParam::Small c(context, m, b);
    const SmallMatrix<Scalar> c_host(context, m, b);
    inner_product(v, w, c);
    inner_product(v_host, w_host, c_host);
    // |V|^H |W| is at most the rows, entries being below 1 (each part of complex ones).
    const double entries = static_cast<double>(count) * (ScalarTraits<Scalar>::is_complex ? 2 : 1);
    const double chain = static_cast<double>(kernels::summation_depth(count) + context.communicator().size() + 3);
    const auto c_values = c.to_host(), c_expected = c_host.to_host();
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < b; ++j) {
        ASSERT_LE(std::abs(testing::widened(c_values(i, j)) - testing::widened(c_expected(i, j))),
                  2 * testing::gamma<Scalar>(chain) * entries);
      }
    }

    c.from_host(c_expected);
    update(Scalar(-1), v, c, Scalar(1), w);
    update(Scalar(-1), v_host, c_host, Scalar(1), w_host);
    long double largest = 1;
    for (std::size_t i = 0; i < m; ++i) {
      for (std::size_t j = 0; j < b; ++j) largest = std::max(largest, std::abs(testing::widened(c_expected(i, j))));
    }
    const auto mine = testing::local_copy(w), theirs = testing::local_copy(w_host);
    const auto bound = static_cast<double>((m + 1) * largest) * (ScalarTraits<Scalar>::is_complex ? 2 : 1);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      for (std::size_t j = 0; j < b; ++j)
        ASSERT_LE(std::abs(mine[i][j] - theirs[i][j]), 2 * testing::gamma<Scalar>(m + 4) * bound);
    }
  }
}

template <class Scalar>
HostMatrix<Scalar> small_numbers(std::size_t rows, std::size_t columns) {
  HostMatrix<Scalar> numbers("numbers", rows, columns);
  for (std::size_t j = 0; j < columns; ++j) {
    for (std::size_t i = 0; i < rows; ++i) numbers(i, j) = Scalar(0.01 * static_cast<double>((3 * i + 5 * j) % 7));
  }
  return numbers;
}

// Small matrices on the host: the sweep, and the products of the new W. V is two views, W follows them in one block
// vector or lies apart; their rows begin at multiples of 16 bytes, or do not.
TYPED_TEST(DeviceTest, SmallMatricesMayLieOnTheHost) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = typename TypeParam::Vector;
  const Context context = Context::world(2);
  constexpr std::int64_t count = 10007, m = 11, b = 4;
  const auto rows = RowDistribution::uniform(count, context.communicator());
  const Vector basis(context, rows, 20, "basis"), apart(context, rows, b, "apart");
  const SmallMatrix<Scalar> s(context, m, b), x(context, b, b), p(context, m, b), g(context, b, b);
  const auto values = small_numbers<Scalar>(m, b);
  HostMatrix<Scalar> factor("factor", b, b);
  for (std::size_t j = 0; j < b; ++j) {
    for (std::size_t i = 0; i < b; ++i) factor(i, j) = Scalar(i <= j ? 1.0 / static_cast<double>(1 + j - i) : 100.0);
  }
  s.from_host(values);
  x.from_host(factor);
  const typename TypeParam::Small s_there(context, m, b), x_there(context, b, b);
  s_there.from_host(values);
  x_there.from_host(factor);
  struct Case {
    std::int64_t first;
    bool follows, subtracts, with_p;
  };
  for (int number = 0; number < 16; ++number) {
    const Case c{number % 2, (number & 2) != 0, (number & 4) != 0, (number & 8) != 0};
    const Vector v[] = {basis.columns(c.first, c.first + 4), basis.columns(c.first + 4, c.first + m)};
    const Vector w = c.follows ? basis.columns(c.first + m, c.first + m + b) : apart;
    fill_random(basis, 3);
    fill_random(w, 4);
    const auto* const projection = c.subtracts ? &s : nullptr;
    const Vector expected = w.deep_copy();
    if (c.subtracts) {
      update(Scalar(-1), v[0], s_there.block(0, 4, 0, b), Scalar(1), expected);
      update(Scalar(-1), v[1], s_there.block(4, m, 0, b), Scalar(1), expected);
    }
    multiply_in_place(expected, x_there, kernels::Triangle::upper);
    const typename TypeParam::Small p_there(context, m, b), g_there(context, b, b);
    const std::int64_t waits = context.waits();
    InnerProducts<Scalar, typename TypeParam::Layout, Device>(context)
        .add_swept(v, projection, w, &x, kernels::Triangle::upper, c.with_p ? &p : nullptr, g)
        .reduce();
    // MPI that takes device pointers needs a wait of its own.
    const bool by_mpi = context.communicator().describe_device_transport().starts_with("MPI with");
    EXPECT_EQ(context.waits(), waits + (by_mpi ? 2 : 1));
    const auto mine = testing::local_copy(w), theirs = testing::local_copy(expected);
    for (std::size_t i = 0; i < mine.size(); ++i) {
      for (std::size_t j = 0; j < b; ++j) {
        ASSERT_LE(std::abs(mine[i][j] - theirs[i][j]), 8 * testing::gamma<Scalar>(m + 2 * b + 6));
      }
    }
    inner_product(v[0], w, p_there.block(0, 4, 0, b));
    inner_product(v[1], w, p_there.block(4, m, 0, b));
    inner_product(w, w, g_there);
    const double chain = static_cast<double>(kernels::summation_depth(count) + context.communicator().size() + 3);
    const double bound = 2 * testing::gamma<Scalar>(chain) * static_cast<double>(count) * 16;
    const auto products = p_there.to_host(), gram = g_there.to_host();
    for (std::size_t j = 0; j < b; ++j) {
      for (std::size_t i = 0; c.with_p && i < m; ++i) {
        ASSERT_LE(std::abs(testing::widened(p.view()(i, j)) - testing::widened(products(i, j))), bound);
      }
      for (std::size_t i = 0; i < b; ++i) {
        ASSERT_LE(std::abs(testing::widened(g.view()(i, j)) - testing::widened(gram(i, j))), bound);
      }
    }
  }
}

// W <- W - V S with S on the host. V is one view or two, W follows it in one block vector or lies apart.
TYPED_TEST(DeviceTest, SubtractsWithoutAFactor) {
  using Scalar = typename TypeParam::Scalar;
  using Vector = typename TypeParam::Vector;
  const Context context = Context::world(2);
  constexpr std::int64_t count = 10007, m = 11, b = 4;
  const auto rows = RowDistribution::uniform(count, context.communicator());
  const Vector basis(context, rows, m + b, "basis"), apart(context, rows, b, "apart");
  const SmallMatrix<Scalar> s(context, m, b);
  const auto values = small_numbers<Scalar>(m, b);
  s.from_host(values);
  const typename TypeParam::Small s_there(context, m, b);
  s_there.from_host(values);
  const Vector whole[] = {basis.columns(0, m)}, halves[] = {basis.columns(0, 4), basis.columns(4, m)};
  using Pieces = std::span<const Vector>;
  for (const Pieces v : {Pieces(whole), Pieces(halves)}) {
    for (const Vector& w : {basis.columns(m, m + b), apart}) {
      fill_random(basis, 3);
      fill_random(w, 4);
      const Vector expected = w.deep_copy();
      update(Scalar(-1), whole[0], s_there, Scalar(1), expected);
      gram_schmidt_sweep(v, &s, w, static_cast<const SmallMatrix<Scalar>*>(nullptr), kernels::Triangle::general);
      if (v.size() == 1) {
        EXPECT_EQ(sweep_words(v, w, {.subtracts = true}), m + 2 * b);
      }
      const auto mine = testing::local_copy(w), theirs = testing::local_copy(expected);
      for (std::size_t i = 0; i < mine.size(); ++i) {
        for (std::size_t j = 0; j < b; ++j) {
          ASSERT_LE(std::abs(mine[i][j] - theirs[i][j]), 4 * testing::gamma<Scalar>(m + 2 * b + 6));
        }
      }
    }
  }
}

/// Two ranks, the other of which does what this one does. They keep the stream busy when they have met: copies that are
/// ordered there after that come late.
class LateTwins final : public CommunicatorBackend {
 public:
  explicit LateTwins(cudaStream_t stream) : stream_(stream) {}
  std::string name() const override { return "twins"; }
  int rank() const override { return 0; }
  int size() const override { return 2; }
  int local_size() const override { return 2; }
  bool same_ranks(const CommunicatorBackend& other) const override { return this == &other; }
  void meet(Envelope& envelope) override {
    const Envelope other = envelope;
    envelope.merge(other);
    const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(50)); };
    EXPECT_EQ(cudaLaunchHostFunc(stream_, sleep, nullptr), cudaSuccess);
  }
  void all_reduce(void*, std::size_t, WireType, Reduction) override { ADD_FAILURE() << "more than one message"; }
  void broadcast(void*, std::size_t, int) override {}
  void exchange(std::span<const Message>, std::span<const Message>) override {}

 private:
  cudaStream_t stream_;
};

// Staging memory is reused from one reduction to the next: the host must not write it while copies out of it are under
// way.
TYPED_TEST(DeviceTest, ReductionsInARowKeepTheirResults) {
  using Vector = typename TypeParam::Vector;
  using Small = typename TypeParam::Small;
  using Products = InnerProducts<typename TypeParam::Scalar, typename TypeParam::Layout, Device>;
  constexpr std::int64_t m = 5, b = 3;
  const Stream stream;
  const Context context(Communicator(std::make_shared<LateTwins>(stream.get())), 1,
                        {.cuda = Kokkos::Cuda(stream.get())});
  const auto rows = RowDistribution::uniform(2000, context.communicator());
  const Vector v(context, rows, m, "V"), first(context, rows, b, "first"), second(context, rows, b, "second");
  fill_random(v, 1);
  fill_random(first, 2);
  fill_random(second, 3);
  struct Results {
    explicit Results(const Context& where) : s(where, m, b), high(where, b, b), low(where, b, b), dots(where, 1, b) {}
    Small s, high, low, dots;
  };
  const auto reduce = [&](const Vector& w, const Results& to) {
    inner_product_dd(w, w, {to.high, to.low});
    Products(context).add(v, w, to.s).add_dd(w, w, {to.high, to.low}).reduce();
    column_dots(w, w, to.dots);
  };
  const Results waited_first(context), waited_second(context), in_a_row_first(context), in_a_row_second(context);
  reduce(first, waited_first);
  context.fence<Device>();
  reduce(second, waited_second);
  context.fence<Device>();
  reduce(first, in_a_row_first);
  reduce(second, in_a_row_second);
  context.fence<Device>();
  const auto expect_equal = [](const Small& mine, const Small& expected) {
    const auto x = mine.to_host(), y = expected.to_host();
    for (std::size_t j = 0; j < x.extent(1); ++j) {
      for (std::size_t i = 0; i < x.extent(0); ++i) ASSERT_EQ(x(i, j), y(i, j)) << i << ", " << j;
    }
  };
  const auto expect_same = [&](const Results& mine, const Results& expected) {
    expect_equal(mine.s, expected.s);
    expect_equal(mine.high, expected.high);
    expect_equal(mine.low, expected.low);
    expect_equal(mine.dots, expected.dots);
  };
  expect_same(in_a_row_first, waited_first);
  expect_same(in_a_row_second, waited_second);
}

TEST(Device, CopiesBetweenSpacesKeepLayoutAndGaps) {
  const Context context = Context::world(1);
  const auto rows = RowDistribution::uniform(101, context.communicator());
  const BlockVector<double, ColumnMajor> host(context, rows, 20, "host");
  fill_random(host, 7);
  const auto device = host.converted_to_space<Device>("device");
  EXPECT_EQ(device.describe(), "device (101 x 20) (double, column-major, " +
                                   std::to_string(context.communicator().size()) +
                                   (context.communicator().size() == 1 ? " rank)" : " ranks)"));
  const BlockVector<double, ColumnMajor> back(context, rows, 20, "back");
  copy(device.columns(3, 17), back.columns(3, 17));
  for (std::int64_t i = 0; i < back.local_rows(); ++i) {
    for (std::int64_t j = 0; j < 20; ++j) ASSERT_EQ(back.view()(i, j), j < 3 || j >= 17 ? 0.0 : host.view()(i, j));
  }
}

// The host goes on as soon as the word is there, and finds out where it will never come.
TEST(Device, AwaitsAWord) {
  const Context context = Context::self(1);
  const KeptMemory<StagingSpaceOf<Device>> memory(context, 2 * sizeof(unsigned));
  auto* const words = reinterpret_cast<unsigned*>(memory.data());
  words[0] = 0;
  words[1] = 1;
  const std::int64_t waits = context.waits();
  EXPECT_THROW(context.await<Device>(words), kernels::CudaError);
  EXPECT_EQ(context.waits(), waits + 1);
  const SmallMatrix<float, Device> there(context, 1, 1);
  detail::copy_lines<Device>(context, words + 1, sizeof(unsigned), there.data(), sizeof(unsigned), sizeof(unsigned), 1);
  detail::copy_lines<Device>(context, there.data(), sizeof(unsigned), words, sizeof(unsigned), sizeof(unsigned), 1);
  context.await<Device>(words);
  EXPECT_EQ(words[0], 1U);
}

TEST(Device, TheReportTimesWhatTheDeviceDid) {
  const Context context = Context::self(1);
  const BlockVector<double, RowMajor, Device> v(context, RowDistribution::uniform(1 << 23, context.communicator()), 16,
                                                "V");
  fill_random(v, 1);
  const SmallMatrix<double, Device> c(context, 16, 16);
  inner_product(v, v, c);
  context.profile().start();
  inner_product(v, v, c);
  context.profile().stop();
  const auto records = context.profile().records();
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].calls, 1);
  EXPECT_TRUE(records[0].on_device);
  EXPECT_GT(context.bandwidth<Device>().read, context.bandwidth().read) << "the device's memory, not the host's";
  EXPECT_LE(records[0].bytes / records[0].seconds, 2 * context.bandwidth<Device>().read) << "not only the launch";
  testing::expect_parts(context.report(), {"inner_product", "rank 0 of 1", "%"});
}

}  // namespace
}  // namespace blockvec
