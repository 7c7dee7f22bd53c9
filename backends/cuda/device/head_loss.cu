// The negative logarithm of each label's probability from scores of type T; and where it is wanted, dloss / divisor *
// (softmax(scores) - onehot(label)) in their place, with 0 behind each row, or NaN where a row's gradient is. As if
// scores were cast to float32, and the gradient from it.
//
// A block has `each` neighbouring rows, one after the other. A thread has VECTORS vectors of each row and keeps the
// first HELD of them in registers; where it has put the gradient of one, it fetches the next row's, so that memory is
// never idle for long. What is not held is read twice.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/halves.h"
#include "backends/cuda/device/head_loss.h"
#include "backends/cuda/device/labels.h"
#include "backends/cuda/device/pairs.h"
#include "backends/cuda/device/vectors.h"

// A vector's words are two elements of 16 bits each, or a float. PAIR, OF_PAIR and PAIR_MAX: of T, if it has 16 bits.
#ifdef PAIR
typedef dp_u32 LOCAL(word);
#define ELEMENT(word, h) OF_PAIR(word, h)
#define LARGER(x, y) PAIR_MAX(x, y)
#define WORD(x) PAIR((x)[0], (x)[1])
// exp(z - top), from what `about` made of top.
DP_DEVICE float LOCAL(about)(float top) { return -top; }
DP_DEVICE float LOCAL(exp)(float z, float about) { return dp_half_exp2((z + about) * 1.4426950408889634f); }
#else
typedef T LOCAL(word);
#define ELEMENT(word, h) (word)
#define LARGER(x, y) fmaxf(x, y)
#define WORD(x) ((x)[0])
DP_DEVICE float LOCAL(about)(float top) { return -top; }
DP_DEVICE float LOCAL(exp)(float z, float about) { return expf(z + about); }
#endif

enum {
  LOCAL(per) = sizeof(LOCAL(word)) / sizeof(T),  // elements of a word
  LOCAL(words) = DP_HEAD_LOSS_VECTOR / sizeof(LOCAL(word)),
  LOCAL(each) = LOCAL(words) * LOCAL(per),
  LOCAL(warps) = DP_HEAD_LOSS_THREADS / DP_WARP
};

typedef struct DP_ALIGNED(DP_HEAD_LOSS_VECTOR) {
  LOCAL(word) e[LOCAL(words)];
} LOCAL(vector);

DP_LABELS(LOCAL(weight))

DP_DEVICE LOCAL(vector) * LOCAL(row)(const dp_head_loss_arguments *a, dp_i64 row) {
  return (LOCAL(vector) *)((T *)a->loss.scores + row * a->pitch);
}

// Vector k of a row. What is behind the classes counts as -infinity.
DP_DEVICE LOCAL(vector) LOCAL(read)(const dp_head_loss_arguments *a, dp_i64 row, int k) {
  const int left = (int)a->loss.classes - k * LOCAL(each);
  LOCAL(vector) v = {{0}};
  if (left > 0) v = LOCAL(row)(a, row)[k];
  if (left >= LOCAL(each)) return v;
  DP_UNROLL
  for (int w = 0; w < LOCAL(words); w++) {
    float x[2];
    for (int h = 0; h < LOCAL(per); h++) x[h] = w * LOCAL(per) + h < left ? ELEMENT(v.e[w], h) : -(float)DP_INFINITY;
    v.e[w] = WORD(x);
  }
  return v;
}

// The largest of numbers that are no NaN, and the sum of exponentials relative to it. None is larger than -infinity:
// then they are relative to 0.
typedef struct {
  float top;
  double sum;
} LOCAL(part);

DP_DEVICE float LOCAL(base)(float top) { return LOCAL(about)(top == -(float)DP_INFINITY ? 0.0f : top); }

DP_DEVICE void LOCAL(add)(float *top, float *sum, const LOCAL(vector) * v, int count) {
  LOCAL(word) most = v[0].e[0];
  DP_UNROLL
  for (int k = 0; k < count; k++) {
    DP_UNROLL
    for (int w = 0; w < LOCAL(words); w++) most = LARGER(most, v[k].e[w]);
  }
  float larger = *top;
  for (int h = 0; h < LOCAL(per); h++) larger = fmaxf(larger, ELEMENT(most, h));
  if (larger > *top) {
    *sum *= LOCAL(exp)(*top, LOCAL(base)(larger));
    *top = larger;
  }
  const float about = LOCAL(base)(*top);
  DP_UNROLL
  for (int k = 0; k < count; k++) {
    DP_UNROLL
    for (int w = 0; w < LOCAL(words); w++)
      for (int h = 0; h < LOCAL(per); h++) *sum += LOCAL(exp)(ELEMENT(v[k].e[w], h), about);
  }
}

// Of the warp's threads.
DP_DEVICE LOCAL(part) LOCAL(join)(LOCAL(part) mine) {
  const float top = dp_warp_max_float(mine.top);
  const LOCAL(part) all = {top, dp_warp_sum(mine.sum * (double)LOCAL(exp)(mine.top, LOCAL(base)(top)))};
  return all;
}

// Of the block's threads, for all of them. parts: (warps), and not those of the row before.
DP_DEVICE LOCAL(part) LOCAL(joined)(float top, float sum, LOCAL(part) * parts) {
  const int lane = dp_thread() % DP_WARP, warps = dp_threads() / DP_WARP;
  const LOCAL(part) mine = {top, (double)sum}, none = {-(float)DP_INFINITY, 0}, of_warp = LOCAL(join)(mine);
  if (lane == 0) parts[dp_thread() / DP_WARP] = of_warp;
  dp_barrier();
  return LOCAL(join)(lane < warps ? parts[lane] : none);
}

// What takes the place of a vector, of which element `own` is the label's. share: a factor of exponentials.
DP_DEVICE LOCAL(vector) LOCAL(gradient)(const LOCAL(vector) * v, float about, float share, int own, float factor) {
  LOCAL(vector) made;
  DP_UNROLL
  for (int w = 0; w < LOCAL(words); w++) {
    float x[2];
    for (int h = 0; h < LOCAL(per); h++) x[h] = LOCAL(exp)(ELEMENT(v->e[w], h), about) * share;
    if (own >= 0 && own / LOCAL(per) == w)
      for (int h = 0; h < LOCAL(per); h++) x[h] -= own % LOCAL(per) == h ? factor : 0.0f;
    made.e[w] = WORD(x);
  }
  return made;
}

DP_BOUNDED_KERNEL(dp_head_loss_arguments, DP_HEAD_LOSS_THREADS, 1) {
  DP_SHARED LOCAL(part) parts[2][LOCAL(warps)], rows[DP_HEAD_LOSS_ROWS];
  DP_SHARED float of_label[DP_HEAD_LOSS_ROWS];  // its score
  const dp_i64 first = dp_block() * a.each, end = first + a.each < a.rows ? first + a.each : a.rows;
  const int all = (int)(a.pitch / LOCAL(each));
  const float factor = a.loss.dloss ? (float)((double)*(const float *)a.loss.dloss / a.loss.divisor) : 0;
  LOCAL(vector) held[HELD];
  DP_UNROLL
  for (int u = 0; u < HELD; u++) held[u] = LOCAL(read)(&a, first, u * dp_threads() + dp_thread());
  for (dp_i64 r = first; r < end; r++) {
    dp_i64 label = 0;
    const bool counts = LOCAL(weight)(&a.loss, a.first + r, &label) != 0;
    if (dp_thread() == 0) of_label[r - first] = GET(((const T *)LOCAL(row)(&a, r))[label]);
    float top = -(float)DP_INFINITY, sum = 0;
    LOCAL(add)(&top, &sum, held, HELD);
    for (int u = HELD; u < VECTORS; u++) {
      const LOCAL(vector) v = LOCAL(read)(&a, r, u * dp_threads() + dp_thread());
      LOCAL(add)(&top, &sum, &v, 1);
    }
    const LOCAL(part) row = LOCAL(joined)(top, sum, parts[(r - first) % 2]);
    if (dp_thread() == 0) rows[r - first] = row;
    // NaN if the largest is infinite.
    const float about = LOCAL(about)(row.top), share = factor / (float)row.sum + (row.top - row.top);
    const int vector = (int)(label / LOCAL(each)), own = (int)(label % LOCAL(each));
    DP_UNROLL
    for (int u = 0; u < VECTORS; u++) {
      const int k = u * dp_threads() + dp_thread();
      if (k < all && a.loss.dloss) {
        const LOCAL(vector) v = u < HELD ? held[u < HELD ? u : 0] : LOCAL(read)(&a, r, k);
        LOCAL(vector) y = LOCAL(gradient)(&v, about, share, k == vector ? own : -1, factor);
        DP_UNROLL
        for (int w = 0; w < LOCAL(words); w++) y.e[w] = counts ? y.e[w] : 0;
        LOCAL(row)(&a, r)[k] = y;
      }
      if (u < HELD && r + 1 < end) held[u < HELD ? u : 0] = LOCAL(read)(&a, r + 1, k);
    }
  }
  dp_barrier();
  const dp_i64 r = dp_thread();
  if (r >= end - first) return;
  const double top = (double)rows[r].top;
  dp_i64 label;
  const bool counts = LOCAL(weight)(&a.loss, a.first + first + r, &label) != 0;
  a.loss.losses[a.first + first + r] = counts ? top + log(rows[r].sum) + (top - top) - (double)of_label[r] : 0;
}
