#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/operations.hpp>
#include <blockvec/scalar.hpp>
#include <type_traits>

/// @file
/// Block vectors in single precision beside those in double precision.
namespace blockvec {

/// The scalar in single precision: float or Complex<float>.
template <class Scalar>
using SingleOf = std::conditional_t<ScalarTraits<Scalar>::is_complex, Complex<float>, float>;

/// The block vectors of these scalars: same layout, same memory space.
template <class Vector>
using InSingle = BlockVector<SingleOf<typename Vector::Scalar>, typename Vector::Layout, typename Vector::Space>;

/// W = V, rounded where W's scalars are the shorter ones: float and double, or the complex numbers of these. What lies
/// beyond the largest float becomes Inf, what lies below the smallest one 0. One pass, K m words of either scalar; no
/// allocation, no host synchronisation. Throws ShapeError naming both where their widths or rows differ.
template <class From, class To, class Layout, class Space>
void convert(const BlockVector<From, Layout, Space>& v, const BlockVector<To, Layout, Space>& w);

/// Both are of one precision: this is copy().
template <class Scalar, class Layout, class Space>
void convert(const BlockVector<Scalar, Layout, Space>& v, const BlockVector<Scalar, Layout, Space>& w) {
  copy(v, w);
}

}  // namespace blockvec
