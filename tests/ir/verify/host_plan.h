// A small plan whose devices write outputs to host memory: x is fetched, y = Relu(x), and y is the output. A test can
// make them write other values too, before y and to any bytes.
//
//   x@host --Scatter--> x --Relu--> y --Gather--> y@host        rows of 64 bytes, twice as many as devices
#ifndef DP_TESTS_IR_VERIFY_HOST_PLAN_H
#define DP_TESTS_IR_VERIFY_HOST_PLAN_H

#include "tests/ir/verify/small_plan.h"

namespace dp_test {

class HostPlan {
 public:
  enum { kRow = 64 };  // bytes; also the alignment of arenas
  // split: how the devices hold x and y, "S(0)" by rows or "S(1)" by columns.
  explicit HostPlan(int64_t devices = 2, const std::string &split = "S(0)", uint64_t output = 4 * kRow)
      : small(kText, Axes({devices}), 2 * devices, 1 << 12) {
    w = small.writer.get();
    w->Tensor("x@host", "x", "R", DP__SPACE__HOST_INPUT, 0);
    w->Tensor("x", "x", split, DP__SPACE__TRANSIENT, 0);
    w->Tensor("y", "y", split, DP__SPACE__TRANSIENT, 1024);
    w->Tensor("x@whole", "x", "R", DP__SPACE__TRANSIENT, 2048);
    w->Tensor("y@host", "y", "R", DP__SPACE__HOST_OUTPUT, output);
    w->Input("x", "x@host");
    w->Output("y", "y@host");
    w->Add("s", "dp.Scatter", "", {"x@host"}, {"x"});
    w->Add("s", "Relu", "y", {"x"}, {"y"});
  }
  // Writes another value to the host: "x", which each device holds a part of, or "x@whole", which one device writes.
  Dp__Instruction *Give(const std::string &label, uint64_t offset, const std::string &stream = "s") {
    if (label == "x@whole") w->Add(stream, "dp.Broadcast", "", {"x@host"}, {label});
    const std::string host = label + "@" + std::to_string(offset);
    w->Tensor(host, label.substr(0, 1), "R", DP__SPACE__HOST_OUTPUT, offset);
    return w->Add(stream, "dp.Gather", "", {label}, {host});
  }
  // Adds the last step.
  Dp__Instruction *Finish(const std::string &stream = "s") {
    return w->Add(stream, "dp.Gather", "", {"y"}, {"y@host"});
  }

  SmallPlan small;
  ProgramWriter *w;

 private:
  static constexpr const char *kText =
      "model host {\n graph infer {\n input x: float32[N,16]\n y = Relu(x)\n output y\n}\n}\n";
};

}  // namespace dp_test

#endif
