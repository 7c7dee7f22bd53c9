// What share of the GPU's peak each kernel reaches. A program for tools/gpu_check:
//
//   kernels_speed [--small] [KERNEL...]
//
// A line for each case of speed_cases.h: what its operands and results take (dp_op_cost), over its time, beside a copy
// of the driver's; or of products, convolutions and attention the flops, beside the largest product in its type.
// KERNEL: those alone whose name begins so. --small: of few elements, for a stand-in.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "backends/cuda/backend.h"
#include "backends/cuda/gpu/function.h"
#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/gpu/gpus.h"
#include "backends/cuda/target.h"
#include "tests/cuda/speed_cases.h"

namespace dp_test {
namespace {

constexpr int64_t kDrawn = 1 << 16;  // elements of an operand that are drawn; they repeat
constexpr double kBatchMs = 2;
constexpr int kBatches = 5;
const dp_queue_calls *const kCalls = dp_backend_cuda.queues;

// "" for success. Frees the status.
std::string Message(dp_status status) {
  const std::string message = dp_status_message(status);
  dp_status_free(status);
  return message;
}

void Must(const std::string &message) {
  if (message.empty()) return;
  fprintf(stderr, "kernels_speed: %s\n", message.c_str());
  exit(1);
}

// Memory of the device.
class Room {
 public:
  explicit Room(uint64_t bytes) : bytes_(bytes) {
    if (bytes_) data_ = static_cast<char *>(dp_backend_cuda.allocate({false, 0}, bytes_, 256));
  }
  Room(Room &&other) noexcept : bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}
  ~Room() {
    if (data_) dp_backend_cuda.release({false, 0}, data_, bytes_);
  }
  Room(const Room &) = delete;
  Room &operator=(const Room &) = delete;
  bool Missing() const { return bytes_ && !data_; }
  char *Data() const { return data_; }
  // The bytes, over and over.
  std::string Fill(const std::vector<uint8_t> &bytes, void *stream) {
    if (!bytes_) return "";
    std::string error = Message(dp_backend_cuda.upload(0, data_, bytes.data(), std::min<size_t>(bytes.size(), bytes_)));
    for (uint64_t done = bytes.size(); done < bytes_ && error.empty(); done *= 2)
      error = Message(dp_cuda_check(
          dp_cu.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(data_) + done, reinterpret_cast<CUdeviceptr>(data_),
                              std::min(done, bytes_ - done), static_cast<CUstream>(stream)),
          "filling an operand"));
    return error;
  }

 private:
  uint64_t bytes_;
  char *data_ = nullptr;
};

// Measures what is put on one queue.
class Clock {
 public:
  // most_launches: of a batch.
  explicit Clock(int most_launches) : most_launches_(most_launches) {
    Must(Message(kCalls->create(0, true, &queue_)));
    Must(Message(kCalls->event_create(0, true, &begin_)));
    Must(Message(kCalls->event_create(0, true, &end_)));
  }
  ~Clock() {
    kCalls->event_destroy(begin_);
    kCalls->event_destroy(end_);
    kCalls->destroy(queue_);
  }
  dp_queue *Queue() const { return queue_; }

  // Us of one `issue`, the median of batches of so many that the launches themselves do not count; the first one warms
  // up.
  template <typename Issue>
  std::string Measure(Issue issue, double *us) {
    double once = 0;
    std::vector<double> times;
    std::string error = Batch(issue, 1, us);
    if (error.empty()) error = Batch(issue, 1, &once);
    const int launches = std::min(most_launches_, static_cast<int>(1 + kBatchMs * 1e3 / std::max(once, 1.0)));
    for (int i = 0; i < kBatches && error.empty(); i++) {
      error = Batch(issue, launches, us);
      times.push_back(*us);
    }
    if (!error.empty()) return error;
    std::sort(times.begin(), times.end());
    *us = times[times.size() / 2];
    return "";
  }

 private:
  template <typename Issue>
  std::string Batch(Issue issue, int launches, double *us) {
    double ns = 0;
    int by;
    kCalls->begin(queue_, 0);
    std::string error = Message(kCalls->signal(queue_, begin_));
    for (int i = 0; i < launches && error.empty(); i++) error = Message(issue());
    if (error.empty()) error = Message(kCalls->signal(queue_, end_));
    const std::string late = Message(kCalls->finish(queue_, &by));
    if (error.empty()) error = late;
    if (error.empty()) error = Message(kCalls->elapsed(begin_, end_, &ns));
    *us = std::max(ns * 1e-3, 1e-3) / launches;
    return error;
  }

  int most_launches_;
  dp_queue *queue_ = nullptr;
  dp_event *begin_ = nullptr, *end_ = nullptr;
};

// A case in one type, prepared.
class Prepared {
 public:
  Prepared(const SpeedCase &c, bool half)
      : case_(c),
        sample_{case_.inputs.c_str(), case_.attrs.c_str(), case_.n, case_.low, case_.high, false},
        of_{OperatorOf(c.kernel), &sample_, 0, false, half ? DP_FLOAT32 : DP_NO_TYPE, half ? DP_BFLOAT16 : DP_NO_TYPE},
        kernel_(dp_kernel_find(&dp_target_cuda, c.kernel.c_str())) {
    if (!of_.op) error_ = "there is no such kernel";
    if (error_.empty()) built_ = std::make_unique<Built>(of_);
    if (error_.empty()) error_ = built_->error;
    if (!error_.empty()) return;
    spec_ = std::make_unique<SpeedSpec>(built_->node, case_.n, case_.results);
    if (!dp_kernel_takes(kernel_, spec_.get()) || (kernel_->match && !kernel_->match(spec_.get())))
      error_ = "it does not take this case";
    else if (kernel_->prepare)
      error_ = Message(kernel_->prepare(spec_.get(), &state_));
  }
  ~Prepared() {
    if (kernel_ && kernel_->release && state_) kernel_->release(state_);
  }
  Prepared(const Prepared &) = delete;
  Prepared &operator=(const Prepared &) = delete;

  bool IsOfProducts() const { return case_.flops > 0; }
  dp_dtype Type() const { return spec_->n_inputs ? spec_->inputs[0].dtype : spec_->outputs[0].dtype; }
  // Of the work, in units of 1e9.
  double Work() const {
    const dp_cost cost = dp_op_cost(built_->node, case_.n);
    return 1e-9 * (IsOfProducts() ? case_.flops * cost.flops : cost.bytes);
  }
  std::string Measure(Clock *clock, double *us) {
    std::vector<Room> rooms;
    const void *from[DP_MAX_OPERANDS] = {};
    void *to[DP_MAX_OPERANDS] = {};
    std::string error = error_;
    for (int i = 0; error.empty() && i < spec_->n_inputs; i++) {
      error = Add(&rooms, spec_->inputs[i]);
      if (error.empty() && spec_->inputs[i].present)
        error = rooms.back().Fill(DrawBytes(i), dp_cuda_queue_stream(clock->Queue()));
      from[i] = rooms.back().Data();
    }
    for (int i = 0; error.empty() && i < spec_->n_outputs; i++) {
      error = Add(&rooms, spec_->outputs[i]);
      to[i] = rooms.back().Data();
    }
    if (!error.empty()) return error;
    rooms.emplace_back(kernel_->scratch_bytes ? kernel_->scratch_bytes(spec_.get()) : 0);
    if (rooms.back().Missing()) return "no memory for its scratch";
    void *const scratch = rooms.back().Data();
    if (kernel_->settle) error = Message(kernel_->settle(spec_.get(), state_, from, to));
    if (!error.empty()) return error;
    return clock->Measure([&] { return kernel_->enqueue(spec_.get(), state_, clock->Queue(), from, to, scratch); }, us);
  }
  // "cuda.device.Gather float32[9,4] int64[5] {axis=0}"
  std::string Print() const {
    std::string text = case_.kernel;
    if (spec_)
      for (int i = 0; i < (spec_->n_inputs ? spec_->n_inputs : spec_->n_outputs); i++) {
        const dp_kernel_operand &operand = spec_->n_inputs ? spec_->inputs[i] : spec_->outputs[i];
        if (!operand.present) continue;
        text += std::string(" ") + dp_type_name(operand.dtype) + "[";
        for (int d = 0; d < operand.local.rank; d++) text += (d ? "," : "") + std::to_string(operand.local.extents[d]);
        text += "]";
      }
    return case_.attrs.empty() ? text : text + " {" + case_.attrs + "}";
  }

 private:
  static std::string Add(std::vector<Room> *rooms, const dp_kernel_operand &operand) {
    const auto count = static_cast<uint64_t>(operand.present ? dp_local_count(&operand.local) : 0);
    rooms->emplace_back(count * dp_type_bytes(operand.dtype));
    return rooms->back().Missing() ? "no memory for its tensors" : "";
  }
  std::vector<uint8_t> DrawBytes(int operand) const {
    dp_type type = *built_->operands[static_cast<size_t>(operand)]->type;
    type.shape.rank = 1;
    type.shape.dims[0] = dp_dim_of(std::min(kDrawn, dp_local_count(&spec_->inputs[operand].local)));
    return DrawOperand(of_, operand, type, case_.n).bytes;
  }

  SpeedCase case_;
  dp_sample sample_;
  Case of_;
  const dp_kernel *kernel_;
  std::unique_ptr<Built> built_;
  std::unique_ptr<SpeedSpec> spec_;
  void *state_ = nullptr;
  std::string error_;
};

// GB/s of the driver's copies, read and written.
double CopySpeed(Clock *clock, uint64_t bytes) {
  Room from(bytes), to(bytes);
  double us;
  Must(from.Missing() || to.Missing() ? "no memory for a copy" : "");
  Must(from.Fill({1, 2, 3, 4}, dp_cuda_queue_stream(clock->Queue())));
  Must(clock->Measure(
      [&] {
        return dp_cuda_check(
            dp_cu.cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(to.Data()), reinterpret_cast<CUdeviceptr>(from.Data()),
                                bytes, static_cast<CUstream>(dp_cuda_queue_stream(clock->Queue()))),
            "copying");
      },
      &us));
  const double gbs = 2e-3 * static_cast<double>(bytes) / us;
  printf("a copy of %.1f MiB: %.1f us, %.1f GB/s\n", static_cast<double>(bytes) / (1 << 20), us, gbs);
  return gbs;
}

class Table {
 public:
  Table(bool small, const std::vector<std::string> &asked) : small_(small) {
    for (const SpeedCase &c : SpeedCases(small)) {
      bool wanted = asked.empty();
      for (const std::string &name : asked) wanted |= c.kernel.compare(0, name.size(), name) == 0;
      for (bool half : {false, true})
        if (wanted && (!half || c.half)) cases_.push_back(std::make_unique<Prepared>(c, half));
    }
    for (dp_dtype dtype : {DP_FLOAT32, DP_BFLOAT16})
      peaks_.push_back(std::make_unique<Prepared>(PeakCase(dtype, small), false));
    Must(Message(dp_cuda_functions_load()));
  }

  // Whether all were measured.
  bool Run() {
    Clock clock(small_ ? 1 : 50);
    const double copy_gbs = CopySpeed(&clock, small_ ? 1 << 16 : 512 << 20);
    std::map<dp_dtype, double> tflops;
    bool all = true;
    for (const auto &p : peaks_) {
      double us;
      const std::string error = p->Measure(&clock, &us);
      all &= Report(*p, error, us, "TFLOP/s", "");
      if (error.empty()) tflops[p->Type()] = 1e3 * p->Work() / us;
    }
    for (auto &p : cases_) {
      double us = 1;
      const std::string error = p->Measure(&clock, &us);
      const bool products = p->IsOfProducts();
      const double peak = !error.empty() ? 0 : products ? tflops[p->Type()] : copy_gbs;
      char share[64] = "";
      if (peak > 0)
        snprintf(share, sizeof share, ", %.0f %% of %s", 100 * Rate(*p, us) / peak,
                 products ? "the largest product's" : "a copy's");
      all &= Report(*p, error, us, products ? "TFLOP/s" : "GB/s", share);
      p.reset();
    }
    return all;
  }

 private:
  static double Rate(const Prepared &p, double us) { return p.Work() / us * (p.IsOfProducts() ? 1e3 : 1e6); }
  static bool Report(const Prepared &p, const std::string &error, double us, const char *unit, const char *share) {
    if (error.empty())
      printf("%s: %.1f us, %.1f %s%s\n", p.Print().c_str(), us, Rate(p, us), unit, share);
    else
      printf("%s: failed: %s\n", p.Print().c_str(), error.c_str());
    return error.empty();
  }

  bool small_;
  std::vector<std::unique_ptr<Prepared>> cases_, peaks_;
};

}  // namespace
}  // namespace dp_test

int main(int argc, char **argv) {
  bool small = false;
  std::vector<std::string> asked;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--small")) {
      small = true;
    } else if (argv[i][0] == '-') {
      fprintf(stderr, "usage: kernels_speed [--small] [KERNEL...], like cuda.device.Gather cuda.reduce\n");
      return 64;
    } else {
      asked.push_back(argv[i]);
    }
  }
  setvbuf(stdout, nullptr, _IOLBF, 0);
  dp_test::Must(dp_test::Message(dp_cuda_gpus_choose("0")));
  dp_test::Must(dp_test::Message(dp_backend_cuda.attach(1)));
  dp_test::Must(dp_test::Message(dp_cuda_gpu_use_for(0)));
  const bool all = dp_test::Table(small, asked).Run();
  dp_backend_cuda.detach();
  return all ? 0 : 1;
}
