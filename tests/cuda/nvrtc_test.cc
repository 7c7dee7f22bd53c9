// The toolkit's own NVRTC compiles the functions that a sample of each operator needs, for Hopper, and those for one in
// bfloat16. For elementwise operators these differ in conversions and pairs, which Cast and Add show; Erf, Exp and Gelu
// have functions of their own. With DP_FULL it compiles those of all samples, for GPUs from Ampere to Blackwell. None
// spills registers, and few use local memory. Where there is no toolkit, the test says so and passes. No GPU is needed.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>

#include "backends/cuda/blaslt/loss_head.h"
#include "backends/cuda/cudnn/attention_step.h"
#include "backends/cuda/cudnn/column_convolution.h"
#include "backends/cuda/cudnn/columns.h"
#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/gpu/nvrtc.h"
#include "backends/cuda/target.h"
#include "backends/cuda/transfer.h"
#include "tests/backends/drawn_batch.h"
#include "tests/backends/drawn_gradient.h"
#include "tests/backends/drawn_head.h"
#include "tests/backends/drawn_normalization.h"
#include "tests/cuda/library_kernels.h"
#include "tests/ir/text/text_helper.h"

namespace dp_test {
namespace {

// What kernels need that are no library's: libraries want a GPU.
bool IsOurs(const dp_kernel *kernel) { return kernel && !kernel->library && kernel->prepare; }

// What ptxas says about one function.
struct Usage {
  std::string name, error;
  int registers = -1, stack = -1, spill_stores = -1, spill_loads = -1, shared = 0;  // bytes, but for registers
  size_t code = 0;
};

// The number before (or after) `word` in ptxas's report; `otherwise` where it says nothing.
int NumberIn(const std::string &log, const std::string &pattern, int otherwise) {
  std::smatch found;
  return std::regex_search(log, found, std::regex(pattern)) ? std::stoi(found[1]) : otherwise;
}

Usage Compile(const dp_cuda_function_text &function, int kind) {
  Usage usage{function.name, ""};
  char *code = nullptr, *log = nullptr;
  dp_status status = dp_cuda_nvrtc_compile(function.program, kind / 10, kind % 10, &code, &usage.code, &log);
  usage.error = Message(status);
  const std::string text = log ? log : "";
  usage.registers = NumberIn(text, "Used ([0-9]+) registers", -1);
  usage.stack = NumberIn(text, "([0-9]+) bytes stack frame", -1);
  usage.spill_stores = NumberIn(text, "([0-9]+) bytes spill stores", -1);
  usage.spill_loads = NumberIn(text, "([0-9]+) bytes spill loads", -1);
  usage.shared = NumberIn(text, "([0-9]+) bytes smem", 0);
  free(code);
  free(log);
  return usage;
}

// ---- the table ------------------------------------------------------------------------------------------------------

// tests/cuda/usage.golden: what the functions of each name use at the most, as one release of NVRTC has them for sm_90.
// Other releases are held to the bounds of Check alone. With DP_USAGE=FILE the test writes the table there.
const char kTable[] = "tests/cuda/usage.golden";

// "dp_Add_Relu_0123456789abcdef" is a function called Add_Relu.
std::string NameOf(const Usage &u) { return std::regex_replace(u.name, std::regex("^dp_|_[0-9a-f]{16}$"), ""); }

std::string Table(const std::vector<Usage> &all, const std::string &compiler) {
  std::map<std::string, std::pair<int, Usage>> names;
  for (const Usage &u : all) {
    auto &[count, most] = names[NameOf(u)];
    if (!count++) most = u;
    most.registers = std::max(most.registers, u.registers);
    most.stack = std::max(most.stack, u.stack);
    most.shared = std::max(most.shared, u.shared);
    most.spill_stores = std::max(most.spill_stores, u.spill_stores);
    most.spill_loads = std::max(most.spill_loads, u.spill_loads);
  }
  std::ostringstream text;
  text << "# " << compiler << "\n# name: functions, registers, bytes of shared memory, of stack, of spills\n";
  for (const auto &[name, entry] : names)
    text << name << ": " << entry.first << ", " << entry.second.registers << ", " << entry.second.shared << ", "
         << entry.second.stack << ", " << entry.second.spill_stores + entry.second.spill_loads << "\n";
  return text.str();
}

void CheckTable(const std::vector<Usage> &all, const std::string &compiler) {
  const std::string found = Table(all, compiler);
  if (const char *path = getenv("DP_USAGE")) std::ofstream(path) << found;
  std::ifstream file(kTable);
  const std::string expected((std::istreambuf_iterator<char>(file)), {});
  ASSERT_NE(expected, "") << kTable;
  if (expected.substr(0, expected.find('\n')) != found.substr(0, found.find('\n'))) {
    std::printf("left out: %s is of %s\n", kTable, expected.substr(2, expected.find('\n') - 2).c_str());
    return;
  }
  EXPECT_EQ(expected, found) << "if that is meant: DP_USAGE=$PWD/" << kTable << " and bazel run";
}

// ---- all functions --------------------------------------------------------------------------------------------------

// Compiles all functions for one kind of GPU, in two threads, and keeps bounds on what they use. With 256 threads to a
// block, 128 registers let two blocks share a multiprocessor; what local memory holds are small arrays with an index
// that is not known, as of extents.
void Check(int kind, bool full, const std::string &compiler) {
  int count = 0;
  dp_cuda_function_text *list = nullptr;
  ASSERT_EQ(Message(dp_cuda_functions_list(&count, &list)), "");
  std::vector<Usage> all(static_cast<size_t>(count));
  std::atomic<int> next{0};
  const auto work = [&] {
    for (int i; (i = next++) < count;) all[size_t(i)] = Compile(list[i], kind);
  };
  std::thread other(work);
  work();
  other.join();
  free(list);
  size_t bytes = 0;
  int registers = 0, shared = 0, local = 0, most_local = 0;
  for (const Usage &u : all) {
    EXPECT_EQ(u.error, "") << u.name;
    EXPECT_EQ(u.spill_stores, 0) << u.name;
    EXPECT_EQ(u.spill_loads, 0) << u.name;
    EXPECT_GT(u.registers, 0) << u.name;
    EXPECT_LE(u.registers, 128) << u.name;
    EXPECT_GE(u.stack, 0) << u.name;
    EXPECT_LE(u.stack, 128) << u.name;
    EXPECT_LE(u.shared, 48 << 10) << u.name;
    bytes += u.code;
    registers = std::max(registers, u.registers);
    shared = std::max(shared, u.shared);
    local += u.stack > 0;
    most_local = std::max(most_local, u.stack);
    if (u.stack > 0 || u.registers > 64)
      std::printf("  sm_%d %s: %d registers, %d bytes of local memory, %d shared\n", kind, u.name.c_str(), u.registers,
                  u.stack, u.shared);
  }
  std::printf(
      "sm_%d: %d functions, %.1f MiB of machine code, at most %d registers, %d bytes of shared memory; %d use "
      "local memory, at most %d bytes; none spills\n",
      kind, count, double(bytes) / (1 << 20), registers, shared, local, most_local);
  EXPECT_GT(count, full ? 900 : 30);
  EXPECT_LE(local, count / 20);
  if (!full) CheckTable(all, compiler + ", sm_" + std::to_string(kind));
}

// Operators, what computes them, and whether in bfloat16.
using Seen = std::set<std::tuple<const dp_op *, const dp_kernel *, bool>>;

// Whether the kernel has not been seen at the operator, or not in bfloat16.
bool IsNew(const Case &c, const dp_kernel *kernel, Seen *seen) {
  const std::string kernel_name = kernel->name, op = c.op->name;
  const std::set<std::string> shown = {"Cast", "Add", "Erf", "Exp", "Gelu"};
  const bool generated = kernel_name == "cuda.elementwise" && !shown.count(op);
  if (c.to == DP_FLOAT16 || (c.to == DP_BFLOAT16 && generated)) return false;
  return seen->insert({c.op, kernel, c.to == DP_BFLOAT16}).second;
}

// Adds the functions that the kernel needs.
void Prepare(const dp_kernel_spec &spec, const dp_kernel *kernel, const std::string &name) {
  void *state = nullptr;
  ASSERT_EQ(Message(kernel->prepare(&spec, &state)), "") << name;
  if (kernel->release) kernel->release(state);
}

// What no sample is large enough for.
void PrepareLarge() {
  const Problem large[] = {
      {"Transpose", "", "float32[40,40]", "", 1, 1},
      {"Transpose", "", "bfloat16[3,64,40]", "perm=[0,2,1]", 1, 1},
      {"Gather", "", "float32[9,768], int64[N]", "", 4, 1},
      {"ReduceLogSumExp", "", "float32[5000]", "", 1, 1},
      {"ReduceSum", "", "bfloat16[5000,40]", "axes=[0]", 1, 1},
      {"ReduceSum", "", "float32[5000,40]", "axes=[0]", 1, 1},
      {"ReduceMean", "", "float32[4,768]", "axes=[1]", 1, 1},
      {"LayerNormalization", "", "float32[2,2048], float32[2048], float32[2048]", "", 1, 1},
      {"LayerNormalization", "", "bfloat16[2,2048], bfloat16[2048], bfloat16[2048]", "", 1, 1},
      {"LayerNormalization", "", "float32[1,5000], float32[5000], float32[5000]", "", 1, 1},
      {"LayerNormalization", "", "bfloat16[1,5000], bfloat16[5000], bfloat16[5000]", "", 1, 1},
      {"BatchNormalization", "", "float32[N,2,7,7], float32[2], float32[2], float32[2], float32[2]", "training_mode=1",
       1, 1},
      {"BatchNormalizationGrad", "dp", "float32[N,2,7,7], float32[2], float32[2], float32[2], float32[N,2,7,7]", "", 1,
       1},
      {"BatchNormalization", "", "bfloat16[N,2,8,8], float32[2], float32[2], float32[2], float32[2]", "training_mode=1",
       1, 1},
      {"BatchNormalizationGrad", "dp", "bfloat16[N,2,8,8], float32[2], float32[2], float32[2], bfloat16[N,2,8,8]", "",
       1, 1},
      {"BatchNormalizationReluGrad", "dp",
       "bfloat16[N,2,8,8], float32[2], float32[2], float32[2], float32[2], bfloat16[N,2,8,8]", "", 1, 1},
      {"MaxPoolGrad", "dp", "bfloat16[N,1,112,112], bfloat16[N,1,56,56]",
       "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]", 1, 1},
      {"MaxPoolGrad", "dp", "float32[N,64,28,28], float32[N,64,14,14]", "kernel_shape=[2,2], strides=[2,2]", 64, 1},
      {"MaxPoolGrad", "dp", "float32[N,1,4,4,4], float32[N,1,2,2,2]", "kernel_shape=[2,2,2], strides=[2,2,2]", 1, 1},
      {"LayerNormalizationGrad", "dp", "float32[9,768], float32[768], float32[9,768]", "", 1, 1},
      {"LayerNormalizationGrad", "dp", "float32[9,767], float32[767], float32[9,767]", "", 1, 1},
      {"LayerNormalizationGrad", "dp", "float32[9,6144], float32[6144], float32[9,6144]", "", 1, 1},
      {"LayerNormalizationGrad", "dp", "float64[9,384], float64[384], float64[9,384]", "", 1, 1},
      {"LayerNormalizationGrad", "dp", "float64[9,3072], float64[3072], float64[9,3072]", "", 1, 1},
      {"LayerNormalizationGrad", "dp", "float64[9,3071], float64[3071], float64[9,3071]", "", 1, 1},
      {"LayerNormalizationGrad", "dp", "bfloat16[9,2048], bfloat16[2048], bfloat16[9,2048]", "", 1, 1},
      {"LayerNormalizationGrad", "dp", "float32[9,7000], float32[7000], float32[9,7000]", "", 1, 1},
      {"RMSNormalizationGrad", "dp", "float32[9,2048], float32[2048], float32[9,2048]", "", 1, 1},
  };
  for (const Problem &p : large) {
    const Ready ready = Draw(p);
    const Spec spec(ready.built->node, ready.in, ready.out);
    Prepare(spec, dp_kernel_select(&dp_target_cuda, &spec, true), p.Print());
  }
}

// Kernels of images in NHWC.
void PrepareNhwc() {
  const std::string of_each = ", float32[64], float32[64], float32[64]", x = "bfloat16[N,64,7,7]";
  const Problem images[] = {
      {"BatchNormalization", "", x + of_each + ", float32[64]", "training_mode=1", 1, 1},
      {"BatchNormalizationGrad", "dp", x + of_each + ", " + x, "", 1, 1},
      {"BatchNormalizationReluGrad", "dp", x + of_each + ", float32[64], " + x, "", 1, 1},
      {"BatchNormalization", "", "float32[N,3,7,7], float32[3], float32[3], float32[3], float32[3]", "", 1, 1},
      {"MaxPool", "", "bfloat16[N,64,112,112]", "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]", 1, 1},
      {"MaxPoolGrad", "dp", "bfloat16[N,64,112,112], bfloat16[N,64,56,56]",
       "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]", 1, 1},
      {"GlobalAveragePool", "", x, "", 1, 1},
  };
  for (const Problem &p : images) {
    const Ready ready = Draw(p);
    Spec spec(ready.built->node, ready.in, ready.out);
    spec.SetLayouts([] { return true; });
    const dp_kernel *kernel = dp_kernel_select(&dp_target_cuda, &spec, true);
    ASSERT_NE(kernel, nullptr) << p.Print();
    Prepare(spec, kernel, p.Print());
  }
}

// Attention by our own functions, without later keys.
void PrepareCausal() {
  const std::string q = "float32[N,3,2,8]";
  for (const Problem &p :
       {Problem{"ScaledDotProductAttention", "dp", q + ", " + q + ", " + q, "is_causal=1", 1, 1},
        Problem{"ScaledDotProductAttentionGrad", "dp",
                q + ", " + q + ", " + q + ", " + q + ", " + q + ", float32[N,2,3]", "is_causal=1", 1, 1}}) {
    const Ready ready = Draw(p);
    const Spec spec(ready.built->node, ready.in, ready.out);
    Prepare(spec, dp_kernel_select(&dp_target_cuda, &spec, true), p.Print());
  }
}

// What kernels of attention by cuDNN launch beside it: with each kind of mask.
void PrepareAroundAttention() {
  for (const char *mask : {"bool[3,3]", "bfloat16[3,3]", "float32[3,3]"})
    for (bool gradient : {false, true}) {
      const std::string q = "bfloat16[N,3,2,8]", y = gradient ? q + ", " : "", lse = ", float32[N,2,3]";
      const Problem p = {gradient ? "ScaledDotProductAttentionGrad" : "ScaledDotProductAttention",
                         "dp",
                         y + q + ", " + q + ", " + q + (gradient ? ", " + q + lse : "") + ", " + mask,
                         "masked_rows=\"zero\"",
                         1,
                         1};
      Ready ready = Draw(p);
      ASSERT_EQ(ready.built->error, "");
      const Spec spec(ready.built->node, ready.in, ready.out);
      const dp_kernel *kernel = gradient ? &dp_kernel_cuda_cudnn_ScaledDotProductAttentionGrad
                                         : &dp_kernel_cuda_cudnn_ScaledDotProductAttention;
      ASSERT_EQ(Message(dp_cudnn_attention_add_functions(kernel, &spec)), "");
    }
}

// What convolutions by columns launch beside products.
void PrepareColumns() {
  const Ready weight = Draw(
      {"ConvGradWeight", "dp", "float32[N,16,32,32], float32[N,32,32,32]", "shape=[32,16,3,3], pads=[1,1,1,1]", 4, 1});
  const Spec of_weight(weight.built->node, weight.in, weight.out);
  ASSERT_EQ(Message(dp_columns_add_functions(&dp_kernel_cuda_cudnn_dp_ConvGradWeight, &of_weight)), "");
  const Ready input = Draw(
      {"ConvGradInput", "dp", "float32[16,32,3,3], float32[N,16,32,32]", "shape=[N,32,32,32], pads=[1,1,1,1]", 4, 1});
  const Spec of_input(input.built->node, input.in, input.out);
  ASSERT_EQ(Message(dp_column_convolution_add_functions(&dp_kernel_cuda_cudnn_dp_ConvGradInput, &of_input)), "");
}

// What heads with cuBLASLt's products launch beside them.
void PrepareHeads() {
  for (dp_dtype dtype : {DP_FLOAT32, DP_BFLOAT16}) {
    uint32_t seed = 0;
    while (DrawnHead(seed, -1, dtype, true).transposed) seed++;
    DrawnHead head(seed, -1, dtype, true);
    ASSERT_TRUE(dp_kernel_cuda_blaslt_Region.match(&head.spec));
    ASSERT_EQ(Message(dp_cuda_loss_head_add(&head.spec)), "");
  }
}

// Gradients of normalizations with what stands around them: a block of GPT-2's, its last one's, and a block of Llama's.
void PrepareGradients() {
  const DrawnGradient::Around around[] = {
      {true, 9, 768, DP_FLOAT32, DP_BFLOAT16, true, DP_BFLOAT16, true, 2},
      {true, 9, 768, DP_FLOAT32, DP_BFLOAT16, false, DP_BFLOAT16, true, 2},
      {true, 9, 768, DP_FLOAT32, DP_NO_TYPE, true, DP_NO_TYPE, true, 2},
      {true, 9, 1024, DP_FLOAT32, DP_BFLOAT16, true, DP_BFLOAT16, true, 2},
      {false, 9, 2048, DP_FLOAT32, DP_BFLOAT16, true, DP_BFLOAT16, true, 1},
      {true, 9, 6144, DP_FLOAT32, DP_BFLOAT16, true, DP_BFLOAT16, true, 2},
      {true, 9, 3072, DP_FLOAT64, DP_NO_TYPE, true, DP_NO_TYPE, true, 2},
      {true, 9, 2048, DP_BFLOAT16, DP_NO_TYPE, true, DP_NO_TYPE, true, 2},
  };
  for (const DrawnGradient::Around &a : around) {
    const DrawnGradient g(a);
    Prepare(g.spec, dp_kernel_find(&dp_target_cuda, "cuda.device.dp.Region"), "a gradient in a region");
  }
}

// Batch normalizations with what stands around them: layers of ResNet-50, of two numbers of channels that are no
// multiples of vectors, and in float32.
void PrepareBatches() {
  for (bool channels_last : {true, false})
    for (int64_t channels : {64, 3})
      for (dp_dtype dtype : {DP_BFLOAT16, DP_FLOAT32})
        for (bool gradient : {false, true})
          for (bool adds : {false, true}) {
            const bool kept = gradient && adds;
            const DrawnBatch b({{2, channels, 8, 8}, dtype, DP_FLOAT32, gradient, adds, true, channels_last, kept});
            Prepare(b.spec, dp_kernel_find(&dp_target_cuda, "cuda.device.dp.Region"), "a batch in a region");
          }
}

// Normalizations with what stands around them: a block of GPT-2's without and with a bias before it, and of Llama's.
void PrepareNormalizations() {
  const DrawnNormalization::Around around[] = {
      {"LayerNormalization", 9, 768, DP_FLOAT32, DP_BFLOAT16, false, true, true, DP_BFLOAT16},
      {"LayerNormalization", 9, 768, DP_FLOAT32, DP_BFLOAT16, true, true, true, DP_BFLOAT16},
      {"LayerNormalization", 9, 768, DP_FLOAT32, DP_NO_TYPE, false, true, true, DP_NO_TYPE},
      {"RMSNormalization", 9, 2048, DP_FLOAT32, DP_BFLOAT16, true, true, true, DP_BFLOAT16},
      {"LayerNormalization", 9, 1024, DP_FLOAT64, DP_NO_TYPE, false, true, true, DP_NO_TYPE},
      {"LayerNormalization", 9, 2048, DP_BFLOAT16, DP_NO_TYPE, false, true, true, DP_NO_TYPE},
  };
  for (const DrawnNormalization::Around &a : around) {
    const DrawnNormalization n(a);
    Prepare(n.spec, dp_kernel_find(&dp_target_cuda, "cuda.device.dp.Region"), "a normalization in a region");
  }
}

// Casts of parameters.
void PrepareCasts() {
  for (dp_dtype dtype : {DP_BFLOAT16, DP_FLOAT16}) {
    RegionBuilder b(1);
    for (int64_t count : {3, 8}) {
      const int x = b.Operand(DP_FLOAT32, {count});
      b.Add("", "Cast", {x}, dtype, {count}, true, {RegionBuilder::Int("to", dtype)});
    }
    b.Number();
    Prepare(b.spec, dp_kernel_find(&dp_target_cuda, "cuda.casts.dp.Region"), "casts in a region");
  }
}

// What collectives of our own launch: sums of everything, of parts, and copies of parts.
void PrepareTransfers() {
  dp_arena *arena = dp_arena_create(0);
  dp_mesh mesh = {};
  dp_shape shape = {};
  dp_shard_view whole[2], parts[2];
  char memory[1024];
  const dp_placement split = dp_shard(0), all = dp_replicate();
  mesh.n_axes = 1;
  mesh.axes[0].name = "x";
  mesh.axes[0].size = 2;
  shape.rank = 1;
  shape.dims[0] = dp_dim_of(16);
  for (int64_t d = 0; d < 2; d++) {
    int64_t at[DP_MAX_MESH] = {d};
    whole[d] = {&memory[512 * d], dp_shard_range(&shape, &all, &mesh, at, 0)};
    parts[d] = {&memory[512 * d + 256], dp_shard_range(&shape, &split, &mesh, at, 0)};
  }
  for (dp_dtype dtype : {DP_FLOAT32, DP_BFLOAT16})
    for (const dp_transfer *transfer : {dp_transfer_reduce(arena, dtype, DP_REGION_SUM, 1, 2, whole, 2, whole),
                                        dp_transfer_shards(arena, dtype, DP_REGION_SUM, 2, whole, 2, parts),
                                        dp_transfer_shards(arena, dtype, DP_REGION_COPY, 2, parts, 2, whole)})
      ASSERT_EQ(Message(dp_cuda_transfer_add(transfer)), "");
  dp_arena_destroy(arena);
}

TEST(Nvrtc, CompilesEveryFunction) {
  const bool full = getenv("DP_FULL");
  Seen seen;
  int prepared = 0;
  for (const std::vector<Case> &cases : {AllCases(true), TypeCases()})
    for (const Case &c : cases) {
      if (IsReplaced(c.op) || dp_op_is(c.op, DP_OP_COMMUNICATION)) continue;
      Ready ready(c);
      const Spec spec(ready.built->node, ready.in, ready.out);
      const dp_kernel *kernel = dp_kernel_select(&dp_target_cuda, &spec, true);
      if (!IsOurs(kernel) || (!full && !IsNew(c, kernel, &seen))) continue;
      Prepare(spec, kernel, c.Name());
      prepared++;
    }
  PrepareLarge();
  PrepareNhwc();
  PrepareCausal();
  PrepareAroundAttention();
  PrepareHeads();
  PrepareGradients();
  PrepareNormalizations();
  PrepareBatches();
  PrepareColumns();
  PrepareCasts();
  PrepareTransfers();
  EXPECT_GT(prepared, full ? 1000 : 80);
  const std::vector<int> kinds = full ? std::vector<int>{80, 90, 100, 120} : std::vector<int>{90};
  int major, minor;
  dp_status status = dp_cuda_nvrtc_version(&major, &minor);
  if (dp_status_code(status) == EX_UNAVAILABLE) {
    std::printf("left out: %s\n", dp_status_message(status));
    dp_status_free(status);
    return;
  }
  ASSERT_EQ(Message(status), "");
  const std::string compiler = "NVRTC " + std::to_string(major) + "." + std::to_string(minor);
  for (int kind : kinds) Check(kind, full, compiler);
}

}  // namespace
}  // namespace dp_test
