// What a kernel is: one const struct in one file of a backend, plain C, so that dpc can choose and size it anywhere.
//
// dpc asks `match` and `scratch_bytes` when it emits a plan and writes the kernel's name there; dprun finds it by name,
// prepares it at load for every n that the data will give, and runs it. run touches nothing but its operands, its
// results and its scratch, and allocates nothing.
#ifndef DP_IR_KERNEL_KERNEL_H
#define DP_IR_KERNEL_KERNEL_H

#include "ir/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  dp_dtype dtype;
  bool present;    // false: an optional operand left out
  dp_local local;  // whole and local extents, at one n on one device
} dp_kernel_operand;

typedef struct {
  const dp_op *op;
  const dp_node *node;  // attributes: dp_node_int(node, ...) and so on; its values must not be looked at
  int n_inputs, n_outputs;
  dp_kernel_operand inputs[DP_MAX_OPERANDS], outputs[DP_MAX_OPERANDS];
  int threads;
} dp_kernel_spec;

typedef struct dp_kernel {
  const char *name;         // "cpu.reference.Gemm"; without op "cpu.wide", which plans call "cpu.wide.Gemm"
  const char *op, *domain;  // op NULL: of any operator for which it matches
  int priority;             // of several that match the highest is taken
  // Whether it is a library's, not plain code of ours. Reference kernels serve all types (backends/cpu/upcast.c), fold
  // constants and are what others are tested against.
  bool library;
  // The element types that it takes of operands and results. 0: DP_UPCAST, and whatever else an operator has comes to
  // it through these (backends/cpu/upcast.c).
  uint32_t types;
  // Whether it can run the node: types, attributes, ranks, layouts. The extents are those of the largest shard. NULL:
  // always. What matches the largest matches every smaller part, the empty one too; so a plan's reader can ask again.
  bool (*match)(const dp_kernel_spec *spec);
  // Most scratch that run takes for these extents. NULL: none.
  uint64_t (*scratch_bytes)(const dp_kernel_spec *spec);
  // Whether run may be called for parts 0 .. threads-1 at the same time, by several threads. False: one call, one part.
  bool parts;
  // Whether the one call divides its work over spec->threads by itself, as libraries do.
  bool own_threads;
  // Whether what it computes and the scratch it takes depend on the instruction set that the target is held to: a plan
  // with such a kernel says which one it was made for.
  bool isa;
  // Whether result 0 may lie where operand 0 lies.
  bool in_place;
  // At load: whatever makes run quick (oneDNN primitives). *state is passed to run. NULL: nothing to prepare.
  dp_status (*prepare)(const dp_kernel_spec *spec, void **state);
  void (*release)(void *state);
  // Computes part `part` of `parts`. in, out: addresses, NULL for absent ones. EX_DATAERR for data that the operator
  // cannot take (a label out of range).
  dp_status (*run)(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                   int part, int parts);
} dp_kernel;

// What the steps of a device take, roughly, for the passes that put them in order and divide communication. Only
// proportions matter.
typedef struct {
  double start_ns;                       // of any step
  double flops_per_ns, bytes_per_ns;     // of computation; copies from and to the host go by bytes
  double latency_ns, link_bytes_per_ns;  // of collectives: until all are there, and then
} dp_target_costs;

// A backend as dpc sees it: its kernels, and the facts that a plan for it goes by.
typedef struct {
  const char *name;                 // "cpu"
  const dp_kernel *const *kernels;  // ends with NULL
  const char *(*isa)(void);         // this machine's: "avx512", "avx2"; NULL: only reference kernels
  // Holds its libraries to an ISA, before any kernel is matched or prepared. 69 when the machine lacks it.
  dp_status (*set_isa)(const char *isa);
  uint32_t alignment;  // bytes, a power of two: of arenas, and of every value and scratch in them
  dp_target_costs costs;
  // Most threads of one instruction, where nobody says how many, when there are so many devices; 1 or more.
  int (*threads)(int64_t devices);
  double thread_work;  // operations or bytes that must be there for each thread, so that it is worth starting
} dp_target;

// Whether the kernel computes that operator; whether it takes the types of these operands and results.
bool dp_kernel_computes(const dp_kernel *kernel, const dp_op *op);
bool dp_kernel_takes(const dp_kernel *kernel, const dp_kernel_spec *spec);
// The best matching kernel of the target, NULL when there is none.
const dp_kernel *dp_kernel_select(const dp_target *target, const dp_kernel_spec *spec, bool reference_only);
const dp_kernel *dp_kernel_find(const dp_target *target, const char *name);
// What plans call it where it computes `op`: its name, with the operator's where it serves any.
const char *dp_kernel_name(dp_arena *arena, const dp_kernel *kernel, const dp_op *op);

#ifdef __cplusplus
}
#endif
#endif
