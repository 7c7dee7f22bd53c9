// Instruction sets: what --isa selects, the default on a machine without AVX-512 (DNNL_MAX_CPU_ISA hides it), and plans
// that move to another machine.
#include <cstdlib>
#include <sstream>

#include "backends/cpu/target.h"
#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

class Isa : public Tools {
 protected:
  void SetUp() override {
    const char *isa = dp_target_cpu.isa();
    if (!isa) GTEST_SKIP() << "this machine has neither AVX2 nor AVX-512";
    machine_ = isa;
  }
  ~Isa() override { unsetenv("ONEDNN_MAX_CPU_ISA"); }

  // What the programs see of the machine from now on.
  static void Hide(const char *most) { setenv("ONEDNN_MAX_CPU_ISA", most, 1); }

  std::string Compile(const std::string &options) const {
    return "dpc compile examples/digits_cnn.dpt --batch=60 --strategy=tensor --devices=3 -o " + File("plan.bin") + " " +
           options;
  }
  // The plan, without the record of which options were given and which are defaults.
  std::string Plan(const std::string &options) {
    Must(Compile(options));
    std::istringstream lines(Must("dpc show " + File("plan.bin")).out);
    std::string text;
    for (std::string line; std::getline(lines, line);)
      if (line.find("  compiled with ") && line.find("  by default ")) text += line + "\n";
    return text;
  }
  std::string Train() const {
    return "dprun " + File("plan.bin") + " " + digits + " --steps=3 --quiet --metrics=" + File("metrics");
  }

  std::string machine_;
};

TEST_F(Isa, OfTheMachineIsTheDefault) { EXPECT_EQ(Plan(""), Plan("--isa=" + machine_)); }

TEST_F(Isa, Avx2IsTheSameOnEitherMachine) {
  const std::string asked = Plan("--isa=avx2");
  Must(Train());
  const std::vector<double> losses = Losses(File("metrics"));
  Hide("AVX2");
  EXPECT_EQ(Plan(""), asked);
  Must(Train());
  EXPECT_EQ(Losses(File("metrics")), losses);
  Refused(Compile("--isa=avx512"), 69, {"lacks avx512", "--isa=avx2"});
}

TEST_F(Isa, APlanOfAnotherMachineIsRefused) {
  if (machine_ != "avx512") GTEST_SKIP() << "this machine has no AVX-512";
  Plan("");
  Must(Train());
  Hide("avx2");
  Refused(Train(), 69, {"lacks avx512", "--isa=avx2"});
  Hide("ALL");
  Must(Train());
}

// Plans in bfloat16 use its instructions where there are any. Others run on every machine with AVX-512.
TEST_F(Isa, OfBfloat16) {
  Must(Compile(""));
  EXPECT_EQ(Must("dpc show " + File("plan.bin")).out.find("avx512_bf16"), std::string::npos);
  Plan("--precision=bf16 --isa=avx2");
  Must(Train());
  if (machine_ != "avx512" || !__builtin_cpu_supports("avx512bf16")) GTEST_SKIP() << "this machine has none";
  const std::string native = Plan("--precision=bf16"), converted = Plan("--precision=bf16 --isa=avx512");
  EXPECT_EQ(Plan("--precision=bf16 --isa=avx512_bf16"), native);
  for (const char *op : {"Gemm", "Conv", "dp.ConvGradInput", "dp.ConvGradWeight"})
    EXPECT_NE(native.find(std::string("kernel cpu.bf16.") + op), std::string::npos) << op;
  EXPECT_NE(native.find("target cpu avx512_bf16"), std::string::npos);
  EXPECT_EQ(converted.find("bf16."), std::string::npos);
  EXPECT_NE(converted.find("target cpu avx512,"), std::string::npos);
  Plan("--precision=bf16");
  Must(Train());
  const std::vector<double> losses = Losses(File("metrics"));
  Must(Train());
  EXPECT_EQ(Losses(File("metrics")), losses);
  Hide("AVX512_CORE");
  Refused(Train(), 69, {"lacks avx512_bf16", "--isa=avx512"});
  Refused(Compile("--precision=bf16 --isa=avx512_bf16"), 69, {"lacks avx512_bf16"});
  EXPECT_EQ(Plan("--precision=bf16"), converted);
  Must(Train());
  Hide("AVX2");
  Refused(Compile("--precision=bf16 --isa=avx512_bf16"), 69, {"lacks avx512_bf16", "--isa=avx2"});
}

// Plans for AVX-512 compute the same on machines with its instructions for bfloat16 and without.
TEST_F(Isa, Avx512IsTheSameOnEitherMachine) {
  if (machine_ != "avx512") GTEST_SKIP() << "this machine has no AVX-512";
  for (const char *options : {"--isa=avx512", "--isa=avx512 --precision=bf16"}) {
    unsetenv("ONEDNN_MAX_CPU_ISA");
    const std::string plan = Plan(options);
    Must(Train());
    const std::vector<double> losses = Losses(File("metrics"));
    Hide("AVX512_CORE");
    EXPECT_EQ(Plan(options), plan);
    Must(Train());
    EXPECT_EQ(Losses(File("metrics")), losses);
  }
}

TEST_F(Isa, WithoutAnyThereAreReferenceKernels) {
  Hide("SSE41");
  Plan("");
  const std::string text = Must("dpc show " + File("plan.bin")).out;
  EXPECT_NE(text.find("cpu.reference.Conv"), std::string::npos);
  EXPECT_EQ(text.find("cpu.onednn"), std::string::npos);
  Must(Train());
  const std::vector<double> losses = Losses(File("metrics"));
  Refused(Compile("--isa=avx2"), 69, {"lacks avx2"});
  // On another machine it gives the same bits.
  Hide("ALL");
  Must(Train());
  EXPECT_EQ(Losses(File("metrics")), losses);
}

// Small convolutions get fewer threads than --threads allows. oneDNN may have what computes a part of them by the
// instruction, and not what computes the whole.
TEST_F(Isa, OfBfloat16WithFewerThreads) {
  const std::string model = Write("convolutions.dpt", R"dpt(model convolutions {
  input x: float32[N,12,5,1]
  parameter w: float32[64,6,1,1] = kaiming_uniform()
  parameter b: float32[64] = kaiming_uniform(6)
  parameter w2: float32[160,8,1,1] = kaiming_uniform()
  y = Conv(x, w, b) {group=2}
  y2 = Conv(y, w2) {group=8}
  output y2
}
)dpt");
  const std::string x = Write("x.npy", Npy({3, 12, 5, 1}, std::vector<double>(3 * 12 * 5)));
  for (const char *threads : {"1", "2", "3", "64"}) {
    SCOPED_TRACE(threads);
    Must("dpc compile " + model + " --batch=3 --mode=infer --precision=bf16 --threads=" + threads + " -o " +
         File("plan.bin"));
    Must("dprun " + File("plan.bin") + " --infer --quiet --data x=" + x + " --output y2=" + File("y2.npy"));
  }
}

}  // namespace
