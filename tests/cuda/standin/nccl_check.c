// Whether the calls of all ranks fit together: kinds, counts, types, operations, roots and peers.
#include <stdio.h>
#include <string.h>

#include "tests/cuda/standin/nccl.h"

static const char *const kinds[] = {"nccl all-reduce", "nccl reduce-scatter", "nccl all-gather", "nccl reduce",
                                    "nccl broadcast",  "nccl send",           "nccl receive"};
static const char *const types[] = {"int8",   "uint8",   "int32",   "uint32",  "int64",
                                    "uint64", "float16", "float32", "float64", "bfloat16"};
static const size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

const char *nccl_kind_name(nccl_kind kind) { return kinds[kind]; }

size_t nccl_type_bytes(int type) { return type >= 0 && type < 10 ? bytes[type] : 0; }

static bool between_two(const nccl_call *c) { return c->kind == NCCL_SEND || c->kind == NCCL_RECEIVE; }

size_t nccl_given(const nccl_call *c, int ranks) {
  if (c->kind == NCCL_RECEIVE || (c->kind == NCCL_BROADCAST && c->rank != c->other)) return 0;
  return c->kind == NCCL_REDUCE_SCATTER ? c->count * (size_t)ranks : c->count;
}

size_t nccl_got(const nccl_call *c, int ranks) {
  if (c->kind == NCCL_SEND || (c->kind == NCCL_REDUCE && c->rank != c->other)) return 0;
  return c->kind == NCCL_ALL_GATHER ? c->count * (size_t)ranks : c->count;
}

static void describe(const nccl_call *c, char text[160]) {
  int length = snprintf(text, 160, "%s of %zu %s", kinds[c->kind] + strlen("nccl "), c->count, types[c->type]);
  if (c->op >= 0) length += snprintf(text + length, 160 - (size_t)length, ", operation %d", c->op);
  if (c->other >= 0)
    snprintf(text + length, 160 - (size_t)length, ", %s %d", between_two(c) ? "peer" : "root", c->other);
}

static void say(const char *what) { fprintf(stderr, "NCCL stand-in: %s\n", what); }

static bool alike(const nccl_call *a, const nccl_call *b) {
  return a->kind == b->kind && a->count == b->count && a->type == b->type && a->op == b->op && a->other == b->other;
}

// Call number k of a rank that all ranks make alike; NULL: it has fewer.
static nccl_call *find(const nccl_job *job, int rank, int k) {
  for (int i = 0; i < job->n_calls; i++)
    if (job->calls[i].rank == rank && !between_two(&job->calls[i]) && job->calls[i].among == k) return &job->calls[i];
  return NULL;
}

static int count_alike(nccl_job *job) {
  int most = 0;
  for (int rank = 0; rank < job->n; rank++) {
    int count = 0;
    for (int i = 0; i < job->n_calls; i++)
      if (job->calls[i].rank == rank && !between_two(&job->calls[i])) job->calls[i].among = count++;
    if (count > most) most = count;
  }
  return most;
}

static bool check_alike(nccl_job *job) {
  char text[512], one[160], other[160];
  const int most = count_alike(job);
  for (int k = 0; k < most; k++) {
    const nccl_call *first = NULL;
    for (int rank = 0; rank < job->n && !first; rank++) first = find(job, rank, k);
    for (int rank = 0; rank < job->n; rank++) {
      const nccl_call *mine = find(job, rank, k);
      if (mine && alike(mine, first)) continue;
      describe(first, one);
      if (mine)
        describe(mine, other);
      else
        snprintf(other, sizeof other, "nothing");
      snprintf(text, sizeof text, "call %d of a group: rank %d calls %s, and rank %d calls %s", k + 1, first->rank, one,
               rank, other);
      say(text);
      return false;
    }
  }
  return true;
}

// A send takes the first receive of its peer that no send has taken.
static bool pair_up(nccl_job *job, int at) {
  const nccl_call *c = &job->calls[at];
  for (int i = 0; i < job->n_calls && c->pair < 0; i++) {
    nccl_call *other = &job->calls[i];
    if (i == at || !between_two(other) || other->kind == c->kind || other->pair >= 0 || other->rank != c->other ||
        other->other != c->rank)
      continue;
    other->pair = at;
    job->calls[at].pair = i;
  }
  if (c->pair >= 0 &&
      job->calls[c->pair].count * nccl_type_bytes(job->calls[c->pair].type) == c->count * nccl_type_bytes(c->type))
    return true;
  char text[512], one[160], other[160] = "nothing";
  describe(c, one);
  if (c->pair >= 0) describe(&job->calls[c->pair], other);
  snprintf(text, sizeof text, "rank %d calls %s, and rank %d calls %s", c->rank, one, c->other, other);
  say(text);
  return false;
}

bool nccl_job_check(nccl_job *job) {
  for (int i = 0; i < job->n_calls; i++) job->calls[i].pair = -1;
  if (!check_alike(job)) return false;
  for (int i = 0; i < job->n_calls; i++)
    if (between_two(&job->calls[i]) && job->calls[i].pair < 0 && !pair_up(job, i)) return false;
  return true;
}
