// A plan's instruction set goes with its kernels. Kernels say in their structs whether they depend on one, whatever
// their library. A plan that says otherwise is refused when it is loaded.
#include "backends/null/backend.h"
#include "tests/frontends/onnx_builder.h"
#include "tests/runtime/runtime_helper.h"

namespace {

using namespace dp_test;

const char kDense[] = R"dpt(model dense {
  opset 18
  loss "mse(y,t)"
  optimizer "sgd(lr=0.1)"
  input x: float32[N,4]
  input t: float32[N,3]
  parameter w: float32[4,3] = kaiming_uniform()
  y = MatMul(x, w)
  output y
})dpt";

// Changes the plan's instruction set, and drops its record of options, which would contradict that.
void Name(CompiledPlan *compiled, const char *isa) {
  compiled->plan->target->isa = dp_strdup(compiled->arena, isa);
  compiled->plan->options = nullptr;
}

std::string Load(const Dp__Plan *plan, const dp_backend *backend = &dp_backend_cpu) {
  return Session(plan, {}, backend).error;
}

bool Has(const Dp__Plan *plan, const char *library) {
  const std::string part = std::string(".") + library + ".";
  for (size_t p = 0; p < plan->roles[0]->n_programs; p++) {
    const Dp__Program *program = plan->roles[0]->programs[p];
    for (size_t s = 0; s < program->n_streams; s++)
      for (size_t i = 0; i < program->streams[s]->n_instructions; i++)
        if (strstr(program->streams[s]->instructions[i]->kernel, part.c_str())) return true;
  }
  return false;
}

TEST(Target, APlanWithoutASetThatAKernelDependsOn) {
  CompiledPlan compiled(kDense, "batch=6");
  if (!*compiled.plan->target->isa) GTEST_SKIP() << "this machine has no instruction set that a library uses";
  ASSERT_TRUE(Has(compiled.plan, "onednn"));
  EXPECT_EQ(Load(compiled.plan), "");
  Name(&compiled, "");
  const dp_backend null = dp_backend_null(dp_backend_cpu.target);
  for (const dp_backend *backend : {&dp_backend_cpu, &null}) {
    const std::string error = Load(compiled.plan, backend);
    EXPECT_EQ(error.substr(0, 4), "65: ");
    EXPECT_NE(error.find("names no instruction set, and its kernel cpu.onednn."), std::string::npos) << error;
  }
}

TEST(Target, ASetThatNoKernelDependsOn) {
  CompiledPlan compiled(kDense, "batch=6 precision=fp64");
  EXPECT_STREQ(compiled.plan->target->isa, "");
  EXPECT_EQ(Load(compiled.plan), "");
  Name(&compiled, "avx2");
  const dp_backend null = dp_backend_null(dp_backend_cpu.target);
  for (const dp_backend *backend : {&dp_backend_cpu, &null}) {
    const std::string error = Load(compiled.plan, backend);
    EXPECT_EQ(error.substr(0, 4), "65: ");
    EXPECT_NE(error.find("names the instruction set 'avx2', and none of its kernels"), std::string::npos) << error;
  }
}

TEST(Target, ASetThatIsUnknown) {
  CompiledPlan compiled(kDense, "batch=6");
  if (!*compiled.plan->target->isa) GTEST_SKIP() << "this machine has no instruction set that a library uses";
  for (const char *isa : {"sse9", "AVX2", "avx2 ", "avx51"}) {
    Name(&compiled, isa);
    EXPECT_EQ(Load(compiled.plan), std::string("65: the instruction set '") + isa +
                                       "' is unknown; this program knows avx2, avx512 and avx512_bf16");
  }
}

// A kernel that needs more than its plan names would run where the machine lacks it.
TEST(Target, ASetThatIsLessThanAKernelNeeds) {
  CompiledPlan compiled(kDense, "batch=6 precision=bf16");
  if (strcmp(compiled.plan->target->isa, "avx512_bf16")) GTEST_SKIP() << "this machine lacks AVX-512's bfloat16";
  ASSERT_TRUE(Has(compiled.plan, "bf16"));
  EXPECT_EQ(Load(compiled.plan), "");
  const dp_backend null = dp_backend_null(dp_backend_cpu.target);
  for (const char *less : {"avx2", "avx512"}) {
    Name(&compiled, less);
    for (const dp_backend *backend : {&dp_backend_cpu, &null}) {
      const std::string error = Load(compiled.plan, backend);
      EXPECT_EQ(error.substr(0, 4), "65: ");
      EXPECT_NE(error.find("its kernel cpu.bf16.MatMul needs avx512_bf16"), std::string::npos) << error;
    }
  }
}

// Element types that kernels compute through wider ones, and those that have kernels of their own.
TEST(Target, NarrowTypesOfOnnxFiles) {
  const struct {
    int type;
    const char *op;
  } kinds[] = {
      {16, "Add"}, {10, "Add"}, {3, "Add"}, {2, "Mul"}, {16, "MatMul"}, {10, "MatMul"}, {10, "Relu"}, {5, "Sub"},
  };
  for (const auto &kind : kinds) {
    SCOPED_TRACE(std::string(kind.op) + " of type " + std::to_string(kind.type));
    Onnx m;
    m.Input("x", kind.type, {"N", "4"});
    Names operands = {"x"};
    if (strcmp(kind.op, "Relu")) {
      m.Input("v", kind.type, {"4", "4"});
      operands.push_back("v");
    }
    if (!strcmp(kind.op, "Add") || !strcmp(kind.op, "Mul") || !strcmp(kind.op, "Sub")) {
      m.Node("Mul", {"x", "x"}, {"u"});
      operands = {"x", "u"};
    }
    m.Node(kind.op, operands, {"y"});
    m.Output("y");
    const std::string text = m.Import();
    CompiledPlan compiled("model narrow {\n  opset 18\n" + text + "\n}\n", "batch=4 mode=infer");
    // The plan loads as it is, and not with another set.
    bool dependent = false;
    for (const char *library : {"onednn", "fast", "fast_rows", "fast_wide", "bf16"})
      dependent |= Has(compiled.plan, library);
    EXPECT_EQ(*compiled.plan->target->isa != 0, dependent);
    EXPECT_EQ(Load(compiled.plan), "");
    Name(&compiled, dependent ? "" : "avx2");
    EXPECT_EQ(Load(compiled.plan).substr(0, 4), "65: ");
  }
}

}  // namespace
