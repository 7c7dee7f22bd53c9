// Our own kernels of CUDA on every sample of every operator, compared with the CPU's reference kernels: functions are
// compiled as C by the stand-ins and run in orders drawn from several seeds. Samples in other types than they are
// written in are one in four, of each operator and type some; with DP_FULL all.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <set>

#include "backends/cuda/gpu/functions.h"
#include "backends/cuda/target.h"
#include "tests/cuda/library_kernels.h"
#include "tests/cuda/steer.h"

namespace dp_test {
namespace {

std::string FullName(const dp_op *op) { return (*op->domain ? std::string(op->domain) + "." : "") + op->name; }

// Operators that have no kernel of our own. The list can only shrink.
const std::set<std::string> kMissing = {};
// Operators that are left to libraries.
const std::set<std::string> kLibraries = {"AveragePool",
                                          "Conv",
                                          "Gemm",
                                          "GlobalAveragePool",
                                          "MatMul",
                                          "MaxPool",
                                          "dp.AveragePoolGrad",
                                          "dp.ConvGradInput",
                                          "dp.ConvGradWeight",
                                          "dp.MaxPoolGrad"};
// Operators whose results have the reference's bits: they move data, count, or draw.
const std::set<std::string> kExact = {"Identity",
                                      "Reshape",
                                      "Flatten",
                                      "Squeeze",
                                      "Unsqueeze",
                                      "Expand",
                                      "Where",
                                      "Cast",
                                      "Size",
                                      "dp.RandomUniform",
                                      "dp.Dropout",
                                      "dp.Fill",
                                      "Transpose",
                                      "Slice",
                                      "Concat",
                                      "Split",
                                      "Pad",
                                      "dp.RandomNormal",
                                      "Gather",
                                      "Relu",
                                      "Max",
                                      "Min",
                                      "Neg",
                                      "Abs",
                                      "dp.ReluGrad",
                                      "dp.SliceGrad",
                                      "BitCast",
                                      "GatherElements",
                                      "OneHot",
                                      "Range",
                                      "ScatterElements",
                                      "Shape",
                                      "TopK",
                                      "Trilu"};

const dp_kernel *Select(const Spec &spec) { return dp_kernel_select(&dp_target_cuda, &spec, false); }

struct Prepared {
  Case c;
  Ready ready;
  std::unique_ptr<Spec> spec;
  const dp_kernel *kernel;
  bool runs;
};

// The sample with its tensors of rank 4 in NHWC, and in layouts that are drawn, where a kernel takes them so.
void AddLayouts(const Case &c, bool runs, std::vector<Prepared> *made) {
  static Random random(1);
  const std::function<bool()> all = [] { return true; }, drawn = [] { return random.Int(0, 1) != 0; };
  for (const auto &channels_last : {all, drawn}) {
    Ready ready(c);
    auto spec = std::make_unique<Spec>(ready.built->node, ready.in, ready.out);
    spec->SetLayouts(channels_last);
    const dp_kernel *kernel = HasChannelsLast(*spec) ? Select(*spec) : nullptr;
    if (kernel) made->push_back({c, std::move(ready), std::move(spec), kernel, runs});
  }
}

// Every sample as written, in float64, and with other types; of operators that programs contain. What is left out, or
// has no kernel, is plain.
std::vector<Prepared> *All() {
  static std::vector<Prepared> *all = [] {
    auto *made = new std::vector<Prepared>;
    std::map<std::pair<const dp_op *, dp_dtype>, int> number;  // of cases
    for (const std::vector<Case> &cases : {AllCases(true), TypeCases()})
      for (const Case &c : cases) {
        if (kLibraries.count(FullName(c.op)) || IsReplaced(c.op) || dp_op_is(c.op, DP_OP_COMMUNICATION)) continue;
        Ready ready(c);
        EXPECT_EQ(ready.built->error, "") << c.Name();
        auto spec = std::make_unique<Spec>(ready.built->node, ready.in, ready.out);
        const dp_kernel *kernel = Select(*spec);
        const bool runs = getenv("DP_FULL") || !c.to || number[{c.op, c.to}]++ % 4 == 0;
        made->push_back({c, std::move(ready), std::move(spec), kernel, runs});
        if (runs) AddLayouts(c, runs, made);
      }
    return made;
  }();
  return all;
}

void Take(dp_status status) {
  EXPECT_EQ(status, DP_OK) << dp_status_message(status);
  dp_status_free(status);
}

// Compiles all functions at once.
class Kernels : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    ASSERT_EQ(OpenDevice(), "");
    for (const Prepared &p : *All()) {
      void *state = nullptr;
      if (!p.runs || !p.kernel || !p.kernel->prepare) continue;
      Take(p.kernel->prepare(p.spec.get(), &state));
      if (p.kernel->release) p.kernel->release(state);
    }
    Take(dp_cuda_functions_load());
  }
};

TEST_F(Kernels, EqualTheReference) {
  const std::vector<uint64_t> orders = IsStandin() ? std::vector<uint64_t>{0, 1, 2} : std::vector<uint64_t>{0};
  std::map<std::string, std::pair<int64_t, int64_t>> of_operator;  // elements of 16 bits: others, all
  std::map<std::string, int> in_nhwc;                              // of 16 bits
  int run = 0;
  for (const Prepared &p : *All()) {
    if (!p.runs || !p.kernel) continue;
    in_nhwc[FullName(p.c.op)] += IsHalf(p.c.to) && HasChannelsLast(*p.spec);
    SCOPED_TRACE(p.c.Name() + " " + p.c.Heading() + " " + p.kernel->name);
    const HalfTally before = Halves();
    const Outcome expected = RunReference(p.ready.built->node, p.ready.in, p.ready.out);
    ASSERT_EQ(expected.error, "");
    for (uint64_t order : orders) {
      if (IsStandin()) DP_STEER(dp_standin_seed)(order);
      const Outcome found = RunKernel(p.kernel, *p.spec, p.ready.in, p.ready.out);
      EXPECT_EQ(found.error, "");
      if (!found.error.empty()) continue;
      for (size_t i = 0; i < found.results.size(); i++)
        ExpectSame(expected.results[i], found.results[i], kExact.count(FullName(p.c.op)));
    }
    auto &own = of_operator[FullName(p.c.op)];
    own.first += Halves().others - before.others;
    own.second += Halves().elements - before.elements;
    run++;
  }
  std::printf("%d of %zu samples run\n", run, All()->size());
  for (const char *op : {"BatchNormalization", "dp.BatchNormalizationGrad"})
    EXPECT_GT(in_nhwc[op], 0) << op << " with 16 bits in NHWC";
  // Sums in another order round differently here and there; a rounding too many would show in a percent or more.
  std::printf("%lld of %lld elements of 16 bits are neighbours of the reference's\n", (long long)Halves().others,
              (long long)Halves().elements);
  EXPECT_GT(Halves().elements, int64_t(4000 * orders.size()));
  EXPECT_LT(Halves().others * 500, Halves().elements);
  for (const auto &[op, own] : of_operator) EXPECT_LE(own.first, 2 + own.second / 100) << op;
  EXPECT_GT(run, 1000);
}

// Whatever types its operands have: of the operators that are not left to libraries, in the types of TypeCases.
TEST_F(Kernels, AreMissingForTheseOperatorsAlone) {
  std::set<std::string> missing;
  std::set<std::pair<std::string, dp_dtype>> computed;
  for (const Prepared &p : *All()) {
    if (!p.kernel && !kMissing.count(FullName(p.c.op))) ADD_FAILURE() << p.c.Name() << " has no kernel";
    if (!p.kernel) missing.insert(FullName(p.c.op));
    if (p.kernel && !p.ready.in.empty()) computed.insert({FullName(p.c.op), p.ready.in[0].dtype});
  }
  for (const std::string &name : kMissing) EXPECT_TRUE(missing.count(name)) << name << " has a kernel by now";
  std::printf("%zu pairs of an operator and the type of its first operand\n", computed.size());
}

// Floats of 16 bits are among them.
TEST_F(Kernels, TakeFloatsOf16Bits) {
  int taken = 0;
  for (const Prepared &p : *All()) {
    bool numbers = true;  // none of fewer than 8 bits, or of 8 and a float
    for (const std::vector<Tensor> &tensors : {p.ready.in, p.ready.out})
      for (const Tensor &t : tensors) numbers &= !t.dtype || (DP_BIT(t.dtype) & (DP_NUMBERS | DP_BIT(DP_BOOL)));
    if (!IsHalf(p.c.to) || !numbers) continue;
    EXPECT_NE(p.kernel, nullptr) << p.c.Name() << " in " << dp_type_name(p.c.to);
    taken++;
  }
  EXPECT_GT(taken, 300);
}

}  // namespace
}  // namespace dp_test
