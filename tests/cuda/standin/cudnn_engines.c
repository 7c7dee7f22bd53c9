// The stand-in's engines. Those that a backend should not take are named first, are the fastest, and what they compute
// is not what is wanted: rounded as tensor cores round, or summed in another order, in every run or in all. Of the
// others, the one that is named first is not the fastest.
#include "tests/cuda/standin/cudnn_private.h"

enum { STRICT_NAN_PROPAGATION = 9 };  // a note that says nothing of exactness

static const engine engines[] = {
    {STANDIN_CUDNN_TENSOR_CORES, CUDNN_NUMERICAL_NOTE_TENSOR_CORE, true, 0.1},
    {25, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC, false, 0.1},
    {4, CUDNN_NUMERICAL_NOTE_FFT, true, 0.1},
    {STANDIN_CUDNN_WINOGRAD, CUDNN_NUMERICAL_NOTE_WINOGRAD, true, 0.1},
    {31, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION, false, 0.1},
    {STANDIN_CUDNN_CONVERTS, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, true, 0.1},
    {38, -1, true, 1.5},  // works on copies in the workspace; takes no groups
    {70, -1, false, 1},   // takes no dilated windows
    {56, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13, false, 0.05},
    // Slow ones, and what a search that ends in time does not come to. None takes dilated windows.
    {71, -1, false, 3},
    {72, -1, false, 3},
    {73, -1, false, 3},
    {74, -1, false, 3},
    {75, -1, false, 3},
    {76, -1, false, 3},
    {77, -1, false, 0.5},
    {0, STRICT_NAN_PROPAGATION, false, 2},
};
enum { N_ENGINES = sizeof engines / sizeof *engines };

int standin_cudnn_engines(int mode, const engine **first) {
  *first = mode == CUDNN_HEUR_MODE_FALLBACK ? &engines[N_ENGINES - 1] : engines;
  return mode == CUDNN_HEUR_MODE_FALLBACK ? 1 : N_ENGINES - 1;
}

const engine *standin_cudnn_engine(int number) {
  for (int i = 0; i < N_ENGINES; i++)
    if (engines[i].number == number) return &engines[i];
  return &engines[N_ENGINES - 1];
}

int64_t standin_cudnn_bytes(const tensor *t) {
  int64_t bytes = t->type == CUDNN_DATA_DOUBLE ? sizeof(double) : t->type == CUDNN_DATA_FLOAT ? sizeof(float) : 2;
  for (int d = 0; d < 5; d++) bytes *= t->extents[d];
  return bytes;
}

static bool is_dilated(const convolution *c) { return c->dilation[0] > 1 || c->dilation[1] > 1 || c->dilation[2] > 1; }

int64_t standin_cudnn_workspace(const engine *e, const convolution *c) {
  if (e->number == 38 && c->groups > 1) return -1;
  if (e->number >= 70 && is_dilated(c)) return -1;
  // No engine takes dilated windows of three dims in groups.
  if (c->groups > 1 && is_dilated(c) && c->x.extents[2] > 1) return -1;
  if (!e->whole_workspace) return 0;
  return standin_cudnn_bytes(&c->x) + standin_cudnn_bytes(&c->w) + standin_cudnn_bytes(&c->y) + 16;
}
