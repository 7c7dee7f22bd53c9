// What is made of the exponentials of rows of type T: MADE, one of exponential_rows.h. A row has THREADS threads, a
// warp or a block, and of each thread VECTORS vectors of WIDTH elements, and one element of the row's ends, where
// vectors would reach beyond it. The first HELD vectors are kept in registers, so that memory is read once; more of
// them are read again, from a cache. Every element is read and written by the same thread, so that y may be x.
//
// Elements that equal the largest are counted, and the exponentials of the others added: so the logarithm of a sum
// just above 1 is as exact as they are.
#include "backends/cuda/device/block.h"
#include "backends/cuda/device/exponential_rows.h"
#include "backends/cuda/device/halves.h"
#include "backends/cuda/device/pairs.h"
#include "backends/cuda/device/vectors.h"
#ifdef LABEL
#include "backends/cuda/device/labels.h"
DP_LABELS(LOCAL(weight))
#endif

// A vector's words are two elements of 16 bits each, or a float. PAIR, OF_PAIR and PAIR_MAX: of T, if it has 16 bits.
#ifdef PAIR
typedef dp_u32 LOCAL(word);
#define ELEMENT(word, h) OF_PAIR(word, h)
#define LARGER(x, y) PAIR_MAX(x, y)
#define WORD(x) PAIR((x)[0], (x)[1])
#else
typedef T LOCAL(word);
#define ELEMENT(word, h) (word)
#define LARGER(x, y) fmaxf(x, y)
#define WORD(x) ((x)[0])
#endif

enum { LOCAL(per) = sizeof(LOCAL(word)) / sizeof(T), LOCAL(words) = WIDTH / LOCAL(per) };

typedef struct DP_ALIGNED(WIDTH * sizeof(T)) {
  LOCAL(word) e[LOCAL(words)];
} LOCAL(vector);

enum { LOCAL(warps) = THREADS / DP_WARP, LOCAL(block) = THREADS > DP_WARP ? THREADS : 8 * DP_WARP };

// Exponentials of numbers of 16 bits are the GPU's approximations.
DP_DEVICE W LOCAL(exp)(W x) { return sizeof(T) == 2 ? dp_half_exp2(x * 1.4426950408889634f) : expf(x); }

// Where a thread's elements are: vector k, if it is less than `vectors`, at `head` + k * WIDTH; the one of the ends at
// `edge`, if that is not -1.
typedef struct {
  int thread, vectors;
  dp_i64 head, edge;
} LOCAL(place);

DP_DEVICE LOCAL(place) LOCAL(place_of)(dp_i64 row, dp_i64 length, dp_i64 aligned) {
  LOCAL(place) p;
  p.thread = dp_thread() % THREADS;
  p.head = aligned ? (WIDTH - row * length % WIDTH) % WIDTH : 0;
  if (p.head > length) p.head = length;
  p.vectors = (int)((length - p.head) / WIDTH);
  p.edge = p.thread < p.head ? p.thread : p.thread + (dp_i64)p.vectors * WIDTH;
  if (p.edge >= length) p.edge = -1;
  return p;
}

// The largest, and the sum, of the row's threads. shared: (warps)
DP_DEVICE W LOCAL(most)(W mine, W *shared) {
  const int lane = dp_thread() % DP_WARP;
  mine = dp_warp_max_float(mine);
  if (LOCAL(warps) == 1) return mine;
  if (lane == 0) shared[dp_thread() / DP_WARP] = mine;
  dp_barrier();
  return dp_warp_max_float(shared[lane % LOCAL(warps)]);
}
DP_DEVICE double LOCAL(sum)(double mine, double *shared) {
  const int lane = dp_thread() % DP_WARP;
  mine = dp_warp_sum(mine);
  if (LOCAL(warps) == 1) return mine;
  if (lane == 0) shared[dp_thread() / DP_WARP] = mine;
  dp_barrier();
  return dp_warp_sum(lane < LOCAL(warps) ? shared[lane] : 0);
}

// What is known of a row.
typedef struct {
  W top;             // the largest that is no NaN
  double sum;        // of exponentials relative to it; or to 0, if it is infinite
  W share, log_sum;  // of softmax and its logarithm; NaN if a number is NaN or the largest infinite
  bool counts;       // whether the loss's gradient is not 0
  W factor;          // of that
  dp_i64 label;
} LOCAL(row);

// Vector k of the row; -infinity if it has none.
DP_DEVICE LOCAL(vector) LOCAL(read)(const T *x, const LOCAL(place) * place, int k, dp_i64 aligned) {
  const W none[2] = {-(W)DP_INFINITY, -(W)DP_INFINITY};
  LOCAL(vector) v;
  DP_UNROLL
  for (int w = 0; w < LOCAL(words); w++) v.e[w] = WORD(none);
  if (k >= place->vectors) return v;
  x += place->head + k * WIDTH;
  if (aligned) return *(const LOCAL(vector) *)x;
  for (int w = 0; w < LOCAL(words); w++) {
    W z[2];
    for (int h = 0; h < LOCAL(per); h++) z[h] = GET(x[w * LOCAL(per) + h]);
    v.e[w] = WORD(z);
  }
  return v;
}

DP_DEVICE void LOCAL(enlarge)(LOCAL(word) * most, const LOCAL(vector) * v) {
  DP_UNROLL
  for (int w = 0; w < LOCAL(words); w++) *most = LARGER(*most, v->e[w]);
}

DP_DEVICE void LOCAL(add)(double *below, int *equal, const LOCAL(vector) * v, W base) {
  W sum = 0;
  DP_UNROLL
  for (int w = 0; w < LOCAL(words); w++)
    for (int h = 0; h < LOCAL(per); h++) {
      const W z = ELEMENT(v->e[w], h) - base;
      *equal += z == 0;
      sum += z == 0 ? 0 : LOCAL(exp)(z);
    }
  *below += (double)sum;
}

// What takes the place of an element; own: whether it is the label's.
DP_DEVICE W LOCAL(made)(const LOCAL(row) * row, W x, bool own) {
  const W z = x - row->top;
  if (MADE == DP_ROWS_SOFTMAX) return LOCAL(exp)(z) * row->share;
  if (MADE != DP_ROWS_LOSS_GRADIENT) return z - row->log_sum;
  return row->counts ? row->factor * (LOCAL(exp)(z) * row->share - (own ? 1 : 0)) : 0;
}

// Writes vector k of the result.
DP_DEVICE void LOCAL(write)(T *y, const LOCAL(place) * place, int k, dp_i64 aligned, const LOCAL(row) * row,
                            const LOCAL(vector) * v) {
  if (k >= place->vectors) return;
  const int first = (int)place->head + k * WIDTH, own = (int)row->label - first;
  LOCAL(vector) made;
  y += first;
  DP_UNROLL
  for (int w = 0; w < LOCAL(words); w++) {
    W z[2];
    for (int h = 0; h < LOCAL(per); h++) {
      const int at = w * LOCAL(per) + h;
      z[h] = LOCAL(made)(row, ELEMENT(v->e[w], h), at == own);
      if (!aligned) y[at] = PUT(z[h]);
    }
    made.e[w] = WORD(z);
  }
  if (aligned) *(LOCAL(vector) *)y = made;
}

DP_BOUNDED_KERNEL(dp_exponential_rows_arguments, LOCAL(block), 1) {
  DP_SHARED W tops[LOCAL(warps)];
  DP_SHARED double sums[LOCAL(warps)];
  const dp_i64 i = dp_index() / THREADS;
  if (i >= a.rows) return;
  const T *x = (const T *)a.x + i * a.length;
  const LOCAL(place) place = LOCAL(place_of)(i, a.length, a.aligned);
  LOCAL(vector) v[HELD];
  DP_UNROLL
  for (int u = 0; u < HELD; u++) v[u] = LOCAL(read)(x, &place, u * THREADS + place.thread, a.aligned);
  const W edge = place.edge < 0 ? -(W)DP_INFINITY : GET(x[place.edge]);

  const W none[2] = {-(W)DP_INFINITY, -(W)DP_INFINITY};
  LOCAL(word) most = WORD(none);
  DP_UNROLL
  for (int u = 0; u < HELD; u++) LOCAL(enlarge)(&most, &v[u]);
  for (int u = HELD; u < VECTORS; u++) {
    const LOCAL(vector) next = LOCAL(read)(x, &place, u * THREADS + place.thread, a.aligned);
    LOCAL(enlarge)(&most, &next);
  }
  LOCAL(row) row = {fmaxf(-(W)DP_INFINITY, edge), 0, 0, 0, false, 0, 0};
  for (int h = 0; h < LOCAL(per); h++) row.top = fmaxf(row.top, ELEMENT(most, h));
  row.top = LOCAL(most)(row.top, tops);

  const W base = row.top - row.top == 0 ? row.top : 0;
  int equal = edge == base;
  double below = edge == base ? 0 : (double)LOCAL(exp)(edge - base);
  DP_UNROLL
  for (int u = 0; u < HELD; u++) LOCAL(add)(&below, &equal, &v[u], base);
  for (int u = HELD; u < VECTORS; u++) {
    const LOCAL(vector) next = LOCAL(read)(x, &place, u * THREADS + place.thread, a.aligned);
    LOCAL(add)(&below, &equal, &next, base);
  }
  row.sum = LOCAL(sum)(below + equal, sums);
  row.share = (W)(1 / row.sum) + (row.top - row.top);
  row.log_sum = (W)log(row.sum) + (row.top - row.top);

  if (MADE == DP_ROWS_LOG_SUM) {
    if (place.thread == 0) ((T *)a.y)[i] = PUT(log(row.sum) + (double)base);
    return;
  }
  T *y = (T *)a.y + i * a.length;
#ifdef LABEL
  if (MADE == DP_ROWS_LOSS) {
    if (place.thread == 0) {
      const double weight = LOCAL(weight)(&a.loss, i, &row.label);
      const double log_sum = log(row.sum) + (double)(row.top - row.top);
      // The scores of an ignored label do not count, not even NaN.
      const double loss = weight == 0 ? 0 : -weight * ((double)GET(x[row.label]) - (double)row.top - log_sum);
      if (a.loss.per_label)
        ((T *)a.loss.y)[i] = PUT(loss);
      else
        a.loss.losses[i] = loss;
    }
    if (!a.y) return;
  } else {
    const double weight = LOCAL(weight)(&a.loss, i, &row.label);
    const double divisor = a.loss.divisor != 0 ? a.loss.divisor : *a.loss.sums;
    const double dloss = (double)GET(((const T *)a.loss.dloss)[a.loss.per_label ? i : 0]);
    row.counts = weight != 0;
    row.factor = (W)(weight * dloss / divisor);
  }
#endif
  DP_UNROLL
  for (int u = 0; u < HELD; u++) LOCAL(write)(y, &place, u * THREADS + place.thread, a.aligned, &row, &v[u]);
  for (int u = HELD; u < VECTORS; u++) {
    const LOCAL(vector) next = LOCAL(read)(x, &place, u * THREADS + place.thread, a.aligned);
    LOCAL(write)(y, &place, u * THREADS + place.thread, a.aligned, &row, &next);
  }
  if (place.edge >= 0) y[place.edge] = PUT(LOCAL(made)(&row, edge, place.edge == row.label));
}
