// The parts of the ONNX writer (private to frontends/onnx), and the message under construction.
//
// onnx_export.c writes the file: model, inputs, outputs, variables; onnx_export_node.c writes nodes, and our attributes
// that are operands in ONNX; onnx_devices.c writes placements on a mesh. Everything is in the arena; tensors' data is
// shared with the model.
#ifndef DP_FRONTENDS_ONNX_ONNX_WRITER_H
#define DP_FRONTENDS_ONNX_ONNX_WRITER_H

#include "frontends/onnx/onnx.pb-c.h"
#include "ir/base/names.h"
#include "ir/graph/graph.h"

typedef struct {
  dp_arena *arena;
  const dp_model *model;
  const dp_graph *graph;
  const dp_mesh *mesh;  // for annotations; no axes: writes none
  Dp__Onnx__Graph *message;
  dp_names *names;      // of all values in the file
  const char *samples;  // the value [N], once it was needed
  int64_t opset;        // the oldest opset in which every node so far has its meaning
  bool own;             // some operator is in domain dp
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

// Writes the constant as a node, since an initializer would be taken for a parameter.
void dp_onnx_export_constant(dp_onnx_writer *writer, const dp_value *value);
dp_status dp_onnx_export_node(dp_onnx_writer *writer, const dp_node *node) DP_MUST_USE;

// ---- onnx_devices.c -------------------------------------------------------------------------------------------------

// Writes the mesh as a configuration; devices are named by their coordinates: "data=0,tensor=1".
Dp__Onnx__DeviceConfiguration *dp_onnx_devices_configuration(dp_arena *arena, const dp_mesh *mesh);
// Writes the placements of the node's operands and results, its device and its stage.
void dp_onnx_devices_write(dp_onnx_writer *writer, const dp_node *node, Dp__Onnx__Node *message);

#endif
