// dpc calibrate on a GPU, and plans that take what it measured. The stand-ins name several algorithms for each call, of
// which the first is not the fastest, and some that are faster and not to be taken (tests/cuda/standin/cublaslt.c,
// cudnn_engines.c).
#include <jansson.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <regex>
#include <sstream>

#include "tests/cuda/library_calls.h"
#include "tests/tools/tool.h"

namespace {

using Json = std::unique_ptr<json_t, void (*)(json_t *)>;

Json Parse(const std::string &text) { return Json(json_loads(text.c_str(), 0, nullptr), json_decref); }
std::string Dump(const json_t *root) {
  char *text = json_dumps(root, JSON_INDENT(1));
  const std::string copy = text;
  free(text);
  return copy;
}

const char kSettings[][20] = {"DP_STANDIN_NAME", "DP_STANDIN_BLASLT", "DP_STANDIN_CUDNN", "XDG_CACHE_HOME"};

class Calibration : public Tools {
 protected:
  Calibration() { setenv("XDG_CACHE_HOME", File("").c_str(), 1); }
  ~Calibration() override {
    for (const char *name : kSettings) unsetenv(name);
  }
  std::string Compile(const std::string &options, const std::string &name) {
    Must("dpc compile examples/digits_cnn.dpt --target=cuda --batch=16 " + options + " -o " + File(name));
    return File(name);
  }
  // The file that is measured for the network.
  std::string Measured() {
    Must("dpc calibrate " + Compile("", "plan.bin") + " --device=cuda -o " + File("gpu.json"));
    return File("gpu.json");
  }
  // What steps of training compute, and how long the device takes for kernels of libraries, in us, in all.
  std::vector<double> Train(const std::string &plan, double *us) {
    Must("dprun " + plan + " --device=cuda --steps=3 --data image=examples/data/digits/test-images-idx3-ubyte" +
         " --data label=examples/data/digits/test-labels-idx1-ubyte --metrics=" + File("m.jsonl") +
         " --trace=" + File("trace.json"));
    const Json trace = Parse(Read(File("trace.json")));
    const json_t *events = json_is_array(trace.get()) ? trace.get() : json_object_get(trace.get(), "traceEvents");
    *us = 0;
    size_t i;
    json_t *event;
    json_array_foreach(events, i, event) {
      const char *kernel = json_string_value(json_object_get(json_object_get(event, "args"), "kernel"));
      static const std::regex of_libraries("cuda\\.(cudnn|blaslt)\\..*");
      if (kernel && std::regex_match(kernel, of_libraries)) *us += json_number_value(json_object_get(event, "dur"));
    }
    return Losses(File("m.jsonl"));
  }
};

TEST_F(Calibration, TheFastestThatIsExactIsMeasuredRecordedAndRun) {
  const std::string file = Measured();
  const Json root = Parse(Read(file));
  ASSERT_TRUE(root);
  EXPECT_STREQ(json_string_value(json_object_get(root.get(), "device")), "stand-in, sm_90");
  EXPECT_STREQ(json_string_value(json_object_get(root.get(), "driver")), "CUDA 13.0");
  int products = 0, convolutions = 0;
  size_t i;
  json_t *choice;
  json_array_foreach(json_object_get(root.get(), "choices"), i, choice) {
    const std::string call = json_string_value(json_object_get(choice, "call"));
    const std::string chosen = json_string_value(json_object_get(choice, "choice"));
    const bool product = call.compare(0, 9, "cuBLASLt ") == 0;
    (product ? products : convolutions)++;
    EXPECT_NE(chosen.find(product ? "number 3: algorithm" : "configuration 8, engine 70"), std::string::npos) << chosen;
    EXPECT_EQ(chosen.find(", tile 2, ") != std::string::npos, product) << chosen;
    EXPECT_LT(json_number_value(json_object_get(choice, "ns")), json_number_value(json_object_get(choice, "first_ns")));
  }
  EXPECT_EQ(Read(file).find("engine 77"), std::string::npos) << "the heuristics name it too late";
  EXPECT_EQ(products, 3);      // logits, and its gradients
  EXPECT_EQ(convolutions, 8);  // three, and all gradients but that of the image
  const std::string plan = Compile("--calibration=" + file, "chosen.bin");
  EXPECT_NE(Must("dpc show " + plan).out.find("stand-in, sm_90"), std::string::npos);
  Must("dpc verify " + plan + " --against=examples/digits_cnn.dpt --calibration=" + file);
  // Every product and convolution takes what was measured; without the calibration, what is named first.
  const auto uses = [&](const std::string &which, const std::string &word) {
    return LibraryCalls(Must("dprun " + which + " --explain --device=cuda").out, word);
  };
  const auto chosen = uses(plan, "measured"), first = uses(File("plan.bin"), "measured");
  EXPECT_GT(chosen.first, 10);
  EXPECT_EQ(chosen.second, chosen.first);
  EXPECT_EQ(first.first, chosen.first);
  EXPECT_EQ(first.second, 0);
  double with, without;
  const std::vector<double> losses = Train(plan, &with), others = Train(File("plan.bin"), &without);
  ASSERT_EQ(losses.size(), 3u);
  for (size_t s = 0; s < losses.size(); s++) EXPECT_NEAR(losses[s], others[s], 1e-5 * others[s]);
  EXPECT_GT(with, 0);
  EXPECT_LT(with, 0.98 * without) << "what was chosen is not what ran";
}

int Count(const std::string &text, const std::string &word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) count++;
  return count;
}

// Convolutions that may be computed by columns too: both ways are measured, and a plan takes those that its calibration
// names; without one, columns for gradients of weights.
TEST_F(Calibration, WaysToConvolutionsAreMeasured) {
  const std::string model = Write(
      "wide.dpt",
      "model wide {\n  opset 18\n  loss \"softmax_cross_entropy(logits,label)\"\n  optimizer \"sgd(lr=0.1)\"\n"
      "  input image: float32[N,8,16,16]\n  parameter a: float32[64,8,3,3] = kaiming_uniform()\n"
      "  parameter b: float32[64,64,1,1] = kaiming_uniform()\n  parameter fc: float32[10,64] = kaiming_uniform()\n"
      "  c = Conv(image, a) {pads=[1,1,1,1]}\n  d = Conv(c, b)\n  p = GlobalAveragePool(d)\n  flat = Flatten(p)\n"
      "  logits = Gemm(flat, fc) {transB=1}\n  output logits\n}\n");
  const auto compile = [&](const std::string &options) {
    Must("dpc compile " + model + " --target=cuda --batch=16 " + options + " -o " + File("wide.bin"));
    return File("wide.bin");
  };
  const auto columns = [&](const std::string &plan) {
    return Count(Must("dprun " + plan + " --explain --device=cuda").out, "columns of 16 samples at a time");
  };
  Must("dpc calibrate " + compile("") + " --device=cuda -o " + File("gpu.json"));
  EXPECT_EQ(columns(File("wide.bin")), 2);
  const Json root = Parse(Read(File("gpu.json")));
  json_t *choices = json_object_get(root.get(), "choices"), *choice;
  std::vector<json_t *> ways;
  size_t i;
  json_array_foreach(choices, i, choice) {
    const std::string call = json_string_value(json_object_get(choice, "call"));
    if (call.find("way to the ") != 0) continue;
    ways.push_back(choice);
    EXPECT_LE(json_number_value(json_object_get(choice, "ns")), json_number_value(json_object_get(choice, "first_ns")));
  }
  ASSERT_EQ(ways.size(), 5u) << Read(File("gpu.json"));  // two convolutions, and all gradients but that of the image
  // A way that fails is left out: that of the last product right before a function, which joins its parts.
  setenv("DP_STANDIN_TRACE", File("calls").c_str(), 1);
  Must("dpc calibrate " + File("wide.bin") + " --device=cuda -o " + File("again.json"));
  unsetenv("DP_STANDIN_TRACE");
  std::istringstream calls(Read(File("calls")));
  std::string number, name, before, product, of_product;
  for (; calls >> number >> name; before = name) {
    if (name == "cublasLtMatmul") product = number;
    if (name == "cuLaunchKernel" && before == "cublasLtMatmul") of_product = product;
  }
  ASSERT_NE(of_product, "");
  setenv("DP_STANDIN_FAIL", (of_product + ":2").c_str(), 1);
  Must("dpc calibrate " + File("wide.bin") + " --device=cuda -o " + File("fewer.json"));
  unsetenv("DP_STANDIN_FAIL");
  EXPECT_NE(Read(File("fewer.json")), Read(File("again.json")));
  const auto with = [&](const std::string &way) {
    for (json_t *of : ways) json_object_set_new(of, "choice", json_string(way.c_str()));
    return compile("--calibration=" + Write("way.json", Dump(root.get())));
  };
  EXPECT_EQ(columns(with("columns")), 9);  // evaluation and inference have the convolutions too
  EXPECT_EQ(columns(with("cuDNN")), 0);
  Refused("dprun " + with("another") + " --explain --device=cuda", 78,
          {"'another'", "way to the ", "dpc calibrate PLAN"});
}

TEST_F(Calibration, AnotherMachineIsRefusedWithTheCommandToRun) {
  const std::string file = Measured(), plan = Compile("--calibration=" + file, "chosen.bin");
  const std::string run = "dprun " + plan +
                          " --device=cuda --steps=1 --data image=examples/data/digits/test-images-idx3-ubyte"
                          " --data label=examples/data/digits/test-labels-idx1-ubyte";
  const struct {
    const char *setting, *value;
    std::vector<std::string> words;
  } cases[] = {{"DP_STANDIN_NAME", "another", {"stand-in, sm_90", "another, sm_90"}},
               {"DP_STANDIN_BLASLT", "130200", {"cuBLASLt 13.1.0", "cuBLASLt 13.2.0"}},
               {"DP_STANDIN_CUDNN", "91901", {"cuDNN 9.19.0", "cuDNN 9.19.1"}}};
  for (const auto &c : cases) {
    setenv(c.setting, c.value, 1);
    std::vector<std::string> words = c.words;
    words.push_back("'dpc calibrate PLAN --device=cuda -o FILE'");
    Refused(run, 78, words);
    Refused("dprun " + plan + " --explain --device=cuda", 78, words);
    unsetenv(c.setting);
  }
  Must(run);
  // A choice that the library does not offer, or offers and that would not be exact.
  for (const std::string bad :
       {"configuration 1, engine 67", "configuration 8, engine 71", "configuration 99, engine 0"}) {
    const std::string wrong =
        Write("bad.json", std::regex_replace(Read(file), std::regex("configuration 8, engine 70"), bad));
    Refused("dprun " + Compile("--calibration=" + wrong, "bad.bin") + " --device=cuda --explain", 78,
            {bad, "does not offer", "dpc calibrate PLAN"});
  }
}

// Damages each value of a file, one at a time: `visit` is called with each damaged text.
template <typename Visit>
void Damage(json_t *root, json_t *at, const Visit &visit) {
  const auto hostile = [] {
    return std::vector<json_t *>{
        json_null(),     json_true(),       json_integer(-1),        json_real(1e300),
        json_integer(0), json_string(""),   json_string("\n"),       json_array(),
        json_object(),   json_real(1e-320), json_string("\xc3\xa9"), json_string(std::string(300, 'x').c_str())};
  };
  if (json_is_object(at)) {
    std::vector<std::string> keys;
    const char *key;
    json_t *value;
    json_object_foreach(at, key, value) keys.push_back(key);
    for (const std::string &k : keys) {
      json_t *old = json_incref(json_object_get(at, k.c_str()));
      json_object_del(at, k.c_str());
      visit(k + " is gone", Dump(root));
      for (json_t *bad : hostile()) {
        json_object_set_new(at, k.c_str(), bad);
        visit(k, Dump(root));
      }
      json_object_set_new(at, k.c_str(), old);
      Damage(root, old, visit);
    }
  }
  if (json_is_array(at) && json_array_size(at)) {
    json_t *first = json_array_get(at, 0);
    json_array_append(at, first);
    visit("twice", Dump(root));
    json_array_remove(at, json_array_size(at) - 1);
    for (json_t *bad : hostile()) {
      json_array_append_new(at, bad);
      visit("one more", Dump(root));
      json_array_remove(at, json_array_size(at) - 1);
    }
    Damage(root, first, visit);  // the others are like it
  }
}

TEST_F(Calibration, DamagedFilesGetOneErrorOrCompile) {
  const std::string good =
      "{\"dpc_calibration\": 1, \"backend\": \"cuda\", \"isa\": \"\", \"device\": \"GPU, sm_90\", \"driver\": \"13\","
      " \"costs\": [{\"threads\": 1, \"start_ns\": 3, \"flops_per_ns\": 4, \"bytes_per_ns\": 5}],"
      " \"libraries\": [{\"name\": \"cuDNN 9.1.0\"}],"
      " \"choices\": [{\"call\": \"a\", \"choice\": \"b\", \"ns\": 1, \"first_ns\": 2}]}";
  const std::string command =
      "dpc compile examples/mlp.dpt --target=cuda --batch=8 -o " + File("p.bin") + " --calibration=";
  Must(command + Write("good.json", good));
  int refused = 0, taken = 0;
  const auto visit = [&](const std::string &what, const std::string &text) {
    const Result r = Run(command + Write("bad.json", text));
    EXPECT_TRUE(r.code == 0 || r.code == 65) << what << ": " << r.code << " " << r.err << text;
    if (r.code == 65) {
      EXPECT_NE(r.err.find("bad.json: not a file of 'dpc calibrate': "), std::string::npos) << r.err;
      EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    }
    (r.code ? refused : taken)++;
  };
  const Json root = Parse(good);
  ASSERT_TRUE(root);
  Damage(root.get(), root.get(), visit);
  EXPECT_GT(refused, 150);
  EXPECT_LT(taken, 25);
  for (size_t length = 0; length < good.size(); length += 7) visit("cut", good.substr(0, length));
  visit("deep", std::string(100000, '['));
  visit("a plan", Read(File("p.bin")));
  Refused(command + File("none.json"), 66, {"none.json"});
}

TEST_F(Calibration, WhatContradictsIsRefused) {
  const std::string file = Measured();
  Refused("dpc calibrate --device=cuda", 64, {"-o FILE"});
  Refused("dpc calibrate -o " + File("x.json"), 64, {"--device"});
  Refused("dpc calibrate --device=cpu " + File("plan.bin") + " -o " + File("x.json"), 78, {"leave out the plan"});
  Refused("dpc calibrate --device=cuda --isa=avx2 -o " + File("x.json"), 78, {"instruction sets"});
  Refused("dpc calibrate --device=cuda " + File("plan.bin") + " -o " + File("plan.bin"), 78, {"plan.bin"});
  Refused("dpc compile examples/mlp.dpt --batch=8 --calibration=" + file, 78, {"--target=cuda"});
  Must("dpc compile examples/mlp.dpt --batch=8 -o " + File("cpu.bin"));
  Refused("dpc calibrate " + File("cpu.bin") + " --device=cuda -o " + File("x.json"), 69,
          {"cpu.bin", "not for 'cuda'"});
  // A plan names a file, and nothing opens it for that.
  const std::string plan = Compile("--calibration=" + file, "chosen.bin");
  Refused("dpc verify " + plan + " --against=examples/digits_cnn.dpt", 64, {"--calibration=" + file, "give it too"});
  const std::string other =
      Write("other.json", std::regex_replace(Read(file), std::regex("configuration 8"), "configuration 7"));
  const std::string away = Shell("mv " + file + " " + File("was.json") + " && mv " + other + " " + file).err;
  EXPECT_EQ(away, "");
  Refused("dpc verify " + plan + " --against=examples/digits_cnn.dpt --calibration=" + file, 65,
          {"choices of algorithms"});
}

}  // namespace
