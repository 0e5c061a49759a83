#pragma once

#include <gtest/gtest.h>

#include <blockvec/blockvec.hpp>
#include <cstdint>
#include <string>
#include <type_traits>

/// The types that tests run over, and what they need to look at data wherever it lies.
namespace blockvec::testing {

template <class Scalar_, class Layout_, class Space_ = DefaultSpace>
struct Case {
  using Scalar = Scalar_;
  using Layout = Layout_;
  using Space = Space_;
  using Vector = BlockVector<Scalar, Layout, Space>;
  using Small = SmallMatrix<Scalar, Space>;
  using RealSmall = SmallMatrix<RealOf<Scalar>, Space>;
};

template <class... Lists>
struct Joined;
template <class... Cases>
struct Joined<::testing::Types<Cases...>> {
  using type = ::testing::Types<Cases...>;
};
template <class... Cases, class... Others, class... Lists>
struct Joined<::testing::Types<Cases...>, ::testing::Types<Others...>, Lists...>
    : Joined<::testing::Types<Cases..., Others...>, Lists...> {};

template <class Space>
using CasesIn = ::testing::Types<Case<float, RowMajor, Space>, Case<float, ColumnMajor, Space>,
                                 Case<double, RowMajor, Space>, Case<double, ColumnMajor, Space>,
                                 Case<Complex<float>, RowMajor, Space>, Case<Complex<float>, ColumnMajor, Space>,
                                 Case<Complex<double>, RowMajor, Space>, Case<Complex<double>, ColumnMajor, Space>>;

/// A list of cases in every memory space of this build.
#if BLOCKVEC_HAVE_CUDA_SPACE
template <template <class> class List>
using InEverySpace = typename Joined<List<Kokkos::HostSpace>, List<Kokkos::CudaSpace>>::type;
#else
template <template <class> class List>
using InEverySpace = List<Kokkos::HostSpace>;
#endif

/// Every scalar type and layout in every memory space.
using AllCases = InEverySpace<CasesIn>;

struct CaseName {
  template <class C>
  static std::string GetName(int) {
    std::string name(scalar_name<typename C::Scalar>());
    for (char& letter : name) {
      if (letter == '<' || letter == '>') letter = '_';
    }
    name += std::is_same_v<typename C::Layout, RowMajor> ? "row" : "column";
    return is_host_space<typename C::Space> ? name : name + "_cuda";
  }
};

/// The block vector itself where it lies on the host, else a copy of it there.
template <class Scalar, class Layout, class Space>
BlockVector<Scalar, Layout> on_host(const BlockVector<Scalar, Layout, Space>& v) {
  if constexpr (is_host_space<Space>) {
    return v;
  } else {
    return v.template converted_to_space<Kokkos::HostSpace>();
  }
}

/// A small matrix of these entries in the case's memory space.
template <class C>
typename C::Small small_matrix(const Context& context, const HostMatrix<typename C::Scalar>& values) {
  const typename C::Small c(context, static_cast<std::int64_t>(values.extent(0)),
                            static_cast<std::int64_t>(values.extent(1)));
  c.from_host(values);
  return c;
}

/// Sets one entry.
template <class Scalar, class Layout, class Space>
void put(const BlockVector<Scalar, Layout, Space>& v, std::int64_t row, std::int64_t column, Scalar value) {
  const auto host = on_host(v);
  host.view()(row, column) = value;
  copy(host, v);
}
template <class Scalar, class Space>
void put(const SmallMatrix<Scalar, Space>& a, std::int64_t row, std::int64_t column, Scalar value) {
  const HostMatrix<Scalar> entry("entry", 1, 1);
  entry(0, 0) = value;
  a.block(row, row + 1, column, column + 1).from_host(entry);
}

}  // namespace blockvec::testing
