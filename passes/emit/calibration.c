// See calibration.h.
#include "passes/emit/calibration.h"

#include "ir/file/proto.h"

Dp__Calibration *dp_emit_calibration(dp_arena *arena, const dp_calibration *calibration) {
  if (!calibration || !calibration->n_choices) return NULL;
  Dp__Calibration *m = dp_alloc(arena, sizeof *m);
  dp__calibration__init(m);
  m->device = dp_proto_string(calibration->device);
  for (int i = 0; i < calibration->n_libraries; i++)
    DP_PUSH(arena, m->libraries, m->n_libraries, dp_proto_string(calibration->libraries[i]));
  for (int i = 0; i < calibration->n_choices; i++) {
    Dp__LibraryChoice *choice = dp_alloc(arena, sizeof *choice);
    dp__library_choice__init(choice);
    choice->call = dp_proto_string(calibration->choices[i].call);
    choice->choice = dp_proto_string(calibration->choices[i].choice);
    DP_PUSH(arena, m->choices, m->n_choices, choice);
  }
  return m;
}
