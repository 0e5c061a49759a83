#include <blockvec/context.hpp>
#include <memory>
#include <utility>

#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

TEST(Workspace, GivesAlignedPiecesThatDoNotOverlap) {
  const Context context = Context::self(1);
  WorkspaceScope scope(context);
  std::vector<std::pair<char*, std::size_t>> pieces;
  for (const std::size_t bytes : {1, 127, 128, 129, 100000, 3}) {
    char* const piece = scope.take<char>(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % 128, 0u);
    std::fill_n(piece, bytes, static_cast<char>(pieces.size()));
    pieces.emplace_back(piece, bytes);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t j = 0; j < pieces[i].second; ++j) ASSERT_EQ(pieces[i].first[j], static_cast<char>(i));
  }
}

TEST(Workspace, AsksTheSystemOnlyWhileTheHighWaterMarkRises) {
  const Context context = Context::self(1);
  const Workspace<>& workspace = context.workspace();
  const auto turn = [&](std::size_t most) {
    WorkspaceScope outer(context);
    outer.take<double>(100);
    for (std::size_t n = 1; n <= most; n *= 10) {
      WorkspaceScope inner(context);
      double* const values = inner.take<double>(n);
      values[n - 1] = 1;
    }
  };
  turn(1000000);
  turn(1000000);
  const std::int64_t warm = workspace.allocations();
  for (int i = 0; i < 10; ++i) turn(1000000);
  turn(10);
  EXPECT_EQ(workspace.allocations(), warm);
  EXPECT_GE(workspace.high_water(), 1000100 * sizeof(double));
  EXPECT_GE(workspace.capacity(), workspace.high_water());
}

TEST(Workspace, TheEndOfTheOutermostScopeJoinsThePieces) {
  const Context context = Context::self(1);
  const Workspace<>& workspace = context.workspace();
  std::int64_t pieces = 0;
  std::size_t whole = 0;
  {
    WorkspaceScope scope(context);
    for (std::size_t n = 100000; n <= 400000; n += 100000) scope.take<double>(n);
    pieces = workspace.allocations();
    whole = workspace.capacity();
  }
  EXPECT_GT(pieces, 1);
  EXPECT_EQ(workspace.allocations(), pieces + 1);
  EXPECT_EQ(workspace.capacity(), whole);
  WorkspaceScope scope(context);
  scope.take<double>(1000000);
  EXPECT_EQ(workspace.allocations(), pieces + 1);
}

TEST(Workspace, KeepsWhatAnOuterScopeHolds) {
  const Context context = Context::self(1);
  WorkspaceScope outer(context);
  double* const kept = outer.take<double>(10);
  std::fill_n(kept, 10, 2.5);
  for (int i = 0; i < 3; ++i) {
    WorkspaceScope inner(context);
    std::fill_n(inner.take<double>(200000), 200000, 0.0);
  }
  for (int i = 0; i < 10; ++i) EXPECT_EQ(kept[i], 2.5);
}

TEST(Workspace, KeptMemoryIsGivenBackInAnyOrder) {
  const Context context = Context::self(1);
  const Workspace<>& workspace = context.workspace();
  auto first = std::make_unique<KeptMemory<>>(context, 5000);
  KeptMemory<> second(context, 5000);
  std::byte* const of_first = first->data();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(of_first) % 128, 0u);
  std::fill_n(second.data(), 5000, std::byte{7});
  first.reset();
  KeptMemory<> third(context, 4500);
  EXPECT_EQ(third.data(), of_first);
  std::fill_n(third.data(), 4500, std::byte{1});
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(second.data()[i], std::byte{7});
  const std::byte* const of_second = second.data();
  KeptMemory<> moved(std::move(second));
  EXPECT_FALSE(second);
  EXPECT_EQ(moved.data(), of_second);
  third = std::move(moved);  // what it held is free again
  const std::int64_t warm = workspace.allocations();
  EXPECT_EQ(KeptMemory<>(context, 6000).data(), of_first);
  for (int i = 0; i < 10; ++i) KeptMemory<>(context, 1);
  EXPECT_EQ(workspace.allocations(), warm);
  const KeptMemory<> large(context, 100000);
  EXPECT_EQ(workspace.allocations(), warm + 1);
  EXPECT_EQ(workspace.capacity(), 0u);
}

TEST(Workspace, NamesTheBytesThatItCannotGet) {
  const Context context = Context::self(1);
  WorkspaceScope scope(context);
  const std::size_t bytes = std::size_t{1} << 50;
  testing::expect_parts(testing::message_of<OutOfMemoryError>([&] { scope.take<char>(bytes); }),
                        {"BlockVec::Workspace", std::to_string(bytes + 128).c_str()});
}

}  // namespace
}  // namespace blockvec
