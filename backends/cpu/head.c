// dp.Region that is the head of a network (ir/kernel/head.h), in chunks of rows: the members' fastest kernels one after
// another on each. Threads share the chunks. Each but the first sums for itself, and the last one that is done adds
// these sums up in the threads' order, so that bits depend on the number of threads alone.
//
// cpu.bf16_head.dp.Region has AVX-512's instruction for bfloat16, which plans then name.
#include <stdatomic.h>
#include <stdlib.h>

#include "backends/base/head.h"
#include "backends/cpu/member.h"
#include "backends/cpu/members.h"
#include "backends/cpu/onednn/isa.h"
#include "backends/cpu/target.h"
#include "ir/base/base.h"

enum { FEWEST_ROWS = 512 };  // of a chunk

// ---- kernels of members ---------------------------------------------------------------------------------------------

static const dp_kernel *fastest_bf16(const dp_member_spec *member) {
  return dp_kernel_select(&dp_target_cpu, &member->spec, false);
}

static const dp_kernel *fastest(const dp_member_spec *member) {
  dp_kernel_spec without = member->spec;
  without.isa = "avx512";  // and no more
  return dp_kernel_select(&dp_target_cpu, &without, false);
}

// ---- sums of threads ------------------------------------------------------------------------------------------------

// A region of Adds: its operands are the sums so far, then a thread's; its results lie on the former.
typedef struct {
  dp_kernel_spec spec;
  dp_kernel_region region;
  dp_node add;
  dp_kernel_member members[DP_HEAD_VALUES];
  dp_kernel_operand values[3 * DP_HEAD_VALUES];
  int32_t numbers[3 * DP_HEAD_VALUES];
} adding;

static void make_adding(const dp_kernel_spec *spec, const dp_head *head, adding *made) {
  const int n = head->n_sums;
  *made = (adding){.add = {.op = dp_op_find("", "Add"), .name = ""}};
  for (int k = 0, s = 0; k < spec->n_outputs; k++) {
    if (head->standing[spec->n_inputs + k] != DP_HEAD_SUM) continue;
    int32_t *numbers = &made->numbers[3 * s];
    for (int i = 0; i < 3; i++) {
      numbers[i] = i * n + s;
      made->values[numbers[i]] = spec->outputs[k];
    }
    made->members[s++] = (dp_kernel_member){made->add.op, &made->add, 2, 1, numbers, numbers + 2};
  }
  made->region = (dp_kernel_region){n, 3 * n, made->members, made->values};
  made->spec = *spec;
  made->spec.region = &made->region;
  made->spec.threads = 1;
  made->spec.n_inputs = 2 * n;
  made->spec.n_outputs = n;
  made->spec.inputs = made->values;
  made->spec.outputs = made->values + 2 * n;
}

// ---- scratch --------------------------------------------------------------------------------------------------------

// Each thread with rows has the scratch of a chunk, and each but the first has sums.
typedef struct {
  uint64_t chunk, sums;  // bytes
} rooms;

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

// room: for what is described.
static rooms measure(const dp_kernel_spec *spec, const dp_head *head, dp_members_choose *choose, dp_head_chunk *room) {
  adding sums;
  rooms found = {0};
  for (int adds = 0; adds < 2; adds++) {
    dp_head_chunk_make(spec, head, 0, head->most, adds, room);
    found.chunk = larger(found.chunk, dp_members_scratch_bytes(&room->spec, choose));
  }
  if (spec->threads == 1) return found;
  make_adding(spec, head, &sums);
  found.chunk = larger(found.chunk, dp_members_scratch_bytes(&sums.spec, choose));
  for (int k = 0; k < spec->n_outputs; k++)
    if (head->standing[spec->n_inputs + k] == DP_HEAD_SUM) found.sums += dp_members_bytes_of(&spec->outputs[k]);
  return found;
}

static uint64_t bytes_with(const dp_kernel_spec *spec, dp_members_choose *choose) {
  dp_head head;
  dp_head_chunk *room = malloc(sizeof *room);
  if (!room || !dp_head_of(spec, FEWEST_ROWS, &head)) return free(room), UINT64_MAX;
  const rooms r = measure(spec, &head, choose, room);
  free(room);
  return (uint64_t)head.most_busy * r.chunk + (uint64_t)(head.most_busy - 1) * r.sums;
}

static uint64_t scratch_bytes(const dp_kernel_spec *spec) { return bytes_with(spec, fastest); }
static uint64_t scratch_bytes_bf16(const dp_kernel_spec *spec) { return bytes_with(spec, fastest_bf16); }

// ---- what it takes --------------------------------------------------------------------------------------------------

static bool match(const dp_kernel_spec *spec) {
  dp_head head;
  return dp_head_of(spec, FEWEST_ROWS, &head) && dp_members_match(spec, fastest);
}

static bool match_bf16(const dp_kernel_spec *spec) {
  if (!dp_isa_allows_bf16(spec->isa) || !match(spec)) return false;
  for (int m = 0; m < spec->region->n_members; m++) {
    dp_member_spec member;
    dp_member_spec_make(spec->region, m, spec->region->values, &member);
    if (fastest_bf16(&member)->least_isa) return true;
  }
  return false;
}

// ---- prepare --------------------------------------------------------------------------------------------------------

typedef struct {
  dp_head_chunk of;
  void *members;
} chunk;

typedef struct {
  dp_head head;
  rooms rooms;
  chunk *chunks;
  adding adding;
  void *adds;
  atomic_int done;  // threads
} head_state;

// The first chunk of a thread's share: shares are equal.
static int first_of(const head_state *s, int part, int parts) { return s->head.count / parts * part; }

static void release(void *state) {
  head_state *s = state;
  if (!s) return;
  for (int c = 0; s->chunks && c < s->head.count; c++) dp_members_release(s->chunks[c].members);
  dp_members_release(s->adds);
  free(s->chunks);
  free(s);
}

static dp_status prepare_all(const dp_kernel_spec *spec, dp_members_choose *choose, head_state *s) {
  s->chunks = calloc((size_t)s->head.count, sizeof *s->chunks);
  if (!s->chunks) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", spec->region->n_members);
  s->rooms = measure(spec, &s->head, choose, &s->chunks[0].of);
  for (int c = 0; c < s->head.count; c++) {
    const bool adds = c % first_of(s, 1, spec->threads);
    dp_head_chunk_make(spec, &s->head, dp_head_first(&s->head, c), dp_head_rows(&s->head, c), adds, &s->chunks[c].of);
    DP_TRY(dp_members_prepare(&s->chunks[c].of.spec, choose, &s->chunks[c].members));
  }
  make_adding(spec, &s->head, &s->adding);
  return dp_members_prepare(&s->adding.spec, choose, &s->adds);
}

static dp_status prepare_with(const dp_kernel_spec *spec, dp_members_choose *choose, void **state) {
  head_state *s = calloc(1, sizeof *s);
  if (!s) return dp_fail(DP_EX_MEMORY, "out of memory for a region of %d nodes", spec->region->n_members);
  dp_status status = dp_head_of(spec, FEWEST_ROWS, &s->head) ? prepare_all(spec, choose, s)
                                                             : dp_fail(EX_SOFTWARE, "a region that is no head");
  if (status)
    release(s);
  else
    *state = s;
  return status;
}

static dp_status prepare(const dp_kernel_spec *spec, void **state) { return prepare_with(spec, fastest, state); }
static dp_status prepare_bf16(const dp_kernel_spec *spec, void **state) {
  return prepare_with(spec, fastest_bf16, state);
}

// ---- run ------------------------------------------------------------------------------------------------------------

static char *scratch_of(const head_state *s, void *scratch, int part) {
  return (char *)scratch + (uint64_t)part * (s->rooms.chunk + s->rooms.sums);
}

// Where a thread sums: the first where the results are, each other before the scratch of its chunks.
static void find_sums(const dp_kernel_spec *spec, const head_state *s, void *const *out, void *scratch, int part,
                      void **sums) {
  uint64_t at = 0;
  for (int k = 0; k < spec->n_outputs; k++) {
    if (s->head.standing[spec->n_inputs + k] != DP_HEAD_SUM) continue;
    *sums++ = part ? scratch_of(s, scratch, part) - s->rooms.sums + at : out[k];
    at += dp_members_bytes_of(&spec->outputs[k]);
  }
}

static dp_status run_chunks(const dp_kernel_spec *spec, const head_state *s, const void *const *in, void *const *out,
                            void *scratch, int part, int parts) {
  void *sums[DP_HEAD_VALUES], *to[DP_HEAD_VALUES];
  const void *from[2 * DP_HEAD_VALUES];
  find_sums(spec, s, out, scratch, part, sums);
  for (int c = first_of(s, part, parts); c < first_of(s, part + 1, parts); c++) {
    const dp_kernel_spec *of = &s->chunks[c].of.spec;
    dp_head_chunk_ends(spec, &s->head, dp_head_first(&s->head, c), in, out, sums, sums, from, to);
    DP_TRY(dp_members_run(of, s->chunks[c].members, from, to, scratch_of(s, scratch, part)));
  }
  return DP_OK;
}

static dp_status add_sums(const dp_kernel_spec *spec, const head_state *s, void *const *out, void *scratch) {
  void *ends[2 * DP_HEAD_VALUES];  // the results', then a thread's
  find_sums(spec, s, out, scratch, 0, ends);
  for (int part = 1; part < s->head.busy; part++) {
    find_sums(spec, s, out, scratch, part, ends + s->head.n_sums);
    DP_TRY(dp_members_run(&s->adding.spec, s->adds, (const void *const *)ends, ends, scratch_of(s, scratch, 0)));
  }
  return DP_OK;
}

static dp_status run(const dp_kernel_spec *spec, void *state, const void *const *in, void *const *out, void *scratch,
                     int part, int parts) {
  head_state *s = state;
  dp_status status = part < s->head.busy ? run_chunks(spec, s, in, out, scratch, part, parts) : DP_OK;
  const bool is_last = atomic_fetch_add(&s->done, 1) == parts - 1;
  if (is_last) atomic_store(&s->done, 0);
  if (status || !is_last) return status;
  return add_sums(spec, s, out, scratch);
}

#define HEAD                                                                                                           \
  .op = "Region", .domain = "dp", .types = DP_STORED, .library = true, .parts = true, .isa = true, .release = release, \
  .run = run

const dp_kernel dp_kernel_head_Region = {
    .name = "cpu.head.dp.Region",
    .priority = 10,
    .match = match,
    .scratch_bytes = scratch_bytes,
    .prepare = prepare,
    HEAD,
};

const dp_kernel dp_kernel_bf16_head_Region = {
    .name = "cpu.bf16_head.dp.Region",
    .priority = 11,
    .least_isa = DP_ISA_BF16,
    .match = match_bf16,
    .scratch_bytes = scratch_bytes_bf16,
    .prepare = prepare_bf16,
    HEAD,
};
