// What the operators refuse, and with which messages; constants that become attributes; extents that depend on n.
#include <gtest/gtest.h>

#include "ir/graph/builder.h"
#include "ir/text/text.h"
#include "tests/ir/ops/samples.h"

namespace dp_test {
namespace {

struct Wrong {
  const char *op, *inputs, *attrs, *message;
};

const Wrong kWrong[] = {
    {"Add", "float32[N,3], float32[4]", "", "shapes [N,3] and [4] do not broadcast together"},
    {"Add", "float32[N], float32[5]", "", "shapes [N] and [5] do not broadcast together"},
    {"Add", "float32[3], float64[3]", "", "operand 'B' ('x1') has type float64 where float32 is expected"},
    {"Add", "bool[3], bool[3]", "", "operand 'A' ('x0') has type bool, which this operator does not support"},
    {"Add", "float32[3]", "", "operand 2, 'B', is missing"},
    {"Add", "float32[3], float32[3]", "axis=1", "there is no attribute 'axis'"},
    {"Cast", "float32[3]", "to=8", "attribute 'to' is 8, which is not a type of numbers or truth values"},
    {"Cast", "float32[3]", "to=24, round_mode=\"odd\"", "round_mode is \"odd\""},
    {"QLinearMatMul", "uint8[3,3], float32[], uint8[], uint8[3,2], float32[3,1], uint8[], float32[], uint8[]", "",
     "b_scale has shape [3,1]"},
    {"QLinearMatMul", "uint8[2,3], float32[1,3], uint8[], uint8[3,2], float32[], uint8[], float32[], uint8[]", "",
     "a_scale has shape [1,3]"},
    {"QLinearMatMul", "uint8[2,3], float32[2], uint8[], uint8[3], float32[], uint8[], float32[], uint8[]", "",
     "a_scale has shape [2]"},
    {"QLinearMatMul", "uint8[2,3], float32[], uint8[], uint8[3], float32[3], uint8[], float32[], uint8[]", "",
     "b_scale has shape [3]"},
    {"QLinearConv", "uint8[1,2,5,5], float32[], uint8[], uint8[3,2,3,3], float32[3,1,1,1], uint8[], float32[], uint8[]",
     "", "w_scale has shape [3,1,1,1]"},
    {"QLinearConv", "uint8[1,2,5,5], float32[3,1,1,1], uint8[], uint8[3,2,3,3], float32[], uint8[], float32[], uint8[]",
     "", "x_scale has shape [3,1,1,1]"},
    {"Gemm", "int32[3,2], int32[2,3]", "alpha=0.5", "alpha is 0.5 where the operands are integers"},
    {"Cast", "float32[3]", "to=-5", "attribute 'to' is -5"},
    {"Cast", "float32[3]", "", "attribute 'to' is missing"},
    {"Conv", "float32[N,3,5], float32[4,3,3,3]", "", "the weights have shape [4,3,3,3]"},
    {"Conv", "float32[N,3,5,5], float32[4,2,3,3]", "",
     "x [N,3,5,5] has 3 channels but the weights [4,2,3,3] with group 1 expect 2"},
    {"Conv", "float32[N,4,5,5], float32[3,2,3,3]", "group=2", "group is 2, which must divide"},
    {"Conv", "float32[N,4,5,5], float32[4,4,3,3]", "group=0", "group is 0, which must divide"},
    {"Conv", "float32[N,3,5,5], float32[4,3,6,3]", "",
     "a window of 6 does not fit into a padded extent of 5 (spatial dim 0)"},
    {"Conv", "float32[N,3,5,5], float32[4,3,3,3]", "strides=[0,1]",
     "attribute 'strides' has 0 where 1 to 1073741824 is expected"},
    {"Conv", "float32[N,3,5,5], float32[4,3,3,3]", "strides=[1,1,1]",
     "attribute 'strides' has 3 numbers where 2 are expected"},
    {"Conv", "float32[N,3,5,5], float32[4,3,3,3]", "dilations=[1,-1]", "attribute 'dilations' has -1"},
    {"Conv", "float32[N,3,5,5], float32[4,3,3,3]", "pads=[1,1,1,-1]", "attribute 'pads' has -1 where 0 to 1073741824"},
    {"Conv", "float32[N,3,5,5], float32[4,3,3,3]", "pads=[0,0,0,9223372036854775807]",
     "attribute 'pads' has 9223372036854775807"},
    {"Conv", "float32[N,3,5,5], float32[4,3,3,3]", "auto_pad=\"SOME\"", "auto_pad is 'SOME' where NOTSET, VALID"},
    {"Conv", "float32[N,3,5,5], float32[4,3,3,3]", "auto_pad=\"VALID\", pads=[1,1,1,1]",
     "attribute 'pads' requires auto_pad=\"NOTSET\""},
    {"Conv", "float32[N,3,5,5], float32[4,3,3,3]", "kernel_shape=[2,3]",
     "attribute 'kernel_shape' has 2 where the weights have 3"},
    {"Conv", "float32[N,3,5,N], float32[4,3,3,3]", "", "a spatial extent depends on the number of samples"},
    {"Conv", "float32[N,3,5,5], float32[4,3,3,3], float32[3]", "", "B has shape [3] where [4] is expected"},
    {"dp.ConvGradInput", "float32[4,3,3,3], float32[N,4,5,5]", "shape=[N,3,5,5]",
     "the gradient has shape [N,4,5,5] where [N,4,3,3]"},
    {"MaxPool", "float32[N,3,5,5]", "", "attribute 'kernel_shape' is missing"},
    {"MaxPool", "float32[N,3,5,5]", "kernel_shape=[2,2], pads=[2,0,0,0]", "nothing but padding"},
    {"MaxPool", "float32[N,3]", "kernel_shape=[2]", "the operand has shape [N,3]"},
    {"AveragePool", "float32[N,3,5,5]", "kernel_shape=[1000000000,1]", "a window of 1000000000 does not fit"},
    {"GlobalAveragePool", "float32[N,3]", "", "the operand has shape [N,3]"},
    {"Gemm", "float32[N,3], float32[4,2]", "", "A has shape [N,3] and B has shape [4,2]: the inner extents differ"},
    {"Gemm", "float32[N,3], float32[3,2]", "transB=1",
     "B (to be transposed) has shape [3,2]: the inner extents differ"},
    {"Gemm", "float32[N,3,1], float32[3,2]", "", "two matrices are expected"},
    {"Gemm", "float32[N,3], float32[3,2], float32[3]", "", "shapes [3] and [N,2] do not broadcast together"},
    {"Gemm", "float32[1,3], float32[3,2], float32[5,2]", "", "C cannot be larger than the product"},
    {"MatMul", "float32[N,3], float32[2,3]", "", "the inner extents differ"},
    {"MatMul", "float32[], float32[2,3]", "", "a scalar was given"},
    {"MatMul", "float32[2,1,3], float32[3,3,2]", "", "do not broadcast together"},
    {"Reshape", "float32[N,3]", "", "shape is missing"},
    {"Reshape", "float32[N,3]", "shape=[-1,-1]", "shape has two extents of -1"},
    {"Reshape", "float32[N,3]", "shape=[0,0,0]", "shape has 0 at index 2, but the operand has no dim 2"},
    {"Reshape", "float32[N,3]", "shape=[N,-2]", "shape has a negative extent at index 1"},
    {"Reshape", "float32[N,3]", "shape=[N,4]",
     "an operand of shape [N,3] cannot take the shape [N,4]: the numbers of elements differ"},
    {"Reshape", "float32[N,3]", "shape=[-1,2]", "cannot take the shape [-1,2]"},
    {"Reshape", "float32[0,3]", "shape=[0,-1]", "cannot take the shape [0,-1]"},
    {"Reshape", "float32[N,N]", "shape=[-1]", "not of the form a * N + b"},
    {"Flatten", "float32[N,3]", "axis=3", "axis 3 is out of range for a tensor of rank 2: expected -2 to 2"},
    {"Flatten", "float32[N,N,3]", "axis=2", "not of the form a * N + b"},
    {"Transpose", "float32[N,3]", "perm=[0,0]", "perm has 0 at index 1; each of 0 to 1 is expected once"},
    {"Transpose", "float32[N,3]", "perm=[0,2]", "perm has 2 at index 1"},
    {"Transpose", "float32[N,3]", "perm=[0]", "perm has 1 numbers where the operand has 2 dims"},
    {"Expand", "float32[N,3]", "shape=[2]", "shapes [N,3] and [2] do not broadcast together"},
    {"ReduceSum", "float32[N,3]", "axes=[2]", "axis 2 is out of range for a tensor of rank 2: expected -2 to 1"},
    {"ReduceMean", "float32[N,3]", "axes=[1,-1]", "axes names dim 1 twice"},
    {"ArgMax", "float32[N,3]", "axis=2", "axis 2 is out of range"},
    {"ArgMax", "float32[N,0]", "axis=1", "dim 1 is empty: it has no largest element"},
    {"Softmax", "float32[N,3]", "axis=-3", "axis -3 is out of range"},
    {"Softmax", "int32[N,3]", "", "has type int32, which this operator does not support"},
    {"SoftmaxCrossEntropyLoss", "float32[N,3], int64[N,1]", "", "labels has shape [N,1] where [N] is expected"},
    {"SoftmaxCrossEntropyLoss", "float32[N,3], int64[N]", "reduction=\"max\"",
     "reduction is 'max' where mean, sum or none is expected"},
    {"SoftmaxCrossEntropyLoss", "float32[N], int64[N]", "", "the scores have shape [N]"},
    {"SoftmaxCrossEntropyLoss", "float32[N,3], float32[N]", "", "operand 'labels' ('x1') has type float32"},
    {"SoftmaxCrossEntropyLoss", "float32[N,3], int64[N], float32[2]", "",
     "weights has shape [2] where [3] is expected"},
    {"BatchNormalization", "float32[N,3], float32[3], float32[3], float32[3], float32[4]", "",
     "input_var has shape [4] where [3]"},
    {"dp.ScaledDotProductAttention", "float32[N,3,2,4], float32[N,5,2,4], float32[N,5,2,4], bool[3,5]", "is_causal=1",
     "is_causal cannot be combined with a mask"},
    {"dp.ScaledDotProductAttention", "float32[N,3,2,4], float32[N,5,2,4], float32[N,5,2,4]", "is_causal=2",
     "is_causal is 2 where 0 or 1"},
    {"dp.ScaledDotProductAttention", "float32[N,3,2,4], float32[N,5,2,4], float32[N,5,2,4]", "is_causal=1, masked=-9.0",
     "is_causal cannot be combined with masked"},
    {"Relu", "float32[N,3]", "inplace=\"yes\"", "attribute 'inplace' must be 0 or 1"},
    {"dp.GroupedBatchNormalization", "float32[N,3], float32[3], float32[3]", "groups=0, axis=\"data\"", "groups is 0"},
    {"dp.GroupedBatchNormalization", "float32[3*N,3], float32[3], float32[3]", "groups=2, unit=2, axis=\"data\"",
     "units of 2 rows"},
    {"BatchNormalization", "float32[N], float32[3], float32[3], float32[3], float32[3]", "",
     "[N, channels, ...] is expected"},
    {"BatchNormalization", "float32[N,3], float32[3], float32[3], float32[3], float32[3]", "epsilon=-1.0",
     "epsilon is -1"},
    {"Gather", "float32[N,3], int64[2]", "axis=2", "axis 2 is out of range for a tensor of rank 2: expected -2 to 1"},
    {"Gather", "float32[N,3], float32[2]", "", "operand 'indices' ('x1') has type float32"},
    {"Concat", "float32[N,3], float32[N,3]", "", "attribute 'axis' is missing"},
    {"Concat", "float32[N,3], float32[N,2]", "axis=0", "operand 2 has shape [N,2] where [N,3] is expected"},
    {"Split", "float32[N,6]", "axis=1, split=[5]", "the sizes of the parts add up to 1 less than the extent"},
    {"Split", "float32[N,6]", "axis=1, split=[7]", "part 0 has size 7 where 0 to 6 are left"},
    {"Split", "float32[N,6]", "split=[2]", "depends on the batch: it can only be divided into equal parts"},
    {"Slice", "float32[N,6]", "starts=[0], ends=[3]", "dim 0 depends on the number of samples"},
    {"Slice", "float32[N,6]", "starts=[0], ends=[3], axes=[1], steps=[0]", "the step along dim 1 is 0"},
    {"Slice", "float32[N,6]", "starts=[0,0], ends=[3,3], axes=[1,1]", "axes names dim 1 twice"},
    {"Squeeze", "float32[N,3]", "axes=[1]", "dim 1 is removed, but its extent is not 1"},
    {"Unsqueeze", "float32[N,3]", "axes=[0,-4]", "axes names dim 0 twice"},
    {"Where", "float32[N], float32[N], float32[N]", "", "operand 'condition' ('x0') has type float32"},
    {"Trilu", "float32[N]", "", "the operand has shape [N] where matrices are expected"},
    {"LayerNormalization", "float32[N,3], float32[N]", "", "scale has shape [N] where [3] is expected"},
    {"GroupNormalization", "float32[N,6,2], float32[6], float32[6]", "num_groups=4",
     "num_groups is 4, which must divide the 6 channels"},
    {"Mod", "float32[3], float32[3]", "", "fmod is 0, but floats need 1"},
    {"Gelu", "float32[3]", "approximate=\"erf\"", "approximate is 'erf' where none or tanh is expected"},
    {"PRelu", "float32[N,3], float32[2,3]", "", "do not broadcast together"},
    {"Pad", "float32[N,3]", "pads=[1,0,0,0]", "dim 0 depends on the number of samples and cannot be padded"},
    {"Pad", "float32[N,3]", "pads=[0,-4,0,2]", "pads of -4 and 2 do not match an extent of 3 (dim 1)"},
    {"Tile", "float32[N,3]", "repeats=[2]", "repeats has 1 numbers where the operand has 2 dims"},
    {"GatherElements", "float32[N,3], int64[N,4]", "", "indices of shape [N,4] do not fit data of shape [N,3]"},
    {"ScatterElements", "float32[3], int64[2], float32[2]", "reduction=\"sum\"", "reduction is 'sum' where none, add"},
    {"TopK", "float32[N,3]", "K=4", "4 elements are requested along dim 1 of shape [N,3]"},
    {"OneHot", "int64[N], , float32[3]", "depth=4", "values has shape [3] where [2] is expected"},
    {"ConvTranspose", "float32[N,3,4], float32[3,2,3]", "output_padding=[1]", "does not match an operand of extent 4"},
    {"ConvTranspose", "float32[N,3,4], float32[2,2,3]", "", "[N, C, ...] and [C, M/group, ...] are expected"},
    {"Dropout", "float32[N,3]", "ratio=1.0", "ratio is 1 where 0 or more and less than 1 is expected"},
    {"dp.Dropout", "float32[N,3], int64[], int64[]", "key=4294967296", "key is 4294967296 where a number of 32 bits"},
    {"dp.Dropout", "float32[N,3], int64[], int64[1]", "key=1", "step has shape [1] where [] is expected"},
    {"dp.SGD", "float32[3], float32[3], float32[3], float32[]", "", "momentum is 0, with m"},
    {"dp.SGD", "float32[3], , float32[3], float32[]", "momentum=0.5", "momentum is 0.5, without m"},
    {"dp.SGD", "float32[3], , float32[2], float32[]", "", "the gradient has shape [2] where [3] is expected"},
    {"dp.SGD", "float32[3], float32[3], float32[3], float32[]", "momentum=-0.5", "momentum is -0.5 where 0 or more"},
    {"dp.Adam", "float32[3], float32[2], float32[3], float32[3], float32[], int64[]", "", "m has shape [2] where [3]"},
    {"dp.Adam", "float32[3], float32[3], float32[3,1], float32[3], float32[], int64[]", "", "v has shape [3,1] where"},
    {"dp.Adam", "float32[3], float32[3], float32[3], float32[], float32[], int64[]", "", "the gradient has shape []"},
    {"dp.Adam", "float32[3], float32[3], float32[3], float32[3], float32[1], int64[]", "", "lr has shape [1] where []"},
    {"dp.Adam", "float32[3], float32[3], float32[3], float32[3], float32[], int64[1]", "", "step has shape [1] where"},
    {"dp.Adam", "float32[3], float32[3], float32[3], float32[3], float32[], int64[]", "beta1=1.0",
     "beta1 is 1 where 0 or more, less than 1, is expected"},
    {"dp.Adam", "float32[3], float32[3], float32[3], float32[3], float32[], int64[]", "beta2=-0.5",
     "beta2 is -0.5 where"},
    {"dp.Adam", "float32[3], float32[3], float32[3], float32[3], float32[], int64[]", "eps=-1.0",
     "eps is -1 where 0 or more"},
    {"dp.Adam", "float32[3], float32[3], float32[3], float32[3], float32[], int64[]", "weight_decay=-1.0",
     "weight_decay is -1 where 0 or more"},
    {"dp.RandomUniform", "int64[]", "key=1, shape=[3], low=2.0, high=1.0", "low is 2 and high is 1: an empty range"},
    {"dp.RandomUniform", "int64[], int64[1]", "key=1, shape=[3]", "step has shape [1] where [] is expected"},
    {"RandomUniform", "", "shape=[3], low=2.0, high=1.0", "low is 2 and high is 1: an empty range"},
    {"RandomUniform", "", "shape=[3], dtype=7", "dtype is 7"},
    {"RandomUniformLike", "int64[3]", "", "numbers of type int64 cannot be drawn; set attribute dtype to another"},
    {"RandomNormal", "", "shape=[3], scale=-1.0", "scale is -1 where 0 or more is expected"},
    {"RandomNormalLike", "float32[3]", "dtype=99", "numbers of type unknown cannot be drawn"},
    {"Bernoulli", "float32[3]", "dtype=8", "numbers of type"},
    {"CausalConvWithState", "float32[N,3,5], float32[3,1,4]", "activation=\"relu\"", "activation is 'relu'"},
    {"CausalConvWithState", "float32[2,3,N], float32[3,1,4]", "",
     "input has shape [2,3,N] where [batch, channels, length]"},
    {"CausalConvWithState", "float32[N,3,5], float32[3,2,4]", "", "weight has shape [3,2,4] where [3,1,4] is expected"},
    {"CausalConvWithState", "float32[N,3,5], float32[3,1,0]", "", "weight has shape [3,1,0] where [3,1,1] is expected"},
    {"CausalConvWithState", "float32[N,3,5], float32[3,1,4], float32[2]", "",
     "bias has shape [2] where [3] is expected"},
    {"CausalConvWithState", "float32[N,3,5], float32[3,1,4], , float32[N,3,4]", "",
     "past_state has shape [N,3,4] where [N,3,3] is expected"},
    {"LinearAttention", "float32[N,2,4], float32[N,2,4], float32[N,2,4]",
     "q_num_heads=2, kv_num_heads=2, update_rule=\"x\"",
     "update_rule is 'x' where linear, gated, delta or gated_delta is expected"},
    {"LinearAttention", "float32[N,2,4], float32[N,2,4], float32[N,2,4]", "q_num_heads=2, kv_num_heads=2",
     "the update rule 'gated_delta' is one with decay and with beta"},
    {"LinearAttention", "float32[N,2,4], float32[N,2,4], float32[N,2,4]", "q_num_heads=2, kv_num_heads=0",
     "q_num_heads is 2, which is no multiple of kv_num_heads, 0"},
    {"LinearAttention", "float32[N,2,5], float32[N,2,4], float32[N,2,4]", "q_num_heads=2, kv_num_heads=2",
     "query has shape [N,2,5] where [batch, length, q_num_heads * d_k] is expected"},
    {"LinearAttention", "float32[2,N,4], float32[2,N,4], float32[2,N,4]", "q_num_heads=2, kv_num_heads=2",
     "the length of the sequence depends on the batch or is 0; a fixed one is expected"},
    {"LinearAttention", "float32[N,2,4], float32[N,2,2], float32[N,2,4]", "q_num_heads=2, kv_num_heads=2",
     "key has shape [N,2,2] where [batch, length, kv_num_heads * d_k] is expected"},
    {"LinearAttention", "float32[N,2,4], float32[N,2,4], float32[N,3,4]", "q_num_heads=2, kv_num_heads=2",
     "value has shape [N,3,4] where [batch, length, kv_num_heads * d_v] is expected"},
    {"LinearAttention", "float32[N,2,4], float32[N,2,4], float32[N,2,4], , float32[N,2,3]",
     "q_num_heads=2, kv_num_heads=2, update_rule=\"gated\"",
     "decay has shape [N,2,3] where [batch, length, kv_num_heads or kv_num_heads * d_k] is expected"},
    {"LinearAttention", "float32[N,2,4], float32[N,2,4], float32[N,2,4], , , float32[N,2,3]",
     "q_num_heads=2, kv_num_heads=2, update_rule=\"delta\"",
     "beta has shape [N,2,3] where [batch, length, kv_num_heads or 1] is expected"},
    {"LinearAttention", "float32[N,2,4], float32[N,2,4], float32[N,2,4], float32[N,2,2,3]",
     "q_num_heads=2, kv_num_heads=2, update_rule=\"linear\"",
     "past_state has shape [N,2,2,3] where [N,2,2,2] is expected"},
    {"dp.RandomUniform", "int64[]", "key=1, shape=[3], dtype=7", "dtype is 7"},
    {"dp.RandomNormal", "int64[]", "key=1, shape=[-3]", "negative or too large"},
    {"dp.Fill", "", "shape=[4294967296,4294967296]", "more elements than can be addressed"},
    {"dp.Fill", "", "", "attribute 'shape' is missing"},
};

class Refused : public testing::TestWithParam<Wrong> {};

TEST_P(Refused, InThoseWords) {
  Wrong wrong = GetParam();
  std::string name = wrong.op;
  bool ours = name.rfind("dp.", 0) == 0;
  dp_sample sample{wrong.inputs, wrong.attrs, 4, 0, 0, false};
  Built built({dp_op_find(ours ? "dp" : "", ours ? name.c_str() + 3 : name.c_str()), &sample, 0, false});
  EXPECT_NE(built.error.find(wrong.message), std::string::npos) << built.error;
  EXPECT_EQ(built.error.rfind("node 'node' (" + name + "): ", 0), 0u) << built.error;
}

void PrintTo(const Wrong &wrong, std::ostream *out) { *out << wrong.op << " " << wrong.inputs << " " << wrong.attrs; }

INSTANTIATE_TEST_SUITE_P(Ops, Refused, testing::ValuesIn(kWrong));

// ---- results --------------------------------------------------------------------------------------------------------

std::string TypeOf(const char *op, const char *inputs, const char *attrs) {
  dp_sample sample{inputs, attrs, 4, 0, 0, false};
  Built built({dp_op_find("", op), &sample, 0, false});
  char text[256];
  return built.error.empty() ? dp_type_print(built.node->outputs[0]->type, text, sizeof text) : built.error;
}

TEST(Infer, ExtentsFollowTheSamples) {
  EXPECT_EQ(TypeOf("Reshape", "float32[N,4,6]", "shape=[-1,8]"), "float32[3*N,8]");
  EXPECT_EQ(TypeOf("Reshape", "float32[6*N,4]", "shape=[N,-1]"), "float32[N,24]");
  EXPECT_EQ(TypeOf("Reshape", "float32[N,4]", "shape=[0,2,2]"), "float32[N,2,2]");
  EXPECT_EQ(TypeOf("Reshape", "float32[2*N+1,4]", "shape=[-1,2]"), "float32[4*N+2,2]");
  EXPECT_EQ(TypeOf("Flatten", "float32[N,4,6]", ""), "float32[N,24]");
  EXPECT_EQ(TypeOf("Flatten", "float32[4,N,6]", "axis=2"), "float32[4*N,6]");
  EXPECT_EQ(TypeOf("Conv", "float32[2*N,3,9,9], float32[4,3,3,3]", "strides=[2,2]"), "float32[2*N,4,4,4]");
  EXPECT_EQ(TypeOf("ReduceMean", "float32[N,4,6]", "axes=[1], keepdims=0"), "float32[N,6]");
  EXPECT_EQ(TypeOf("Expand", "float32[3,1]", "shape=[N,1,5]"), "float32[N,3,5]");
  EXPECT_EQ(TypeOf("Gemm", "float32[4,N], float32[4,3]", "transA=1"), "float32[N,3]");
  EXPECT_EQ(TypeOf("ArgMax", "float32[N,4]", "axis=-1, keepdims=0"), "int64[N]");
}

// A constant operand becomes the attribute of its name; a computed one is refused.
TEST(Infer, ConstantOperandsAreAttributes) {
  dp_arena *arena = dp_arena_create(0);
  dp_graph *graph = dp_graph_create(dp_model_create(arena, "m"), "main");
  dp_type type{DP_FLOAT32, {2, {dp_dim_batch(), dp_dim_of(6)}}};
  dp_value *x = dp_graph_add_value(graph, DP_VALUE_INPUT, "x", type);
  static const int64_t shape[] = {-1, 3}, axes[] = {1};
  static const bool yes = true;
  static const float ratio = 0.25f;
  dp_tensor shape_tensor{DP_INT64, 1, {2}, sizeof shape, shape}, axes_tensor{DP_INT64, 1, {1}, sizeof axes, axes};
  dp_tensor yes_tensor{DP_BOOL, 0, {}, sizeof yes, &yes}, ratio_tensor{DP_FLOAT32, 0, {}, sizeof ratio, &ratio};
  dp_value *reshape_in[] = {x, dp_graph_add_constant(graph, "shape", &shape_tensor)};
  dp_node *reshape = dp_graph_add_node(graph, dp_op_find("", "Reshape"), "r", 2, reshape_in, 1, nullptr, 0, nullptr);
  ASSERT_EQ(dp_op_infer(reshape), DP_OK);
  EXPECT_EQ(reshape->n_inputs, 1);
  EXPECT_TRUE(dp_dim_equal(reshape->outputs[0]->type->shape.dims[0], {2, 0}));
  ASSERT_EQ(dp_op_infer(reshape), DP_OK);  // repeatable

  dp_value *sum_in[] = {x, dp_graph_add_constant(graph, "axes", &axes_tensor)};
  dp_node *sum = dp_graph_add_node(graph, dp_op_find("", "ReduceSum"), "s", 2, sum_in, 1, nullptr, 0, nullptr);
  ASSERT_EQ(dp_op_infer(sum), DP_OK);
  EXPECT_TRUE(dp_dim_is(sum->outputs[0]->type->shape.dims[1], 1));

  dp_value *drop_in[] = {x, dp_graph_add_constant(graph, "ratio", &ratio_tensor),
                         dp_graph_add_constant(graph, "mode", &yes_tensor)};
  dp_node *drop = dp_graph_add_node(graph, dp_op_find("", "Dropout"), "d", 3, drop_in, 1, nullptr, 0, nullptr);
  ASSERT_EQ(dp_op_infer(drop), DP_OK);
  EXPECT_EQ(dp_node_float(drop, "ratio", 0), 0.25);
  EXPECT_EQ(dp_node_int(drop, "training_mode", 0), 1);

  dp_value *computed[] = {x, dp_graph_add_value(graph, DP_VALUE_INPUT, "later", {DP_INT64, {1, {dp_dim_of(2)}}})};
  dp_node *bad = dp_graph_add_node(graph, dp_op_find("", "Reshape"), "b", 2, computed, 1, nullptr, 0, nullptr);
  dp_status status = dp_op_infer(bad);
  EXPECT_NE(std::string(dp_status_message(status)).find("'shape' must be a constant, but 'later' is computed"),
            std::string::npos);
  dp_status_free(status);
  dp_arena_destroy(arena);
}

// ---- sharding rules -------------------------------------------------------------------------------------------------

std::string Rows(const char *op, const char *inputs, const char *attrs, std::vector<dp_placement> given = {}) {
  dp_sample sample{inputs, attrs, 4, 0, 0, false};
  Built built({dp_op_find("", op), &sample, 0, false});
  dp_sharding_rules rules;
  dp_op_sharding_rules_at(built.arena, built.node, int(given.size()), given.data(), &rules);
  std::string text;
  char one[64];
  for (int r = 1; r < rules.count; r++) {
    for (int i = 0; i < built.node->n_inputs; i++)
      text += (i ? " " : "") + std::string(dp_placement_print(rules.rules[r].in[i], one, sizeof one));
    text += std::string(" > ") + dp_placement_print(rules.rules[r].out[0], one, sizeof one) + "\n";
  }
  return text;
}

TEST(Rows, GemmSplitsByMByNAndByK) {
  EXPECT_EQ(Rows("Gemm", "float32[N,4], float32[3,4], float32[3]", "transB=1"),
            "S(0) R R > S(0)\n"
            "R S(0) S(0) > S(1)\n"
            "S(1) S(1) P(sum) > P(sum)\n"
            "P(sum) R P(sum) > P(sum)\n"
            "R P(sum) P(sum) > P(sum)\n");
}

// 64 channels of 7 x 7 flatten to blocks of 49; a batch of 5 tokens flattens to units of 5.
TEST(Rows, ReshapeCarriesSplitsThrough) {
  EXPECT_EQ(Rows("Flatten", "float32[N,64,7,7]", ""),
            "S(0) > S(0)\n"
            "S(1) > S(1,1,49)\n"
            "S(2) > S(1,64,7)\n"
            "S(3) > S(1,448,1)\n"
            "P(sum) > P(sum)\n"
            "P(max) > P(max)\n");
  EXPECT_EQ(Rows("Reshape", "float32[N,5,8]", "shape=[-1,8]"),
            "S(0) > S(0,1,5)\n"
            "S(2) > S(1)\n"
            "P(sum) > P(sum)\n"
            "P(max) > P(max)\n");
  EXPECT_EQ(Rows("Reshape", "float32[5*N,8]", "shape=[N,5,2,4]", {dp_shard_in(0, 1, 5), dp_shard_in(1, 2, 2)}),
            "S(0,1,5) > S(0)\n"
            "S(1,2,2) > S(3,1,2)\n"
            "S(1,1,4) > S(2)\n"
            "S(1,2,1) > S(3)\n"
            "P(sum) > P(sum)\n"
            "P(max) > P(max)\n");
}

// A fused projection's q, k and v are split by heads alike, and so is what is cut out of it.
TEST(Rows, BlocksAreSplitAlike) {
  std::string split = Rows("Split", "float32[N,12]", "axis=1, num_outputs=3", {dp_shard_in(1, 1, 2)});
  EXPECT_NE(split.find("S(1,3,1) > S(1)\n"), std::string::npos) << split;
  EXPECT_NE(split.find("S(1,3,2) > S(1,1,2)\n"), std::string::npos) << split;
  std::string cut = Rows("Slice", "float32[N,12]", "starts=[4], ends=[8], axes=[1]");
  EXPECT_NE(cut.find("S(1,3,1) > S(1)\n"), std::string::npos) << cut;
  std::string uneven = Rows("Slice", "float32[N,12]", "starts=[3], ends=[8], axes=[1]");
  EXPECT_EQ(uneven, "S(0) > S(0)\nP(sum) > P(sum)\n");
  std::string joined = Rows("Concat", "float32[N,4], float32[N,4]", "axis=1");
  EXPECT_NE(joined.find("S(1) S(1) > S(1,2,1)\n"), std::string::npos) << joined;
}

TEST(Rows, GatherSplitsTableColumnsAndTokens) {
  EXPECT_EQ(Rows("Gather", "float32[9,4], int64[N,3]", ""),
            "S(0) R > P(sum)\n"
            "S(1) R > S(2)\n"
            "R S(0) > S(0)\n"
            "R S(1) > S(1)\n"
            "P(sum) R > P(sum)\n");
}

TEST(Rows, NormalizationKeepsGroupsWhole) {
  EXPECT_EQ(Rows("GroupNormalization", "float32[N,6,2], float32[6], float32[6]", "num_groups=3"),
            "S(0) R R > S(0)\n"
            "S(1,1,2) S(0,1,2) S(0,1,2) > S(1,1,2)\n");
  EXPECT_EQ(Rows("LayerNormalization", "float32[N,5,8], float32[8], float32[8]", ""),
            "S(0) R R > S(0)\n"
            "S(1) R R > S(1)\n");
}

TEST(Rows, ConvSplitsBySampleAndChannels) {
  EXPECT_EQ(Rows("Conv", "float32[N,4,5,5], float32[6,2,3,3], float32[6]", "group=2"),
            "S(0) R R > S(0)\n"
            "S(1,1,2) S(0,1,3) S(0,1,3) > S(1,1,3)\n"
            "R S(0,2,1) S(0,2,1) > S(1,2,1)\n"
            "S(1,2,1) S(1) P(sum) > P(sum)\n"
            "P(sum) R P(sum) > P(sum)\n"
            "R P(sum) P(sum) > P(sum)\n");
}

}  // namespace
}  // namespace dp_test
