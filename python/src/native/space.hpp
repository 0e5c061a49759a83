#pragma once

#include <blockvec/block_vector.hpp>
#include <blockvec/small_matrix.hpp>

namespace blockvec::python {

/// The memory that this module works in. The same sources make _host, and with a BlockVec for CUDA also _device.
#ifdef BLOCKVEC_PYTHON_DEVICE
using Space = Kokkos::CudaSpace;
#else
using Space = Kokkos::HostSpace;
#endif

template <class Scalar, class Layout>
using Tall = BlockVector<Scalar, Layout, Space>;
template <class Scalar>
using Small = SmallMatrix<Scalar, Space>;

}  // namespace blockvec::python
