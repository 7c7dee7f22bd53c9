// What a report says of its sources: damaged lines, files that do not fit, what was left out.
#ifndef DP_TOOLS_REPORT_NOTES_H
#define DP_TOOLS_REPORT_NOTES_H

#include "ir/base/base.h"

typedef struct {
  dp_arena *arena;
  size_t count;
  const char **texts;
} dp_report_notes;

void dp_report_note(dp_report_notes *notes, const char *format, ...) DP_PRINTF(2, 3);

// Damaged lines of one file: the first few are named, the others counted.
typedef struct {
  int64_t count;
  int64_t lines[5];
} dp_report_damage;
void dp_report_damage_add(dp_report_damage *damage, int64_t line);
// "m.jsonl: lines 3, 17 and 2 more are no ...: left out". what: "events". Nothing if there is no damage.
void dp_report_damage_note(const dp_report_damage *damage, dp_report_notes *notes, const char *path, const char *what);

#endif
