// What a kernel is: one const struct in one file of a backend, in plain C, so that dpc can select and size it on any
// machine.
//
// dpc calls `match` and `scratch_bytes` when it emits a plan and writes the kernel's name there. dprun finds it by
// name, prepares it at load for every n that the data will give, and runs it. `run` touches nothing but its operands,
// results and scratch, and allocates nothing; the same holds for what `enqueue` leaves to the device.
#ifndef DP_IR_KERNEL_KERNEL_H
#define DP_IR_KERNEL_KERNEL_H

#include "ir/graph/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
  dp_dtype dtype;
  bool present;      // false: an omitted optional operand
  dp_local local;    // whole and local extents, at one n on one device
  dp_layout layout;  // other than plain only for kernels that are `channels_last` or `blocked`, or that `lays`
} dp_kernel_operand;

// One node of a region (ir/ops/region.c). Its operands and results are values of the region by index, -1 where one is
// left out.
typedef struct {
  const dp_op *op;
  const dp_node *node;  // attributes alone
  int n_inputs, n_outputs;
  const int32_t *inputs, *outputs;
} dp_kernel_member;

// What an instruction of several nodes computes: its members in order. Its values are its operands, then its results,
// then those that no memory holds: they exist while it runs and no longer.
typedef struct {
  int n_members, n_values;
  const dp_kernel_member *members;
  const dp_kernel_operand *values;
} dp_kernel_region;

typedef struct {
  const dp_op *op;
  const dp_node *node;  // for attributes only: dp_node_int(node, ...); its values must not be read
  int n_inputs, n_outputs;
  const dp_kernel_operand *inputs, *outputs;
  const dp_kernel_region *region;  // of a dp.Region; else NULL
  const dp_node *then;             // of a launch in a region: a node that it computes of its result along; else NULL
  // Of a launch of attention in a region: how many elements lie between the begins of two rows, [heads, size] of one
  // place of one sample, in the order of operands and then results; 0: rows are dense. NULL: all are.
  const int64_t *pitches;
  int threads;
  const char *isa;  // when kernels are chosen, the only instruction set that they may use; NULL: this machine's
  bool tf32;        // a product or convolution may round operands in float32 to TF32, ten bits of fraction
  bool winograd;    // a convolution in float32 may be computed by Winograd's algorithm, which rounds more
  bool packed;      // operand dp_kernel.packs comes as dp_kernel.pack left it
} dp_kernel_spec;

// Whether it is a spec of float32 operands that may be rounded to TF32.
static inline bool dp_kernel_takes_tf32(const dp_kernel_spec *spec) {
  return spec->tf32 && spec->inputs[0].dtype == DP_FLOAT32;
}

// Where a device finds its work, in order: a stream of a GPU. Each backend defines its own; the CPU has none.
typedef struct dp_queue dp_queue;

typedef struct dp_kernel {
  const char *name;         // "cpu.reference.Gemm"; without op "cpu.wide", which plans call "cpu.wide.Gemm"
  const char *op, *domain;  // op NULL: any operator for which it matches
  int priority;             // the highest that matches is selected
  // Whether it is a library's kernel rather than our own plain code. Reference kernels support all types
  // (backends/cpu/upcast.c), fold constants, and are what other kernels are tested against.
  bool library;
  // The element types that it accepts for operands and results. 0: DP_UPCAST; an operator's other types are converted
  // to these (backends/cpu/upcast.c).
  uint32_t types;
  // Whether operands and results of rank 4 may lie in NHWC; `match` tells which of them together.
  bool channels_last;
  // The same of blocks of channels.
  bool blocked;
  // Whether it can run the node: types, attributes, ranks, layouts. The extents are those of the largest shard. NULL:
  // always. A kernel that matches the largest part must match every smaller one, including an empty part, so that a
  // plan's reader can check again.
  bool (*match)(const dp_kernel_spec *spec);
  // The most scratch that `run` uses for these extents. NULL: none.
  uint64_t (*scratch_bytes)(const dp_kernel_spec *spec);
  // Whether several threads may call `run` at once, for parts 0 .. threads-1. False: one call, one part.
  bool parts;
  // Whether a single call divides its work over spec->threads itself, as libraries do.
  bool own_threads;
  // Whether its results and scratch depend on the target's instruction set. A plan with such a kernel records which one
  // it was made for.
  bool isa;
  // The instruction set that it cannot do without, if that is more than the target's kernels have by default; such a
  // plan records this one. NULL: none.
  const char *least_isa;
  // Whether result 0 may share memory with operand 0.
  bool in_place;
  // Whether `run` or `enqueue` only reads the state, so that instructions with equal specs share one.
  bool shares_state;
  // A plan that names it has been read: begins what `prepare` would have to wait for, such as loading a library, on
  // other threads. What fails shows in `prepare`. May be called again. NULL: nothing to begin.
  void (*expect)(void);
  // At load: whatever makes `run` fast (oneDNN primitives). *state is passed to `run`. NULL: nothing to prepare.
  dp_status (*prepare)(const dp_kernel_spec *spec, void **state);
  // At load, once after `prepare`: the addresses that `enqueue` will be called with, every time, so that tables of them
  // are on the device before its work begins. Only for kernels that share no state, and release it. NULL: no tables.
  dp_status (*settle)(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out);
  void (*release)(void *state);
  // An operand that it can take packed: in a form of its own, which the runtime lets it make before a run and keeps
  // until the operand changes (docs/plan.md, "Packed operands"). packed_bytes: of that form, which must be the same for
  // every smaller n; 0: `run` gains nothing by it. pack: makes it; with a spec whose `packed` is set, `run` finds it at
  // in[packs]. packed_bytes NULL: it takes none.
  int packs;
  uint64_t (*packed_bytes)(const dp_kernel_spec *spec);
  dp_status (*pack)(const dp_kernel_spec *spec, void *state, const void *plain, void *packed, void *scratch);
  // The layout besides plain in which that operand gains as much, without more bytes; of a kernel that draws or fills
  // weights, in which it makes them. PLAIN: none.
  dp_layout lays;
  // Computes part `part` of `parts`. in, out: addresses, NULL for absent ones. EX_DATAERR for data outside the
  // operator's domain (a label out of range).
  dp_status (*run)(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                   int part, int parts);
  // Instead of `run`, where devices work by themselves: puts the work on a queue and returns. The addresses are the
  // device's. Data outside the operator's domain is reported by the queue once the work is done.
  dp_status (*enqueue)(const dp_kernel_spec *spec, void *state, dp_queue *queue, const void *const *in,
                       void *const *out, void *scratch);
} dp_kernel;

// A cost model of a device's steps, for the passes that order them and divide communication. Only the proportions
// matter.
typedef struct {
  double start_ns;                       // overhead of any step
  double flops_per_ns, bytes_per_ns;     // computation; copies to and from the host go by bytes
  double latency_ns, link_bytes_per_ns;  // collectives: until all members are there, and then
} dp_target_costs;

enum { DP_PROJECTION_VIEWS = 2 };

// A backend as dpc sees it: its kernels, and the facts that plans for it depend on.
typedef struct dp_target {
  const char *name;                 // "cpu"
  const dp_kernel *const *kernels;  // ends with NULL
  const char *(*isa)(void);         // this machine's: "avx512", "avx2"; NULL: only reference kernels
  // Restricts its libraries to an ISA, before any kernel is matched or prepared. 69 when the machine lacks it.
  dp_status (*set_isa)(const char *isa);
  uint32_t alignment;  // bytes, a power of two: of arenas, and of every value and scratch in them
  dp_target_costs costs;
  // The default maximum of threads per instruction for so many devices; 1 or more.
  int (*threads)(int64_t devices);
  double thread_work;  // operations or bytes per thread that make starting it worthwhile
  // Regions may begin with products, end with reductions, and have members with sums over rows beside their rows
  // (dp_op.row_beside_sums): its kernels gain by that.
  bool producers;
  // Attention may be a region with what divides and joins its operands and gradients: its kernels read and write parts
  // of one tensor, with up to DP_PROJECTION_VIEWS views of each in between (passes/fuse/projections.c).
  bool projections;
  bool gradient_casts;   // regions of updates may begin with Casts of gradients from 16 bits
  bool parameter_casts;  // Casts of parameters to 16 bits may be one region (passes/fuse/casts.c)
  // Regions may have members that work on channels (DP_OP_CHANNELS), where a channel of what these normalize takes so
  // many bytes on a device at most. 0: never.
  double channel_bytes;
  // Batch normalizations are regions with the sum and Relu behind them, and their gradients with those of Relu before
  // them: its kernels compute these along (passes/fuse/channels.c).
  bool channel_ends;
  // Scores of a loss that take so many bytes or more on a device are made and used in chunks (passes/fuse/heads.c).
  // 0: never.
  double chunk_bytes;
  bool channels_last;  // convolutions in 16 bits gain by images in NHWC (passes/emit/layout.c)
  // The blocks of channels that convolutions of images in float32 gain by in inference, with this instruction set
  // (NULL: none). NULL: none at all.
  dp_layout (*blocks)(const char *isa);
  // Its devices have memory that is not the host's, and copies between the two pay for values of so many bytes on a
  // device (passes/recompute/offload.c). 0: there is one kind of memory.
  double offload_bytes;
  // Which of dp_kernel_spec.tf32 and .winograd some of its kernels heed, by these names, in this order. The first is
  // what --fast-math alone means.
  const char *fast_math[2];
  bool uploads;  // devices work by themselves: inputs go to them beside the step before (docs/plan.md)
  // Whose kernels fold constants on the machine that compiles; NULL: its own.
  const struct dp_target *host;
} dp_target;

// Whether the kernel computes that operator; whether it supports the types and layouts of these operands and results.
bool dp_kernel_computes(const dp_kernel *kernel, const dp_op *op);
bool dp_kernel_takes(const dp_kernel *kernel, const dp_kernel_spec *spec);
// The best matching kernel of the target; NULL when there is none.
const dp_kernel *dp_kernel_select(const dp_target *target, const dp_kernel_spec *spec, bool reference_only);
const dp_kernel *dp_kernel_find(const dp_target *target, const char *name);
// The name that plans use when it computes `op`: its name, followed by the operator's if it serves many.
const char *dp_kernel_name(dp_arena *arena, const dp_kernel *kernel, const dp_op *op);

#ifdef __cplusplus
}
#endif
#endif
