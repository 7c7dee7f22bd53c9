// The mesh of devices: named axes with sizes.
//
// Two axes are known by name. `pipe` is staged: coordinate s is stage s of a pipeline. A value exists where its program
// runs, so every placement on this axis is Replicate and means nothing. `micro` is sequential: its coordinates are the
// micro-batches, one after the other on the same devices. It comes first and spans no devices.
#ifndef DP_IR_GRAPH_MESH_H
#define DP_IR_GRAPH_MESH_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_MAX_MESH = 8 };

typedef struct {
  const char *name;
  int64_t size;
} dp_mesh_axis;

// Devices are numbered row-major over the axes, the last axis fastest; a sequential axis counts as one of size 1.
typedef struct {
  int n_axes;
  dp_mesh_axis axes[DP_MAX_MESH];
} dp_mesh;

#define DP_MESH_PIPE "pipe"
#define DP_MESH_MICRO "micro"
bool dp_mesh_is_staged(const dp_mesh_axis *axis);
bool dp_mesh_is_sequential(const dp_mesh_axis *axis);
int64_t dp_mesh_stages(const dp_mesh *mesh);        // of the staged axis; 1 when there is none
int64_t dp_mesh_microbatches(const dp_mesh *mesh);  // of the sequential axis; 1 when there is none

int64_t dp_mesh_devices(const dp_mesh *mesh);
int dp_mesh_find(const dp_mesh *mesh, const char *name);  // -1 when there is none
void dp_mesh_drop(dp_mesh *mesh, const char *name);       // removes the axis, if present
// Appends an axis. False: it has no coordinates, or the mesh would exceed the limits on devices or micro-batches
// (ir/base/limits.h).
bool dp_mesh_add(dp_mesh *mesh, const dp_mesh_axis *axis);
// 0 on a sequential axis.
void dp_mesh_coordinate(const dp_mesh *mesh, int64_t device, int64_t coordinate[DP_MAX_MESH]);
int64_t dp_mesh_device(const dp_mesh *mesh, const int64_t coordinate[DP_MAX_MESH]);

#ifdef __cplusplus
}
#endif
#endif
