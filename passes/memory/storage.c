// See storage.h.
//
// A variable that several stages of a pipeline have is at the same offset on all of them: those variables come first,
// one after the other, followed by each stage's own, and by what its kernels pack. Those that are offloaded are in an
// arena of their own. All stages share host memory: a program's input has one offset whichever stage reads it, and each
// stage writes its outputs at offsets of its own.
#include "passes/memory/storage.h"

#include <string.h>

#include "passes/cost/largest_shard.h"

static uint64_t bytes_of_storage(const dp_model *model, const dp_variable *p) {
  return (uint64_t)dp_local_max_count(&p->type->shape, p->placements, &model->mesh, model->batch) *
         dp_type_bytes(p->type->dtype);
}

// top: the end of each stage's storage so far.
static void place_storage(dp_variable *p, int64_t n_stages, uint32_t alignment, uint64_t *top) {
  p->offset = 0;
  int64_t count = p->n_stages ? p->n_stages : n_stages;
  for (int64_t i = 0; i < count; i++) {
    uint64_t *at = &top[p->n_stages ? p->stages[i] : i];
    if (p->offset < *at) p->offset = *at;
  }
  const uint64_t end = p->offset + dp_memory_padded(p->bytes, alignment);
  for (int64_t i = 0; i < count; i++) top[p->n_stages ? p->stages[i] : i] = end;
}

// top: as above.
static void place_variables(dp_model *model, uint32_t alignment, bool offloaded, uint64_t *top) {
  int64_t n_stages = dp_mesh_stages(&model->mesh);
  for (int of_one = 0; of_one < 2; of_one++)
    for (int32_t i = 0; i < model->n_variables; i++) {
      dp_variable *p = &model->variables[i];
      if ((p->n_stages == 1) != of_one || p->offloaded != offloaded) continue;
      p->bytes = bytes_of_storage(model, p);
      place_storage(p, n_stages, alignment, top);
    }
}

// After the variables of the graph's stage.
static void place_packed(dp_graph *graph, uint32_t alignment, uint64_t *top) {
  uint64_t *at = &top[dp_max_i64(0, graph->stage)];
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    dp_node *node = graph->nodes[i];
    if (!node->packed_bytes) continue;
    node->packed_offset = *at;
    *at += dp_memory_padded(node->packed_bytes, alignment);
  }
}

bool dp_memory_same_program(const dp_graph *a, const dp_graph *b) {
  return !strcmp(a->logical->name, b->logical->name);
}

// The stage graphs of one program; `first` is the first of them in the model. An input of several stages has one
// offset, that of the logical graph's value. A graph that was read from text has its own copy of that value.
static void place_host_inputs(dp_model *model, int first, uint32_t alignment) {
  const dp_graph *logical = model->graphs[first]->logical;
  dp_arena *scratch = dp_arena_create_within(model->arena);
  uint64_t top = 0, *offsets = dp_alloc_n(scratch, (size_t)logical->n_values, sizeof *offsets);  // plus 1
  for (int g = first; g < model->n_graphs && dp_memory_same_program(model->graphs[g], model->graphs[first]); g++)
    for (int32_t i = 0; i < model->graphs[g]->n_values; i++) {
      dp_value *v = model->graphs[g]->values[i];
      if (v->space != DP_SPACE_HOST_INPUT) continue;
      uint64_t *known = &offsets[v->logical->id];
      v->offset = *known ? *known - 1 : top;
      if (*known) continue;
      *known = v->offset + 1;
      top += dp_memory_padded(v->bytes, alignment);
    }
  dp_arena_destroy(scratch);
}

// In the order of the outputs, which the text form keeps; it does not keep the order of values.
static void place_host_outputs(dp_model *model, int first, uint32_t alignment) {
  uint64_t top = 0;
  for (int g = first; g < model->n_graphs && dp_memory_same_program(model->graphs[g], model->graphs[first]); g++) {
    const dp_graph *graph = model->graphs[g];
    dp_arena *scratch = dp_arena_create_within(model->arena);
    bool *placed = dp_alloc_n(scratch, (size_t)graph->n_values + 1, sizeof *placed);
    for (int o = 0; o < graph->n_outputs; o++) {
      dp_value *v = graph->outputs[o].value;
      if (v->space != DP_SPACE_HOST_OUTPUT || placed[v->id]) continue;
      placed[v->id] = true;
      v->offset = top;
      top += dp_memory_padded(v->bytes, alignment);
    }
    dp_arena_destroy(scratch);
  }
}

// Each graph has its own memory for them, which nothing else shares: the copy of the next run is written beside this
// one.
static void place_device_inputs(dp_graph *graph, uint32_t alignment) {
  uint64_t top = 0;
  for (int32_t i = 0; i < graph->n_values; i++) {
    dp_value *v = graph->values[i];
    if (v->space != DP_SPACE_DEVICE_INPUT) continue;
    v->offset = top;
    top += dp_memory_padded(v->bytes, alignment);
  }
}

void dp_memory_place_storages(dp_model *model, uint32_t alignment) {
  const size_t n_stages = (size_t)dp_mesh_stages(&model->mesh);
  uint64_t *top = dp_alloc_n(model->arena, n_stages, sizeof *top);
  place_variables(model, alignment, true, dp_alloc_n(model->arena, n_stages, sizeof *top));
  place_variables(model, alignment, false, top);
  for (int g = 0; g < model->n_graphs; g++) {
    dp_graph *graph = model->graphs[g];
    place_packed(graph, alignment, top);
    for (int32_t i = 0; i < graph->n_values; i++) {
      dp_value *v = graph->values[i];
      if (v->space) v->bytes = dp_largest_shard_bytes(model, v);
      if (v->kind == DP_VALUE_VARIABLE) v->offset = model->variables[v->variable].offset;
    }
    for (int i = 0; i < graph->n_updates; i++)
      graph->updates[i].value->offset = model->variables[graph->updates[i].variable].offset;
    place_device_inputs(graph, alignment);
  }
  // The graphs of one program are adjacent.
  for (int g = 0; g < model->n_graphs; g++)
    if (!g || !dp_memory_same_program(model->graphs[g], model->graphs[g - 1])) {
      place_host_inputs(model, g, alignment);
      place_host_outputs(model, g, alignment);
    }
}
