// Convolution and pooling by functions of our own against the CPU's reference.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/cuda/convolutions.h"

namespace dp_test {
namespace {

constexpr char kConv[] = "cuda.device.Conv", kGradInput[] = "cuda.device.dp.ConvGradInput",
               kGradWeight[] = "cuda.device.dp.ConvGradWeight";

TEST(Windows, Samples) {
  CheckSamples("Conv", "", kConv);
  CheckSamples("ConvGradInput", "dp", kGradInput);
  CheckSamples("ConvGradWeight", "dp", kGradWeight);
  CheckSamples("MaxPool", "", "cuda.device.MaxPool");
  CheckSamples("MaxPoolGrad", "dp", "cuda.device.dp.MaxPoolGrad");
  CheckSamples("AveragePool", "", "cuda.device.AveragePool");
  CheckSamples("AveragePoolGrad", "dp", "cuda.device.dp.AveragePoolGrad");
  CheckSamples("GlobalAveragePool", "", "cuda.device.GlobalAveragePool");
}

TEST(Windows, RandomConvolutions) {
  Random random(1);
  for (int i = 0; i < 60; i++) {
    ConvolutionKind kind;
    const char *const types[] = {"float32", "float64", "float32", "float16", "bfloat16"};
    kind.type = types[i % 5];
    const Convolutions v = DrawConvolutions(random, kind, i % 8 == 7 ? 0 : random.Int(1, 4));
    Check(v.forward, kConv);
    Check(v.grad_input, kGradInput);
    Check(v.grad_weight, kGradWeight);
    if (Draw(v.forward).out[0].local.rank == 4) {
      Check(v.forward, kConv, true);
      Check(v.grad_input, kGradInput, true);
      Check(v.grad_weight, kGradWeight, true);
    }
    if (HasFatalFailure()) return;
  }
}

// The first result alone, as of maxima whose indices nobody asks for.
void CheckAlone(Ready ready, bool exact) {
  ASSERT_EQ(ready.built->error, "");
  ready.built->node->n_outputs = 1;
  ready.out.resize(1);
  const Outcome expected = RunReference(ready.built->node, ready.in, ready.out);
  const Outcome found = RunCuda("", ready.built->node, ready.in, ready.out);
  ASSERT_EQ(expected.error + found.error, "");
  ExpectSame(expected.results[0], found.results[0], exact);
}

// Pads, dilations, windows that ceil_mode lets reach beyond the padding, maxima that are equal, no samples.
TEST(Windows, RandomPooling) {
  Random random(2);
  for (int i = 0; i < 32; i++) {
    const int rank = int(random.Int(1, 3));
    std::vector<int64_t> x = {random.Int(1, 4)}, kernel, strides, dilations, pads(size_t(2 * rank));
    std::string y;
    const bool ceil = random.Int(0, 1);
    for (int d = 0; d < rank; d++) {
      const int64_t taps = random.Int(1, 3), dilation = random.Int(1, 2), window = (taps - 1) * dilation + 1;
      const int64_t begin = random.Int(0, window - 1), end = random.Int(0, window - 1), stride = random.Int(1, 3);
      const int64_t extent = window + random.Int(0, 6), room = extent + begin + end - window;
      int64_t windows = room / stride + 1;
      if (ceil && room % stride && windows * stride < extent + begin) windows++;
      x.push_back(extent);
      kernel.push_back(taps);
      strides.push_back(stride);
      dilations.push_back(dilation);
      pads[size_t(d)] = begin;
      pads[size_t(rank + d)] = end;
      y += "," + std::to_string(windows);
    }
    const int64_t n = i % 8 == 7 ? 0 : random.Int(1, 3);
    const char *const types[] = {"float32", "float64", "float32", "float16", "bfloat16"};
    const std::string type = types[i % 5], of_x = Shape("N", x);
    const std::string of_y = "[N," + std::to_string(x[0]) + y + "]";
    const std::string attrs = "kernel_shape=" + List(kernel) + ", strides=" + List(strides) +
                              ", dilations=" + List(dilations) + ", pads=" + List(pads) +
                              ", ceil_mode=" + std::to_string(ceil);
    const std::string counted = attrs + ", count_include_pad=" + std::to_string(random.Int(0, 1));
    Check({"MaxPool", "", type + of_x, attrs + ", storage_order=" + std::to_string(random.Int(0, 1)), n, 0},
          "cuda.device.MaxPool");
    CheckAlone(Draw({"MaxPool", "", type + of_x, attrs, n, 0}), true);
    Check({"MaxPool", "", (i % 2 ? "int8" : "uint8") + of_x, attrs, n, 0}, "cuda.device.MaxPool");
    Check({"MaxPoolGrad", "dp", type + of_x + ", " + type + of_y, attrs, n, 0}, "cuda.device.dp.MaxPoolGrad");
    Check({"AveragePool", "", type + of_x, counted, n, 0}, "cuda.device.AveragePool");
    Check({"AveragePoolGrad", "dp", type + of_y, "shape=" + of_x + ", " + counted, n, 0},
          "cuda.device.dp.AveragePoolGrad");
    Check({"GlobalAveragePool", "", type + of_x, "", n, 1}, "cuda.device.GlobalAveragePool");
    if (rank == 2) {
      Check({"MaxPool", "", type + of_x, attrs + ", storage_order=1", n, 0}, "cuda.device.MaxPool", true);
      Check({"MaxPoolGrad", "dp", type + of_x + ", " + type + of_y, attrs, n, 0}, "cuda.device.dp.MaxPoolGrad", true);
      Check({"AveragePool", "", type + of_x, counted, n, 0}, "cuda.device.AveragePool", true);
      Check({"AveragePoolGrad", "dp", type + of_y, "shape=" + of_x + ", " + counted, n, 0},
            "cuda.device.dp.AveragePoolGrad", true);
      Check({"GlobalAveragePool", "", type + of_x, "", n, 1}, "cuda.device.GlobalAveragePool", true);
    }
    if (HasFatalFailure()) return;
  }
}

// Channels in NHWC that a block's threads divide and that they do not.
TEST(Windows, MeansOfManyChannels) {
  for (int64_t channels : {1, 24, 64, 65, 200})
    for (const char *type : {"bfloat16", "float32"})
      Check({"GlobalAveragePool", "", type + std::string("[N,") + std::to_string(channels) + ",7,9]", "", 3, 1},
            "cuda.device.GlobalAveragePool", true);
}

TEST(Windows, LargePlanes) {
  for (int64_t width : {63, 127, 128, 129, 1000})
    Check({"GlobalAveragePool", "", "float32[N,3,5," + std::to_string(width) + "]", "", 2, 1},
          "cuda.device.GlobalAveragePool");
}

// NaN is the largest, and the first one gets the gradient; of equal elements the first one does.
TEST(Windows, NaNAndTies) {
  Ready pool = Draw({"MaxPool", "", "float32[1,1,4,4]", "kernel_shape=[3,3], strides=[1,1]", 1, 0});
  Ready grad = Draw({"MaxPoolGrad", "dp", "float32[1,1,4,4], float32[1,1,2,2]", "kernel_shape=[3,3]", 1, 0});
  for (int kind = 0; kind < 3; kind++) {
    for (int64_t i = 0; i < 16; i++)
      pool.in[0].Set(i, kind == 0 ? 1 : kind == 1 && i % 5 == 0 ? NAN : kind == 2 ? -INFINITY : double(i % 3));
    grad.in[0] = pool.in[0];
    for (const Ready *ready : {&pool, &grad}) {
      const Outcome expected = RunReference(ready->built->node, ready->in, ready->out);
      const Outcome found = RunCuda("", ready->built->node, ready->in, ready->out);
      ASSERT_EQ(expected.error + found.error, "");
      for (size_t i = 0; i < found.results.size(); i++)
        for (int64_t k = 0; k < found.results[i].Count(); k++) {
          const double a = expected.results[i].Get(k), b = found.results[i].Get(k);
          EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << kind << " " << i << " " << k;
        }
    }
  }
}

// Windows of NaN, of infinities, and of -infinity alone, in maxima and in means.
TEST(Windows, NumbersThatAreNone) {
  for (const char *op : {"MaxPool", "AveragePool"})
    for (const char *type : {"float32", "float64", "float16", "bfloat16"}) {
      SCOPED_TRACE(op + std::string(" ") + type);
      Ready ready = Draw({op, "", type + std::string("[N,1,4,6]"), "kernel_shape=[2,2], strides=[2,2]", 1, 0});
      ready.in[0].Set(0, NAN);
      for (int64_t i : {2, 3, 8, 9}) ready.in[0].Set(i, -INFINITY);
      for (int64_t i : {4, 12}) ready.in[0].Set(i, INFINITY);
      ready.in[0].Set(13, -INFINITY);
      CheckAlone(std::move(ready), op == std::string("MaxPool"));
    }
}

// Padding that counts at some ends alone.
TEST(Windows, MeansOfPadsThatDiffer) {
  for (const char *pads : {"[1,0,0,1]", "[0,1,1,0]", "[0,0,1,1]", "[1,1,0,0]"})
    for (int counts : {0, 1}) {
      const std::string attrs =
          "kernel_shape=[2,2], pads=" + std::string(pads) + ", count_include_pad=" + std::to_string(counts);
      Check({"AveragePool", "", "float32[N,2,4,5]", attrs, 2, 0}, "cuda.device.AveragePool");
    }
}

// Means and their gradients by vectors, of rows of plain tensors and of channels in NHWC: rows of every vector, windows
// apart, side by side, over each other, beyond x, of strides that divide a vector and that do not, dilated ones; pads
// that count and that do not; addresses that are no multiples of 16.
TEST(Windows, MeansByVectors) {
  struct {
    const char *x, *y, *attrs;
    int64_t n;
  } const cases[] = {
      {"[N,2,6,8]", "[N,2,3,4]", "kernel_shape=[2,2], strides=[2,2]", 3},
      {"[N,8,5,16]", "[N,8,5,16]", "kernel_shape=[3,3], pads=[1,1,1,1]", 2},
      {"[N,16,4,24]", "[N,16,2,8]", "kernel_shape=[2,2], strides=[2,3]", 1},
      {"[N,3,7,12]", "[N,3,4,6]", "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]", 2},
      {"[N,6,9,10]", "[N,6,3,3]", "kernel_shape=[2,3], strides=[4,4], ceil_mode=1", 2},
      {"[N,8,5,4]", "[N,8,3,2]", "kernel_shape=[2,3], strides=[2,2], ceil_mode=1, pads=[0,1,0,0]", 2},
      {"[N,8,5,8]", "[N,8,1,4]", "kernel_shape=[5,5]", 2},
      {"[N,8,7,8]", "[N,8,2,2]", "kernel_shape=[6,7]", 2},  // more taps than vectors go through
      {"[N,8,6,8]", "[N,8,4,5]", "kernel_shape=[2,2], dilations=[2,3]", 2},
      {"[N,8,1,1]", "[N,8,1,1]", "kernel_shape=[1,1]", 1},
      {"[N,8,4,4]", "[N,8,2,2]", "kernel_shape=[2,2], strides=[2,2]", 0},
  };
  int number = 0;
  for (const auto &of : cases)
    for (const bool channels_last : {false, true})
      for (const int counts : {0, 1}) {
        const char *const types[] = {"float32", "bfloat16", "float16", "float32", "float64"};
        const std::string type = types[number++ % 5];
        const std::string attrs = of.attrs + std::string(", count_include_pad=") + std::to_string(counts);
        for (const size_t offset : {0, 8}) {
          TensorOffset() = offset;
          Check({"AveragePool", "", type + of.x, attrs, of.n, 0}, "cuda.device.AveragePool", channels_last);
          Check({"AveragePoolGrad", "dp", type + of.y, "shape=" + std::string(of.x) + ", " + attrs, of.n, 0},
                "cuda.device.dp.AveragePoolGrad", channels_last);
          TensorOffset() = 0;
        }
      }
}

// Expects maxima and their gradients of equal elements, NaN and infinities everywhere to be the reference's.
void CheckMaxima(Random &random, const Problem &p, bool channels_last) {
  SCOPED_TRACE(p.Print() + (channels_last ? " in NHWC" : ""));
  Ready ready = Draw(p);
  ASSERT_EQ(ready.built->error, "");
  for (int64_t i = 0; i < ready.in[0].Count(); i++) {
    const int64_t drawn = random.Int(0, 30);
    ready.in[0].Set(i, drawn ? drawn > 3 ? double(drawn % 3) : -INFINITY : double(NAN));
  }
  if (p.op == "MaxPool") {  // its indices are wanted by nobody
    ready.built->node->n_outputs = 1;
    ready.out.resize(1);
  }
  const Outcome expected = RunReference(ready.built->node, ready.in, ready.out);
  const Outcome found = RunCuda("", ready.built->node, ready.in, ready.out, channels_last);
  ASSERT_EQ(expected.error + found.error, "");
  ExpectSame(expected.results[0], found.results[0], p.op == "MaxPool" || !IsHalf(ready.out[0].dtype));
}

// Gradients of maxima by tiles: planes of several tiles and tiles of several planes, windows that lie in several tiles,
// that are apart, dilated, of three dims, as large as the plane; equal elements, NaN and infinities everywhere.
TEST(Windows, TilesOfMaxima) {
  struct {
    const char *x, *y, *attrs;
    int64_t n;
  } const cases[] = {
      {"[N,2,112,112]", "[N,2,56,56]", "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]", 1},
      {"[N,128,28,28]", "[N,128,14,14]", "kernel_shape=[2,2], strides=[2,2]", 20},  // several planes to a tile
      {"[N,3,90,91]", "[N,3,88,89]", "kernel_shape=[3,3]", 1},
      {"[N,1,5,4100]", "[N,1,3,4098]", "kernel_shape=[3,3]", 2},
      {"[N,1,3,4096]", "[N,1,3,4096]", "kernel_shape=[3,5], pads=[1,2,1,2]", 1},
      {"[N,1,20000]", "[N,1,6667]", "kernel_shape=[2], strides=[3], pads=[1,0]", 1},
      {"[N,2,9,8]", "[N,2,1,1]", "kernel_shape=[9,8]", 3},
      {"[N,1,60,33]", "[N,1,41,24]", "kernel_shape=[20,10]", 1},
      {"[N,2,40,44]", "[N,2,19,38]", "kernel_shape=[3,3], strides=[2,1], dilations=[2,3], pads=[0,0,1,0]", 1},
      {"[N,2,7,7]", "[N,2,5,4]", "kernel_shape=[2,2], dilations=[2,3]", 2},
      {"[N,2,4,5,4]", "[N,2,3,4,4]", "kernel_shape=[2,2,2], pads=[0,0,1,0,0,0]", 2},
      {"[N,2,8,8]", "[N,2,3,3]", "kernel_shape=[1,1], strides=[3,3]", 2},
      {"[N,1,1,1]", "[N,1,1,1]", "kernel_shape=[1,1]", 1},
      {"[N,2,4,4]", "[N,2,2,2]", "kernel_shape=[2,2], strides=[2,2]", 0},
  };
  Random random(6);
  int number = 0;
  for (const auto &of : cases)
    for (int again = 0; again < 2; again++) {
      const char *const types[] = {"float32", "bfloat16", "float64", "float16"};
      const std::string type = types[number++ % 4];
      CheckMaxima(random, {"MaxPoolGrad", "dp", type + of.x + ", " + type + of.y, of.attrs, of.n, 0}, false);
      if (HasFailure()) return;
    }
}

// Maxima and their gradients in NHWC: planes of several tiles and tiles that planes do not fill, vectors of every
// number of channels, none; windows that lie in several tiles, that are apart, dilated, larger than what is searched by
// vectors, beyond x.
TEST(Windows, MaximaInNhwc) {
  struct {
    const char *x, *y, *attrs;
    int64_t n;
  } const cases[] = {
      {"[N,8,35,37]", "[N,8,18,19]", "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]", 2},
      {"[N,72,9,20]", "[N,72,4,10]", "kernel_shape=[2,2], strides=[2,2]", 1},
      {"[N,4,19,23]", "[N,4,17,21]", "kernel_shape=[3,3]", 2},
      {"[N,3,8,9]", "[N,3,4,5]", "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]", 2},
      {"[N,6,5,41]", "[N,6,5,41]", "kernel_shape=[3,5], pads=[1,2,1,2]", 1},
      {"[N,8,14,15]", "[N,8,3,3]", "kernel_shape=[2,1], strides=[5,6]", 1},
      {"[N,8,9,8]", "[N,8,1,1]", "kernel_shape=[9,8]", 2},
      {"[N,8,7,7]", "[N,8,5,4]", "kernel_shape=[2,2], dilations=[2,3]", 2},
      {"[N,16,5,5]", "[N,16,3,3]", "kernel_shape=[2,2], strides=[2,2], ceil_mode=1", 3},
      {"[N,8,4,4]", "[N,8,2,2]", "kernel_shape=[2,2], strides=[2,2]", 0},
  };
  Random random(7);
  for (const auto &of : cases)
    for (const std::string type : {"bfloat16", "float16", "float32"}) {
      CheckMaxima(random, {"MaxPoolGrad", "dp", type + of.x + ", " + type + of.y, of.attrs, of.n, 0}, true);
      CheckMaxima(random, {"MaxPool", "", type + of.x, of.attrs, of.n, 0}, true);
      if (HasFailure()) return;
    }
  TensorOffset() = 8;  // vectors cannot be read at once
  const char *attrs = "kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]";
  CheckMaxima(random, {"MaxPoolGrad", "dp", "bfloat16[N,8,9,9], bfloat16[N,8,5,5]", attrs, 2, 0}, true);
  CheckMaxima(random, {"MaxPool", "", "bfloat16[N,8,9,9]", attrs, 2, 0}, true);
  TensorOffset() = 0;
}

// What each device of a split computes, some of them with no channels: the same as the reference on its part.
TEST(Windows, Parts) {
  struct Split {
    Problem problem;
    std::vector<dp_placement> in, out;
  };
  const dp_placement whole = dp_replicate(), rows = dp_shard(0), channels = dp_shard(1);
  const Problem conv{"Conv", "", "float32[N,6,5,5], float32[4,3,3,3], float32[4]", "group=2", 3, 30};
  const Problem flat{"Conv", "", "float32[N,3,5,5], float32[4,3,3,3]", "", 3, 30};
  const Problem input{"ConvGradInput", "dp", "float32[4,3,3,3], float32[N,4,3,3]", "shape=[N,3,5,5]", 3, 30};
  const Problem weight{"ConvGradWeight", "dp", "float32[N,3,5,5], float32[N,4,3,3]", "shape=[4,3,3,3]", 3, 30};
  const std::string window = "kernel_shape=[2,2], strides=[2,2]";
  const Split splits[] = {
      {conv, {dp_shard_in(1, 1, 3), dp_shard_in(0, 1, 2), dp_shard_in(0, 1, 2)}, {dp_shard_in(1, 1, 2)}},
      {conv, {dp_shard_in(1, 2, 1), channels, whole}, {whole}},
      {flat, {channels, channels}, {whole}},
      {flat, {whole, rows}, {channels}},
      {input, {channels, whole}, {channels}},
      {input, {rows, channels}, {whole}},
      {weight, {channels, whole}, {channels}},
      {weight, {whole, channels}, {rows}},
      {{"MaxPool", "", "float32[N,3,6,6]", window, 4, 0}, {channels}, {channels, channels}},
      {{"MaxPool", "", "float32[N,3,6,6]", window, 4, 0}, {rows}, {rows, rows}},
      {{"GlobalAveragePool", "", "float32[N,3,6,6]", "", 4, 1}, {dp_shard(2)}, {whole}},
  };
  const dp_mesh mesh{1, {{"tensor", 5}}};
  for (const Split &split : splits) {
    SCOPED_TRACE(split.problem.Print());
    const Ready ready = Draw(split.problem);
    ASSERT_EQ(ready.built->error, "");
    for (int64_t device = 0; device < 5; device++) {
      const int64_t coordinate[DP_MAX_MESH] = {device};
      std::vector<Tensor> in, out;
      for (size_t i = 0; i < split.in.size(); i++) {
        in.push_back(MakePart(*ready.built->node->inputs[i]->type, split.problem.n, &split.in[i], mesh, coordinate));
        Cut(ready.in[i], &in.back());
      }
      for (size_t i = 0; i < split.out.size(); i++)
        out.push_back(MakePart(*ready.built->node->outputs[i]->type, split.problem.n, &split.out[i], mesh, coordinate));
      while (in.size() < size_t(ready.built->node->n_inputs)) in.emplace_back();
      const Outcome expected = RunReference(ready.built->node, in, out);
      const Outcome found = RunCuda("", ready.built->node, in, out);
      ASSERT_EQ(expected.error + found.error, "");
      for (size_t i = 0; i < out.size(); i++)
        for (int64_t k = 0; k < out[i].Count(); k++)
          EXPECT_NEAR(expected.results[i].Get(k), found.results[i].Get(k), 1e-5) << "device " << device;
    }
  }
}

}  // namespace
}  // namespace dp_test
