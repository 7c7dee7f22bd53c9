// Runs a kernel of the CPU by its name, and compares it with the reference kernel of its operator. The scratch is what
// the kernel asks for, with a guard behind it. Whatever is less exact is allowed: kernels are named.
#ifndef DP_TESTS_BACKENDS_LIBRARY_CHECK_H
#define DP_TESTS_BACKENDS_LIBRARY_CHECK_H

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/target.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {

struct Outcome {
  std::string error;
  std::vector<Tensor> results;
};

// A spec with the operands that it points at.
struct Spec : dp_kernel_spec {
  std::vector<dp_kernel_operand> operands, made;

  Spec(const dp_node *of, const std::vector<Tensor> &in, const std::vector<Tensor> &out, int n_threads)
      : dp_kernel_spec(), operands(DP_MAX_OPERANDS), made(DP_MAX_OPERANDS) {
    op = of->op;
    node = of;
    threads = n_threads;
    n_inputs = of->n_inputs;
    n_outputs = of->n_outputs;
    for (int i = 0; i < n_inputs; i++)
      if (of->inputs[i]) operands[size_t(i)] = {in[size_t(i)].dtype, true, in[size_t(i)].local, DP_LAYOUT_PLAIN};
    for (int i = 0; i < n_outputs; i++)
      if (of->outputs[i]) made[size_t(i)] = {out[size_t(i)].dtype, true, out[size_t(i)].local, DP_LAYOUT_PLAIN};
    inputs = operands.data();
    outputs = made.data();
  }
  Spec(const Spec &) = delete;
  Spec &operator=(const Spec &) = delete;
};

constexpr size_t kGuard = 64;

// Where the kernel takes an operand packed, packs it, runs it, and expects the results that are in `out`, bit for bit.
// The plain operand is not there then.
inline dp_status RunPacked(const dp_kernel &kernel, const Spec &plain, const void *const *in,
                           const std::vector<Tensor> &out, void *scratch) {
  const uint64_t bytes = kernel.packed_bytes ? kernel.packed_bytes(&plain) : 0;
  if (!bytes) return DP_OK;
  dp_kernel_spec spec = plain;
  spec.packed = true;
  EXPECT_LE(kernel.scratch_bytes(&spec), kernel.scratch_bytes(&plain));
  std::vector<uint8_t> room(bytes + kGuard + 64, 0xff), made(out[0].bytes.size(), 0xff);
  auto *packed = reinterpret_cast<uint8_t *>(dp_align_up(reinterpret_cast<uintptr_t>(room.data()), 64));
  std::vector<const void *> from(in, in + DP_MAX_OPERANDS);
  void *to[] = {made.data()}, *state = nullptr;
  dp_status status = kernel.prepare ? kernel.prepare(&spec, &state) : DP_OK;
  if (!status) status = kernel.pack(&spec, state, in[kernel.packs], packed, scratch);
  from[size_t(kernel.packs)] = packed;
  const int parts = kernel.parts ? spec.threads : 1;
  for (int times = 0; !status && times < 2; times++) {
    std::fill(static_cast<uint8_t *>(scratch), static_cast<uint8_t *>(scratch) + kernel.scratch_bytes(&spec),
              uint8_t(0xff));
    for (int part = 0; !status && part < parts; part++)
      status = kernel.run(&spec, state, from.data(), to, scratch, part, parts);
  }
  if (kernel.release) kernel.release(state);
  EXPECT_TRUE(status || made == out[0].bytes) << kernel.name << ", packed";
  for (size_t i = 0; i < kGuard; i++) EXPECT_EQ(packed[bytes + i], 0xff) << "it packs more than it asks for";
  return status;
}

// Runs a kernel by name in `scratch_bytes` bytes of scratch (0: what the kernel asks for), followed by a guard.
inline Outcome RunKernel(const std::string &name, const dp_node *node, const std::vector<Tensor> &in,
                         std::vector<Tensor> out, int threads = 1, uint64_t scratch_bytes = 0) {
  Spec spec(node, in, out, threads);
  spec.winograd = true;
  const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, name.c_str());
  if (!kernel) return {"no kernel " + name, {}};
  uint64_t bytes = kernel->scratch_bytes ? kernel->scratch_bytes(&spec) : 0;
  if (scratch_bytes && bytes > scratch_bytes) return {"asks for more scratch than was declared", {}};
  if (!scratch_bytes) scratch_bytes = bytes;
  std::vector<uint8_t> room(scratch_bytes + kGuard + 64, 0xa5);
  auto *scratch = reinterpret_cast<uint8_t *>(dp_align_up(reinterpret_cast<uintptr_t>(room.data()), 64));
  std::fill(scratch, scratch + scratch_bytes, uint8_t(0xff));  // NaN, so that what is read before it is written shows
  const void *from[DP_MAX_OPERANDS] = {};
  void *to[DP_MAX_OPERANDS] = {};
  for (size_t i = 0; i < in.size(); i++) from[i] = in[i].bytes.data();
  for (size_t i = 0; i < out.size(); i++) {
    std::fill(out[i].bytes.begin(), out[i].bytes.end(),
              uint8_t(0xff));  // NaN, so that elements that are not written show
    to[i] = out[i].bytes.data();
  }
  void *state = nullptr;
  dp_status status = kernel->prepare ? kernel->prepare(&spec, &state) : DP_OK;
  int parts = kernel->parts ? threads : 1;
  for (int part = 0; !status && part < parts; part++)
    status = kernel->run(&spec, state, from, to, scratch, part, parts);
  // A prepared state serves many runs, between which others use the scratch.
  std::fill(scratch, scratch + scratch_bytes, uint8_t(0xff));
  for (int part = 0; !status && part < parts; part++)
    status = kernel->run(&spec, state, from, to, scratch, part, parts);
  if (kernel->release) kernel->release(state);
  if (!status) status = RunPacked(*kernel, spec, from, out, scratch);
  std::string error = dp_status_message(status);
  dp_status_free(status);
  for (size_t i = 0; i < kGuard; i++)
    if (scratch[scratch_bytes + i] != 0xa5) error += " wrote behind its scratch";
  return {error, out};
}

struct Problem {
  std::string op, domain, inputs, attrs;
  int64_t n;
  double longest_sum;
  std::string Print() const { return domain + op + " " + inputs + " {" + attrs + "} N=" + std::to_string(n); }
};

// The node of a problem, with random operands.
struct Ready {
  dp_sample sample{};
  Case c{};
  std::unique_ptr<Built> built;
  std::vector<Tensor> in, out;
  explicit Ready(const Problem &p) {
    sample.inputs = p.inputs.c_str();
    sample.attrs = p.attrs.c_str();
    sample.n = p.n;
    c = {dp_op_find(p.domain.c_str(), p.op.c_str()), &sample, 0, false};
    built = std::make_unique<Built>(c);
    if (!built->error.empty()) return;
    for (size_t i = 0; i < built->operands.size(); i++)
      in.push_back(built->operands[i] ? DrawOperand(c, int(i), *built->operands[i]->type, p.n) : Tensor());
    for (int i = 0; i < built->node->n_outputs; i++)
      out.push_back(built->node->outputs[i] ? MakeWhole(*built->node->outputs[i]->type, p.n) : Tensor());
  }
};

inline void ExpectClose(const Tensor &expected, const Tensor &found, double longest_sum) {
  double tolerance = 1e-5 * std::sqrt(longest_sum);
  ASSERT_EQ(expected.Count(), found.Count());
  for (int64_t i = 0; i < expected.Count(); i++)
    ASSERT_NEAR(expected.Get(i), found.Get(i), tolerance) << "element " << i;
}

inline std::string NameOf(const Problem &p, const char *set) {
  return std::string("cpu.") + set + "." + (p.domain.empty() ? "" : p.domain + ".") + p.op;
}

// Expects the kernel's result to equal the reference's, with the same bits in a second run.
inline void Check(const Problem &p, int most_threads = 1, const char *set = "onednn") {
  SCOPED_TRACE(p.Print());
  Ready ready(p);
  ASSERT_EQ(ready.built->error, "");
  const dp_node *node = ready.built->node;
  Outcome expected = RunKernel(NameOf(p, "reference"), node, ready.in, ready.out);
  ASSERT_EQ(expected.error, "");
  for (int threads = 1; threads <= most_threads; threads++) {
    Outcome found = RunKernel(NameOf(p, set), node, ready.in, ready.out, threads);
    ASSERT_EQ(found.error, "");
    ExpectClose(expected.results[0], found.results[0], p.longest_sum);
    Outcome again = RunKernel(NameOf(p, set), node, ready.in, ready.out, threads);
    EXPECT_EQ(found.results[0].bytes, again.results[0].bytes);
  }
}

}  // namespace dp_test

#endif
