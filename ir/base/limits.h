// What readers of models and plans accept, in every format, so that a small or malformed file cannot demand many
// resources. docs/model.md and docs/plan.md list the limits.
#ifndef DP_IR_BASE_LIMITS_H
#define DP_IR_BASE_LIMITS_H

enum {
  DP_LIMIT_NODES = 4 << 20,    // per graph
  DP_LIMIT_VALUES = 8 << 20,   // per graph
  DP_LIMIT_GRAPHS = 1 << 14,   // per model: after the pass roles, each program on each stage
  DP_LIMIT_OUTPUTS = 4096,     // per graph
  DP_LIMIT_VIEWS = 32,         // of one tensor, that share its bytes while it is read
  DP_LIMIT_DEVICES = 1 << 24,  // per mesh
  DP_LIMIT_MICROBATCHES = 4096,
  // Plans (docs/plan.md).
  DP_LIMIT_VARIABLES = 4 << 20,
  DP_LIMIT_LOGICAL = 64,  // graphs per plan
  DP_LIMIT_ROLES = 4096,
  DP_LIMIT_STORAGES = 16 << 20,     // of variables, one on each stage that has the variable
  DP_LIMIT_PROGRAMS = 64,           // per role
  DP_LIMIT_ARENAS = 7,              // per role: one for each kind of memory
  DP_LIMIT_STREAMS = 16,            // per program
  DP_LIMIT_INSTRUCTIONS = 4 << 20,  // per program
  DP_LIMIT_TENSORS = 16 << 20,      // per program
  DP_LIMIT_LOOPED = 256 << 20,      // bytes of memory that iterations of loops take, per plan
  DP_LIMIT_BINDINGS = 4096,         // inputs or outputs per program
  DP_LIMIT_OPTIONS = 4096,          // values of an option that may be repeated
  DP_LIMIT_THREADS = 4096,          // per instruction
  DP_LIMIT_CHOICES = 1 << 16,       // of a calibration, and the libraries that they are of
  DP_LIMIT_LIBRARIES = 16,
  DP_LIMIT_CALIBRATION_TEXT = 255,  // bytes of each text there
  DP_LIMIT_LEAST_ALIGNMENT = 64,    // bytes: a cache line, and the widest vector register
  DP_LIMIT_ALIGNMENT = 1 << 20,     // bytes
};

#endif
