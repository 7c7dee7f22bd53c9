// How many bytes a device moves when it communicates, by operator.
#ifndef DP_IR_PLAN_MOVES_H
#define DP_IR_PLAN_MOVES_H

#include "ir/base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  DP_MOVES_AMONG,  // p devices: moves (p - 1) / p of the larger of operand and result
  DP_MOVES_PEER,   // one other device: the whole
  DP_MOVES_HOST,   // host and device: the device's part
} dp_moves_between;

typedef struct {
  const char *op;
  dp_moves_between between;
  double passes;
} dp_moves;

enum { DP_MOVES_COUNT = 9 };
extern const dp_moves dp_moves_table[DP_MOVES_COUNT];

const dp_moves *dp_moves_find(const char *op);  // NULL: nothing leaves the device
// Bytes that one of p devices sends and as many receives, for an operand of so many bytes and its result on that
// device.
double dp_moves_bytes(const dp_moves *moves, double p, double operand, double result);

#ifdef __cplusplus
}
#endif
#endif
