// Losses against PyTorch: dpc and dprun train a network in float64, under several strategies, and reproduce PyTorch's
// losses of each step, its evaluation and its predictions (make_references.py). The last batch is short, and labels
// that are ignored are spread unevenly over batches, micro-batches and devices. Slightly different losses must not
// match.
#include <jansson.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/tools/array.h"
#include "tests/tools/tool.h"

namespace {

const double kTolerance = 1e-9;
enum { kSamples = 23, kBatch = 5 };

using Numbers = std::vector<double>;

// As in make_references.py: numbers between -scale / 2 and scale / 2.
Numbers Spread(int64_t count, int64_t a, int64_t b, double scale) {
  Numbers numbers;
  for (int64_t i = 0; i < count; i++) numbers.push_back(scale * (double((i * a + b) % 97) / 97 - 0.5));
  return numbers;
}

std::string Parameter(const std::string &name, const std::vector<int64_t> &shape, int64_t a, int64_t b, double scale,
                      const std::string &placement = "") {
  std::string text, dims;
  int64_t count = 1;
  for (int64_t extent : shape) {
    dims += (dims.empty() ? "" : ",") + std::to_string(extent);
    count *= extent;
  }
  for (double x : Spread(count, a, b, scale)) {
    char number[32];
    snprintf(number, sizeof number, "%.17g", x);
    text += (text.empty() ? "" : ", ") + std::string(number);
  }
  return "  parameter " + name + ": float64[" + dims + "] = [" + text + "]" + placement + "\n";
}

// split: how the scores' weights are split over devices.
std::string Model(const std::string &split) {
  return "model heads {\n  optimizer \"sgd(lr=0.2)\"\n  input x: float64[N,6]\n  input spot: int64[N,3]\n" +
         Parameter("w1", {8, 6}, 31, 5, 1.5) + Parameter("b1", {8}, 13, 2, 0.5) +
         Parameter("w2", {5, 8}, 41, 7, 3, split) + Parameter("b2", {5}, 17, 11, 1, split) +
         Parameter("w3", {4, 8}, 29, 3, 3) + Parameter("b3", {4}, 19, 1, 1) + Parameter("w4", {15, 8}, 37, 9, 3) +
         Parameter("b4", {15}, 23, 4, 1) + R"dpt(
  g = Gemm(x, w1, b1) {transB=1}
  h = Tanh(g)
  logits = Gemm(h, w2, b2) {transB=1}
  pred = Gemm(h, w3, b3) {transB=1}
  wide = Gemm(h, w4, b4) {transB=1}
  many = Reshape(wide) {shape=[N,3,5]}
  planes = Reshape(wide) {shape=[N,5,3]}
  log_probs = LogSoftmax(logits) {axis=-1}
  squares = Mul(pred, pred)
  each = ReduceSum(squares) {axes=[1], keepdims=0}
  w2squares = Mul(w2, w2)
  w2mean = ReduceMean(w2squares) {axes=[0,1], keepdims=0}
  hsquares = Mul(h, h)
  hmean = ReduceMean(hsquares) {axes=[0,1], keepdims=0}
  penalty = Add(w2mean, hmean)
  output logits
  output pred
  output many
})dpt";
}

struct Input {
  const char *name;
  std::vector<int64_t> shape;
  double (*at)(int64_t element);
};

int64_t Class(int64_t i) { return (i * 7 + i / 3) % 5; }
int64_t Cell(int64_t e) { return (e / 5 * 7 + e % 5 * 3) % 5; }

const Input kInputs[] = {
    {"label", {kSamples}, [](int64_t i) { return double(i % 4 == 1 ? -100 : Class(i)); }},
    {"plain", {kSamples}, [](int64_t i) { return double(Class(i)); }},
    {"spot", {kSamples, 3}, [](int64_t e) { return double(e * e % 7 == 2 ? -100 : (e * 2 + e / 3) % 5); }},
    {"target", {kSamples, 4}, [](int64_t e) { return 4 * (double((e * 53 + 21) % 97) / 97 - 0.5); }},
    {"soft", {kSamples, 4}, [](int64_t e) { return double((e * 59 + 30) % 97) / 97; }},
    {"share", {kSamples, 5}, [](int64_t e) { return double(Cell(e)) / 10; }},
    {"logshare", {kSamples, 5}, [](int64_t e) { return std::log(double(Cell(e) + 1) / 15); }},
};

class Losses : public Tools {
 protected:
  Losses() {
    json_error_t error;
    file_ = json_load_file("tests/end_to_end/losses/references.json", 0, &error);
    EXPECT_NE(file_, nullptr) << error.text;
    Write("whole.dpt", Model(""));
    Write("split.dpt", Model(" shard(tensor=0)"));
    Write("x.npy", Npy({kSamples, 6}, Spread(kSamples * 6, 43, 17, 4)));
    for (const Input &input : kInputs) {
      Numbers numbers;
      int64_t count = input.shape.size() > 1 ? input.shape[0] * input.shape[1] : input.shape[0];
      for (int64_t e = 0; e < count; e++) numbers.push_back(input.at(e));
      Write(input.name + std::string(".npy"), Npy(input.shape, numbers));
    }
  }
  ~Losses() override { json_decref(file_); }

  const json_t *Runs() const { return json_object_get(file_, "runs"); }

  // The inputs that a loss names.
  std::string Data(const std::string &option, const std::string &spec) const {
    std::string words = " " + option + " x=" + File("x.npy");
    for (const Input &input : kInputs) {
      const size_t at = spec.find(std::string(",") + input.name);
      const char after = at == std::string::npos ? 0 : spec.at(at + 1 + std::string(input.name).size());
      if (after == ',' || after == ')') words += " " + option + " " + input.name + "=" + File(input.name) + ".npy";
    }
    return words;
  }

  // Trains for an epoch in order, evaluates, and predicts.
  void Train(const std::string &spec, const std::string &devices, const std::string &model = "whole.dpt") {
    const std::string plan = File("plan.bin"), weights = File("w.safetensors");
    Must("dpc compile " + File(model) + " --precision=fp64 --batch=5 --loss=" + spec + " -o " + plan + " " + devices);
    Must("dprun " + plan + Data("--data", spec) + Data("--eval-data", spec) + " --quiet --metrics=" + File("metrics") +
         " --save=" + weights);
    Must("dprun " + plan + " --quiet --infer --init=" + weights + " --data x=" + File("x.npy") + " --output logits=" +
         File("logits.npy") + " --output pred=" + File("pred.npy") + " --output many=" + File("many.npy"));
  }

  // The largest deviation of the last training from PyTorch's run of `spec`, relative to 1 + what is expected.
  double Deviation(const std::string &spec) {
    const json_t *run = json_object_get(Runs(), spec.c_str()), *outputs = json_object_get(run, "outputs"), *expected;
    EXPECT_NE(run, nullptr) << spec;
    const json_t *losses = json_object_get(run, "losses");
    double worst = 0;
    size_t steps = 0;
    for (const Event &event : Metrics(File("metrics"))) {
      if (event.event == "eval") Raise(&worst, event["loss"], json_number_value(json_object_get(run, "eval")));
      if (event.event == "step") Raise(&worst, event["loss"], NumberAt(losses, steps++));
    }
    EXPECT_EQ(steps, json_array_size(losses));
    const char *name;
    json_object_foreach(const_cast<json_t *>(outputs), name, expected) {
      const Numbers numbers = ReadNpy(File(name) + ".npy").numbers;
      double squares = 0, mix = 0;
      for (size_t i = 0; i < numbers.size(); i++) {
        squares += numbers[i] * numbers[i];
        mix += numbers[i] * (double(i * 37 % 64) / 64 - 0.5);
      }
      Raise(&worst, std::sqrt(squares), NumberAt(expected, 0));
      Raise(&worst, mix, NumberAt(expected, 1));
    }
    return worst;
  }

 private:
  static double NumberAt(const json_t *array, size_t i) { return json_number_value(json_array_get(array, i)); }

  static void Raise(double *worst, double found, double expected) {
    const double deviation = std::fabs(found - expected) / (1 + std::fabs(expected));
    if (!(deviation <= *worst) && !std::isnan(*worst)) *worst = deviation;  // NaN too, which stays
  }

  json_t *file_;
};

const char *const kDevices[] = {
    "",
    "--strategy=data --devices=3",
    "--strategy=data --devices=2 --microbatches=2",
    "--strategy=pipeline --devices=2 --microbatches=3",
    "--strategy=pipeline --mesh=data=2,pipe=2 --microbatches=2 --schedule=gpipe",
    "--strategy=zero --zero-stage=2 --devices=2",
};

TEST_F(Losses, ArePyTorchsUnderEveryStrategy) {
  EXPECT_EQ(json_object_size(Runs()), 30u);
  const char *spec;
  json_t *run;
  json_object_foreach(const_cast<json_t *>(Runs()), spec, run) {
    double worst = 0;
    for (const char *devices : kDevices) {
      SCOPED_TRACE(std::string(spec) + " " + devices);
      Train(spec, devices);
      const double deviation = Deviation(spec);
      EXPECT_LE(deviation, kTolerance);
      worst = std::fmax(worst, deviation);
    }
    printf("%-100s %.1e\n", spec, worst);
  }
}

// Every device has some of the classes.
TEST_F(Losses, ArePyTorchsWithClassesSplit) {
  const char *spec;
  json_t *run;
  json_object_foreach(const_cast<json_t *>(Runs()), spec, run) {
    if (!std::string(spec).find("softmax_cross_entropy(logits") || !std::string(spec).find("nll"))
      for (const char *mesh : {"--strategy=data --mesh=data=1,tensor=2", "--strategy=data --mesh=data=2,tensor=3"}) {
        SCOPED_TRACE(std::string(spec) + " " + mesh);
        Train(spec, mesh, "split.dpt");
        EXPECT_LE(Deviation(spec), kTolerance);
      }
  }
}

struct Mistake {
  const char *asked, *done;
};

// Each lacks one term of the loss that was asked for, or has another one.
const Mistake kMistakes[] = {
    {"softmax_cross_entropy(logits,plain,ignore_index=2)", "softmax_cross_entropy(logits,plain)"},
    {"softmax_cross_entropy(logits,plain,ignore_index=2)", "softmax_cross_entropy(logits,plain,weight=[1,1,0.5,1,1])"},
    {"softmax_cross_entropy(logits,label,weight=[0.5,2,0,1.25,3])", "softmax_cross_entropy(logits,label)"},
    {"softmax_cross_entropy(logits,label,label_smoothing=0.1)", "softmax_cross_entropy(logits,label)"},
    {"softmax_cross_entropy(logits,label,weight=[0.5,2,0,1.25,3],label_smoothing=0.3)",
     "softmax_cross_entropy(logits,label,label_smoothing=0.3)"},
    {"nll(log_probs,label,weight=[0.5,2,0,1.25,3])", "nll(log_probs,label)"},
    {"nll(log_probs,plain,ignore_index=2)", "nll(log_probs,plain)"},
    {"smooth_l1(pred,target,beta=0.3)", "smooth_l1(pred,target)"},
    {"smooth_l1(pred,target,beta=0.3)", "huber(pred,target,delta=0.3)"},
    {"smooth_l1(pred,target,beta=0)", "smooth_l1(pred,target,beta=1e-3)"},
    {"huber(pred,target,delta=0.4)", "huber(pred,target)"},
    {"l1(pred,target)", "mse(pred,target)"},
    {"bce_with_logits(pred,soft,pos_weight=3)", "bce_with_logits(pred,soft)"},
    {"bce_with_logits(pred,soft,pos_weight=[0.5,2,1,4])", "bce_with_logits(pred,soft,pos_weight=[0.5,2,1,1])"},
    {"kl_div(log_probs,share)", "kl_div(log_probs,share,log_target=1)"},
    {"0.5*mse(pred,target)+softmax_cross_entropy(logits,label)",
     "mse(pred,target)+softmax_cross_entropy(logits,label)"},
    {"0.5*mse(pred,target)+softmax_cross_entropy(logits,label)", "softmax_cross_entropy(logits,label)"},
    {"softmax_cross_entropy(many,spot,weight=[0.5,2,0,1.25,3])-0.25*l1(pred,target)+2*value(penalty)",
     "softmax_cross_entropy(many,spot,weight=[0.5,2,0,1.25,3])+0.25*l1(pred,target)+2*value(penalty)"},
};

TEST_F(Losses, AMistakeIsTold) {
  for (const Mistake &mistake : kMistakes) {
    SCOPED_TRACE(std::string(mistake.done) + " for " + mistake.asked);
    Train(mistake.done, "");
    EXPECT_GT(Deviation(mistake.asked), 100 * kTolerance);
  }
}

// PyTorch's loss of a batch whose labels are all ignored is NaN, and so are then all weights. Here it is 0, and nothing
// is learned of that batch; it has no part in a mean over batches.
TEST_F(Losses, OfNothingIsZero) {
  Numbers labels;
  for (int64_t i = 0; i < kSamples; i++) labels.push_back(i / kBatch == 1 ? -100 : double(Class(i)));
  Write("label.npy", Npy({kSamples}, labels));
  Numbers none(kSamples, -100);
  const std::string all = Write("none.npy", Npy({kSamples}, none));
  for (const std::string spec : {"softmax_cross_entropy(logits,label)", "nll(log_probs,label,weight=[1,2,3,4,5])",
                                 "softmax_cross_entropy(logits,label,weight=[1,2,3,4,5],label_smoothing=0.1)"})
    for (const char *devices : {kDevices[0], kDevices[2], kDevices[3]}) {
      SCOPED_TRACE(spec + " " + devices);
      Train(spec, devices);
      const std::string first = File("first.safetensors"), second = File("second.safetensors");
      const std::string run =
          "dprun " + File("plan.bin") + Data("--data", spec) + " --quiet --metrics=" + File("metrics") + " --save=";
      Must(run + first + " --steps=1");
      Must(run + second + " --steps=2");
      EXPECT_TRUE(Read(first) == Read(second));
      const std::vector<Event> steps = Metrics(File("metrics"));
      ASSERT_EQ(steps.size(), 2u);
      EXPECT_GT(steps[0]["loss"], 0);
      EXPECT_EQ(steps[1]["loss"], 0);
      Must("dprun " + File("plan.bin") + " --quiet --eval-data x=" + File("x.npy") + " --eval-data label=" + all +
           " --metrics=" + File("metrics"));
      const Event eval = Metrics(File("metrics")).at(0);
      EXPECT_TRUE(std::isnan(eval["loss"])) << "a mean over no label at all";
    }
}

// The share of the labels that count for which the best of five scores is theirs. *hidden: raised for each ignored
// label of which that is true too.
double Accuracy(const Numbers &logits, const std::function<int64_t(int64_t)> &label, int64_t ignored, int *hidden) {
  int counted = 0, correct = 0;
  for (int64_t i = 0; i < kSamples; i++) {
    const auto first = logits.begin() + i * 5;
    const bool right = std::max_element(first, first + 5) - first == label(i);
    if (label(i) == ignored) {
      *hidden += right;
      continue;
    }
    counted++;
    correct += right;
  }
  return double(correct) / counted;
}

// Accuracy is of the labels that count, also where an ignored one is a class that is predicted.
TEST_F(Losses, AccuracyIsOfLabelsThatCount) {
  int hidden = 0;
  const auto expect = [&](const std::string &spec, const char *devices, int64_t ignored) {
    SCOPED_TRACE(spec + " " + devices);
    const auto label = [&](int64_t i) { return ignored < 0 && i % 4 == 1 ? -100 : Class(i); };
    const std::string run = "dprun " + File("plan.bin") + " --quiet ";
    Must("dpc compile " + File("whole.dpt") + " --precision=fp64 --batch=5 --loss=" + spec + " -o " + File("plan.bin") +
         " " + devices);
    Must(run + Data("--eval-data", spec) + " --metrics=" + File("metrics"));
    Must(run + "--infer --data x=" + File("x.npy") + " --output logits=" + File("logits.npy"));
    const double accuracy = Accuracy(ReadNpy(File("logits.npy")).numbers, label, ignored, &hidden);
    for (const Event &event : Metrics(File("metrics"))) {
      if (event.event != "eval") continue;
      EXPECT_NEAR(event["accuracy"], accuracy, 1e-8);
    }
  };
  for (const char *devices : kDevices) {
    expect("softmax_cross_entropy(logits,label)", devices, -100);
    expect("0.5*mse(pred,target)+nll(log_probs,label)", devices, -100);
  }
  for (int ignored = 0; ignored < 5; ignored++)
    expect("softmax_cross_entropy(logits,plain,weight=[1,2,3,4,5],ignore_index=" + std::to_string(ignored) + ")",
           kDevices[2], ignored);
  EXPECT_GT(hidden, 0) << "a prediction that must not count";
}

// What is no class and not ignored is wrong data, as it is without an ignore_index.
TEST_F(Losses, OtherLabelsAreRefused) {
  for (double wrong : {5., -1., -99.}) {
    Numbers labels;
    for (int64_t i = 0; i < kSamples; i++) labels.push_back(i == 3 ? wrong : double(Class(i)));
    Write("label.npy", Npy({kSamples}, labels));
    for (const std::string spec : {"softmax_cross_entropy(logits,label)", "nll(log_probs,label)",
                                   "softmax_cross_entropy(logits,label,weight=[1,2,3,4,5])"}) {
      SCOPED_TRACE(spec + " " + std::to_string(wrong));
      Must("dpc compile " + File("whole.dpt") + " --batch=5 --loss=" + spec + " -o " + File("plan.bin"));
      Refused(
          "dprun " + File("plan.bin") + Data("--data", spec) + " --quiet", 65,
          {spec.find("nll") ? "label " + std::to_string(int(wrong)) + " at index 3 of" : "index 5 at place 3 is out"});
    }
  }
}

TEST_F(Losses, WhatDoesNotFitIsRefused) {
  const std::string compile = "dpc compile " + File("whole.dpt") + " --batch=5 -o " + File("plan.bin") + " --loss=";
  Refused(compile + "softmax_cross_entropy(logits,label,weight=[1,2])", 65,
          {"softmax_cross_entropy: weight has 2 numbers, but needs one for each class of the scores 'logits' [N,5]"});
  Refused(compile + "bce_with_logits(pred,soft,pos_weight=[1,2,3])", 65,
          {"bce_with_logits: pos_weight has 3 numbers, but 'pred' has shape [N,4]"});
  Refused(compile + "value(nothing)", 65, {"the loss is taken of 'nothing', but the model has no such value"});
  Refused(compile + "mse(pred,target)+nll(log_probs,target)", 65, {"nll: the labels 'target' are float"});
}

}  // namespace
