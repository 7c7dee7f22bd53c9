// The checker on compiled plans. They are valid on any mesh. Without one of their waits they are valid exactly if brute
// force finds no violation. Without one of their instructions they never are.
#include <gtest/gtest.h>
#include <string.h>

#include <map>

#include "backends/cpu/target.h"
#include "ir/file/model_file.h"
#include "ir/verify/verify.h"
#include "passes/pipeline.h"
#include "tests/ir/text/text_helper.h"
#include "tests/ir/verify/brute_order.h"
#include "tests/ir/verify/campaign/edit.h"
#include "tests/ir/verify/hand_plan.h"

namespace {

using dp_test::Arena;

// The error message, or "" and the plan.
std::string Compile(dp_arena *arena, const std::string &file, std::vector<dp_mesh_axis> mesh, const char *optimizer,
                    Dp__Plan **plan, int64_t microbatches = 0, const char *schedule = nullptr) {
  dp_model *model;
  std::string message = dp_test::Message(dp_model_file_read(arena, ("examples/" + file).c_str(), &model));
  if (!message.empty()) return message;
  dp_options options = {};
  options.strategy = "data";
  options.microbatches = microbatches;
  options.pipeline_schedule = schedule;
  for (const dp_mesh_axis &axis : mesh)
    if (!strcmp(axis.name, DP_MESH_PIPE)) options.strategy = "pipeline";
  for (const dp_mesh_axis &axis : mesh) options.mesh.axes[options.mesh.n_axes++] = axis;
  options.batch = 20;
  options.threads = 1;
  options.optimizer = optimizer;
  options.target = &dp_target_cpu;
  return dp_test::Message(dp_pipeline_run(model, &options, plan));
}

std::string Verify(const Dp__Plan *plan, std::string *message = nullptr) {
  dp_verify_report report;
  dp_status status = dp_verify_plan(plan, &report);
  std::string rule = status ? dp_rule_name(report.fault.rule) : "";
  std::string text = dp_test::Message(status);
  if (message) *message = text;
  return rule;
}

TEST(Compiled, HoldsOnAnyMesh) {
  const std::vector<std::vector<dp_mesh_axis>> meshes = {{{"data", 1}},
                                                         {{"data", 2}},
                                                         {{"data", 3}},
                                                         {{"data", 8}},
                                                         {{"data", 64}},
                                                         {{"data", 2}, {"tensor", 2}},
                                                         {{"tensor", 3}, {"data", 2}}};
  for (const char *file : {"mlp.dpt", "digits_cnn.dpt"})
    for (const auto &mesh : meshes)
      for (const char *optimizer : {"sgd(lr=0.05)", "sgd(lr=0.05,momentum=0.9,nesterov=1,weight_decay=1e-3)"}) {
        Arena arena;
        Dp__Plan *plan;
        std::string message;
        ASSERT_EQ(Compile(arena, file, mesh, optimizer, &plan), "");
        EXPECT_EQ(Verify(plan, &message), "") << file << " " << mesh[0].name << "=" << mesh[0].size << " " << message;
        for (size_t p = 0; p < plan->roles[0]->n_programs; p++)
          EXPECT_EQ(dp_test::BruteOrder(plan->roles[0]->programs[p]), "") << file;
      }
}

// Calls visit with each instruction of the plan's programs, and its location (*list, at).
template <typename Visit>
void Each(Dp__Plan *plan, Visit visit) {
  for (size_t p = 0; p < plan->roles[0]->n_programs; p++)
    for (size_t s = 0; s < plan->roles[0]->programs[p]->n_streams; s++)
      for (size_t i = 0; i < plan->roles[0]->programs[p]->streams[s]->n_instructions; i++)
        visit(plan->roles[0]->programs[p], plan->roles[0]->programs[p]->streams[s], i);
}

TEST(Compiled, WithoutAWait) {
  Arena arena;
  Dp__Plan *plan;
  ASSERT_EQ(Compile(arena, "digits_cnn.dpt", {{"data", 2}}, nullptr, &plan), "");
  std::map<std::string, int> rules;
  Each(plan, [&](Dp__Program *program, Dp__Stream *stream, size_t at) {
    Dp__Instruction *in = stream->instructions[at];
    for (size_t w = 0; w < in->n_waits; w++) {
      uint32_t removed = in->waits[w];
      in->waits[w] = in->waits[--in->n_waits];
      std::string found = Verify(plan), expected = dp_test::BruteOrder(program);
      EXPECT_EQ(found, expected) << program->name << " " << stream->name << " " << at;
      rules[found]++;
      in->waits[in->n_waits++] = in->waits[w];
      in->waits[w] = removed;
    }
  });
  EXPECT_EQ(Verify(plan), "");
  EXPECT_GT(rules["ORDER.CONFLICT"], 30);
  EXPECT_LT(rules[""], rules["ORDER.CONFLICT"] / 4);
}

TEST(Compiled, WithoutAnInstruction) {
  Arena arena;
  Dp__Plan *plan;
  ASSERT_EQ(Compile(arena, "digits_cnn.dpt", {{"data", 2}}, nullptr, &plan), "");
  std::vector<uint8_t> packed(dp__plan__get_packed_size(plan));
  dp__plan__pack(plan, packed.data());
  std::map<std::string, int> rules;
  for (size_t p = 0; p < plan->roles[0]->n_programs; p++)
    for (size_t s = 0; s < plan->roles[0]->programs[p]->n_streams; s++)
      for (size_t i = 0; i < plan->roles[0]->programs[p]->streams[s]->n_instructions; i++) {
        dp_test::Edit copy(packed, 0);
        Dp__Program *program = copy.program = copy.role->programs[p];
        std::string op = copy.At({s, i})->op;
        copy.TakeOut({s, i});
        std::string text, rule = Verify(copy.plan, &text);
        // Every instruction is needed: nothing else could have computed its result.
        EXPECT_EQ(rule.substr(0, 8), "MEANING.")
            << program->name << " " << program->streams[s]->name << " " << i << " (" << op << ") " << text;
        rules[rule]++;
      }
  EXPECT_GT(rules["MEANING.CONTENT"], 10);
  EXPECT_GT(rules["MEANING.UNDEFINED"], 10);
  EXPECT_GT(rules["MEANING.UPDATE"], 10);
}

// ---- stages and micro-batches ---------------------------------------------------------------------------------------

struct Cut {
  const char *file;
  std::vector<dp_mesh_axis> mesh;
  int64_t microbatches;
  const char *schedule;
};
// mlp has no statistics of the whole batch, so it allows micro-batches.
const Cut kCuts[] = {
    {"mlp.dpt", {{"pipe", 2}}, 1, nullptr}, {"mlp.dpt", {{"pipe", 2}}, 3, "1f1b"},
    {"mlp.dpt", {{"pipe", 3}}, 4, "gpipe"}, {"mlp.dpt", {{"data", 2}, {"pipe", 2}}, 2, "1f1b"},
    {"mlp.dpt", {{"data", 2}}, 3, nullptr}, {"mlp.dpt", {{"pipe", 2}, {"tensor", 2}}, 2, nullptr},
};

class CompiledStages : public testing::TestWithParam<Cut> {
 protected:
  CompiledStages() {
    const Cut &cut = GetParam();
    EXPECT_EQ(Compile(arena_, cut.file, cut.mesh, "sgd(lr=0.05,momentum=0.9)", &plan_, cut.microbatches, cut.schedule),
              "");
  }
  std::vector<uint8_t> Pack() const {
    std::vector<uint8_t> packed(dp__plan__get_packed_size(plan_));
    dp__plan__pack(plan_, packed.data());
    return packed;
  }
  // visit(role, program, stream, index), as numbers.
  template <typename Visit>
  void EachStep(Visit visit) {
    for (size_t r = 0; r < plan_->n_roles; r++)
      for (size_t p = 0; p < plan_->roles[r]->n_programs; p++)
        for (size_t s = 0; s < plan_->roles[r]->programs[p]->n_streams; s++)
          for (size_t i = 0; i < plan_->roles[r]->programs[p]->streams[s]->n_instructions; i++) visit(r, p, s, i);
  }
  Arena arena_;
  Dp__Plan *plan_ = nullptr;
};

TEST_P(CompiledStages, Holds) {
  std::string message;
  EXPECT_EQ(Verify(plan_, &message), "") << message;
  for (size_t p = 0; p < plan_->roles[0]->n_programs; p++) EXPECT_EQ(dp_test::BruteOrder(plan_, p), "");
}

// The checker derives each stage's order from that stage alone, so it may refuse what another stage happens to order.
TEST_P(CompiledStages, WithoutAWait) {
  int stricter = 0;
  std::map<std::string, int> rules;
  EachStep([&](size_t r, size_t p, size_t s, size_t i) {
    Dp__Program *program = plan_->roles[r]->programs[p];
    Dp__Instruction *in = program->streams[s]->instructions[i];
    for (size_t w = 0; w < in->n_waits; w++) {
      uint32_t removed = in->waits[w];
      in->waits[w] = in->waits[--in->n_waits];
      std::string found = Verify(plan_), expected = dp_test::BruteOrder(plan_, p);
      if (expected.empty() && found == "ORDER.CONFLICT")
        stricter++;
      else
        EXPECT_EQ(found, expected) << plan_->roles[r]->name << " " << program->name << " " << s << " " << i;
      rules[found]++;
      in->waits[in->n_waits++] = in->waits[w];
      in->waits[w] = removed;
    }
  });
  EXPECT_GT(rules["ORDER.CONFLICT"], 10);
  EXPECT_LT(stricter, rules["ORDER.CONFLICT"] / 2);
}

// Every instruction is needed, and every transfer has two ends.
TEST_P(CompiledStages, WithoutAnInstruction) {
  const std::vector<uint8_t> packed = Pack();
  std::map<std::string, int> rules;
  EachStep([&](size_t r, size_t p, size_t s, size_t i) {
    dp_test::Edit copy(packed, 0);
    Dp__Program *program = copy.plan->roles[r]->programs[p];
    std::string op = program->streams[s]->instructions[i]->op;
    dp_test::TakeOut(copy.arena, program, {s, i});
    std::string text, rule = Verify(copy.plan, &text);
    EXPECT_EQ(rule.substr(0, 8), "MEANING.") << plan_->roles[r]->name << " " << program->name << " "
                                             << program->streams[s]->name << " " << i << " (" << op << ") " << text;
    EXPECT_TRUE(op != "Send" || rule == "MEANING.TRANSFER") << text;
    rules[rule]++;
  });
  EXPECT_GT(rules["MEANING.UNDEFINED"], 10);
}

// Declares that each step of a micro-batch belongs to another one.
TEST_P(CompiledStages, OfAnotherMicroBatch) {
  int damaged = 0;
  for (size_t r = 0; r < plan_->n_roles; r++)
    for (size_t p = 0; p < plan_->roles[r]->n_programs; p++) {
      Dp__Program *program = plan_->roles[r]->programs[p];
      for (size_t t = 0; t < program->n_tensors; t++) {
        Dp__MicroSet *m = program->tensors[t]->micro;
        if (!m) continue;
        const uint32_t first = m->first;
        m->first = first ? first - 1 : 1;
        std::string text, rule = Verify(plan_, &text);
        EXPECT_TRUE(rule.substr(0, 8) == "MEANING." || rule == "TENSOR.LAYOUT")
            << "tensor " << t << " " << rule << text;
        m->first = first;
        damaged++;
      }
    }
  EXPECT_EQ(Verify(plan_), "");
  EXPECT_EQ(damaged > 20, GetParam().microbatches > 1);
}

INSTANTIATE_TEST_SUITE_P(, CompiledStages, testing::ValuesIn(kCuts));

// ---- infer ----------------------------------------------------------------------------------------------------------

class CompiledInfer : public testing::Test {
 protected:
  CompiledInfer() {
    EXPECT_EQ(Compile(arena_, "digits_cnn.dpt", {{"data", 3}}, nullptr, &plan_), "");
    EXPECT_EQ(Verify(plan_), "");
    infer_ = Program("infer");
    graph_ = plan_->graphs[infer_->graph];
  }
  Dp__Program *Program(const std::string &name) {
    for (size_t p = 0; p < plan_->roles[0]->n_programs; p++)
      if (name == plan_->roles[0]->programs[p]->name) return plan_->roles[0]->programs[p];
    throw std::runtime_error("no program " + name);
  }
  void Refused(const std::string &rule, const std::string &word) {
    std::string message;
    EXPECT_EQ(Verify(plan_, &message), rule) << message;
    EXPECT_NE(message.find(word), std::string::npos) << message;
    EXPECT_NE(message.find("infer"), std::string::npos) << message;
  }

  Arena arena_;
  Dp__Plan *plan_;
  Dp__Program *infer_;
  Dp__Graph *graph_;
};

TEST_F(CompiledInfer, TakesNoLabelsAndSharesHomes) {
  ASSERT_EQ(infer_->n_inputs, 1u);
  EXPECT_STREQ(infer_->inputs[0]->name, "image");
  ASSERT_EQ(infer_->n_outputs, 1u);
  EXPECT_STREQ(infer_->outputs[0]->name, "logits");
  EXPECT_EQ(infer_->n_exit, 0u);
  EXPECT_EQ(Program("eval")->n_exit, 0u);
  // All programs find a parameter at the same bytes.
  Dp__Program *train = Program("train");
  int shared = 0;
  for (size_t i = 0; i < infer_->n_entry; i++)
    for (size_t t = 0; t < train->n_entry; t++) {
      if (infer_->entry[i]->variable != train->entry[t]->variable) continue;
      const Dp__DeviceTensor *a = infer_->tensors[infer_->entry[i]->value], *b = train->tensors[train->entry[t]->value];
      EXPECT_EQ(a->offset, b->offset);
      EXPECT_EQ(a->space, DP__SPACE__PERSISTENT);
      shared++;
    }
  EXPECT_GT(shared, 10);
}

TEST_F(CompiledInfer, UpdatesNothing) {
  Dp__Program *train = Program("train");
  plan_->options = nullptr;  // it would say which programs there are
  infer_->name = dp_strdup(arena_, "other");
  train->name = dp_strdup(arena_, "infer");
  Refused("MEANING.UPDATE", "only init and train");
}

TEST_F(CompiledInfer, GivesSomething) {
  infer_->n_outputs = graph_->n_outputs = 0;
  Refused("PROGRAM.OUTPUTS", "no output");
}

TEST_F(CompiledInfer, GivesWhatItsGraphGives) {
  infer_->outputs[0]->name = dp_strdup(arena_, "scores");
  Refused("MEANING.OUTPUT", "'scores'");
}

TEST_F(CompiledInfer, FindsParametersInTheirHomes) {
  Dp__DeviceTensor *tensor = infer_->tensors[infer_->entry[0]->value];
  tensor->offset += 64;
  Refused("MEANING.STORAGE", "storage");
}

// What eval left in transient memory is not available to infer.
TEST_F(CompiledInfer, FindsNothingInTransientMemory) {
  for (size_t s = 0; s < infer_->n_streams; s++)
    for (size_t i = 0; i < infer_->streams[s]->n_instructions; i++)
      if (std::string("Scatter") == infer_->streams[s]->instructions[i]->op) {
        dp_test::TakeOut(arena_, infer_, {s, i});
        return Refused("MEANING.UNDEFINED", "");
      }
  FAIL() << "no scatter";
}

}  // namespace
