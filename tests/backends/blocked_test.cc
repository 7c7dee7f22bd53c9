// Kernels that take images in blocks of channels, against those of plain tensors: the bits are the same. Planes of one
// element and odd ones, one block of channels and several, no samples, NaN; what lies plain beside them; what no kernel
// takes.
#include <gtest/gtest.h>

#include <limits>

#include "tests/backends/drawn_convolution.h"
#include "tests/backends/library_check.h"

namespace dp_test {
namespace {

// The place of element i of a plain image among blocks.
size_t InBlocks(const dp_local &image, int64_t block, int64_t i) {
  const int64_t channels = image.extents[1], plane = image.extents[2] * image.extents[3];
  const int64_t n = i / plane / channels, c = i / plane % channels, at = i % plane;
  return static_cast<size_t>(((n * (channels / block) + c / block) * plane + at) * block + c % block);
}

Tensor Laid(const Tensor &from, int64_t block, bool to_blocks) {
  Tensor to = from;
  const size_t each = dp_type_bytes(from.dtype);
  for (int64_t i = 0; block && i < from.Count(); i++) {
    const size_t plain = size_t(i) * each, blocked = InBlocks(from.local, block, i) * each;
    std::memcpy(&to.bytes[to_blocks ? blocked : plain], &from.bytes[to_blocks ? plain : blocked], each);
  }
  return to;
}

// The operands and results that lie in blocks, by their numbers; the first result comes after the last operand.
using Which = std::vector<int>;

struct Blocked {
  Ready ready;
  dp_layout layout;
  Spec spec;
  std::vector<int64_t> blocks;  // of operands and results; 0: plain

  Blocked(const Problem &p, dp_layout l, const Which &which, int threads)
      : ready(p), layout(l), spec(ready.built->node, ready.in, ready.out, threads) {
    blocks.resize(ready.in.size() + ready.out.size());
    for (int k = 1; k < spec.n_outputs; k++) spec.made[size_t(k)].present = false;  // MaxPool's indices
    for (int k : which) {
      blocks[size_t(k)] = dp_layout_block(layout);
      (k < spec.n_inputs ? spec.operands[size_t(k)] : spec.made[size_t(k - spec.n_inputs)]).layout = layout;
    }
  }
  const dp_kernel *Kernel() const { return dp_kernel_select(&dp_target_cpu, &spec, false); }

  Tensor Run(const dp_kernel *kernel) {
    std::vector<Tensor> in, out = ready.out;
    for (size_t i = 0; i < ready.in.size(); i++) in.push_back(Laid(ready.in[i], blocks[i], true));
    const void *from[DP_MAX_OPERANDS] = {};
    void *to[DP_MAX_OPERANDS] = {}, *state = nullptr;
    for (size_t i = 0; i < in.size(); i++) from[i] = ready.built->node->inputs[i] ? in[i].bytes.data() : nullptr;
    std::fill(out[0].bytes.begin(), out[0].bytes.end(), uint8_t(0xff));
    to[0] = out[0].bytes.data();
    const uint64_t bytes = kernel->scratch_bytes ? kernel->scratch_bytes(&spec) : 0;
    std::vector<uint8_t> room(bytes + kGuard + 64, 0xff);
    auto *scratch = reinterpret_cast<uint8_t *>(dp_align_up(reinterpret_cast<uintptr_t>(room.data()), 64));
    dp_status status = kernel->prepare ? kernel->prepare(&spec, &state) : DP_OK;
    const int parts = kernel->parts ? spec.threads : 1;
    for (int part = 0; !status && part < parts; part++)
      status = kernel->run(&spec, state, from, to, scratch, part, parts);
    if (kernel->release) kernel->release(state);
    if (!status) status = RunPacked(*kernel, spec, from, {out[0]}, scratch);
    for (size_t i = 0; i < kGuard; i++) EXPECT_EQ(scratch[bytes + i], 0xff) << "it writes behind its scratch";
    EXPECT_EQ(std::string(dp_status_message(status)), "");
    dp_status_free(status);
    return Laid(out[0], blocks[in.size()], false);
  }
};

// In the first ones of the operands.
void PutNan(std::vector<Tensor> *in, size_t count = DP_MAX_OPERANDS) {
  for (Tensor &t : *in)
    for (int64_t i = 3; &t < in->data() + count && t.dtype == DP_FLOAT32 && i < t.Count(); i += 37)
      t.Set(i, std::nan(""));
}

// Equal bits, but for NaN's.
void ExpectEqual(const Tensor &expected, const Tensor &found) {
  ASSERT_EQ(expected.Count(), found.Count());
  for (int64_t i = 0; i < expected.Count(); i++) {
    const double a = expected.Get(i), b = found.Get(i);
    ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << "element " << i << ": " << a << ", found " << b;
  }
}

// The same to rounding.
void ExpectNear(Tensor expected, Tensor found, double longest_sum) {
  for (int64_t i = 0; i < expected.Count(); i++) {
    if (!std::isnan(expected.Get(i)) || !std::isnan(found.Get(i))) continue;
    expected.Set(i, 0);
    found.Set(i, 0);
  }
  ExpectClose(expected, found, longest_sum);
}

// What `against` computes of plain tensors, this kernel computes of blocks.
void CheckBlocks(const Problem &p, dp_layout layout, const Which &which, const std::string &name,
                 const std::string &against, bool nan = false) {
  for (int threads : {1, 3}) {
    SCOPED_TRACE(p.Print() + " on " + std::to_string(threads));
    Blocked b(p, layout, which, threads);
    ASSERT_EQ(b.ready.built->error, "");
    if (nan) PutNan(&b.ready.in);
    const dp_kernel *kernel = b.Kernel();
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->name, name);
    const Outcome expected = RunKernel(against, b.ready.built->node, b.ready.in, b.ready.out, threads);
    ASSERT_EQ(expected.error, "");
    ExpectEqual(expected.results[0], b.Run(kernel));
  }
}

// In whose blocks oneDNN computes here.
dp_layout Own() { return dp_target_cpu.blocks(dp_target_cpu.isa()); }

std::string Text(const char *pattern, int64_t channels) {
  std::string text = pattern;
  for (size_t at; (at = text.find('C')) != std::string::npos;) text.replace(at, 1, std::to_string(channels));
  return text;
}

TEST(Blocked, PointwiseNodesEqualPlainOnes) {
  const struct {
    const char *op, *inputs, *attrs;
    Which which;
  } cases[] = {
      {"Relu", "float32[N,C,3,5]", "", {0, 1}},
      {"Relu", "float32[N,C,1,1]", "", {0, 1}},
      {"Add", "float32[N,C,3,5], float32[N,C,3,5]", "", {0, 1, 2}},
      {"Sub", "float32[N,C,3,5], float32[C,1,1]", "", {0, 2}},
      {"Div", "float32[1,C,1,1], float32[N,C,3,5]", "", {1, 2}},
      {"Mul", "float32[N,C,3,5], float32[N,C,1,1]", "", {0, 2}},
      {"Mul", "float32[N,C,3,5], float32[N,C,1,1]", "", {0, 1, 2}},
      {"Mul", "float32[N,1,3,5], float32[N,C,3,5]", "", {1, 2}},
      {"Add", "float32[N,C,3,5], float32[5]", "", {0, 2}},
      {"Add", "float32[3,1], float32[N,C,3,5]", "", {1, 2}},
      {"Max", "float32[N,C,3,5], float32[]", "", {0, 2}},
      {"LeakyRelu", "float32[N,C,3,5]", "alpha=0.1", {0, 1}},
  };
  for (dp_layout layout : {DP_LAYOUT_NCHW8C, DP_LAYOUT_NCHW16C})
    for (const auto &c : cases)
      for (int64_t blocks : {1, 3})
        for (int64_t n : {0, 1, 2})
          CheckBlocks({c.op, "", Text(c.inputs, blocks * dp_layout_block(layout)), c.attrs, n, 1}, layout, c.which,
                      "cpu.blocked", std::string("cpu.reference.") + c.op, n == 2);
}

TEST(Blocked, ConcatenationsEqualPlainOnes) {
  for (dp_layout layout : {DP_LAYOUT_NCHW8C, DP_LAYOUT_NCHW16C})
    for (int64_t n : {0, 1, 3}) {
      const int64_t c = dp_layout_block(layout);
      const std::string one = Text("float32[N,C,3,5]", c), two = Text("float32[N,C,3,5]", 2 * c);
      CheckBlocks({"Concat", "", one + ", " + two + ", " + one, "axis=1", n, 1}, layout, {0, 1, 2, 3},
                  "cpu.blocked_copy.Concat", "cpu.reference.Concat", true);
      CheckBlocks({"Concat", "", one + ", " + one, "axis=0", n, 1}, layout, {0, 1, 2}, "cpu.blocked_copy.Concat",
                  "cpu.reference.Concat", true);
    }
}

TEST(Blocked, LargestElementsEqualReference) {
  if (!Own()) GTEST_SKIP() << "vectors need AVX2";
  const char *const windows[] = {
      "kernel_shape=[2,2], strides=[2,2]", "kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]",
      "kernel_shape=[3,2], pads=[1,0,2,1]", "kernel_shape=[1,1]", "kernel_shape=[3,3], strides=[2,2], ceil_mode=1"};
  for (dp_layout layout : {DP_LAYOUT_NCHW8C, DP_LAYOUT_NCHW16C})
    for (const char *window : windows)
      for (int64_t blocks : {1, 2})
        for (int64_t n : {0, 1, 3})
          CheckBlocks({"MaxPool", "", Text("float32[N,C,7,6]", blocks * dp_layout_block(layout)), window, n, 1}, layout,
                      {0, 1}, "cpu.fast_blocked.MaxPool", "cpu.reference.MaxPool", n == 3);
}

// Of each block oneDNN has another order of additions, or the same.
void CheckMeans(const Problem &p, const Which &which) {
  SCOPED_TRACE(p.Print());
  for (int threads : {1, 3}) {
    Blocked b(p, Own(), which, threads);
    ASSERT_EQ(b.ready.built->error, "");
    const dp_kernel *kernel = b.Kernel();
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(std::string(kernel->name), "cpu.onednn." + p.op);
    const Outcome expected = RunKernel("cpu.reference." + p.op, b.ready.built->node, b.ready.in, b.ready.out);
    ExpectClose(expected.results[0], b.Run(kernel), p.longest_sum);
  }
}

TEST(Blocked, MeansEqualReference) {
  if (!Own()) GTEST_SKIP() << "oneDNN needs AVX2";
  for (int64_t blocks : {1, 3})
    for (int64_t n : {0, 1, 5}) {
      const std::string x = Text("float32[N,C,7,6]", blocks * dp_layout_block(Own()));
      CheckMeans({"AveragePool", "", x, "kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]", n, 9}, {0, 1});
      CheckMeans({"AveragePool", "", x, "kernel_shape=[2,3], pads=[1,1,0,1], count_include_pad=1", n, 6}, {0, 1});
      CheckMeans({"AveragePool", "", x, "kernel_shape=[7,6]", n, 42}, {0});
      for (const Which &which : {Which{0}, Which{0, 1}}) CheckMeans({"GlobalAveragePool", "", x, "", n, 42}, which);
    }
}

TEST(Blocked, ConvolutionsEqualPlainOnes) {
  if (!Own()) GTEST_SKIP() << "oneDNN needs AVX2";
  const int64_t c = dp_layout_block(Own());
  const struct {
    std::string x, w, attrs;
    Which which;
    bool tiles = false;  // ours is the kernel with AVX-512
  } cases[] = {
      {Text("[N,3,9,7]", c), Text("[C,3,3,3]", 2 * c), "pads=[1,1,1,1]", {3}},
      {Text("[N,C,9,7]", c), Text("[C,", 3 * c) + Text("C,3,3]", c), "pads=[1,1,1,1]", {0, 3}, true},
      {Text("[N,C,9,7]", 2 * c), Text("[C,C,3,3]", 2 * c), "pads=[2,0,1,1], strides=[2,1]", {0, 3}, true},
      {Text("[N,C,9,7]", 2 * c), Text("[C,C,3,1]", 2 * c), "strides=[3,3]", {0, 3}, true},
      {Text("[N,C,9,7]", 2 * c), Text("[C,C,1,1]", 2 * c), "", {0}},
      {Text("[N,C,9,7]", 2 * c), Text("[C,C,1,1]", 2 * c), "", {3}},
      {Text("[N,C,1,1]", 2 * c), Text("[C,C,1,1]", 2 * c), "", {0, 3}},
      {Text("[N,C,5,4]", 2 * c), Text("[5,C,1,1]", 2 * c), "", {0}},
      {Text("[N,C,9,7]", 2 * c), Text("[C,1,3,3]", 2 * c), Text("pads=[1,1,1,1], group=C", 2 * c), {0, 3}},
      {Text("[N,C,9,7]", 4 * c), Text("[C,", 4 * c) + Text("C,3,3]", 2 * c), "group=2", {0, 3}},
  };
  for (const auto &conv : cases)
    for (bool bias : {false, true})
      for (int64_t n : {0, 1, 4}) {
        const std::string m = conv.w.substr(1, conv.w.find(',') - 1);
        const std::string inputs =
            "float32" + conv.x + ", float32" + conv.w + (bias ? ", float32[" + m + "]" : std::string());
        Which which = conv.which;
        for (int &k : which) k = k == 3 ? (bias ? 3 : 2) : k;
        const bool tiles = conv.tiles && Own() == DP_LAYOUT_NCHW16C;
        CheckBlocks({"Conv", "", inputs, conv.attrs, n, 1}, Own(), which,
                    tiles ? "cpu.fast_blocked.Conv" : "cpu.onednn.Conv", "cpu.onednn.Conv");
      }
}

// Random ones by tiles: lines of any width, several blocks of x and one or an odd number of y's, more parts than there
// is work for. Their bits do not depend on the number of threads.
TEST(Blocked, ConvolutionsByTilesEqualReference) {
  if (Own() != DP_LAYOUT_NCHW16C) GTEST_SKIP() << "tiles need AVX-512";
  Random random(7);
  int by_tiles = 0;
  for (int i = 0; i < 150; i++) {
    const int64_t c = 16 * (i % 3 ? random.Int(1, 3) : random.Int(8, 14)), m = 16 * random.Int(1, 5);
    std::vector<int64_t> x = {c}, w = {c}, strides, dilations, pads(4);
    double taps = double(c);
    for (size_t d = 0; d < 2; d++) {
      const int64_t kernel = i % 3 ? random.Int(1, 3) : 1, dilation = random.Int(1, 2);
      strides.push_back(i % 2 ? 1 : random.Int(1, 3));
      dilations.push_back(dilation);
      for (size_t end = 0; end < 2; end++) pads[2 * end + d] = random.Int(0, kernel * dilation);
      x.push_back((kernel - 1) * dilation + random.Int(1, d ? 33 : 9));
      w.push_back(kernel);
      taps *= double(kernel);
    }
    const std::string bias = i % 4 ? ", float32[" + std::to_string(m) + "]" : "";
    const Problem p{"Conv",
                    "",
                    "float32" + Shape("N", x) + ", float32" + Shape(std::to_string(m), w) + bias,
                    "strides=" + List(strides) + ", dilations=" + List(dilations) + ", pads=" + List(pads),
                    random.Int(0, 2),
                    taps + 1};
    SCOPED_TRACE(p.Print());
    const Which which = {0, bias.empty() ? 2 : 3};
    Blocked one(p, Own(), which, 1);
    ASSERT_EQ(one.ready.built->error, "");
    if (i % 5 == 0) PutNan(&one.ready.in, 1);
    const dp_kernel *kernel = one.Kernel();
    ASSERT_NE(kernel, nullptr);
    if (std::string(kernel->name) != "cpu.fast_blocked.Conv") continue;
    by_tiles++;
    const Outcome expected = RunKernel("cpu.reference.Conv", one.ready.built->node, one.ready.in, one.ready.out);
    const Tensor found = one.Run(kernel);
    ExpectNear(expected.results[0], found, p.longest_sum);
    for (int threads : {2, 3, 70}) {
      Blocked several(p, Own(), which, threads);
      several.ready.in = one.ready.in;
      ExpectEqual(found, several.Run(kernel));
    }
  }
  EXPECT_GT(by_tiles, 100);
}

// Input channels that a device has none of.
TEST(Blocked, ConvolutionsOfNothingGiveTheBias) {
  if (!Own()) GTEST_SKIP() << "oneDNN needs AVX2";
  const int64_t c = 2 * dp_layout_block(Own());
  CheckBlocks({"Conv", "", "float32[N,0,3,2], " + Text("float32[C,0,1,1], float32[C]", c), "", 2, 1}, Own(), {3},
              "cpu.onednn.Conv", "cpu.onednn.Conv");
}

// No kernel: channels that are no blocks, two layouts, an image that is plain, an axis from the end, rows, single
// channels that would make a block, and oneDNN's convolutions where it computes on plain images, plain weights or other
// blocks.
TEST(Blocked, OthersHaveNoKernel) {
  const auto has = [](const Problem &p, dp_layout layout, const Which &which) {
    Blocked b(p, layout, which, 1);
    EXPECT_EQ(b.ready.built->error, "") << p.Print();
    return b.Kernel() != nullptr;
  };
  const Problem add{"Add", "", "float32[N,24,3,5], float32[N,24,3,5]", "", 2, 1};
  EXPECT_TRUE(has(add, DP_LAYOUT_NCHW8C, {0, 1, 2}));
  EXPECT_FALSE(has(add, DP_LAYOUT_NCHW16C, {0, 1, 2}));
  EXPECT_FALSE(has(add, DP_LAYOUT_NCHW8C, {0, 2}));
  EXPECT_FALSE(has(add, DP_LAYOUT_NCHW8C, {0, 1}));
  Blocked two({"Add", "", "float32[N,16,3,5], float32[N,16,3,5]", "", 2, 1}, DP_LAYOUT_NCHW8C, {0, 1, 2}, 1);
  EXPECT_NE(two.Kernel(), nullptr);
  two.spec.operands[1].layout = DP_LAYOUT_NCHW16C;
  EXPECT_EQ(two.Kernel(), nullptr);
  const std::string x = "float32[N,16,3,5]";
  EXPECT_TRUE(has({"Concat", "", x + ", " + x, "axis=1", 2, 1}, DP_LAYOUT_NCHW8C, {0, 1, 2}));
  EXPECT_FALSE(has({"Concat", "", x + ", " + x, "axis=-3", 2, 1}, DP_LAYOUT_NCHW8C, {0, 1, 2}));
  EXPECT_FALSE(has({"Concat", "", x + ", " + x, "axis=2", 2, 1}, DP_LAYOUT_NCHW8C, {0, 1, 2}));
  std::string ones = "float32[N,1,3,5]";
  for (int i = 1; i < 8; i++) ones += ", float32[N,1,3,5]";
  EXPECT_FALSE(has({"Concat", "", ones, "axis=1", 2, 1}, DP_LAYOUT_NCHW8C, {8}));
  EXPECT_FALSE(has({"Softmax", "", x, "", 2, 1}, DP_LAYOUT_NCHW8C, {0, 1}));
  EXPECT_FALSE(has({"MaxPool", "", x, "kernel_shape=[2,2]", 2, 1}, DP_LAYOUT_NCHW8C, {0}));
  if (!Own()) return;
  const dp_layout other = Own() == DP_LAYOUT_NCHW8C ? DP_LAYOUT_NCHW16C : DP_LAYOUT_NCHW8C;
  const Problem conv{"Conv", "", "float32[N,32,5,5], float32[32,32,3,3]", "", 2, 1};
  EXPECT_TRUE(has(conv, Own(), {0, 2}));
  EXPECT_FALSE(has(conv, other, {0, 2}));
  EXPECT_FALSE(has(conv, Own(), {0, 1, 2}));  // weights that another node makes
  EXPECT_FALSE(has(conv, Own(), {1}));
  EXPECT_FALSE(has({"Conv", "", "float32[N,64,5,5], float32[64,2,3,3]", "group=32", 2, 1}, Own(), {0, 2}));
}

}  // namespace
}  // namespace dp_test
