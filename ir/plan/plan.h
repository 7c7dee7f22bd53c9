// Plans as files.
//
// A file is the magic DPPLAN\r\n, then little-endian u32 format version, u32 flags (0), u64 payload length, u64 XXH3 of
// the payload, then the payload, a dp.Plan of ir/plan/plan.proto. Tensors above 1 MiB lie beside it
// (ir/file/external.h).
#ifndef DP_IR_PLAN_PLAN_H
#define DP_IR_PLAN_PLAN_H

#include "ir/graph/graph.h"
#include "ir/plan/plan.pb-c.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { DP_PLAN_VERSION = 1, DP_PLAN_HEADER_BYTES = 32 };

// Returns the plan in the arena, with its external tensors loaded and its form checked (form.h). EX_NOINPUT: missing;
// EX_DATAERR: not a complete plan of this version.
dp_status dp_plan_read(dp_arena *arena, const char *path, Dp__Plan **plan) DP_MUST_USE;
// The same, with the external first values of variables in an arena of their own, which has nothing else of the plan. A
// session copies them, so that who makes no other session of the plan may destroy `initial` then.
dp_status dp_plan_read_apart(dp_arena *arena, dp_arena *initial, const char *path, Dp__Plan **plan) DP_MUST_USE;
// The hash of the payload, as the file's header has it; nothing is checked. EX_NOINPUT, EX_IOERR; EX_DATAERR: it is too
// short.
dp_status dp_plan_hash(const char *path, uint64_t *hash) DP_MUST_USE;
// Replaces the file atomically. EX_CANTCREAT, EX_IOERR.
dp_status dp_plan_write(const Dp__Plan *plan, const char *path) DP_MUST_USE;

// The plan's variables, mesh, batch and symbol as a model without graphs, to convert its graphs into. Data is shared
// with the plan. EX_DATAERR.
dp_status dp_plan_model(dp_arena *arena, const Dp__Plan *plan, dp_model **model) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
