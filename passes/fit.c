// See fit.h. A plan's memory grows with the batch and shrinks with the devices, stages and micro-batches that share it,
// with exceptions (gradients pile up where communication is slower than computation). So the search doubles or halves
// until a plan fits, then bisects. Every answer it gives was compiled and found to fit.
//
// A pipeline is partitioned by an estimate of its stages' memory (passes/pipeline/partition.c). Where the plan takes
// more than the estimate, the limit for the estimate is lowered by the excess and the pipeline is partitioned again.
// --recompute=auto works the same way, before that. First of all kernels pack nothing for later runs.
#include "passes/fit.h"
#include "passes/pipeline.h"

#include <string.h>

#include "passes/strategy/table.h"

enum {
  MAX_DEVICES = 4096,  // tried along an axis
  MAX_STAGES = 32,
  MAX_TIMES = 8,  // the largest multiple of micro-batches that is tried: plans grow with them
  MAX_WORK = 64,  // limit on all compilation, in plans of the requested size
  CUTS = 6,       // attempts to partition the requested pipeline
  CUTS_OF_OTHERS = 4,
  RECOMPUTED = 8,  // attempts to compute again as little as fits
};
static const double SLACK = 0.005;  // of the limit, that they may leave

dp_fit_bytes dp_fit_measure(const Dp__Plan *plan) {
  dp_fit_bytes most = {0, 0};
  for (size_t r = 0; r < plan->n_roles; r++) {
    const Dp__Role *role = plan->roles[r];
    dp_fit_bytes bytes = {0, 0};
    for (size_t a = 0; a < role->n_arenas; a++) {
      const Dp__Arena *arena = role->arenas[a];
      if (arena->space == DP__SPACE__PERSISTENT) bytes.persistent += arena->bytes;
      if (arena->space == DP__SPACE__TRANSIENT || arena->space == DP__SPACE__PEER_WINDOW) bytes.rest += arena->bytes;
      if (arena->space == DP__SPACE__DEVICE_INPUT) bytes.rest += arena->copies * arena->bytes;
    }
    if (bytes.persistent + bytes.rest > most.persistent + most.rest) most = bytes;
  }
  return most;
}

static uint64_t packed_by(const Dp__Program *program) {
  uint64_t bytes = 0;
  for (size_t s = 0; s < program->n_streams; s++)
    for (size_t i = 0; i < program->streams[s]->n_instructions; i++) {
      const Dp__Packed *packed = program->streams[s]->instructions[i]->packed;
      if (packed) bytes += packed->bytes;
    }
  return bytes;
}

uint64_t dp_fit_packed(const Dp__Plan *plan) {
  uint64_t most = 0;
  for (size_t r = 0; r < plan->n_roles; r++) {
    uint64_t bytes = 0;
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++) bytes += packed_by(plan->roles[r]->programs[p]);
    if (bytes > most) most = bytes;
  }
  return most;
}

static uint64_t bytes_of(const Dp__Plan *plan) {
  dp_fit_bytes takes = dp_fit_measure(plan);
  return takes.persistent + takes.rest;
}

// ---- compiling ------------------------------------------------------------------------------------------------------

typedef struct {
  const dp_options *options;  // as requested
  const dp_strategy *strategy;
  dp_fit_read read;
  void *arg;
  dp_arena *arena;       // for strings
  const Dp__Plan *plan;  // the plan that does not fit
  size_t size, work;     // instructions of that plan, and of all that was compiled
} fit;

static int64_t size_of(const fit *f, const char *axis) {
  for (size_t a = 0; a < f->plan->n_mesh; a++)
    if (!strcmp(f->plan->mesh[a]->name, axis)) return f->plan->mesh[a]->size;
  return 0;
}

static size_t size_of_plan(const Dp__Plan *plan) {
  size_t instructions = 0;
  for (size_t r = 0; r < plan->n_roles; r++)
    for (size_t p = 0; p < plan->roles[r]->n_programs; p++) {
      const Dp__Program *program = plan->roles[r]->programs[p];
      for (size_t s = 0; s < program->n_streams; s++) instructions += program->streams[s]->n_instructions;
    }
  return instructions;
}

static dp_status compile(fit *f, dp_arena *arena, const dp_options *options, Dp__Plan **plan) {
  dp_model *model;
  dp_status status = f->read(f->arg, arena, &model);
  if (status) return status;
  status = dp_pipeline_run(model, options, plan);
  dp_model_free_graphs(model);
  f->work += status ? f->size : size_of_plan(*plan);
  return status;
}

// Compiles. A pipeline is partitioned for ever smaller limits until it fits or no smaller partition exists. Stages that
// the user chose stay.
static dp_status compile_to_fit(fit *f, dp_arena *arena, dp_options o, int partitions, Dp__Plan **plan) {
  const double limit = (double)o.memory_bytes;
  double counted = 0, before = 0;
  o.stage_counted = &counted;
  for (int k = 0; k < partitions; k++) {
    DP_TRY(compile(f, arena, &o, plan));
    const double takes = (double)bytes_of(*plan);
    if (takes <= limit || !counted || counted == before) break;
    before = counted;
    o.stage_bytes = dp_max_i64(1, (int64_t)(0.999 * counted * limit / takes));
  }
  return DP_OK;
}

static dp_options quiet(const dp_options *asked) {
  dp_options o = *asked;
  o.print_after = o.stop_after = NULL;
  o.notes_to = NULL;
  o.record = NULL;
  return o;
}

// Whether it fits; what cannot be compiled does not.
static bool options_fit(fit *f, const dp_options *asked) {
  if (f->work >= MAX_WORK * f->size) return false;
  dp_arena *arena = dp_arena_create(0);
  if (!arena) return false;
  Dp__Plan *plan = NULL;
  dp_status status = compile_to_fit(f, arena, quiet(asked), CUTS_OF_OTHERS, &plan);
  const bool fit = !status && bytes_of(plan) <= (uint64_t)asked->memory_bytes;
  dp_status_free(status);
  dp_arena_destroy(arena);
  return fit;
}

// ---- trying others --------------------------------------------------------------------------------------------------

static bool fits_with_batch(fit *f, int64_t batch) {
  dp_options o = *f->options;
  o.batch = batch;
  return options_fit(f, &o);
}

// The largest batch found that fits.
static const char *other_batch(fit *f) {
  int64_t bad = f->plan->batch, good = bad / 2;
  while (good && !fits_with_batch(f, good)) bad = good, good /= 2;
  while (good && bad - good > 1) {
    int64_t middle = good + (bad - good) / 2;
    *(fits_with_batch(f, middle) ? &good : &bad) = middle;
  }
  return good ? dp_printf(f->arena, "--batch=%lld", (long long)good) : NULL;
}

// The options with so many devices along an axis, which the options name or imply by `devices`.
static dp_options with_axis_size(const fit *f, const char *axis, int64_t size) {
  dp_options o = *f->options;
  int a = dp_mesh_find(&o.mesh, axis);
  if (a >= 0)
    o.mesh.axes[a].size = size;
  else
    o.devices = size;
  if (!o.mesh.n_axes && f->strategy->several) o.strategy = f->strategy->several->name;
  return o;
}

// "--mesh=data=4,tensor=2", "--strategy=data --devices=4"
static const char *name_devices(const fit *f, const dp_options *o) {
  const char *text = o->strategy == f->options->strategy ? "" : dp_printf(f->arena, "--strategy=%s ", o->strategy);
  if (!o->mesh.n_axes) return dp_printf(f->arena, "%s--devices=%lld", text, (long long)o->devices);
  text = dp_printf(f->arena, "%s--mesh=", text);
  for (int a = 0; a < o->mesh.n_axes; a++)
    text =
        dp_printf(f->arena, "%s%s%s=%lld", text, a ? "," : "", o->mesh.axes[a].name, (long long)o->mesh.axes[a].size);
  return text;
}

// The smallest size of an axis found that fits.
static const char *more_along(fit *f, const char *axis, int64_t most) {
  int64_t bad = dp_max_i64(1, size_of(f, axis)), good = dp_min_i64(2 * bad, most);
  dp_options o;
  while (good > bad && (o = with_axis_size(f, axis, good), !options_fit(f, &o)))
    bad = good, good = dp_min_i64(2 * good, most);
  if (good <= bad) return NULL;
  while (good - bad > 1) {
    int64_t middle = bad + (good - bad) / 2;
    o = with_axis_size(f, axis, middle);
    *(options_fit(f, &o) ? &good : &bad) = middle;
  }
  o = with_axis_size(f, axis, good);
  return name_devices(f, &o);
}

// Along the first axis that shares samples or parameters; one device becomes several that share samples. More devices
// than samples would be idle.
static const char *more_devices(fit *f) {
  const int64_t most = dp_min_i64(f->plan->batch, MAX_DEVICES);
  if (size_of(f, "data")) return more_along(f, "data", most);
  return size_of(f, "tensor") ? more_along(f, "tensor", most) : NULL;
}

static const char *more_stages(fit *f) {
  return size_of(f, DP_MESH_PIPE) ? more_along(f, DP_MESH_PIPE, MAX_STAGES) : NULL;
}

// The fewest that fit, by doubling.
static const char *more_microbatches(fit *f) {
  const int64_t now = dp_max_i64(1, size_of(f, DP_MESH_MICRO));
  const int64_t most = dp_min_i64(f->plan->batch / dp_max_i64(1, size_of(f, "data")), MAX_TIMES * now);
  dp_options o = *f->options;
  for (o.microbatches = 2 * now; o.microbatches <= most; o.microbatches *= 2)
    if (options_fit(f, &o)) return dp_printf(f->arena, "--microbatches=%lld", (long long)o.microbatches);
  return NULL;
}

static const char *other_schedule(fit *f) {
  dp_options o = *f->options;
  if (!o.pipeline_schedule || strcmp(o.pipeline_schedule, "gpipe")) return NULL;
  o.pipeline_schedule = "1f1b";
  return options_fit(f, &o) ? "--schedule=1f1b" : NULL;
}

// What is held in parts from one step to the next: sharing gradients alone saves none of it.
static unsigned kept_shares(const dp_shares *shares) {
  return shares->splits & (DP_SHARES_PARAMETERS | DP_SHARES_STATE);
}

// The lowest stage of a strategy that shares more than now and fits.
static const char *more_of(fit *f, const dp_strategy *strategy) {
  dp_options o = *f->options;
  const dp_shares now = dp_strategy_shares(f->strategy, f->options);
  unsigned before = kept_shares(&now);
  o.strategy = strategy->name;
  for (o.zero_stage = 1; o.zero_stage <= strategy->n_zero_stages; o.zero_stage++) {
    const unsigned here = kept_shares(&strategy->zero_stages[o.zero_stage - 1]);
    if (!(here & ~before)) continue;
    before = here;
    if (options_fit(f, &o))
      return dp_printf(f->arena, "--strategy=%s --zero-stage=%lld", strategy->name, (long long)o.zero_stage);
  }
  return NULL;
}

// Where samples are shared, state and parameters can be shared too.
static const char *more_shared(fit *f) {
  const char *found = NULL;
  if (!f->strategy->splits_samples) return NULL;
  for (const dp_strategy *const *s = dp_strategies; *s && !found; s++)
    if ((*s)->n_zero_stages && size_of(f, (*s)->axis) > 1) found = more_of(f, *s);
  return found;
}

static const char *(*const proposals[])(fit *f) = {other_batch,       more_devices,   more_stages,
                                                   more_microbatches, other_schedule, more_shared};

// ---- the answer -----------------------------------------------------------------------------------------------------

static const char *megabytes(dp_arena *arena, uint64_t bytes) {
  return dp_printf(arena, "%llu bytes (%.1f MiB)", (unsigned long long)bytes, (double)bytes / (1 << 20));
}

static dp_status refuse(fit *f) {
  dp_fit_bytes takes = dp_fit_measure(f->plan);
  const char *fitting = "";
  for (size_t k = 0; k < DP_COUNT(proposals); k++) {
    const char *one = proposals[k](f);
    if (one) fitting = dp_printf(f->arena, "%s%s%s", fitting, *fitting ? ", or " : "", one);
  }
  fitting = *fitting ? dp_printf(f->arena, "%s would fit", fitting)
                     : "no smaller batch and no more devices or micro-batches would fit";
  return dp_fail(
      EX_CONFIG,
      "the plan takes %s on %s, %s of it for parameters, buffers and optimizer state, but --memory allows %s: %s",
      megabytes(f->arena, takes.persistent + takes.rest),
      f->plan->n_roles > 1 ? "the devices of a stage" : "each device", megabytes(f->arena, takes.persistent),
      megabytes(f->arena, (uint64_t)f->options->memory_bytes), fitting);
}

// ---- computing again ------------------------------------------------------------------------------------------------

// Raises or lowers the limit for the estimate of the pass `recompute`: the estimate does not know what lies on what.
// Leaves the plan that fits with the highest limit tried, else the one that takes least.
static dp_status recompute_to_fit(fit *f, dp_arena *arena, dp_options o, Dp__Plan **plan) {
  const double limit = (double)o.memory_bytes;
  double fits = 0, exceeds = 0, target = limit;
  for (int k = 0; k < RECOMPUTED && (!exceeds || exceeds - fits > SLACK * limit); k++) {
    Dp__Plan *made;
    // Below one byte there is nothing to lower.
    o.recompute_bytes = k + 1 == RECOMPUTED && !fits ? 1 : dp_max_i64(1, (int64_t)target);
    DP_TRY(compile(f, arena, &o, &made));
    const double takes = (double)bytes_of(made);
    if (takes <= limit || !fits) *plan = made;
    if (takes <= limit)
      fits = (double)o.recompute_bytes;
    else
      exceeds = (double)o.recompute_bytes;
    if (exceeds <= 1 && exceeds) break;
    target = fits && exceeds ? (fits + exceeds) / 2 : (double)o.recompute_bytes + limit - takes;
  }
  return DP_OK;
}

dp_status dp_fit_check(dp_arena *arena, const dp_options *options, dp_fit_read read, void *arg, Dp__Plan **plan) {
  if (!options->memory_bytes || bytes_of(*plan) <= (uint64_t)options->memory_bytes) return DP_OK;
  dp_options plain = *options;
  plain.plain_weights |= dp_fit_packed(*plan) > 0;
  fit f = {.options = &plain, .read = read, .arg = arg, .size = size_of_plan(*plan)};
  if (plain.plain_weights) {
    const dp_options o = quiet(&plain);
    DP_TRY(compile(&f, arena, &o, plan));
  }
  options = &plain;
  if (bytes_of(*plan) <= (uint64_t)options->memory_bytes) return DP_OK;
  if (options->recompute && !strcmp(options->recompute, "auto"))
    DP_TRY(recompute_to_fit(&f, arena, quiet(options), plan));
  if (bytes_of(*plan) <= (uint64_t)options->memory_bytes) return DP_OK;
  if ((*plan)->n_roles > 1) DP_TRY(compile_to_fit(&f, arena, quiet(options), CUTS, plan));
  if (bytes_of(*plan) <= (uint64_t)options->memory_bytes) return DP_OK;
  f.plan = *plan;
  DP_TRY(dp_strategy_choose(options, &f.strategy));
  f.arena = dp_arena_create(0);
  if (!f.arena) return dp_fail(DP_EX_MEMORY, "out of memory");
  dp_status status = refuse(&f);
  dp_arena_destroy(f.arena);
  return status;
}
