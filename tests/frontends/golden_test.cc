// Six steps of training as in PyTorch in float64, from ONNX files that PyTorch exported: the losses and the final
// weights, on one device and on several, within the tolerances of case.json (ten times the deviation of PyTorch's own
// float32 runs).
#include <jansson.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "backends/cpu/target.h"
#include "ir/file/safetensors.h"
#include "tests/ir/text/text_helper.h"
#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

const char kFolder[] = "tests/frontends/golden/";
const int kSteps = 6;

std::vector<double> Numbers(const dp_tensor *tensor) {
  std::vector<double> numbers;
  size_t each = dp_type_bytes(tensor->dtype);
  for (size_t at = 0; at < tensor->bytes; at += each) {
    char element[8];  // the mapped bytes need not be aligned
    memcpy(element, (const char *)tensor->data + at, each);
    numbers.push_back(dp_element_get(tensor->dtype, element));
  }
  return numbers;
}

bool EndsWith(const std::string &text, const std::string &end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// Where the CPU runs every thread of a GPU, large networks take too long for the usual run.
bool IsLeftOut(const std::string &name) {
  const bool small = name.rfind("mlp", 0) == 0 || name.rfind("rand", 0) == 0;
  return getenv("DP_TEST_TARGET") && !getenv("DP_FULL") && !small;
}

class Golden : public Tools {
 protected:
  ~Golden() override {
    json_decref(case_);
    for (dp_safetensors *file : {&found_, &expected_})
      if (file->tensors) dp_safetensors_close(file);
  }

  void Repeat(const std::string &name, const std::string &optimizer, const std::string &more = "") {
    if (IsLeftOut(name)) GTEST_SKIP() << "takes minutes on this target: DP_FULL";
    folder_ = kFolder + name + "/";
    json_error_t error;
    case_ = json_load_file((folder_ + "case.json").c_str(), 0, &error);
    ASSERT_NE(case_, nullptr) << error.text;
    ASSERT_EQ(json_integer_value(json_object_get(case_, "steps")), kSteps);
    const std::string batch = std::to_string(json_integer_value(json_object_get(case_, "batch")));
    adam_ = name.find("adam") != std::string::npos;
    Open(folder_ + "final.safetensors", &expected_);
    for (const char *devices :
         {"--strategy=single", "--strategy=data --devices=2", "--strategy=data --devices=3",
          "--strategy=data --devices=4", "--strategy=data --devices=8", "--strategy=zero --devices=2",
          "--strategy=zero --zero-stage=2 --devices=4", "--strategy=zero --zero-stage=3 --devices=3",
          "--strategy=tensor --devices=3", "--strategy=tensor --mesh=data=2,tensor=4",
          "--strategy=pipeline --devices=2", "--strategy=pipeline --devices=4 --microbatches=3",
          "--strategy=pipeline --devices=4 --microbatches=8 --schedule=gpipe", "--mesh=data=2,pipe=2",
          "--strategy=zero --mesh=data=2,pipe=2 --microbatches=4",
          "--strategy=zero --zero-stage=3 --mesh=data=2,pipe=2", "--mesh=data=2,pipe=2,tensor=2",
          "--strategy=data --devices=2 --microbatches=3"}) {
      // Its statistics cover whole batches, so it has one micro-batch whatever --microbatches says.
      if (name == "resnet18_silu-sgd" && strstr(devices, "--microbatches") && !strstr(devices, "gpipe")) continue;
      SCOPED_TRACE(name + " " + devices);
      Train(batch, optimizer, devices + more, "--steps=6 --save=" + File("w.safetensors"));
      CompareLosses();
      if (found_.tensors) dp_safetensors_close(&found_);
      Open(File("w.safetensors"), &found_);
      CompareWeights();
    }
  }

 private:
  void Open(const std::string &path, dp_safetensors *file) {
    std::string message = dp_test::Message(dp_safetensors_open(arena_, path.c_str(), file));
    ASSERT_EQ(message, "");
  }

  void Train(const std::string &batch, const std::string &optimizer, const std::string &devices,
             const std::string &more) {
    Must("dpc compile " + folder_ + "model.onnx --loss=softmax_cross_entropy(logits,label) --optimizer=" + optimizer +
         " --batch=" + batch + " " + devices + " -o " + File("plan.bin"));
    Must("dprun " + File("plan.bin") + " --data x=" + folder_ + "x.npy --data label=" + folder_ +
         "y.npy --quiet --metrics=" + File("metrics") + " " + more);
  }

  void CompareLosses() {
    const json_t *losses = json_object_get(case_, "losses"), *tolerances = json_object_get(case_, "loss_tolerance");
    std::vector<double> found = Losses(File("metrics"));
    ASSERT_EQ(found.size(), (size_t)kSteps);
    for (size_t i = 0; i < found.size(); i++) {
      double expected = json_number_value(json_array_get(losses, i));
      EXPECT_NEAR(found[i], expected, json_number_value(json_array_get(tolerances, i)) * expected) << "step " << i + 1;
    }
  }

  // Reads the data too; NULL if absent.
  const dp_tensor *Read(const dp_safetensors &file, const char *name) {
    const dp_safetensor *found = dp_safetensors_find(&file, name);
    if (!found) return nullptr;
    auto *tensor = static_cast<dp_tensor *>(dp_memdup(arena_, &found->tensor, sizeof found->tensor));
    void *data = dp_alloc(arena_, tensor->bytes);
    EXPECT_EQ(dp_test::Message(dp_safetensors_read(&file, found, data)), "");
    tensor->data = data;
    return tensor;
  }

  bool HasNoGradient(const std::string &name) const {
    size_t i;
    json_t *other;
    json_array_foreach(json_object_get(case_, "zero_gradient"), i,
                       other) if (name == json_string_value(other)) return true;
    return false;
  }

  void CompareWeights() {
    const char *name;
    json_t *tolerance;
    EXPECT_EQ(found_.count, expected_.count);
    json_object_foreach(json_object_get(case_, "weight_tolerance"), name, tolerance) {
      if (HasNoGradient(name)) continue;
      const dp_tensor *a = Read(found_, name), *b = Read(expected_, name);
      ASSERT_NE(a, nullptr) << name;
      ASSERT_NE(b, nullptr) << name;
      std::vector<double> found = Numbers(a), expected = Numbers(b);
      ASSERT_EQ(found.size(), expected.size()) << name;
      double difference = 0, norm = 0;
      for (size_t i = 0; i < found.size(); i++) {
        // The bias of the keys has no gradient; Adam turns its rounding errors into steps.
        if (adam_ && EndsWith(name, "qkv.bias") && i / (found.size() / 3) == 1) continue;
        double error = found[i] - expected[i];
        difference += error * error;
        norm += expected[i] * expected[i];
      }
      EXPECT_LE(std::sqrt(difference), json_number_value(tolerance) * std::sqrt(norm)) << name;
    }
  }

  dp_test::Arena arena_;
  std::string folder_;
  json_t *case_ = nullptr;
  bool adam_ = false;
  dp_safetensors found_ = {}, expected_ = {};
};

TEST_F(Golden, MlpSgd) { Repeat("mlp-sgd", "sgd(lr=0.05)"); }
TEST_F(Golden, MlpMomentum) { Repeat("mlp-momentum", "sgd(lr=0.02,momentum=0.9,weight_decay=1e-3)"); }
TEST_F(Golden, Rand1Adam) { Repeat("rand1-adam", "adam(lr=2e-3)"); }
TEST_F(Golden, Rand2Nesterov) { Repeat("rand2-nesterov", "sgd(lr=0.02,momentum=0.9,nesterov=1)"); }
TEST_F(Golden, Rand3Sgd) { Repeat("rand3-sgd", "sgd(lr=0.05)"); }
TEST_F(Golden, Rand4Sgd) { Repeat("rand4-sgd", "sgd(lr=0.05)"); }
TEST_F(Golden, Rand4SgdByAvx2) {
  if (!dp_target_cpu.isa()) GTEST_SKIP() << "this machine has no AVX2";
  if (getenv("DP_TEST_TARGET")) GTEST_SKIP() << "for the CPU alone";
  Repeat("rand4-sgd", "sgd(lr=0.05)", " --isa=avx2");
}
TEST_F(Golden, GptSgd) { Repeat("gpt-sgd", "sgd(lr=0.05)"); }
TEST_F(Golden, GptAdamw) { Repeat("gpt-adamw", "adamw(lr=2e-3,weight_decay=0.05)"); }
TEST_F(Golden, Resnet18SiluSgd) { Repeat("resnet18_silu-sgd", "sgd(lr=0.05)"); }

// Inference with the untrained network: PyTorch's loss of the first step follows from its predictions for the first
// batch, unless something behaves differently in training (resnet18's batch statistics).
class GoldenInfer : public Tools, public testing::WithParamInterface<const char *> {};

TEST_P(GoldenInfer, FirstLossFromPredictions) {
  if (IsLeftOut(GetParam())) GTEST_SKIP() << "takes minutes on this target: DP_FULL";
  const std::string folder = kFolder + std::string(GetParam()) + "/";
  json_error_t error;
  json_t *about = json_load_file((folder + "case.json").c_str(), 0, &error);
  ASSERT_NE(about, nullptr) << error.text;
  const double loss = json_number_value(json_array_get(json_object_get(about, "losses"), 0)),
               tolerance = json_number_value(json_array_get(json_object_get(about, "loss_tolerance"), 0));
  const json_int_t batch = json_integer_value(json_object_get(about, "batch"));
  json_decref(about);
  const Array y = ReadNpy(folder + "y.npy");
  for (const char *devices : {"single", "data --devices=3", "data --devices=8"}) {
    SCOPED_TRACE(devices);
    Must("dpc compile " + folder + "model.onnx --mode=infer --batch=" + std::to_string(batch + 1) +
         " --strategy=" + devices + " -o " + File("plan.bin"));
    Must("dprun " + File("plan.bin") + " --infer --quiet --data x=" + folder +
         "x.npy --output logits=" + File("logits.npy"));
    Array logits = ReadNpy(File("logits.npy"));
    ASSERT_EQ(logits.shape[0], y.shape[0]);
    const size_t labels = y.numbers.size() / static_cast<size_t>(y.shape[0] / batch);
    logits.numbers.resize(labels * static_cast<size_t>(logits.shape.back()));
    const std::vector<int> first(y.numbers.begin(), y.numbers.begin() + static_cast<std::ptrdiff_t>(labels));
    EXPECT_NEAR(Measure(logits, first).loss, loss, tolerance * loss);
  }
}

INSTANTIATE_TEST_SUITE_P(Folders, GoldenInfer,
                         testing::Values("mlp-sgd", "rand1-adam", "rand2-nesterov", "rand3-sgd", "rand4-sgd",
                                         "gpt-sgd"));

}  // namespace
