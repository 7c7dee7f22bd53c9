// See fit.h. What a plan takes grows with the batch and shrinks with the devices that share it, but not without exceptions
// (where communication takes longer than computing gradients pile up): a first one that fits is looked for by halving and
// doubling, the edge by bisection, and whatever is named in the end was compiled and found to fit.
#include "passes/fit.h"

#include <string.h>

enum { MOST_DEVICES = 4096 };  // that are tried

// The axes that grow, the first that there is.
static const char *const axes[] = {"data", "tensor"};

dp_fit_bytes dp_fit_measure(const Dp__Plan *plan) {
  dp_fit_bytes most = {0, 0};
  for (size_t r = 0; r < plan->n_roles; r++) {
    const Dp__Role *role = plan->roles[r];
    dp_fit_bytes bytes = {0, 0};
    for (size_t a = 0; a < role->n_arenas; a++) {
      const Dp__Arena *arena = role->arenas[a];
      if (arena->space == DP__SPACE__PERSISTENT) bytes.persistent += arena->bytes;
      if (arena->space == DP__SPACE__TRANSIENT || arena->space == DP__SPACE__PEER_WINDOW) bytes.rest += arena->bytes;
    }
    if (bytes.persistent + bytes.rest > most.persistent + most.rest) most = bytes;
  }
  return most;
}

// ---- trying others --------------------------------------------------------------------------------------------------

typedef struct {
  const dp_options *options;  // as asked for
  dp_fit_read read;
  void *arg;
  const char *axis;  // that grows; NULL: there is none
  int64_t batch,
      devices;   // of the plan that does not fit; devices: along `axis`, 0: there is none
  bool by_mesh;  // the devices were asked for as a mesh
} fit;

static bool takes_at_most(const Dp__Plan *plan, int64_t bytes) {
  dp_fit_bytes takes = dp_fit_measure(plan);
  return takes.persistent + takes.rest <= (uint64_t)bytes;
}

// The options with another batch or other devices, which may be as they were.
static dp_options changed(const fit *f, int64_t batch, int64_t devices) {
  dp_options o = *f->options;
  o.print_after = o.stop_after = NULL;
  o.notes_to = NULL;
  if (batch != f->batch) o.batch = batch;
  if (devices == f->devices) return o;
  if (f->by_mesh)
    o.mesh.axes[dp_mesh_find(&o.mesh, f->axis)].size = devices;
  else
    o.devices = devices;
  if (!o.strategy || !strcmp(o.strategy, "single")) o.strategy = "data";
  return o;
}

static dp_status compile(const fit *f, dp_arena *arena, const dp_options *options, Dp__Plan **plan) {
  dp_model *model;
  DP_TRY(f->read(f->arg, arena, &model));
  return dp_pipeline_run(model, options, plan);
}

// Whether it fits. What cannot be compiled does not.
static bool fits(const fit *f, int64_t batch, int64_t devices) {
  dp_arena *arena = dp_arena_create(0);
  if (!arena) return false;
  dp_options options = changed(f, batch, devices);
  Dp__Plan *plan = NULL;
  dp_status status = compile(f, arena, &options, &plan);
  bool fit = !status && plan && takes_at_most(plan, f->options->memory_bytes);
  dp_status_free(status);
  dp_arena_destroy(arena);
  return fit;
}

// A batch that fits though the next larger one does not; 0: none was found.
static int64_t largest_batch(const fit *f) {
  int64_t bad = f->batch, good = bad / 2;
  while (good && !fits(f, good, f->devices)) bad = good, good /= 2;
  while (good && bad - good > 1) {
    int64_t middle = good + (bad - good) / 2;
    *(fits(f, middle, f->devices) ? &good : &bad) = middle;
  }
  return good;
}

// A count of devices that fits though one less does not; 0: none was found. More devices than samples would only wait.
static int64_t fewest_devices(const fit *f) {
  const int64_t most = dp_min_i64(f->batch, MOST_DEVICES);
  int64_t bad = f->devices, good = dp_min_i64(2 * bad, most);
  while (good > bad && !fits(f, f->batch, good)) bad = good, good = dp_min_i64(2 * good, most);
  if (good <= bad) return 0;
  while (good - bad > 1) {
    int64_t middle = bad + (good - bad) / 2;
    *(fits(f, f->batch, middle) ? &good : &bad) = middle;
  }
  return good;
}

// ---- the answer -----------------------------------------------------------------------------------------------------

static const char *megabytes(dp_arena *arena, uint64_t bytes) {
  return dp_printf(arena, "%llu bytes (%.1f MiB)", (unsigned long long)bytes, (double)bytes / (1 << 20));
}

// "--mesh=data=4,tensor=2", "--strategy=data --devices=4"
static const char *name_devices(const fit *f, dp_arena *arena, int64_t devices) {
  const dp_options *asked = f->options, o = changed(f, f->batch, devices);
  const char *strategy = asked->strategy && !strcmp(asked->strategy, o.strategy) ? "" : "--strategy=data ";
  if (!f->by_mesh) return dp_printf(arena, "%s--devices=%lld", strategy, (long long)devices);
  const char *text = dp_printf(arena, "%s--mesh=", strategy);
  for (int a = 0; a < o.mesh.n_axes; a++)
    text = dp_printf(arena, "%s%s%s=%lld", text, a ? "," : "", o.mesh.axes[a].name, (long long)o.mesh.axes[a].size);
  return text;
}

static dp_status refuse(dp_arena *arena, const fit *f, const Dp__Plan *plan) {
  dp_fit_bytes takes = dp_fit_measure(plan);
  int64_t batch = largest_batch(f), devices = fewest_devices(f);
  const char *fitting = "";
  if (batch) fitting = dp_printf(arena, "--batch=%lld", (long long)batch);
  if (devices) fitting = dp_printf(arena, "%s%s%s", fitting, batch ? ", or " : "", name_devices(f, arena, devices));
  fitting = *fitting ? dp_printf(arena, "%s would fit", fitting) : "no smaller batch and no more devices would fit";
  return dp_fail(EX_CONFIG,
                 "the plan takes %s on each device, %s of it for parameters, buffers and optimizer state, and --memory "
                 "allows %s: %s",
                 megabytes(arena, takes.persistent + takes.rest), megabytes(arena, takes.persistent),
                 megabytes(arena, (uint64_t)f->options->memory_bytes), fitting);
}

dp_status dp_fit_check(const Dp__Plan *plan, const dp_options *options, dp_fit_read read, void *arg) {
  if (!options->memory_bytes || takes_at_most(plan, options->memory_bytes)) return DP_OK;
  fit f = {.options = options, .read = read, .arg = arg, .batch = plan->batch, .by_mesh = options->mesh.n_axes > 0};
  for (size_t k = 0; k < DP_COUNT(axes) && !f.axis; k++)
    for (size_t a = 0; a < plan->n_mesh; a++)
      if (!strcmp(plan->mesh[a]->name, axes[k])) f.axis = axes[k], f.devices = plan->mesh[a]->size;
  dp_arena *arena = dp_arena_create(0);
  if (!arena) return dp_fail(DP_EX_MEMORY, "out of memory");
  dp_status status = refuse(arena, &f, plan);
  dp_arena_destroy(arena);
  return status;
}
