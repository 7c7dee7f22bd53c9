// Derives what a pipeline does from its plan alone: instruction streams, events, and transfers by channel. It does not
// use the passes.
//
// A task of a stage is the work on one micro-batch in one direction; what depends on data that came back from a later
// stage is backward. On the last stage both directions are one task. Forward takes time 1, backward 2, everything else
// 0, also what works on integers alone: before the first gradient, the labels of all micro-batches are counted.
#ifndef DP_TESTS_END_TO_END_PIPELINE_WALK_H
#define DP_TESTS_END_TO_END_PIPELINE_WALK_H

#include <map>
#include <string>
#include <vector>

#include "tests/end_to_end/plans.h"

namespace dp_test {

class PipelineWalk {
 public:
  // program: one of a plan whose mesh has an axis pipe.
  PipelineWalk(const Plan &plan, const std::string &program);

  // The share of all stages' time in which a stage is idle.
  double Idle() const;
  // The largest number of micro-batches in flight on a stage: their forward pass has started and their backward pass
  // has not finished. Determined by tasks, and by values that still have a use.
  int Begun(int stage) const;
  int Held(int stage) const;
  // The tasks of a stage: "F0 F1 B0 ...".
  std::string Tasks(int stage) const;

 private:
  struct Step {
    const Dp__Instruction *instruction;
    int stage, stream, micro;
    int before;           // in the stream; -1: it is the first
    bool back, computes;  // back: depends on a later stage
    int vertex;
  };
  struct Vertex {
    int stage, micro;  // micro -1: not part of a task
    bool back;
    double weight, start, end;
    std::vector<int> after;  // vertices
  };

  void Collect(const Dp__Program *program, int stage);
  void FindDirections();
  void MakeVertices();
  void Connect();
  void Time();
  int MicroOf(const Dp__Program *program, const Dp__Instruction *in) const;
  const Dp__Communication *Transfer(const Step &step) const;
  bool Sends(const Step &step) const { return step.instruction->n_inputs && step.instruction->inputs[0]; }

  Plan plan_;
  int stages_ = 1, micro_axis_ = -1;
  std::vector<const Dp__Program *> programs_;             // by stage
  std::vector<Step> steps_;                               // of all stages, one stream after another
  std::vector<std::map<uint32_t, int>> makers_, events_;  // by stage: tensor, event -> step
  std::vector<std::vector<int>> computing_;               // by stage: steps of the compute stream, in order
  std::vector<Vertex> vertices_;
};

}  // namespace dp_test

#endif
