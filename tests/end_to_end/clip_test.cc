// The gradient of Clip at its bounds, compared with what PyTorch 2.11 gives for clamp and hardtanh. Both become Clip.
#include <cstring>

#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

const double kX[] = {-1.5, -1, -0.5, 0, 0.75, 1, 2};
const char kBounds[] = "min=-1.0, max=1.0";

// One step from zeros at a learning rate of 1 gives -w.grad of F.mse_loss(clip(x + w), arange(7) / 8), in float64.
std::vector<double> Step(const std::string &attributes, const std::string &options) {
  RunOptions run;
  run.feed = [](const std::string &input, int64_t, int64_t i) { return input == "x" ? kX[i] : double(i) / 8; };
  Training training(Compile("model m {\n  loss \"mse(y,t)\"\n  optimizer \"sgd(lr=1)\"\n"
                            "  parameter w: float32[7] = zeros\n  input x: float32[N,7]\n  input t: float32[N,7]\n"
                            "  h = Add(x, w)\n  y = Clip(h) {" +
                                attributes + "}\n  output y\n}\n",
                            "batch=1 precision=fp64 " + options),
                    run);
  training.Train(0, 1);
  return training.Numbers("w");
}

const std::vector<double> kClamp = {0, 9. / 28, 6. / 28, 3. / 28, -2. / 28, -3. / 28, 0};
const std::vector<double> kHardtanh = {0, 0, 6. / 28, 3. / 28, -2. / 28, 0, 0};
const std::vector<double> kClampOnOneSide = {12. / 28, 9. / 28, 6. / 28, 3. / 28, -2. / 28, 0, 0};  // clamp(max=0.75)

TEST(Clip, PassesTheGradientAtItsBounds) {
  ExpectClose(Step(kBounds, ""), kClamp, 1e-15);
  ExpectClose(Step(kBounds, "clip-grad-at-bound=pass"), kClamp, 1e-15);
  ExpectClose(Step("max=0.75", ""), kClampOnOneSide, 1e-15);
}

TEST(Clip, OrNotAsTheOptionSays) { ExpectClose(Step(kBounds, "clip-grad-at-bound=zero"), kHardtanh, 1e-15); }

// The option applies only to nodes without the attribute.
TEST(Clip, OrNotAsTheNodeSays) {
  ExpectClose(Step(std::string(kBounds) + ", grad_at_bound=0", ""), kHardtanh, 1e-15);
  ExpectClose(Step(std::string(kBounds) + ", grad_at_bound=0", "clip-grad-at-bound=pass"), kHardtanh, 1e-15);
  ExpectClose(Step(std::string(kBounds) + ", grad_at_bound=1", "clip-grad-at-bound=zero"), kClamp, 1e-15);
}

}  // namespace
}  // namespace dp_test
