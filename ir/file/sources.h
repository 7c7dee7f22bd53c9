// The models that hold the data omitted from a text. Private to ir/file.
#ifndef DP_IR_FILE_SOURCES_H
#define DP_IR_FILE_SOURCES_H

#include "ir/file/model_file.h"
#include "ir/text/text.h"

typedef struct dp_sources dp_sources;

// For the text at `text_path`; `read` reads a model beside it.
dp_sources *dp_sources_create(dp_arena *arena, const char *text_path, dp_model_source_reader *read, int depth);
// The function for dp_text_sources.find.
dp_status dp_sources_find(void *sources, const char *file, uint64_t xxh3, const dp_type *type,
                          const dp_tensor **tensor) DP_MUST_USE;

#endif
