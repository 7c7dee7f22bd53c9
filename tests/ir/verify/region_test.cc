// The checker on handwritten regions: a chain of three nodes as one instruction is valid, and each damage breaks the
// rule that a table predicts.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "backends/cpu/target.h"
#include "ir/graph/op.h"
#include "ir/verify/verify.h"
#include "passes/pipeline.h"
#include "tests/ir/text/text_helper.h"
#include "tests/ir/verify/hand_plan.h"

namespace dp_test {
namespace {

// In "infer", s = Add(p, b), r = Relu(s), y = Mul(r, p) are one region, and t = Tanh(q) is an instruction of its own.
constexpr char kModel[] = R"(model m {
  parameter b: float32[4] = zeros
  parameter w: float32[4,4] = ones
  graph main {
    input x: float32[N,4]
    p = MatMul(x, w)
    s = Add(p, b)
    r = Relu(s)
    y = Mul(r, p)
    q = MatMul(y, w)
    t = Tanh(q)
    output y
    output t
  }
})";

struct Compiled {
  Arena arena;
  Dp__Plan *plan = nullptr;
  Dp__Program *program = nullptr;
  Dp__Instruction *region = nullptr;

  explicit Compiled(int64_t devices = 2, const char *text = kModel, bool no_fuse = false) {
    dp_model *model;
    EXPECT_EQ(Parse(arena, text, &model), "");
    dp_options options = {};
    options.strategy = "data";
    options.devices = devices;
    options.batch = 8;
    options.threads = 1;
    options.mode = "infer";
    options.no_fuse = no_fuse;
    options.target = &dp_target_cpu;
    EXPECT_EQ(Message(dp_pipeline_run(model, &options, &plan)), "");
    for (size_t p = 0; p < plan->roles[0]->n_programs; p++)
      if (!strcmp(plan->roles[0]->programs[p]->name, "infer")) program = plan->roles[0]->programs[p];
    for (size_t s = 0; s < program->n_streams; s++)
      for (size_t i = 0; i < program->streams[s]->n_instructions; i++)
        if (program->streams[s]->instructions[i]->n_members) region = program->streams[s]->instructions[i];
  }

  Dp__Instruction *Find(const std::string &op) const {
    for (size_t s = 0; s < program->n_streams; s++)
      for (size_t i = 0; i < program->streams[s]->n_instructions; i++)
        if (program->streams[s]->instructions[i]->op == op) return program->streams[s]->instructions[i];
    ADD_FAILURE() << op;
    return nullptr;
  }
  Dp__DeviceTensor *Tensor(uint32_t operand) const { return program->tensors[operand - 1]; }
  std::string Verify(std::string *message = nullptr) const {
    dp_verify_report report;
    dp_status status = dp_verify_plan(plan, &report);
    std::string rule = status ? dp_rule_name(report.fault.rule) : "", text = Message(status);
    if (message) *message = text;
    return rule;
  }
};

TEST(Region, OfThreeNodesHolds) {
  for (int64_t devices : {1, 2, 7}) {
    Compiled c(devices);
    ASSERT_NE(c.region, nullptr);
    EXPECT_EQ(c.region->n_members, 3u);
    EXPECT_EQ(c.region->n_nodes, 3u);
    EXPECT_EQ(c.region->n_inputs, 2u);   // p, b
    EXPECT_EQ(c.region->n_outputs, 1u);  // y
    std::string message;
    EXPECT_EQ(c.Verify(&message), "") << message;
  }
}

// A member without operands has no rows, so the region's result may lie on no operand.
TEST(Region, OfAMemberWithoutOperandsHolds) {
  Compiled c(1, R"(model m {
    parameter w: float32[4,4] = ones
    graph main {
      input x: float32[N,4]
      p = MatMul(x, w)
      f = dp.Fill() {shape=[N,4], value=2}
      s = Mul(p, f)
      y = Relu(s)
      output y
    }
  })");
  ASSERT_NE(c.region, nullptr);
  Dp__Instruction *fill = c.Find("Fill");
  ASSERT_NE(fill, nullptr);
  for (size_t s = 0; s < c.program->n_streams; s++)
    for (size_t i = c.program->streams[s]->n_instructions; i-- > 0;)
      if (c.program->streams[s]->instructions[i] == fill)
        Remove(&c.program->streams[s]->n_instructions, c.program->streams[s]->instructions, i);
  for (size_t i = c.region->n_inputs; i-- > 0;)
    if (c.region->inputs[i] == fill->outputs[0]) Remove(&c.region->n_inputs, c.region->inputs, i);
  ASSERT_EQ(c.region->n_inputs, 1u);
  Dp__DeviceTensor *f = c.Tensor(fill->outputs[0]), *y = c.Tensor(c.region->outputs[0]);
  y->offset = f->offset;
  f->space = DP__SPACE__INSIDE;
  f->offset = f->bytes = 0;
  fill->kernel = dp_strdup(c.arena, "");
  fill->threads = 0;
  fill->scratch = nullptr;
  Append(c.arena, &c.region->n_members, &c.region->members, fill);
  std::rotate(c.region->members, c.region->members + c.region->n_members - 1, c.region->members + c.region->n_members);
  Append(c.arena, &c.region->n_nodes, &c.region->nodes, fill->nodes[0]);
  std::rotate(c.region->nodes, c.region->nodes + c.region->n_nodes - 1, c.region->nodes + c.region->n_nodes);
  std::string message;
  EXPECT_EQ(c.Verify(&message), "") << message;
  y->offset = c.Tensor(c.region->inputs[0])->offset;
  EXPECT_EQ(c.Verify(&message), "ORDER.ALIAS") << message;
}

// ---- a tensor that two regions make ---------------------------------------------------------------------------------

constexpr char kTwice[] = R"(model m {
  parameter v: float32[4,4] = ones
  parameter w: float32[4,4] = ones
  graph main {
    input x: float32[N,4]
    p = MatMul(x, w)
    z = MatMul(x, v)
    t = Relu(p)
    y = Mul(t, z)
    n = Neg(p)
    s = Abs(p)
    a = MatMul(t, w)
    b = MatMul(y, w)
    c = MatMul(n, w)
    d = MatMul(s, w)
    output a
    output b
    output c
    output d
  }
})";

// Its instructions by their results, in an order and in places of its own: two regions, {t, y} and the `second` ones.
struct MadeTwice : Compiled {
  explicit MadeTwice(const std::vector<std::string> &second) : Compiled(1, kTwice, true) {
    Dp__Stream *stream = program->streams[0];
    EXPECT_STREQ(stream->name, "compute");
    std::map<std::string, Dp__Instruction *> by_result;
    for (size_t i = 0; i < stream->n_instructions; i++)
      by_result[Name(stream->instructions[i]->outputs[0])] = stream->instructions[i];
    EXPECT_EQ(by_result.size(), 10u);
    std::vector<Dp__Instruction *> order = {by_result.at("p"), by_result.at("z"),
                                            Region({by_result.at("t"), by_result.at("y")})};
    std::vector<Dp__Instruction *> members;
    for (const char *name : {"n", "s"})
      if (std::find(second.begin(), second.end(), name) == second.end()) order.push_back(by_result.at(name));
    for (const std::string &name : second) members.push_back(by_result.at(name));
    order.push_back(Region(members));
    for (const char *name : {"a", "b", "c", "d"}) order.push_back(by_result.at(name));
    for (size_t i = 0; i < order.size(); i++) stream->instructions[i] = order[i];
    stream->n_instructions = order.size();
    plan->options = nullptr;  // which say that there are no regions
    Spread();
  }

  std::string Name(uint32_t operand) const {
    return plan->graphs[program->graph]->values[Tensor(operand)->value]->name;
  }
  Dp__DeviceTensor *At(const std::string &name) const {
    for (size_t i = 0; i < program->n_tensors; i++)
      if (Name(static_cast<uint32_t>(i + 1)) == name && program->tensors[i]->space == DP__SPACE__TRANSIENT)
        return program->tensors[i];
    ADD_FAILURE() << name;
    return nullptr;
  }

 private:
  Dp__Instruction *Region(const std::vector<Dp__Instruction *> &members) {
    Dp__Instruction *in = New(arena, dp__instruction__init);
    in->kernel = dp_strdup(arena, "cpu.rows.dp.Region");
    in->op = dp_strdup(arena, "Region");
    in->domain = dp_strdup(arena, "dp");
    in->threads = 1;
    for (const Dp__Instruction *of : members) {
      Dp__Instruction *member = static_cast<Dp__Instruction *>(dp_memdup(arena, of, sizeof *of));
      member->kernel = dp_strdup(arena, "");
      member->threads = 0;
      member->scratch = nullptr;
      Append(arena, &in->n_members, &in->members, member);
      Append(arena, &in->n_nodes, &in->nodes, of->nodes[0]);
      for (size_t k = 0; k < of->n_inputs; k++)
        if (!Has(in->n_inputs, in->inputs, of->inputs[k]) && !Has(in->n_outputs, in->outputs, of->inputs[k]))
          Append(arena, &in->n_inputs, &in->inputs, of->inputs[k]);
      Append(arena, &in->n_outputs, &in->outputs, of->outputs[0]);
    }
    return in;
  }
  static bool Has(size_t count, const uint32_t *list, uint32_t item) {
    return std::find(list, list + count, item) != list + count;
  }
  // A place for each tensor and scratch.
  void Spread() {
    uint64_t end = 0, last = 0;
    for (size_t i = 0; i < program->n_tensors; i++)
      if (program->tensors[i]->space == DP__SPACE__TRANSIENT) {
        program->tensors[i]->offset = end;
        last = end + program->tensors[i]->bytes;
        end += 1024;
      }
    for (size_t s = 0; s < program->n_streams; s++)
      for (size_t i = 0; i < program->streams[s]->n_instructions; i++)
        if (Dp__Scratch *scratch = program->streams[s]->instructions[i]->scratch) {
          scratch->offset = end;
          last = end + scratch->bytes;
          end = (last + 1023) / 1024 * 1024;
        }
    for (size_t i = 0; i < plan->roles[0]->n_arenas; i++)
      if (plan->roles[0]->arenas[i]->space == DP__SPACE__TRANSIENT) plan->roles[0]->arenas[i]->bytes = last;
  }
};

// The first region's t may not lie on z, which the first region still reads, whichever member of the second makes t.
TEST(Region, OfATensorThatAnotherMakesToo) {
  for (const std::vector<std::string> &second :
       {std::vector<std::string>{"t"}, {"n", "t"}, {"t", "n"}, {"n", "s", "t"}}) {
    SCOPED_TRACE(second.size());
    MadeTwice c(second);
    std::string message;
    EXPECT_EQ(c.Verify(&message), "") << message;
    c.At("t")->offset = c.At("z")->offset;
    EXPECT_EQ(c.Verify(&message), "ORDER.ALIAS") << message;
  }
}

struct Damage {
  const char *name, *rule;
  std::function<void(Compiled &)> make;
};
void PrintTo(const Damage &damage, std::ostream *out) { *out << damage.name; }

class Damaged : public testing::TestWithParam<Damage> {};

TEST_P(Damaged, IsRejected) {
  Compiled c;
  GetParam().make(c);
  std::string message, rule = c.Verify(&message);
  EXPECT_EQ(rule, GetParam().rule) << message;
}

const Damage kDamages[] = {
    {"no members", "MEANING.NODE", [](Compiled &c) { c.region->n_members = 0; }},
    {"a node without its member", "MEANING.NODE", [](Compiled &c) { c.region->n_members--; }},
    {"a member without its node", "MEANING.NODE", [](Compiled &c) { c.region->n_nodes--; }},
    {"nodes in another order", "MEANING.NODE", [](Compiled &c) { std::swap(c.region->nodes[0], c.region->nodes[1]); }},
    {"a member left out", "MEANING.UNDEFINED",
     [](Compiled &c) {
       Remove(&c.region->n_members, c.region->members, 0);
       Remove(&c.region->n_nodes, c.region->nodes, 0);
     }},
    {"a member before what it takes", "MEANING.UNDEFINED",
     [](Compiled &c) {
       std::swap(c.region->members[0], c.region->members[1]);
       std::swap(c.region->nodes[0], c.region->nodes[1]);
     }},
    {"a member twice", "MEANING.OPERANDS",
     [](Compiled &c) {
       Append(c.arena, &c.region->n_members, &c.region->members, c.region->members[0]);
       Append(c.arena, &c.region->n_nodes, &c.region->nodes, c.region->nodes[0]);
     }},
    {"another operator", "MEANING.NODE", [](Compiled &c) { c.region->members[1]->op = dp_strdup(c.arena, "Neg"); }},
    {"another operand", "MEANING.OPERANDS",
     [](Compiled &c) { c.region->members[2]->inputs[0] = c.region->members[2]->inputs[1]; }},
    {"an operand that it does not have", "MEANING.UNDEFINED",
     [](Compiled &c) { Remove(&c.region->n_inputs, c.region->inputs, 1); }},
    {"an operand in no memory", "TENSOR.SPACE",
     [](Compiled &c) { c.region->inputs[1] = c.region->members[0]->outputs[0]; }},
    {"a result that stays inside", "TENSOR.SPACE",
     [](Compiled &c) {
       Dp__DeviceTensor *y = c.Tensor(c.region->outputs[0]);
       y->space = DP__SPACE__INSIDE;
       y->offset = y->bytes = 0;
     }},
    {"no result", "FORM.LIMIT", [](Compiled &c) { c.region->n_outputs = 0; }},
    {"a result that no member makes", "MEANING.OPERANDS",
     [](Compiled &c) { Append(c.arena, &c.region->n_outputs, &c.region->outputs, c.Find("Tanh")->outputs[0]); }},
    {"bytes of what is inside", "FORM.RANGE",
     [](Compiled &c) { c.Tensor(c.region->members[0]->outputs[0])->bytes = 64; }},
    {"what is inside taken by another instruction", "MEANING.CONVERSION",
     [](Compiled &c) { c.Find("Gather")->inputs[0] = c.region->members[2]->inputs[0]; }},
    {"another placement inside", "MEANING.ROW",
     [](Compiled &c) {
       // A message of its own: tensors that are placed alike share theirs.
       Dp__Placement *at = New(c.arena, dp__placement__init);
       c.Tensor(c.region->members[0]->outputs[0])->placements =
           static_cast<Dp__Placement **>(dp_memdup(c.arena, &at, sizeof at));
     }},
    {"a kernel of another operator", "MEANING.KERNEL",
     [](Compiled &c) { c.region->kernel = dp_strdup(c.arena, "cpu.reference.Relu"); }},
    {"a member with a kernel", "FORM.NAME",
     [](Compiled &c) { c.region->members[0]->kernel = dp_strdup(c.arena, "cpu.reference.Add"); }},
    {"a member that waits", "FORM.NAME",
     [](Compiled &c) {
       uint32_t none = 0;
       Append(c.arena, &c.region->members[0]->n_waits, &c.region->members[0]->waits, none);
     }},
    {"a region in a region", "FORM.NAME",
     [](Compiled &c) {
       c.region->members[0]->op = dp_strdup(c.arena, "Region");
       c.region->members[0]->domain = dp_strdup(c.arena, "dp");
     }},
    {"members of what is no region", "FORM.LIMIT",
     [](Compiled &c) { Append(c.arena, &c.Find("Tanh")->n_members, &c.Find("Tanh")->members, c.region->members[0]); }},
    // y overwrites p, which the last member reads as its second operand.
    {"a result on what its own member reads", "ORDER.ALIAS",
     [](Compiled &c) { c.Tensor(c.region->outputs[0])->offset = c.Tensor(c.region->inputs[0])->offset; }},
};

INSTANTIATE_TEST_SUITE_P(Table, Damaged, testing::ValuesIn(kDamages), [](const auto &info) {
  std::string name = info.param.name;
  for (char &c : name)
    if (!isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace dp_test
