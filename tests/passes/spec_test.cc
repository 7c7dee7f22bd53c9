// SPECs: what is read, and what is said of those that cannot be.
#include "passes/spec.h"

#include <gtest/gtest.h>

#include "tests/ir/text_helper.h"

namespace dp_test {
namespace {

const dp_spec_origin kOption{"--optimizer", EX_USAGE};

std::string Failure(dp_status status) {
  int code = dp_status_code(status);
  return code ? std::to_string(code) + ": " + Message(status) : "";
}

std::string OptimizerFailure(const char *text) {
  Arena arena;
  dp_optimizer_spec spec;
  return Failure(dp_spec_optimizer(arena, kOption, text, &spec));
}

std::string LossFailure(const char *text) {
  Arena arena;
  dp_loss_spec spec;
  return Failure(dp_spec_loss(arena, {"the model's loss", EX_DATAERR}, text, &spec));
}

TEST(Spec, SgdHasPyTorchsDefaults) {
  Arena arena;
  dp_optimizer_spec spec;
  ASSERT_EQ(Failure(dp_spec_optimizer(arena, kOption, "sgd()", &spec)), "");
  EXPECT_EQ(spec.lr, 1e-3);
  EXPECT_EQ(spec.momentum, 0);
  EXPECT_EQ(spec.dampening, 0);
  EXPECT_EQ(spec.weight_decay, 0);
  EXPECT_FALSE(spec.nesterov);
}

TEST(Spec, SgdTakesArgumentsByPlaceAndByName) {
  Arena arena;
  dp_optimizer_spec spec;
  ASSERT_EQ(
      Failure(dp_spec_optimizer(arena, kOption, " sgd ( 0.05 , 0.9, nesterov = true, weight_decay=1e-3) ", &spec)), "");
  EXPECT_EQ(spec.lr, 0.05);
  EXPECT_EQ(spec.momentum, 0.9);
  EXPECT_EQ(spec.weight_decay, 1e-3);
  EXPECT_TRUE(spec.nesterov);
  ASSERT_EQ(Failure(dp_spec_optimizer(arena, kOption, "sgd(schedule=constant,momentum=0.5,dampening=-0.25)", &spec)),
            "");
  EXPECT_EQ(spec.dampening, -0.25);
  EXPECT_FALSE(spec.nesterov);
}

TEST(Spec, LossesNameTwoValues) {
  Arena arena;
  dp_loss_spec spec;
  const dp_spec_origin origin{"--loss", EX_USAGE};
  ASSERT_EQ(Failure(dp_spec_loss(arena, origin, "softmax_cross_entropy(/fc/Gemm_output_0:1,label)", &spec)), "");
  EXPECT_EQ(spec.kind, DP_LOSS_SOFTMAX_CROSS_ENTROPY);
  EXPECT_STREQ(spec.prediction, "/fc/Gemm_output_0:1");
  EXPECT_STREQ(spec.target, "label");
  ASSERT_EQ(Failure(dp_spec_loss(arena, origin, "mse(target=\"a, b\",pred=\"(=)\")", &spec)), "");
  EXPECT_EQ(spec.kind, DP_LOSS_MSE);
  EXPECT_STREQ(spec.prediction, "(=)");
  EXPECT_STREQ(spec.target, "a, b");
}

TEST(Spec, WhatIsMalformedIsSaid) {
  EXPECT_EQ(OptimizerFailure(""), "64: --optimizer: '': a name is expected at its end");
  EXPECT_EQ(OptimizerFailure("sgd"), "64: --optimizer: 'sgd': '(' is expected at its end");
  EXPECT_EQ(OptimizerFailure("sgd(lr=0.1"), "64: --optimizer: 'sgd(lr=0.1': ',' or ')' is expected at its end");
  EXPECT_EQ(OptimizerFailure("sgd(lr=)"), "64: --optimizer: 'sgd(lr=)': a value is expected at ')'");
  EXPECT_EQ(OptimizerFailure("sgd(,)"), "64: --optimizer: 'sgd(,)': an argument or ')' is expected at ',)'");
  EXPECT_EQ(OptimizerFailure("sgd() adam()"), "64: --optimizer: 'sgd() adam()': nothing more is expected at 'adam()'");
  EXPECT_EQ(LossFailure("mse(\"a,b)"),
            "65: the model's loss: 'mse(\"a,b)': an argument or ')' is expected at '\"a,b)'");
}

TEST(Spec, WhatIsUnknownIsSaidWithTheNearest) {
  EXPECT_EQ(OptimizerFailure("sgb(lr=1)"), "64: --optimizer: there is no optimizer 'sgb'; did you mean 'sgd'?");
  EXPECT_EQ(OptimizerFailure("sgd(momentom=1)"), "64: --optimizer: sgd takes no 'momentom'; did you mean 'momentum'?");
  EXPECT_EQ(OptimizerFailure("sgd(schedule=cosin)"),
            "64: --optimizer: there is no schedule 'cosin'; did you mean 'cosine'?");
  EXPECT_EQ(LossFailure("mes(a,b)"), "65: the model's loss: there is no loss 'mes'; did you mean 'mse'?");
  EXPECT_EQ(LossFailure("sgd(a,b)"), "65: the model's loss: there is no loss 'sgd'");
}

TEST(Spec, ArgumentsAreChecked) {
  EXPECT_EQ(OptimizerFailure("sgd(lr=fast)"), "64: --optimizer: lr=fast: a finite number is expected");
  EXPECT_EQ(OptimizerFailure("sgd(lr=nan)"), "64: --optimizer: lr=nan: a finite number is expected");
  EXPECT_EQ(OptimizerFailure("sgd(lr=1e999)"), "64: --optimizer: lr=1e999: a finite number is expected");
  EXPECT_EQ(OptimizerFailure("sgd(lr=-1)"), "64: --optimizer: lr=-1: 0 or more is expected");
  EXPECT_EQ(OptimizerFailure("sgd(nesterov=2)"), "64: --optimizer: nesterov=2: 0 or 1 is expected");
  EXPECT_EQ(OptimizerFailure("sgd(0.1,lr=0.2)"), "64: --optimizer: 'lr' is given twice");
  EXPECT_EQ(OptimizerFailure("sgd(lr=0.1,0.9)"),
            "64: --optimizer: '0.9' stands after an argument with a name, and needs one too");
  EXPECT_EQ(OptimizerFailure("sgd(nesterov=1)"),
            "64: --optimizer: nesterov needs a momentum and no dampening; found momentum=0, dampening=0");
  EXPECT_EQ(LossFailure("mse(a)"), "65: the model's loss: mse needs its argument 'target'");
  EXPECT_EQ(LossFailure("mse(a,b,c)"), "65: the model's loss: mse takes 2 arguments");
}

TEST(Spec, WhatIsNotBuiltIsSaid) {
  EXPECT_EQ(OptimizerFailure("adam(lr=1e-3,beta1=0.9)"),
            "69: --optimizer: the optimizer 'adam' is not built yet; sgd(lr=..., momentum=...) is");
  EXPECT_EQ(OptimizerFailure("sgd(lr=1,schedule=cosine)"),
            "69: --optimizer: schedule=cosine is not built yet; schedule=constant is");
  EXPECT_EQ(OptimizerFailure("sgd(lr=1,clip_norm=1)"),
            "69: --optimizer: 'clip_norm' is not built yet; the learning rate is constant");
  EXPECT_EQ(OptimizerFailure("sgd(lr=1,warmup=100)"),
            "69: --optimizer: 'warmup' is not built yet; the learning rate is constant");
}

TEST(Spec, AnyTextDoesNoHarm) {
  const std::string letters = "sgd(lr=0.1,\" )=mse";
  uint32_t state = 1;
  for (int i = 0; i < 20000; i++) {
    std::string text;
    for (uint32_t k = 0; k < (state >> 7) % 40; k++) {
      state = state * 1664525 + 1013904223;
      text += letters[(state >> 16) % letters.size()];
    }
    state = state * 1664525 + 1013904223;
    OptimizerFailure(text.c_str());
    LossFailure(text.c_str());
  }
}

}  // namespace
}  // namespace dp_test
