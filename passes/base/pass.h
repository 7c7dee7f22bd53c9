// What a pass is and what it works on: graph -> graph, one file per pass. passes/list.h has their order;
// passes/pipeline.c runs them.
//
// A pass is a const struct in its own file. It works on the model in place. All its knowledge is in the model and in
// the options, so any point of the pipeline can be printed, edited and read back. A set of bits says what it needs and
// gives; the runner checks them. After each pass every graph of the model verifies. Passes take time and memory linear
// in the size of the graph, up to a logarithmic factor.
#ifndef DP_PASSES_BASE_PASS_H
#define DP_PASSES_BASE_PASS_H

#include <stdio.h>

#include "ir/kernel/calibration.h"
#include "ir/kernel/kernel.h"
#include "ir/plan/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- the options ----------------------------------------------------------------------------------------------------

enum { DP_SPLIT_NONE = INT32_MIN };

// --split NAME=AXIS|none, NAME=AXIS@MESH_AXIS
typedef struct {
  const char *input;
  int axis;        // counted from the end when negative; DP_SPLIT_NONE: the input is not split
  const char *on;  // the mesh axis that it is split over; NULL: that of the samples, and micro-batches
} dp_split;

// dpc compile's options; all zero means all defaults. The options that affect the plan come first, and the plan records
// each of them (passes/options_record.c).
typedef struct {
  const char *strategy;          // by name (passes/strategy/list.h); NULL: the one the mesh implies, or the first
  dp_mesh mesh;                  // no axes: one axis of `devices`, named after the strategy; never has `micro`
  int64_t devices;               // 0: from the mesh, or 1
  int64_t batch;                 // B, over all devices; 0: from the model
  const char *loss, *optimizer;  // SPECs; NULL: the model's
  const char *metrics;           // "accuracy,top5", "auto", "none" (passes/model/metrics.h); NULL: none
  const char *mode;              // "train", "infer"; NULL: train
  int n_freeze;
  const char *const *freeze;  // globs
  int n_groups;
  const char *const *groups;  // "GLOB,...: ARGUMENT=VALUE,..." (ir/spec/spec.h)
  int n_train;
  const char *const *train;  // globs; parameters that match are trained, frozen or not
  bool as_exported;          // train the model although it has a caveat
  int n_dims;
  const char *const *dims;  // "NAME=N": open dims of the model's file; whoever reads the file has heeded them
  int n_normalize;
  const char *const *normalize;  // "NAME=/D,MEAN,STD" (passes/model/normalize.c)
  dp_dtype precision;            // DP_NO_TYPE or DP_FLOAT32: as the model says; DP_FLOAT64, DP_BFLOAT16, DP_FLOAT16
  int n_keep_fp32;
  const char *const *keep_fp32;    // globs; with 16 bits: nodes that compute in float32 all the same
  dp_dtype comm_precision;         // of gradients that devices add up: DP_NO_TYPE or DP_FLOAT32, DP_BFLOAT16
  const char *batchnorm;           // "sync", "local" (per device along the axis "data"); NULL: sync
  const char *clip_grad_at_bound;  // "pass", "zero", of operators that hold to bounds and do not say it; NULL: pass
  const char *fast_math;           // "tf32", "winograd", "tf32,winograd": see dp_kernel_spec; NULL: nothing less exact
  bool reproducible;               // sums of communication are taken in rank order on any devices
  bool no_fuse;                    // every node stays an instruction of its own
  const char *layout;              // "plain": of every tensor; "auto"; NULL: auto
  const char *recompute;           // "none", "auto" (needs memory_bytes), a glob of nodes; NULL: none
  const char *offload;             // "none", "optimizer", "activations", or both with a comma between; NULL: none
  int threads;                     // most threads an instruction; 0: this machine's cores over the devices
  const char *isa;                 // NULL: this machine's
  const char *calibration;         // a file; who reads it gives `target` its costs, and `calibrated`; NULL: none
  int n_splits;
  const dp_split *splits;
  int64_t zero_stage, memory_bytes;  // 0: not given; see passes/fit.h
  int64_t microbatches;              // 0: four for each stage of a pipeline, else 1
  const char *pipeline_schedule;     // "gpipe", "1f1b"; NULL: 1f1b
  const dp_target *target;           // provides kernels and cost figures; required
  const dp_calibration *calibrated;  // what libraries are to choose; NULL: they choose by themselves
  // The fields below are not recorded. Those in bytes follow from memory_bytes.
  int64_t stage_bytes;      // limit for a stage as `partition` estimates it; 0: memory_bytes
  double *stage_counted;    // out: `partition`'s estimate for the largest stage; NULL: not wanted
  int64_t recompute_bytes;  // limit for a device as `recompute` estimates it, with "auto"; 0: none
  bool keeps_graph_order;   // nodes keep the graph's order on their streams: the baseline in tests
  bool plain_weights;       // kernels pack nothing for later runs
  bool uploads;             // inputs are uploaded ahead, whatever the target says: for tests
  bool frees_graphs;        // each graph gives back its memory once the plan has it; the model has none afterwards
  bool why;
  // Printing. print_after: the name of a pass, or "all". stop_after: the name of a pass; the plan is then NULL.
  const char *print_after, *stop_after;
  FILE *print_to;                         // NULL: stdout
  const struct dp_text_held *print_held;  // the data not to print (ir/text/text.h); NULL: prints all
  Dp__Options **record;  // out: the options as the plan records them, even when there is no plan; NULL: not wanted
  FILE *notes_to;        // notes for the user about the compilation, one per line; NULL: none
} dp_options;

// The split over the samples' mesh axis that is requested for an input; NULL: none.
const dp_split *dp_options_split(const dp_options *options, const char *input);
// --mode=infer: no loss, no optimizer, no training.
bool dp_options_infers(const dp_options *options);
// Whether "train" outputs the gradient of each parameter (--metrics).
bool dp_options_give_gradients(const dp_options *options);
// Whether --offload names "optimizer" or "activations".
bool dp_options_offloads(const dp_options *options, const char *what);
// Whether --fast-math names "tf32", "winograd".
bool dp_options_fast_math(const dp_options *options, const char *what);
// The 16-bit type of --precision; DP_NO_TYPE: another precision.
dp_dtype dp_options_half(const dp_options *options);

// ---- passes ---------------------------------------------------------------------------------------------------------

enum {
  DP_HAS_MESH = 1 << 0,   // the options are consistent; model->mesh, model->loss and model->optimizer are final
  DP_HAS_BATCH = 1 << 1,  // "main" is symbolic in the samples present; model->batch is known
  DP_HAS_LOSS =
      1 << 2,  // outputs of "main": "loss", "count", "correct" if there are classes, terms, DP_MODEL_OUTPUT + its own
  DP_HAS_PARTITION = 1 << 14,     // nodes of "main" have stages if the mesh has an axis for them, and no devices
  DP_HAS_PROGRAMS = 1 << 3,       // the graphs are "train", "eval" and "infer" (or just "infer"), each specialized
  DP_HAS_GRADIENTS = 1 << 4,      // "train" has outputs DP_GRADIENT_OUTPUT + parameter, for each parameter to be
                                  // trained
  DP_HAS_UPDATES = 1 << 5,        // "train" updates parameters and optimizer state; gradients are no longer outputs
  DP_HAS_NO_CONSTANTS = 1 << 6,   // constants are stored constants
  DP_HAS_INIT = 1 << 7,           // "init" computes first values for variables without a tensor
  DP_HAS_STAGES = 1 << 15,        // all nodes and variables have their stages, if there are several
  DP_HAS_STRATEGY = 1 << 13,      // variables are annotated as the strategy needs
  DP_HAS_PLACEMENTS = 1 << 8,     // device form: every graph is placed and has its logical graph beside it
  DP_HAS_MICROBATCHES = 1 << 16,  // device form: nodes and values belong to one micro-batch, or to all
  DP_HAS_ROLES = 1 << 17,         // device form: a graph for each program and stage, in order; transfers between stages
  DP_HAS_STREAMS = 1 << 9,        // nodes are in the order of their streams, with events
  DP_HAS_KERNELS = 1 << 10,       // kernels, threads, bytes of scratch and of what is packed
  DP_HAS_MEMORY = 1 << 11,        // every value and scratch has its offset
  DP_HAS_PLAN = 1 << 12,          // compile->plan
};

#define DP_METRIC_GRADIENTS "gradients"       // of --metrics: "train" outputs gradients, as they are before clipping
#define DP_GIVEN_GRADIENT_OUTPUT "gradient/"  // + parameter
#define DP_GRADIENT_OUTPUT "dp.gradient/"
// Prefixes of the optimizers' states, each before its parameter's name; docs/optimizers.md says who has which.
#define DP_MOMENTUM_STATE "dp.momentum/"
#define DP_MEAN_STATE "dp.exp_avg/"
#define DP_SQUARE_STATE "dp.exp_avg_sq/"
#define DP_LARGEST_STATE "dp.exp_inf/"
#define DP_RMS_STATE "dp.square_avg/"
#define DP_CENTRE_STATE "dp.grad_avg/"
#define DP_SUM_STATE "dp.sum/"
#define DP_PRODUCT_STATE "dp.mu_product/"
#define DP_AVERAGE_STATE "dp.ema/"
// The parameter that an optimizer's state belongs to; -1: the variable is none.
int32_t dp_pass_parameter_of(const dp_model *model, int32_t variable);
#define DP_CONSTANT_PREFIX "dp.constant/"  // + hash
#define DP_LOSS_OUTPUT "loss"              // mean over the labels present, or a sum of such means
#define DP_COUNT_OUTPUT "count"            // int64: labels present that count in the mean
#define DP_CORRECT_OUTPUT "correct"        // int64: those of them that the scores predict correctly
#define DP_TERM_OUTPUT "term/"             // + number: a mean of the sum, times its factor
#define DP_OVER_OUTPUT "over/"             // + the same: what its mean divides by
#define DP_MODEL_OUTPUT "dp.output/"       // + output of the model; from the loss to the programs
#define DP_TRAINING_OUTPUT "dp.training/"  // + output that "train" gives too; from the loss to the programs

typedef struct dp_strategy dp_strategy;  // passes/base/strategy.h

typedef struct {
  dp_model *model;
  const dp_options *options;
  uint32_t has;    // DP_HAS_*
  bool unchanged;  // set by a pass that leaves nodes, operands and results of all graphs as they were, so they need
                   // not be verified again; dp_graph.unchanged says it of one
  Dp__Plan *plan;
  const dp_strategy *strategy;  // set by the runner
} dp_compile;

typedef struct {
  const char *name;
  const char *what;  // one line
  uint32_t needs, gives;
  dp_status (*run)(dp_compile *compile);
} dp_pass;

// The program "train", which the pass alone changes; NULL: a plan without training.
dp_graph *dp_pass_train(const dp_compile *compile);
// Runs something on each graph, with memory that goes back after each. Stops at the first failure.
dp_status dp_pass_each_graph(dp_compile *compile,
                             dp_status (*run)(dp_compile *compile, dp_graph *graph, dp_arena *scratch)) DP_MUST_USE;
// Writes a line to options->notes_to.
void dp_pass_note(const dp_compile *compile, const char *format, ...) DP_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
