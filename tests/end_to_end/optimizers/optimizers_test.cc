// Optimizers, schedules and clipping against PyTorch: dpc and dprun train the network of tests/tools/reference.dpt in
// float64, on one device and on three, and reproduce PyTorch's losses, learning rates and weights (make_references.py).
// Slightly different optimizers must not match.
#include <jansson.h>

#include <cmath>
#include <cstring>

#include "tests/tools/tool.h"

namespace {

const double kTolerance = 1e-9;
const char kModel[] = "tests/tools/reference.dpt";

class Optimizers : public Tools {
 protected:
  Optimizers() {
    json_error_t error;
    file_ = json_load_file("tests/end_to_end/optimizers/references.json", 0, &error);
    EXPECT_NE(file_, nullptr) << error.text;
  }
  ~Optimizers() override { json_decref(file_); }

  void Train(const std::string &spec, const std::string &devices, const std::string &model = kModel) {
    Must("dpc compile " + model + " --precision=fp64 --batch=64 --freeze=conv1.bias --optimizer=" + spec + " -o " +
         File("plan.bin") + " " + devices);
    Must("dprun " + File("plan.bin") + " --init=tests/tools/reference.safetensors --metrics=" + File("metrics") +
         " --save=" + File("w.safetensors") + " " + digits);
  }

  // The learning rates that the metrics report, with 9 digits.
  void CheckRates(const std::string &spec) {
    const json_t *rates = json_object_get(json_object_get(Runs(), spec.c_str()), "lr");
    std::vector<Event> events = Metrics(File("metrics"));
    for (size_t i = 0; i < events.size(); i++)
      EXPECT_NEAR(events[i]["lr"], NumberAt(rates, i), 5e-9 * NumberAt(rates, i)) << "step " << i + 1;
  }

  // The largest relative deviation of the last training from PyTorch's run of `spec`: losses of each step, and for each
  // parameter and buffer the norm and a weighted sum, both relative to 1 + the norm.
  double Deviation(const std::string &spec) {
    const json_t *run = json_object_get(Runs(), spec.c_str());
    EXPECT_NE(run, nullptr) << spec;
    const json_t *losses = json_object_get(run, "losses");
    std::vector<Event> events = Metrics(File("metrics"));
    EXPECT_EQ(events.size(), json_array_size(losses));
    double worst = 0;
    for (size_t i = 0; i < events.size(); i++) {
      Raise(&worst, events[i]["loss"], NumberAt(losses, i), 0);
    }
    RaiseByWeights(&worst, json_object_get(run, "weights"));
    return worst;
  }

  const json_t *Runs() const { return json_object_get(file_, "runs"); }

 private:
  static double NumberAt(const json_t *array, size_t i) { return json_number_value(json_array_get(array, i)); }

  static void Raise(double *worst, double found, double expected, double unit) {
    double deviation = std::fabs(found - expected) / (std::fabs(expected) + unit);
    if (!(deviation <= *worst)) *worst = deviation;  // NaN too
  }

  void RaiseByWeights(double *worst, const json_t *weights) {
    const std::string content = Read(File("w.safetensors"));
    uint64_t header_bytes;
    memcpy(&header_bytes, content.data(), 8);
    json_error_t error;
    json_t *header = json_loadb(content.data() + 8, header_bytes, 0, &error), *expected;
    EXPECT_EQ(json_object_size(header), json_object_size(weights));
    const char *name;
    json_object_foreach(const_cast<json_t *>(weights), name, expected) {
      const json_t *offsets = json_object_get(json_object_get(header, name), "data_offsets");
      ASSERT_NE(offsets, nullptr) << name;
      size_t first = size_t(NumberAt(offsets, 0)), end = size_t(NumberAt(offsets, 1));
      double squares = 0, mix = 0;
      for (size_t i = 0; i < (end - first) / 8; i++) {
        double x;
        memcpy(&x, content.data() + 8 + header_bytes + first + i * 8, 8);
        squares += x * x;
        mix += x * (double(i * 37 % 64) / 64 - 0.5);
      }
      double norm = NumberAt(expected, 0);
      Raise(worst, std::sqrt(squares), norm, 1);
      Raise(worst, (mix - NumberAt(expected, 1)) + norm, norm, 1);
    }
    json_decref(header);
  }

  json_t *file_;
};

TEST_F(Optimizers, ArePyTorchsOnOneDeviceAndOnThree) {
  EXPECT_EQ(json_object_size(Runs()), 28u);
  const char *spec;
  json_t *run;
  json_object_foreach(const_cast<json_t *>(Runs()), spec, run) {
    for (const char *devices : {"", "--strategy=data --devices=3"}) {
      SCOPED_TRACE(std::string(spec) + " " + devices);
      Train(spec, devices);
      CheckRates(spec);
      double deviation = Deviation(spec);
      EXPECT_LE(deviation, kTolerance);
      printf("%-110s %s: %.1e\n", spec, *devices ? "3 devices" : "1 device ", deviation);
    }
  }
}

// Gradients are reduced over one axis and split over another, and the norm is over all of them.
TEST_F(Optimizers, ClipWhatIsSplitOverDevices) {
  std::string text = Read(kModel);
  for (std::string weight :
       {"parameter fc1.weight: float32[16,32] = zeros", "parameter fc2.bias: float32[10] = zeros"}) {
    ASSERT_NE(text.find(weight), std::string::npos);
    text.insert(text.find(weight) + weight.size(), " shard(tensor=0)");
  }
  const std::string model = Write("split.dpt", text),
                    spec = "adamw(lr=2e-2,beta2=0.95,clip_norm=1,schedule=cosine,warmup=2,total=40,min_lr=1e-4)";
  for (const char *mesh : {"data=1,tensor=3", "data=3,tensor=2"}) {
    SCOPED_TRACE(mesh);
    Train(spec, std::string("--strategy=data --mesh=") + mesh, model);
    EXPECT_LE(Deviation(spec), kTolerance);
  }
}

struct Mistake {
  const char *asked, *done;
};

// Each differs from the requested optimizer in one argument, or in where it applies.
const Mistake kMistakes[] = {
    {"adamw(lr=1e-2)", "adamw(lr=1e-2,weight_decay=0)"},
    {"adamw(lr=1e-2)", "adam(lr=1e-2,weight_decay=0.01)"},
    {"adamw(lr=1e-2)", "adamw(lr=1e-2,beta2=0.99)"},
    {"adam(lr=1e-2)", "adam(lr=1e-2,beta2=0.999001)"},
    {"adam(lr=1e-2)", "adam(lr=1e-2,beta1=0.900001)"},
    {"adam(lr=1e-2)", "adam(lr=1e-2,eps=2e-8)"},
    {"adam(lr=1e-2)", "adam(lr=1e-2,warmup=2)"},
    {"adam(lr=5e-3,schedule=cosine,total=30,min_lr=1e-3)", "adam(lr=5e-3,schedule=cosine,total=30)"},
    {"sgd(lr=0.1,clip_norm=0.575)", "sgd(lr=0.1)"},
    {"sgd(lr=0.05,momentum=0.9,dampening=0.5,weight_decay=0.01,schedule=step,step_size=5,gamma=0.7)",
     "sgd(lr=0.05,momentum=0.9,dampening=0.5,weight_decay=0.01,schedule=step,step_size=6,gamma=0.7)"},
    {"sgd(lr=0.05,momentum=0.9,dampening=0.5,weight_decay=0.01,schedule=step,step_size=5,gamma=0.7)",
     "sgd(lr=0.05,momentum=0.9,dampening=0.5,schedule=step,step_size=5,gamma=0.7)"},
};

TEST_F(Optimizers, AMistakeIsTold) {
  for (const Mistake &mistake : kMistakes) {
    SCOPED_TRACE(std::string(mistake.done) + " for " + mistake.asked);
    Train(mistake.done, "");
    double deviation = Deviation(mistake.asked);
    EXPECT_GT(deviation, 100 * kTolerance);
    printf("%-110s: %.1e\n", mistake.done, deviation);
  }
}

}  // namespace
