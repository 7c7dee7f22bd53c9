// The executor of devices that work by themselves. Each stream of the plan is a queue of its device. A run issues every
// unit on its queue, in an order that the plan's edges agree with; where an edge leads from one queue to another, the
// second waits for an event of the first. Lanes that are ahead are issued in the same way, and do not wait for the run
// before, as the others do. A collective is issued on the first member's queue, which waits for the others, and
// they for it; or, where the backend has the devices meet by themselves, on the queues of all members. Nothing blocks
// until the run is waited for.
//
// Where the backend captures, the second run of a program with a slot is captured, and from then on the host issues
// one call for all that is not ahead.
#ifndef DP_RUNTIME_EXEC_QUEUES_H
#define DP_RUNTIME_EXEC_QUEUES_H

#include "runtime/exec/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

// DP_EX_MEMORY. The queues are made when the first program needs them.
dp_status dp_queues_create(const dp_backend *backend, dp_executor *executor) DP_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
