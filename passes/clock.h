// A rough clock for the passes that put nodes in order and divide communication: which stream a node of a device form is for,
// and how long it takes there. Only proportions matter, so one table of figures serves all machines.
#ifndef DP_PASSES_CLOCK_H
#define DP_PASSES_CLOCK_H

#include "ir/op.h"

// The last two are of stages of a pipeline.
enum { DP_STREAM_COMPUTE, DP_STREAM_COMM, DP_STREAM_COPY, DP_STREAM_SEND, DP_STREAM_RECV, DP_STREAMS };

typedef struct {
  double start_ns;                    // of any node
  double flops_per_ns, bytes_per_ns;  // of computation; copies from and to the host go by bytes
  double meet_ns, link_bytes_per_ns;  // of collectives: until all are there, and then
} dp_clock_figures;

extern const dp_clock_figures dp_clock;

int dp_clock_stream(const dp_node *node);
// For a device's part, at the largest n.
double dp_clock_ns(const dp_graph *graph, const dp_node *node);
// For a collective of so many bytes on each device.
static inline double dp_clock_meet_ns(double bytes) { return dp_clock.meet_ns + bytes / dp_clock.link_bytes_per_ns; }
// Bytes of a device's part of a value.
double dp_clock_bytes(const dp_model *model, const dp_value *value);

#endif
