// A run that is stopped and goes on from its checkpoint, against one that is not: bit for bit. And what is refused.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <blockvec/solvers/lanczos.hpp>
#include <blockvec/solvers/sparse_operator.hpp>
#include <csignal>
#include <fstream>
#include <iterator>

#include "problems/anderson.hpp"
#include "problems/graphene.hpp"
#include "problems/laplacian.hpp"
#include "tests/solvers/same_bits.hpp"

namespace blockvec::solvers {
namespace {

using namespace examples;

LanczosOptions with(std::int64_t wanted, std::int64_t block, int filter = LanczosOptions::automatic_filter) {
  LanczosOptions options;
  options.wanted = wanted;
  options.block = block;
  options.filter_degree = filter;
  return options;
}

template <class Scalar, class Layout = ColumnMajor>
Result<BlockVector<Scalar, Layout>> solve(const RowSource<Scalar>& source, const LanczosOptions& options,
                                          std::int64_t blocks = 0) {
  const auto context = Context::world(1);
  const auto rows = RowDistribution::uniform(source.size(), context.communicator());
  SparseOperator<Scalar> a(context, rows, source);
  return block_lanczos<BlockVector<Scalar, Layout>>({a}, options, stopping_after(blocks));
}

/// Stopped once, after blocks near the begin, near the end and in between; and again and again.
template <class Layout, class Scalar>
void expect_continues(const RowSource<Scalar>& source, LanczosOptions options) {
  SCOPED_TRACE(testing::Message() << source.describe() << ", filter " << options.filter_degree << ", block "
                                  << options.block);
  const SharedFolder folder;
  const auto expected = solve<Scalar, Layout>(source, options);
  const auto blocks = std::ssize(expected.history);
  options.checkpoint.file = folder.file("run.ckp");
  const std::int64_t stride = 1 + blocks / 6;
  for (std::int64_t last = 1; last < blocks; last += stride) {
    SCOPED_TRACE(testing::Message() << "stopped after block " << last << " of " << blocks);
    LanczosOptions goes_on = options;
    const auto part = solve<Scalar, Layout>(source, options, last);
    if (part.converged()) {  // the restart before the next block has found what was missing
      expect_same_bits(part, expected);
      continue;
    }
    ASSERT_EQ(part.why, stopped_by_observer);
    goes_on.checkpoint.file.clear();
    goes_on.checkpoint.restart = options.checkpoint.file;
    expect_same_bits(solve<Scalar, Layout>(source, goes_on), expected);
  }
  LanczosOptions part = options;
  for (std::int64_t parts = 0;; ++parts) {
    ASSERT_LE(parts, blocks);
    const auto result = solve<Scalar, Layout>(source, part, stride + 1);
    part.checkpoint.restart = options.checkpoint.file;
    if (result.status == Status::stopped) continue;
    expect_same_bits(result, expected);
    break;
  }
}

TEST(Checkpoint, GoesOnWithTheSameBits) {
  expect_continues<RowMajor>(Laplacian({9, 9, 9}), with(7, 3, 0));
  expect_continues<ColumnMajor>(Laplacian({9, 9, 9}), with(7, 3));
  expect_continues<ColumnMajor>(Anderson({7, 8, 6}, 12, 5), with(5, 2, 0));
  const Graphene<Complex<double>> sheet({12, 10}, 1, 6);
  expect_continues<RowMajor>(sheet, with(4, 2));
  expect_continues<ColumnMajor>(sheet, with(4, 3, 0));
}

// Multiplicities beyond the block: several searches, checks, surplus pairs.
TEST(Checkpoint, GoesOnInLaterSearches) {
  expect_continues<ColumnMajor>(Laplacian({9, 9, 9}), with(11, 1));
  expect_continues<RowMajor>(Anderson({8, 8, 8}, 0, 1), with(9, 1, 7));
}

// The lowest level has more copies than the basis has columns: the filter comes late, if at all.
TEST(Checkpoint, GoesOnWithinACrowdedLevel) {
  expect_continues<ColumnMajor>(Graphene<Complex<double>>({16, 16}, 1, 8), with(3, 1));
}

// Few rows: blocks that become narrower, and the whole space.
TEST(Checkpoint, GoesOnWhereHardlyAnyRowsAreLeft) {
  expect_continues<ColumnMajor>(Laplacian({13}), with(13, 3));
  expect_continues<RowMajor>(Laplacian({3, 3, 3}), with(27, 2));
}

// Sketches and random columns come from a counter of draws.
TEST(Checkpoint, GoesOnWithRandomMethods) {
  LanczosOptions options = with(5, 3, 0);
  options.orth = orth::parse_options("bcgs2/rand-cholqr");
  expect_continues<ColumnMajor>(Laplacian({9, 9, 9}), options);
  options = with(8, 4, 0);
  options.checkpoint.seconds = 0;  // also where nobody stops it
  expect_continues<ColumnMajor>(Anderson({2, 4, 3}, 0, 1), options);
}

// ---- what is refused

std::vector<char> read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes));
}

/// A run that was stopped, and what may be changed before it goes on.
class Refusal : public testing::Test {
 protected:
  Refusal() {
    options_.checkpoint.file = path_;
    options_.checkpoint.matrix = "the small grid";
    EXPECT_EQ(solve<double>(grid_, options_, 2).why, stopped_by_observer);
    options_.checkpoint.file.clear();
    options_.checkpoint.restart = path_;
    world_.barrier();
    bytes_ = read(path_);
    world_.barrier();
  }

  /// What comes after the name of the file.
  template <class Layout = ColumnMajor, class Scalar = double>
  std::string message(const RowSource<Scalar>& source, const LanczosOptions& options) {
    try {
      (void)solve<Scalar, Layout>(source, options);
    } catch (const InputError& error) {
      const std::string text = error.what();
      const std::string begin = path_ + ": no checkpoint to go on from: ";
      EXPECT_EQ(text.substr(0, begin.size()), begin);
      const std::string rank = world_.size() > 1 ? " (rank 0)" : "";
      EXPECT_TRUE(text.ends_with(rank)) << text;
      return text.substr(begin.size(), text.size() - begin.size() - rank.size());
    }
    return "no error";
  }
  /// The message with which a restart from a file with these bytes is refused.
  std::string message(const std::vector<char>& bytes) {
    if (is_first_) write(path_, bytes);
    world_.barrier();
    return message(grid_, options_);
  }
  std::string of_another_run(const std::string& difference) {
    return "it is of another run (the small grid): " + difference;
  }

  Communicator world_ = Communicator::world();
  bool is_first_ = world_.rank() == 0;
  SharedFolder folder_;
  std::string path_ = folder_.file("run.ckp");
  Laplacian grid_{{12, 11}};
  LanczosOptions options_ = with(3, 2, 0);
  std::vector<char> bytes_;
};

TEST_F(Refusal, NotForWhatFits) { EXPECT_EQ(message(grid_, options_), "no error"); }

TEST_F(Refusal, OtherOptions) {
  const auto changed = [&](auto&& change) {
    LanczosOptions options = options_;
    change(options);
    return message(grid_, options);
  };
  EXPECT_EQ(changed([](auto& o) { o.tolerance = 1e-6; }), of_another_run("tolerance is 1e-08 there and 1e-06 here"));
  EXPECT_EQ(changed([](auto& o) { o.seed = 2; }), of_another_run("seed is 1 there and 2 here"));
  EXPECT_EQ(changed([](auto& o) { o.filter_degree = 3; }), of_another_run("filter is 0 there and 3 here"));
  EXPECT_EQ(changed([](auto& o) { o.which = Which::largest; }),
            of_another_run("end of the spectrum is smallest there and largest here"));
  EXPECT_EQ(changed([](auto& o) { o.basis = 40; }), of_another_run("basis is 30 there and 40 here"));
  EXPECT_EQ(changed([](auto& o) {
              o.wanted = 4;
              o.basis = 30;
            }),
            of_another_run("number of eigenpairs is 3 there and 4 here"));
  EXPECT_EQ(changed([](auto& o) {
              o.block = 3;
              o.basis = 30;
            }),
            of_another_run("block is 2 there and 3 here"));
  EXPECT_EQ(changed([](auto& o) {
              o.orth = orth::parse_options("pip/cholqr2");
            }).substr(0, of_another_run("orthogonalisation is pipi+/cholqr2").size()),
            of_another_run("orthogonalisation is pipi+/cholqr2"));
  // What does not steer the bits may change: the end of the run, the name of the matrix.
  EXPECT_EQ(changed([](auto& o) {
              o.max_restarts = 1000;
              o.checkpoint.matrix = "the same grid";
            }),
            "no error");
}

TEST_F(Refusal, OtherMatrices) {
  EXPECT_NE(message(Laplacian({11, 11}), options_).find("number of rows is 132 there and 121 here"), std::string::npos);
  const std::string begin = of_another_run("product of the matrix with a vector is ");
  EXPECT_EQ(message(Laplacian({11, 12}), options_).substr(0, begin.size()), begin);
  EXPECT_NE(message<RowMajor>(grid_, options_).find("layout is column-major there and row-major here"),
            std::string::npos);
  EXPECT_NE(message<ColumnMajor>(Graphene<Complex<double>>({11, 6}), options_)
                .find("scalar type is double there and complex<double> here"),
            std::string::npos);
}

TEST_F(Refusal, OtherRanks) {
  if (world_.size() == 1) GTEST_SKIP() << "needs ranks";
  // Each rank alone, with a message of its own; the file is only read.
  SparseOperator<double> a(Context::self(1), RowDistribution::uniform(132, Communicator::self()), grid_);
  try {
    (void)block_lanczos<BlockVector<double, ColumnMajor>>({a}, options_);
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    const std::string ranks = std::to_string(world_.size());
    EXPECT_NE(std::string(error.what()).find("number of ranks is " + ranks + " there and 1 here"), std::string::npos)
        << error.what();
  }
  // As many ranks, other rows.
  std::vector<std::int64_t> counts(static_cast<std::size_t>(world_.size()), 0);
  counts.back() = 132;
  const auto context = Context::world(1);
  SparseOperator<double> b(context, RowDistribution::from_rows(counts, context.communicator()), grid_);
  EXPECT_THROW(((void)block_lanczos<BlockVector<double, ColumnMajor>>({b}, options_)), InputError);
}

TEST_F(Refusal, CutOff) {
  const std::vector<std::size_t> lengths{0, 5, 8, 20, 60, 200, 700, bytes_.size() / 2, bytes_.size() - 1};
  for (const std::size_t length : lengths) {
    std::vector<char> bytes = bytes_;
    bytes.resize(length);
    EXPECT_EQ(message(bytes), length == 0 ? "it is empty" : "it is cut off") << length;
  }
  std::vector<char> longer = bytes_;
  longer.push_back(0);
  EXPECT_EQ(message(longer), "it is damaged: something follows its end");
}

TEST_F(Refusal, FlippedBits) {
  constexpr int flips = 60;
  for (int flip = 0; flip < flips; ++flip) {
    std::vector<char> bytes = bytes_;
    // In the first bytes one by one, then everywhere.
    const std::size_t at =
        flip < 32 ? static_cast<std::size_t>(flip) : bytes.size() * static_cast<std::size_t>(flip) / flips;
    bytes[at] = static_cast<char>(bytes[at] ^ 1 << flip % 8);
    EXPECT_EQ(message(bytes).substr(0, 2), "it") << "byte " << at;
  }
}

TEST_F(Refusal, OtherFiles) {
  const std::string text = "%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 1\n";
  EXPECT_EQ(message({text.begin(), text.end()}), "it is no checkpoint");
  std::vector<char> newer = bytes_;
  newer[8] = 2;
  EXPECT_EQ(message(newer), "its format is version 2, and this program reads 1");
  std::vector<char> swapped = bytes_;
  std::reverse(swapped.begin() + 12, swapped.begin() + 16);
  EXPECT_EQ(message(swapped), "it was written by a machine with another byte order");

  options_.checkpoint.restart = folder_.file("missing.ckp");
  try {
    (void)solve<double>(grid_, options_);
    FAIL() << "nothing was thrown";
  } catch (const InputError& error) {
    const std::string begin = options_.checkpoint.restart + ": cannot be read: No such file or directory";
    EXPECT_EQ(std::string(error.what()).substr(0, begin.size()), begin);
  }
}

// ---- faults

TEST_F(Refusal, AFileThatCannotBeWrittenIsKnownBefore) {
  const auto cause = [&](const std::string& path) {
    options_.checkpoint.file = path;
    options_.checkpoint.restart.clear();
    try {
      (void)solve<double>(grid_, options_);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string missing = folder_.file("missing/run.ckp");
  EXPECT_NE(cause(missing).find(missing + ": the checkpoint cannot be written: No such file or directory"),
            std::string::npos);
  EXPECT_NE(cause(folder_.file("")).find("it is no regular file"), std::string::npos);
}

// The disk is full in the midst of a checkpoint: the one before stays, and the run ends with what it has found.
TEST_F(Refusal, AFullDiskLeavesTheOldCheckpoint) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto limit = [&](std::size_t bytes) {
    rlimit now = old;
    now.rlim_cur = bytes;
    if (is_first_) {
      EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &now), 0);
    }
  };
  for (const std::size_t room : {std::size_t{0}, std::size_t{100}, bytes_.size() / 2, bytes_.size()}) {
    LanczosOptions options = options_;
    options.checkpoint.file = path_;
    options.checkpoint.seconds = 0;
    limit(room);
    const auto result = solve<double>(grid_, options);
    limit(static_cast<std::size_t>(old.rlim_cur));
    EXPECT_FALSE(result.converged());
    EXPECT_EQ(result.why.substr(0, path_.size()), path_);
    EXPECT_NE(result.why.find("the checkpoint cannot be written: File too large"), std::string::npos) << result.why;
    EXPECT_EQ(result.eigenvalues.size(), 3U);
    world_.barrier();
    if (is_first_) {
      EXPECT_EQ(read(path_), bytes_);
      EXPECT_EQ(folder_.files(), 1U);
    }
    world_.barrier();
  }
  expect_same_bits(solve<double>(grid_, options_), [&] {
    LanczosOptions unbroken = options_;
    unbroken.checkpoint = {};
    return solve<double>(grid_, unbroken);
  }());
}

}  // namespace
}  // namespace blockvec::solvers
