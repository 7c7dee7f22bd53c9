// See speed_cases.h.
#include "tests/cuda/speed_cases.h"

#include <cctype>
#include <set>

#include "backends/cuda/target.h"

namespace dp_test {
namespace {

constexpr double kPointwiseBytes = 512 << 20;

// Of causal attention, the half of the flops counts that is not masked; no gradient of its mask is asked for.
//
// GPT-2 124M has rows of 768, 12 heads of 64, a vocabulary of 50257, and 16 texts of 1,024 tokens; ResNet-50 pictures
// of 224 x 224, 256 of them.
const std::vector<SpeedCase> kRows = {
    // Products by libraries.
    {"cuda.blaslt.MatMul", "float32[N,768], float32[768,3072]", "", 16384, 0, 0, true, 1},
    {"cuda.blaslt.MatMul", "float32[N,3072], float32[3072,768]", "", 16384, 0, 0, true, 1},
    {"cuda.blaslt.MatMul", "float32[N,768], float32[768,50257]", "", 16384, 0, 0, true, 1},
    {"cuda.blaslt.Gemm", "float32[N,3072], float32[768,3072], float32[768]", "transB=1", 16384, 0, 0, true, 1},
    {"cuda.blaslt.Gemm", "float32[N,768], float32[N,3072]", "transA=1", 16384, 0, 0, true, 1},
    {"cuda.cudnn.Conv", "float32[N,3,224,224], float32[64,3,7,7]", "strides=[2,2], pads=[3,3,3,3]", 256, 0, 0, true, 1},
    {"cuda.cudnn.Conv", "float32[N,64,56,56], float32[64,64,3,3]", "pads=[1,1,1,1]", 256, 0, 0, true, 1},
    {"cuda.cudnn.Conv", "float32[N,256,56,56], float32[64,256,1,1]", "", 256, 0, 0, true, 1},
    {"cuda.cudnn.Conv", "float32[N,512,7,7], float32[512,512,3,3]", "pads=[1,1,1,1]", 256, 0, 0, true, 1},
    {"cuda.cudnn.dp.ConvGradInput", "float32[64,64,3,3], float32[N,64,56,56]", "shape=[N,64,56,56], pads=[1,1,1,1]",
     256, 0, 0, true, 1},
    {"cuda.cudnn.dp.ConvGradWeight", "float32[N,64,56,56], float32[N,64,56,56]", "shape=[64,64,3,3], pads=[1,1,1,1]",
     256, 0, 0, true, 1},
    {"cuda.cudnn.dp.ScaledDotProductAttention", "bfloat16[16,N,12,64], bfloat16[16,N,12,64], bfloat16[16,N,12,64]",
     "is_causal=1", 1024, 0, 0, false, 0.5},
    {"cuda.cudnn.dp.ScaledDotProductAttentionGrad",
     "bfloat16[16,N,12,64], bfloat16[16,N,12,64], bfloat16[16,N,12,64], bfloat16[16,N,12,64], bfloat16[16,N,12,64], "
     "float32[16,12,N]",
     "is_causal=1", 1024, 0, 0, false, 0.5, 3},
    // Products of our own, for what no library takes.
    {"cuda.device.MatMul", "float32[N,1024], float32[1024,1024]", "", 2048, 0, 0, true, 1},
    {"cuda.device.Gemm", "float32[N,1024], float32[1024,1024], float32[1024]", "transB=1", 2048, 0, 0, true, 1},
    {"cuda.device.Conv", "float32[N,64,56,56], float32[64,64,3,3]", "pads=[1,1,1,1]", 16, 0, 0, true, 1},
    {"cuda.device.dp.ConvGradInput", "float32[64,64,3,3], float32[N,64,56,56]", "shape=[N,64,56,56], pads=[1,1,1,1]",
     16, 0, 0, true, 1},
    {"cuda.device.dp.ConvGradWeight", "float32[N,64,56,56], float32[N,64,56,56]", "shape=[64,64,3,3], pads=[1,1,1,1]",
     16, 0, 0, true, 1},
    {"cuda.device.dp.ScaledDotProductAttention", "float32[2,N,12,64], float32[2,N,12,64], float32[2,N,12,64]",
     "is_causal=1", 1024, 0, 0, true, 0.5},
    {"cuda.device.dp.ScaledDotProductAttentionGrad",
     "float32[2,N,12,64], float32[2,N,12,64], float32[2,N,12,64], float32[2,N,12,64], float32[2,N,12,64], "
     "float32[2,12,N]",
     "is_causal=1", 1024, 0, 0, false, 0.5, 3},
    // Windows.
    {"cuda.device.MaxPool", "float32[N,64,112,112]", "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]", 256, 0, 0,
     true},
    {"cuda.device.dp.MaxPoolGrad", "float32[N,64,112,112], float32[N,64,56,56]",
     "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]", 256, 0, 0, true},
    {"cuda.device.AveragePool", "float32[N,64,112,112]", "kernel_shape=[2,2], strides=[2,2]", 256, 0, 0, true},
    {"cuda.device.dp.AveragePoolGrad", "float32[N,64,56,56]", "shape=[N,64,112,112], kernel_shape=[2,2], strides=[2,2]",
     256, 0, 0, true},
    {"cuda.device.GlobalAveragePool", "float32[N,2048,7,7]", "", 1024, 0, 0, true},
    // Normalizations.
    {"cuda.device.BatchNormalization", "float32[N,64,56,56], float32[64], float32[64], float32[64], float32[64]",
     "training_mode=1", 256, 0.2, 2},
    {"cuda.device.BatchNormalization", "bfloat16[N,64,56,56], float32[64], float32[64], float32[64], float32[64]",
     "training_mode=1", 256, 0.2, 2},
    {"cuda.device.BatchNormalization",
     "bfloat16[N,2048,7,7], float32[2048], float32[2048], float32[2048], "
     "float32[2048]",
     "training_mode=1", 256, 0.2, 2},
    {"cuda.device.dp.BatchNormalizationGrad",
     "float32[N,64,56,56], float32[64], float32[64], float32[64], float32[N,64,56,56]", "", 256, 0.2, 2},
    {"cuda.device.dp.BatchNormalizationGrad",
     "bfloat16[N,64,56,56], float32[64], float32[64], float32[64], bfloat16[N,64,56,56]", "", 256, 0.2, 2},
    {"cuda.device.dp.BatchNormalizationGrad",
     "bfloat16[N,2048,7,7], float32[2048], float32[2048], float32[2048], bfloat16[N,2048,7,7]", "", 256, 0.2, 2},
    {"cuda.device.dp.BatchNormalizationReluGrad",
     "bfloat16[N,64,56,56], float32[64], float32[64], float32[64], float32[64], bfloat16[N,64,56,56]", "", 256, 0.2, 2},
    {"cuda.device.dp.GroupedBatchNormalization", "float32[N,64,56,56], float32[64], float32[64]",
     "groups=4, axis=\"data\"", 256, 0.2, 2},
    {"cuda.device.dp.GroupedBatchNormalizationGrad",
     "float32[N,64,56,56], float32[64], float32[4,64], float32[4,64], float32[N,64,56,56]", "groups=4, axis=\"data\"",
     256, 0.2, 2},
    {"cuda.normalization.LayerNormalization", "float32[N,768], float32[768], float32[768]", "", 65536, 0, 0, true},
    {"cuda.normalization.RMSNormalization", "float32[N,2048], float32[2048]", "", 32768, 0, 0, true},
    {"cuda.normalization.GroupNormalization", "float32[N,64,56,56], float32[64], float32[64]", "num_groups=32", 256, 0,
     0, true},
    {"cuda.normalization.InstanceNormalization", "float32[N,64,56,56], float32[64], float32[64]", "", 256, 0, 0, true},
    {"cuda.normalization_grad.dp.LayerNormalizationGrad", "float32[N,768], float32[768], float32[N,768]", "", 65536, 0,
     0, true},
    {"cuda.normalization_grad.dp.RMSNormalizationGrad", "float32[N,2048], float32[2048], float32[N,2048]", "", 32768, 0,
     0, true},
    {"cuda.normalization_grad_long.dp.LayerNormalizationGrad", "float32[N,50257], float32[50257], float32[N,50257]", "",
     1024},
    {"cuda.normalization_grad_long.dp.RMSNormalizationGrad", "float32[N,50257], float32[50257], float32[N,50257]", "",
     1024},
    // Rows.
    {"cuda.device.Softmax", "float32[N,1024]", "", 65536, 0, 0, true},
    {"cuda.device.LogSoftmax", "float32[N,50257]", "", 2048, 0, 0, true},
    {"cuda.device.SoftmaxCrossEntropyLoss", "float32[N,50257], int64[N]", "", 2048, 0, 50000, true},
    {"cuda.device.dp.SoftmaxCrossEntropyLossGrad", "float32[N,50257], int64[N], float32[]", "", 2048, 0, 50000, true},
    {"cuda.device.ReduceLogSumExp", "float32[N,1024]", "axes=[1]", 131072, 0, 0, true},
    {"cuda.device.ArgMax", "float32[N,1024]", "axis=1", 131072},
    {"cuda.device.ArgMin", "float32[N,1024]", "axis=1", 131072},
    {"cuda.device.TopK", "float32[N,1024]", "K=8", 65536},
    {"cuda.device.CumSum", "float32[N,1024]", "axis=1", 65536},
    // Sums.
    {"cuda.reduce.ReduceSum", "float32[N,768]", "axes=[0]", 131072, 0, 0, true},
    {"cuda.reduce.ReduceSum", "float32[N,768]", "axes=[1]", 131072, 0, 0, true},
    {"cuda.reduce.ReduceSum", "float32[N,1024]", "", 131072},
    {"cuda.reduce.ReduceMean", "float32[N,768]", "axes=[1]", 131072, 0, 0, true},
    {"cuda.reduce.ReduceMax", "float32[N,768]", "axes=[1]", 131072},
    {"cuda.reduce.ReduceMin", "float32[N,768]", "axes=[1]", 131072},
    {"cuda.reduce.ReduceProd", "float32[N,768]", "axes=[1]", 131072},
    {"cuda.reduce.ReduceL1", "float32[N,768]", "axes=[1]", 131072},
    {"cuda.reduce.ReduceL2", "float32[N,768]", "axes=[1]", 131072},
    {"cuda.reduce.ReduceLogSum", "float32[N,768]", "axes=[1]", 131072, 0.5, 2},
    {"cuda.reduce.ReduceSumSquare", "float32[N,768]", "axes=[1]", 131072},
    // Elementwise functions, besides a sample of each: results of another size, rows that are no multiples of a vector.
    {"cuda.elementwise.Greater", "float32[N,768], float32[N,768]", "", 65536, 0, 0, true},
    {"cuda.elementwise.Add", "float32[N,50257], float32[50257]", "", 1024, 0, 0, true},
    {"cuda.elementwise.Add", "float32[N,10], float32[10]", "", 4194304, 0, 0, true},
    {"cuda.elementwise.Div", "float32[N,768], float32[N,1]", "", 65536, 1, 2, true},
    // Copies. Two transposes are those around the heads of attention, the third one is that from NCHW to NHWC.
    {"cuda.copy.Identity", "float32[N,768]", "", 131072},
    {"cuda.copy.Reshape", "float32[N,12,64]", "shape=[12,N,64]", 131072},
    {"cuda.copy.Flatten", "float32[N,12,64]", "", 131072},
    {"cuda.copy.Squeeze", "float32[N,1,64]", "axes=[1]", 1048576},
    {"cuda.copy.Unsqueeze", "float32[N,64]", "axes=[1]", 1048576},
    {"cuda.device.Transpose", "float32[16,N,12,64]", "perm=[0,2,1,3]", 8192, 0, 0, true},
    {"cuda.device.Transpose", "float32[16,12,N,64]", "perm=[0,1,3,2]", 8192, 0, 0, true},
    {"cuda.device.Transpose", "float32[N,64,56,56]", "perm=[0,2,3,1]", 256, 0, 0, true},
    {"cuda.device.Transpose", "float32[N,4096]", "", 16384, 0, 0, true},
    {"cuda.device.Concat", "float32[N,768], float32[N,768], float32[N,768]", "axis=1", 32768, 0, 0, true},
    {"cuda.device.Split", "float32[N,2304]", "axis=1, split=[768,768,768]", 32768, 0, 0, true},
    {"cuda.device.Slice", "float32[N,2304]", "starts=[256], ends=[2304], axes=[1]", 32768, 0, 0, true},
    {"cuda.device.dp.SliceGrad", "float32[N,2048]", "shape=[N,2304], starts=[256], ends=[2304], axes=[1]", 32768, 0, 0,
     true},
    {"cuda.device.Pad", "float32[N,64,56,56]", "pads=[0,0,1,1,0,0,1,1]", 256, 0, 0, true},
    {"cuda.device.Tile", "float32[N,768]", "repeats=[1,4]", 32768, 0, 0, true},
    {"cuda.device.BitCast", "float32[N,768]", "to=int32", 65536},
    {"cuda.device.Cast", "float32[N,768]", "to=float8e4m3fn", 65536},
    // Elements by index.
    {"cuda.device.Gather", "float32[50257,768], int64[N]", "", 131072, 0, 50000, true},
    {"cuda.device.dp.GatherGrad", "float32[N,768], int64[N]", "shape=[50257,768]", 131072, 0, 50000, true},
    {"cuda.device.GatherElements", "float32[N,1024], int64[N,1024]", "axis=1", 32768, 0, 1000},
    {"cuda.device.ScatterElements", "float32[N,1024], int64[N,256], float32[N,256]", "axis=1", 65536, 0, 1000},
    {"cuda.device.OneHot", "int64[N], , float32[2]", "depth=1024", 131072, 0, 1000},
    {"cuda.device.Trilu", "float32[N,1024,1024]", "upper=0", 64, 0, 0, true},
    {"cuda.device.dp.CountRefused", "int64[N]", "limit=[50257]", 33554432, 0, 50000},
    // Numbers from nothing.
    {"cuda.device.Range", "", "limit=[N]", 67108864},
    {"cuda.device.dp.Fill", "", "shape=[N], value=0.5", 134217728},
    {"cuda.device.dp.RandomUniform", "int64[]", "key=12, shape=[N]", 67108864, 1, 99},
    {"cuda.device.dp.RandomNormal", "int64[]", "key=12, shape=[N]", 67108864, 1, 99},
    {"cuda.device.dp.Dropout", "float32[N], int64[], int64[]", "key=12, ratio=0.25", 67108864, 1, 5, true},
    // Updates.
    {"cuda.update.dp.Adam", "float32[N], float32[N], float32[N], float32[N], float32[], int64[]",
     "weight_decay=0.1, decoupled=1", 33554432, 1, 6},
    {"cuda.update.dp.SGD", "float32[N], float32[N], float32[N], float32[]", "momentum=0.9", 33554432, 0.01, 1},
    {"cuda.update.dp.Assign", "float32[N], float32[N]", "", 33554432},
};

// Multiples of 56, which are sides of pictures, become their 28th part, other numbers of 256 and more their 32nd, so
// that what is equal, half of another, or a sum, stays so.
int64_t Shrink(int64_t number) { return number % 56 == 0 ? number / 28 : number >= 256 ? number / 32 : number; }

std::string Shrink(const std::string &text) {
  std::string found;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && std::isdigit(static_cast<unsigned char>(text[end]))) end++;
    const bool number = end > i && (!i || text[i - 1] == '[' || text[i - 1] == ',' || text[i - 1] == '=');
    const std::string word = text.substr(i, end > i ? end - i : 1);
    found += number ? std::to_string(Shrink(std::stoll(word))) : word;
    i += word.size();
  }
  return found;
}

SpeedCase Shrink(SpeedCase c) {
  c.inputs = Shrink(c.inputs);
  c.attrs = Shrink(c.attrs);
  if (c.high >= 256) c.high = double(Shrink(int64_t(c.high)));
  c.n = 2;
  return c;
}

// The first sample of the operator that the kernel takes.
bool Sampled(const dp_kernel *kernel, const dp_op *op, SpeedCase *found) {
  for (const dp_sample *s = op->samples; s && s->inputs; s++) {
    const Built built({op, s, 0, false});
    if (!built.error.empty()) continue;
    const SpeedSpec spec(built.node, s->n);
    if (!dp_kernel_takes(kernel, &spec) || !kernel->match(&spec)) continue;
    dp_arena *arena = dp_arena_create(0);
    *found = {dp_kernel_name(arena, kernel, op), s->inputs, s->attrs ? s->attrs : "", s->n, s->low, s->high};
    dp_arena_destroy(arena);
    found->n = int64_t(double(s->n) * kPointwiseBytes / dp_op_cost(built.node, s->n).bytes);
    return true;
  }
  return false;
}

}  // namespace

SpeedSpec::SpeedSpec(const dp_node *of, int64_t n, int results)
    : dp_kernel_spec(), operands(size_t(of->n_inputs) + 1), made(size_t(of->n_outputs) + 1) {
  const dp_mesh one{};
  const auto describe = [&](int count, dp_value *const *values, std::vector<dp_kernel_operand> *of_values) {
    for (int i = 0; i < count; i++)
      if (values[i])
        (*of_values)[size_t(i)] = {values[i]->type->dtype, true,
                                   dp_shard_range(&values[i]->type->shape, nullptr, &one, nullptr, n), DP_LAYOUT_PLAIN};
  };
  op = of->op;
  node = of;
  threads = 1;
  n_inputs = of->n_inputs;
  n_outputs = results ? results : of->n_outputs;
  describe(n_inputs, of->inputs, &operands);
  describe(n_outputs, of->outputs, &made);
  inputs = operands.data();
  outputs = made.data();
}

const dp_op *OperatorOf(const std::string &kernel) {
  const dp_kernel *found = dp_kernel_find(&dp_target_cuda, kernel.c_str());
  dp_arena *arena = dp_arena_create(0);
  const dp_op *of = nullptr;
  for (const dp_op *const *op = dp_op_table; found && *op; op++)
    if (dp_kernel_computes(found, *op) && kernel == dp_kernel_name(arena, found, *op)) of = *op;
  dp_arena_destroy(arena);
  return of;
}

SpeedCase PeakCase(dp_dtype dtype, bool small) {
  const std::string matrix = dp_type_name(dtype) + std::string("[N,N]");
  return {"cuda.blaslt.MatMul", matrix + ", " + matrix, "", small ? 2 : 8192, 0, 0, false, 1};
}

const std::vector<Unmeasured> &UnmeasuredKernels() {
  static const std::vector<Unmeasured> all = {
      {"cuda.device.Shape", "it writes eight numbers at most"},
      {"cuda.device.Size", "it writes one number"},
      {"cuda.device.dp.Region", "it is as fast as what it joins; bench/gpu times it in steps"},
      {"cuda.blaslt.dp.Region", "a head of a network, which bench/gpu times in steps"},
      {"cuda.head.dp.Region", "a head of a network, which bench/gpu times in steps"},
      {"cuda.casts.dp.Region",
       "it does what cuda.elementwise.Cast does, for many tensors; bench/gpu times it in steps"},
      {"cuda.updates.dp.Region", "it does what cuda.update does, for many tensors; bench/gpu times it in steps"},
  };
  return all;
}

std::vector<SpeedCase> SpeedCases(bool small) {
  std::vector<SpeedCase> cases = kRows;
  const dp_kernel *pointwise = dp_kernel_find(&dp_target_cuda, "cuda.elementwise.Add");
  for (const dp_op *const *op = dp_op_table; *op && pointwise; op++) {
    SpeedCase c;
    if (!IsReplaced(*op) && Sampled(pointwise, *op, &c)) cases.push_back(c);
  }
  for (SpeedCase &c : cases)
    if (small) c = Shrink(c);
  return cases;
}

}  // namespace dp_test
