// Networks of well-known kinds, exported by PyTorch (make_networks.py) and trained for ten steps in float64. The losses
// equal PyTorch's on one device and on several. The number of samples does not divide by the batch size, nor the batch
// size by the number of devices.
#include <jansson.h>

#include "tests/tools/tool.h"

namespace {

const char kFolder[] = "tests/frontends/networks/";
const double kTolerance = 1e-9;

class Networks : public Tools, public testing::WithParamInterface<const char *> {
 protected:
  ~Networks() override { json_decref(case_); }

  int64_t Integer(const char *key) const { return json_integer_value(json_object_get(case_, key)); }

  json_t *case_ = nullptr;
};

TEST_P(Networks, TrainAsPyTorchDoes) {
  const std::string folder = std::string(kFolder) + GetParam() + "/";
  json_error_t error;
  case_ = json_load_file((folder + "case.json").c_str(), 0, &error);
  ASSERT_NE(case_, nullptr) << error.text;
  std::string data;
  for (int64_t i = 0; i < Integer("inputs"); i++)
    data += " --data x" + std::to_string(i) + "=" + folder + "x" + std::to_string(i) + ".npy";
  if (Exists(folder + "label.npy")) data += " --data label=" + folder + "label.npy";
  const std::string loss = json_string_value(json_object_get(case_, "loss"));
  for (const char *devices : {"--strategy=single", "--strategy=data --devices=2", "--strategy=data --devices=3",
                              "--strategy=zero --zero-stage=3 --devices=2", "--strategy=tensor --devices=2",
                              "--strategy=data --devices=2 --microbatches=2", "--strategy=pipeline --devices=2"}) {
    SCOPED_TRACE(devices);
    Must("dpc compile " + folder + "model.onnx --precision=fp64 --optimizer=sgd(lr=0.05) --loss=" + loss +
         " --batch=" + std::to_string(Integer("batch")) + " " + devices + " -o " + File("plan.bin"));
    Must("dprun " + File("plan.bin") + data + " --quiet --steps=" + std::to_string(Integer("steps")) +
         " --metrics=" + File("metrics"));
    std::vector<double> found = Losses(File("metrics"));
    const json_t *losses = json_object_get(case_, "losses");
    ASSERT_EQ(found.size(), json_array_size(losses));
    for (size_t i = 0; i < found.size(); i++)
      EXPECT_NEAR(found[i], json_number_value(json_array_get(losses, i)), kTolerance) << "step " << i + 1;
  }
}

INSTANTIATE_TEST_SUITE_P(OfPyTorch, Networks, testing::Values("gpt2", "bloom", "swin", "clip", "dlrm", "pieces"),
                         [](const testing::TestParamInfo<const char *> &info) { return std::string(info.param); });

}  // namespace
