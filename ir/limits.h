// What readers of models take, whatever the form, so that a small or odd file cannot ask for much. docs/model.md lists them.
#ifndef DP_IR_LIMITS_H
#define DP_IR_LIMITS_H

enum {
  DP_LIMIT_NODES = 4 << 20,    // of one graph
  DP_LIMIT_VALUES = 8 << 20,   // of one graph
  DP_LIMIT_GRAPHS = 64,        // of one model
  DP_LIMIT_OUTPUTS = 4096,     // of one graph
  DP_LIMIT_DEVICES = 1 << 24,  // of a mesh
};

#endif
