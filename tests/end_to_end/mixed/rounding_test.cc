// The rounding points of --precision=bf16, one by one: numbers for which each of them, left out or done once more,
// gives another result. bfloat16 has 8 bits: from 256 to 512 it has the even numbers, and next to 1 is 1 + 2^-7.
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

const double kNearOne = 1 + 0x1p-8;  // becomes 1

struct Case {
  const char *name;
  const char *nodes;  // compute y from x, w and b
  const char *options;
  double x0, x1, w, b;  // of each sample; w is both weights
  double expected;      // y, of the first sample
};
void PrintTo(const Case &c, std::ostream *out) { *out << c.name; }

const char kGemm[] = "y = Gemm(x, w, b)", kSum[] = "p = MatMul(x, w)\n y = Add(p, b)";

// Scale and bias are b.
const char kNorm[] =
    "buffer zero: float32[1] = zeros\n buffer one: float32[1] = ones\n p = MatMul(x, w)\n"
    " y = BatchNormalization(p, b, b, zero, one) {epsilon=0.0}";

const Case kCases[] = {
    {"nothing_in_float32", kGemm, "", 256, 1, 1, 0, 257},
    {"operands", kGemm, "precision=bf16", kNearOne, 0, 1, 0, 1},
    {"parameters", kGemm, "precision=bf16", 1, 0, kNearOne, 0, 1},
    {"a_bias", kGemm, "precision=bf16", 0, 0, 1, kNearOne, 1},
    {"the_result", kGemm, "precision=bf16", 256, 1, 1, 0, 256},
    {"a_result_with_its_bias_once", kGemm, "precision=bf16", 256, 1, 1, 1, 258},
    {"a_product_and_a_sum_apart", kSum, "precision=bf16 no-fuse=yes", 256, 1, 1, 1, 256},
    {"a_product_and_a_sum_fused", kSum, "precision=bf16", 256, 1, 1, 1, 256},
    {"exponentials_of_what_was_rounded", "p = MatMul(x, w)\n e = Exp(p)\n l = Log(e)\n y = Add(l, b)", "precision=bf16",
     0.5, 0x1p-5 + 0x1p-9, 1, 0, 0.5 + 0x1p-5},
    {"a_kept_node", "y = Gemm(x, w, b)", "precision=bf16 keep-fp32=y", 256, 1, 1, 0, 257},
    {"what_follows_a_kept_node", "p = MatMul(x, w)\n y = Relu(p)", "precision=bf16 keep-fp32=p", 256, 1, 1, 0, 257},
    {"statistics_and_their_result_in_float32", kNorm, "", 256, 1, 1, kNearOne, 257 * kNearOne + kNearOne},
    {"parameters_of_batch_normalization_in_float32", kNorm, "precision=bf16", 256, 0, 1, kNearOne, 258},
    {"the_operand_of_batch_normalization", kNorm, "precision=bf16", 256, 1, 1, kNearOne, 258},
    {"a_kept_batch_normalization", kNorm, "precision=bf16 keep-fp32=y", 256, 0, 1, kNearOne, 257 + kNearOne},
    {"float16_has_more_digits", kGemm, "precision=fp16", 256, 1, 1, kNearOne, 258},
    {"float16_rounds", kGemm, "precision=fp16", 2048, 1, 1, 0, 2048},
};

std::string Text(const std::string &nodes) {
  return R"dpt(model m {
  loss "value(y)"
  optimizer "sgd(lr=1)"
  input x: float32[N,2]
  parameter w: float32[2,1] = ones
  parameter b: float32[1] = ones
  )dpt" + nodes +
         "\n  output y\n}";
}

class Rounding : public testing::TestWithParam<Case> {};

TEST_P(Rounding, IsWhereItShouldBe) {
  const Case &c = GetParam();
  RunOptions options;
  options.feed = [&c](const std::string &, int64_t, int64_t element) { return element % 2 ? c.x1 : c.x0; };
  Training run(Compile(Text(c.nodes), std::string("batch=2 ") + c.options), options);
  run.SetNumbers("w", {c.w, c.w});
  run.SetNumbers("b", {c.b});
  EXPECT_EQ(run.Infer(0, 2).at(0), c.expected);
}

INSTANTIATE_TEST_SUITE_P(, Rounding, testing::ValuesIn(kCases),
                         [](const auto &i) { return std::string(i.param.name); });

// A step of sgd(lr=1) with a loss whose gradient is 1 for each sample takes the sum of x off w: 256 of the first two
// samples, 1 of the other two.
double GradientOfSum(const std::string &how) {
  RunOptions options;
  options.feed = [](const std::string &, int64_t sample, int64_t) { return sample == 0 ? 256 : sample == 2 ? 1 : 0; };
  std::string text = Text("p = MatMul(x, w)\n s = Add(p, b)\n y = Mul(s, four)");
  text.insert(text.find("  parameter"), "  constant four: float32[] = 4\n");  // the loss is a mean over four
  Training run(Compile(text, "batch=4 " + how), options);
  run.SetNumbers("w", {0, 0});
  run.SetNumbers("b", {0});
  if (how == "precision=fp16") run.SetNumbers("dp.loss_scale", {1});  // the first one is too large for such gradients
  run.Train(0, 4);
  return -run.Numbers("w")[0];
}

TEST(GradientRounding, IsWhereItShouldBe) {
  EXPECT_EQ(GradientOfSum(""), 257);
  EXPECT_EQ(GradientOfSum("precision=bf16"), 256);
  EXPECT_EQ(GradientOfSum("precision=fp16"), 257);
  // Each part is rounded, and their sum is not.
  for (const char *parts :
       {"strategy=data devices=2", "strategy=zero zero-stage=1 devices=2", "strategy=zero zero-stage=2 devices=2",
        "strategy=zero zero-stage=3 devices=2", "strategy=single microbatches=2"})
    EXPECT_EQ(GradientOfSum(std::string("precision=bf16 ") + parts), 257) << parts;
  for (const char *parts : {"strategy=data devices=2", "strategy=zero zero-stage=2 devices=2"}) {
    EXPECT_EQ(GradientOfSum(std::string("comm-precision=bf16 ") + parts), 256) << parts;
    EXPECT_EQ(GradientOfSum(std::string("precision=bf16 comm-precision=bf16 ") + parts), 256) << parts;
    EXPECT_EQ(GradientOfSum(std::string("comm-precision=fp32 ") + parts), 257) << parts;
  }
}

}  // namespace
}  // namespace dp_test
