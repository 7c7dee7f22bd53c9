// The gradient of MaxPool over type T, for windows of two dims that are not dilated, a tile of dx for each block. The
// block finds the first largest element of each window that covers any of the tile, once, and keeps it beside the
// window's dy. Then each element of the tile adds the dy of those windows of which it is that element, in their order.
// So x and dy are read once, but for what several tiles share, and dx is written once.
//
// Cell o of a plane is the CELL_ROWS x CELL_COLUMNS elements from place o * STRIDE - PAD on; STRIDE is a cell's extent,
// so which windows cover which elements of a cell is known to the compiler. COVER_ROWS x COVER_COLUMNS windows may
// cover one: window o and those before it. A tile has TILE_PLANES planes, and TILE_ROWS x TILE_COLUMNS cells of each; a
// plane has ROW_TILES x COLUMN_TILES tiles. A thread computes a whole cell if CELLS, else an element.
#include "backends/cuda/device/pool_box.h"

// The windows that a tile needs of a plane, those before its first cells included, and of all of its planes.
#define SLOT_ROWS (TILE_ROWS + COVER_ROWS - 1)
#define SLOT_COLUMNS (TILE_COLUMNS + COVER_COLUMNS - 1)
#define SLOTS (TILE_PLANES * SLOT_ROWS * SLOT_COLUMNS)

// The index in plane x of the window's first largest element; NaN counts as the largest. Taps outside of x are read at
// its edge, where the window has an element that is as large and not later, so that no load waits for a branch.
DP_DEVICE int LOCAL(largest)(const T *x, int o1, int o2) {
  W most = 0;
  int best = -1;
  for (int t1 = 0; t1 < dp_pool_kernel(1); t1++) {
    const int row = o1 * dp_pool_stride(1) - dp_pool_pad(1) + t1, rows = dp_pool_x(1);
    const int line = (row < 0 ? 0 : row < rows ? row : rows - 1) * dp_pool_x(2);
    for (int t2 = 0; t2 < dp_pool_kernel(2); t2++) {
      const int column = o2 * dp_pool_stride(2) - dp_pool_pad(2) + t2, columns = dp_pool_x(2);
      const int at = line + (column < 0 ? 0 : column < columns ? column : columns - 1);
      const W value = GET(x[at]);
      const int more = !(value <= most) & !IS_NAN(most);
      if ((t1 == 0 && t2 == 0) || more) {
        most = value;
        best = at;
      }
    }
  }
  return best;
}

#if CELLS

// Computes a cell of plane dx, whose first element is at (row, column).
DP_DEVICE void LOCAL(cell)(T *dx, int row, int column, const int *best, const W *given, int slot) {
  int of[COVER_ROWS][COVER_COLUMNS];
  W dy[COVER_ROWS][COVER_COLUMNS];
  DP_UNROLL
  for (int m = 0; m < COVER_ROWS * COVER_COLUMNS; m++) {
    const int m1 = m / COVER_COLUMNS, m2 = m % COVER_COLUMNS;
    of[m1][m2] = best[slot - m1 * SLOT_COLUMNS - m2];
    dy[m1][m2] = given[slot - m1 * SLOT_COLUMNS - m2];
  }
  DP_UNROLL
  for (int j1 = 0; j1 < CELL_ROWS; j1++) {
    const int at = (row + j1) * dp_pool_x(2) + column;
    DP_UNROLL
    for (int j2 = 0; j2 < CELL_COLUMNS; j2++) {
      W sum = 0;
      DP_UNROLL
      for (int m = COVER_ROWS * COVER_COLUMNS - 1; m >= 0; m--) {
        const int m1 = m / COVER_COLUMNS, m2 = m % COVER_COLUMNS;
        if (j1 + m1 * CELL_ROWS >= dp_pool_kernel(1) || j2 + m2 * CELL_COLUMNS >= dp_pool_kernel(2)) continue;
        sum += of[m1][m2] == at + j2 ? dy[m1][m2] : 0;
      }
      const int inside = row + j1 >= 0 && row + j1 < dp_pool_x(1) && column + j2 >= 0 && column + j2 < dp_pool_x(2);
      if (inside) dx[at + j2] = PUT(sum);
    }
  }
}

#else

// Element (j1, j2) of a cell, whose index in its plane is `at`.
DP_DEVICE T LOCAL(element)(int at, int j1, int j2, const int *best, const W *given, int slot) {
  W sum = 0;
  for (int m1 = COVER_ROWS - 1; m1 >= 0; m1--)
    for (int m2 = COVER_COLUMNS - 1; m2 >= 0; m2--) {
      if (j1 + m1 * CELL_ROWS >= dp_pool_kernel(1) || j2 + m2 * CELL_COLUMNS >= dp_pool_kernel(2)) continue;
      const int from = slot - m1 * SLOT_COLUMNS - m2;
      sum += best[from] == at ? given[from] : 0;
    }
  return PUT(sum);
}

#endif

DP_BLOCK_KERNEL(dp_pool_arguments) {
  DP_SHARED int best[SLOTS];  // (TILE_PLANES, SLOT_ROWS, SLOT_COLUMNS); -1: there is no such window
  DP_SHARED W given[SLOTS];
  const int tile = (int)dp_block() % (ROW_TILES * COLUMN_TILES);
  const dp_i64 first_plane = (dp_i64)((int)dp_block() / (ROW_TILES * COLUMN_TILES)) * TILE_PLANES;
  const int planes = (int)(a.planes - first_plane < TILE_PLANES ? a.planes - first_plane : TILE_PLANES);
  // The tile's first cell.
  const int o1 = dp_pool_pad(1) / CELL_ROWS + tile / COLUMN_TILES * TILE_ROWS;
  const int o2 = dp_pool_pad(2) / CELL_COLUMNS + tile % COLUMN_TILES * TILE_COLUMNS;
  const T *x = (const T *)a.x + first_plane * dp_pool_x_plane(),
          *dy = (const T *)a.dy + first_plane * dp_pool_y_plane();
  T *dx = (T *)a.result + first_plane * dp_pool_x_plane();

  for (int i = dp_thread(); i < SLOTS; i += dp_threads()) {
    const int p = i / (SLOT_ROWS * SLOT_COLUMNS), r = o1 - (COVER_ROWS - 1) + i / SLOT_COLUMNS % SLOT_ROWS;
    const int c = o2 - (COVER_COLUMNS - 1) + i % SLOT_COLUMNS;
    const int is_window = p < planes && r >= 0 && r < dp_pool_y(1) && c >= 0 && c < dp_pool_y(2);
    best[i] = is_window ? LOCAL(largest)(x + p * dp_pool_x_plane(), r, c) : -1;
    given[i] = is_window ? GET(dy[p * dp_pool_y_plane() + r * dp_pool_y(2) + c]) : 0;
  }
  dp_barrier();

  const int rows = CELLS ? TILE_ROWS : TILE_ROWS * CELL_ROWS;
  const int columns = CELLS ? TILE_COLUMNS : TILE_COLUMNS * CELL_COLUMNS;
  for (int i = dp_thread(); i < TILE_PLANES * rows * columns; i += dp_threads()) {
    const int p = i / (rows * columns), r = i / columns % rows, c = i % columns;
    const int cell1 = CELLS ? r : r / CELL_ROWS, cell2 = CELLS ? c : c / CELL_COLUMNS;
    const int row = (o1 + cell1) * CELL_ROWS - dp_pool_pad(1), column = (o2 + cell2) * CELL_COLUMNS - dp_pool_pad(2);
    const int slot = (p * SLOT_ROWS + cell1 + COVER_ROWS - 1) * SLOT_COLUMNS + cell2 + COVER_COLUMNS - 1;
    T *to = dx + p * dp_pool_x_plane();
    if (p >= planes) continue;
#if CELLS
    LOCAL(cell)(to, row, column, best, given, slot);
#else
    const int j1 = r % CELL_ROWS, j2 = c % CELL_COLUMNS, at = (row + j1) * dp_pool_x(2) + column + j2;
    if (row + j1 < 0 || row + j1 >= dp_pool_x(1) || column + j2 < 0 || column + j2 >= dp_pool_x(2)) continue;
    to[at] = LOCAL(element)(at, j1, j2, best, given, slot);
#endif
  }
}
