// The metrics of dpc compile --metrics, against NumPy's (make_metrics.py): in evaluations and while training, on any
// devices, with batches that end short.
#include <jansson.h>

#include <cmath>

#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace dp_test {
namespace {

const char *const kDevices[] = {"", "--strategy=data --devices=3", "--microbatches=2 --strategy=data --devices=2",
                                "--strategy=pipeline --devices=2 --microbatches=3", "--strategy=tensor --devices=2"};

class Metrics : public Tools {
 protected:
  Metrics() : reference_(Parse(Read("tests/tools/metrics.json"))) {}
  ~Metrics() override { json_decref(reference_); }

  static json_t *Parse(const std::string &text) {
    json_error_t error;
    json_t *object = json_loads(text.c_str(), 0, &error);
    EXPECT_NE(object, nullptr) << error.text << ": " << text;
    return object;
  }
  // The first line of --metrics with this event.
  json_t *Line(const std::string &event) {
    const std::string text = Read(File("metrics"));
    const size_t at = text.find("{\"event\":\"" + event);
    return Parse(at == std::string::npos ? "{}" : text.substr(at, text.find('\n', at) - at));
  }
  double Expected(const char *name) const { return json_number_value(json_object_get(reference_, name)); }
  // The numbers of a matrix or a vector, row by row.
  std::vector<double> Numbers(const char *name) const {
    std::vector<double> numbers;
    size_t i, k;
    json_t *row, *number;
    json_array_foreach(json_object_get(reference_, name), i, row) {
      if (json_is_number(row)) numbers.push_back(json_number_value(row));
      json_array_foreach(row, k, number) numbers.push_back(json_number_value(number));
    }
    return numbers;
  }
  std::string Text(const char *name) const {
    std::string text;
    char number[32];
    for (double x : Numbers(name)) {
      snprintf(number, sizeof number, "%s%.17g", text.empty() ? "" : ", ", x);
      text += number;
    }
    return text;
  }
  std::string Data(const char *option, const char *name, const std::vector<int64_t> &shape) {
    return std::string(" --") + option + " " + name + "=" +
           Write(std::string(name) + ".npy", Npy(shape, Numbers(name)));
  }

  // Evaluates, and trains with a rate of 0, on every kind of devices. shape: of the inputs of samples, less N.
  void Check(const std::string &model, const std::string &metrics, const std::vector<const char *> &names,
             const std::string &data, const std::string &eval_data) {
    for (const char *devices : kDevices) {
      SCOPED_TRACE(devices);
      Must("dpc compile " + model + " --batch=5 --precision=fp64 --metrics=" + metrics + " " + devices + " -o " +
           File("plan.bin"));
      Must("dprun " + File("plan.bin") + eval_data + " --metrics=" + File("metrics"));
      json_t *eval = Line("eval");
      const Result training = Must("dprun " + File("plan.bin") + data + " --json");
      json_t *trained = Parse(training.out);
      EXPECT_STREQ(json_string_value(json_object_get(trained, "of")), "training");
      for (const char *name : names) {
        EXPECT_NEAR(json_number_value(json_object_get(eval, name)), Expected(name), 1e-8) << name;
        EXPECT_NEAR(json_number_value(json_object_get(trained, name)), Expected(name), 1e-12) << name;
        EXPECT_TRUE(json_is_number(json_object_get(trained, name))) << name << training.out;
      }
      if (metrics.find("confusion") != std::string::npos) {
        EXPECT_TRUE(json_equal(json_object_get(eval, "confusion"), json_object_get(reference_, "confusion")))
            << Read(File("metrics"));
      }
      json_decref(eval);
      json_decref(trained);
    }
  }

  json_t *reference_;
};

TEST_F(Metrics, OfClasses) {
  struct Form {
    const char *what, *x, *nodes;
    std::vector<int64_t> x_shape, label_shape;
  };
  const Form forms[] = {
      {"one label for each sample", "[N,3]", "scores = MatMul(x, w)", {24, 3}, {24}},
      {"two", "[N,2,3]", "scores = MatMul(x, w)", {12, 2, 3}, {12, 2}},
      {"classes on axis 1",
       "[N,2,3]\n  input labels: int64[N,2]",
       "last = MatMul(x, w)\n  scores = Transpose(last) {perm=[0,2,1]}",
       {12, 2, 3},
       {12, 2}},
  };
  for (const Form &form : forms) {
    SCOPED_TRACE(form.what);
    const std::string model =
        Write("m.dpt", std::string("model m {\n  loss \"softmax_cross_entropy(scores,labels)\"\n  optimizer "
                                   "\"sgd(lr=0)\"\n  input x: float64") +
                           form.x + "\n  parameter w: float64[3,7] = [" + Text("w") + "]\n  " + form.nodes +
                           "\n  output scores\n}\n");
    Check(model, "accuracy,top5,perplexity,confusion", {"loss", "accuracy", "top5", "perplexity"},
          Data("data", "x", form.x_shape) + Data("data", "labels", form.label_shape),
          Data("eval-data", "x", form.x_shape) + Data("eval-data", "labels", form.label_shape));
  }
}

TEST_F(Metrics, OfNumbers) {
  const std::string model =
      Write("m.dpt",
            "model m {\n  loss \"mse(y,target)\"\n  optimizer \"sgd(lr=0)\"\n  input x: float64[N,3]\n  input target: "
            "float64[N,2]\n  parameter v: float64[3,2] = [" +
                Text("v") + "]\n  y = MatMul(x, v)\n  output y\n}\n");
  Check(model, "mae,mse", {"mse", "mae"}, Data("data", "x", {24, 3}) + Data("data", "target", {24, 2}),
        Data("eval-data", "x", {24, 3}) + Data("eval-data", "target", {24, 2}));
}

// Each step's line is of its batch: together they are the whole.
TEST_F(Metrics, OfEachStep) {
  const std::string model = Write(
      "m.dpt",
      "model m {\n  loss \"softmax_cross_entropy(scores,labels)\"\n  optimizer \"sgd(lr=0)\"\n  input x: float64[N,3]\n"
      "  parameter w: float64[3,7] = [" +
          Text("w") + "]\n  scores = MatMul(x, w)\n  output scores\n}\n");
  Must("dpc compile " + model + " --batch=5 --metrics=accuracy,top5 -o " + File("plan.bin"));
  Must("dprun " + File("plan.bin") + Data("data", "x", {24, 3}) + Data("data", "labels", {24}) +
       " --metrics=" + File("metrics"));
  double right = 0, top = 0;
  const std::vector<Event> steps = Tools::Metrics(File("metrics"));
  ASSERT_EQ(steps.size(), 5u);
  EXPECT_EQ(steps[4]["samples"], 4);
  for (const Event &step : steps) {
    right += step["accuracy"] * step["samples"];
    top += step["top5"] * step["samples"];
    EXPECT_NEAR(step["perplexity"], std::exp(step["loss"]), 1e-7 * step["perplexity"]);
  }
  EXPECT_NEAR(right, 24 * Expected("accuracy"), 1e-6);
  EXPECT_NEAR(top, 24 * Expected("top5"), 1e-6);
}

// At the end a table has each class: how many labels, how many predictions, recall and precision.
TEST_F(Metrics, AreShownByClass) {
  const std::string model = Write(
      "m.dpt",
      "model m {\n  loss \"softmax_cross_entropy(scores,labels)\"\n  optimizer \"sgd(lr=0)\"\n  input x: float64[N,3]\n"
      "  parameter w: float64[3,7] = [" +
          Text("w") + "]\n  scores = MatMul(x, w)\n  output scores\n}\n");
  Must("dpc compile " + model + " --batch=5 --metrics=confusion -o " + File("plan.bin"));
  const std::string run =
      "dprun " + File("plan.bin") + Data("eval-data", "x", {24, 3}) + Data("eval-data", "labels", {24});
  const Result result = Must(run);
  const std::vector<double> matrix = Numbers("confusion");
  for (int c = 0; c < 7; c++) {
    int labels = 0, predicted = 0;
    std::string row;
    char text[64];
    for (int k = 0; k < 7; k++) {
      labels += int(matrix[size_t(7 * c + k)]);
      predicted += int(matrix[size_t(7 * k + c)]);
      snprintf(text, sizeof text, " %5d", int(matrix[size_t(7 * c + k)]));
      row += text;
    }
    snprintf(text, sizeof text, "\n%5d  %8d  %9d", c, labels, predicted);
    const size_t at = result.err.find(text);
    ASSERT_NE(at, std::string::npos) << text << result.err;
    const std::string line = result.err.substr(at + 1, result.err.find('\n', at + 1) - at - 1);
    EXPECT_NE(line.find(row), std::string::npos) << line;
    snprintf(text, sizeof text, " %.1f %%", 100 * matrix[size_t(8 * c)] / labels);
    EXPECT_NE(line.find(labels ? text : " - "), std::string::npos) << line << text;
  }
  EXPECT_EQ(Must(run + " --quiet").err, "");
}

TEST_F(Metrics, WhatDoesNotGoWithTheLossIsRefused) {
  const std::string compile = "dpc compile examples/mlp.dpt --batch=8 -o " + File("plan.bin");
  Refused(compile + " --metrics=mae", 78, {"mae", "of errors"});
  Refused(compile + " --metrics=acuracy", 64, {"there is no 'acuracy'", "'accuracy'?"});
  Refused(compile + " --metrics=top5,top5", 64, {"top5 is given twice"});
  Refused(compile + " --metrics=", 64, {"there is no ''"});
  Refused(compile + " --mode=infer --metrics=top5 --loss=", 78, {"--mode=infer"});
  const std::string wide = Write("wide.dpt", R"dpt(
model wide {
  loss "softmax_cross_entropy(y,label)"
  optimizer "sgd(lr=0.1)"
  input x: float32[N,2]
  parameter w: float32[2,1025] = zeros
  y = MatMul(x, w)
  output y
}
)dpt");
  Refused("dpc compile " + wide + " --batch=8 --metrics=confusion -o " + File("plan.bin"), 78, {"1024", "1025"});
  Must("dpc compile " + wide + " --batch=8 --metrics=top5 -o " + File("plan.bin"));
}

}  // namespace
}  // namespace dp_test
