// Our own kernels of CUDA on what devices hold of a tensor: every sharding rule of every sample, on three devices, of
// which some have nothing. Each part is compared with the CPU's reference of the same part. Of a sample's rules the
// first is tried in the usual run, and one in four others; with DP_FULL all.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/target.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

constexpr int64_t kDevices = 3;

// One node on one device.
struct Part {
  const Ready *ready;
  const dp_kernel *kernel;
  std::vector<Tensor> in, out;
  std::unique_ptr<Spec> spec;
};

// What `device` holds. Every addend of a partial sum is the whole value.
Part PartOf(const Ready &ready, const dp_sharding_rule &rule, const dp_mesh &mesh, int64_t device, bool channels_last) {
  const dp_node *node = ready.built->node;
  const int64_t n = ready.built->n;
  Part part{&ready, nullptr, {}, {}, nullptr};
  for (int i = 0; i < node->n_inputs; i++) {
    part.in.push_back(node->inputs[i] ? MakePart(*node->inputs[i]->type, n, &rule.in[i], mesh, &device) : Tensor());
    if (node->inputs[i]) Cut(ready.in[size_t(i)], &part.in.back());
  }
  for (int i = 0; i < node->n_outputs; i++)
    part.out.push_back(MakePart(*node->outputs[i]->type, n, &rule.out[i], mesh, &device));
  part.spec = std::make_unique<Spec>(node, part.in, part.out);
  part.spec->SetLayouts([=] { return channels_last; });
  part.kernel = dp_kernel_select(&dp_target_cuda, part.spec.get(), true);
  return part;
}

// Adds the function that a part needs, so that all of them are compiled at once.
void Add(const Part &part) {
  void *state = nullptr;
  if (!part.kernel->prepare) return;
  dp_status status = part.kernel->prepare(part.spec.get(), &state);
  EXPECT_EQ(status, DP_OK) << dp_status_message(status);
  if (!status && part.kernel->release) part.kernel->release(state);
  dp_status_free(status);
}

TEST(Parts, EqualTheReference) {
  ASSERT_EQ(OpenDevice(), "");
  dp_mesh mesh{};
  mesh.n_axes = 1;
  mesh.axes[0] = {"data", kDevices};
  std::vector<std::unique_ptr<Ready>> all;
  std::vector<Part> parts;
  int other = 0, in_nhwc = 0;
  for (const Case &c : AllCases(false)) {
    if (IsReplaced(c.op) || dp_op_is(c.op, DP_OP_COMMUNICATION)) continue;
    all.push_back(std::make_unique<Ready>(c));
    const Built &built = *all.back()->built;
    ASSERT_EQ(built.error, "") << c.Name();
    dp_sharding_rules rules;
    dp_op_sharding_rules(built.arena, built.node, &rules);
    for (int r = 1; r < rules.count; r++) {
      if (r > 1 && other++ % 4 && !getenv("DP_FULL")) continue;
      for (int64_t device = 0; device < kDevices && dp_sharding_rule_holds_on(&rules.rules[r], mesh.axes); device++) {
        for (const bool channels_last : {false, true}) {
          Part part = PartOf(*all.back(), rules.rules[r], mesh, device, channels_last);
          if (!part.kernel || part.kernel->library || (channels_last && !HasChannelsLast(*part.spec))) continue;
          Add(part);
          in_nhwc += channels_last;
          parts.push_back(std::move(part));
        }
      }
    }
  }
  dp_status status = dp_cuda_functions_load();
  ASSERT_EQ(status, DP_OK) << dp_status_message(status);
  std::printf("%zu parts, %d in NHWC\n", parts.size(), in_nhwc);
  EXPECT_GT(in_nhwc, 10);
  EXPECT_GT(parts.size(), getenv("DP_FULL") ? 1000u : 500u);
  for (const Part &part : parts) {
    SCOPED_TRACE(part.kernel->name);
    const Outcome expected = RunReference(part.ready->built->node, part.in, part.out);
    const Outcome found = RunKernel(part.kernel, *part.spec, part.in, part.out);
    ASSERT_EQ(expected.error, "");
    ASSERT_EQ(found.error, "");
    for (size_t i = 0; i < found.results.size(); i++) ExpectSame(expected.results[i], found.results[i], false);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace dp_test
