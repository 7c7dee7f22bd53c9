// The form of plans: each broken index, range, name or number is refused, and the message names its rule.
#include "ir/plan/form.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "tests/ir/verify/hand_plan.h"

namespace {

using dp_test::Append;
using dp_test::HandPlan;

struct Break {
  const char *name, *rule;
  std::function<void(HandPlan &)> make;
};
void PrintTo(const Break &b, std::ostream *out) { *out << b.name; }

class Form : public testing::TestWithParam<Break> {};

TEST_P(Form, IsRefused) {
  HandPlan hand;
  GetParam().make(hand);
  dp_fault fault;
  std::string message = dp_test::Message(dp_plan_form_check(hand.plan, &fault));
  EXPECT_STREQ(dp_rule_name(fault.rule), GetParam().rule) << message;
  EXPECT_NE(message.find(std::string("rule ") + GetParam().rule + ": "), std::string::npos) << message;
  EXPECT_EQ(hand.Verify(), GetParam().rule);
}

TEST(Form, Holds) { EXPECT_EQ(dp_test::Message(dp_plan_form_check(HandPlan().plan, nullptr)), ""); }

TEST(Form, NamesThePlace) {
  HandPlan hand;
  hand.Step("train", "comm", 1)->waits[0] = 9;
  EXPECT_EQ(
      dp_test::Message(dp_plan_form_check(hand.plan, nullptr)),
      "program train, stream comm, instruction 1 (dp.AllReduce): rule FORM.INDEX: event waited for 0 is number 9 of 9");
}

char *Text(HandPlan &h, const char *text) { return dp_strdup(h.arena, text); }

Dp__Schedule *Schedule(HandPlan &h, const char *kind) {
  h.plan->schedule = static_cast<Dp__Schedule *>(dp_alloc(h.arena, sizeof *h.plan->schedule));
  dp__schedule__init(h.plan->schedule);
  h.plan->schedule->kind = Text(h, kind);
  return h.plan->schedule;
}

Dp__Scratch *Scratch(HandPlan &h) {
  Dp__Instruction *in = h.Step("train", "compute", 0);
  in->scratch = static_cast<Dp__Scratch *>(dp_alloc(h.arena, sizeof *in->scratch));
  dp__scratch__init(in->scratch);
  return in->scratch;
}

const Break kHead[] = {
    {"no_target", "FORM.MISSING", [](HandPlan &h) { h.plan->target = nullptr; }},
    {"no_backend", "FORM.MISSING", [](HandPlan &h) { h.plan->target->backend = Text(h, ""); }},
    {"threads", "FORM.LIMIT", [](HandPlan &h) { h.plan->target->threads = 5000; }},
    {"negative_batch", "FORM.LIMIT", [](HandPlan &h) { h.plan->batch = -1; }},
    {"huge_batch", "FORM.LIMIT", [](HandPlan &h) { h.plan->batch = INT64_MAX; }},
    {"precision", "FORM.NAME", [](HandPlan &h) { h.plan->precision = DP_INT32; }},
    {"mesh_of_no_devices", "FORM.LIMIT", [](HandPlan &h) { h.plan->mesh[0]->size = 0; }},
    {"mesh_overflows", "FORM.LIMIT",
     [](HandPlan &h) {
       Dp__MeshAxis axis = *h.plan->mesh[0];
       axis.name = Text(h, "more");
       axis.size = INT64_MAX;
       Append(h.arena, &h.plan->n_mesh, &h.plan->mesh,
              static_cast<Dp__MeshAxis *>(dp_memdup(h.arena, &axis, sizeof axis)));
     }},
    {"mesh_of_five_axes", "FORM.LIMIT",
     [](HandPlan &h) {
       for (int i = 0; i < 4; i++) Append(h.arena, &h.plan->n_mesh, &h.plan->mesh, h.plan->mesh[0]);
     }},
    {"graphs_of_one_name", "FORM.NAME", [](HandPlan &h) { h.plan->graphs[0]->name = h.plan->graphs[1]->name; }},
    {"schedule", "FORM.NAME", [](HandPlan &h) { Schedule(h, "cosinus"); }},
    {"schedule_not_finite", "FORM.LIMIT", [](HandPlan &h) { Schedule(h, "constant")->lr = 1 / 0.0; }},
    {"schedule_without_steps", "FORM.LIMIT", [](HandPlan &h) { Schedule(h, "step"); }},
    {"no_role", "FORM.LIMIT", [](HandPlan &h) { h.plan->n_roles = 0; }},
    {"role_without_name", "FORM.MISSING", [](HandPlan &h) { h.plan->roles[0]->name = Text(h, ""); }},
    {"role_of_no_axis", "FORM.INDEX", [](HandPlan &h) { h.plan->roles[0]->n_devices = 0; }},
    {"role_beyond_the_mesh", "FORM.INDEX", [](HandPlan &h) { h.plan->roles[0]->devices[0]->count = 3; }},
    {"role_wraps", "FORM.INDEX",
     [](HandPlan &h) {
       h.plan->roles[0]->devices[0]->first = 2;
       h.plan->roles[0]->devices[0]->count = INT64_MAX;
     }},
    {"role_before_the_mesh", "FORM.INDEX", [](HandPlan &h) { h.plan->roles[0]->devices[0]->first = -1; }},
    {"programs_of_one_name", "FORM.NAME", [](HandPlan &h) { h.Eval().program->name = Text(h, "train"); }},
};
INSTANTIATE_TEST_SUITE_P(Head, Form, testing::ValuesIn(kHead), [](const auto &i) { return i.param.name; });

// Options that agree with the plan.
Dp__Options *Recorded(HandPlan &h) {
  if (h.plan->options) return h.plan->options;
  Dp__Options *o = h.plan->options = dp_test::New(h.arena, dp__options__init);
  o->devices = 2;
  o->mesh = Text(h, "data=2");
  o->microbatches = o->threads = 2;
  o->target = Text(h, "cpu");
  o->batch = 8;
  o->mode = Text(h, "train");
  o->precision = Text(h, "fp32");
  o->layout = Text(h, "auto");
  o->batchnorm = Text(h, "sync");
  o->clip_grad_at_bound = Text(h, "pass");
  Append(h.arena, &o->n_defaulted, &o->defaulted, Text(h, "zero-stage"));
  return o;
}

TEST(Form, OptionsHold) {
  HandPlan hand;
  Recorded(hand);
  EXPECT_EQ(dp_test::Message(dp_plan_form_check(hand.plan, nullptr)), "");
  hand.plan->options->microbatches = 1;
  EXPECT_EQ(dp_test::Message(dp_plan_form_check(hand.plan, nullptr)), "");
  hand.plan->target->isa = hand.plan->options->isa = Text(hand, "avx2");
  EXPECT_EQ(dp_test::Message(dp_plan_form_check(hand.plan, nullptr)), "");
  hand.plan->tf32 = true;
  hand.plan->options->fast_math = Text(hand, "tf32");
  EXPECT_EQ(dp_test::Message(dp_plan_form_check(hand.plan, nullptr)), "");
  hand.plan->tf32 = false;
  EXPECT_NE(dp_test::Message(dp_plan_form_check(hand.plan, nullptr)).find("fast-math"), std::string::npos);
  hand.plan->winograd = true;
  hand.plan->options->fast_math = Text(hand, "winograd");
  EXPECT_EQ(dp_test::Message(dp_plan_form_check(hand.plan, nullptr)), "");
  hand.plan->tf32 = true;
  EXPECT_NE(dp_test::Message(dp_plan_form_check(hand.plan, nullptr)).find("fast-math"), std::string::npos);
  hand.plan->options->fast_math = Text(hand, "tf32,winograd");
  EXPECT_EQ(dp_test::Message(dp_plan_form_check(hand.plan, nullptr)), "");
  hand.plan->tf32 = hand.plan->winograd = false;
  EXPECT_NE(dp_test::Message(dp_plan_form_check(hand.plan, nullptr)).find("fast-math"), std::string::npos);
  hand.plan->options->fast_math = Text(hand, "");
  hand.plan->precision = DP_FLOAT64;
  hand.plan->options->precision = Text(hand, "fp64");
  EXPECT_EQ(dp_test::Message(dp_plan_form_check(hand.plan, nullptr)), "");
  hand.plan->precision = DP_BFLOAT16;
  hand.plan->options->precision = Text(hand, "bf16");
  hand.plan->options->comm_precision = Text(hand, "bf16");
  EXPECT_EQ(dp_test::Message(dp_plan_form_check(hand.plan, nullptr)), "");
  hand.plan->precision = DP_FLOAT16;
  hand.plan->options->precision = Text(hand, "fp16");
  EXPECT_EQ(dp_test::Message(dp_plan_form_check(hand.plan, nullptr)), "");
}

// Changes each field of the message, found by its descriptor, so that it contradicts the plan. The form check refuses
// it, unless nothing in the plan depends on the field.
TEST(Form, OptionsAreHeldFieldByField) {
  const std::set<std::string> untold = {"zero_stage",  "memory",    "freeze",     "split",     "train",
                                        "as_exported", "no_fuse",   "dim",        "recompute", "normalize",
                                        "metrics",     "keep_fp32", "calibration"};
  for (unsigned f = 0; f < dp__options__descriptor.n_fields; f++) {
    const ProtobufCFieldDescriptor &field = dp__options__descriptor.fields[f];
    HandPlan hand;
    char *at = reinterpret_cast<char *>(Recorded(hand)) + field.offset, *odd = Text(hand, "odd");
    if (field.label == PROTOBUF_C_LABEL_REPEATED) {
      auto *count = reinterpret_cast<size_t *>(reinterpret_cast<char *>(hand.plan->options) + field.quantifier_offset);
      *count = 1;
      *reinterpret_cast<char ***>(at) = static_cast<char **>(dp_memdup(hand.arena, &odd, sizeof odd));
    } else if (field.type == PROTOBUF_C_TYPE_STRING) {
      hand.plan->target->isa = Text(hand, "avx2");
      hand.plan->options->isa = Text(hand, "avx2");
      *reinterpret_cast<char **>(at) = odd;
    } else if (field.type == PROTOBUF_C_TYPE_BOOL) {
      *reinterpret_cast<protobuf_c_boolean *>(at) = 1;
    } else {
      ASSERT_EQ(field.type, PROTOBUF_C_TYPE_INT64) << field.name;
      *reinterpret_cast<int64_t *>(at) = 5000;
    }
    dp_fault fault;
    std::string message = dp_test::Message(dp_plan_form_check(hand.plan, &fault));
    if (untold.count(field.name))
      EXPECT_EQ(message, "") << field.name;
    else
      EXPECT_STREQ(dp_rule_name(fault.rule), "FORM.OPTIONS") << field.name << ": " << message;
  }
}

void Mesh(HandPlan &h, const char *text) { Recorded(h)->mesh = Text(h, text); }

const Break kOptions[] = {
    {"another_strategy", "FORM.OPTIONS", [](HandPlan &h) { Recorded(h)->strategy = Text(h, "data"); }},
    {"mesh_is_longer", "FORM.OPTIONS", [](HandPlan &h) { Mesh(h, "data=2,x=1"); }},
    {"mesh_is_shorter", "FORM.OPTIONS", [](HandPlan &h) { Mesh(h, "data="); }},
    {"mesh_of_digits", "FORM.OPTIONS", [](HandPlan &h) { Mesh(h, "data=22"); }},
    {"mesh_begins_with_a_comma", "FORM.OPTIONS", [](HandPlan &h) { Mesh(h, ",data=2"); }},
    {"other_devices", "FORM.OPTIONS", [](HandPlan &h) { Recorded(h)->devices = 4; }},
    {"no_micro_batches", "FORM.OPTIONS", [](HandPlan &h) { Recorded(h)->microbatches = 0; }},
    {"schedule_without_stages", "FORM.OPTIONS", [](HandPlan &h) { Recorded(h)->schedule = Text(h, "1f1b"); }},
    {"negative_stage", "FORM.OPTIONS", [](HandPlan &h) { Recorded(h)->zero_stage = -1; }},
    {"huge_stage", "FORM.OPTIONS", [](HandPlan &h) { Recorded(h)->zero_stage = INT64_MAX; }},
    {"negative_memory", "FORM.OPTIONS", [](HandPlan &h) { Recorded(h)->memory = INT64_MIN; }},
    {"fewer_threads", "FORM.OPTIONS", [](HandPlan &h) { h.plan->target->threads = 2, Recorded(h)->threads = 1; }},
    {"more_threads_than_are_taken", "FORM.OPTIONS", [](HandPlan &h) { Recorded(h)->threads = INT64_MAX; }},
    {"loss_of_none", "FORM.OPTIONS", [](HandPlan &h) { Recorded(h)->loss = Text(h, "mse(y,t)"); }},
    {"inference_that_trains", "FORM.OPTIONS", [](HandPlan &h) { Recorded(h)->mode = Text(h, "infer"); }},
    {"too_many_globs", "FORM.OPTIONS",
     [](HandPlan &h) {
       for (int i = 0; i < 4097; i++) Append(h.arena, &Recorded(h)->n_freeze, &Recorded(h)->freeze, Text(h, "*"));
     }},
    {"not_given_is_no_option", "FORM.OPTIONS",
     [](HandPlan &h) { Append(h.arena, &Recorded(h)->n_defaulted, &Recorded(h)->defaulted, Text(h, "zero_stage")); }},
    {"not_given_is_itself", "FORM.OPTIONS",
     [](HandPlan &h) { Append(h.arena, &Recorded(h)->n_defaulted, &Recorded(h)->defaulted, Text(h, "defaulted")); }},
    {"not_given_twice", "FORM.OPTIONS",
     [](HandPlan &h) { Append(h.arena, &Recorded(h)->n_defaulted, &Recorded(h)->defaulted, Text(h, "zero-stage")); }},
    {"not_given_many_times", "FORM.OPTIONS",
     [](HandPlan &h) {
       for (int i = 0; i < 100; i++)
         Append(h.arena, &Recorded(h)->n_defaulted, &Recorded(h)->defaulted, Text(h, "mesh"));
     }},
};
INSTANTIATE_TEST_SUITE_P(Options, Form, testing::ValuesIn(kOptions), [](const auto &i) { return i.param.name; });

const Break kMemory[] = {
    {"unknown_memory", "FORM.NAME",
     [](HandPlan &h) { h.ArenaOf(DP__SPACE__PERSISTENT)->space = DP__SPACE__SPACE_NONE; }},
    {"two_arenas", "FORM.NAME", [](HandPlan &h) { h.ArenaOf(DP__SPACE__PERSISTENT)->space = DP__SPACE__TRANSIENT; }},
    {"no_alignment", "FORM.LIMIT", [](HandPlan &h) { h.ArenaOf(DP__SPACE__TRANSIENT)->alignment = 0; }},
    {"odd_alignment", "FORM.LIMIT", [](HandPlan &h) { h.ArenaOf(DP__SPACE__TRANSIENT)->alignment = 48; }},
    {"huge_alignment", "FORM.LIMIT", [](HandPlan &h) { h.ArenaOf(DP__SPACE__TRANSIENT)->alignment = 1u << 31; }},
    {"huge_arena", "FORM.LIMIT", [](HandPlan &h) { h.ArenaOf(DP__SPACE__TRANSIENT)->bytes = UINT64_MAX; }},
    {"one_copy_of_inputs", "FORM.LIMIT", [](HandPlan &h) { h.ArenaOf(DP__SPACE__HOST_INPUT)->copies = 1; }},
    {"copies_of_activations", "FORM.LIMIT", [](HandPlan &h) { h.ArenaOf(DP__SPACE__TRANSIENT)->copies = 2; }},
    {"home_beyond_its_arena", "FORM.RANGE", [](HandPlan &h) { h.plan->variables[2]->offset = 192; }},
    {"home_wraps", "FORM.RANGE", [](HandPlan &h) { h.plan->variables[2]->bytes = UINT64_MAX - 100; }},
    {"home_misaligned", "FORM.ALIGN", [](HandPlan &h) { h.plan->variables[2]->offset = 132; }},
    {"no_arena", "FORM.RANGE", [](HandPlan &h) { h.Train().At("x")->space = DP__SPACE__OFFLOAD; }},
    {"no_memory", "FORM.NAME", [](HandPlan &h) { h.Train().At("x")->space = DP__SPACE__SPACE_NONE; }},
    {"beyond_the_arena", "FORM.RANGE", [](HandPlan &h) { h.Train().At("x")->offset = 1088; }},
    {"offset_beyond_the_arena", "FORM.RANGE", [](HandPlan &h) { h.Train().At("x")->offset = 1 << 20; }},
    {"wraps", "FORM.RANGE", [](HandPlan &h) { h.Train().At("x")->offset = UINT64_MAX - 63; }},
    {"bytes_wrap", "FORM.RANGE", [](HandPlan &h) { h.Train().At("lr")->bytes = UINT64_MAX - 10; }},
    {"misaligned", "FORM.ALIGN", [](HandPlan &h) { h.Train().At("lr")->offset = 196; }},
    {"scratch_beyond_the_arena", "FORM.RANGE", [](HandPlan &h) { Scratch(h)->bytes = 1089; }},
    {"scratch_wraps", "FORM.RANGE",
     [](HandPlan &h) {
       Scratch(h)->bytes = 64;
       Scratch(h)->bytes = UINT64_MAX;
     }},
    {"scratch_misaligned", "FORM.ALIGN", [](HandPlan &h) { Scratch(h)->offset = 8; }},
};
INSTANTIATE_TEST_SUITE_P(Memory, Form, testing::ValuesIn(kMemory), [](const auto &i) { return i.param.name; });

const Break kPrograms[] = {
    {"program_without_name", "FORM.MISSING", [](HandPlan &h) { h.Train().program->name = Text(h, ""); }},
    {"graph", "FORM.INDEX", [](HandPlan &h) { h.Train().program->graph = 3; }},
    {"value", "FORM.INDEX", [](HandPlan &h) { h.Train().At("x")->value = 1000; }},
    {"placements", "FORM.INDEX", [](HandPlan &h) { h.Train().At("x")->n_placements = 0; }},
    {"element_type", "FORM.NAME", [](HandPlan &h) { h.Train().At("x")->dtype = 8; }},
    {"negative_element_type", "FORM.NAME", [](HandPlan &h) { h.Train().At("x")->dtype = -1; }},
    {"layout", "FORM.NAME", [](HandPlan &h) { h.Train().At("x")->layout = DP__LAYOUT__LAYOUT_NONE; }},
    {"stream_without_name", "FORM.MISSING", [](HandPlan &h) { h.Stream("train", "comm")->name = Text(h, ""); }},
    {"streams_of_one_name", "FORM.NAME", [](HandPlan &h) { h.Stream("train", "comm")->name = Text(h, "copy"); }},
    {"too_many_streams", "FORM.LIMIT",
     [](HandPlan &h) {
       for (int i = 0; i < 16; i++)
         Append(h.arena, &h.Train().program->n_streams, &h.Train().program->streams, h.Stream("train", "comm"));
     }},
    {"more_events_than_instructions", "FORM.LIMIT", [](HandPlan &h) { h.Train().program->events = 1u << 30; }},
    {"operator", "FORM.NAME", [](HandPlan &h) { h.Step("train", "compute", 0)->op = Text(h, "Gem"); }},
    {"operator_of_another_domain", "FORM.NAME",
     [](HandPlan &h) { h.Step("train", "compute", 0)->domain = Text(h, "dp"); }},
    {"no_kernel", "FORM.NAME", [](HandPlan &h) { h.Step("train", "compute", 0)->kernel = Text(h, ""); }},
    {"kernel_of_two_parts", "FORM.NAME",
     [](HandPlan &h) { h.Step("train", "compute", 0)->kernel = Text(h, "cpu.Gemm"); }},
    {"kernel_with_odd_letters", "FORM.NAME",
     [](HandPlan &h) { h.Step("train", "compute", 0)->kernel = Text(h, "cpu.reference./Gemm"); }},
    {"kernel_with_an_empty_part", "FORM.NAME",
     [](HandPlan &h) { h.Step("train", "compute", 0)->kernel = Text(h, "cpu..Gemm"); }},
    {"kernel_of_communication", "FORM.NAME",
     [](HandPlan &h) { h.Step("train", "comm", 0)->kernel = Text(h, "cpu.reference.AllReduce"); }},
    {"no_result", "FORM.LIMIT", [](HandPlan &h) { h.Step("train", "compute", 0)->n_outputs = 0; }},
    {"too_many_operands", "FORM.LIMIT",
     [](HandPlan &h) {
       Dp__Instruction *in = h.Step("train", "compute", 0);
       for (int i = 0; i < 8; i++) Append(h.arena, &in->n_inputs, &in->inputs, 1u);
     }},
    {"node", "FORM.INDEX", [](HandPlan &h) { h.Step("train", "compute", 0)->nodes[0] = 8; }},
    {"operand", "FORM.INDEX", [](HandPlan &h) { h.Step("train", "compute", 0)->inputs[0] = 24; }},
    {"result", "FORM.INDEX", [](HandPlan &h) { h.Step("train", "compute", 0)->outputs[0] = UINT32_MAX; }},
    {"wait", "FORM.INDEX", [](HandPlan &h) { h.Step("train", "compute", 0)->waits[0] = UINT32_MAX; }},
    {"signal", "FORM.INDEX", [](HandPlan &h) { h.Step("train", "compute", 0)->signal = 10; }},
    {"more_threads_than_the_target", "FORM.LIMIT", [](HandPlan &h) { h.Step("train", "compute", 0)->threads = 3; }},
    {"compute_type", "FORM.NAME", [](HandPlan &h) { h.Step("train", "compute", 0)->compute_dtype = 99; }},
    {"axis", "FORM.INDEX", [](HandPlan &h) { h.Step("train", "comm", 0)->communication->axes[0] = 1; }},
    {"axis_twice", "FORM.NAME",
     [](HandPlan &h) {
       Dp__Communication *c = h.Step("train", "comm", 0)->communication;
       Append(h.arena, &c->n_axes, &c->axes, 0u);
     }},
    {"reduction", "FORM.NAME", [](HandPlan &h) { h.Step("train", "comm", 0)->communication->reduction = 2; }},
    {"input_without_name", "FORM.MISSING", [](HandPlan &h) { h.Train().program->inputs[0]->name = Text(h, ""); }},
    {"inputs_of_one_name", "FORM.NAME", [](HandPlan &h) { h.Train().program->inputs[0]->name = Text(h, "label"); }},
    {"input_tensor", "FORM.INDEX", [](HandPlan &h) { h.Train().program->inputs[0]->tensor = 23; }},
    {"output_tensor", "FORM.INDEX", [](HandPlan &h) { h.Train().program->outputs[0]->tensor = UINT32_MAX; }},
    {"found_value", "FORM.INDEX", [](HandPlan &h) { h.Train().program->entry[0]->variable = 3; }},
    {"left_tensor", "FORM.INDEX", [](HandPlan &h) { h.Train().program->exit[0]->value = 23; }},
};
INSTANTIATE_TEST_SUITE_P(Programs, Form, testing::ValuesIn(kPrograms), [](const auto &i) { return i.param.name; });

}  // namespace
