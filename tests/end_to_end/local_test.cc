// --batchnorm=local: N devices compute what PyTorch computes on one device when each batch is cut into N parts that are
// normalised separately (make_local_reference.py). Includes N that do not divide the batch, and batches with fewer
// samples than devices.
#include <cmath>

#include "tests/end_to_end/table.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

struct Reference {
  int devices;
  std::vector<double> losses;  // of seven steps and an evaluation
  std::map<std::string, std::vector<double>> state;
};

std::vector<Reference> ReadReferences() {
  std::vector<Reference> references;
  for (const auto &[name, numbers] : ReadNumbers("tests/end_to_end/local_reference.txt")) {
    if (name == "devices")
      references.push_back({int(numbers.at(0)), {}, {}});
    else if (name == "loss" || name == "eval")
      references.back().losses.push_back(numbers.at(0));
    else
      references.back().state[name] = numbers;
  }
  return references;
}

std::string Text() { return ReadText("tests/end_to_end/local_reference.dpt"); }

Plan CompileLocal(const std::string &options) {
  return Compile(Text(), "batch=16 precision=fp64 strategy=data batchnorm=local " + options);
}

// Adds the deviations to the table, if there is one.
void Expect(const Reference &reference, const Plan &plan, int workers, Table *table = nullptr) {
  RunOptions run;
  run.workers = workers;
  Training training(plan, run);
  std::vector<double> losses = training.TrainAll({13, 16, 7, 3, 1, 16, 5});
  losses.push_back(training.Evaluate(61, 9));
  ExpectClose(losses, reference.losses, 1e-9);
  double most = 0;
  for (const auto &[name, expected] : reference.state) {
    std::vector<double> found = training.Numbers(name);
    ASSERT_EQ(found.size(), expected.size()) << name;
    for (size_t i = 0; i < found.size(); i++) {
      EXPECT_NEAR(found[i], expected[i], 1e-9) << name << " " << i;
      Raise(&most, std::fabs(found[i] - expected[i]));
    }
  }
  if (table) table->Note("LocalNormalization", reference.devices, Relative(losses, reference.losses), most);
  EXPECT_EQ(training.Replicas(), "");
}

int CountCommunication(const Plan &plan, const std::string &op) {
  int count = 0;
  for (const Location &location : Communications(plan, "train")) count += At(plan, location)->op == op;
  return count;
}

TEST(Local, AsInPyTorchPartByPart) {
  std::vector<Reference> references = ReadReferences();
  ASSERT_EQ(references.size(), 6u);
  Table table(
      "float64, seven steps and an evaluation, against PyTorch: losses (relative) / weights and buffers (absolute)");
  for (const Reference &reference : references) {
    SCOPED_TRACE(reference.devices);
    ASSERT_EQ(reference.losses.size(), 8u);
    ASSERT_EQ(reference.state.size(), 17u);
    Plan plan = CompileLocal("devices=" + std::to_string(reference.devices));
    Expect(reference, plan, 2, &table);
    EXPECT_EQ(CountCommunication(plan, "AllGather"), 0);
    EXPECT_EQ(RunNull(plan, 3, {16, 1, 0}), "");
  }
  table.Print();
}

TEST(Local, TheBatchIsCutAlongTheAxisDataAlone) {
  for (const Reference &reference : ReadReferences())
    if (reference.devices < 5)
      for (const char *other : {"tensor:2", "tensor:3"}) {
        const std::string mesh = "mesh=data:" + std::to_string(reference.devices) + "," + other;
        SCOPED_TRACE(mesh);
        Expect(reference, CompileLocal(mesh), 2);
      }
}

// Shows that the test above would notice other parts, or shared statistics.
TEST(Local, DiffersFromTheWholeBatch) {
  for (int devices : {2, 8}) {
    Training local(CompileLocal("devices=" + std::to_string(devices)));
    Training sync(Compile(Text(), "batch=16 precision=fp64 strategy=data devices=" + std::to_string(devices)));
    EXPECT_GT(std::fabs(local.Train(0, 13) / sync.Train(0, 13) - 1), 1e-4);
  }
}

TEST(Local, AStepWithoutSamplesLeavesTheRunningStatistics) {
  Training training(CompileLocal("devices=3"));
  std::vector<double> mean = training.Numbers("bn2.running_mean"), var = training.Numbers("bn2.running_var");
  training.Train(0, 0);
  EXPECT_EQ(training.Numbers("bn2.running_mean"), mean);
  EXPECT_EQ(training.Numbers("bn2.running_var"), var);
  training.Train(0, 2);  // device 0 of 3 has none of them
  EXPECT_NE(training.Numbers("bn2.running_mean"), mean);
}

// The rule that keeps a part on its device applies only on its axis, and for as many devices as groups.
TEST(Local, TheCheckerKnowsWhichPlacementsAreLocal) {
  Plan plan = CompileLocal("devices=3");
  for (size_t g = 0; g < plan->n_graphs; g++)
    for (size_t n = 0; n < plan->graphs[g]->n_nodes; n++) {
      Dp__Node *node = plan->graphs[g]->nodes[n];
      for (size_t a = 0; a < node->n_attributes; a++)
        if (std::string(node->attributes[a]->name) == "axis" && std::string(node->op) == "GroupedBatchNormalization")
          node->attributes[a]->s[0] = 'D';
    }
  for (const Location &location : Instructions(plan, "train")) {
    Dp__Instruction *in = At(plan, location);
    for (size_t a = 0; a < in->n_attributes; a++)
      if (std::string(in->attributes[a]->name) == "axis" && std::string(in->op) == "GroupedBatchNormalization")
        in->attributes[a]->s[0] = 'D';
  }
  EXPECT_NE(Verify(plan).find("rule MEANING.ROW"), std::string::npos) << Verify(plan);
}

}  // namespace
}  // namespace dp_test
