// Compares dpc and dprun with PyTorch: the same small network from the same weights, in float64, on one device and on
// several. The expected numbers are PyTorch's own (make_reference.py).
#include <jansson.h>

#include <cmath>
#include <cstring>

#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

class Reference : public Tools {
 protected:
  Reference() {
    json_error_t error;
    file_ = json_load_file("tests/tools/reference.json", 0, &error);
    EXPECT_NE(file_, nullptr) << error.text;
  }
  ~Reference() override { json_decref(file_); }

  void Compile(const std::string &more) {
    Must("dpc compile tests/tools/reference.dpt --precision=fp64 --batch=64 -o " + File("plan.bin") + " " + more);
  }

  // Trains one epoch and compares losses, evaluation and weights.
  void Compare(const std::string &optimizer, const std::string &devices) {
    SCOPED_TRACE(optimizer + " " + devices);
    const json_t *run = json_object_get(json_object_get(file_, "runs"), optimizer.c_str());
    ASSERT_NE(run, nullptr);
    Compile("--optimizer=" + optimizer + " " + devices);
    Must("dprun " + File("plan.bin") + " --init=tests/tools/reference.safetensors --metrics=" + File("metrics") +
         " --save=" + File("w.safetensors") + " " + digits + " " + eval_digits);
    const json_t *losses = json_object_get(run, "losses");
    std::vector<Event> events = Metrics(File("metrics"));
    ASSERT_EQ(events.size(), json_array_size(losses) + 1);
    for (size_t i = 0; i < json_array_size(losses); i++) {
      double expected = json_number_value(json_array_get(losses, i));
      EXPECT_NEAR(events[i]["loss"], expected, 1e-9 * expected) << "step " << i + 1;
    }
    const Event &eval = events.back();
    double expected = json_number_value(json_object_get(run, "eval_loss"));
    EXPECT_NEAR(eval["loss"], expected, 1e-9 * expected);
    EXPECT_NEAR(eval["accuracy"], json_number_value(json_object_get(run, "accuracy")), 1e-8);
    CompareWeights(run);
    // PyTorch's evaluation, recomputed from the predictions.
    Must("dprun " + File("plan.bin") + " --infer --quiet --init=" + File("w.safetensors") +
         " --data image=examples/data/digits/test-images-idx3-ubyte --output logits=" + File("logits.npy"));
    const Measures measures =
        Measure(ReadNpy(File("logits.npy")), ReadIdxBytes("examples/data/digits/test-labels-idx1-ubyte", 8));
    EXPECT_NEAR(measures.loss, expected, 1e-9 * expected);
    EXPECT_NEAR(measures.accuracy, json_number_value(json_object_get(run, "accuracy")), 1e-8);
  }

  // The norm and the sum of each parameter and buffer.
  void CompareWeights(const json_t *run) {
    const std::string content = Read(File("w.safetensors"));
    uint64_t header_bytes;
    memcpy(&header_bytes, content.data(), 8);
    json_error_t error;
    json_t *header = json_loadb(content.data() + 8, header_bytes, 0, &error);
    const json_t *norms = json_object_get(run, "norms"), *sums = json_object_get(run, "sums");
    EXPECT_EQ(json_object_size(header), json_object_size(norms));
    const char *name;
    json_t *norm;
    json_object_foreach(const_cast<json_t *>(norms), name, norm) {
      json_t *offsets = json_object_get(json_object_get(header, name), "data_offsets");
      ASSERT_NE(offsets, nullptr) << name;
      EXPECT_STREQ(json_string_value(json_object_get(json_object_get(header, name), "dtype")), "F64");
      size_t first = static_cast<size_t>(json_integer_value(json_array_get(offsets, 0))),
             end = static_cast<size_t>(json_integer_value(json_array_get(offsets, 1)));
      double sum = 0, squares = 0;
      for (size_t at = first; at < end; at += 8) {
        double x;
        memcpy(&x, content.data() + 8 + header_bytes + at, 8);
        sum += x;
        squares += x * x;
      }
      double expected = json_number_value(norm);
      EXPECT_NEAR(std::sqrt(squares), expected, 1e-9 * expected) << name;
      EXPECT_NEAR(sum, json_number_value(json_object_get(sums, name)), 1e-8 * (expected + 1)) << name;
    }
    json_decref(header);
  }

  json_t *file_;
};

TEST_F(Reference, PlainGradientDescent) {
  for (const char *devices : {"", "--strategy=data --devices=2", "--strategy=data --devices=5"})
    Compare("sgd(lr=0.05)", devices);
}

TEST_F(Reference, Momentum) {
  for (const char *devices : {"", "--strategy=data --devices=4"}) Compare("sgd(lr=0.05,momentum=0.9)", devices);
}

TEST_F(Reference, NesterovAndWeightDecay) {
  for (const char *devices : {"", "--strategy=data --devices=3"})
    Compare("sgd(lr=0.02,momentum=0.9,nesterov=1,weight_decay=1e-3)", devices);
}

TEST_F(Reference, NothingIsAssumedWhereModelAndCommandLineAreSilent) {
  Refused("dpc compile tests/tools/reference.dpt --batch=64 -o " + File("plan.bin"), 64, {"--optimizer"});
  Refused("dpc compile tests/tools/reference.dpt --optimizer=sgd(lr=1) -o " + File("plan.bin"), 64, {"--batch"});
}

}  // namespace
