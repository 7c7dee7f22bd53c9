// Parts of the ONNX writer (private to frontends/onnx): the message being made.
//
// onnx_export.c makes the file: model, inputs, outputs, what outlives a step; onnx_export_node.c makes nodes, and operands of
// what our operators have as attributes; onnx_devices.c says where things are on a mesh. Everything lives in the arena;
// tensors' data is shared with the model.
#ifndef DP_FRONTENDS_ONNX_ONNX_WRITER_H
#define DP_FRONTENDS_ONNX_ONNX_WRITER_H

#include "frontends/onnx/onnx.pb-c.h"
#include "ir/base/names.h"
#include "ir/graph/graph.h"

typedef struct {
  dp_arena *arena;
  const dp_model *model;
  const dp_graph *graph;
  const dp_mesh *mesh;  // that annotations speak of; no axes: none are written
  Dp__Onnx__Graph *message;
  dp_names *names;      // of all values in the file
  const char *samples;  // the value [N], once something asked for it
  int64_t opset;        // the oldest in which every node written so far has its meaning
  bool own;             // some operator is of domain dp
} dp_onnx_writer;

// A message of type TYPE ("node") in the writer's arena.
#define DP_ONNX_NEW(ARENA, STRUCT, INIT, NAME)      \
  STRUCT *NAME = dp_alloc((ARENA), sizeof(STRUCT)); \
  INIT(NAME)

// ---- onnx_export.c --------------------------------------------------------------------------------------------------

// The value's name in the file.
const char *dp_onnx_export_name(const dp_onnx_writer *writer, const dp_value *value);
Dp__Onnx__Tensor *dp_onnx_export_tensor(dp_arena *arena, const char *name, const dp_tensor *tensor);
void dp_onnx_export_initializer(dp_onnx_writer *writer, Dp__Onnx__Tensor *tensor);
Dp__Onnx__StringStringEntry *dp_onnx_export_entry(dp_arena *arena, const char *key, const char *value);

// ---- onnx_export_node.c ---------------------------------------------------------------------------------------------

// The constant value as a node of its own: an initializer would be taken for a parameter.
void dp_onnx_export_constant(dp_onnx_writer *writer, const dp_value *value);
dp_status dp_onnx_export_node(dp_onnx_writer *writer, const dp_node *node) DP_MUST_USE;

// ---- onnx_devices.c -------------------------------------------------------------------------------------------------

// The mesh as a configuration, whose devices are named by their coordinates: "data=0,tensor=1".
Dp__Onnx__DeviceConfiguration *dp_onnx_devices_configuration(dp_arena *arena, const dp_mesh *mesh);
// Where the node's operands and results are, its device and its stage.
void dp_onnx_devices_write(dp_onnx_writer *writer, const dp_node *node, Dp__Onnx__Node *message);

#endif
