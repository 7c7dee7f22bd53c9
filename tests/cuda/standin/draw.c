// What is drawn from the seed.
#include "tests/cuda/standin/state.h"

static uint64_t state;
standin_habit standin_habits;

// splitmix64 (Steele, Lea, Flood 2014).
static uint64_t next(void) {
  uint64_t z = state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

uint64_t standin_draw(uint64_t n) { return (uint64_t)(((unsigned __int128)next() * n) >> 64); }

void standin_shuffle(int *items, int n) {
  for (int i = n - 1; i > 0; i--) {
    int j = (int)standin_draw((uint64_t)i + 1);
    int item = items[i];
    items[i] = items[j];
    items[j] = item;
  }
}

void dp_standin_seed(uint64_t seed) {
  static const int others[] = {0, 2, 8, 8}, eager[] = {0, 0, 2, 8};
  standin_lock();
  state = seed;
  standin_habits = (standin_habit){0};
  if (seed) standin_habits = (standin_habit){others[standin_draw(4)], eager[standin_draw(4)], standin_draw(2) != 0};
  standin_rank_streams();
  standin_unlock();
}
