// See notes.h.
#include "tools/report/notes.h"

#include <inttypes.h>
#include <stdio.h>

void dp_report_note(dp_report_notes *notes, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const int length = vsnprintf(NULL, 0, format, args);
  char *text = dp_alloc(notes->arena, length < 0 ? 1 : (size_t)length + 1);
  if (length > 0) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  va_end(args);
  DP_PUSH(notes->arena, notes->texts, notes->count, text);
}

void dp_report_damage_add(dp_report_damage *damage, int64_t line) {
  if (damage->count < (int64_t)DP_COUNT(damage->lines)) damage->lines[damage->count] = line;
  damage->count++;
}

void dp_report_damage_note(const dp_report_damage *damage, dp_report_notes *notes, const char *path, const char *what) {
  const int64_t named = dp_min_i64(damage->count, (int64_t)DP_COUNT(damage->lines));
  const char *list = "";
  for (int64_t i = 0; i < named; i++)
    list = dp_printf(notes->arena, "%s%s%" PRId64, list, i ? ", " : "", damage->lines[i]);
  if (damage->count == 1)
    dp_report_note(notes, "%s: line %s is no %s and is left out", path, list, what);
  else if (damage->count > named)
    dp_report_note(notes, "%s: lines %s and %" PRId64 " more are no %ss and are left out", path, list,
                   damage->count - named, what);
  else if (damage->count)
    dp_report_note(notes, "%s: lines %s are no %ss and are left out", path, list, what);
}
