// The gradient of an embedding with a padding row, compared with what PyTorch 2.11 gives for F.embedding with
// padding_idx.
#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// One step from zeros at a learning rate of 1 gives -w.grad of F.mse_loss(F.embedding(x, w, padding_idx), t) in
// float64, where x is the rows 0 1 1 | 2 0 2 of a table of 3 x 2 and t is arange(12) / 8.
std::vector<double> Step(const std::string &attributes, const std::string &options = "") {
  RunOptions run;
  const int64_t rows[] = {0, 1, 1, 2, 0, 2};
  run.feed = [&](const std::string &input, int64_t sample, int64_t i) {
    return input == "x" ? double(rows[sample * 3 + i]) : double(sample * 6 + i) / 8;
  };
  Training training(Compile("model m {\n  loss \"mse(y,t)\"\n  optimizer \"sgd(lr=1)\"\n"
                            "  parameter w: float32[3,2] = zeros\n  input x: int64[N,3]\n  input t: float32[N,3,2]\n"
                            "  y = Gather(w, x)" +
                                attributes + "\n  output y\n}\n",
                            "batch=2 precision=fp64 " + options),
                    run);
  training.Train(0, 2);
  return training.Numbers("w");
}

TEST(Padding, EveryRowIsTrainedWithoutOne) {
  ExpectClose(Step(""), {8. / 48, 10. / 48, 6. / 48, 8. / 48, 16. / 48, 18. / 48}, 1e-15);
}

TEST(Padding, ItsRowStaysAsItIs) {
  for (const char *options : {"", "strategy=data devices=2", "strategy=tensor devices=2"}) {
    ExpectClose(Step(" {padding_idx=0}", options), {0, 0, 6. / 48, 8. / 48, 16. / 48, 18. / 48}, 1e-15);
    ExpectClose(Step(" {padding_idx=2}", options), {8. / 48, 10. / 48, 6. / 48, 8. / 48, 0, 0}, 1e-15);
  }
}

}  // namespace
}  // namespace dp_test
