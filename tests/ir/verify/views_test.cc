// The checker on views: the result of a Reshape may lie where its operand lies, and both can be read from there.
// Nothing else that is written there leaves the operand.
#include <gtest/gtest.h>

#include "backends/cpu/target.h"
#include "backends/cuda/target.h"
#include "ir/base/limits.h"
#include "ir/verify/verify.h"
#include "passes/pipeline.h"
#include "tests/ir/text/text_helper.h"
#include "tests/ir/verify/hand_plan.h"

namespace dp_test {
namespace {

// p is read by what makes v, and after that by what makes q; v by what makes w.
std::string Model(const char *makes_v) {
  return std::string(R"(model m {
    parameter a: float32[4,4] = ones
    graph main {
      input x: float32[N,4]
      p = MatMul(x, a)
      v = )") +
         makes_v + R"(
      w = Softmax(v)
      q = MatMul(p, a)
      output w
      output q
    }
  })";
}

constexpr char kReshape[] = "Reshape(p) {shape=[N,2,2]}";

struct Compiled {
  Arena arena;
  Dp__Plan *plan = nullptr;
  Dp__Program *program = nullptr;

  explicit Compiled(const char *makes_v, int64_t devices = 1) : Compiled(Model(makes_v), devices) {}
  Compiled(const std::string &text, int64_t devices, bool fuse = false, const dp_target *target = &dp_target_cpu) {
    dp_model *model;
    EXPECT_EQ(Parse(arena, text, &model), "");
    dp_options options = {};
    options.strategy = "data";
    options.devices = devices;
    options.batch = 64;
    options.threads = 1;
    options.mode = "infer";
    options.no_fuse = !fuse;
    options.target = target;
    EXPECT_EQ(Message(dp_pipeline_run(model, &options, &plan)), "");
    program = plan->roles[0]->programs[0];
  }
  Dp__Instruction *Find(const std::string &op) const {
    for (size_t s = 0; s < program->n_streams; s++)
      for (size_t i = 0; i < program->streams[s]->n_instructions; i++)
        if (program->streams[s]->instructions[i]->op == op) return program->streams[s]->instructions[i];
    ADD_FAILURE() << op;
    return nullptr;
  }
  Dp__DeviceTensor *Operand(const std::string &op) const { return program->tensors[Find(op)->inputs[0] - 1]; }
  Dp__DeviceTensor *Result(const std::string &op) const { return program->tensors[Find(op)->outputs[0] - 1]; }
  std::string Verify() const {
    dp_verify_report report;
    const dp_status status = dp_verify_plan(plan, &report);
    const std::string rule = status ? dp_rule_name(report.fault.rule) : "";
    Message(status);
    return rule;
  }
};

TEST(Views, OperandAndResultAreTheSameBytes) {
  for (int64_t devices : {1, 2, 7}) {
    const Compiled c(kReshape, devices);
    EXPECT_EQ(c.Result("Reshape")->offset, c.Operand("Reshape")->offset);
    EXPECT_EQ(c.Verify(), "");
  }
}

TEST(Views, OfAnotherOperatorAreRefused) {
  for (const char *other : {"Relu", "Neg"}) {
    const Compiled c((std::string(other) + "(p)").c_str());
    EXPECT_NE(c.Result(other)->offset, c.Operand(other)->offset);
    EXPECT_EQ(c.Verify(), "");
    c.Result(other)->offset = c.Operand(other)->offset;
    EXPECT_EQ(c.Verify(), "MEANING.CONTENT") << other;
  }
}

// What is written over both leaves neither.
TEST(Views, EndWithWhatIsWrittenThere) {
  const Compiled c(kReshape);
  Dp__DeviceTensor *w = c.Result("Softmax"), *v = c.Result("Reshape");
  ASSERT_NE(w->offset, v->offset);
  c.Find("Softmax")->inputs[0] = c.Find("Reshape")->inputs[0];
  w->offset = v->offset;
  EXPECT_NE(c.Verify(), "");
}

// A view of itself, and so of whatever it is a view of, is none.
TEST(Views, InACircleEnd) {
  const Compiled c(kReshape);
  c.Find("Reshape")->outputs[0] = c.Find("Reshape")->inputs[0];
  EXPECT_NE(c.Verify(), "");
}

// What takes a tensor and a view of it writes over neither: it reads the same bytes as both.
TEST(Views, AreNotOverwrittenWhileTheirOperandIsRead) {
  for (const char *makes : {"v = Unsqueeze(p) {axes=[0]}\n w = Add(p, v)",
                            "v = Unsqueeze(p) {axes=[0]}\n w = Add(v, p)", "v = Flatten(p) {axis=1}\n w = Add(p, v)",
                            "v = Unsqueeze(p) {axes=[0]}\n u = Add(v, b)\n m = Softmax(u)\n w = Add(m, p)"})
    for (const bool fuse : {false, true})
      for (const dp_target *target : {&dp_target_cpu, &dp_target_cuda}) {
        SCOPED_TRACE(makes);
        const Compiled c(std::string(R"(model m {
          parameter a: float32[4,4] = ones
          parameter b: float32[1,1,4] = ones
          graph main {
            input x: float32[N,4]
            p = MatMul(x, a)
            )") + makes + "\n output w\n }\n }",
                         1, fuse, target);
        EXPECT_EQ(c.Verify(), "") << fuse << " " << target->name;
      }
}

// Two views of one tensor, of which one is read on another stream, by what brings it to the host: the second would be
// written while that reads.
TEST(Views, ReadOnAnotherStreamDoNotShare) {
  for (int64_t devices : {1, 2, 7}) {
    const Compiled c(std::string(R"(model m {
      parameter a: float32[4,4] = ones
      graph main {
        input x: float32[N,4]
        p = MatMul(x, a)
        v = Reshape(p) {shape=[N,2,2]}
        u = Reshape(p) {shape=[N,4,1]}
        w = Softmax(u)
        output v
        output w
      }
    })"),
                     devices);
    EXPECT_EQ(c.Verify(), "");
  }
}

// So many views of one tensor are known to lie there together; more are copies.
TEST(Views, AreLimited) {
  std::string text =
      "model m {\n parameter a: float32[4,4] = ones\n graph main {\n input x: float32[N,4]\n"
      " p = MatMul(x, a)\n";
  int made = 0;
  for (int rank : {7, 8})  // extents of 1 around and between the two dims
    for (int first = 0; first < rank; first++)
      for (int second = first + 1; second < rank; second++) {
        std::string shape;
        for (int d = 0; d < rank; d++)
          shape += std::string(d ? "," : "") + (d == first ? "N" : d == second ? "4" : "1");
        const std::string k = std::to_string(made++);
        text +=
            " v" + k + " = Reshape(p) {shape=[" + shape + "]}\n w" + k + " = Softmax(v" + k + ")\n output w" + k + "\n";
      }
  ASSERT_GT(made, DP_LIMIT_VIEWS);
  const Compiled c(text + " q = MatMul(p, a)\n output q\n }\n}\n", 1);
  EXPECT_EQ(c.Verify(), "");
  int copies = 0;
  for (size_t s = 0; s < c.program->n_streams; s++)
    for (size_t i = 0; i < c.program->streams[s]->n_instructions; i++) {
      const Dp__Instruction *in = c.program->streams[s]->instructions[i];
      if (in->op != std::string("Reshape")) continue;
      copies += c.program->tensors[in->outputs[0] - 1]->offset != c.program->tensors[in->inputs[0] - 1]->offset;
    }
  EXPECT_EQ(copies, made - DP_LIMIT_VIEWS);
}

}  // namespace
}  // namespace dp_test
