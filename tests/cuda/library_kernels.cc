// See library_kernels.h.
#include "tests/cuda/library_kernels.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "backends/cpu/target.h"
#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/gpu/gpus.h"
#include "backends/cuda/gpu/memory.h"
#include "backends/cuda/gpu/queue.h"

namespace dp_test {

static const dp_target &Target() {
  static const dp_target target = [] {
    dp_target t{};
    t.name = "cuda";
    t.kernels = dp_cuda_library_kernels;
    return t;
  }();
  return target;
}

Ready::Ready(const Case &of) : built(std::make_unique<Built>(of)) {
  if (!built->error.empty()) return;
  for (size_t i = 0; i < built->operands.size(); i++)
    in.push_back(built->operands[i] ? DrawOperand(of, int(i), *built->operands[i]->type, built->n) : Tensor());
  for (int i = 0; i < built->node->n_outputs; i++)
    out.push_back(built->node->outputs[i] ? MakeWhole(*built->node->outputs[i]->type, built->n) : Tensor());
}

// A problem as a case lives as long as the problem and the sample.
static Case CaseOf(const Problem &p, dp_sample *sample) {
  *sample = {};
  sample->inputs = p.inputs.c_str();
  sample->attrs = p.attrs.c_str();
  sample->n = p.n;
  return {dp_op_find(p.domain.c_str(), p.op.c_str()), sample, 0, false};
}

Ready Draw(const Problem &p) {
  dp_sample sample;
  return Ready(CaseOf(p, &sample));
}

Spec::Spec(const dp_node *of, const std::vector<Tensor> &in, const std::vector<Tensor> &out)
    : dp_kernel_spec(), operands(DP_MAX_OPERANDS), made(DP_MAX_OPERANDS) {
  op = of->op;
  node = of;
  threads = 1;
  n_inputs = of->n_inputs;
  n_outputs = of->n_outputs;
  for (int i = 0; i < n_inputs; i++)
    if (of->inputs[i]) operands[size_t(i)] = {in[size_t(i)].dtype, true, in[size_t(i)].local, DP_LAYOUT_PLAIN};
  for (int i = 0; i < n_outputs; i++)
    if (of->outputs[i]) made[size_t(i)] = {out[size_t(i)].dtype, true, out[size_t(i)].local, DP_LAYOUT_PLAIN};
  inputs = operands.data();
  outputs = made.data();
}

void Spec::SetLayouts(const std::function<bool()> &channels_last) {
  for (auto *list : {&operands, &made})
    for (dp_kernel_operand &o : *list)
      if (o.present && o.local.rank == 4) o.layout = channels_last() ? DP_LAYOUT_NHWC : DP_LAYOUT_PLAIN;
}

bool HasChannelsLast(const Spec &spec) {
  const auto lies = [](const dp_kernel_operand &o) { return o.layout == DP_LAYOUT_NHWC; };
  return std::any_of(spec.operands.begin(), spec.operands.end(), lies) ||
         std::any_of(spec.made.begin(), spec.made.end(), lies);
}

static bool Takes(const dp_kernel *kernel, const Spec &spec) {
  return dp_kernel_takes(kernel, &spec) && (!kernel->match || kernel->match(&spec));
}

size_t &TensorOffset() {
  static size_t bytes;
  return bytes;
}

// ---- the device ---------------------------------------------------------------------------------------------------

namespace {

// Takes an operand's bytes from the order of a plain tensor to its layout's, or back.
std::vector<uint8_t> Laid(const dp_kernel_operand &operand, const std::vector<uint8_t> &bytes, bool back) {
  if (operand.layout == DP_LAYOUT_PLAIN) return bytes;
  const int64_t *extents = operand.local.extents, channels = extents[1], plane = extents[2] * extents[3];
  const size_t each = dp_type_bytes(operand.dtype);
  std::vector<uint8_t> moved(bytes.size());
  for (int64_t n = 0, plain = 0; n < extents[0]; n++)
    for (int64_t c = 0; c < channels; c++)
      for (int64_t i = 0; i < plane; i++, plain++) {
        const size_t a = size_t(plain) * each, b = size_t((n * plane + i) * channels + c) * each;
        std::memcpy(&moved[back ? a : b], &bytes[back ? b : a], each);
      }
  return moved;
}

constexpr char kGuard[] = "nothing writes behind what it was given";

// Memory of the device, `before` bytes behind a multiple of 256, with a guard behind it. An absent tensor has none.
class Room {
 public:
  Room(size_t bytes, size_t before, bool present, std::string *error) : bytes_(bytes), before_(before), error_(error) {
    if (!present) return;
    data_ = static_cast<char *>(dp_cuda_allocate({false, 0}, before_ + bytes + sizeof kGuard, 256));
    if (!data_) *error += "no memory; ";
    if (data_) data_ += before_;
    if (data_) Take(dp_cuda_upload(0, data_ + bytes, kGuard, sizeof kGuard));
  }
  ~Room() {
    dp_cu.cuCtxSynchronize();  // copies may be under way, if waiting for them has failed
    if (data_) dp_cuda_release({false, 0}, data_ - before_, before_ + bytes_ + sizeof kGuard);
  }
  Room(const Room &) = delete;
  Room &operator=(const Room &) = delete;

  void *Data() const { return data_; }
  void Write(const void *from) {
    if (data_ && bytes_) Take(dp_cuda_upload(0, data_, from, bytes_));
  }
  void Read(void *to) {
    if (data_ && bytes_) Take(dp_cuda_download(0, to, data_, bytes_));
  }
  void CheckGuard(const char *what) {
    if (!data_) return;
    char found[sizeof kGuard] = {};
    Take(dp_cuda_download(0, found, data_ + bytes_, sizeof found));
    if (std::memcmp(found, kGuard, sizeof found)) *error_ += std::string("wrote behind ") + what + "; ";
  }

 private:
  void Take(dp_status status) {
    *error_ += dp_status_message(status);
    dp_status_free(status);
  }
  size_t bytes_, before_;
  std::string *error_;
  char *data_ = nullptr;
};

// A step on the device: operands, results and scratch there, and the kernel's state.
class Step {
 public:
  Step(const dp_kernel *kernel, const dp_kernel_spec &spec, const std::vector<Tensor> &in,
       const std::vector<Tensor> &out, const std::vector<Over> &over)
      : kernel_(kernel),
        spec_(spec),
        in_(in),
        over_(over),
        scratch_(kernel->scratch_bytes ? kernel->scratch_bytes(&spec) : 0, 0, true, &error) {
    for (size_t i = 0; i < in.size(); i++) {
      rooms_.push_back(std::make_unique<Room>(in[i].bytes.size(), TensorOffset(), spec.inputs[i].present, &error));
      rooms_.back()->Write(Laid(spec.inputs[i], in[i].bytes, false).data());
      from_.push_back(rooms_.back()->Data());
    }
    for (size_t i = 0; i < out.size(); i++) {
      rooms_.push_back(std::make_unique<Room>(out[i].bytes.size(), TensorOffset(), spec.outputs[i].present, &error));
      places_.push_back(rooms_.size() - 1);
    }
    for (const Over &o : over) places_[size_t(o.result)] = size_t(o.operand);
    for (size_t place : places_) to_.push_back(rooms_[place]->Data());
    Take(dp_cuda_queue_create(0, false, &queue_));
    if (kernel->prepare && error.empty()) Take(kernel->prepare(&spec, &state_));
    if (error.empty()) Take(dp_cuda_functions_load());
  }
  ~Step() {
    dp_cu.cuCtxSynchronize();
    if (queue_) dp_cuda_queue_destroy(queue_);
    if (kernel_->release) kernel_->release(state_);
  }
  Step(const Step &) = delete;
  Step &operator=(const Step &) = delete;

  // Fills the results with NaN, runs, reads the results.
  void Run(std::vector<Tensor> *out) {
    for (size_t i = 0; i < out->size(); i++)
      rooms_[places_[i]]->Write(std::vector<uint8_t>((*out)[i].bytes.size(), 0xff).data());
    for (const Over &o : over_) {
      const size_t i = size_t(o.operand);
      rooms_[i]->Write(Laid(spec_.inputs[i], in_[i].bytes, false).data());
    }
    int instruction;
    if (error.empty() && kernel_->settle && !settled_) Take(kernel_->settle(&spec_, state_, from_.data(), to_.data()));
    settled_ = true;
    if (error.empty()) Take(kernel_->enqueue(&spec_, state_, queue_, from_.data(), to_.data(), scratch_.Data()));
    if (queue_) Take(dp_cuda_queue_finish(queue_, &instruction));
    for (size_t i = 0; i < out->size(); i++) {
      std::vector<uint8_t> &bytes = (*out)[i].bytes;
      rooms_[places_[i]]->Read(bytes.data());
      bytes = Laid(spec_.outputs[i], bytes, true);
    }
    for (auto &room : rooms_) room->CheckGuard("a tensor");
    scratch_.CheckGuard("its scratch");
  }

  std::string error;

 private:
  void Take(dp_status status) {
    error += dp_status_message(status);
    dp_status_free(status);
  }
  const dp_kernel *kernel_;
  const dp_kernel_spec &spec_;
  const std::vector<Tensor> &in_;
  const std::vector<Over> over_;
  Room scratch_;
  std::vector<std::unique_ptr<Room>> rooms_;
  std::vector<size_t> places_;  // of results, in rooms_
  std::vector<const void *> from_;
  std::vector<void *> to_;
  dp_queue *queue_ = nullptr;
  void *state_ = nullptr;
  bool settled_ = false;
};

}  // namespace

std::string OpenDevice() {
  static bool attached;
  dp_status status = attached ? DP_OK : dp_cuda_gpus_choose("0");
  if (!status && !attached) status = dp_cuda_gpus_attach(1);
  attached |= !status;
  if (!status) status = dp_cuda_gpu_use_for(0);
  std::string error = dp_status_message(status);
  dp_status_free(status);
  return error;
}

Outcome RunKernel(const dp_kernel *kernel, const dp_kernel_spec &spec, const std::vector<Tensor> &in,
                  std::vector<Tensor> out, const std::vector<Over> &over) {
  std::string error = OpenDevice();
  if (!error.empty()) return {error, {}};
  Step step(kernel, spec, in, out, over);
  step.Run(&out);
  std::vector<Tensor> again = out;
  if (step.error.empty()) step.Run(&again);
  for (size_t i = 0; i < out.size() && step.error.empty(); i++)
    if (out[i].bytes != again[i].bytes) step.error = "two runs differ";
  return {step.error, out};
}

Outcome RunKernel(const dp_kernel *kernel, const dp_kernel_spec &spec, const std::vector<Tensor> &in,
                  std::vector<Tensor> out, int replaced) {
  const std::vector<Over> over(replaced >= 0 ? 1 : 0, {int(out.size()) - 1, replaced});
  return RunKernel(kernel, spec, in, std::move(out), over);
}

Outcome RunCuda(const std::string &name, const dp_node *node, const std::vector<Tensor> &in, std::vector<Tensor> out,
                bool channels_last) {
  Spec spec(node, in, out);
  if (channels_last) spec.SetLayouts([] { return true; });
  const dp_kernel *kernel =
      name.empty() ? dp_kernel_select(&Target(), &spec, false) : dp_kernel_find(&Target(), name.c_str());
  if (!kernel) return {"there is no kernel " + name, {}};
  if (!Takes(kernel, spec)) return {kernel->name + std::string(" does not match"), {}};
  return RunKernel(kernel, spec, in, std::move(out));
}

Outcome RunReference(const dp_node *node, const std::vector<Tensor> &in, std::vector<Tensor> out) {
  std::vector<const Tensor *> from;
  std::vector<Tensor *> to;
  for (size_t i = 0; i < in.size(); i++) from.push_back(node->inputs[i] ? &in[i] : nullptr);
  for (size_t i = 0; i < out.size(); i++) to.push_back(node->outputs[i] ? &out[i] : nullptr);
  std::string error = RunNode(dp_target_cpu, node, from, to);
  return {error, out};
}

bool IsHalf(dp_dtype dtype) { return dtype == DP_FLOAT16 || dtype == DP_BFLOAT16; }

HalfTally &Halves() {
  static HalfTally tally;
  return tally;
}

// The place of a float of 16 bits among all of them in order: neighbours differ by 1, and 0 and -0 are one.
static int OrderOf(const Tensor &t, int64_t i) {
  uint16_t bits;
  std::memcpy(&bits, &t.bytes[size_t(i) * sizeof bits], sizeof bits);
  return bits & 0x8000 ? -(bits & 0x7fff) : bits;
}

// The same, or for few elements the next number: float32 sums in another order fall on the other side of a half. What
// cancels out has the error of float32.
static void ExpectSameHalves(const Tensor &expected, const Tensor &found) {
  double largest = 0;
  for (double x : Numbers(expected))
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  for (int64_t i = 0; i < expected.Count(); i++) {
    const double a = expected.Get(i), b = found.Get(i);
    Halves().elements++;
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    Halves().others++;
    if (std::fabs(a - b) <= 1e-6 * largest) continue;
    ASSERT_LE(std::abs(OrderOf(expected, i) - OrderOf(found, i)), 1) << "element " << i << ": " << a << " " << b;
  }
}

// On a GPU, a NaN may become another one.
static void ExpectSameBits(const Tensor &expected, const Tensor &found) {
  if (IsStandin() || !dp_type_is_float(expected.dtype)) {
    EXPECT_EQ(expected.bytes, found.bytes);
    return;
  }
  const size_t each = dp_type_bytes(expected.dtype);
  for (int64_t i = 0; i < expected.Count(); i++) {
    if (std::isnan(expected.Get(i)) && std::isnan(found.Get(i))) continue;
    ASSERT_EQ(std::memcmp(&expected.bytes[size_t(i) * each], &found.bytes[size_t(i) * each], each), 0)
        << "element " << i << ": " << expected.Get(i) << " " << found.Get(i);
  }
}

void ExpectSame(const Tensor &expected, const Tensor &found, bool exact) {
  if (exact || !dp_type_is_float(expected.dtype)) {
    ExpectSameBits(expected, found);
    return;
  }
  if (IsHalf(expected.dtype)) {
    ExpectSameHalves(expected, found);
    return;
  }
  double scale = 1e-30;
  for (double x : Numbers(expected))
    if (std::isfinite(x)) scale = std::max(scale, std::fabs(x));
  const double unit = (expected.dtype == DP_FLOAT64 ? 1e-12 : 1e-5) * scale;
  for (int64_t i = 0; i < expected.Count(); i++) {
    const double a = expected.Get(i), b = found.Get(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    ASSERT_NEAR(a, b, unit) << "element " << i;
  }
}

// The next number, or the error of float32 sums where what they add cancels out. rounded: a number around 1 that was
// rounded by itself before.
static void ExpectCloseHalves(const Tensor &expected, const Tensor &found, double longest_sum, bool rounded) {
  const double ulp = expected.dtype == DP_FLOAT16 ? 0x1p-10 : 0x1p-7;
  for (int64_t i = 0; i < expected.Count(); i++) {
    const double a = expected.Get(i), b = found.Get(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    Halves().elements++;
    Halves().others += a != b;
    ASSERT_NEAR(a, b, ulp * (std::fabs(a) + (rounded ? 1 : 0)) + 1e-5 * std::sqrt(longest_sum)) << "element " << i;
  }
}

static void ExpectClose(const Tensor &expected, const Tensor &found, double longest_sum, bool rounded) {
  ASSERT_EQ(expected.Count(), found.Count());
  if (IsHalf(expected.dtype)) {
    ExpectCloseHalves(expected, found, longest_sum, rounded);
    return;
  }
  const double unit = expected.dtype == DP_FLOAT64 ? 1e-13 : expected.dtype == DP_FLOAT32 ? 1e-5 : 0;
  for (int64_t i = 0; i < expected.Count(); i++) {
    const double a = expected.Get(i), b = found.Get(i);
    if (std::isnan(a) && std::isnan(b)) continue;
    ASSERT_NEAR(a, b, unit * std::sqrt(longest_sum)) << "element " << i;
  }
}

static void Compare(const Ready &ready, double longest_sum, const std::string &name, bool channels_last) {
  ASSERT_EQ(ready.built->error, "");
  Outcome expected = RunReference(ready.built->node, ready.in, ready.out);
  ASSERT_EQ(expected.error, "");
  Outcome found = RunCuda(name, ready.built->node, ready.in, ready.out, channels_last);
  ASSERT_EQ(found.error, "");
  // A bias is added to what cuDNN has rounded.
  const bool rounded = name == "cuda.cudnn.Conv" && ready.in.size() > 2;
  for (size_t i = 0; i < found.results.size(); i++)
    ExpectClose(expected.results[i], found.results[i], longest_sum, rounded);
}

void Check(const Problem &p, const std::string &name, bool channels_last) {
  SCOPED_TRACE(p.Print() + " " + name + (channels_last ? " in NHWC" : ""));
  Compare(Draw(p), p.longest_sum, name, channels_last);
}

void CheckSamples(const std::string &op, const std::string &domain, const std::string &name) {
  const dp_kernel *kernel = dp_kernel_find(&Target(), name.c_str());
  ASSERT_NE(kernel, nullptr) << name;
  std::set<dp_dtype> types, channels_last;
  for (const std::vector<Case> &cases : {AllCases(true), TypeCases()})
    for (const Case &c : cases) {
      if (c.op->name != op || c.op->domain != domain) continue;
      SCOPED_TRACE(c.Name() + " " + c.Heading());
      const Ready ready(c);
      ASSERT_EQ(ready.built->error, "");
      Spec spec(ready.built->node, ready.in, ready.out);
      if (!Takes(kernel, spec)) continue;
      Compare(ready, 300, name, false);
      types.insert(ready.out[0].dtype);
      spec.SetLayouts([] { return true; });
      if (!HasChannelsLast(spec) || !Takes(kernel, spec)) continue;
      Compare(ready, 300, name, true);
      channels_last.insert(ready.out[0].dtype);
    }
  for (dp_dtype dtype : {DP_FLOAT32, DP_FLOAT64, DP_FLOAT16, DP_BFLOAT16})
    EXPECT_TRUE(types.count(dtype)) << "no sample was run in " << dp_type_name(dtype);
  for (dp_dtype dtype : {DP_FLOAT16, DP_BFLOAT16})
    EXPECT_EQ(channels_last.count(dtype), kernel->channels_last ? 1u : 0u) << "in NHWC in " << dp_type_name(dtype);
}

std::string Selected(const Problem &p) {
  const Ready ready = Draw(p);
  const Spec spec(ready.built->node, ready.in, ready.out);
  const dp_kernel *kernel = dp_kernel_select(&Target(), &spec, false);
  return kernel ? kernel->name : "";
}

template <typename T>
static void Find(const char *name, T *function) {
  *function = reinterpret_cast<T>(dlsym(RTLD_DEFAULT, name));
  EXPECT_NE(*function, nullptr) << name;
}

Standin::Standin() {
  EXPECT_EQ(OpenDevice(), "");
  Find("dp_standin_reset", &reset);
  Find("dp_standin_count", &count);
  Find("dp_standin_fail", &fail);
  Find("dp_standin_seed", &seed);
}

std::string List(const std::vector<int64_t> &numbers) {
  std::string text = "[";
  for (size_t i = 0; i < numbers.size(); i++) text += (i ? "," : "") + std::to_string(numbers[i]);
  return text + "]";
}

std::string Shape(const std::string &first, const std::vector<int64_t> &rest) {
  std::string text = "[" + first;
  for (int64_t extent : rest) text += "," + std::to_string(extent);
  return text + "]";
}

}  // namespace dp_test
