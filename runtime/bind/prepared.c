// See prepared.h. A hash table of lists.
#include "runtime/bind/prepared.h"

#include <stdlib.h>
#include <string.h>

#include "ir/graph/graph.h"

enum { LISTS = 1024 };

typedef struct entry {
  struct entry *next;
  const dp_kernel *kernel;
  const dp_kernel_spec *spec;
  int chip;
  void *state;
} entry;

struct dp_prepared {
  entry *lists[LISTS];
};

// ---- equality -------------------------------------------------------------------------------------------------------

// All that a kernel reads of a shard, for this number of samples and, by what of it is symbolic, for others. The rest
// follows: k is whole / (outer * unit), and the extents are outer * (hi - lo) * unit.
static bool equal_shards(const dp_local *a, const dp_local *b) {
  const size_t bytes = (size_t)a->rank * sizeof a->lo[0];
  return a->rank == b->rank && a->symbolic == b->symbolic && !memcmp(a->whole, b->whole, bytes) &&
         !memcmp(a->outer, b->outer, bytes) && !memcmp(a->unit, b->unit, bytes) && !memcmp(a->lo, b->lo, bytes) &&
         !memcmp(a->hi, b->hi, bytes) && !memcmp(a->shards, b->shards, bytes);
}

bool dp_kernel_operand_equal(const dp_kernel_operand *a, const dp_kernel_operand *b) {
  return a->present == b->present && a->dtype == b->dtype && a->layout == b->layout &&
         equal_shards(&a->local, &b->local);
}

static bool equal_operands(const dp_kernel_operand *a, const dp_kernel_operand *b, int count) {
  for (int i = 0; i < count; i++)
    if (!dp_kernel_operand_equal(&a[i], &b[i])) return false;
  return true;
}

static bool equal_attributes(const dp_node *a, const dp_node *b) {
  if (a->n_attrs != b->n_attrs) return false;
  for (int i = 0; i < a->n_attrs; i++) {
    const dp_attr *other = dp_node_attr(b, a->attrs[i].name);
    if (!other || !dp_attr_equal(&a->attrs[i], other)) return false;
  }
  return true;
}

static bool equal_members(const dp_kernel_member *a, const dp_kernel_member *b) {
  return a->op == b->op && a->n_inputs == b->n_inputs && a->n_outputs == b->n_outputs &&
         (!a->n_inputs || !memcmp(a->inputs, b->inputs, (size_t)a->n_inputs * sizeof *a->inputs)) &&
         (!a->n_outputs || !memcmp(a->outputs, b->outputs, (size_t)a->n_outputs * sizeof *a->outputs)) &&
         equal_attributes(a->node, b->node);
}

static bool equal_regions(const dp_kernel_region *a, const dp_kernel_region *b) {
  if (!a || !b) return a == b;
  if (a->n_members != b->n_members || a->n_values != b->n_values) return false;
  for (int m = 0; m < a->n_members; m++)
    if (!equal_members(&a->members[m], &b->members[m])) return false;
  return equal_operands(a->values, b->values, a->n_values);
}

static bool equal_specs(const dp_kernel_spec *a, const dp_kernel_spec *b) {
  return a->op == b->op && a->n_inputs == b->n_inputs && a->n_outputs == b->n_outputs && a->threads == b->threads &&
         a->tf32 == b->tf32 && a->winograd == b->winograd && a->packed == b->packed &&
         equal_operands(a->inputs, b->inputs, a->n_inputs) && equal_operands(a->outputs, b->outputs, a->n_outputs) &&
         equal_attributes(a->node, b->node) && equal_regions(a->region, b->region);
}

// ---- the table ------------------------------------------------------------------------------------------------------

// Of what tells most specs apart.
static uint64_t hash_of(const dp_kernel *kernel, const dp_kernel_spec *spec) {
  uint64_t hash = (uintptr_t)kernel;
  for (int i = 0; i < spec->n_inputs + spec->n_outputs; i++) {
    const dp_kernel_operand *o = i < spec->n_inputs ? &spec->inputs[i] : &spec->outputs[i - spec->n_inputs];
    const uint64_t words[] = {
        hash, (uint64_t)o->dtype,
        o->present ? dp_hash_table(o->local.extents, (size_t)o->local.rank * sizeof(int64_t)) : 0};
    hash = dp_hash_table(words, sizeof words);
  }
  return hash;
}

dp_status dp_prepared_create(dp_prepared **prepared) {
  *prepared = calloc(1, sizeof **prepared);
  return *prepared ? DP_OK : dp_fail(DP_EX_MEMORY, "no memory for the kernels' states");
}

void dp_prepared_destroy(dp_prepared *prepared) {
  for (int l = 0; prepared && l < LISTS; l++)
    for (entry *e = prepared->lists[l], *next; e; e = next) {
      next = e->next;
      if (e->state && e->kernel->release) e->kernel->release(e->state);
      free(e);
    }
  free(prepared);
}

dp_status dp_prepared_state(dp_prepared *prepared, const dp_kernel *kernel, const dp_kernel_spec *spec, int chip,
                            void **state) {
  entry **list = &prepared->lists[hash_of(kernel, spec) % LISTS];
  for (const entry *e = *list; e; e = e->next)
    if (e->kernel == kernel && e->chip == chip && equal_specs(e->spec, spec)) {
      *state = e->state;
      return DP_OK;
    }
  entry *made = calloc(1, sizeof *made);
  if (!made) return dp_fail(DP_EX_MEMORY, "no memory for the kernels' states");
  *made = (entry){*list, kernel, spec, chip, NULL};
  dp_status status = kernel->prepare(spec, &made->state);
  if (status) {
    free(made);
    return status;
  }
  *list = made;
  *state = made->state;
  return DP_OK;
}
