#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blockvec {

/// The operations that a Context can record.
enum class Operation {
  inner_product,
  update,
  multiply_in_place,
  gram_schmidt_sweep,
  column_dots,
  scale,
  axpby,
  copy,
  fill,
  fill_random,
  reduction,
  user_operator,
  count_
};
/// "inner_product" ...: the enumerator, for people.
std::string_view operation_name(Operation operation);

/// Calls, seconds, bytes of tall data and flops of one operation on this rank, on the host or on its device.
struct OperationRecord {
  std::string_view name;   ///< of the operation
  bool on_device = false;  ///< where it ran
  std::int64_t calls = 0;  ///< of the operation
  double seconds = 0;      ///< of all calls together
  double bytes = 0;        ///< of tall data, read and written
  double flops = 0;        ///< useful ones, of real numbers
};

/// Attainable bandwidth of a memory, in bytes a second.
struct MachineBandwidth {
  double read = 0;  ///< sum over a long array
  double copy = 0;  ///< read one long array, write another: bytes read plus bytes written
};
/// That of this machine with a number of threads. Measures for about 0.2 s with 2 x 128 MiB.
MachineBandwidth measure_bandwidth(int threads);

/// What was done and how long it took. Off until started, then two clock reads a call.
class Profile {
 public:
  /// Records from here on.
  void start() { enabled_ = true; }
  /// Records nothing from here on; what was recorded stays.
  void stop() { enabled_ = false; }
  /// Whether operations are being recorded.
  bool enabled() const { return enabled_; }
  /// Forgets what was recorded.
  void clear();
  /// One more call, unless it is off.
  void add(Operation operation, bool on_device, double seconds, double bytes, double flops);
  /// Only operations that were called; those on a device last.
  std::vector<OperationRecord> records() const;

  /// Measures an operation from construction to destruction.
  class Timer {
   public:
    /// Begins to measure. Costs nothing while the profile is off.
    Timer(Profile& profile, Operation operation, double bytes, double flops, bool on_device = false);
    /// Adds what it measured to the profile.
    ~Timer();
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

   private:
    Profile* profile_;
    Operation operation_;
    bool on_device_;
    double bytes_;
    double flops_;
    std::chrono::steady_clock::time_point begin_;
  };

 private:
  bool enabled_ = false;
  OperationRecord records_[2][static_cast<int>(Operation::count_)];
};

}  // namespace blockvec
