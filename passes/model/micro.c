// See micro.h.
#include "passes/model/micro.h"

#include <string.h>

static int64_t size_of(const dp_mesh *mesh, const char *name) {
  int a = dp_mesh_find(mesh, name);
  return a < 0 ? 1 : mesh->axes[a].size;
}

// Four per stage, which leaves a stage idle for less than a fifth of the time, but never one without a sample.
static int64_t default_count(const dp_compile *compile, bool samples) {
  const dp_model *model = compile->model;
  int64_t stages = dp_mesh_stages(&model->mesh);
  if (stages == 1 || !samples) return 1;
  int64_t count = dp_max_i64(1, dp_min_i64(4 * stages, model->batch / size_of(&model->mesh, "data")));
  // Several may still become one where a node needs the whole batch: `place` reports the final count.
  if (count == 1)
    dp_pass_note(compile, "1 micro-batch for %lld stages; --microbatches=M says otherwise", (long long)stages);
  return count;
}

dp_status dp_micro_add(dp_compile *compile, bool samples) {
  dp_mesh *mesh = &compile->model->mesh;
  int64_t count = compile->options->microbatches;
  if (count > 1 && !samples)
    return dp_fail(EX_CONFIG,
                   "--microbatches=%lld, but no input has an axis of samples: name one with --split NAME=AXIS",
                   (long long)count);
  if (!count) count = default_count(compile, samples);
  if (count == 1) return DP_OK;
  memmove(&mesh->axes[1], &mesh->axes[0], (size_t)mesh->n_axes * sizeof mesh->axes[0]);
  mesh->axes[0] = (dp_mesh_axis){DP_MESH_MICRO, count};
  mesh->n_axes++;
  return DP_OK;
}
