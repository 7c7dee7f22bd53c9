// The short set, which also runs under the sanitizers: two small networks are compiled, checked and trained on devices
// that share workers, on both backends.
#include "tests/end_to_end/digit_models.h"
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

const std::vector<int64_t> kBatches = {6, 1, 6};

TEST(Short, DevicesAgree) {
  for (const char *text : {kCnn, kSquares})
    for (const char *precision : {"fp64", "fp32"}) {
      const std::string options = std::string("batch=6 precision=") + precision;
      Training one(Compile(text, options));
      std::vector<double> losses = one.TrainAll(kBatches);
      losses.push_back(one.Evaluate(50, 5));
      for (const char *mesh : {"threads=2 devices=3", "threads=1 mesh=data:2,tensor:2"}) {
        RunOptions run;
        run.workers = 3;
        Training several(Compile(text, options + " strategy=data " + mesh), run);
        std::vector<double> found = several.TrainAll(kBatches);
        found.push_back(several.Evaluate(50, 5));
        ExpectClose(found, losses, precision == std::string("fp64") ? 1e-9 : 1e-3);
        EXPECT_EQ(several.Replicas(), "");
      }
    }
}

TEST(Short, NoHazards) {
  for (const char *text : {kCnn, kSquares})
    EXPECT_EQ(RunNull(Compile(text, "batch=6 strategy=data devices=4"), 3, {6, 1}), "");
}

}  // namespace
}  // namespace dp_test
