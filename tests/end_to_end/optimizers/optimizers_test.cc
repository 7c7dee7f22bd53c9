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

std::vector<std::string> Specs() {
  std::vector<std::string> specs;
  const char *spec;
  json_t *run, *file = json_load_file("tests/end_to_end/optimizers/references.json", 0, nullptr);
  json_object_foreach(json_object_get(file, "runs"), spec, run) specs.push_back(spec);
  json_decref(file);
  return specs;
}

class Spec : public Optimizers, public testing::WithParamInterface<std::string> {};

TEST_P(Spec, ArePyTorchsUnderEveryStrategy) {
  const std::string &spec = GetParam();
  std::vector<const char *> strategies = {"", "--strategy=data --devices=3"};
  // What a schedule computes does not depend on the devices.
  if (spec.find("schedule=") == std::string::npos)
    for (const char *more : {"--strategy=zero --devices=2", "--strategy=zero --zero-stage=2 --devices=2",
                             "--strategy=zero --zero-stage=3 --devices=2", "--strategy=pipeline --devices=2"})
      strategies.push_back(more);
  for (const char *strategy : strategies) {
    SCOPED_TRACE(spec + " " + strategy);
    Train(spec, strategy);
    CheckRates(spec);
    double deviation = Deviation(spec);
    EXPECT_LE(deviation, kTolerance);
    printf("%-110s %-45s: %.1e\n", spec.c_str(), strategy, deviation);
  }
}
INSTANTIATE_TEST_SUITE_P(, Spec, testing::ValuesIn(Specs()));

// References that are not there would not be compared with anything.
TEST_F(Optimizers, AllHaveReferences) { EXPECT_EQ(json_object_size(Runs()), 45u); }

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
    {"rmsprop()", "rmsprop(alpha=0.990001)"},
    {"rmsprop()", "rmsprop(eps=2e-8)"},
    {"rmsprop()", "rmsprop(centered=1)"},
    {"rmsprop()", "rmsprop(momentum=1e-5)"},
    {"rmsprop()", "rmsprop(weight_decay=1e-5)"},
    {"adagrad()", "adagrad(lr_decay=1e-6)"},
    {"adagrad()", "adagrad(initial_accumulator_value=1e-9)"},
    {"adagrad()", "adagrad(eps=1e-7)"},
    {"adagrad()", "adagrad(weight_decay=1e-5)"},
    {"adamax()", "adamax(beta1=0.901)"},
    {"adamax()", "adamax(beta2=0.9991)"},
    {"adamax()", "adamax(eps=1e-6)"},
    {"adamax()", "adamax(weight_decay=1e-5)"},
    {"nadam()", "nadam(momentum_decay=4.1e-3)"},
    {"nadam()", "nadam(beta1=0.901)"},
    {"nadam()", "nadam(beta2=0.9991)"},
    {"nadam()", "nadam(eps=2e-8)"},
    {"nadam(lr=0.01,weight_decay=0.05,decoupled_weight_decay=1)", "nadam(lr=0.01,weight_decay=0.05)"},
    {"radam()", "radam(beta1=0.901)"},
    {"radam()", "radam(beta2=0.9991)"},
    {"radam()", "radam(eps=1e-6)"},
    {"radam(lr=0.01,weight_decay=0.05,decoupled_weight_decay=1)", "radam(lr=0.01,weight_decay=0.05)"},
    {"lion(lr=1e-3)", "lion(lr=1e-3,beta1=0.91)"},
    {"lion(lr=1e-3)", "lion(lr=1e-3,beta2=0.991)"},
    {"lion(lr=1e-3)", "lion(lr=1e-3,weight_decay=1e-4)"},
    {"lamb(lr=0.01)", "lamb(lr=0.01,beta1=0.901)"},
    {"lamb(lr=0.01)", "lamb(lr=0.01,beta2=0.9991)"},
    {"lamb(lr=0.01)", "lamb(lr=0.01,eps=1.1e-6)"},
    {"lamb(lr=0.01)", "lamb(lr=0.01,weight_decay=0.0101)"},
    {"sgd(lr=0.05,momentum=0.9,ema=0.9)", "sgd(lr=0.05,momentum=0.9,ema=0.90001)"},
    {"sgd(lr=0.05,momentum=0.9,ema=0.9)", "sgd(lr=0.05,momentum=0.9)"},
    {"muon(lr=0.01)", "muon(lr=0.01,momentum=0.9501)"},
    {"muon(lr=0.01)", "muon(lr=0.01,nesterov=0)"},
    {"muon(lr=0.01)", "muon(lr=0.01,ns_steps=4)"},
    {"muon(lr=0.01)", "muon(lr=0.01,eps=0.1)"},
    {"muon(lr=0.01)", "muon(lr=0.01,weight_decay=0.1001)"},
    {"muon(lr=0.01)", "muon(lr=0.01,beta2=0.99)"},
    {"muon(lr=0.01)", "muon(lr=0.01,adjust_lr_fn=spectral_unclamped)"},
    {"sgd(lr=0.05,schedule=multistep,milestones=[3,8,20],gamma=0.3)",
     "sgd(lr=0.05,schedule=multistep,milestones=[3,8,21],gamma=0.3)"},
    {"sgd(lr=0.05,schedule=exponential,gamma=0.9,warmup=3)", "sgd(lr=0.05,schedule=exponential,gamma=0.9001,warmup=3)"},
    {"sgd(lr=0.05,schedule=linear,total=15)", "sgd(lr=0.05,schedule=linear,total=15,start_factor=0.3333)"},
    {"sgd(lr=0.05,schedule=polynomial,total=20)", "sgd(lr=0.05,schedule=polynomial,total=20,power=1.001)"},
    {"sgd(lr=0.1,schedule=one_cycle,total=23)", "sgd(lr=0.1,schedule=one_cycle,total=23,final_div_factor=2e4)"},
    {"sgd(lr=0.1,schedule=one_cycle,total=23)", "sgd(lr=0.1,schedule=one_cycle,total=23,pct_start=0.31)"},
    {"sgd(lr=0.05,schedule=warm_restarts,period=5)", "sgd(lr=0.05,schedule=warm_restarts,period=5,period_factor=2)"},
    {"sgd(lr=0.05,schedule=wsd,warmup=3,total=21,decay=9,min_lr=1e-3)",
     "sgd(lr=0.05,schedule=wsd,warmup=3,total=21,decay=8,min_lr=1e-3)"},
    {"adamw(lr=1e-2,weight_decay=0.1,clip_norm=1);*.bias,bn?.*:weight_decay=0;conv*:lr_scale=0.5,beta1=0.8",
     "adamw(lr=1e-2,weight_decay=0.1,clip_norm=1);conv*:lr_scale=0.5,beta1=0.8;*.bias,bn1.*:weight_decay=0"},
    {"sgd(lr=0.05,momentum=0.9,schedule=step,step_size=8);*.bias,bn*:weight_decay=0.1,momentum=0.5;fc2.*:"
     "lr_scale=0.1;fc2.bias:weight_decay=0.3",
     "sgd(lr=0.05,momentum=0.9,schedule=step,step_size=8);fc2.bias:weight_decay=0.3;*.bias,bn*:"
     "weight_decay=0.1,momentum=0.5;fc2.*:lr_scale=0.1"},
};

// --group is the same as a group in the SPEC.
TEST_F(Optimizers, GroupsOfTheCommandLine) {
  const std::string spec = "adamw(lr=1e-2,weight_decay=0.1,clip_norm=1)",
                    groups = ";*.bias,bn?.*:weight_decay=0;conv*:lr_scale=0.5,beta1=0.8";
  Train(spec, "--strategy=zero --devices=2 --group=*.bias,bn?.*:weight_decay=0 --group=conv*:lr_scale=0.5,beta1=0.8");
  EXPECT_LE(Deviation(spec + groups), kTolerance);
  EXPECT_NE(Must("dpc show " + File("plan.bin")).out.find(" --group='conv*:lr_scale=0.5,beta1=0.8'"),
            std::string::npos);
  Must("dpc verify " + File("plan.bin") + " --against=" + kModel);
}

class AMistake : public Optimizers, public testing::WithParamInterface<Mistake> {};

TEST_P(AMistake, IsTold) {
  const Mistake &mistake = GetParam();
  SCOPED_TRACE(std::string(mistake.done) + " for " + mistake.asked);
  Train(mistake.done, "");
  double deviation = Deviation(mistake.asked);
  EXPECT_GT(deviation, 100 * kTolerance);
  printf("%-110s: %.1e\n", mistake.done, deviation);
}
INSTANTIATE_TEST_SUITE_P(, AMistake, testing::ValuesIn(kMistakes));

}  // namespace
