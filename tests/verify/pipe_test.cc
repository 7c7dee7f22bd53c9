// The checker on plans of two stages and of micro-batches, written by hand: they hold, and each damage breaks the rule that a
// table names beforehand.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "ir/op.h"
#include "ir/proto.h"
#include "tests/verify/pipe_plan.h"

namespace {

using dp_test::Append;
using dp_test::PipePlan;
using dp_test::Remove;

TEST(Pipe, HandWrittenPlansHold) {
  for (int micro : {1, 2, 3, 4, 5, 8, 20})
    for (int data : {1, 2, 3}) {
      PipePlan hand(micro, data);
      std::string message;
      dp_verify_report report;
      EXPECT_EQ(hand.Verify(&message, &report), "") << micro << " micro-batches, data " << data << ": " << message;
      // Counted by hand on the listing in pipe_plan.cc.
      const uint64_t m = static_cast<uint64_t>(micro);
      EXPECT_EQ(report.stages, 2u);
      EXPECT_EQ(report.microbatches, m);
      EXPECT_EQ(report.devices, 2u * static_cast<uint64_t>(data));
      EXPECT_EQ(report.programs, 3u);
      EXPECT_EQ(report.transfers, 2 * m + m);
      EXPECT_EQ(report.accumulations, 3 * (m - 1) + (m - 1));
      EXPECT_EQ(report.nodes, (9 * m + 2 * 3) + 3 * m + 2);
      EXPECT_EQ(report.updates, 2u + 2u);
      EXPECT_EQ(report.outputs, 2u);
      EXPECT_EQ(report.collectives, data == 1 ? 0u : 3u + (micro > 1 ? m : 0u));
    }
}

TEST(Pipe, MessageNamesTheRole) {
  PipePlan hand(2);
  hand.Maker(1, "train", "scores#1")->n_waits = 0;
  std::string message;
  dp_verify_report report;
  EXPECT_EQ(hand.Verify(&message, &report), "ORDER.CONFLICT");
  EXPECT_NE(message.find("role stage1, program train, stream compute, instruction 3 (Gemm): rule ORDER.CONFLICT"),
            std::string::npos)
      << message;
  EXPECT_STREQ(report.fault.role, "stage1");
}

TEST(Pipe, PrintSaysWhatWasProved) {
  dp_verify_report report;
  ASSERT_EQ(PipePlan(4).Verify(nullptr, &report), "");
  char *text = nullptr;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  dp_verify_print(&report, out);
  fclose(out);
  for (const char *part :
       {"2 stages; 12 transfers", "4 micro-batches", "12 accumulations", "3 programs, for 2 devices"})
    EXPECT_NE(std::string(text).find(part), std::string::npos) << text;
  free(text);
}

// Each wait is needed: what it is for would come too early, or a stage would read what is not there yet.
TEST(Pipe, EveryWaitIsNeeded) {
  int removed = 0;
  for (int stage : {0, 1})
    for (const char *stream : {"copy", "compute", "send", "recv"})
      for (size_t i = 0; i < PipePlan(2, 2).Stream(stage, "train", stream)->n_instructions; i++)
        for (size_t w = 0; w < PipePlan(2, 2).Step(stage, "train", stream, i)->n_waits; w++) {
          PipePlan hand(2, 2);
          Dp__Instruction *in = hand.Step(stage, "train", stream, i);
          Remove(&in->n_waits, in->waits, w);
          EXPECT_EQ(hand.Verify(), "ORDER.CONFLICT") << stage << stream << i << " wait " << w;
          removed++;
        }
  EXPECT_EQ(removed, 15);
}

// ---- damages --------------------------------------------------------------------------------------------------------

// Of four micro-batches, or of two on two devices a stage.
struct Damage {
  const char *name;
  std::set<std::string> rules;  // any of them
  std::function<void(PipePlan &)> make;
  int micro = 4, data = 1;
};
void PrintTo(const Damage &damage, std::ostream *out) { *out << damage.name; }

class DamagedPipe : public testing::TestWithParam<Damage> {};

TEST_P(DamagedPipe, IsRejected) {
  PipePlan hand(GetParam().micro, GetParam().data);
  ASSERT_EQ(hand.Verify(), "");
  GetParam().make(hand);
  std::string message, rule = hand.Verify(&message);
  EXPECT_TRUE(GetParam().rules.count(rule)) << "rule '" << rule << "', " << message;
}

template <typename T>
T *Copy(PipePlan &h, const T *message) {
  return static_cast<T *>(dp_memdup(h.arena, message, sizeof *message));
}
char *Text(PipePlan &h, const char *text) { return dp_strdup(h.arena, text); }
Dp__DeviceTensor *At(PipePlan &h, int stage, const char *label, const char *program = "train") {
  return h.Writer(stage, program).At(label);
}
uint32_t Number(PipePlan &h, int stage, const char *label, const char *program = "train") {
  return h.Writer(stage, program).Index(label) + 1;
}
void Set(PipePlan &h, int stage, const char *label, uint32_t first, uint32_t count, uint32_t of,
         const char *program = "train") {
  Dp__MicroSet *m = At(h, stage, label, program)->micro;
  if (!m) m = At(h, stage, label, program)->micro = dp_test::New(h.arena, dp__micro_set__init);
  m->first = first;
  m->count = count;
  m->of = of;
}
Dp__Instruction *Sends(PipePlan &h, int stage, size_t index) { return h.Step(stage, "train", "send", index); }
Dp__Instruction *Recvs(PipePlan &h, int stage, size_t index) { return h.Step(stage, "train", "recv", index); }
void SetChannel(Dp__Instruction *in, uint32_t channel) { in->attributes[1]->i = in->communication->channel = channel; }
void TakeOut(PipePlan &h, int stage, const char *program, const char *stream, size_t index) {
  Dp__Stream *s = h.Stream(stage, program, stream);
  Remove(&s->n_instructions, s->instructions, index);
}
void SwapSteps(PipePlan &h, int stage, const char *stream, size_t a, size_t b) {
  std::swap(h.Stream(stage, "train", stream)->instructions[a], h.Stream(stage, "train", stream)->instructions[b]);
}
void SetStages(PipePlan &h, int persistent, std::vector<uint32_t> stages) {
  Dp__Persistent *p = h.plan->persistents[persistent];
  p->n_stages = 0;
  for (uint32_t s : stages) Append(h.arena, &p->n_stages, &p->stages, s);
}
Dp__Arena *ArenaOf(PipePlan &h, int role, Dp__Space space) {
  for (size_t i = 0; i < h.plan->roles[role]->n_arenas; i++)
    if (h.plan->roles[role]->arenas[i]->space == space) return h.plan->roles[role]->arenas[i];
  return nullptr;
}

const Damage kRoles[] = {
    {"in_another_order", {"FORM.ROLE"}, [](PipePlan &h) { std::swap(h.plan->roles[0], h.plan->roles[1]); }},
    {"one_missing", {"FORM.ROLE"}, [](PipePlan &h) { h.plan->n_roles = 1; }},
    {"one_too_many",
     {"FORM.ROLE"},
     [](PipePlan &h) { Append(h.arena, &h.plan->n_roles, &h.plan->roles, h.plan->roles[1]); }},
    {"one_twice", {"FORM.ROLE"}, [](PipePlan &h) { h.plan->roles[1] = h.plan->roles[0]; }},
    {"of_both_stages", {"FORM.ROLE"}, [](PipePlan &h) { h.plan->roles[0]->devices[1]->count = 2; }},
    {"of_half_the_micro_batches", {"FORM.ROLE"}, [](PipePlan &h) { h.plan->roles[0]->devices[0]->count = 2; }},
    {"of_half_the_devices", {"FORM.ROLE"}, [](PipePlan &h) { h.plan->roles[1]->devices[2]->count = 1; }, 2, 2},
    {"micro_not_the_first_axis",
     {"FORM.ROLE"},
     [](PipePlan &h) {
       std::swap(h.plan->mesh[0], h.plan->mesh[1]);
       for (int r = 0; r < 2; r++) std::swap(h.plan->roles[r]->devices[0], h.plan->roles[r]->devices[1]);
     }},
    {"a_program_less", {"FORM.ROLE"}, [](PipePlan &h) { h.plan->roles[1]->n_programs--; }},
    {"programs_in_another_order",
     {"FORM.ROLE"},
     [](PipePlan &h) { std::swap(h.plan->roles[1]->programs[0], h.plan->roles[1]->programs[1]); }},
    {"another_graph", {"FORM.ROLE"}, [](PipePlan &h) { h.plan->roles[1]->programs[2]->graph = 1; }},
    {"host_memories_differ", {"FORM.ROLE"}, [](PipePlan &h) { ArenaOf(h, 1, DP__SPACE__HOST_INPUT)->bytes += 64; }},
    {"a_host_memory_missing",
     {"FORM.ROLE"},
     [](PipePlan &h) {
       h.Writer(1, "train").program->n_outputs = 0;
       for (int s : {0, 1})
         for (size_t p = 0; p < 2; p++)
           for (size_t i = 0; i < h.plan->roles[s]->programs[p]->n_tensors; i++)
             if (h.plan->roles[s]->programs[p]->tensors[i]->space == DP__SPACE__HOST_OUTPUT)
               h.plan->roles[s]->programs[p]->tensors[i]->space = DP__SPACE__TRANSIENT;
       ArenaOf(h, 1, DP__SPACE__HOST_OUTPUT)->space = DP__SPACE__PEER_WINDOW;
     }},
    {"homes_beyond_one_stage", {"FORM.RANGE"}, [](PipePlan &h) { ArenaOf(h, 1, DP__SPACE__PERSISTENT)->bytes = 128; }},
};
INSTANTIATE_TEST_SUITE_P(Roles, DamagedPipe, testing::ValuesIn(kRoles), [](const auto &i) { return i.param.name; });

const Damage kHomes[] = {
    {"stage_unknown", {"FORM.INDEX"}, [](PipePlan &h) { SetStages(h, PipePlan::kW, {2}); }},
    {"stages_not_rising",
     {"FORM.GRAPH"},
     [](PipePlan &h) {
       SetStages(h, PipePlan::kOne, {1, 0});
     }},
    {"stage_twice",
     {"FORM.GRAPH"},
     [](PipePlan &h) {
       SetStages(h, PipePlan::kOne, {1, 1});
     }},
    {"parameter_on_both_stages",
     {"MEANING.HOME"},
     [](PipePlan &h) {
       h.plan->persistents[PipePlan::kV]->offset = 192 - 64;
       h.plan->persistents[PipePlan::kOne]->offset = 0;
       SetStages(h, PipePlan::kW, {0, 1});
     }},
    {"parameter_on_all_stages", {"MEANING.HOME"}, [](PipePlan &h) { SetStages(h, PipePlan::kV, {}); }},
    {"parameter_on_the_other_stage",
     {"MEANING.HOME", "MEANING.UPDATE"},
     [](PipePlan &h) {
       SetStages(h, PipePlan::kV, {0});
       h.plan->persistents[PipePlan::kV]->offset = 256;
       ArenaOf(h, 0, DP__SPACE__PERSISTENT)->bytes = 512;
     }},
    {"constant_on_one_stage", {"MEANING.HOME"}, [](PipePlan &h) { SetStages(h, PipePlan::kOne, {0}); }},
    {"overlap_on_a_stage", {"MEANING.HOME"}, [](PipePlan &h) { h.plan->persistents[PipePlan::kOne]->offset = 64; }},
    {"split_over_micro_batches",
     {"MEANING.HOME"},
     [](PipePlan &h) { *h.plan->persistents[PipePlan::kW]->placements[0] = *At(h, 0, "x#0")->placements[0]; }},
    {"split_over_stages",
     {"MEANING.HOME"},
     [](PipePlan &h) { *h.plan->persistents[PipePlan::kW]->placements[1] = *At(h, 0, "x#0")->placements[0]; }},
    {"not_initialized_on_one_stage",
     {"MEANING.UPDATE"},
     [](PipePlan &h) {
       TakeOut(h, 1, "init", "compute", 0);
       h.Writer(1, "init").program->n_left = 0;
       At(h, 1, "one0", "init")->version = 0;
     }},
    {"said_to_be_initialized_on_one_stage",
     {"MEANING.UPDATE"},
     [](PipePlan &h) { TakeOut(h, 1, "init", "compute", 0); }},
    {"updated_on_the_other_stage",
     {"MEANING.HOME"},
     [](PipePlan &h) {
       h.Writer(1, "train").Tensor("w1", "w1", "R,R", DP__SPACE__PERSISTENT, 0);
       h.Writer(1, "train").Left(PipePlan::kW, "w1");
     }},
    {"not_updated",
     {"MEANING.UPDATE"},
     [](PipePlan &h) {
       h.Writer(1, "train").program->n_left = 0;
       At(h, 1, "v1")->version = 0;
     }},
    {"found_on_the_other_stage",
     {"MEANING.HOME"},
     [](PipePlan &h) {
       h.Writer(1, "train").Tensor("w", "w", "R,R", DP__SPACE__PERSISTENT, 0);
       h.Writer(1, "train").Found(PipePlan::kW, "w");
     }},
};
INSTANTIATE_TEST_SUITE_P(Homes, DamagedPipe, testing::ValuesIn(kHomes), [](const auto &i) { return i.param.name; });

const Damage kTensors[] = {
    {"another_stage", {"TENSOR.LAYOUT"}, [](PipePlan &h) { At(h, 0, "g#1")->stage = 1; }},
    {"split_over_stages",
     {"TENSOR.PLACEMENT"},
     [](PipePlan &h) { *At(h, 0, "g#1")->placements[1] = *At(h, 0, "g#1")->placements[0]; }},
    {"of_no_micro_batch", {"TENSOR.LAYOUT"}, [](PipePlan &h) { At(h, 0, "g#1")->micro = nullptr; }},
    {"of_zero_micro_batches", {"TENSOR.LAYOUT"}, [](PipePlan &h) { Set(h, 0, "g#1", 1, 0, 4); }},
    {"of_all_micro_batches", {"TENSOR.LAYOUT"}, [](PipePlan &h) { Set(h, 1, "dv#0-3", 0, 4, 4); }},
    {"of_more_than_there_are", {"TENSOR.LAYOUT"}, [](PipePlan &h) { Set(h, 0, "g#1", 4, 1, 4); }},
    {"of_one_below_zero", {"TENSOR.LAYOUT"}, [](PipePlan &h) { Set(h, 0, "g#1", UINT32_MAX, 2, 4); }},
    {"of_others_than_there_are", {"TENSOR.LAYOUT"}, [](PipePlan &h) { Set(h, 0, "g#1", 1, 1, 8); }},
    {"whole_of_some", {"TENSOR.LAYOUT"}, [](PipePlan &h) { Set(h, 0, "w1", 0, 1, 4); }},
    {"parts_in_too_few_bytes",
     {"TENSOR.BYTES"},
     [](PipePlan &h) { At(h, 1, "scores#0-2", "infer")->bytes = 8 * 3 * 4 - 4; }},
    {"a_home_of_some",
     {"MEANING.HOME", "TENSOR.LAYOUT"},
     [](PipePlan &h) {
       *At(h, 0, "w")->placements[0] = *At(h, 0, "dw#0")->placements[0];
       Set(h, 0, "w", 0, 1, 4);
     }},
};
INSTANTIATE_TEST_SUITE_P(Tensors, DamagedPipe, testing::ValuesIn(kTensors), [](const auto &i) { return i.param.name; });

// ---- micro-batches --------------------------------------------------------------------------------------------------

const Damage kMicro[] = {
    {"operand_of_another",
     {"MEANING.MICRO"},
     [](PipePlan &h) { h.Maker(0, "train", "dw#2")->inputs[1] = Number(h, 0, "x#1"); }},
    {"operand_of_another_from_far",
     {"MEANING.MICRO"},
     [](PipePlan &h) { h.Maker(0, "train", "dg#3")->inputs[0] = Number(h, 0, "dh#0"); }},
    {"result_of_another", {"MEANING.MICRO"}, [](PipePlan &h) { Set(h, 0, "dw#2", 1, 1, 4); }},
    {"label_of_another",
     {"MEANING.MICRO"},
     [](PipePlan &h) { h.Maker(1, "train", "loss#1")->inputs[1] = Number(h, 1, "label#2"); }},
    {"label_said_to_be_another", {"MEANING.MICRO"}, [](PipePlan &h) { Set(h, 1, "label#1", 2, 1, 4); }},
    {"one_dropped",
     {"MEANING.CONTENT"},  // the last sum
     [](PipePlan &h) {
       Dp__Stream *s = h.Stream(0, "train", "compute");
       for (size_t i = 0; i < s->n_instructions; i++)
         if (s->instructions[i] == h.Maker(0, "train", "dw")) return TakeOut(h, 0, "train", "compute", i);
     }},
    {"one_dropped_on_the_way",
     {"MEANING.MICRO"},
     [](PipePlan &h) { h.Maker(0, "train", "dw#0-3")->inputs[0] = Number(h, 0, "dw#0"); }},
    {"one_twice",
     {"MEANING.MICRO"},
     [](PipePlan &h) { h.Maker(0, "train", "dw#0-3")->inputs[1] = Number(h, 0, "dw#1"); }},
    {"one_twice_and_said_to_be_another",
     {"MEANING.CONTENT"},
     [](PipePlan &h) {
       h.Writer(0, "train").Tensor("again", "dw", "P(sum),R", DP__SPACE__TRANSIENT, At(h, 0, "dw#1")->offset).Micro(2);
       h.Maker(0, "train", "dw#0-3")->inputs[1] = Number(h, 0, "again");
     }},
    {"itself_twice",
     {"MEANING.MICRO"},
     [](PipePlan &h) { h.Maker(0, "train", "dw")->inputs[1] = Number(h, 0, "dw#0-3"); }},
    {"later_before_earlier",
     {"MEANING.MICRO"},
     [](PipePlan &h) {
       Dp__Instruction *in = h.Maker(0, "train", "dw#0-2");
       std::swap(in->inputs[0], in->inputs[1]);
     }},
    {"said_to_be_more", {"MEANING.MICRO"}, [](PipePlan &h) { Set(h, 0, "dw#0-2", 0, 3, 4); }},
    {"said_to_be_less", {"MEANING.MICRO"}, [](PipePlan &h) { Set(h, 0, "dw#0-2", 0, 1, 4); }},
    {"said_to_be_others", {"MEANING.MICRO"}, [](PipePlan &h) { Set(h, 0, "dw#0-2", 1, 2, 4); }},
    {"said_to_be_all",
     {"MEANING.MICRO"},
     [](PipePlan &h) {
       Dp__Instruction *in = h.Maker(0, "train", "dw#0-3");
       in->outputs[0] = Number(h, 0, "dw");
     }},
    {"all_said_to_be_some",
     {"MEANING.MICRO"},
     [](PipePlan &h) { h.Maker(0, "train", "dw")->outputs[0] = Number(h, 0, "dw#0-3"); }},
    {"a_piece_of_another_value",
     {"MEANING.MICRO"},
     [](PipePlan &h) { h.Maker(1, "train", "dv#0-2")->inputs[1] = Number(h, 1, "loss#1"); }},
    {"a_sum_used_as_whole",
     {"MEANING.ROW"},
     [](PipePlan &h) { h.Maker(0, "train", "w1")->inputs[2] = Number(h, 0, "dw#3"); }},
    {"some_used_as_whole",
     {"MEANING.MICRO"},
     [](PipePlan &h) { h.Maker(0, "train", "w1")->inputs[2] = Number(h, 0, "dw#0-3"); }},
    {"by_maximum", {"MEANING.MICRO"}, [](PipePlan &h) { h.Maker(0, "train", "dw#0-2")->communication->reduction = 1; }},
    {"result_by_maximum", {"MEANING.MICRO"}, [](PipePlan &h) { At(h, 0, "dw#0-2")->placements[0]->reduction = 1; }},
    {"over_stages",
     {"MEANING.MICRO"},
     [](PipePlan &h) {
       Dp__Instruction *in = h.Maker(0, "train", "dw#0-2");
       in->attributes[0]->s = Text(h, "pipe");
       in->communication->axes[0] = 1;
     }},
    {"over_devices",
     {"MEANING.MICRO"},
     [](PipePlan &h) {
       Dp__Instruction *in = h.Maker(0, "train", "dw");
       in->attributes[0]->s = Text(h, "data");
       in->communication->axes[0] = 2;
     },
     2,
     2},
    {"over_an_unknown_axis",
     {"MEANING.CONVERSION"},
     [](PipePlan &h) { h.Maker(0, "train", "dw#0-2")->attributes[0]->s = Text(h, "tensor"); }},
    {"with_a_channel",
     {"MEANING.CONVERSION"},
     [](PipePlan &h) { h.Maker(0, "train", "dw#0-2")->communication->channel = 9; }},
    {"of_one_operand", {"MEANING.MICRO"}, [](PipePlan &h) { h.Maker(0, "train", "dw#0-2")->n_inputs = 1; }},
    {"operand_left_out", {"MEANING.MICRO"}, [](PipePlan &h) { h.Maker(0, "train", "dw#0-2")->inputs[1] = 0; }},
    {"of_two_results",
     {"MEANING.MICRO"},
     [](PipePlan &h) {
       Dp__Instruction *in = h.Maker(0, "train", "dw#0-2");
       Append(h.arena, &in->n_outputs, &in->outputs, Number(h, 0, "dw#0-3"));
     }},
    {"with_a_node",
     {"MEANING.MICRO"},
     [](PipePlan &h) {
       Dp__Instruction *in = h.Maker(0, "train", "dw#0-2");
       Append(h.arena, &in->n_nodes, &in->nodes, 0u);
     }},
    {"in_another_type",
     {"MEANING.MICRO"},
     [](PipePlan &h) { h.Maker(0, "train", "dw#0-2")->compute_dtype = DP_FLOAT16; }},
    {"before_the_sum_over_devices",
     {"MEANING.MICRO"},
     [](PipePlan &h) {
       *At(h, 0, "dw#1")->placements[2] = *At(h, 0, "w")->placements[2];
       h.Maker(0, "train", "dw#1")->kernel = Text(h, "cpu.reference.Gemm");
       *At(h, 0, "dw#1")->placements[2] = *At(h, 0, "w")->placements[2];
       // As if the rows were those of one device.
       for (const char *of : {"x#1", "dg#1", "dh#1", "h#1", "g#1"})
         *At(h, 0, of)->placements[2] = *At(h, 0, "w")->placements[2];
       for (const char *of : {"x#1", "dg#1", "dh#1", "h#1", "g#1"}) At(h, 0, of)->bytes *= 2;
     },
     2,
     2},
    {"on_the_piece",
     {"ORDER.ALIAS"},
     [](PipePlan &h) {
       for (const char *of : {"dw#0-2", "dw#0-3", "dw"}) At(h, 0, of)->offset = At(h, 0, "dw#1")->offset;
     }},
    {"on_a_part_that_lies_alone",
     {"ORDER.ALIAS"},
     [](PipePlan &h) {
       // The scores of micro-batch 0, with room for all.
       At(h, 1, "scores#0", "infer")->bytes = At(h, 1, "scores#0-2", "infer")->bytes;
       At(h, 1, "scores#0", "infer")->offset = At(h, 1, "scores#0-2", "infer")->offset;
     }},
    {"parts_used_by_a_kernel",
     {"MEANING.MICRO"},
     [](PipePlan &h) {
       h.Writer(1, "infer").Tensor("h#0-2", "h", "S(0),R", DP__SPACE__TRANSIENT, 1 << 16).Micro(0, 2);
       h.Maker(1, "infer", "scores#1")->inputs[0] = Number(h, 1, "h#0-2", "infer");
     }},
    {"parts_given_to_the_host",
     {"MEANING.CONVERSION"},
     [](PipePlan &h) { h.Maker(1, "infer", "scores@host")->inputs[0] = Number(h, 1, "scores#0-3", "infer"); }},
    {"a_part_given_to_the_host",
     {"MEANING.CONVERSION"},
     [](PipePlan &h) { h.Maker(1, "infer", "scores@host")->inputs[0] = Number(h, 1, "scores#3", "infer"); }},
    {"parts_of_nested_splits",
     {"MEANING.MICRO"},
     [](PipePlan &h) {
       // Not joined over data before.
       for (const char *of : {"joined"}) {
         Dp__Instruction *in = h.Maker(1, "infer", of);
         in->inputs[0] = Number(h, 1, "scores#0", "infer");
         in->inputs[1] = Number(h, 1, "scores#1", "infer");
         *At(h, 1, of, "infer")->placements[2] = *At(h, 1, "scores#0", "infer")->placements[2];
       }
     },
     2,
     2},
    {"several_from_the_host",
     {"MEANING.CONVERSION"},
     [](PipePlan &h) {
       h.Writer(1, "train").Tensor("label#0-2", "label", "S(0),R", DP__SPACE__TRANSIENT, 1 << 16).Micro(0, 2);
       h.Maker(1, "train", "label#0")->outputs[0] = Number(h, 1, "label#0-2");
     }},
    {"all_reduced",
     {"MEANING.CONVERSION"},
     [](PipePlan &h) {
       Dp__Instruction *in = h.Maker(0, "train", "dw");
       in->op = Text(h, "AllReduce");
       in->n_inputs = 1;
     }},
    {"all_reduced_into_another",
     {"MEANING.CONVERSION"},
     [](PipePlan &h) {
       Dp__Instruction *in = h.Maker(0, "train", "dw@whole");
       h.Writer(0, "train")
           .Tensor("dw#1@whole", "dw", "P(sum),R,R", DP__SPACE__TRANSIENT, At(h, 0, "dw#1")->offset)
           .Micro(1);
       h.Writer(0, "train")
           .Tensor("dw#0@part", "dw", "P(sum),R,P(sum)", DP__SPACE__TRANSIENT, At(h, 0, "dw#1")->offset)
           .Micro(0);
       in->inputs[0] = Number(h, 0, "dw#0@part");
       in->outputs[0] = Number(h, 0, "dw#1@whole");
     },
     2,
     2},
    {"overwritten_too_early",
     {"MEANING.CONTENT", "MEANING.UNDEFINED", "ORDER.CONFLICT"},
     [](PipePlan &h) { At(h, 1, "ds#0")->offset = At(h, 1, "scores#1")->offset; }},
};
INSTANTIATE_TEST_SUITE_P(Micro, DamagedPipe, testing::ValuesIn(kMicro), [](const auto &i) { return i.param.name; });

// ---- transfers ------------------------------------------------------------------------------------------------------

const Damage kTransfers[] = {
    {"receives_another",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) {
       SetChannel(Recvs(h, 1, 0), 3);
       SetChannel(Recvs(h, 1, 1), 1);
     }},
    {"sends_another_micro_batch",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) { Sends(h, 0, 3)->inputs[0] = Number(h, 0, "h#2"); }},
    {"sends_another_value", {"MEANING.TRANSFER"}, [](PipePlan &h) { Sends(h, 0, 3)->inputs[0] = Number(h, 0, "g#3"); }},
    {"sends_otherwise_placed",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) {
       dp_test::ProgramWriter &w = h.Writer(0, "train");
       uint32_t event = w.program->events;
       w.Tensor("h#1@whole", "h", "S(0),R,R", DP__SPACE__TRANSIENT, 1 << 16).Micro(1);
       w.AddOver("data", "compute", "dp.AllGather", "h#1", "h#1@whole", {}, static_cast<int>(event));
       Sends(h, 0, 1)->inputs[0] = Number(h, 0, "h#1@whole");
       Append(h.arena, &Sends(h, 0, 1)->n_waits, &Sends(h, 0, 1)->waits, event);
     },
     2,
     2},
    {"other_bytes", {"MEANING.TRANSFER"}, [](PipePlan &h) { At(h, 1, "h#0")->bytes += 4; }},
    {"channel_of_its_own", {"MEANING.TRANSFER"}, [](PipePlan &h) { SetChannel(Recvs(h, 1, 0), 99); }},
    {"channel_0",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) {
       SetChannel(Recvs(h, 1, 0), 0);
       SetChannel(Sends(h, 0, 0), 0);
     }},
    {"channel_below_0", {"MEANING.TRANSFER"}, [](PipePlan &h) { Recvs(h, 1, 0)->attributes[1]->i = -1; }},
    {"two_channels", {"MEANING.TRANSFER"}, [](PipePlan &h) { Recvs(h, 1, 0)->attributes[1]->i = 3; }},
    {"channel_of_two_sends", {"MEANING.TRANSFER"}, [](PipePlan &h) { SetChannel(Sends(h, 0, 1), 1); }},
    {"channel_of_two_pairs",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) {
       SetChannel(Sends(h, 0, 1), 1);
       SetChannel(Recvs(h, 1, 1), 1);
     }},
    {"send_removed", {"MEANING.TRANSFER"}, [](PipePlan &h) { TakeOut(h, 0, "infer", "send", 2); }},
    {"recv_removed", {"ORDER.EVENT"}, [](PipePlan &h) { TakeOut(h, 1, "train", "recv", 2); }},
    {"recv_removed_with_its_event",
     {"MEANING.UNDEFINED"},
     [](PipePlan &h) {
       h.Maker(1, "infer", "scores#3")->n_waits = 0;
       h.Maker(1, "infer", "scores@host")->signal = h.Step(1, "infer", "recv", 3)->signal;
       TakeOut(h, 1, "infer", "recv", 3);
     }},
    {"peer_itself", {"MEANING.TRANSFER"}, [](PipePlan &h) { Sends(h, 0, 0)->attributes[2]->i = 0; }},
    {"peer_beyond", {"MEANING.TRANSFER"}, [](PipePlan &h) { Sends(h, 0, 0)->attributes[2]->i = 2; }},
    {"peer_below_0", {"MEANING.TRANSFER"}, [](PipePlan &h) { Sends(h, 0, 0)->attributes[2]->i = -1; }},
    {"peer_elsewhere", {"MEANING.TRANSFER"}, [](PipePlan &h) { Sends(h, 0, 0)->communication->peer[0]->offset = 0; }},
    {"peer_at_a_multiple",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) { Sends(h, 0, 0)->communication->peer[0]->scale = 3; }},
    {"peer_on_another_axis",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) { Sends(h, 0, 0)->communication->peer[0]->axis = 2; },
     2,
     2},
    {"no_peer", {"MEANING.TRANSFER"}, [](PipePlan &h) { Sends(h, 0, 0)->communication->n_peer = 0; }},
    {"two_peers",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) {
       Dp__Communication *m = Sends(h, 0, 0)->communication;
       Append(h.arena, &m->n_peer, &m->peer, m->peer[0]);
     }},
    {"over_devices",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) {
       Sends(h, 0, 0)->attributes[0]->s = Text(h, "data");
       Sends(h, 0, 0)->communication->axes[0] = 2;
     },
     2,
     2},
    {"over_micro_batches",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) {
       Sends(h, 0, 0)->attributes[0]->s = Text(h, "micro");
       Sends(h, 0, 0)->communication->axes[0] = 0;
     }},
    {"no_communication", {"MEANING.TRANSFER"}, [](PipePlan &h) { Sends(h, 0, 0)->communication = nullptr; }},
    {"an_attribute_less", {"MEANING.TRANSFER"}, [](PipePlan &h) { Sends(h, 0, 0)->n_attributes = 2; }},
    {"an_attribute_more",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) {
       Append(h.arena, &Sends(h, 0, 0)->n_attributes, &Sends(h, 0, 0)->attributes, Sends(h, 0, 0)->attributes[0]);
     }},
    {"reduces", {"MEANING.TRANSFER"}, [](PipePlan &h) { Sends(h, 0, 0)->communication->reduction = 1; }},
    {"with_a_node",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) { Append(h.arena, &Sends(h, 0, 0)->n_nodes, &Sends(h, 0, 0)->nodes, 1u); }},
    {"in_another_type", {"MEANING.TRANSFER"}, [](PipePlan &h) { Sends(h, 0, 0)->compute_dtype = DP_FLOAT16; }},
    {"send_of_nothing", {"MEANING.TRANSFER"}, [](PipePlan &h) { Sends(h, 0, 0)->inputs[0] = 0; }},
    {"send_with_a_result", {"MEANING.TRANSFER"}, [](PipePlan &h) { Sends(h, 0, 0)->outputs[0] = Number(h, 0, "h#0"); }},
    {"recv_with_an_operand",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) { Recvs(h, 1, 0)->inputs[0] = Number(h, 1, "h#0"); }},
    {"send_made_a_recv",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) {
       h.Writer(0, "infer").Tensor("other", "h", "S(0),R", DP__SPACE__TRANSIENT, 1 << 16).Micro(3);
       Dp__Instruction *in = h.Step(0, "infer", "send", 3);
       in->op = Text(h, "Recv");
       in->inputs[0] = 0;
       in->outputs[0] = Number(h, 0, "other", "infer");
     }},
    {"from_the_host", {"TENSOR.SPACE"}, [](PipePlan &h) { Sends(h, 0, 0)->inputs[0] = Number(h, 0, "x@host"); }},
    {"before_it_is_computed",
     {"MEANING.UNDEFINED"},
     [](PipePlan &h) {
       // On the stream that computes, ahead of what makes it.
       Dp__Instruction *send = Sends(h, 0, 0);
       Dp__Stream *compute = h.Stream(0, "train", "compute");
       std::swap(send->signal, h.Maker(0, "train", "h#0")->signal);
       send->n_waits = 0;
       TakeOut(h, 0, "train", "send", 0);
       Append(h.arena, &compute->n_instructions, &compute->instructions, send);
       for (size_t i = compute->n_instructions - 1; i; i--) SwapSteps(h, 0, "compute", i, i - 1);
     }},
    {"sends_what_is_stale",
     {"MEANING.STALE"},
     [](PipePlan &h) {
       // w, after it was updated, to where nobody needs it.
       h.Writer(0, "train").AddSend(101, 1, "compute", "w");
       h.Writer(1, "train").Tensor("w", "w", "R,R", DP__SPACE__TRANSIENT, 1 << 16);
       h.Writer(1, "train").AddRecv(101, 0, "recv", "w");
     }},
    {"received_into_a_home",
     {"MEANING.HOME"},
     [](PipePlan &h) {
       h.Writer(0, "train").AddSend(101, 1, "compute", "rate");
       h.Writer(1, "train").Tensor("rate@home", "rate", "R,R", DP__SPACE__PERSISTENT, 128);
       h.Writer(1, "train").AddRecv(101, 0, "recv", "rate@home", {}, -1);
       Dp__Stream *s = h.Stream(1, "train", "recv"), *compute = h.Stream(1, "train", "compute");
       Append(h.arena, &compute->n_instructions, &compute->instructions, s->instructions[--s->n_instructions]);
     }},
    {"in_a_micro_batch_of_parts",
     {"MEANING.TRANSFER"},
     [](PipePlan &h) {
       h.Writer(1, "infer").AddSend(101, 0, "compute", "scores#0-2");
       h.Writer(0, "infer").Tensor("scores#0-2", "scores", "S(0),R", DP__SPACE__TRANSIENT, 1 << 16).Micro(0, 2);
       h.Writer(0, "infer").AddRecv(101, 1, "recv", "scores#0-2");
     }},
};
INSTANTIATE_TEST_SUITE_P(Transfers, DamagedPipe, testing::ValuesIn(kTransfers),
                         [](const auto &i) { return i.param.name; });

// What a stage has no use for may be sent all the same: nothing in the checker counts on who needs it.
TEST(Pipe, ParametersAndSumsMayBeSent) {
  PipePlan hand(2);
  hand.Writer(0, "infer").AddSend(101, 1, "compute", "w");
  hand.Writer(1, "infer").Tensor("w", "w", "R,R", DP__SPACE__TRANSIENT, 1 << 16);
  hand.Writer(1, "infer").AddRecv(101, 0, "recv", "w");
  hand.Writer(1, "train").AddSend(102, 0, "compute", "dv#1");
  hand.Writer(0, "train").Tensor("dv#1", "dv", "P(sum),R", DP__SPACE__TRANSIENT, 1 << 16).Micro(1);
  hand.Writer(0, "train").AddRecv(102, 1, "recv", "dv#1");
  std::string message;
  EXPECT_EQ(hand.Verify(&message), "") << message;
}

// ---- the host -------------------------------------------------------------------------------------------------------

const Damage kHost[] = {
    {"input_at_two_places", {"MEANING.INPUT"}, [](PipePlan &h) { At(h, 1, "dp.lr@host")->offset = 0; }},
    {"input_of_two_sizes", {"MEANING.INPUT"}, [](PipePlan &h) { At(h, 1, "dp.lr@host")->bytes = 16; }},
    {"inputs_of_two_stages_overlap", {"MEANING.INPUT"}, [](PipePlan &h) { At(h, 1, "label@host")->offset = 64; }},
    {"output_given_by_none", {"MEANING.OUTPUT"}, [](PipePlan &h) { h.Writer(1, "train").program->n_outputs = 0; }},
    {"output_given_twice",
     {"MEANING.OUTPUT"},
     [](PipePlan &h) {
       dp_test::ProgramWriter &w = h.Writer(0, "train");
       h.Writer(1, "train").AddSend(101, 0, "compute", "loss");
       w.Tensor("loss", "loss", "R,R", DP__SPACE__TRANSIENT, 1 << 16);
       w.Tensor("loss@host", "loss", "R,R", DP__SPACE__HOST_OUTPUT, 64);
       w.AddRecv(101, 1, "recv", "loss");
       w.Add("recv", "dp.Gather", "", {"loss"}, {"loss@host"});
       w.Output("loss", "loss@host");
     }},
    {"output_unknown",
     {"MEANING.OUTPUT"},
     [](PipePlan &h) { h.Writer(1, "train").program->outputs[0]->name = Text(h, "mean"); }},
    {"written_over_by_another_stage",
     {"MEANING.OUTPUT"},
     [](PipePlan &h) {
       h.Writer(0, "train").Tensor("rate@host", "rate", "R,R", DP__SPACE__HOST_OUTPUT, 0);
       h.Writer(0, "train").Add("compute", "dp.Gather", "", {"rate"}, {"rate@host"});
     }},
};
INSTANTIATE_TEST_SUITE_P(Host, DamagedPipe, testing::ValuesIn(kHost), [](const auto &i) { return i.param.name; });

// ---- deadlock -------------------------------------------------------------------------------------------------------

const Damage kDeadlock[] = {
    {"sends_in_another_order", {"ORDER.CYCLE"}, [](PipePlan &h) { SwapSteps(h, 0, "send", 0, 1); }},
    {"recvs_in_another_order", {"ORDER.CYCLE"}, [](PipePlan &h) { SwapSteps(h, 1, "recv", 2, 3); }},
    {"recv_before_what_it_needs",
     {"ORDER.CYCLE"},
     [](PipePlan &h) {
       // One stream that receives the gradient of micro-batch 0 before it sends what that is computed from.
       Dp__Stream *send = h.Stream(0, "train", "send"), *recv = h.Stream(0, "train", "recv");
       Append(h.arena, &send->n_instructions, &send->instructions, recv->instructions[0]);
       Remove(&recv->n_instructions, recv->instructions, 0);
       for (size_t i = send->n_instructions - 1; i; i--) std::swap(send->instructions[i], send->instructions[i - 1]);
     }},
    {"sends_wait_for_what_comes_back",
     {"ORDER.CYCLE"},
     [](PipePlan &h) {
       Append(h.arena, &Sends(h, 0, 1)->n_waits, &Sends(h, 0, 1)->waits, Recvs(h, 0, 1)->signal - 1);
     }},
};
INSTANTIATE_TEST_SUITE_P(Deadlock, DamagedPipe, testing::ValuesIn(kDeadlock),
                         [](const auto &i) { return i.param.name; });

TEST(Pipe, MessageNamesTheCycle) {
  PipePlan hand(2);
  SwapSteps(hand, 0, "send", 0, 1);
  std::string message;
  EXPECT_EQ(hand.Verify(&message), "ORDER.CYCLE");
  for (const char *part : {"role stage0, stream send, instruction 0 (dp.Send) on channel 3",
                           "role stage1, stream recv, instruction 0 (dp.Recv) on channel 1", "deadlocks"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
}

}  // namespace
