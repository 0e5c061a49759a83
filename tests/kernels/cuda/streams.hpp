#pragma once

#include "tests/kernels/cuda/device.hpp"

/// Streams of their own, and calls captured on them.
namespace blockvec::kernels::test {

/// A stream that waits for no other one; fills and copies that are under way when it is made have ended.
class Stream {
 public:
  Stream() {
    expect_success(cudaDeviceSynchronize());
    expect_success(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }  // NOLINT(google-explicit-constructor)
  void wait() const { expect_success(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

/// What `call(stream)` does, in a CUDA graph.
class Captured {
 public:
  template <class Call>
  Captured(const Stream& stream, Call&& call) : stream_(stream) {
    expect_success(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    call(stream);
    expect_success(cudaStreamEndCapture(stream, &graph_));
    expect_success(cudaGraphInstantiate(&ready_, graph_, 0));
  }
  ~Captured() {
    cudaGraphExecDestroy(ready_);
    cudaGraphDestroy(graph_);
  }
  Captured(const Captured&) = delete;
  Captured& operator=(const Captured&) = delete;

  cudaGraph_t graph() const { return graph_; }
  void replay() const {
    expect_success(cudaGraphLaunch(ready_, stream_));
    stream_.wait();
  }

 private:
  const Stream& stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t ready_ = nullptr;
};

}  // namespace blockvec::kernels::test
