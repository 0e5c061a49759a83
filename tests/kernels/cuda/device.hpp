#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <blockvec/kernels/cuda.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "tests/kernels/support/guarded_matrix.hpp"

/// Device memory for tests, and copies of guarded matrices in it.
namespace blockvec::kernels::test {

/// Throws where a call failed; the failure that it leaves says in what product.
inline void expect_success(cudaError_t error) {
  if (error == cudaSuccess) return;
  ADD_FAILURE() << cudaGetErrorString(error);
  throw std::runtime_error(cudaGetErrorString(error));
}

inline bool has_device() {
  int count = 0;
  const bool found = cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
  if (!found) cudaGetLastError();
  return found;
}

/// Tests that need a device say so where there is none.
class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no CUDA device";
  }
};

class DeviceMemory {
 public:
  explicit DeviceMemory(std::size_t bytes, unsigned char fill = 0x7f) : bytes_(bytes) {
    expect_success(cudaMalloc(&data_, bytes == 0 ? 1 : bytes));
    expect_success(cudaMemset(data_, fill, bytes));
  }
  ~DeviceMemory() { cudaFree(data_); }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::span<std::byte> bytes() const { return {as<std::byte>(), bytes_}; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

/// A ticket for calls of tsmm, which must leave it at zero.
class Ticket {
 public:
  unsigned* get() const { return memory_.as<unsigned>(); }
  void expect_zero() const {
    unsigned value = 1;
    expect_success(cudaMemcpy(&value, get(), sizeof value, cudaMemcpyDeviceToHost));
    EXPECT_EQ(value, 0U);
  }

 private:
  DeviceMemory memory_{sizeof(unsigned), 0};
};

/// A guarded matrix whose memory, guards included, has a copy on the device.
template <class T>
class OnDeviceMatrix {
 public:
  explicit OnDeviceMatrix(GuardedMatrix<T>& host) : host_(host), memory_(host.memory().size() * sizeof(T)) {
    upload();
    view_ = host.view();
    view_.data = reinterpret_cast<T*>(memory_.as<std::byte>() + host.byte_offset());
  }
  const Matrix<T>& view() const { return view_; }
  void upload() {
    expect_success(
        cudaMemcpy(memory_.as<T>(), host_.memory().data(), host_.memory().size() * sizeof(T), cudaMemcpyHostToDevice));
  }
  void download() {
    expect_success(
        cudaMemcpy(host_.memory().data(), memory_.as<T>(), host_.memory().size() * sizeof(T), cudaMemcpyDeviceToHost));
  }

 private:
  GuardedMatrix<T>& host_;
  DeviceMemory memory_;
  Matrix<T> view_;
};

}  // namespace blockvec::kernels::test
