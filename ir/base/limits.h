// What readers of models and plans take, whatever the form, so that a small or odd file cannot ask for much.
// docs/model.md and docs/plan.md list them.
#ifndef DP_IR_BASE_LIMITS_H
#define DP_IR_BASE_LIMITS_H

enum {
  DP_LIMIT_NODES = 4 << 20,    // of one graph
  DP_LIMIT_VALUES = 8 << 20,   // of one graph
  DP_LIMIT_GRAPHS = 1 << 14,   // of one model: after the pass roles, each program on each stage
  DP_LIMIT_OUTPUTS = 4096,     // of one graph
  DP_LIMIT_DEVICES = 1 << 24,  // of a mesh
  DP_LIMIT_MICROBATCHES = 4096,
  // Plans (docs/plan.md).
  DP_LIMIT_VARIABLES = 4 << 20,
  DP_LIMIT_LOGICAL = 64,  // graphs of a plan
  DP_LIMIT_ROLES = 4096,
  DP_LIMIT_STORAGES = 16 << 20,     // of variables, on each stage that has it
  DP_LIMIT_PROGRAMS = 64,           // of a role
  DP_LIMIT_STREAMS = 16,            // of a program
  DP_LIMIT_INSTRUCTIONS = 4 << 20,  // of a program
  DP_LIMIT_TENSORS = 16 << 20,      // of a program
  DP_LIMIT_BINDINGS = 4096,         // inputs or outputs of a program
  DP_LIMIT_OPTIONS = 4096,          // given of one that may be given several times
  DP_LIMIT_THREADS = 4096,          // of an instruction
  DP_LIMIT_LEAST_ALIGNMENT = 64,    // bytes: a cache line, and the widest vector register
  DP_LIMIT_ALIGNMENT = 1 << 20,     // bytes
};

#endif
