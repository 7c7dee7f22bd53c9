// See pool_tiles.h.
#include "backends/cuda/windows/pool_tiles.h"

#include <stdio.h>

#include "backends/cuda/device/pool.h"

// A cell that a thread computes has at most so many elements, and so many windows that cover some of it.
enum { CELL_ELEMENTS = 16, CELL_COVERS = 9 };
// In NHWC: vectors of channels, and cells along a dim, that a tile has at most: 18 x 10 windows of 24 bytes a vector
// fit into shared memory.
enum { NHWC_VECTORS = 8, NHWC_CELLS = 10 };
enum { ENOUGH_BLOCKS = 1024 };  // that keep a GPU busy

static int64_t pieces(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

static int64_t covers(const dp_window *w, int d) { return (w->kernel[d] - 1) / w->stride[d] + 1; }

// The cells of a plane along dim d.
static int64_t cells(const dp_window *w, int d) {
  return (w->x[d] - 1 + w->pad[d]) / w->stride[d] + 1 - w->pad[d] / w->stride[d];
}

// Whether a block can take tiles of these extents.
static bool fits(const dp_window *w, int64_t planes, const dp_pool_tiles *t) {
  const int64_t slots = planes * (t->rows + covers(w, 1) - 1) * (t->columns + covers(w, 2) - 1);
  const int64_t elements = planes * t->rows * w->stride[1] * t->columns * w->stride[2];
  const bool is_least = planes == 1 && t->rows == 1 && t->columns == 1;
  return slots <= DP_POOL_TILE_SLOTS && (elements <= DP_POOL_TILE_ELEMENTS || is_least);
}

bool dp_cuda_pool_is_flat(const dp_window *w) {
  bool flat = w->x[0] == 1 && w->y[0] == 1 && w->kernel[0] == 1;
  for (int d = 1; d < 3; d++) flat &= w->dilation[d] == 1 || w->kernel[d] == 1;
  return flat;
}

// What a thread computes is small.
static bool is_by_cells(const dp_window *w) {
  return w->stride[1] * w->stride[2] <= CELL_ELEMENTS && covers(w, 1) * covers(w, 2) <= CELL_COVERS;
}

// Sets how many there are of tiles whose extents are known.
static void count_tiles(const dp_window *w, int64_t of_each, dp_pool_tiles *t) {
  t->in_rows = pieces(cells(w, 1), t->rows);
  t->in_columns = pieces(cells(w, 2), t->columns);
  t->blocks = of_each * t->in_rows * t->in_columns;
}

// NHWC_CELLS or fewer, so that as many pieces are of one size.
static int64_t even_part(int64_t whole) { return pieces(whole, pieces(whole, NHWC_CELLS)); }

bool dp_cuda_pool_tiles_nhwc(const dp_window *w, int64_t samples, int64_t vectors, dp_pool_tiles *tiles) {
  if (!dp_cuda_pool_is_flat(w) || !is_by_cells(w) || w->kernel_plane > DP_POOL_VECTOR_TAPS) return false;
  dp_pool_tiles t = {.vectors = dp_min_i64(vectors, NHWC_VECTORS),
                     .rows = even_part(cells(w, 1)),
                     .columns = even_part(cells(w, 2)),
                     .by_cells = true};
  count_tiles(w, samples * pieces(vectors, t.vectors), &t);
  *tiles = t;
  return true;
}

bool dp_cuda_pool_tiles(const dp_window *w, int64_t planes, dp_pool_tiles *tiles) {
  if (!dp_cuda_pool_is_flat(w) || covers(w, 1) > DP_POOL_TILE_SLOTS || covers(w, 2) > DP_POOL_TILE_SLOTS) return false;
  dp_pool_tiles t = {.planes = 1, .rows = cells(w, 1), .columns = cells(w, 2)};
  while (fits(w, t.planes + 1, &t) && planes / (t.planes + 1) >= ENOUGH_BLOCKS) t.planes++;
  // Rows are cut first, as what is contiguous is read together, but not below the windows that tiles then share.
  while (!fits(w, t.planes, &t)) {
    if (t.rows > 1 && (t.rows > 4 * covers(w, 1) || t.columns == 1))
      t.rows = pieces(t.rows, 2);
    else if (t.columns > 1)
      t.columns = pieces(t.columns, 2);
    else
      return false;
  }
  count_tiles(w, pieces(planes, t.planes), &t);
  t.by_cells = is_by_cells(w);
  *tiles = t;
  return true;
}

void dp_cuda_pool_tiles_write(const dp_window *w, const dp_pool_tiles *t, char *text, size_t room) {
  const struct {
    const char *name;
    int64_t value;
  } constants[] = {{"CELL_ROWS", w->stride[1]},     {"CELL_COLUMNS", w->stride[2]}, {"COVER_ROWS", covers(w, 1)},
                   {"COVER_COLUMNS", covers(w, 2)}, {"TILE_PLANES", t->planes},     {"TILE_ROWS", t->rows},
                   {"TILE_COLUMNS", t->columns},    {"TILE_VECTORS", t->vectors},   {"ROW_TILES", t->in_rows},
                   {"COLUMN_TILES", t->in_columns}, {"CELLS", t->by_cells}};
  size_t n = 0;
  *text = 0;
  for (size_t i = 0; i < DP_COUNT(constants) && n < room; i++)
    n += (size_t)snprintf(text + n, room - n, "#define %s %lld\n", constants[i].name, (long long)constants[i].value);
}
