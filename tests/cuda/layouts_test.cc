// Elementwise functions, regions of them and copies take each operand and result as it lies, plain or in NHWC: every
// choice of layouts, around the sizes of vectors, with operands that are broadcast, in 16 bits and casts from and to
// float32.
#include <gtest/gtest.h>

#include <cstdlib>

#include "backends/cpu/target.h"
#include "backends/cuda/target.h"
#include "tests/backends/region_builder.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

const dp_kernel *Select(const dp_kernel_spec &spec) { return dp_kernel_select(&dp_target_cuda, &spec, false); }

// Runs the node with each choice of layouts for its operands and results of rank 4. The results have the reference's
// bits. Returns how many choices there were.
int CheckAll(const Problem &p, const std::string &name, bool exact = true) {
  SCOPED_TRACE(p.Print());
  Ready ready = Draw(p);
  EXPECT_EQ(ready.built->error, "");
  const Outcome expected = RunReference(ready.built->node, ready.in, ready.out);
  EXPECT_EQ(expected.error, "");
  int images = 0, choices = 0;
  Spec spec(ready.built->node, ready.in, ready.out);
  spec.SetLayouts([&] { return images++ < 0; });
  for (unsigned choice = 1; choice < 1u << images; choice++) {
    SCOPED_TRACE(choice);
    int image = 0;
    spec.SetLayouts([&] { return choice >> image++ & 1; });
    const dp_kernel *kernel = Select(spec);
    if (!kernel) continue;
    EXPECT_STREQ(kernel->name, name.c_str());
    const Outcome found = RunKernel(kernel, spec, ready.in, ready.out);
    EXPECT_EQ(found.error, "");
    for (size_t k = 0; k < found.results.size(); k++) ExpectSame(expected.results[k], found.results[k], exact);
    choices++;
  }
  return choices;
}

TEST(Layouts, OfElementwiseOperands) {
  ASSERT_EQ(OpenDevice(), "");
  const char *const others[] = {"[N,%]", "[1,#,1,1]", "[#,1,1]", "[]", "[N,1,1,1]", "[N,1,%]"};
  for (const std::string type : {"bfloat16", "float16"})
    for (const auto &[channels, plane] :
         {std::pair{"8", "3,5"}, {"3", "4,4"}, {"16", "1,1"}, {"1", "2,9"}, {"5", "1,8"}})
      for (const std::string other : others) {
        if (!getenv("DP_FULL") && type == "float16" && other != others[0]) continue;
        std::string second = type + other;
        const std::string channels_plane = std::string(channels) + "," + plane;
        if (size_t at = second.find("N,1,%"); at != std::string::npos) second.replace(at + 4, 1, plane);
        if (size_t at = second.find('%'); at != std::string::npos) second.replace(at, 1, channels_plane);
        if (size_t at = second.find('#'); at != std::string::npos) second.replace(at, 1, channels);
        EXPECT_GE(CheckAll({"Sub", "", type + "[N," + channels_plane + "], " + second, "", 3, 1}, "cuda.elementwise"),
                  3);
      }
}

// From a weight in float32, and back to its gradient.
TEST(Layouts, OfCasts) {
  ASSERT_EQ(OpenDevice(), "");
  for (const auto &[from, to] : {std::pair{"float32", "bfloat16"}, {"bfloat16", "float32"}, {"uint8", "float16"}})
    for (const char *extents : {"[64,3,7,7]", "[16,8,3,3]", "[16,40,1,1]", "[N,3,9,11]"})
      EXPECT_EQ(CheckAll({"Cast", "", std::string(from) + extents, std::string("to=") + to, 2, 1}, "cuda.elementwise"),
                3);
}

TEST(Layouts, OfCopies) {
  ASSERT_EQ(OpenDevice(), "");
  const std::string image = "bfloat16[N,6,4,5]";
  EXPECT_EQ(CheckAll({"Identity", "", image, "", 3, 1}, "cuda.copy"), 3);
  EXPECT_EQ(CheckAll({"Flatten", "", image, "", 3, 1}, "cuda.copy"), 1);
  EXPECT_EQ(CheckAll({"Reshape", "", "bfloat16[N,120]", "shape=[N,6,4,5]", 3, 1}, "cuda.copy"), 1);
  // Where both lie otherwise, the order of one is not that of the other.
  EXPECT_EQ(CheckAll({"Reshape", "", image, "shape=[N,5,4,6]", 3, 1}, "cuda.copy"), 2);
}

// Of weights: the elements have the numbers of their places in the plain order.
TEST(Layouts, OfFirstValues) {
  ASSERT_EQ(OpenDevice(), "");
  for (const std::string shape : {"[8,3,3,3]", "[5,3,4,2]", "[1,2,1,2]", "[2,5,1,1]", "[0,3,2,2]"})
    for (const std::string dtype : {"float32", "bfloat16"}) {
      const std::string attrs = "key=7, shape=" + shape + ", dtype=" + dtype;
      EXPECT_EQ(CheckAll({"RandomUniform", "dp", "int64[]", attrs + ", low=-2, high=3", 0, 1},
                         "cuda.device.dp.RandomUniform"),
                1);
      EXPECT_EQ(CheckAll({"RandomNormal", "dp", "int64[]", attrs + ", scale=0.1", 0, 1}, "cuda.device.dp.RandomNormal"),
                1);
      EXPECT_EQ(
          CheckAll({"Fill", "dp", "", "shape=" + shape + ", value=3, dtype=" + dtype, 0, 1}, "cuda.device.dp.Fill"), 1);
    }
}

// All NHWC, or the gradient alone.
TEST(Layouts, OfUpdates) {
  ASSERT_EQ(OpenDevice(), "");
  for (const std::string w : {"float32[64,3,7,7]", "float32[4,3,3,2]", "float32[1,2,1,2]", "float32[0,2,3,3]"}) {
    EXPECT_EQ(CheckAll({"SGD", "dp", w + ", , " + w + ", float32[]", "", 0, 1}, "cuda.update"), 2);
    EXPECT_EQ(CheckAll({"SGD", "dp", w + ", " + w + ", " + w + ", float32[]", "momentum=0.9", 0, 1}, "cuda.update"), 2);
    EXPECT_EQ(CheckAll({"Adam", "dp", w + ", " + w + ", " + w + ", " + w + ", float32[], int64[]", "", 0, 1},
                       "cuda.update", false),
              2);
    EXPECT_EQ(CheckAll({"Assign", "dp", w + ", " + w, "", 0, 1}, "cuda.update"), 2);
  }
}

TEST(Layouts, OfCounts) {
  ASSERT_EQ(OpenDevice(), "");
  for (const char *operand : {"uint8[64,3,7,7]", "uint8[4,3,3,2]", "uint8[0,2,3,3]"})
    EXPECT_EQ(CheckAll({"CountRefused", "dp", operand, "", 0, 1}, "cuda.device.dp.CountRefused"), 1);
}

TEST(Layouts, OfReductions) {
  ASSERT_EQ(OpenDevice(), "");
  const struct {
    const char *attrs;
    int choices;  // of operand and result, as far as that has four dims
  } cases[] = {{"axes=[0,2,3], keepdims=0", 1}, {"axes=[0,2,3]", 2}, {"axes=[2,3]", 2}, {"axes=[1]", 2},
               {"axes=[1], keepdims=0", 1},     {"axes=[0,1]", 2},   {"axes=[3]", 0},   {"axes=[0]", 0}};
  for (const char *extents : {"[N,6,4,5]", "[N,64,9,9]", "[N,3,40,1]"})
    for (const auto &c : cases) {
      EXPECT_EQ(CheckAll({"ReduceSum", "", std::string("bfloat16") + extents, c.attrs, 9, 1}, "cuda.reduce", false),
                c.choices);
      EXPECT_EQ(CheckAll({"ReduceMax", "", std::string("float16") + extents, c.attrs, 3, 1}, "cuda.reduce"), c.choices);
    }
}

// Members in float32 and 16 bits on images, with channels that are broadcast.
void Draw(RegionBuilder *b) {
  static const char *const names[] = {"Add", "Mul", "Max", "Relu", "Neg"};
  const std::vector<int64_t> image = {2, b->UpTo(2) ? 8 : 5, 1 + b->UpTo(4), 3 + b->UpTo(3)};
  std::vector<int> there = {b->Operand(DP_BFLOAT16, image), b->Operand(DP_BFLOAT16, image),
                            b->Operand(DP_BFLOAT16, {1, image[1], 1, 1})};
  const int weight = b->Operand(DP_FLOAT32, image);
  there.push_back(b->Add("", "Cast", {weight}, DP_BFLOAT16, image, false, {b->Int("to", DP_BFLOAT16)}));
  for (int m = 0, count = 2 + b->UpTo(6); m < count; m++) {
    const int name = b->UpTo(std::size(names)), x = there[size_t(m ? b->UpTo(there.size()) : 0)];
    std::vector<int> in = {x};
    if (name < 3) in.push_back(there[size_t(b->UpTo(there.size()))]);
    const bool row = x == there[2] && (in.size() < 2 || in[1] == there[2]);
    if (row) continue;
    there.push_back(b->Add("", names[name], in, DP_BFLOAT16, image, b->UpTo(3) == 0));
  }
  const int last = b->Add("", "Add", {there.back(), there[0]}, DP_BFLOAT16, image, true);
  b->Add("", "Cast", {last}, DP_FLOAT32, image, true, {b->Int("to", DP_FLOAT32)});
  b->Number();
}

TEST(Layouts, OfRegions) {
  ASSERT_EQ(OpenDevice(), "");
  const dp_kernel *reference = dp_kernel_find(&dp_target_cpu, "cpu.reference.dp.Region");
  int mixed = 0;
  for (uint32_t seed = 0; seed < (getenv("DP_FULL") ? 60u : 24u); seed++) {
    SCOPED_TRACE(seed);
    RegionBuilder b(seed);
    Draw(&b);
    const std::vector<Tensor> in = b.Tensors(0, b.n_inputs), expected = ReferenceOf(reference, &b, in);
    int channels_last = 0;
    const int ends = b.n_inputs + b.n_outputs, all = seed % 3;  // none is plain, or some are
    for (int v = 0; v < ends; v++) {
      const bool last = !all || b.UpTo(2);
      b.values[size_t(v)].layout = last ? DP_LAYOUT_NHWC : DP_LAYOUT_PLAIN;
      channels_last += last;
    }
    mixed += channels_last && channels_last < ends;
    const dp_kernel *kernel = Select(b.spec);
    ASSERT_NE(kernel, nullptr);
    const Outcome found = RunKernel(kernel, b.spec, in, b.Tensors(b.n_inputs, b.n_outputs));
    ASSERT_EQ(found.error, "");
    for (size_t k = 0; k < expected.size(); k++) ExpectSame(expected[k], found.results[k], true);
  }
  EXPECT_GT(mixed, 10);
}

// Only images can lie in NHWC: what an unchecked plan says of others is refused, wherever they are.
TEST(Layouts, OfImagesAlone) {
  for (const std::vector<int64_t> &extents : {std::vector<int64_t>{2, 3, 4}, {2, 3, 4, 4, 2}, {}}) {
    RegionBuilder b(1);
    const int x = b.Operand(DP_BFLOAT16, extents), y = b.Add("", "Relu", {x}, DP_BFLOAT16, extents, false);
    b.Add("", "Neg", {y}, DP_BFLOAT16, extents, true);
    b.Number();
    ASSERT_NE(Select(b.spec), nullptr);
    for (dp_kernel_operand &o : b.values) {
      o.layout = DP_LAYOUT_NHWC;
      EXPECT_EQ(Select(b.spec), nullptr) << extents.size();
      o.layout = DP_LAYOUT_PLAIN;
    }
  }
}

// Another member takes plain values alone; elementwise ones beside it take what lies otherwise.
TEST(Layouts, OfRegionsWithSums) {
  ASSERT_EQ(OpenDevice(), "");
  RegionBuilder b(1);
  const int x = b.Operand(DP_BFLOAT16, {2, 3, 4, 4});
  const int y = b.Add("", "Relu", {x}, DP_BFLOAT16, {2, 3, 4, 4}, true);
  b.Add("", "ReduceSum", {y}, DP_BFLOAT16, {2, 3, 4, 1}, true, {b.Axes({3})});
  b.Number();
  const std::vector<Tensor> in = b.Tensors(0, b.n_inputs);
  const std::vector<Tensor> expected = ReferenceOf(dp_kernel_find(&dp_target_cpu, "cpu.reference.dp.Region"), &b, in);
  b.values[0].layout = DP_LAYOUT_NHWC;
  ASSERT_NE(Select(b.spec), nullptr);
  const Outcome found = RunKernel(Select(b.spec), b.spec, in, b.Tensors(b.n_inputs, b.n_outputs));
  ASSERT_EQ(found.error, "");
  for (size_t k = 0; k < expected.size(); k++) ExpectSame(expected[k], found.results[k], false);
  b.values[1].layout = DP_LAYOUT_NHWC;  // y
  EXPECT_EQ(Select(b.spec), nullptr);
}

}  // namespace
}  // namespace dp_test
