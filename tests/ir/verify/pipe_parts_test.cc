// Damages to transfers between stages and to combined micro-batches: each must break the rule that a table predicts.
#include "tests/ir/verify/pipe_damage.h"

namespace {

using dp_test::Append;
using dp_test::At;
using dp_test::Damage;
using dp_test::Number;
using dp_test::PipePlan;
using dp_test::Recvs;
using dp_test::Sends;
using dp_test::Set;
using dp_test::SetChannel;
using dp_test::SwapSteps;
using dp_test::TakeOut;
using dp_test::Text;

class DamagedPipe : public testing::TestWithParam<Damage> {};
TEST_P(DamagedPipe, IsRejected) { EXPECT_TRUE(dp_test::IsRejected(GetParam())); }

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
    {"before_the_sum_over_devices",  // all its operands are whole on every device
     {"MEANING.MICRO"},
     [](PipePlan &h) {
       for (const char *of : {"x#1", "g#1", "h#1", "dh#1", "dg#1", "dw#1"})
         *At(h, 0, of)->placements[2] = *At(h, 0, "w")->placements[2];
       for (const char *of : {"x#1", "g#1", "h#1", "dh#1", "dg#1"}) At(h, 0, of)->bytes *= 2;
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
       // The scores of micro-batch 0 take the buffer of all micro-batches.
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
    {"parts_of_nested_splits",  // not gathered over data before
     {"MEANING.MICRO"},
     [](PipePlan &h) {
       Dp__Instruction *in = h.Maker(1, "infer", "joined");
       in->inputs[0] = Number(h, 1, "scores#0", "infer");
       in->inputs[1] = Number(h, 1, "scores#1", "infer");
       *At(h, 1, "joined", "infer")->placements[2] = *At(h, 1, "scores#0", "infer")->placements[2];
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
       // On the compute stream, ahead of the instruction that makes it.
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
       // Sends w after its update to a stage that does not need it.
       h.Writer(0, "train").AddSend(101, 1, "compute", "w");
       h.Writer(1, "train").Tensor("w", "w", "R,R", DP__SPACE__TRANSIENT, 1 << 16);
       h.Writer(1, "train").AddRecv(101, 0, "recv", "w");
     }},
    {"received_into_a_home",
     {"MEANING.STORAGE"},
     [](PipePlan &h) {
       h.Writer(0, "train").AddSend(101, 1, "compute", "rate");
       h.Writer(1, "train").Tensor("rate@storage", "rate", "R,R", DP__SPACE__PERSISTENT, 128);
       h.Writer(1, "train").AddRecv(101, 0, "recv", "rate@storage", {}, -1);
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

}  // namespace
