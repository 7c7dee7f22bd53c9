// See moves.h. An all-reduce over p devices sends and receives 2 (p - 1) / p of its bytes, half of that to scatter and
// half to gather (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", 2009).
#include "ir/plan/moves.h"

#include <string.h>

const dp_moves dp_moves_table[DP_MOVES_COUNT] = {
    {"AllReduce", DP_MOVES_AMONG, 2}, {"ReduceScatter", DP_MOVES_AMONG, 1}, {"AllGather", DP_MOVES_AMONG, 1},
    {"AllToAll", DP_MOVES_AMONG, 1},  {"Send", DP_MOVES_PEER, 1},           {"Recv", DP_MOVES_PEER, 1},
    {"Scatter", DP_MOVES_HOST, 1},    {"Broadcast", DP_MOVES_HOST, 1},      {"Gather", DP_MOVES_HOST, 1}};

const dp_moves *dp_moves_find(const char *op) {
  for (int m = 0; m < DP_MOVES_COUNT; m++)
    if (!strcmp(dp_moves_table[m].op, op)) return &dp_moves_table[m];
  return NULL;
}

double dp_moves_bytes(const dp_moves *moves, double p, double operand, double result) {
  const bool larger = moves->between != DP_MOVES_HOST;
  const double bytes = (operand > result) == larger ? operand : result;
  return moves->passes * (moves->between == DP_MOVES_AMONG ? (p - 1) / p : 1) * bytes;
}
