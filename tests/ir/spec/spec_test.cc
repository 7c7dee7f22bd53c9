// SPECs: what is accepted, and the messages for what is not.
#include "ir/spec/spec.h"

#include <gtest/gtest.h>

#include "tests/ir/text/text_helper.h"

#define ALL_OPTIMIZERS "sgd, adam, adamw, rmsprop, adagrad, adamax, nadam, radam, lion, lamb, muon"
#define COMMON_ARGUMENTS                                                                                        \
  "clip_norm, schedule, warmup, total, min_lr, step_size, gamma, milestones, start_factor, end_factor, power, " \
  "pct_start, div_factor, final_div_factor, period, period_factor, decay, ema"

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

TEST(Spec, AdamAndAdamWHavePyTorchsDefaults) {
  Arena arena;
  dp_optimizer_spec spec;
  for (bool decoupled : {false, true}) {
    ASSERT_EQ(Failure(dp_spec_optimizer(arena, kOption, decoupled ? "adamw()" : "adam()", &spec)), "");
    EXPECT_EQ(spec.kind, decoupled ? DP_OPTIMIZER_ADAMW : DP_OPTIMIZER_ADAM);
    EXPECT_EQ(spec.lr, 1e-3);
    EXPECT_EQ(spec.beta1, 0.9);
    EXPECT_EQ(spec.beta2, 0.999);
    EXPECT_EQ(spec.eps, 1e-8);
    EXPECT_EQ(spec.weight_decay, decoupled ? 0.01 : 0);
    EXPECT_EQ(spec.clip_norm, 0);
    EXPECT_STREQ(spec.lr_schedule.kind, "constant");
  }
  ASSERT_EQ(Failure(dp_spec_optimizer(arena, kOption, "adamw(0.1,0.5,beta2=0,eps=0,weight_decay=0)", &spec)), "");
  EXPECT_EQ(spec.beta1, 0.5);
  EXPECT_EQ(spec.beta2, 0);
  EXPECT_EQ(spec.eps, 0);
  EXPECT_EQ(spec.weight_decay, 0);
}

TEST(Spec, EveryOptimizerTakesClippingAndASchedule) {
  Arena arena;
  dp_optimizer_spec spec;
  for (std::string name : {"sgd", "adam", "adamw"}) {
    std::string text = name + "(clip_norm=2.5,schedule=step,warmup=10,total=1e3,min_lr=1e-5,step_size=30,gamma=0.5)";
    ASSERT_EQ(Failure(dp_spec_optimizer(arena, kOption, text.c_str(), &spec)), "");
    EXPECT_EQ(spec.clip_norm, 2.5);
    EXPECT_STREQ(spec.lr_schedule.kind, "step");
    EXPECT_EQ(spec.lr_schedule.warmup, 10u);
    EXPECT_EQ(spec.lr_schedule.total, 1000u);
    EXPECT_EQ(spec.lr_schedule.min_lr, 1e-5);
    EXPECT_EQ(spec.lr_schedule.step_size, 30u);
    EXPECT_EQ(spec.lr_schedule.gamma, 0.5);
    text = name + "(schedule=cosine,total=7)";
    ASSERT_EQ(Failure(dp_spec_optimizer(arena, kOption, text.c_str(), &spec)), "");
    EXPECT_STREQ(spec.lr_schedule.kind, "cosine");
    EXPECT_EQ(spec.lr_schedule.warmup, 0u);
    EXPECT_EQ(spec.lr_schedule.min_lr, 0);
    EXPECT_EQ(spec.lr_schedule.gamma, 0.1);
  }
}

TEST(Spec, LossesNameTwoValues) {
  Arena arena;
  dp_loss_spec spec;
  const dp_spec_origin origin{"--loss", EX_USAGE};
  ASSERT_EQ(Failure(dp_spec_loss(arena, origin, "softmax_cross_entropy(/fc/Gemm_output_0:1,label)", &spec)), "");
  ASSERT_EQ(spec.n_terms, 1);
  EXPECT_EQ(spec.terms->kind, DP_LOSS_SOFTMAX_CROSS_ENTROPY);
  EXPECT_STREQ(spec.terms->prediction, "/fc/Gemm_output_0:1");
  EXPECT_STREQ(spec.terms->target, "label");
  ASSERT_EQ(Failure(dp_spec_loss(arena, origin, "mse(target=\"a, b\",pred=\"(=)\")", &spec)), "");
  EXPECT_EQ(spec.terms->kind, DP_LOSS_MSE);
  EXPECT_STREQ(spec.terms->prediction, "(=)");
  EXPECT_STREQ(spec.terms->target, "a, b");
}

TEST(Spec, LossesHavePyTorchsDefaults) {
  Arena arena;
  dp_loss_spec spec;
  const dp_spec_origin origin{"--loss", EX_USAGE};
  const char text[] = "softmax_cross_entropy(a,b)+smooth_l1(a,b)+huber(a,b)+bce_with_logits(a,b)+kl_div(a,b)";
  ASSERT_EQ(Failure(dp_spec_loss(arena, origin, text, &spec)), "");
  ASSERT_EQ(spec.n_terms, 5);
  EXPECT_EQ(spec.terms[0].ignore_index, -100);
  EXPECT_EQ(spec.terms[0].label_smoothing, 0);
  EXPECT_EQ(spec.terms[0].weight.count, 0);
  EXPECT_EQ(spec.terms[1].beta, 1);
  EXPECT_EQ(spec.terms[2].delta, 1);
  EXPECT_EQ(spec.terms[3].pos_weight.count, 0);
  EXPECT_FALSE(spec.terms[4].log_target);
}

TEST(Spec, SumsOfLosses) {
  Arena arena;
  dp_loss_spec spec;
  const dp_spec_origin origin{"--loss", EX_USAGE};
  const char text[] = " 0.5 * nll(s, l, weight = [1, 0.5,2e0] ,ignore_index=3) - value(\"a*b\")+2e-1*mse(a+b,c)";
  ASSERT_EQ(Failure(dp_spec_loss(arena, origin, text, &spec)), "");
  ASSERT_EQ(spec.n_terms, 3);
  EXPECT_EQ(spec.terms[0].factor, 0.5);
  EXPECT_EQ(spec.terms[0].ignore_index, 3);
  ASSERT_EQ(spec.terms[0].weight.count, 3);
  EXPECT_EQ(spec.terms[0].weight.numbers[1], 0.5);
  EXPECT_EQ(spec.terms[0].weight.numbers[2], 2);
  EXPECT_EQ(spec.terms[1].factor, -1);
  EXPECT_STREQ(spec.terms[1].prediction, "a*b");
  EXPECT_EQ(spec.terms[1].target, nullptr);
  EXPECT_EQ(spec.terms[2].factor, 0.2);
  EXPECT_STREQ(spec.terms[2].prediction, "a+b");
  ASSERT_EQ(Failure(dp_spec_loss(arena, origin, "-2*bce_with_logits(a,b,pos_weight=3)", &spec)), "");
  EXPECT_EQ(spec.terms[0].factor, -2);
  ASSERT_EQ(spec.terms[0].pos_weight.count, 1);
  EXPECT_EQ(spec.terms[0].pos_weight.numbers[0], 3);
}

TEST(Spec, SumsThatAreMalformedAreSaid) {
  EXPECT_EQ(LossFailure(""), "65: the model's loss: '': a name is expected at its end");
  EXPECT_EQ(LossFailure("mse(a,b) l1(a,b)"),
            "65: the model's loss: 'mse(a,b) l1(a,b)': '+', '-' or nothing more is expected at 'l1(a,b)'");
  EXPECT_EQ(LossFailure("mse(a,b)+"), "65: the model's loss: 'mse(a,b)+': a name is expected at its end");
  EXPECT_EQ(LossFailure("2 mse(a,b)"), "65: the model's loss: '2 mse(a,b)': '*' is expected at 'mse(a,b)'");
  EXPECT_EQ(LossFailure(".*mse(a,b)"),
            "65: the model's loss: '.*mse(a,b)': a finite number is expected at '.*mse(a,b)'");
  EXPECT_EQ(LossFailure("1e999*mse(a,b)"),
            "65: the model's loss: '1e999*mse(a,b)': a finite number is expected at '1e999*mse(a,b)'");
  EXPECT_EQ(LossFailure("nll(a,b,weight=[1,2)"),
            "65: the model's loss: 'nll(a,b,weight=[1,2)': a list that ends with ']' is expected at '[1,2)'");
}

TEST(Spec, ArgumentsOfLossesAreChecked) {
  const std::string list = ": a number, or a list such as [1,0.5,2], of numbers that are 0 or more, is expected";
  for (const char *text : {"[]", "[1,]", "[1,-2]", "[1,nan]", "[1;2]", "[inf]", "x", "-1"})
    EXPECT_EQ(LossFailure((std::string("nll(a,b,weight=") + text + ")").c_str()),
              std::string("65: the model's loss: weight=") + text + list);
  EXPECT_EQ(LossFailure("nll(a,b,ignore_index=1.5)"),
            "65: the model's loss: ignore_index=1.5: a whole number is expected");
  EXPECT_EQ(LossFailure("softmax_cross_entropy(a,b,label_smoothing=1.1)"),
            "65: the model's loss: label_smoothing=1.1: 0 to 1 is expected");
  EXPECT_EQ(LossFailure("huber(a,b,delta=0)"), "65: the model's loss: delta=0: more than 0 is expected");
  EXPECT_EQ(LossFailure("smooth_l1(a,b,beta=-1)"), "65: the model's loss: beta=-1: 0 or more is expected");
  EXPECT_EQ(LossFailure("value(a,b)"), "65: the model's loss: value takes 1 argument");
  EXPECT_EQ(LossFailure("value()"), "65: the model's loss: value needs its argument 'name'");
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
  EXPECT_EQ(OptimizerFailure("sgb(lr=1)"),
            "64: --optimizer: there is no optimizer 'sgb'; choose one of " ALL_OPTIMIZERS "; did you mean 'sgd'?");
  EXPECT_EQ(OptimizerFailure("sgd(momentom=1)"),
            "64: --optimizer: sgd takes no 'momentom'; it takes lr, momentum, dampening, weight_decay, "
            "nesterov, " COMMON_ARGUMENTS "; did you mean 'momentum'?");
  EXPECT_EQ(OptimizerFailure("sgd(schedule=cosin)"),
            "64: --optimizer: there is no schedule 'cosin'; choose one of constant, step, cosine, "
            "multistep, exponential, linear, one_cycle, polynomial, warm_restarts, wsd; did you mean 'cosine'?");
  EXPECT_EQ(
      LossFailure("mes(a,b)"),
      "65: the model's loss: there is no loss 'mes'; choose one of softmax_cross_entropy, nll, mse, l1, smooth_l1, "
      "huber, bce_with_logits, kl_div, value; did you mean 'mse'?");
}

TEST(Spec, ArgumentsAreChecked) {
  EXPECT_EQ(OptimizerFailure("sgd(lr=fast)"), "64: --optimizer: lr=fast: a finite number is expected");
  EXPECT_EQ(OptimizerFailure("sgd(lr=nan)"), "64: --optimizer: lr=nan: a finite number is expected");
  EXPECT_EQ(OptimizerFailure("sgd(lr=1e999)"), "64: --optimizer: lr=1e999: a finite number is expected");
  EXPECT_EQ(OptimizerFailure("sgd(lr=-1)"), "64: --optimizer: lr=-1: 0 or more is expected");
  EXPECT_EQ(OptimizerFailure("sgd(nesterov=2)"), "64: --optimizer: nesterov=2: 0 or 1 is expected");
  EXPECT_EQ(OptimizerFailure("sgd(0.1,lr=0.2)"), "64: --optimizer: 'lr' is given twice");
  EXPECT_EQ(OptimizerFailure("sgd(lr=0.1,0.9)"),
            "64: --optimizer: '0.9' follows an argument with a name, so it needs a name too");
  EXPECT_EQ(OptimizerFailure("sgd(nesterov=1)"),
            "64: --optimizer: nesterov needs a momentum and no dampening; found momentum=0, dampening=0");
  EXPECT_EQ(LossFailure("mse(a)"), "65: the model's loss: mse needs its argument 'target'");
  EXPECT_EQ(LossFailure("mse(a,b,c)"), "65: the model's loss: mse takes 2 arguments");
}

TEST(Spec, AdamsArgumentsAreNamedAndHaveRanges) {
  EXPECT_EQ(OptimizerFailure("adma()"),
            "64: --optimizer: there is no optimizer 'adma'; choose one of " ALL_OPTIMIZERS "; did you mean 'adam'?");
  EXPECT_EQ(OptimizerFailure("adamw(beta_2=0.9)"),
            "64: --optimizer: adamw takes no 'beta_2'; it takes lr, beta1, beta2, eps, weight_decay, " COMMON_ARGUMENTS
            "; did you mean 'beta2'?");
  EXPECT_EQ(
      OptimizerFailure("adam(weight_decy=1)"),
      "64: --optimizer: adam takes no 'weight_decy'; it takes lr, beta1, beta2, eps, weight_decay, " COMMON_ARGUMENTS
      "; did you mean 'weight_decay'?");
  EXPECT_EQ(
      OptimizerFailure("adam(momentum=0.9)"),
      "64: --optimizer: adam takes no 'momentum'; it takes lr, beta1, beta2, eps, weight_decay, " COMMON_ARGUMENTS);
  EXPECT_EQ(OptimizerFailure("adam(beta1=1)"), "64: --optimizer: beta1=1: 0 or more, less than 1, is expected");
  EXPECT_EQ(OptimizerFailure("adam(beta2=-0.1)"), "64: --optimizer: beta2=-0.1: 0 or more, less than 1, is expected");
  EXPECT_EQ(OptimizerFailure("adamw(eps=-1e-8)"), "64: --optimizer: eps=-1e-8: 0 or more is expected");
  EXPECT_EQ(OptimizerFailure("sgd(clip_norm=0)"), "64: --optimizer: clip_norm=0: more than 0 is expected");
}

TEST(Spec, SchedulesThatDoNotGoTogetherAreRefused) {
  EXPECT_EQ(OptimizerFailure("adam(schedul=cosine)"),
            "64: --optimizer: adam takes no 'schedul'; it takes lr, beta1, beta2, eps, weight_decay, " COMMON_ARGUMENTS
            "; did you mean 'schedule'?");
  EXPECT_EQ(OptimizerFailure("adam(schedule=cosine)"),
            "64: --optimizer: schedule=cosine needs total=STEPS, the step at which the rate reaches its last value");
  EXPECT_EQ(OptimizerFailure("adam(schedule=step)"), "64: --optimizer: schedule=step needs step_size=STEPS, 1 or more");
  EXPECT_EQ(OptimizerFailure("sgd(schedule=step,step_size=2.5)"),
            "64: --optimizer: step_size=2.5: a whole number of steps is expected");
  EXPECT_EQ(OptimizerFailure("sgd(warmup=-1)"), "64: --optimizer: warmup=-1: a whole number of steps is expected");
  EXPECT_EQ(OptimizerFailure("sgd(warmup=nan)"), "64: --optimizer: warmup=nan: a whole number of steps is expected");
  EXPECT_EQ(OptimizerFailure("sgd(warmup=1e300)"),
            "64: --optimizer: warmup=1e300: a whole number of steps is expected");
  EXPECT_EQ(OptimizerFailure("sgd(schedule=cosine,total=10,warmup=10)"),
            "64: --optimizer: warmup=10 leaves no steps of total=10");
  EXPECT_EQ(OptimizerFailure("sgd(lr=0.1,schedule=cosine,total=10,min_lr=1)"),
            "64: --optimizer: min_lr=1 is more than lr=0.1");
  EXPECT_EQ(OptimizerFailure("sgd(step_size=3)"),
            "64: --optimizer: step_size=3 has no effect with schedule=constant; it needs schedule=step");
  EXPECT_EQ(OptimizerFailure("sgd(schedule=cosine,total=9,gamma=0.5)"),
            "64: --optimizer: gamma=0.5 has no effect with schedule=cosine; it needs schedule=step or "
            "schedule=multistep or schedule=exponential");
  EXPECT_EQ(OptimizerFailure("sgd(min_lr=0)"),
            "64: --optimizer: min_lr=0 has no effect with schedule=constant; it needs schedule=step or "
            "schedule=cosine or schedule=warm_restarts or schedule=wsd");
  EXPECT_EQ(OptimizerFailure("sgd(schedule=exponential)"),
            "64: --optimizer: schedule=exponential needs gamma=FACTOR, that of each step");
  EXPECT_EQ(OptimizerFailure("sgd(schedule=multistep)"),
            "64: --optimizer: schedule=multistep needs milestones=[STEP,STEP,...]");
  for (const char *list : {"[]", "[3,2]", "[3,3]", "[0]", "3,4", "[3,,4]"})
    EXPECT_NE(OptimizerFailure((std::string("sgd(schedule=multistep,milestones=") + list + ")").c_str()), "") << list;
  EXPECT_EQ(OptimizerFailure("sgd(schedule=multistep,milestones=[3,4,4])"),
            "64: --optimizer: milestones=[3,4,4]: a list of steps in ascending order, such as [30,60,90], is expected");
  EXPECT_EQ(OptimizerFailure("sgd(schedule=warm_restarts,period=0)"),
            "64: --optimizer: period=0: schedule=warm_restarts needs 1 or more");
  EXPECT_EQ(OptimizerFailure("sgd(schedule=wsd,total=10,warmup=2,decay=9)"),
            "64: --optimizer: decay=9 is more than the steps of total=10 after the warm-up");
  EXPECT_EQ(OptimizerFailure("muon(adjust_lr_fn=match)"),
            "64: --optimizer: there is no adjustment 'match'; choose one of original, match_rms_adamw, "
            "spectral_unclamped");
  EXPECT_NE(OptimizerFailure("muon(ns_steps=100)").find("a whole number of steps, at most 99"), std::string::npos);
}

TEST(Spec, GroupsOverrideInTurn) {
  Arena arena;
  dp_optimizer_spec spec, own;
  const char *text =
      "sgd(lr=1,momentum=0.9,weight_decay=0.5); *.bias, norm?.*: weight_decay=0 ;n::head.*:lr_scale=0.1,momentum=0.5;"
      "n::head.bias: weight_decay=0.25";
  ASSERT_EQ(Failure(dp_spec_optimizer(arena, kOption, text, &spec)), "");
  ASSERT_EQ(spec.n_groups, 3);
  const struct {
    const char *name;
    double weight_decay, momentum, lr_scale;
  } parameters[] = {{"body.weight", 0.5, 0.9, 1},
                    {"body.bias", 0, 0.9, 1},
                    {"norm1.weight", 0, 0.9, 1},
                    {"n::head.weight", 0.5, 0.5, 0.1},
                    {"n::head.bias", 0.25, 0.5, 0.1}};
  for (const auto &p : parameters) {
    ASSERT_EQ(Failure(dp_spec_optimizer_for(arena, &spec, p.name, &own)), "");
    EXPECT_EQ(own.weight_decay, p.weight_decay) << p.name;
    EXPECT_EQ(own.momentum, p.momentum) << p.name;
    EXPECT_EQ(own.lr_scale, p.lr_scale) << p.name;
    EXPECT_EQ(own.lr, 1);
  }
}

TEST(Spec, GroupsThatSayNothingAreRefused) {
  const char form[] =
      "64: --optimizer: the group '%s' is not of the form GLOB,...: ARGUMENT=VALUE,..., such as '*.bias: "
      "weight_decay=0'";
  for (const char *text : {"", "*.bias", ":lr_scale=1"}) {
    char expected[200];
    snprintf(expected, sizeof expected, form, text);
    EXPECT_EQ(OptimizerFailure((std::string("sgd();") + text).c_str()), expected);
  }
  EXPECT_EQ(OptimizerFailure("sgd();*:"), "64: --optimizer: the group '*:' sets nothing");
  EXPECT_EQ(OptimizerFailure("sgd();*:0.5"),
            "64: --optimizer: '0.5' of the group '*:0.5' needs a name, as in weight_decay=0");
  EXPECT_EQ(OptimizerFailure("sgd();*:lr=0.5"),
            "64: --optimizer: a group of sgd takes no 'lr'; it takes lr_scale, momentum, dampening, weight_decay, "
            "nesterov");
  EXPECT_EQ(OptimizerFailure("sgd();*:momentum=-1"), "64: --optimizer: momentum=-1: 0 or more is expected");
  Arena arena;
  dp_optimizer_spec spec, own;
  ASSERT_EQ(Failure(dp_spec_optimizer(arena, kOption, "sgd();*:nesterov=1", &spec)), "");
  EXPECT_EQ(Failure(dp_spec_optimizer_for(arena, &spec, "w", &own)),
            "64: for parameter 'w': --optimizer: nesterov needs a momentum and no dampening; found momentum=0, "
            "dampening=0");
}

TEST(Spec, AnyTextDoesNoHarm) {
  const std::string letters = "sgd(lr=0.1,\" )=mse;:*[]";
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
