// What a backend tells the programs: one const struct in the file `entry` of its folder. See backends/registry.h.
#ifndef DP_BACKENDS_BASE_ENTRY_H
#define DP_BACKENDS_BASE_ENTRY_H

#include "ir/kernel/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

struct dp_backend;     // runtime/base/backend.h
struct dp_code_maker;  // runtime/base/code_maker.h
struct dp_calibrator;  // runtime/base/calibrator.h

typedef struct {
  const char *name;         // for --target and --device; equals target->name
  const dp_target *target;  // what dpc compiles plans for
  bool everywhere;          // every machine has it, so it is the default
  // Opens the backend for dprun. It lives as long as the process. devices: which devices, from --device=NAME:DEVICES;
  // NULL: not given. EX_USAGE: devices that cannot exist; EX_UNAVAILABLE: this machine lacks them.
  dp_status (*open)(const char *devices, const struct dp_backend **backend);
  // Names the devices that `open` took, with commas between them: each has the same name in every process. NULL: the
  // backend's devices are all alike.
  void (*identify)(char *names, size_t bytes);
  // Which of these devices each device of a plan is on, from --map, for sessions to come; called after `open`, which
  // forgets it. EX_USAGE: the text is no map. NULL: the backend's devices are all alike.
  dp_status (*map)(const char *map);
  // For how many seconds devices may wait for each other while nothing moves, before a run fails with DP_EX_PEER_LOST;
  // 0: for ever. NULL: they never wait in vain.
  void (*set_timeout)(double seconds);
  // Checks KINDS of --target=NAME:KINDS, the kinds of devices that a plan must run on. EX_USAGE: no kinds of such a
  // device; EX_UNAVAILABLE: plans cannot be made for one. NULL: the backend has no kinds.
  dp_status (*check_kinds)(const char *kinds);
  // What makes machine code beforehand; NULL: there is none to make.
  const struct dp_code_maker *code_maker;
  // What measures the algorithms of its libraries; NULL: they have none to choose from.
  const struct dp_calibrator *calibrator;
} dp_backend_entry;

#ifdef __cplusplus
}
#endif
#endif
