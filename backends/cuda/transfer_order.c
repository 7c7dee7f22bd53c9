// What of a list of copies needs no order. See transfer_part.h.
#include <string.h>

#include "backends/cuda/transfer_part.h"

static bool same_region(const dp_region *a, const dp_region *b) {
  if (a->rank != b->rank) return false;
  for (int d = 0; d < a->rank; d++) {
    if (a->n_segments[d] != b->n_segments[d] || a->target_stride[d] != b->target_stride[d] ||
        a->source_stride[d] != b->source_stride[d])
      return false;
    const size_t bytes = (size_t)a->n_segments[d] * sizeof *a->segments[d];
    if (bytes && memcmp(a->segments[d], b->segments[d], bytes) != 0) return false;
  }
  return true;
}

static bool adds_to(const dp_copy *first, const dp_copy *next) {
  return next->action != DP_REGION_COPY && next->target == first->target && same_region(&first->region, &next->region);
}

int dp_cuda_transfer_addends(const dp_transfer *from) {
  const int n = from->n_parts ? from->first[1] - from->first[0] : 0;
  if (n < 2 || from->by_copies) return 0;
  const dp_region_action action = from->copies[1].action;
  for (int p = 0; p < from->n_parts; p++) {
    const dp_copy *copies = &from->copies[from->first[p]];
    if (from->first[p + 1] - from->first[p] != n || copies->action != DP_REGION_COPY) return 0;
    for (int i = 1; i < n; i++)
      if (copies[i].action != action || !adds_to(copies, &copies[i])) return 0;
  }
  return n;
}

// Both lists go up.
static bool lie_apart(int n, const dp_segment *a, int m, const dp_segment *b) {
  for (int i = 0, j = 0; i < n && j < m;) {
    if (a[i].target + a[i].length <= b[j].target)
      i++;
    else if (b[j].target + b[j].length <= a[i].target)
      j++;
    else
      return false;
  }
  return true;
}

static bool write_apart(const dp_copy *a, const dp_copy *b) {
  const dp_region *p = &a->region, *q = &b->region;
  if (a->target != b->target || p->rank != q->rank) return false;
  for (int d = 0; d < p->rank; d++)
    if (p->target_stride[d] != q->target_stride[d]) return false;
  for (int d = 0; d < p->rank; d++)
    if (lie_apart(p->n_segments[d], p->segments[d], q->n_segments[d], q->segments[d])) return true;
  return false;
}

bool dp_cuda_transfer_copies_alike(const dp_transfer *from) {
  const int n = from->n_parts > 1 ? from->first[1] - from->first[0] : 0;
  if (!n || from->by_copies || !dp_cuda_transfer_writes_apart(from)) return false;
  for (int p = 1; p < from->n_parts; p++) {
    const dp_copy *copies = &from->copies[from->first[p]];
    if (from->first[p + 1] - from->first[p] != n) return false;
    for (int i = 0; i < n; i++)
      if (copies[i].source != from->copies[i].source || copies[i].target == from->copies[i].target ||
          !same_region(&copies[i].region, &from->copies[i].region))
        return false;
  }
  return true;
}

bool dp_cuda_transfer_writes_apart(const dp_transfer *from) {
  for (int p = 0; p < from->n_parts; p++)
    for (int i = from->first[p]; i < from->first[p + 1]; i++) {
      if (from->copies[i].action != DP_REGION_COPY) return false;
      for (int j = from->first[p]; j < i; j++)
        if (!write_apart(&from->copies[i], &from->copies[j])) return false;
    }
  return true;
}
