#include "blockvec/entries.hpp"

#include <blockvec/operations.hpp>

#include "tests/support/naive.hpp"

namespace blockvec {
namespace {

template <class C>
class EntriesTest : public ::testing::Test {};
TYPED_TEST_SUITE(EntriesTest, testing::CasesIn<Kokkos::HostSpace>, testing::CaseName);

template <class Scalar>
struct Generated {
  KOKKOS_FUNCTION Scalar operator()(Position at) const {
    return Scalar(static_cast<RealOf<Scalar>>(3 * at.row + 100000 * at.column + 1));
  }
};
template <class Scalar>
struct Halved {
  KOKKOS_FUNCTION Scalar operator()(const Scalar& x) const { return x * Scalar(0.5); }
};
template <class Scalar>
struct Weighted {
  KOKKOS_FUNCTION Scalar operator()(Position at, const Scalar& x) const {
    return x * Scalar(static_cast<RealOf<Scalar>>(at.row + 2 * at.column));
  }
};
template <class Scalar>
struct Difference {
  KOKKOS_FUNCTION Scalar operator()(const Scalar& x, const Scalar& y) const { return x - y; }
};

// What a device runs, here on the host: each entry once, those outside keep their values, in packs and entry by entry.
TYPED_TEST(EntriesTest, AssignmentsInPacksAgreeWithLoops) {
  using Scalar = typename TypeParam::Scalar;
  using Layout = typename TypeParam::Layout;
  using Vector = typename TypeParam::Vector;
  const Context context = Context::self(1);
  for (const std::int64_t k : {1, 3, 64, 127, 5001}) {
    const auto rows = RowDistribution::uniform(k, context.communicator());
    for (const std::int64_t width : {1, 2, 3, 4, 8, 56}) {
      if (k * width > 16000) continue;
      for (const std::int64_t before : {0, 1, 4, 8}) {
        const std::int64_t all = before == 0 ? width : width + before + 4;
        const Vector loops(context, rows, all, "loops"), packs(context, rows, all, "packs"), other(context, rows, all);
        fill_random(other, 1);
        const auto part = [&](const Vector& v) { return v.columns(before, before + width); };
        const auto check = [&]<bool reads_other>(auto function) {
          using Assignment = detail::Assignment<decltype(function), Scalar, Layout, reads_other>;
          const auto assignment = [&](const Vector& v) {
            return Assignment{function, entries(part(v)), entries(part(reads_other ? other : v))};
          };
          detail::assign_on_host(context, k, width, assignment(loops));
          detail::assign_on_device<Kokkos::HostSpace>(context, k, width, assignment(packs));
          context.fence<Kokkos::HostSpace>();
          bool same = true;
          for (std::int64_t i = 0; i < k; ++i) {
            for (std::int64_t j = 0; j < all; ++j) same = same && packs.view()(i, j) == loops.view()(i, j);
          }
          ASSERT_TRUE(same) << k << " x " << width << ", " << before;
        };
        check.template operator()<false>(Generated<Scalar>{});
        check.template operator()<true>(Difference<Scalar>{});
        check.template operator()<false>(Halved<Scalar>{});
        check.template operator()<false>(Weighted<Scalar>{});
        check.template operator()<true>(Halved<Scalar>{});
        check.template operator()<false>(Constant<Scalar>{Scalar(7)});
      }
    }
  }
}

}  // namespace
}  // namespace blockvec
