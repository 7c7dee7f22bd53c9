// What the checker demands of layouts: of a tensor by itself, of who writes and who reads it, of what is moved, and of
// what lies in the same bytes. It knows no kernels: which of them take a layout, dprun looks at.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "tests/ir/verify/damaged.h"

namespace dp_test {
namespace {

const char kNet[] = R"dpt(model net {
  loss "softmax_cross_entropy(logits,label)"
  optimizer "sgd(lr=0.1)"
  input x: float32[N,2,6,6]
  parameter c1: float32[4,2,3,3] = kaiming_uniform()
  parameter c2: float32[4,4,3,3] = kaiming_uniform()
  parameter fc: float32[3,4] = kaiming_uniform()
  h = Conv(x, c1)
  r = Relu(h)
  y = Conv(r, c2)
  g = GlobalAveragePool(y)
  f = Flatten(g)
  logits = Gemm(f, fc) {transB=1}
  output logits
})dpt";

Verdict Check(const std::function<void(Dp__Plan *)> &damage) {
  return CheckDamaged(kNet, "batch=6 strategy=data devices=2 no-fuse=yes", damage);
}

const Dp__Value *ValueOf(const Dp__Plan *plan, const Dp__DeviceTensor *t) {
  return plan->graphs[Train(const_cast<Dp__Plan *>(plan))->graph]->values[t->value];
}

bool IsImage(const Dp__Plan *plan, const Dp__DeviceTensor *t) {
  const Dp__TensorType *type = ValueOf(plan, t)->type;
  return type && type->shape && type->shape->n_dims == 4 && t->space == DP__SPACE__TRANSIENT;
}

void EachStep(Dp__Program *program, const std::function<void(Dp__Instruction *)> &visit) {
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++) visit(program->streams[s]->instructions[i]);
}

Dp__DeviceTensor *Find(Dp__Plan *plan, const char *value, Dp__Space space = DP__SPACE__TRANSIENT) {
  Dp__Program *train = Train(plan);
  for (size_t t = 0; t < train->n_tensors; t++)
    if (!strcmp(ValueOf(plan, train->tensors[t])->name, value) && train->tensors[t]->space == space)
      return train->tensors[t];
  throw std::runtime_error(std::string("no tensor of ") + value);
}

Dp__Instruction *StepOf(Dp__Plan *plan, const char *op) {
  Dp__Instruction *found = nullptr;
  EachStep(Train(plan), [&](Dp__Instruction *in) {
    if (!found && !strcmp(in->op, op)) found = in;
  });
  if (!found) throw std::runtime_error(std::string("no step ") + op);
  return found;
}

// Adds a tensor like the other one. The plan frees it.
Dp__DeviceTensor *AddCopy(Dp__Program *program, const Dp__DeviceTensor *t) {
  std::vector<uint8_t> packed(dp__device_tensor__get_packed_size(t));
  dp__device_tensor__pack(t, packed.data());
  Dp__DeviceTensor *copy = dp__device_tensor__unpack(nullptr, packed.size(), packed.data());
  program->tensors =
      static_cast<Dp__DeviceTensor **>(realloc(program->tensors, (program->n_tensors + 1) * sizeof *program->tensors));
  return program->tensors[program->n_tensors++] = copy;
}

TEST(Layout, ImagesOfKernelsMayBeNhwc) {
  EXPECT_EQ(Check([](Dp__Plan *p) {
              for (const char *value : {"h", "r", "y"}) Find(p, value)->layout = DP__LAYOUT__NHWC;
            }).message,
            "");
}

const char kWide[] = R"dpt(model wide {
  input x: float32[N,16,6,6]
  parameter c1: float32[32,16,3,3] = kaiming_uniform() shard(tensor=0)
  parameter c2: float32[24,32,3,3] = kaiming_uniform() shard(tensor=1)
  parameter c3: float32[5,24,1,1] = kaiming_uniform()
  h = Conv(x, c1)
  r = Relu(h)
  y = Conv(r, c2)
  z = Conv(y, c3)
  output z
})dpt";

// Whatever was chosen, all tensors but these are plain.
Dp__Program *MakePlain(Dp__Plan *plan) {
  Dp__Program *infer = plan->roles[0]->programs[0];
  for (size_t t = 0; t < infer->n_tensors; t++) infer->tensors[t]->layout = DP__LAYOUT__PLAIN;
  return infer;
}

// All tensors of these values, in transient memory.
Verdict CheckBlocks(const std::string &options, const std::vector<const char *> &values, Dp__Layout layout) {
  return CheckDamaged(kWide, "batch=6 no-fuse=yes mode=infer " + options, [&](Dp__Plan *p) {
    Dp__Program *infer = MakePlain(p);
    int found = 0;
    for (const char *value : values)
      for (size_t t = 0; t < infer->n_tensors; t++) {
        if (strcmp(p->graphs[infer->graph]->values[infer->tensors[t]->value]->name, value) ||
            infer->tensors[t]->space != DP__SPACE__TRANSIENT)
          continue;
        infer->tensors[t]->layout = layout;
        found++;
      }
    if (!found) throw std::runtime_error("no tensor");
  });
}

TEST(Layout, ImagesMayLieInWholeBlocks) {
  const std::string split = "mesh=tensor:2 strategy=manual";
  EXPECT_EQ(CheckBlocks("", {"h", "r"}, DP__LAYOUT__NCHW16C).message, "");
  EXPECT_EQ(CheckBlocks("", {"h", "r"}, DP__LAYOUT__NCHW8C).message, "");
  EXPECT_EQ(CheckBlocks("", {"y"}, DP__LAYOUT__NCHW8C).message, "");
  EXPECT_EQ(CheckBlocks("strategy=data devices=4", {"h", "r"}, DP__LAYOUT__NCHW16C).message, "");
  EXPECT_EQ(CheckBlocks(split, {"h", "r"}, DP__LAYOUT__NCHW16C).message, "") << "16 channels on each device";
  EXPECT_EQ(CheckBlocks("mesh=tensor:4 strategy=manual", {"h", "r"}, DP__LAYOUT__NCHW8C).message, "");
}

TEST(Layout, OthersDoNotLieInBlocks) {
  const auto refused = [](const std::string &options, const std::vector<const char *> &values, Dp__Layout layout) {
    const Verdict v = CheckBlocks(options, values, layout);
    EXPECT_EQ(v.rule, "TENSOR.LAYOUT") << v.message;
    EXPECT_NE(v.message.find("no whole blocks"), std::string::npos) << v.message;
  };
  refused("", {"y"}, DP__LAYOUT__NCHW16C);                                    // 24 channels
  refused("mesh=tensor:4 strategy=manual", {"h", "r"}, DP__LAYOUT__NCHW16C);  // 8 on each device
  refused("mesh=tensor:3 strategy=manual", {"h", "r"}, DP__LAYOUT__NCHW8C);   // 10 or 11
}

// A weight that no program writes, and one that is drawn; the first axis may split a third one.
std::string WeightsText() {
  std::string numbers;
  for (int i = 0; i < 32 * 16; i++) numbers += i ? ",1" : "1";
  std::string short_of = numbers.substr(0, 2 * 24 * 16 - 1);
  return "model weights {\n input x: float32[N,16,6,6]\n parameter given: float32[32,16,1,1] = [" + numbers +
         "]\n parameter split: float32[32,16,1,1] = [" + numbers +
         "] shard(tensor=0)\n parameter part: float32[24,16,1,1] = [" + short_of +
         "]\n parameter drawn: float32[32,16,1,1] = kaiming_uniform()\n a = Conv(x, given)\n b = Conv(x, split)\n"
         " c = Conv(x, part)\n d = Conv(x, drawn)\n output a\n output b\n output c\n output d\n}\n";
}

// Says that a variable lies in blocks of weights, in the plan's table and as programs find and leave it.
Verdict CheckWeight(const char *name, bool storage, bool programs) {
  return CheckDamaged(
      WeightsText().c_str(), "batch=6 no-fuse=yes mode=infer mesh=tensor:2 strategy=manual", [&](Dp__Plan *p) {
        for (size_t v = 0; v < p->n_variables; v++)
          if (!strcmp(p->variables[v]->name, name))
            p->variables[v]->layout = storage ? DP__LAYOUT__OIHW16I32O : DP__LAYOUT__LAYOUT_NONE;
        for (size_t q = 0; q < p->roles[0]->n_programs; q++) {
          Dp__Program *program = p->roles[0]->programs[q];
          const auto lay = [&](size_t count, Dp__Update *const *updates) {
            for (size_t i = 0; i < count; i++)
              if (!strcmp(p->variables[updates[i]->variable]->name, name))
                program->tensors[updates[i]->value]->layout = programs ? DP__LAYOUT__OIHW16I32O : DP__LAYOUT__PLAIN;
          };
          lay(program->n_entry, program->entry);
          lay(program->n_exit, program->exit);
        }
      });
}

TEST(Layout, WeightsMayLieInWholeBlocks) {
  EXPECT_EQ(CheckWeight("given", true, true).message, "");
  EXPECT_EQ(CheckWeight("given", false, false).message, "");
  EXPECT_EQ(CheckWeight("given", true, false).rule, "TENSOR.LAYOUT");
  EXPECT_EQ(CheckWeight("given", false, true).rule, "TENSOR.LAYOUT");
  EXPECT_EQ(CheckWeight("drawn", true, true).message, "");
  EXPECT_EQ(CheckWeight("drawn", true, false).rule, "TENSOR.LAYOUT");
  for (const char *name : {"split", "part"}) {
    const Verdict v = CheckWeight(name, true, true);
    EXPECT_EQ(v.rule, "TENSOR.LAYOUT") << name;
    EXPECT_NE(v.message.find("blocks of weights"), std::string::npos) << v.message;
  }
  const Verdict image = CheckBlocks("", {"h"}, DP__LAYOUT__OIHW16I32O);
  EXPECT_EQ(image.rule, "TENSOR.LAYOUT");
  EXPECT_NE(image.message.find("blocks of weights"), std::string::npos) << image.message;
}

TEST(Layout, BlocksOfOneSizeAreNotThoseOfAnother) {
  const Verdict v = CheckDamaged(kWide, "batch=6 no-fuse=yes mode=infer", [](Dp__Plan *p) {
    Dp__Program *infer = MakePlain(p);
    Dp__Instruction *relu = nullptr;
    EachStep(infer, [&](Dp__Instruction *in) {
      if (!relu && !strcmp(in->op, "Relu")) relu = in;
    });
    Dp__DeviceTensor *written = infer->tensors[relu->inputs[0] - 1];
    ToEnd(p, infer->tensors[relu->outputs[0] - 1], DP__SPACE__TRANSIENT);  // not over its operand
    Dp__DeviceTensor *read = AddCopy(infer, written);
    written->layout = DP__LAYOUT__NCHW8C;
    read->layout = DP__LAYOUT__NCHW16C;
    relu->inputs[0] = static_cast<uint32_t>(infer->n_tensors);
  });
  EXPECT_EQ(v.rule, "MEANING.CONTENT") << v.message;
}

TEST(Layout, OthersArePlain) {
  for (Dp__Space space : {DP__SPACE__PERSISTENT, DP__SPACE__HOST_INPUT}) {  // c1's storage is plain
    const Verdict v = Check(
        [&](Dp__Plan *p) { Find(p, space == DP__SPACE__PERSISTENT ? "c1" : "x", space)->layout = DP__LAYOUT__NHWC; });
    EXPECT_EQ(v.rule, "TENSOR.LAYOUT") << v.message;
  }
  const Verdict v = Check([](Dp__Plan *p) { Find(p, "f")->layout = DP__LAYOUT__NHWC; });
  EXPECT_EQ(v.rule, "TENSOR.LAYOUT") << v.message;
  EXPECT_NE(v.message.find("2 dims"), std::string::npos) << v.message;
}

Dp__Variable *VariableOf(Dp__Plan *plan, const char *name) {
  for (size_t i = 0; i < plan->n_variables; i++)
    if (!strcmp(plan->variables[i]->name, name)) return plan->variables[i];
  throw std::runtime_error(std::string("no variable ") + name);
}

// Where the variable is said to lie in NHWC.
struct Laid {
  bool storage = true;                         // in the plan's table
  const char *but_entry = "", *but_exit = "";  // all programs but these find it, leave it so
};

void Lay(Dp__Plan *plan, const char *name, const Laid &where) {
  const Dp__Variable *variable = VariableOf(plan, name);
  if (where.storage) VariableOf(plan, name)->layout = DP__LAYOUT__NHWC;
  for (size_t p = 0; p < plan->roles[0]->n_programs; p++) {
    Dp__Program *program = plan->roles[0]->programs[p];
    const auto lay = [&](size_t count, Dp__Update *const *updates, const char *but) {
      for (size_t i = 0; i < count && strcmp(program->name, but); i++)
        if (plan->variables[updates[i]->variable] == variable)
          program->tensors[updates[i]->value]->layout = DP__LAYOUT__NHWC;
    };
    lay(program->n_entry, program->entry, where.but_entry);
    lay(program->n_exit, program->exit, where.but_exit);
  }
}

// In the plan's table, and in every program that finds it or leaves it.
TEST(Layout, VariablesLieAsTheirStorageSays) {
  const auto lay = [](const char *name, const Laid &where) { return Check([=](Dp__Plan *p) { Lay(p, name, where); }); };
  EXPECT_EQ(lay("c2", {}).message, "");
  EXPECT_EQ(lay("c2", {false}).rule, "TENSOR.LAYOUT");
  for (const char *program : {"train", "eval", "infer"}) EXPECT_EQ(lay("c2", {true, program}).rule, "TENSOR.LAYOUT");
  for (const char *program : {"train", "init"}) EXPECT_EQ(lay("c2", {true, "", program}).rule, "TENSOR.LAYOUT");
  const Verdict flat = lay("fc", {});
  EXPECT_EQ(flat.rule, "TENSOR.LAYOUT");
  EXPECT_NE(flat.message.find("2 dims"), std::string::npos) << flat.message;
}

// By a tensor of its own that is not the one that the program finds.
TEST(Layout, VariablesAreReadAsTheyLie) {
  for (Dp__Layout claimed : {DP__LAYOUT__PLAIN, DP__LAYOUT__NHWC}) {
    const Verdict v = Check([&](Dp__Plan *p) {
      Dp__Program *train = Train(p);
      EachStep(train, [&](Dp__Instruction *in) {
        if (strcmp(in->op, "ConvGradInput")) return;
        for (size_t k = 0; k < in->n_inputs; k++) {
          const Dp__DeviceTensor *read = train->tensors[in->inputs[k] - 1];
          if (read->space != DP__SPACE__PERSISTENT) continue;
          AddCopy(train, read)->layout = claimed;
          in->inputs[k] = static_cast<uint32_t>(train->n_tensors);
        }
      });
    });
    EXPECT_EQ(v.rule, claimed == DP__LAYOUT__PLAIN ? "" : "MEANING.CONTENT") << v.message;
  }
}

// The reader's tensor is another than the writer's, of the same value in the same bytes.
TEST(Layout, IsThatOfTheWriter) {
  for (Dp__Layout claimed : {DP__LAYOUT__PLAIN, DP__LAYOUT__NHWC}) {
    const Verdict v = Check([&](Dp__Plan *p) {
      Dp__Program *train = Train(p);
      Dp__Instruction *relu = StepOf(p, "Relu");
      const Dp__DeviceTensor *written = train->tensors[relu->inputs[0] - 1];
      ToEnd(p, train->tensors[relu->outputs[0] - 1], DP__SPACE__TRANSIENT);  // not over its operand
      Dp__DeviceTensor *read = AddCopy(train, written);
      read->layout = claimed;
      relu->inputs[0] = static_cast<uint32_t>(train->n_tensors);
    });
    EXPECT_EQ(v.rule, claimed == DP__LAYOUT__PLAIN ? "" : "MEANING.CONTENT") << v.message;
  }
}

// What devices add up: all of it, or the operands alone.
TEST(Layout, WhatIsMovedKeepsIt) {
  for (bool results : {true, false}) {
    int moved = 0;
    const Verdict v = Check([&](Dp__Plan *p) {
      Dp__Program *train = Train(p);
      EachStep(train, [&](Dp__Instruction *in) {
        for (size_t k = 0; k < in->n_inputs && !strcmp(in->op, "AllReduce"); k++) {
          Dp__DeviceTensor *from = train->tensors[in->inputs[k] - 1], *to = train->tensors[in->outputs[k] - 1];
          if (!IsImage(p, from)) continue;
          from->layout = DP__LAYOUT__NHWC;
          if (results) to->layout = DP__LAYOUT__NHWC;
          moved++;
        }
      });
    });
    EXPECT_EQ(v.rule, results ? "" : "TENSOR.LAYOUT") << v.message;
    EXPECT_GT(moved, 0);
    EXPECT_EQ(v.message.find("from one layout to another") != std::string::npos, !results) << v.message;
  }
}

TEST(Layout, ResultsReplaceOperandsThatLieAlike) {
  const auto replace = [](Dp__Layout operand, Dp__Layout result) {
    return Check([=](Dp__Plan *p) {
      Dp__Program *train = Train(p);
      const Dp__Instruction *relu = StepOf(p, "Relu");
      Dp__DeviceTensor *x = train->tensors[relu->inputs[0] - 1], *y = train->tensors[relu->outputs[0] - 1];
      ToEnd(p, x, DP__SPACE__TRANSIENT);
      y->offset = x->offset;
      x->layout = operand;
      y->layout = result;
    });
  };
  EXPECT_EQ(replace(DP__LAYOUT__NHWC, DP__LAYOUT__NHWC).message, "");
  EXPECT_EQ(replace(DP__LAYOUT__PLAIN, DP__LAYOUT__NHWC).rule, "ORDER.ALIAS");
  EXPECT_EQ(replace(DP__LAYOUT__NHWC, DP__LAYOUT__PLAIN).rule, "ORDER.ALIAS");
}

}  // namespace
}  // namespace dp_test
