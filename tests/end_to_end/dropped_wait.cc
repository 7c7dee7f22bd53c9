// dropped_wait keep|drop THREADS: trains a few steps without the checker, a kernel in as many parts. "drop" removes the
// first wait of the plan's first kernel, which then reads the batch while it arrives. Prints what the checker would
// have said.
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

#include "tests/end_to_end/training.h"

namespace dp_test {
namespace {

// Wide, so that the batch takes a while to arrive.
const char kWide[] = R"dpt(model wide {
  loss "mse(y,target)"
  optimizer "sgd(lr=0.01)"
  input x: float32[N,4096]
  parameter w: float32[4,4096] = kaiming_uniform()
  constant scale: float32[] = 255
  s = Div(x, scale)
  y = Gemm(s, w) {transB=1}
  output y
})dpt";

Location FirstWait(const Plan &plan) {
  for (const Location &location : Instructions(plan, "train"))
    if (*At(plan, location)->kernel && At(plan, location)->n_waits) return location;
  throw std::runtime_error("no kernel waits");
}

// TSan sees a race only when two threads meet. On a busy machine one thread may do a whole step, so run steps until the
// first report.
int Steps(bool drop) {
#if defined(__SANITIZE_THREAD__)
  return drop ? 1000 : 10;
#else
  (void)drop;
  return 10;
#endif
}

void Run(bool drop, const std::string &threads) {
  Plan plan = Compile(kWide, "batch=128 strategy=data devices=2 threads=" + threads);
  if (drop) plan = WithoutWait(plan, FirstWait(plan), 0);
  printf("checker: %s\n", Verify(plan).c_str());
  fflush(stdout);
  RunOptions options;
  options.unchecked = true;
  options.workers = 4;
  options.feed = [](const std::string &, int64_t sample, int64_t element) {
    return static_cast<double>((sample + element) % 7);
  };
  Training training(plan, options);
  for (int step = 0; step < Steps(drop); step++) training.Train(0, 128);
}

}  // namespace
}  // namespace dp_test

int main(int argc, char **argv) {
  if (argc != 3) return 64;
  dp_test::Run(!strcmp(argv[1], "drop"), argv[2]);
  puts("done");
  return 0;
}
