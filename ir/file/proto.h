// Converts between the in-memory model and ir/file/model.proto's messages. Plans embed the same messages.
//
// To messages: nothing fails. Strings and data are shared with the model, so the messages are valid only while both the
// model and the arena live. From messages: dp_wire_unpack guarantees well-formed protobuf and nothing more, so every
// index, type, name, kind and size is checked here. Data is shared with the message. Tensors must be in the message
// (external.h loads external ones). Failures are EX_DATAERR and name the part of the model that is at fault.
#ifndef DP_IR_FILE_PROTO_H
#define DP_IR_FILE_PROTO_H

#include "ir/file/model.pb-c.h"
#include "ir/graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_PROTO_VERSION = 1 };  // of model.proto

Dp__Model *dp_proto_from_model(dp_arena *arena, const dp_model *model);
dp_status dp_proto_to_model(dp_arena *arena, const Dp__Model *message, dp_model **model) DP_MUST_USE;

// Values and nodes keep their ids. Device form is left out. Equal types are one message, and equal attributes too.
Dp__Graph *dp_proto_from_graph(dp_arena *arena, const dp_graph *graph);
// The model's variables, symbol and batch must be set. The graph is not added to the model's. Nodes get their types
// from dp_op_infer (a type given in the message must agree); dp_graph_verify holds.
dp_status dp_proto_to_graph(dp_model *model, const Dp__Graph *message, dp_graph **graph) DP_MUST_USE;

// n_axes: of the mesh; the variable's storage is written unless this is 0.
Dp__Variable *dp_proto_from_variable(dp_arena *arena, const dp_variable *variable, int n_axes);
// For the model, to which it does not add it. mesh: of the plan whose placements are read; NULL for a model, which has
// no storage.
dp_status dp_proto_to_variable(dp_model *model, const Dp__Variable *message, const dp_mesh *mesh,
                               dp_variable *variable) DP_MUST_USE;

void dp_proto_from_attrs(dp_arena *arena, int n_attrs, const dp_attr *attrs, size_t *count, Dp__Attribute ***messages);
dp_status dp_proto_to_attrs(dp_arena *arena, size_t count, Dp__Attribute *const *messages, int *n_attrs,
                            dp_attr **attrs) DP_MUST_USE;

// Makes equal messages once, in the arena: types, and attributes that are no tensor and no list of strings. They are
// not to be changed. Types, names and values that they are made from must live as long.
typedef struct dp_proto_shared dp_proto_shared;
dp_proto_shared *dp_proto_shared_create(dp_arena *arena);
void dp_proto_shared_destroy(dp_proto_shared *shared);  // the messages stay
Dp__Graph *dp_proto_shared_graph(dp_proto_shared *shared, const dp_graph *graph);
Dp__TensorType *dp_proto_shared_type(dp_proto_shared *shared, const dp_type *type);
void dp_proto_shared_attrs(dp_proto_shared *shared, int n_attrs, const dp_attr *attrs, size_t *count,
                           Dp__Attribute ***messages);

Dp__TensorType *dp_proto_from_type(dp_arena *arena, const dp_type *type);
dp_status dp_proto_to_type(const Dp__TensorType *message, dp_type *type) DP_MUST_USE;
Dp__Tensor *dp_proto_from_tensor(dp_arena *arena, const dp_tensor *tensor);
dp_status dp_proto_to_tensor(dp_arena *arena, const Dp__Tensor *message, const dp_tensor **tensor) DP_MUST_USE;

// One placement per mesh axis.
Dp__Placement **dp_proto_from_placements(dp_arena *arena, const dp_placement *placements, int count);
dp_status dp_proto_to_placement(const Dp__Placement *message, dp_placement *placement) DP_MUST_USE;
// There must be as many as the mesh has axes, and they must be legal for the shape. EX_DATAERR.
dp_status dp_proto_to_placements(size_t count, Dp__Placement *const *messages, const dp_shape *shape,
                                 const dp_mesh *mesh, dp_placement placements[DP_MAX_MESH]) DP_MUST_USE;
Dp__MeshAxis **dp_proto_from_mesh(dp_arena *arena, const dp_mesh *mesh);
dp_status dp_proto_to_mesh(size_t count, Dp__MeshAxis *const *messages, dp_mesh *mesh) DP_MUST_USE;

#ifdef __cplusplus
}
#endif

// A string for a message: NULL becomes "". Messages hold char *, but nothing writes through it, so it stays the
// caller's.
static inline char *dp_proto_string(const char *text) { return (char *)(uintptr_t)(text ? text : ""); }

#endif
