// Decides which initializers of a graph are its parameters: by what the file says, else by a guess; the user's names
// override both. See onnx_signature.h for what a file says, onnx_guess.c for the guess.
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "frontends/onnx/onnx_signature.h"

enum { MAX_LISTED = 6 };

void dp_onnx_reasons_add(dp_onnx_reasons *reasons, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  size_t bytes = (size_t)vsnprintf(NULL, 0, format, args) + 1;
  char *text = dp_alloc(reasons->arena, bytes);
  vsnprintf(text, bytes, format, again);
  va_end(again);
  va_end(args);
  reasons->text = reasons->text ? dp_printf(reasons->arena, "%s; %s", reasons->text, text) : text;
}

void dp_onnx_list_add(dp_arena *arena, dp_onnx_list *list, const char *name) {
  if (list->count++ < MAX_LISTED) list->text = list->text ? dp_printf(arena, "%s, %s", list->text, name) : name;
}

const char *dp_onnx_list_print(dp_arena *arena, const dp_onnx_list *list) {
  return list->count > MAX_LISTED ? dp_printf(arena, "%s and %d more", list->text, list->count - MAX_LISTED)
                                  : list->text;
}

bool dp_onnx_is_from_torch(const dp_onnx_reader *reader) { return !strcmp(reader->message->producer_name, "pytorch"); }

static void apply_user_choice(dp_onnx_reader *reader, dp_onnx_scope *scope) {
  for (int i = 0; i < reader->options->n_train; i++)
    for (int32_t k = 0; k < scope->count; k++)
      if (scope->bindings[k]->initializer && !fnmatch(reader->options->train[i], scope->bindings[k]->name, 0))
        scope->bindings[k]->role = DP_ONNX_TRAINED;
}

dp_status dp_onnx_parameters_decide(dp_onnx_reader *reader, dp_onnx_scope *scope) {
  // In files that dpc wrote, constants are not initializers, and buffers are marked.
  if (!strcmp(reader->message->producer_name, "dpc")) return DP_OK;
  dp_onnx_signature *signature = dp_onnx_signature_read(reader, scope);
  dp_onnx_reasons reasons = {.arena = reader->arena};
  if (signature)
    DP_TRY(dp_onnx_undo(reader, scope, signature, &reasons));
  else
    DP_TRY(dp_onnx_guess(reader, scope));
  DP_TRY(dp_onnx_mode(reader, signature, &reasons));
  if (signature) DP_TRY(dp_onnx_detach(reader, scope, signature, &reasons));
  apply_user_choice(reader, scope);
  if (!reasons.text) return DP_OK;
  reader->model->caveat =
      dp_printf(reader->arena,
                "training this file would not train the network that it was exported from: %s. Export it with "
                "torch.onnx.export(model.train(), %s",
                reasons.text,
                signature ? "args, \"model.onnx\", dynamo=True, optimize=False)"
                          : "args, \"model.onnx\", dynamo=False, training=torch.onnx.TrainingMode.TRAINING, "
                            "do_constant_folding=False)");
  return DP_OK;
}
