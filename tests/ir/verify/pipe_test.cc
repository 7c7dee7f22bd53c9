// The checker on handwritten plans of two stages and of micro-batches. They are valid, and each damage breaks the rule
// that a table predicts.
#include "tests/ir/verify/pipe_damage.h"

namespace {

using dp_test::Append;
using dp_test::ArenaOf;
using dp_test::At;
using dp_test::Damage;
using dp_test::PipePlan;
using dp_test::Recvs;
using dp_test::Remove;
using dp_test::Sends;
using dp_test::Set;
using dp_test::SetStages;
using dp_test::SwapSteps;
using dp_test::TakeOut;
using dp_test::Text;

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
      EXPECT_EQ(report.transfers, 2 * m + 1 + m);
      EXPECT_EQ(report.accumulations, 4 * (m - 1) + (m - 1));
      EXPECT_EQ(report.nodes, (10 * m + 2 * 3 + 1) + 3 * m + 2);
      EXPECT_EQ(report.updates, 2u + 2u);
      EXPECT_EQ(report.outputs, 2u + 1u);
      EXPECT_EQ(report.collectives, data == 1 ? 0u : 4u + (micro > 1 ? m : 0u));
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
       {"2 stages; 13 transfers", "4 micro-batches", "15 accumulations", "3 programs, for 2 devices"})
    EXPECT_NE(std::string(text).find(part), std::string::npos) << text;
  free(text);
}

// Each wait is needed: without it, a stage would read too early, or bytes would be overwritten.
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
  EXPECT_EQ(removed, 18);
}

// ---- damages --------------------------------------------------------------------------------------------------------

class DamagedPipe : public testing::TestWithParam<Damage> {};
TEST_P(DamagedPipe, IsRejected) { EXPECT_TRUE(dp_test::IsRejected(GetParam())); }

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
     {"MEANING.STORAGE"},
     [](PipePlan &h) {
       h.plan->variables[PipePlan::kV]->offset = 192 - 64;
       h.plan->variables[PipePlan::kOne]->offset = 0;
       SetStages(h, PipePlan::kW, {0, 1});
     }},
    {"parameter_on_all_stages", {"MEANING.STORAGE"}, [](PipePlan &h) { SetStages(h, PipePlan::kV, {}); }},
    {"parameter_on_the_other_stage",
     {"MEANING.STORAGE", "MEANING.UPDATE"},
     [](PipePlan &h) {
       SetStages(h, PipePlan::kV, {0});
       h.plan->variables[PipePlan::kV]->offset = 256;
       ArenaOf(h, 0, DP__SPACE__PERSISTENT)->bytes = 512;
     }},
    {"constant_on_one_stage", {"MEANING.STORAGE"}, [](PipePlan &h) { SetStages(h, PipePlan::kOne, {0}); }},
    {"overlap_on_a_stage", {"MEANING.STORAGE"}, [](PipePlan &h) { h.plan->variables[PipePlan::kOne]->offset = 64; }},
    {"split_over_micro_batches",
     {"MEANING.STORAGE"},
     [](PipePlan &h) { *h.plan->variables[PipePlan::kW]->placements[0] = *At(h, 0, "x#0")->placements[0]; }},
    {"split_over_stages",
     {"MEANING.STORAGE"},
     [](PipePlan &h) { *h.plan->variables[PipePlan::kW]->placements[1] = *At(h, 0, "x#0")->placements[0]; }},
    {"not_initialized_on_one_stage",
     {"MEANING.UPDATE"},
     [](PipePlan &h) {
       TakeOut(h, 1, "init", "compute", 0);
       h.Writer(1, "init").program->n_exit = 0;
       At(h, 1, "one0", "init")->version = 0;
     }},
    {"said_to_be_initialized_on_one_stage",
     {"MEANING.UPDATE"},
     [](PipePlan &h) { TakeOut(h, 1, "init", "compute", 0); }},
    {"updated_on_the_other_stage",
     {"MEANING.STORAGE"},
     [](PipePlan &h) {
       h.Writer(1, "train").Tensor("w1", "w1", "R,R", DP__SPACE__PERSISTENT, 0);
       h.Writer(1, "train").Left(PipePlan::kW, "w1");
     }},
    {"not_updated",
     {"MEANING.UPDATE"},
     [](PipePlan &h) {
       h.Writer(1, "train").program->n_exit = 0;
       At(h, 1, "v1")->version = 0;
     }},
    {"found_on_the_other_stage",
     {"MEANING.STORAGE"},
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
     {"MEANING.STORAGE", "TENSOR.LAYOUT"},
     [](PipePlan &h) {
       *At(h, 0, "w")->placements[0] = *At(h, 0, "dw#0")->placements[0];
       Set(h, 0, "w", 0, 1, 4);
     }},
};
INSTANTIATE_TEST_SUITE_P(Tensors, DamagedPipe, testing::ValuesIn(kTensors), [](const auto &i) { return i.param.name; });

// A stage may send what its peer does not need; the checker accepts that.
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
     {"ORDER.CONFLICT"},
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
       // A stream that receives the gradient of micro-batch 0 before it sends what that is computed from.
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
