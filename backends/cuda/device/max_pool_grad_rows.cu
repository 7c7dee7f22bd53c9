// The gradient of MaxPool over type T in NHWC, a tile of dx for each block: TILE_ROWS x TILE_COLUMNS cells of
// TILE_VECTORS vectors of channels. As in max_pool_grad_tiles.cu, which says what cells are, the block searches each
// window that covers any of the tile once, and keeps it beside the window's dy.
#include "backends/cuda/device/pool_rows.h"

#define SLOT_ROWS (TILE_ROWS + COVER_ROWS - 1)
#define SLOT_COLUMNS (TILE_COLUMNS + COVER_COLUMNS - 1)

enum { DP_POOL_NO_TAP = 255 };
typedef struct DP_ALIGNED(VECTOR) {
  unsigned char e[VECTOR];
} LOCAL(taps);

// Adds up a cell of dx, whose first element is at (row, column), of the windows of slot `slot` and those before it. dx:
// where the sample's first pixel has these channels.
DP_DEVICE void LOCAL(cell)(LOCAL(vector) * dx, int row, int column, const LOCAL(taps) * best,
                           const LOCAL(vector) * given, int slot) {
  LOCAL(taps) of[COVER_ROWS * COVER_COLUMNS];
  LOCAL(vector) dy[COVER_ROWS * COVER_COLUMNS];
  DP_UNROLL
  for (int m = 0; m < COVER_ROWS * COVER_COLUMNS; m++) {
    const int from = slot - (m / COVER_COLUMNS * SLOT_COLUMNS + m % COVER_COLUMNS) * TILE_VECTORS;
    of[m] = best[from];
    dy[m] = given[from];
  }
  DP_UNROLL
  for (int j = 0; j < CELL_ROWS * CELL_COLUMNS; j++) {
    const int j1 = j / CELL_COLUMNS, j2 = j % CELL_COLUMNS;
    W sum[VECTOR];
    LOCAL(vector) made;
    DP_UNROLL
    for (int v = 0; v < VECTOR; v++) sum[v] = 0;
    DP_UNROLL
    for (int m = COVER_ROWS * COVER_COLUMNS - 1; m >= 0; m--) {
      const int t1 = j1 + m / COVER_COLUMNS * CELL_ROWS, t2 = j2 + m % COVER_COLUMNS * CELL_COLUMNS;
      if (t1 >= dp_pool_kernel(1) || t2 >= dp_pool_kernel(2)) continue;
      DP_UNROLL
      for (int v = 0; v < VECTOR; v++) sum[v] += of[m].e[v] == t1 * dp_pool_kernel(2) + t2 ? GET(dy[m].e[v]) : 0;
    }
    DP_UNROLL
    for (int v = 0; v < VECTOR; v++) made.e[v] = PUT(sum[v]);
    const int inside = row + j1 >= 0 && row + j1 < dp_pool_x(1) && column + j2 >= 0 && column + j2 < dp_pool_x(2);
    if (inside) dx[(dp_i64)((row + j1) * dp_pool_x(2) + column + j2) * VECTORS] = made;
  }
}

DP_BLOCK_KERNEL(dp_pool_arguments) {
  // (SLOT_ROWS, SLOT_COLUMNS, TILE_VECTORS)
  DP_SHARED LOCAL(taps) best[SLOT_ROWS * SLOT_COLUMNS * TILE_VECTORS];
  DP_SHARED LOCAL(vector) given[SLOT_ROWS * SLOT_COLUMNS * TILE_VECTORS];
  const int vector_tiles = (VECTORS + TILE_VECTORS - 1) / TILE_VECTORS;
  const int first = (int)(dp_block() % vector_tiles) * TILE_VECTORS;
  const int tile = (int)(dp_block() / vector_tiles % (ROW_TILES * COLUMN_TILES));
  const dp_i64 n = dp_block() / vector_tiles / (ROW_TILES * COLUMN_TILES);
  // The tile's first cell.
  const int o1 = dp_pool_pad(1) / CELL_ROWS + tile / COLUMN_TILES * TILE_ROWS;
  const int o2 = dp_pool_pad(2) / CELL_COLUMNS + tile % COLUMN_TILES * TILE_COLUMNS;
  const LOCAL(vector) *x = (const LOCAL(vector) *)a.x + n * dp_pool_x_plane() * VECTORS + first;
  const LOCAL(vector) *dy = (const LOCAL(vector) *)a.dy + n * dp_pool_y_plane() * VECTORS + first;
  LOCAL(vector) *dx = (LOCAL(vector) *)a.result + n * dp_pool_x_plane() * VECTORS + first;

  for (int i = dp_thread(); i < SLOT_ROWS * SLOT_COLUMNS * TILE_VECTORS; i += dp_threads()) {
    const int l = i % TILE_VECTORS, slot = i / TILE_VECTORS;
    const int r = o1 - (COVER_ROWS - 1) + slot / SLOT_COLUMNS, c = o2 - (COVER_COLUMNS - 1) + slot % SLOT_COLUMNS;
    const int is_window = first + l < VECTORS && r >= 0 && r < dp_pool_y(1) && c >= 0 && c < dp_pool_y(2);
    W most[VECTOR];
    int taps[VECTOR];
    DP_UNROLL
    for (int v = 0; v < VECTOR; v++) taps[v] = -1;
    if (is_window) {
      given[i] = dy[(dp_i64)(r * dp_pool_y(2) + c) * VECTORS + l];
      LOCAL(largest)(x + l, r, c, most, taps);
    }
    DP_UNROLL
    for (int v = 0; v < VECTOR; v++) best[i].e[v] = (unsigned char)(taps[v] < 0 ? DP_POOL_NO_TAP : taps[v]);
  }
  dp_barrier();

  for (int i = dp_thread(); i < TILE_ROWS * TILE_COLUMNS * TILE_VECTORS; i += dp_threads()) {
    const int l = i % TILE_VECTORS, r = i / TILE_VECTORS / TILE_COLUMNS, c = i / TILE_VECTORS % TILE_COLUMNS;
    const int slot = ((r + COVER_ROWS - 1) * SLOT_COLUMNS + c + COVER_COLUMNS - 1) * TILE_VECTORS + l;
    const int row = (o1 + r) * CELL_ROWS - dp_pool_pad(1), column = (o2 + c) * CELL_COLUMNS - dp_pool_pad(2);
    if (first + l < VECTORS) LOCAL(cell)(dx + l, row, column, best, given, slot);
  }
}
