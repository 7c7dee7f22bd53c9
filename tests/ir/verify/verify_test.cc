// The checker on a handwritten plan. The plan is valid, and each damage breaks the rule that a table predicts.
#include "ir/verify/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "ir/file/proto.h"
#include "ir/graph/op.h"
#include "tests/ir/verify/hand_plan.h"

namespace {

using dp_test::Append;
using dp_test::HandPlan;
using dp_test::Remove;

TEST(Verify, HandWrittenPlanHolds) {
  std::string message;
  dp_verify_report report;
  EXPECT_EQ(HandPlan().Verify(&message, &report), "") << message;
  // Counted by hand on the listing in hand_plan.cc.
  EXPECT_EQ(report.devices, 2u);
  EXPECT_EQ(report.programs, 3u);
  EXPECT_EQ(report.instructions, 16u + 8u + 1u);
  EXPECT_EQ(report.events, 9u);
  EXPECT_EQ(report.collectives, 4u);
  EXPECT_EQ(report.nodes, 8u + 3u + 1u);
  EXPECT_EQ(report.conversions, 8u + 5u);
  EXPECT_EQ(report.updates, 3u);
  EXPECT_EQ(report.fault.rule, DP_RULE_NONE);
}

TEST(Verify, AnyNumberOfDevices) {
  std::string message;
  for (int64_t devices : {3, 4, 8, 100}) EXPECT_EQ(HandPlan(devices).Verify(&message), "") << devices << message;
}

TEST(Verify, ReportIsOptionalAndPrints) {
  HandPlan hand;
  dp_verify_report report;
  EXPECT_EQ(dp_test::Message(dp_verify_plan(hand.plan, nullptr)), "");
  ASSERT_EQ(hand.Verify(nullptr, &report), "");
  char *text = nullptr;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  dp_verify_print(&report, out);
  fclose(out);
  EXPECT_NE(std::string(text).find("25 instructions in 3 programs, for 2 devices: 9 events"), std::string::npos)
      << text;
  free(text);
}

TEST(Verify, MessageNamesThePlace) {
  HandPlan hand;
  hand.Step("train", "comm", 1)->n_waits = 0;
  std::string message;
  dp_verify_report report;
  EXPECT_EQ(hand.Verify(&message, &report), "ORDER.CONFLICT");
  EXPECT_EQ(
      message,
      "program train, stream comm, instruction 1 (dp.AllReduce): rule ORDER.CONFLICT: it reads bytes [512,560) of "
      "transient memory, which stream compute, instruction 3 (Gemm) writes: nothing orders the two");
  EXPECT_STREQ(report.fault.program, "train");
  EXPECT_STREQ(report.fault.stream, "comm");
  EXPECT_EQ(report.fault.instruction, 1u);
  EXPECT_STREQ(report.fault.op, "AllReduce");
}

// Each wait of the plan is needed.
TEST(Verify, EveryWaitIsNeeded) {
  int removed = 0;
  for (const char *stream : {"copy", "compute", "comm", "guard"}) {
    for (size_t i = 0; i < HandPlan().Stream("train", stream)->n_instructions; i++) {
      for (size_t w = 0; w < HandPlan().Step("train", stream, i)->n_waits; w++) {
        HandPlan hand;
        Dp__Instruction *in = hand.Step("train", stream, i);
        Remove(&in->n_waits, in->waits, w);
        EXPECT_EQ(hand.Verify(), "ORDER.CONFLICT") << stream << i << " wait " << w;
        removed++;
      }
    }
  }
  EXPECT_EQ(removed, 10);
}

// ---- damages --------------------------------------------------------------------------------------------------------

struct Damage {
  const char *name;
  std::set<std::string> rules;  // any of them
  std::function<void(HandPlan &)> make;
};
void PrintTo(const Damage &damage, std::ostream *out) { *out << damage.name; }

class Damaged : public testing::TestWithParam<Damage> {};

TEST_P(Damaged, IsRejected) {
  HandPlan hand;
  GetParam().make(hand);
  hand.Fit();
  std::string message, rule = hand.Verify(&message);
  EXPECT_TRUE(GetParam().rules.count(rule)) << "rule '" << rule << "', " << message;
}

char *Text(HandPlan &h, const char *text) { return dp_strdup(h.arena, text); }

// Removes an instruction and passes its waits and its signal to its neighbours: `heir` signals its event.
void TakeOut(HandPlan &h, const char *stream, size_t index) {
  Dp__Stream *s = h.Stream("train", stream);
  Remove(&s->n_instructions, s->instructions, index);
}

// The event of the count of refused labels, the last one, gets this number.
void NumberLast(HandPlan &h, uint32_t number) {
  Dp__Instruction *first = h.Step("train", "comm", 0);
  h.Step("train", "guard", 1)->signal = number + 1;
  first->waits[first->n_waits - 1] = number;
  h.Train().program->events = number + 1;
}

// Event 6 is no longer signalled. That of the count of labels takes its number, and so on.
void DropLastOfReduction(HandPlan &h) {
  h.Step("train", "compute", 6)->signal = 7;
  h.Step("train", "copy", 4)->waits[0] = 6;
  NumberLast(h, 7);
}

void Swap(uint32_t &a, uint32_t &b) {
  uint32_t c = a;
  a = b;
  b = c;
}

const Damage kOrder[] = {
    {"wait_twice",
     {"ORDER.WAIT"},
     [](HandPlan &h) {
       Dp__Instruction *in = h.Step("train", "compute", 0);
       Append(h.arena, &in->n_waits, &in->waits, in->waits[0]);
     }},
    {"waits_swapped",
     {"ORDER.CONFLICT"},
     [](HandPlan &h) { Swap(h.Step("train", "copy", 3)->waits[0], h.Step("train", "compute", 5)->waits[0]); }},
    {"wait_for_another", {"ORDER.CONFLICT"}, [](HandPlan &h) { h.Step("train", "compute", 5)->waits[0] = 6; }},
    {"wait_for_itself", {"ORDER.CYCLE"}, [](HandPlan &h) { h.Step("train", "comm", 0)->waits[0] = 6; }},
    {"cycle_of_two_streams", {"ORDER.CYCLE"}, [](HandPlan &h) { h.Step("train", "compute", 0)->waits[0] = 5; }},
    {"cycle_of_three_streams",
     {"ORDER.CYCLE"},
     [](HandPlan &h) {
       Append(h.arena, &h.Step("train", "copy", 0)->n_waits, &h.Step("train", "copy", 0)->waits, 6u);
     }},
    {"signalled_twice", {"ORDER.EVENT"}, [](HandPlan &h) { h.Step("train", "comm", 0)->signal = 6; }},
    {"not_signalled", {"ORDER.EVENT"}, [](HandPlan &h) { h.Step("train", "compute", 3)->signal = 0; }},
    {"update_before_use",
     {"ORDER.CONFLICT"},  // on its own stream, while the forward pass reads w
     [](HandPlan &h) {
       dp_test::ProgramWriter &p = h.Train();
       TakeOut(h, "compute", 5);
       p.Add("update", "dp.SGD", "w1", {"w", "m", "dw", "lr", "", "", "refused"}, {"w1", "m1"}, {8});
     }},
    {"collectives_on_two_streams",
     {"ORDER.COLLECTIVE"},
     [](HandPlan &h) {
       TakeOut(h, "comm", 0);
       Append(h.arena, &h.Step("train", "comm", 0)->n_waits, &h.Step("train", "comm", 0)->waits, 8u);
       h.Train().AddOver("data", "comm2", "dp.AllReduce", "loss@part", "loss", {3}, 6);
     }},
    {"result_on_operand",
     {"ORDER.ALIAS"},
     [](HandPlan &h) { h.Train().At("scores")->offset = h.Train().At("x")->offset; }},
    {"result_on_part_of_an_operand",
     {"ORDER.ALIAS"},
     [](HandPlan &h) {
       h.ArenaOf(DP__SPACE__TRANSIENT)->alignment = 16;
       h.Train().At("dw")->offset = h.Train().At("dw@part")->offset + 16;
     }},
    {"scratch_on_result",
     {"ORDER.ALIAS"},
     [](HandPlan &h) {
       Dp__Scratch *s = static_cast<Dp__Scratch *>(dp_alloc(h.arena, sizeof *s));
       dp__scratch__init(s);
       s->offset = 256;
       s->bytes = 8;
       h.Step("train", "compute", 0)->scratch = s;
     }},
};
INSTANTIATE_TEST_SUITE_P(Order, Damaged, testing::ValuesIn(kOrder), [](const auto &i) { return i.param.name; });

const Damage kMeaning[] = {
    {"all_reduce_of_gradient_removed",
     {"MEANING.CONTENT"},
     [](HandPlan &h) {
       h.Step("train", "comm", 0)->signal = 6;  // the loss's all-reduce, which follows the gradient, signals instead
       h.Step("train", "comm", 0)->waits[0] = 4;
       h.Step("train", "copy", 3)->waits[0] = 5;
       DropLastOfReduction(h);
       TakeOut(h, "comm", 1);
     }},
    {"all_reduce_with_its_event_removed", {"ORDER.EVENT"}, [](HandPlan &h) { TakeOut(h, "comm", 0); }},
    {"all_reduce_twice",
     {"MEANING.CONTENT"},
     [](HandPlan &h) {
       Dp__Instruction *last = h.Step("train", "comm", 1);
       h.Train().AddOver("data", "comm", "dp.AllReduce", "dw@part", "dw", {}, 5);
       last->signal = 0;
     }},
    {"all_reduce_by_maximum",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) { h.Step("train", "comm", 1)->communication->reduction = 1; }},
    {"all_reduce_made_a_gather",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) { h.Step("train", "comm", 1)->op = Text(h, "AllGather"); }},
    {"all_reduce_of_another_value",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) { h.Step("train", "comm", 1)->inputs[0] = h.Train().Index("loss@part") + 1; }},
    {"unknown_axis",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) { h.Step("train", "comm", 1)->attributes[0]->s = Text(h, "tensor"); }},
    {"no_axis", {"MEANING.CONVERSION"}, [](HandPlan &h) { h.Step("train", "comm", 1)->communication->n_axes = 0; }},
    {"peers", {"MEANING.CONVERSION"}, [](HandPlan &h) { h.Step("train", "comm", 1)->communication->channel = 3; }},
    {"scatter_made_broadcast",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) { h.Step("train", "copy", 0)->op = Text(h, "Broadcast"); }},
    {"update_removed", {"MEANING.UPDATE"}, [](HandPlan &h) { TakeOut(h, "compute", 5); }},
    {"update_twice",
     {"MEANING.STALE"},
     [](HandPlan &h) {
       h.Train().Add("compute", "dp.SGD", "w1", {"w", "m", "dw", "lr", "", "", "refused"}, {"w1", "m1"}, {});
     }},
    {"fill_twice", {"MEANING.UPDATE"}, [](HandPlan &h) { h.Init().Add("compute", "dp.Fill", "m0", {}, {"m0"}); }},
    {"update_elsewhere",
     {"MEANING.UPDATE"},
     [](HandPlan &h) {
       h.Train().Tensor("w1@away", "w1", "R", DP__SPACE__TRANSIENT, 640);
       h.Step("train", "compute", 5)->outputs[0] = h.Train().Index("w1@away") + 1;
     }},
    {"update_not_left",
     {"MEANING.UPDATE"},
     [](HandPlan &h) {
       h.Train().program->n_exit = 1;
       h.Train().At("m1")->version = 0;
     }},
    {"left_twice", {"MEANING.UPDATE"}, [](HandPlan &h) { h.Train().Left(0, "w1"); }},
    {"left_as_another",
     {"MEANING.STORAGE", "MEANING.UPDATE"},
     [](HandPlan &h) { h.Train().program->exit[0]->value = h.Train().Index("m1"); }},
    {"stale_parameter",
     {"MEANING.STALE"},  // the forward after the update
     [](HandPlan &h) {
       h.Train().Add("compute", "Gemm", "scores", {"x", "w"}, {"scores"});
     }},
    {"version_claimed", {"TENSOR.VERSION"}, [](HandPlan &h) { h.Train().At("w")->version = 1; }},
    {"version_not_claimed", {"TENSOR.VERSION"}, [](HandPlan &h) { h.Train().At("w1")->version = 0; }},
    {"wrong_operand",
     {"MEANING.OPERANDS"},
     [](HandPlan &h) { h.Step("train", "compute", 3)->inputs[0] = h.Train().Index("scores") + 1; }},
    {"operands_swapped",
     {"MEANING.OPERANDS"},
     [](HandPlan &h) { Swap(h.Step("train", "compute", 3)->inputs[0], h.Step("train", "compute", 3)->inputs[1]); }},
    {"operand_left_out", {"MEANING.OPERANDS"}, [](HandPlan &h) { h.Step("train", "compute", 5)->inputs[1] = 0; }},
    {"result_left_out", {"MEANING.OPERANDS"}, [](HandPlan &h) { h.Step("train", "compute", 5)->outputs[1] = 0; }},
    {"value_of_a_tensor_changed",
     {"MEANING.OPERANDS", "MEANING.CONTENT", "TENSOR.TYPE", "TENSOR.BYTES"},
     [](HandPlan &h) { h.Train().At("ds")->value = h.Train().At("scores")->value; }},
    {"attribute_changed", {"MEANING.NODE"}, [](HandPlan &h) { h.Step("train", "compute", 5)->attributes[0]->f = 0.8; }},
    {"attribute_removed", {"MEANING.NODE"}, [](HandPlan &h) { h.Step("train", "compute", 3)->n_attributes = 0; }},
    {"attribute_added",
     {"MEANING.NODE"},
     [](HandPlan &h) {
       Dp__Instruction *in = h.Step("train", "compute", 0);
       dp_attr attrs[] = {dp_attr_int("transB", 1), dp_attr_float("alpha", 0.5)};
       dp_proto_from_attrs(h.arena, 2, attrs, &in->n_attributes, &in->attributes);
     }},
    {"sum_for_mean",
     {"MEANING.NODE"},
     [](HandPlan &h) {
       Dp__Instruction *in = h.Step("train", "compute", 2);
       dp_attr attr = dp_attr_string("reduction", "sum");
       dp_proto_from_attrs(h.arena, 1, &attr, &in->n_attributes, &in->attributes);
     }},
    {"another_node",
     {"MEANING.NODE", "MEANING.OPERANDS"},
     [](HandPlan &h) { h.Step("train", "compute", 0)->nodes[0] = h.Step("train", "compute", 3)->nodes[0]; }},
    {"no_node", {"MEANING.NODE"}, [](HandPlan &h) { h.Step("train", "compute", 0)->n_nodes = 0; }},
    {"another_operator",
     {"MEANING.NODE"},
     [](HandPlan &h) {
       h.Step("train", "compute", 0)->op = Text(h, "MatMul");
       h.Step("train", "compute", 0)->kernel = Text(h, "cpu.reference.MatMul");
     }},
    {"another_kernel",
     {"MEANING.KERNEL"},
     [](HandPlan &h) { h.Step("train", "compute", 0)->kernel = Text(h, "cpu.reference.MatMul"); }},
    {"kernel_of_another_domain",
     {"MEANING.KERNEL"},
     [](HandPlan &h) { h.Step("train", "compute", 0)->kernel = Text(h, "cpu.reference.dp.Gemm"); }},
    {"kernel_of_another_backend",
     {"MEANING.KERNEL"},
     [](HandPlan &h) { h.Step("train", "compute", 0)->kernel = Text(h, "cuda.reference.Gemm"); }},
    {"lower_compute_type",
     {"MEANING.KERNEL"},
     [](HandPlan &h) { h.Step("train", "compute", 0)->compute_dtype = DP_BFLOAT16; }},
    {"mean_over_the_part",
     {"MEANING.ROW"},  // as if each device's loss were the whole
     [](HandPlan &h) { h.Train().At("loss@part")->placements[0]->kind = DP_REPLICATE; }},
    {"shard_of_another_dim",
     {"MEANING.ROW", "TENSOR.BYTES"},
     [](HandPlan &h) { h.Train().At("ds")->placements[0]->dim = 1; }},
    {"shard_in_units_of_two", {"TENSOR.PLACEMENT"}, [](HandPlan &h) { h.Train().At("ds")->placements[0]->unit = 2; }},
    {"shard_off_by_one_dim", {"TENSOR.PLACEMENT"}, [](HandPlan &h) { h.Train().At("label")->placements[0]->dim = 1; }},
    {"replicated_instead_of_split",
     {"TENSOR.BYTES"},
     [](HandPlan &h) { *h.Train().At("x")->placements[0] = *h.Train().At("w")->placements[0]; }},
    {"offset_shifted",
     {"MEANING.UNDEFINED", "MEANING.CONTENT", "ORDER.CONFLICT", "ORDER.ALIAS"},
     [](HandPlan &h) { h.Train().At("scores")->offset = 448; }},
    {"lifetimes_overlap",  // the loss takes the bytes of x, which the gradient needs again
     {"MEANING.UNDEFINED"},
     [](HandPlan &h) { h.Train().At("loss@part")->offset = h.Train().At("x")->offset; }},
    {"lifetimes_overlap_in_part",
     {"MEANING.UNDEFINED"},
     [](HandPlan &h) {
       h.ArenaOf(DP__SPACE__TRANSIENT)->alignment = 4;
       h.Train().At("loss@part")->offset = h.Train().At("x")->offset + 8;
     }},
    {"lifetimes_overlap_on_two_streams",
     {"ORDER.CONFLICT"},
     [](HandPlan &h) { h.Train().At("lr")->offset = h.Train().At("dw")->offset; }},
    {"scratch_on_a_live_value",
     {"MEANING.UNDEFINED"},
     [](HandPlan &h) {
       Dp__Scratch *s = static_cast<Dp__Scratch *>(dp_alloc(h.arena, sizeof *s));
       dp__scratch__init(s);
       s->offset = 0;  // x
       s->bytes = 16;
       h.Step("train", "compute", 1)->scratch = s;
     }},
    {"read_before_it_is_computed",
     {"MEANING.UNDEFINED"},
     [](HandPlan &h) {
       Dp__Stream *s = h.Stream("train", "compute");
       Dp__Instruction *gradient = s->instructions[2], *product = s->instructions[3];
       s->instructions[2] = product;
       s->instructions[3] = gradient;
       gradient->signal = product->signal;
       product->signal = 0;
     }},
    {"other_type", {"TENSOR.TYPE"}, [](HandPlan &h) { h.Train().At("ds")->dtype = DP_FLOAT64; }},
    {"half_precision", {"TENSOR.TYPE"}, [](HandPlan &h) { h.Train().At("ds")->dtype = DP_FLOAT16; }},
    {"fewer_bytes", {"TENSOR.BYTES"}, [](HandPlan &h) { h.Train().At("ds")->bytes -= 4; }},
    {"other_layout", {"TENSOR.LAYOUT"}, [](HandPlan &h) { h.Train().At("ds")->layout = DP__LAYOUT__NHWC; }},
    {"other_stage", {"TENSOR.LAYOUT"}, [](HandPlan &h) { h.Train().At("ds")->stage = 1; }},
    {"kernel_reads_the_host",
     {"TENSOR.SPACE"},
     [](HandPlan &h) {
       h.Train().Tensor("x@there", "x", "S(0)", DP__SPACE__HOST_INPUT, 0);
       h.Step("train", "compute", 0)->inputs[0] = h.Train().Index("x@there") + 1;
     }},
    {"gather_into_input",
     {"TENSOR.SPACE", "MEANING.OUTPUT"},
     [](HandPlan &h) { h.Train().At("loss@host")->space = DP__SPACE__HOST_INPUT; }},
    {"persistent_written_beside_updates",
     {"MEANING.STORAGE"},
     [](HandPlan &h) {
       h.Train().At("lr")->space = DP__SPACE__PERSISTENT;
       h.Train().At("lr")->offset = 128;
     }},
};
INSTANTIATE_TEST_SUITE_P(Meaning, Damaged, testing::ValuesIn(kMeaning), [](const auto &i) { return i.param.name; });

// Another output of a graph, with the value of its output `of`.
void AddOutput(HandPlan &h, size_t graph, const char *name, size_t of) {
  Dp__Graph *g = h.plan->graphs[graph];
  auto *output = static_cast<Dp__NamedValue *>(dp_memdup(h.arena, g->outputs[of], sizeof *g->outputs[of]));
  output->name = Text(h, name);
  Append(h.arena, &g->n_outputs, &g->outputs, output);
}

const Damage kEnds[] = {
    {"inputs_swapped", {"MEANING.INPUT"}, [](HandPlan &h) { h.Train().program->inputs[0]->name = Text(h, "dp.step"); }},
    {"input_not_bound", {"MEANING.UNDEFINED"}, [](HandPlan &h) { h.Train().program->n_inputs = 2; }},
    {"input_bound_to_a_result",
     {"MEANING.INPUT"},
     [](HandPlan &h) { h.Train().program->inputs[0]->tensor = h.Train().Index("scores"); }},
    {"init_is_fed_data",
     {"MEANING.INPUT"},
     [](HandPlan &h) {
       h.Eval().program->name = Text(h, "init");
       h.Init().program->name = Text(h, "start");
       h.plan->variables[1]->initial = h.plan->variables[0]->initial;
     }},
    {"inputs_overlap", {"MEANING.INPUT"}, [](HandPlan &h) { h.Train().At("label@host")->offset = 64; }},
    {"input_on_the_device",
     {"MEANING.INPUT"},
     [](HandPlan &h) { h.Train().program->inputs[0]->tensor = h.Train().Index("x"); }},
    {"output_not_given", {"MEANING.OUTPUT"}, [](HandPlan &h) { h.Train().program->n_outputs = 0; }},
    {"output_bound_to_another",
     {"MEANING.OUTPUT"},
     [](HandPlan &h) { h.Train().program->outputs[0]->tensor = h.Train().Index("x@host"); }},
    {"output_under_another_name",
     {"MEANING.OUTPUT"},
     [](HandPlan &h) { h.Train().program->outputs[0]->name = Text(h, "accuracy"); }},
    {"output_not_written", {"MEANING.UNDEFINED"}, [](HandPlan &h) { TakeOut(h, "copy", 3); }},
    {"output_partial",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) { h.Step("train", "copy", 3)->inputs[0] = h.Train().Index("loss@part") + 1; }},
    {"found_elsewhere", {"MEANING.STORAGE"}, [](HandPlan &h) { h.Train().At("w")->offset = 128; }},
    {"found_is_another",
     {"MEANING.STORAGE"},
     [](HandPlan &h) { h.Train().program->entry[0]->value = h.Train().Index("m"); }},
    {"not_found", {"MEANING.STORAGE"}, [](HandPlan &h) { h.Train().program->n_entry = 1; }},
    {"homes_overlap", {"MEANING.STORAGE"}, [](HandPlan &h) { h.plan->variables[1]->offset = 0; }},
    {"home_too_small", {"TENSOR.BYTES"}, [](HandPlan &h) { h.plan->variables[1]->bytes = 40; }},
    {"home_partial", {"MEANING.STORAGE"}, [](HandPlan &h) { h.plan->variables[1]->placements[0]->kind = DP_PARTIAL; }},
    {"eval_destroys_a_home",
     {"MEANING.STORAGE"},
     [](HandPlan &h) {
       h.Eval().At("loss@part")->space = DP__SPACE__PERSISTENT;
       h.Eval().At("loss@part")->offset = 64;
     }},
    {"frozen_is_updated", {"MEANING.UPDATE"}, [](HandPlan &h) { h.plan->variables[0]->frozen = 1; }},
    {"no_init", {"PROGRAM.INIT"}, [](HandPlan &h) { h.plan->roles[0]->n_programs = 2; }},
    {"init_overwrites_data",
     {"PROGRAM.INIT"},
     [](HandPlan &h) { h.plan->variables[1]->initial = h.plan->variables[0]->initial; }},
    {"init_reads_what_is_not_there",
     {"MEANING.UNDEFINED"},
     [](HandPlan &h) {
       static const char text[] =
           "model m {\n parameter w: float32[3,4] = fill(0)\n state m: float32[3,4] = fill(0)\n"
           " stored one: float32[] = 1\n graph train {\n output m\n}\n"
           " graph init {\n m0 = Identity(m)\n update m = m0\n}\n}\n";
       dp_model *model;
       ASSERT_EQ(dp_test::Parse(h.arena, text, &model), "");
       h.plan->graphs[2] = dp_proto_from_graph(h.arena, model->graphs[1]);
       dp_test::ProgramWriter p(h.arena, h.plan, model->graphs[1], 2);
       p.Tensor("m", "m", "R", DP__SPACE__PERSISTENT, 64).Tensor("m0", "m0", "R", DP__SPACE__PERSISTENT, 64);
       p.Add("compute", "Identity", "m0", {"m"}, {"m0"});
       p.Found(1, "m");
       p.Left(1, "m0");
       h.plan->roles[0]->programs[2] = p.program;
     }},
    {"eval_does_not_say_what_was_right", {"PROGRAM.OUTPUTS"}, [](HandPlan &h) { h.plan->classes = 1; }},
    {"train_gives_no_count",
     {"PROGRAM.OUTPUTS"},
     [](HandPlan &h) { h.plan->graphs[0]->outputs[1]->name = Text(h, "labels"); }},
    {"eval_gives_no_count",
     {"PROGRAM.OUTPUTS"},
     [](HandPlan &h) { h.plan->graphs[1]->outputs[1]->name = Text(h, "labels"); }},
    {"a_count_that_is_no_int64",
     {"PROGRAM.OUTPUTS"},
     [](HandPlan &h) { h.plan->graphs[0]->outputs[1]->value = h.plan->graphs[0]->outputs[0]->value; }},
    {"a_term_of_the_loss_without_what_it_is_over",
     {"PROGRAM.OUTPUTS"},
     [](HandPlan &h) { AddOutput(h, 0, "term/0", 0); }},
    {"terms_of_the_loss_with_a_gap",
     {"PROGRAM.OUTPUTS"},
     [](HandPlan &h) { AddOutput(h, 1, "term/1", 0), AddOutput(h, 1, "over/1", 1); }},
    {"the_count_is_not_copied_to_the_host",
     {"MEANING.OUTPUT", "MEANING.UNDEFINED"},
     [](HandPlan &h) { TakeOut(h, "copy", 4), h.Step("train", "compute", 6)->signal = 0, NumberLast(h, 7); }},
    {"graph_with_a_cycle", {"FORM.GRAPH"}, [](HandPlan &h) { h.plan->graphs[0]->nodes[0]->inputs[0] = 20; }},
    {"graph_of_unknown_operator",
     {"FORM.GRAPH"},
     [](HandPlan &h) { h.plan->graphs[0]->nodes[0]->op = Text(h, "Gem"); }},
    {"two_roles",
     {"FORM.ROLE"},
     [](HandPlan &h) { Append(h.arena, &h.plan->n_roles, &h.plan->roles, h.plan->roles[0]); }},
    {"half_a_role", {"FORM.ROLE"}, [](HandPlan &h) { h.plan->roles[0]->devices[0]->count = 1; }},
};
INSTANTIATE_TEST_SUITE_P(Ends, Damaged, testing::ValuesIn(kEnds), [](const auto &i) { return i.param.name; });

// ---- several operands ----------------------------------------------------------------------------------------------

// Merges the two all-reduces of train into one, both in place.
void Join(HandPlan &h) {
  Dp__Instruction *in = h.Step("train", "comm", 0), *second = h.Step("train", "comm", 1);
  Append(h.arena, &in->n_inputs, &in->inputs, second->inputs[0]);
  Append(h.arena, &in->n_outputs, &in->outputs, second->outputs[0]);
  in->waits[0] = 4;  // the gradient, which is later than the loss
  in->signal = second->signal;
  TakeOut(h, "comm", 1);
  h.Step("train", "copy", 3)->waits[0] = 5;
  DropLastOfReduction(h);
  h.Train().At("loss")->offset = h.Train().At("loss@part")->offset;
}

TEST(Verify, SeveralSumsAtOnceHold) {
  HandPlan joined, apart;
  Join(joined);
  Join(apart);
  apart.Train().At("loss")->offset = 384;
  for (HandPlan *h : {&joined, &apart}) {
    dp_verify_report report;
    std::string message;
    EXPECT_EQ(h->Verify(&message, &report), "") << message;
    EXPECT_EQ(report.collectives, 3u);                           // eval has one
    EXPECT_EQ(report.conversions, 4u + 2u + 2u + 2u + 1u + 2u);  // one for each pair; train, then eval
  }
}

const Damage kBucket[] = {
    {"results_swapped",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) { Swap(h.Step("train", "comm", 0)->outputs[0], h.Step("train", "comm", 0)->outputs[1]); }},
    {"operands_swapped",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) { Swap(h.Step("train", "comm", 0)->inputs[0], h.Step("train", "comm", 0)->inputs[1]); }},
    {"a_result_less", {"MEANING.CONVERSION"}, [](HandPlan &h) { h.Step("train", "comm", 0)->n_outputs = 1; }},
    {"an_operand_less", {"MEANING.CONVERSION"}, [](HandPlan &h) { h.Step("train", "comm", 0)->n_inputs = 1; }},
    {"an_operand_left_out", {"MEANING.CONVERSION"}, [](HandPlan &h) { h.Step("train", "comm", 0)->inputs[1] = 0; }},
    {"an_operand_for_another",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) { h.Step("train", "comm", 0)->inputs[1] = h.Step("train", "comm", 0)->inputs[0]; }},
    {"a_member_whole_already",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) { h.Step("train", "comm", 0)->inputs[1] = h.Train().Index("dw") + 1; }},
    {"a_member_removed",
     {"MEANING.CONTENT"},
     [](HandPlan &h) { h.Step("train", "comm", 0)->n_inputs = h.Step("train", "comm", 0)->n_outputs = 1; }},
    {"types_mixed",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) {
       Dp__Instruction *in = h.Step("train", "comm", 0);
       h.Train().Tensor("lr@part", "dp.lr", "P(sum)", DP__SPACE__TRANSIENT, 640);
       h.Train().Tensor("lr@whole", "dp.lr", "R", DP__SPACE__TRANSIENT, 640);
       Append(h.arena, &in->n_inputs, &in->inputs, h.Train().Index("lr@part") + 1);
       Append(h.arena, &in->n_outputs, &in->outputs, h.Train().Index("lr@whole") + 1);
     }},
    {"members_overlap",
     {"ORDER.ALIAS"},
     [](HandPlan &h) { h.Train().At("loss@part")->offset = h.Train().At("loss")->offset = 512; }},
    {"results_overlap", {"ORDER.ALIAS"}, [](HandPlan &h) { h.Train().At("loss")->offset = 512; }},
    {"results_in_each_others_place",
     {"ORDER.ALIAS"},  // one value twice, so the content is right
     [](HandPlan &h) {
       h.Train().Tensor("again@part", "dw", "P(sum)", DP__SPACE__TRANSIENT, 640);
       h.Train().Tensor("again", "dw", "R", DP__SPACE__TRANSIENT, 640);
       h.Train().Add("compute", "Gemm", "dw", {"ds", "x"}, {"again@part"});
       Dp__Stream *compute = h.Stream("train", "compute");
       std::rotate(compute->instructions + 3, compute->instructions + compute->n_instructions - 1,
                   compute->instructions + compute->n_instructions);
       Dp__Instruction *in = h.Step("train", "comm", 0);
       Append(h.arena, &in->n_inputs, &in->inputs, h.Train().Index("again@part") + 1);
       Append(h.arena, &in->n_outputs, &in->outputs, h.Train().Index("again") + 1);
       std::swap(h.Train().At("again")->offset, h.Train().At("dw")->offset);
     }},
    {"wrong_axis",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) { h.Step("train", "comm", 0)->attributes[0]->s = Text(h, "tensor"); }},
    {"by_maximum",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) { h.Step("train", "comm", 0)->communication->reduction = 1; }},
    {"of_another_operator",
     {"MEANING.CONVERSION"},
     [](HandPlan &h) { h.Step("train", "comm", 0)->op = Text(h, "ReduceScatter"); }},
    {"before_its_last_operand", {"ORDER.CONFLICT"}, [](HandPlan &h) { h.Step("train", "comm", 0)->waits[0] = 3; }},
    {"one_operand_many_times",
     {"ORDER.ALIAS"},
     [](HandPlan &h) {
       Dp__Instruction *in = h.Step("train", "comm", 0);
       while (in->n_inputs <= DP_MAX_OPERANDS) {
         Append(h.arena, &in->n_inputs, &in->inputs, in->inputs[0]);
         Append(h.arena, &in->n_outputs, &in->outputs, in->outputs[0]);
       }
     }},
};

class DamagedBucket : public testing::TestWithParam<Damage> {};

TEST_P(DamagedBucket, IsRejected) {
  HandPlan hand;
  Join(hand);
  GetParam().make(hand);
  hand.Fit();
  std::string message, rule = hand.Verify(&message);
  EXPECT_TRUE(GetParam().rules.count(rule)) << "rule '" << rule << "', " << message;
}

INSTANTIATE_TEST_SUITE_P(, DamagedBucket, testing::ValuesIn(kBucket), [](const auto &i) { return i.param.name; });

}  // namespace
