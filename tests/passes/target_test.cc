// Plans depend on the target's own facts: alignment, threads, clock, and what kernels declare.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "backends/cpu/target.h"
#include "backends/cuda/target.h"
#include "passes/pipeline.h"
#include "tests/passes/passes_helper.h"

namespace dp_test {
namespace {

// A copy of the CPU whose kernels may be changed.
struct Target {
  Target() : target(dp_target_cpu) {
    for (const dp_kernel *const *k = dp_target_cpu.kernels; *k; k++) kernels.push_back(**k);
    for (const dp_kernel &kernel : kernels) table.push_back(&kernel);
    table.push_back(nullptr);
    target.kernels = table.data();
  }
  Target(const Target &) = delete;
  Target &operator=(const Target &) = delete;
  std::vector<dp_kernel> kernels;
  std::vector<const dp_kernel *> table;
  dp_target target;
};

class TargetTest : public ::testing::Test {
 protected:
  const Dp__Plan *Compile(const std::string &model, const std::string &words) {
    dp_model *parsed;
    Dp__Plan *plan = nullptr;
    EXPECT_EQ(Parse(arena_, ReadText(model), &parsed), "");
    Options options;
    options.Set(words);
    options.options.target = &mine_.target;
    EXPECT_EQ(Message(dp_pipeline_run(parsed, &options.options, &plan)), "");
    return plan;
  }
  Arena arena_;
  Target mine_;
};

// What a backend has no kernel for is refused when the plan is compiled, by node, operator and type.
TEST_F(TargetTest, WhatItHasNoKernelForIsRefused) {
  for (const dp_target *target : {&dp_target_cpu, &dp_target_cuda}) {
    std::vector<const dp_kernel *> table;
    for (const dp_kernel *const *k = target->kernels; *k; k++)
      if (!(*k)->op || std::string((*k)->op) != "Conv") table.push_back(*k);
    table.push_back(nullptr);
    dp_target mine = *target;
    mine.kernels = table.data();
    dp_model *parsed;
    Dp__Plan *plan = nullptr;
    ASSERT_EQ(Parse(arena_, ReadText("examples/digits_cnn.dpt"), &parsed), "");
    Options options;
    options.Set("batch=8");
    options.options.target = &mine;
    dp_status status = dp_pipeline_run(parsed, &options.options, &plan);
    EXPECT_EQ(dp_status_code(status), EX_UNAVAILABLE);
    const std::string message = Message(status);
    EXPECT_NE(
        message.find("(Conv): backend " + std::string(mine.name) + " has no kernel for it (first operand: float32"),
        std::string::npos)
        << message;
  }
}

int Threads(int64_t devices) { return devices == 2 ? 5 : 3; }

TEST_F(TargetTest, EverythingLiesAtItsAlignment) {
  mine_.target.alignment = 512;
  for (const char *words : {"batch=64", "batch=16 strategy=data devices=2", "batch=16 strategy=pipeline devices=2"}) {
    const Dp__Plan *plan = Compile("examples/digits_cnn.dpt", words);
    ASSERT_NE(plan, nullptr);
    size_t seen = 0;
    for (size_t r = 0; r < plan->n_roles; r++) {
      for (size_t a = 0; a < plan->roles[r]->n_arenas; a++) {
        EXPECT_EQ(plan->roles[r]->arenas[a]->alignment, 512u);
        EXPECT_EQ(plan->roles[r]->arenas[a]->bytes % 512, 0u);
      }
      for (size_t p = 0; p < plan->roles[r]->n_programs; p++) {
        const Dp__Program *program = plan->roles[r]->programs[p];
        for (size_t t = 0; t < program->n_tensors; t++) EXPECT_EQ(program->tensors[t]->offset % 512, 0u);
        seen += program->n_tensors;
      }
    }
    for (size_t p = 0; p < plan->n_variables; p++) EXPECT_EQ(plan->variables[p]->offset % 512, 0u);
    EXPECT_GT(seen, 20u);
  }
}

TEST_F(TargetTest, ItsThreadsAreTheMostOfAnInstruction) {
  mine_.target.threads = Threads;
  EXPECT_EQ(Compile("examples/vgg11.dpt", "batch=64")->target->threads, 3u);
  EXPECT_EQ(Compile("examples/vgg11.dpt", "batch=64 strategy=data devices=2")->target->threads, 5u);
  EXPECT_EQ(Compile("examples/vgg11.dpt", "batch=64 threads=2")->target->threads, 2u) << "--threads takes precedence";
  mine_.target.thread_work = 1e18;
  EXPECT_EQ(Compile("examples/vgg11.dpt", "batch=64")->target->threads, 1u) << "no node is worth a second thread";
}

// The number of gradients that each collective reduces, in order.
std::vector<size_t> Buckets(const Dp__Plan *plan) {
  std::vector<size_t> sizes;
  for (size_t p = 0; p < plan->roles[0]->n_programs; p++)
    for (size_t s = 0; s < plan->roles[0]->programs[p]->n_streams; s++)
      for (size_t i = 0; i < plan->roles[0]->programs[p]->streams[s]->n_instructions; i++) {
        const Dp__Instruction *in = plan->roles[0]->programs[p]->streams[s]->instructions[i];
        if (!strcmp(in->op, "AllReduce")) sizes.push_back(in->n_inputs);
      }
  return sizes;
}

// A bucket is sent once sending it takes as long as synchronizing. Without latency it holds one gradient; with a
// latency of a second it is sent when it is full.
TEST_F(TargetTest, ItsCostsDividesCommunication) {
  const char *words = "batch=64 strategy=data devices=2";
  mine_.target.costs.latency_ns = 1e9;
  const std::vector<size_t> dear = Buckets(Compile("examples/vgg11.dpt", words));
  mine_.target.costs.latency_ns = 1;
  const std::vector<size_t> cheap = Buckets(Compile("examples/vgg11.dpt", words));
  EXPECT_GT(*std::max_element(dear.begin(), dear.end()), 8u);
  EXPECT_GT(std::count(cheap.begin(), cheap.end(), 1u), std::count(dear.begin(), dear.end(), 1u));
}

// A kernel can be preferred without having its own threads or an instruction set, and vice versa.
TEST_F(TargetTest, KernelsSayWhatTheyAreByFieldsOfTheirOwn) {
  mine_.target.threads = Threads;
  for (dp_kernel &kernel : mine_.kernels)
    if (kernel.library) kernel.isa = kernel.own_threads = false;
  for (dp_kernel &kernel : mine_.kernels) kernel.parts = false;
  const Dp__Plan *plan = Compile("examples/vgg11.dpt", "batch=64");
  EXPECT_STREQ(plan->target->isa, "");
  EXPECT_EQ(plan->target->threads, 1u);
  for (dp_kernel &kernel : mine_.kernels) kernel.priority = -kernel.priority;
  for (dp_kernel &kernel : mine_.kernels)
    if (std::string(kernel.name) == "cpu.reference.Conv") kernel.isa = kernel.own_threads = true;
  plan = Compile("examples/vgg11.dpt", "batch=64");
  EXPECT_STREQ(plan->target->isa, dp_target_cpu.isa() ? dp_target_cpu.isa() : "");
  EXPECT_EQ(plan->target->threads, 3u);
}

TEST_F(TargetTest, IsAsked) {
  dp_model *parsed;
  Dp__Plan *plan = nullptr;
  ASSERT_EQ(Parse(arena_, ReadText("examples/mlp.dpt"), &parsed), "");
  Options options;
  options.Set("batch=8");
  options.options.target = nullptr;
  dp_status status = dp_pipeline_run(parsed, &options.options, &plan);
  EXPECT_EQ(dp_status_code(status), EX_SOFTWARE);
  EXPECT_NE(Message(status).find("no target"), std::string::npos);
}

}  // namespace
}  // namespace dp_test
