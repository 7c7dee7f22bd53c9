// Tests every oneDNN kernel against the reference kernel of its operator. Shapes are random: strides, pads, groups,
// dilations, and zero, one or an odd number of samples. Channels are split into shards, some of them empty. The scratch
// is what is declared for the largest number of samples. The tolerance is 1e-5 times the square root of the length of
// the longest sum, for numbers near 1.
#include <gtest/gtest.h>

#include "backends/cpu/onednn/division.h"
#include "tests/backends/drawn_convolution.h"
#include "tests/backends/library_check.h"

namespace dp_test {
namespace {

TEST(OneDnn, ConvolutionsEqualReference) {
  Random random(1);
  for (int i = 0; i < 40; i++) {
    Convolution v = DrawConvolution(random, "float32");
    int64_t n = i % 8 == 7 ? 0 : random.Int(1, 5);
    Check({"Conv", "", v.x + ", " + v.w + (i % 2 ? ", " + v.b : ""), v.attrs, n, v.taps + 1});
    Check({"ConvGradInput", "dp", v.w + ", " + v.y, "shape=" + v.x_shape + ", " + v.attrs, n, v.taps * 20});
    Check({"ConvGradWeight", "dp", v.x + ", " + v.y, "shape=" + v.w_shape + ", " + v.attrs, n,
           v.windows * double(n) + 1});
  }
}

// Gradients that are summed up tap by tap: also taps that lie beside all of x, more samples than are multiplied at a
// time, none; few channels of x, and of both as many as a block has, some more and some fewer; planes that are copied
// with a padding.
TEST(OneDnn, GradientsByTapsEqualReference) {
  const struct {
    const char *x, *w, *y, *attrs;
    int64_t n, windows;
    bool planes = false;  // computed by products (SmallPlanesEqualReference) for AVX2
  } layers[] = {
      {"[N,128,4,4]", "[130,128,3,3]", "[N,130,4,4]", "pads=[1,1,1,1]", 5, 16, true},
      {"[N,130,2,2]", "[128,130,3,3]", "[N,128,2,2]", "pads=[1,1,1,1]", 301, 4, true},
      {"[N,129,1,1]", "[129,129,3,3]", "[N,129,1,1]", "pads=[1,1,1,1]", 3, 1, true},
      {"[N,128,7,7]", "[128,128,3,3]", "[N,128,4,4]", "pads=[1,1,1,1], strides=[2,2]", 2, 16, true},
      {"[N,128,7,7]", "[128,128,1,1]", "[N,128,4,4]", "strides=[2,2]", 2, 16, true},
      {"[N,128,5]", "[128,128,2]", "[N,128,5]", "pads=[2,0], dilations=[2]", 3, 5, true},
      {"[N,128,2,2,2]", "[128,128,2,2,2]", "[N,128,1,1,1]", "strides=[1,1,1]", 70, 1},
      {"[N,128,4,4]", "[128,128,3,3]", "[N,128,4,4]", "pads=[1,1,1,1]", 0, 16, true},
      {"[N,32,12,12]", "[37,32,3,3]", "[N,37,12,12]", "pads=[1,1,1,1]", 2, 144},
      {"[N,33,7,9]", "[1,33,1,1]", "[N,1,7,9]", "strides=[1,1]", 10, 63},
      {"[N,1,26,26]", "[64,1,3,3]", "[N,64,24,24]", "strides=[1,1]", 3, 576},
      {"[N,3,33,32]", "[35,3,7,7]", "[N,35,17,16]", "pads=[3,3,3,3], strides=[2,2]", 2, 272},
      {"[N,33,32,32]", "[9,33,3,1]", "[N,9,32,32]", "pads=[1,0,1,0]", 2, 1024},
      {"[N,31,6]", "[32,31,3]", "[N,32,3]", "pads=[1,1], strides=[2]", 200, 3},
  };
  for (const auto &l : layers) {
    const Problem p{"ConvGradWeight",
                    "dp",
                    std::string("float32") + l.x + ", float32" + l.y,
                    std::string("shape=") + l.w + ", " + l.attrs,
                    l.n,
                    double(l.n * l.windows) + 1};
    for (int threads : {1, 5}) Check(p, threads, "taps");
    Ready ready(p);
    Spec spec(ready.built->node, ready.in, ready.out, 1);
    EXPECT_TRUE(dp_kernel_find(&dp_target_cpu, "cpu.taps.dp.ConvGradWeight")->match(&spec));
    for (const bool avx512 : {false, true}) {
      spec.isa = avx512 ? "avx512" : "avx2";
      EXPECT_STREQ(dp_kernel_select(&dp_target_cpu, &spec, false)->name,
                   l.planes && !avx512 ? "cpu.planes.dp.ConvGradWeight" : "cpu.taps.dp.ConvGradWeight");
    }
  }
}

// Products of runs of windows: taps in padding alone, no samples, fewer of them than threads, more than are copied at a
// time; weights that each thread copies and weights that they divide; strides, whose steps are brought together;
// columns that no window reads.
TEST(OneDnn, SmallPlanesEqualReference) {
  const struct {
    const char *x, *w, *y, *attrs;
    double taps, windows;
    bool gradient_alone;
    int avx512 = 0;  // what is chosen for AVX-512: 1: ConvGradInput, 2: Conv too
  } layers[] = {
      {"[N,64,4,4]", "[67,64,3,3]", "[N,67,4,4]", "pads=[1,1,1,1]", 576, 16, false, 2},
      {"[N,195,2,3]", "[193,195,3,3]", "[N,193,2,3]", "pads=[1,1,1,1]", 1755, 6, false, 2},
      {"[N,192,1,1]", "[192,192,3,3]", "[N,192,1,1]", "pads=[1,1,1,1]", 192, 1, false, 2},
      {"[N,65,7,8]", "[64,65,3,3]", "[N,64,4,4]", "pads=[1,1,1,1], strides=[2,2]", 585, 16, false, 1},
      {"[N,64,3,7]", "[64,64,5,5]", "[N,64,3,3]", "pads=[2,2,2,2], strides=[1,3]", 1600, 9, false, 2},
      {"[N,64,9,11]", "[64,64,1,1]", "[N,64,5,4]", "strides=[2,3]", 64, 20, true},
      {"[N,64,5,5]", "[64,64,3,3]", "[N,64,2,1]", "strides=[2,3]", 576, 2, true},
      {"[N,64,6,5]", "[70,64,2,3]", "[N,70,9,4]", "pads=[4,0,0,3], dilations=[1,2]", 384, 36, false, 2},
      {"[N,64,5]", "[64,64,2]", "[N,64,5]", "pads=[2,0], dilations=[2]", 128, 5, false},
      {"[N,64,3,2,3]", "[64,64,3,2,3]", "[N,64,3,1,2]", "pads=[1,0,1,1,0,1], strides=[1,1,2]", 1152, 6, false, 2},
      {"[N,64,40,40]", "[64,64,3,3]", "[N,64,16,16]", "pads=[8,8,8,8], dilations=[20,20]", 576, 256, false, 2},
  };
  for (const auto &l : layers)
    for (int64_t n : {0, 2, 11}) {
      const std::string x = std::string("float32") + l.x, w = std::string("float32") + l.w, attrs = l.attrs,
                        y = std::string("float32") + l.y, m = std::string(l.w).substr(0, std::string(l.w).find(','));
      std::vector<Problem> problems = {
          {"ConvGradWeight", "dp", x + ", " + y, "shape=" + std::string(l.w) + ", " + attrs, n, l.windows * 11}};
      if (!l.gradient_alone) {
        problems.push_back({"Conv", "", x + ", " + w, attrs, n, l.taps});
        problems.push_back({"Conv", "", x + ", " + w + ", float32" + m + "]", attrs, n, l.taps + 1});
        problems.push_back(
            {"ConvGradInput", "dp", w + ", " + y, std::string("shape=") + l.x + ", " + attrs, n, l.taps * 1.1});
      }
      for (const Problem &p : problems) {
        for (int threads : {1, 5}) Check(p, threads, "planes");
        Ready ready(p);
        Spec spec(ready.built->node, ready.in, ready.out, 1);
        const std::string name = "cpu.planes." + (p.domain.empty() ? "" : p.domain + ".") + p.op;
        spec.isa = "avx2";
        EXPECT_EQ(dp_kernel_select(&dp_target_cpu, &spec, false)->name, name) << p.Print();
        const int least = p.op == "Conv" ? 2 : p.op == "ConvGradInput" ? 1 : 3;
        spec.isa = "avx512";
        EXPECT_EQ(dp_kernel_select(&dp_target_cpu, &spec, false)->name == name, l.avx512 >= least) << p.Print();
      }
    }
}

// The sizes of small image networks, for which oneDNN chooses other algorithms than for tiny ones.
TEST(OneDnn, LayersEqualReference) {
  for (const char *x : {"[N,1,8,8]", "[N,3,9,9]", "[N,16,8,8]", "[N,32,7,7]"}) {
    std::string channels = std::string(x).substr(3, std::string(x).find(',', 3) - 3),
                image = std::string(x).substr(3 + channels.size());
    std::string w = "[32," + channels + ",3,3]", y = "[N,32" + image, attrs = "pads=[1,1,1,1]";
    double c = std::stod(channels);
    Check({"Conv", "", "float32" + std::string(x) + ", float32" + w + ", float32[32]", attrs, 7, 9 * c}, 2);
    Check({"ConvGradInput", "dp", "float32" + w + ", float32" + y, std::string("shape=") + x + ", " + attrs, 7, 9 * 32},
          2);
    Check(
        {"ConvGradWeight", "dp", std::string("float32") + x + ", float32" + y, "shape=" + w + ", " + attrs, 7, 7 * 81},
        2);
  }
}

// Convolutions that threads divide: by samples, and those that remain by channels, by groups or by rows. There are more
// threads than samples, channels or rows, channels that are no whole blocks, windows that lie in padding alone.
TEST(OneDnn, DividedConvolutionsEqualReference) {
  Random random(4);
  for (int i = 0; i < 12; i++) {
    const Convolution v = DrawConvolution(random, "float32", 20);
    const int64_t n = i % 6 == 5 ? 0 : random.Int(1, 7);
    Check({"Conv", "", v.x + ", " + v.w + (i % 2 ? ", " + v.b : ""), v.attrs, n, v.taps + 1}, 5);
    Check({"ConvGradInput", "dp", v.w + ", " + v.y, "shape=" + v.x_shape + ", " + v.attrs, n, v.taps * 20}, 5);
  }
  const struct {
    const char *x, *w, *y, *attrs;
    double taps;
  } layers[] = {
      {"[N,3,33,31]", "[40,3,7,7]", "[N,40,17,16]", "pads=[3,3,3,3], strides=[2,2]", 147},
      {"[N,16,12,5]", "[16,16,3,3]", "[N,16,12,5]", "pads=[2,1,0,1], dilations=[1,1]", 144},
      {"[N,16,11,6]", "[17,16,3,2]", "[N,17,5,5]", "dilations=[3,1]", 96},
      {"[N,16,6,6]", "[5,16,1,1]", "[N,5,12,7]", "pads=[3,0,3,1]", 16},
      {"[N,16,2,2]", "[33,16,2,2]", "[N,33,1,1]", "", 64},
      {"[N,40,9,9]", "[40,1,3,3]", "[N,40,9,9]", "group=40, pads=[1,1,1,1]", 9},
      {"[N,40,7,7]", "[80,4,3,3]", "[N,80,7,7]", "group=10, pads=[1,1,1,1]", 36},
      {"[N,32,7,7]", "[64,16,3,3]", "[N,64,7,7]", "group=2, pads=[1,1,1,1]", 144},
      {"[N,20,30]", "[16,20,3]", "[N,16,30]", "pads=[1,1]", 60},
      // More weights than elements of seven images: by channels of all of them, where there are enough.
      {"[N,96,2,3]", "[80,96,3,3]", "[N,80,2,3]", "pads=[1,1,1,1]", 864},
      {"[N,64,3,2]", "[128,32,3,3]", "[N,128,3,2]", "group=2, pads=[1,1,1,1]", 288},
      {"[N,64,5]", "[96,64,3]", "[N,96,3]", "", 192},
      {"[N,8,7,5,6]", "[16,8,3,2,2]", "[N,16,3,4,5]", "strides=[2,1,1]", 96},
  };
  for (const auto &l : layers)
    for (int64_t n : {1, 2, 7}) {
      const std::string x = std::string("float32") + l.x, w = std::string("float32") + l.w,
                        attrs = *l.attrs ? std::string(", ") + l.attrs : "";
      Check({"Conv", "", x + ", " + w, l.attrs, n, l.taps + 1}, 6);
      Check({"ConvGradInput", "dp", w + ", float32" + l.y, std::string("shape=") + l.x + attrs, n, l.taps * 4}, 6);
    }
  for (int64_t n : {1, 2, 7}) {
    Check({"AveragePool", "", "float32[N,35,9,6]", "kernel_shape=[3,2], strides=[2,1], pads=[1,0,1,1]", n, 6}, 6);
    Check({"GlobalAveragePool", "", "float32[N,35,9,6]", "", n, 54}, 6);
  }
}

// A kernel that converts operands first has one part, which computes those of the convolution by OpenMP's threads.
TEST(OneDnn, ConvertedConvolutionsAreDivided) {
  for (int64_t n : {0, 1, 5}) {
    Ready ready({"Conv", "", "float16[N,16,9,9], float16[40,16,3,3], float16[40]", "pads=[1,1,1,1]", n, 145});
    ASSERT_EQ(ready.built->error, "");
    const dp_node *node = ready.built->node;
    const Outcome expected = RunKernel("cpu.wide.Conv", node, ready.in, ready.out);
    ASSERT_EQ(expected.error, "");
    for (int threads = 1; threads <= 6; threads++) {
      const Outcome found = RunKernel("cpu.fast_wide.Conv", node, ready.in, ready.out, threads);
      ASSERT_EQ(found.error, "");
      for (int64_t i = 0; i < found.results[0].Count(); i++)
        ASSERT_NEAR(expected.results[0].Get(i), found.results[0].Get(i), 1e-2) << "element " << i;
    }
  }
}

// A part has at most so many blocks of channels (or groups that make up one), and rows, of a sample that is divided.
TEST(OneDnn, DividesSamplesEvenly) {
  const struct {
    int64_t channels, groups, rows;
    int parts;
    int64_t most_blocks, most_rows;
  } divisions[] = {
      {64, 1, 56, 2, 2, 56}, {48, 1, 56, 2, 3, 28},  {64, 1, 56, 3, 4, 19}, {64, 1, 56, 8, 1, 28},
      {64, 1, 2, 8, 1, 1},   {16, 1, 7, 5, 1, 2},    {3, 1, 1, 4, 1, 1},    {32, 32, 9, 2, 1, 9},
      {24, 2, 4, 2, 2, 2},   {2048, 1, 7, 2, 64, 7}, {40, 1, 9, 6, 1, 5},
  };
  for (const auto &d : divisions) {
    SCOPED_TRACE(testing::Message() << d.channels << " " << d.groups << " " << d.rows << " " << d.parts);
    dp_primitive_spec p = {};
    p.kind = DP_PRIMITIVE_CONV;
    p.samples = p.threads = 1;
    p.x_channels = p.y_channels = d.channels;
    p.groups = d.groups;
    p.window.rank = 1;
    p.window.x[0] = p.window.y[0] = d.rows;
    p.window.kernel[0] = p.window.stride[0] = p.window.dilation[0] = 1;
    const dp_division division = dp_division_of(&p, d.parts);
    EXPECT_EQ(division.channels * division.rows, d.parts);
    int64_t blocks = 0, rows = 0, results = 0;
    for (int i = 0; i < d.parts; i++) {
      dp_share share;
      if (!dp_division_share(&p, &division, i, &share)) continue;
      blocks = std::max(blocks, (share.spec.y_channels + 15) / 16);
      rows = std::max(rows, share.spec.window.y[0]);
      results += dp_primitive_sample(&share.spec, false);
    }
    EXPECT_EQ(blocks, d.most_blocks);
    EXPECT_EQ(rows, d.most_rows);
    EXPECT_EQ(results, dp_primitive_sample(&p, false));
  }
}

// By channels if the weights are larger than the images that they are applied to, and all parts have some. The parts
// have all channels, each once.
TEST(OneDnn, DividesChannelsOfAllSamples) {
  dp_primitive_spec p = {};
  p.samples = p.threads = p.groups = 1;
  p.x_channels = 48, p.y_channels = 72;
  p.window.rank = 1;
  p.window.x[0] = p.window.y[0] = 8;
  p.window.kernel[0] = 4, p.window.stride[0] = p.window.dilation[0] = 1;
  for (dp_primitive_kind kind : {DP_PRIMITIVE_CONV, DP_PRIMITIVE_CONV_GRAD_INPUT}) {
    const bool forward = kind == DP_PRIMITIVE_CONV;
    p.kind = kind;
    const int64_t most = forward ? 48 * 72 * 4 / (48 * 8) : 48 * 72 * 4 / (72 * 8);
    const int blocks = forward ? 4 : 3;  // whole ones
    for (int parts = 1; parts <= 6; parts++) {
      EXPECT_EQ(dp_division_most_by_channels(&p, parts), parts > 1 && parts <= blocks ? most : 0) << parts;
      int64_t found = 0, first = 0;
      for (int i = 0; i < parts; i++) {
        dp_share share;
        if (!dp_division_channels(&p, i, parts, &share)) continue;
        const int64_t mine = forward ? share.spec.y_channels : share.spec.x_channels;
        EXPECT_EQ(forward ? share.y : share.x, first * 8);
        EXPECT_EQ(share.w, forward ? first * 48 * 4 : first * 4);
        EXPECT_EQ(dp_primitive_step(&share.spec, true), 48 * 8);
        EXPECT_EQ(dp_primitive_step(&share.spec, false), 72 * 8);
        EXPECT_EQ(forward ? share.spec.x_channels : share.spec.y_channels, forward ? 48 : 72);
        first += mine;
        found += mine;
      }
      EXPECT_EQ(found, forward ? 72 : 48);
    }
  }
  p.kind = DP_PRIMITIVE_CONV;
  p.packed = true;
  EXPECT_EQ(dp_division_most_by_channels(&p, 2), 0);
}

// The form of weights does not depend on who reads which part of it.
TEST(OneDnn, PartsReadPackedWeights) {
  for (const char *problem : {"float32[N,32,9,9], float32[48,32,3,3]", "float32[N,64,7,7], float32[200,64,1,1]",
                              "float32[N,3,20,20], float32[64,3,7,7]"}) {
    Ready ready({"Conv", "", problem, "", 5, 1});
    ASSERT_EQ(ready.built->error, "");
    const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, "cpu.onednn.Conv");
    const Spec one(ready.built->node, ready.in, ready.out, 1);
    EXPECT_GT(kernel->packed_bytes(&one), 0u) << problem;
    for (int threads = 2; threads <= 7; threads++) {
      const Spec several(ready.built->node, ready.in, ready.out, threads);
      EXPECT_EQ(kernel->packed_bytes(&several), kernel->packed_bytes(&one)) << problem << " " << threads;
    }
  }
}

// More samples than the largest chunk holds, so there are several large chunks, then smaller ones.
TEST(OneDnn, ManySamplesEqualReference) {
  Check({"Conv", "", "float32[N,2,5,5], float32[3,2,3,3], float32[3]", "", 199, 19}, 2);
  Check({"ConvGradInput", "dp", "float32[17,9,3,3], float32[N,17,3,3]", "shape=[N,9,5,5]", 199, 153}, 2);
  Check({"ConvGradWeight", "dp", "float32[N,2,5,5], float32[N,3,3,3]", "shape=[3,2,3,3]", 199, 199 * 9}, 2);
  Check({"AveragePool", "", "float32[N,2,5,5]", "kernel_shape=[2,2]", 199, 4}, 2);
}

TEST(OneDnn, ProductsEqualReference) {
  Random random(2);
  for (int i = 0; i < 60; i++) {
    int64_t n = i % 10 == 9 ? 0 : random.Int(1, 40), k = i % 10 == 8 ? 0 : random.Int(1, 70), m = random.Int(1, 40);
    bool trans_a = random.Int(0, 1), trans_b = random.Int(0, 1);
    std::string a = trans_a ? Shape(std::to_string(k), {}) : "", b = trans_b ? List({m, k}) : List({k, m});
    a = trans_a ? "[" + std::to_string(k) + ",N]" : "[N," + std::to_string(k) + "]";
    const std::string biases[] = {"", ", float32[" + std::to_string(m) + "]", ", float32[N,1]", ", float32[]",
                                  ", float32[N," + std::to_string(m) + "]"};
    Check({"Gemm", "", "float32" + a + ", float32" + b + biases[i % 5],
           "transA=" + std::to_string(trans_a) + ", transB=" + std::to_string(trans_b) +
               ", alpha=0.5, beta=" + (i % 2 ? "2.0" : "1.0"),
           n, double(k) + 2});
  }
  Check({"MatMul", "", "float32[N,4], float32[4,3]", "", 5, 4}, 3);
  Check({"MatMul", "", "float32[N,3,17], float32[17,20]", "", 6, 17}, 2);
  Check({"MatMul", "", "float32[N,1,3,4], float32[2,4,3]", "", 2, 4}, 3);
  Check({"MatMul", "", "float32[4], float32[N,4,3]", "", 5, 4}, 2);
  Check({"MatMul", "", "float32[N,3,4], float32[4]", "", 5, 4}, 2);
  Check({"MatMul", "", "float32[64], float32[64]", "", 0, 64}, 3);
  Check({"MatMul", "", "float32[N,4], float32[4,3]", "", 0, 4}, 2);
  Check({"MatMul", "", "float32[4,N], float32[N,3]", "", 0, 1}, 2);
  Check({"MatMul", "", "float32[5,N], float32[N,3]", "", 0, 1});
}

// Results of few rows, which oneDNN does not compute: whole blocks of columns and not, rows that are copied with a
// padding, more terms than are taken at a time, shares that have nothing to do; and some that just fail to be such
// products.
TEST(OneDnn, LowProductsEqualReference) {
  const struct {
    const char *operands, *attrs;
    double terms;
  } products[] = {
      {"float32[N,256], float32[256,96]", "beta=1.0", 256},
      {"float32[N,70], float32[70,1024], float32[1024]", "beta=1.0", 70},
      {"float32[N,1], float32[1,32], float32[N,32]", "beta=1.0", 1},
      {"float32[N,300], float32[300,40]", "beta=1.0", 300},
      {"float32[N,300], float32[300,1024]", "beta=1.0", 300},
      {"float32[N,129], float32[129,2048], float32[N,2048]", "beta=1.0", 129},
      {"float32[N,1024], float32[58,1024], float32[N,58]", "transB=1", 1024},
      {"float32[N,1537], float32[5,1537]", "transB=1", 1537},
      {"float32[N,2], float32[1,2], float32[1]", "transB=1", 2},
      {"float32[N,37], float32[N,256]", "transA=1", 65},
  };
  for (const auto &p : products)
    for (int64_t n : {0, 1, 7, 8, 16, 30, 33, 65})
      Check({"Gemm", "", p.operands, p.attrs, n, p.terms + 2}, n % 2 ? 1 : 3);
}

// Products of few terms whose results' rows are far apart: whole and partial tiles, shares of rows and of columns; and
// some that just fail to be such products.
TEST(OneDnn, ThinProductsEqualReference) {
  for (const char *operands : {"float32[N,45], float32[N,94208]", "float32[N,2060], float32[N,2048], float32[2048]",
                               "float32[N,4100], float32[N,1024], float32[4100,1]", "float32[N,13], float32[N,322560]",
                               "float32[N,45], float32[N,94240]"})
    for (int64_t n : {1, 11}) Check({"Gemm", "", operands, "transA=1, beta=1.0", n, double(n) + 2}, n == 1 ? 1 : 3);
  for (int64_t n : {0, 128})
    Check({"Gemm", "", "float32[N,45], float32[N,94208]", "transA=1, beta=1.0", n, double(n) + 2}, 2);
  Check({"Gemm", "", "float32[N,45], float32[N,94208]", "transA=1, alpha=0.5", 5, 7}, 2);
}

// Rows that lie in the same sets of the cache are copied in blocks, with a padding: some of one operand, some of both,
// whole and partial blocks, and shares of each of several threads, some of which have nothing to do.
TEST(OneDnn, ProductsOfPaddedRowsEqualReference) {
  for (const char *operands : {"float32[N,1024], float32[N,40]", "float32[N,70], float32[N,512]",
                               "float32[N,512], float32[N,512]", "float32[N,1024], float32[N,20], float32[20]",
                               "float32[N,256], float32[N,7]", "float32[N,256], float32[N,768], float32[256,1]"})
    for (int64_t n : {1, 37, 263}) Check({"Gemm", "", operands, "transA=1, alpha=0.5, beta=2.0", n, double(n) + 2}, 3);
  for (const char *operands : {"float32[N,70], float32[70,512], float32[512]", "float32[N,300], float32[300,768]",
                               "float32[N,300], float32[300,256], float32[N,1]"})
    for (int64_t n : {1, 8, 61, 600}) Check({"Gemm", "", operands, "alpha=0.5, beta=2.0", n, 302}, n == 61 ? 4 : 2);
  Check({"Gemm", "", "float32[N,512], float32[768,512], float32[768]", "transB=1", 20, 513}, 3);
  Check({"Gemm", "", "float32[256,N], float32[40,256]", "transA=1, transB=1", 512, 257}, 2);
  // Weights that are padded once: low products of them, and blocks of more rows.
  for (int64_t n : {0, 1, 3, 22, 40, 300})
    Check({"MatMul", "", "float32[N,3,260], float32[260,512]", "", n, 260}, n % 2 ? 3 : 2);
  Check({"MatMul", "", "float32[N,3,260], float32[260,256]", "", 5, 260}, 3);
  for (int64_t n : {2, 3, 16, 17, 21, 22})
    Check({"MatMul", "", "float32[N,3,260], float32[260,1024]", "", n, 260}, n % 2 ? 1 : 2);
  for (int64_t n : {1, 2, 7}) Check({"MatMul", "", "float32[N,9,260], float32[N,260,512]", "", n, 260}, 3);
}

TEST(OneDnn, PoolingEqualsReference) {
  Random random(3);
  for (int i = 0; i < 40; i++) {
    int rank = int(random.Int(1, 3));
    std::vector<int64_t> x = {random.Int(1, 20)}, kernel, strides, pads(size_t(2 * rank));
    for (int d = 0; d < rank; d++) {
      kernel.push_back(random.Int(1, 3));
      strides.push_back(random.Int(1, 3));
      x.push_back(kernel.back() + random.Int(0, 6));
      pads[size_t(d)] = random.Int(0, kernel.back() - 1);
      pads[size_t(rank + d)] = random.Int(0, kernel.back() - 1);
    }
    bool padding = random.Int(0, 1);
    std::string attrs = "kernel_shape=" + List(kernel) + ", strides=" + List(strides) + ", pads=" + List(pads) +
                        (padding            ? ", count_include_pad=1"
                         : random.Int(0, 1) ? ", ceil_mode=1"
                                            : "");
    int64_t n = i % 8 == 7 ? 0 : random.Int(1, 4);
    Check({"AveragePool", "", "float32" + Shape("N", x), attrs, n, 27});
    Check({"GlobalAveragePool", "", "float32" + Shape("N", x), "", n, 100});
  }
}

// ONNX and oneDNN count these cases differently, so the reference kernel computes them. It also computes float64.
TEST(OneDnn, LeavesToReference) {
  for (const char *attrs : {"kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], ceil_mode=1, count_include_pad=1",
                            "kernel_shape=[2,2], dilations=[2,3]"}) {
    Ready ready({"AveragePool", "", "float32[N,2,8,8]", attrs, 2, 1});
    ASSERT_EQ(ready.built->error, "");
    const Spec spec(ready.built->node, ready.in, ready.out, 1);
    EXPECT_STREQ(dp_kernel_select(&dp_target_cpu, &spec, false)->name, "cpu.reference.AveragePool");
  }
  for (const char *op : {"Gemm", "MatMul"}) {
    Ready ready({op, "", "float64[N,2], float64[2,3]", "", 2, 1});
    ASSERT_EQ(ready.built->error, "");
    const Spec spec(ready.built->node, ready.in, ready.out, 1);
    EXPECT_EQ(std::string(dp_kernel_select(&dp_target_cpu, &spec, false)->name), std::string("cpu.reference.") + op);
  }
}

// Splits input channels over devices, some of which get none: the partial sums must add up to the whole.
TEST(OneDnn, PartsOfChannelsAddUp) {
  dp_mesh mesh{1, {{"tensor", 5}}};
  Problem p{"Conv", "", "float32[N,3,6,6], float32[4,3,3,3]", "pads=[1,1,1,1]", 2, 27};
  Ready ready(p);
  ASSERT_EQ(ready.built->error, "");
  const dp_node *node = ready.built->node;
  Outcome whole = RunKernel("cpu.reference.Conv", node, ready.in, ready.out);
  Tensor sum = whole.results[0];
  for (int64_t i = 0; i < sum.Count(); i++) sum.Set(i, 0);
  for (int64_t device = 0; device < 5; device++) {
    dp_placement split = dp_shard(1);
    int64_t coordinate[DP_MAX_MESH] = {device};
    std::vector<Tensor> in;
    for (int k = 0; k < 2; k++) {
      in.push_back(MakePart(*node->inputs[k]->type, p.n, &split, mesh, coordinate));
      Cut(ready.in[size_t(k)], &in.back());
    }
    Outcome part = RunKernel("cpu.onednn.Conv", node, in, ready.out);
    ASSERT_EQ(part.error, "");
    for (int64_t i = 0; i < sum.Count(); i++) sum.Set(i, sum.Get(i) + part.results[0].Get(i));
  }
  ExpectClose(whole.results[0], sum, p.longest_sum);
}

// The scratch declared for the largest number of samples must be enough for every smaller one.
TEST(OneDnn, ScratchOfTheLargestCountIsEnough) {
  const Problem problems[] = {
      {"Conv", "", "float32[N,3,9,9], float32[17,3,3,3], float32[17]", "pads=[1,1,1,1]", 37, 28},
      {"ConvGradInput", "dp", "float32[17,16,3,3], float32[N,17,9,9]", "shape=[N,16,9,9], pads=[1,1,1,1]", 37, 153},
      {"ConvGradWeight", "dp", "float32[N,16,9,9], float32[N,17,9,9]", "shape=[17,16,3,3], pads=[1,1,1,1]", 37, 3000},
      {"ConvGradWeight", "dp", "float32[N,4,9,9], float32[N,4,9,9]", "shape=[4,1,3,3], group=4, pads=[1,1,1,1]", 37,
       3000},
      {"AveragePool", "", "float32[N,5,9,9]", "kernel_shape=[2,2], strides=[2,2]", 37, 4},
      {"Gemm", "", "float32[N,512], float32[N,512]", "transA=1", 37, 37},
      {"Gemm", "", "float32[N,20], float32[20,512]", "", 37, 20},
      {"MatMul", "", "float32[N,20], float32[20,512]", "", 37, 20},
      {"MatMul", "", "float32[N,8,5], float32[N,5,256]", "", 37, 5},
  };
  for (Problem p : problems)
    for (int threads : {1, 2, 5}) {
      SCOPED_TRACE(p.Print());
      Ready largest(p);
      ASSERT_EQ(largest.built->error, "");
      const Spec spec(largest.built->node, largest.in, largest.out, threads);
      const dp_kernel *kernel = dp_kernel_find(&dp_target_cpu, NameOf(p, "onednn").c_str());
      uint64_t declared = kernel->scratch_bytes(&spec);
      for (int64_t n : {1, 5, 13, 31, 36}) {
        Problem smaller = p;
        smaller.n = n;
        Ready ready(smaller);
        ASSERT_EQ(ready.built->error, "");
        EXPECT_EQ(RunKernel(NameOf(p, "onednn"), ready.built->node, ready.in, ready.out, threads, declared).error, "")
            << "n " << n << ", threads " << threads;
      }
    }
}

// When a plan is loaded, kernels are matched again with the local shard: one chosen for the largest shard must accept
// an empty one.
TEST(OneDnn, MatchesEmptyParts) {
  const Problem problems[] = {
      {"Conv", "", "float32[N,3,9,9], float32[17,3,3,3], float32[17]", "", 0, 1},
      {"ConvGradInput", "dp", "float32[17,16,3,3], float32[N,17,7,7]", "shape=[N,16,9,9]", 0, 1},
      {"ConvGradWeight", "dp", "float32[N,16,9,9], float32[N,17,7,7]", "shape=[17,16,3,3]", 0, 1},
      {"AveragePool", "", "float32[N,5,9,9]", "kernel_shape=[2,2]", 0, 1},
      {"GlobalAveragePool", "", "float32[N,5,9,9]", "", 0, 1},
      {"Gemm", "", "float32[N,4], float32[4,3]", "", 0, 1},
      {"MatMul", "", "float32[N,4], float32[4,3]", "", 0, 1},
  };
  for (const Problem &p : problems) {
    SCOPED_TRACE(p.Print());
    Ready ready(p);
    ASSERT_EQ(ready.built->error, "");
    const Spec spec(ready.built->node, ready.in, ready.out, 1);
    EXPECT_EQ(dp_kernel_select(&dp_target_cpu, &spec, false)->name, NameOf(p, "onednn"));
  }
}

// The scratch declared for the shard with most channels must be enough for one with fewer.
TEST(OneDnn, ScratchOfTheLargestPartIsEnough) {
  dp_mesh mesh{1, {{"tensor", 4}}};
  Problem p{"Conv", "", "float32[N,21,40,40], float32[33,21,3,3]", "pads=[1,1,1,1]", 20, 189};
  Ready ready(p);
  ASSERT_EQ(ready.built->error, "");
  const dp_node *node = ready.built->node;
  uint64_t declared = 0;
  for (int64_t device = 3; device >= 0; device--) {  // the last has most
    dp_placement of_x = dp_replicate(), of_w = dp_shard(0), of_y = dp_shard(1);
    int64_t coordinate[DP_MAX_MESH] = {device};
    std::vector<Tensor> in = {MakePart(*node->inputs[0]->type, p.n, &of_x, mesh, coordinate),
                              MakePart(*node->inputs[1]->type, p.n, &of_w, mesh, coordinate)},
                        out = {MakePart(*node->outputs[0]->type, p.n, &of_y, mesh, coordinate)};
    const Spec spec(node, in, out, 1);
    uint64_t bytes = dp_kernel_find(&dp_target_cpu, "cpu.onednn.Conv")->scratch_bytes(&spec);
    if (device == 3) declared = bytes;
    EXPECT_LE(bytes, declared) << "device " << device;
  }
}

TEST(OneDnn, InstructionSets) {
  const char *isa = dp_target_cpu.isa();
  if (!isa) GTEST_SKIP() << "this machine has neither AVX2 nor AVX-512";
  auto code = [](dp_status status) {
    int result = dp_status_code(status);
    dp_status_free(status);
    return result;
  };
  std::string machine = isa, other = machine == "avx512" ? "avx2" : "avx512";
  EXPECT_EQ(code(dp_target_cpu.set_isa("sse9")), EX_DATAERR);
  EXPECT_EQ(code(dp_target_cpu.set_isa(machine.c_str())),
            0);  // also after use, which limits oneDNN to the machine's ISA
  EXPECT_EQ(code(dp_target_cpu.set_isa(machine.c_str())), 0);
  // Unknown to the machine, or ruled out by an earlier limit.
  EXPECT_EQ(code(dp_target_cpu.set_isa(other.c_str())), other == "avx512" ? EX_UNAVAILABLE : EX_CONFIG);
}

}  // namespace
}  // namespace dp_test
