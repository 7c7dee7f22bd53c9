// dpc calibrate on the CPU: the file, and what the passes make of its numbers.
#include <jansson.h>
#include <unistd.h>

#include "tests/tools/tool.h"

namespace {

class Calibrate : public Tools {};

// The numbers are this machine's, so only their size can be known: within a factor of 1,000 of a usual core's.
TEST_F(Calibrate, MeasuresThisMachine) {
  Must("dpc calibrate --device=cpu --threads=1 -o " + File("cpu.json"));
  json_t *root = json_loads(Read(File("cpu.json")).c_str(), 0, nullptr);
  ASSERT_TRUE(root);
  const json_t *costs = json_array_get(json_object_get(root, "costs"), 0);
  const auto number = [&](const char *name) { return json_number_value(json_object_get(costs, name)); };
  EXPECT_EQ(json_array_size(json_object_get(root, "costs")), 1u);
  EXPECT_EQ(number("threads"), 1);
  EXPECT_GT(number("start_ns"), 1);
  EXPECT_LT(number("start_ns"), 1e6);
  EXPECT_GT(number("flops_per_ns"), 0.02);
  EXPECT_LT(number("flops_per_ns"), 2e4);
  EXPECT_GT(number("bytes_per_ns"), 0.01);
  EXPECT_LT(number("bytes_per_ns"), 1e4);
  json_decref(root);
  const std::string compile = "dpc compile examples/mlp.dpt --batch=8 -o " + File("p.bin") + " --calibration=";
  Must(compile + File("cpu.json"));
  Must("dprun " + File("p.bin") + " --steps=2 " + digits);
  Must("dpc verify " + File("p.bin") + " --against=examples/mlp.dpt --calibration=" + File("cpu.json"));
  EXPECT_NE(Must("dpc show " + File("p.bin")).out.find("--calibration=" + File("cpu.json")), std::string::npos);
}

std::string CostsOf(const std::string &isa, const std::string &flops, const std::string &bytes) {
  return "{\"dpc_calibration\": 1, \"backend\": \"cpu\", \"isa\": \"" + isa +
         "\", \"device\": \"\", \"driver\": \"\", \"costs\": [{\"threads\": 1, \"start_ns\": 1, \"flops_per_ns\": " +
         flops + ", \"bytes_per_ns\": " + bytes + "}], \"libraries\": [], \"choices\": []}";
}

// Stages of a pipeline are to take equally long. The first convolution has few channels and large pictures: where only
// bytes count, it is a stage; where only operations count, the second one joins it.
TEST_F(Calibrate, PassesGoByTheNumbers) {
  const auto second = [&](const std::string &flops, const std::string &bytes) {
    const std::string file = Write("costs.json", CostsOf("avx2", flops, bytes));
    Must("dpc compile examples/digits_cnn.dpt --batch=64 --strategy=pipeline --devices=3 --isa=avx2 --calibration=" +
         file + " -o " + File("p.bin"));
    Must("dpc verify " + File("p.bin") + " --against=examples/digits_cnn.dpt --calibration=" + file);
    const std::string shown = Must("dpc show " + File("p.bin")).out;
    const size_t at = shown.find("parameter conv2.weight"), stage = shown.find("on stage ", at);
    return shown.substr(stage, 10);
  };
  EXPECT_EQ(second("0.001", "1000"), "on stage 0");
  EXPECT_EQ(second("1e6", "0.0001"), "on stage 1");
}

TEST_F(Calibrate, MeasuresWithAnotherInstructionSet) {
  Must("dpc calibrate --device=cpu --threads=1 --isa=avx2 -o " + File("avx2.json"));
  Must("dpc compile examples/mlp.dpt --batch=8 --isa=avx2 -o " + File("p.bin") + " --calibration=" + File("avx2.json"));
  Refused("dpc calibrate --device=cpu --isa=avx3 -o " + File("x.json"), 64, {"--isa=avx3"});
}

TEST_F(Calibrate, AnotherInstructionSetIsRefused) {
  const std::string file = Write("costs.json", CostsOf("avx512", "10", "10"));
  Refused("dpc compile examples/mlp.dpt --batch=8 --isa=avx2 --calibration=" + file, 78, {"avx512", "--isa=avx2"});
  Refused("dpc compile examples/mlp.dpt --batch=8 --target=cuda --calibration=" + file, 78, {"--target=cpu"});
}

}  // namespace
