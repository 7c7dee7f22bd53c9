// Models from text and text from models, for tests.
#ifndef DP_TESTS_IR_TEXT_TEXT_HELPER_H
#define DP_TESTS_IR_TEXT_TEXT_HELPER_H

#include <stdlib.h>

#include <string>

#include "ir/text/text.h"

namespace dp_test {

struct Arena {
  dp_arena *arena = dp_arena_create(0);
  Arena() = default;
  Arena(const Arena &) = delete;
  Arena &operator=(const Arena &) = delete;
  ~Arena() { dp_arena_destroy(arena); }
  operator dp_arena *() const { return arena; }
};

// The message of a status, which it frees; "" for success.
inline std::string Message(dp_status status) {
  std::string message = dp_status_message(status);
  dp_status_free(status);
  return message;
}

inline std::string Print(const dp_model *model) {
  char *text = nullptr;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  dp_text_print(model, out);
  fclose(out);
  std::string result(text, bytes);
  free(text);
  return result;
}

// The error message, or "" and the model.
inline std::string Parse(dp_arena *arena, const std::string &text, dp_model **model) {
  return Message(dp_text_parse(arena, "t.dpt", text.data(), text.size(), model));
}

// The text as printed after it was read, or the message that refuses it.
inline std::string Reprint(const std::string &text) {
  Arena arena;
  dp_model *model = nullptr;
  std::string message = Parse(arena, text, &model);
  return message.empty() ? Print(model) : message;
}

// A device-form model that uses everything in the text form.
extern const char kDeviceForm[];
// A source model with one operator of each common kind.
extern const char kSource[];

}  // namespace dp_test

#endif
