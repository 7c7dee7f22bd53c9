// Tensors in the file beside a model or plan. See external.h.
#include "ir/file/external.h"

#include <stdio.h>
#include <string.h>

#include "ir/base/file.h"
#include "ir/base/names.h"
#include "ir/graph/type.h"

enum { ALIGNMENT = 16 };  // bytes, of tensors in memory

// ---- search ---------------------------------------------------------------------------------------------------------

typedef struct search search;
struct search {
  dp_arena *arena;
  dp_status (*visit)(search *s, Dp__Tensor *tensor, const char *holder);
  void *context;
};

// The messages on the way to a tensor, the innermost first.
typedef struct way way;
struct way {
  const ProtobufCMessage *message;
  const way *outer;
};

static const char *name_in(const ProtobufCMessage *message) {
  const ProtobufCFieldDescriptor *field = protobuf_c_message_descriptor_get_field_by_name(message->descriptor, "name");
  if (!field || field->type != PROTOBUF_C_TYPE_STRING || field->label == PROTOBUF_C_LABEL_REPEATED) return NULL;
  return *(char *const *)((const char *)message + field->offset);
}

// The name of what holds a tensor: the innermost `name` field on the way to it.
static const char *holder_of(const way *w) {
  for (; w; w = w->outer) {
    const char *name = name_in(w->message);
    if (name && *name) return name;
  }
  return "tensor";
}

// Bounded recursion: the message types of model.proto and ir/plan/plan.proto do not contain themselves.
static dp_status visit_tensors(search *s, ProtobufCMessage *message, const way *outer) {
  if (message->descriptor == &dp__tensor__descriptor) return s->visit(s, (Dp__Tensor *)message, holder_of(outer));
  const way here = {message, outer};
  for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
    const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
    if (field->type != PROTOBUF_C_TYPE_MESSAGE) continue;
    void *at = (char *)message + field->offset;
    bool repeated = field->label == PROTOBUF_C_LABEL_REPEATED;
    size_t count = repeated ? *(size_t *)((char *)message + field->quantifier_offset) : 1;
    ProtobufCMessage **inner = repeated ? *(ProtobufCMessage ***)at : (ProtobufCMessage **)at;
    for (size_t k = 0; k < count; k++)
      if (inner[k]) DP_TRY(visit_tensors(s, inner[k], &here));
  }
  return DP_OK;
}

// ---- out ------------------------------------------------------------------------------------------------------------

typedef struct {
  dp_names *names;
  dp_external external;
} taking;

static dp_status take_out(search *s, Dp__Tensor *m, const char *holder) {
  taking *t = s->context;
  if (m->raw.len <= DP_EXTERNAL_MIN_BYTES || m->n_extents > DP_MAX_RANK) return DP_OK;
  const char *name = dp_names_unique(t->names, holder);
  dp_names_add(t->names, name, 0);
  dp_safetensor entry = {
      name, {.dtype = (dp_dtype)m->dtype, .rank = (int)m->n_extents, .bytes = m->raw.len, .data = m->raw.data}, 0};
  memcpy(entry.tensor.extents, m->extents, m->n_extents * sizeof *m->extents);
  m->external = (char *)(uintptr_t)name;
  m->xxh3 = dp_hash64(m->raw.data, m->raw.len);
  m->raw = (ProtobufCBinaryData){0};
  size_t count = t->external.count;
  DP_PUSH(s->arena, t->external.messages, count, m);
  DP_PUSH(s->arena, t->external.tensors, t->external.count, entry);
  return DP_OK;
}

dp_status dp_external_detach(dp_arena *arena, ProtobufCMessage *message, dp_external *external) {
  taking t = {.names = dp_names_create(arena)};
  dp_names_add(t.names, DP_SAFETENSORS_METADATA, 0);  // a value may have this name, a tensor of the file may not
  search s = {arena, take_out, &t};
  DP_TRY(visit_tensors(&s, message, NULL));
  *external = t.external;
  return DP_OK;
}

void dp_external_attach(const dp_external *external) {
  for (size_t i = 0; i < external->count; i++) {
    Dp__Tensor *m = external->messages[i];
    m->raw = (ProtobufCBinaryData){external->tensors[i].tensor.bytes,
                                   (uint8_t *)(uintptr_t)external->tensors[i].tensor.data};
    m->external = (char *)(uintptr_t)protobuf_c_empty_string;
    m->xxh3 = 0;
  }
}

static dp_status beside(const char *path, char *text, size_t bytes) {
  if (dp_file_is_stream(path))
    return dp_fail(EX_DATAERR,
                   "its large tensors are stored in a file beside it, which %s does not have: give it a file name",
                   dp_file_is_standard(path) ? path : "a pipe");
  int length = snprintf(text, bytes, "%s.safetensors", path);
  return length < 0 || (size_t)length >= bytes ? dp_fail(EX_DATAERR, "%s: this path is too long", path) : DP_OK;
}

dp_status dp_external_write(const dp_external *external, const char *path) {
  char file[4096];
  if (!external->count) return DP_OK;
  DP_TRY(beside(path, file, sizeof file));
  return dp_safetensors_write(file, external->tensors, external->count);
}

// ---- in -------------------------------------------------------------------------------------------------------------

typedef struct {
  const char *path;
  bool open;
  dp_safetensors file;
  uint8_t **places;  // of each tensor of the file, in one block, whose pages can be large
  bool *there;       // (tensors) read
} fetching;

static dp_status open_file(search *s, fetching *f) {
  char file[4096];
  if (f->open) return DP_OK;
  DP_TRY(beside(f->path, file, sizeof file));
  DP_TRY(dp_status_context(dp_safetensors_open(s->arena, file, &f->file),
                           "%s keeps its large tensors in a file beside it", f->path));
  f->open = true;
  f->there = dp_alloc_n(s->arena, f->file.count, sizeof *f->there);
  f->places = dp_alloc_n(s->arena, f->file.count, sizeof *f->places);
  uint64_t bytes = 0;
  for (size_t i = 0; i < f->file.count; i++) bytes += dp_align_up(f->file.tensors[i].tensor.bytes, ALIGNMENT);
  uint8_t *at = dp_alloc(s->arena, bytes);
  for (size_t i = 0; i < f->file.count; i++) {
    f->places[i] = at;
    at += dp_align_up(f->file.tensors[i].tensor.bytes, ALIGNMENT);
  }
  return DP_OK;
}

static bool agrees(const Dp__Tensor *m, const dp_tensor *tensor) {
  return m->dtype == (int32_t)tensor->dtype && m->n_extents == (size_t)tensor->rank &&
         !memcmp(m->extents, tensor->extents, m->n_extents * sizeof *m->extents);
}

static dp_status bring_in(search *s, Dp__Tensor *m, const char *holder) {
  fetching *f = s->context;
  if (!*m->external) {
    if (m->xxh3)
      return dp_fail(EX_DATAERR, "%s: tensor '%s' has the hash of external data, but no external data", f->path,
                     holder);
    return DP_OK;
  }
  if (m->raw.len) return dp_fail(EX_DATAERR, "%s: tensor '%s' has both embedded and external data", f->path, holder);
  DP_TRY(open_file(s, f));
  const dp_safetensor *found = dp_safetensors_find(&f->file, m->external);
  if (!found) return dp_fail(EX_DATAERR, "%s.safetensors: there is no tensor '%s'", f->path, m->external);
  const dp_tensor *tensor = &found->tensor;
  if (!agrees(m, tensor))
    return dp_fail(EX_DATAERR, "%s.safetensors: tensor '%s' does not have the type and shape that %s expects", f->path,
                   m->external, f->path);
  const size_t i = (size_t)(found - f->file.tensors);
  uint8_t *data = f->places[i];
  if (!f->there[i]) DP_TRY(dp_safetensors_read(&f->file, found, data));
  f->there[i] = true;
  if (dp_hash64(data, tensor->bytes) != m->xxh3)
    return dp_fail(EX_DATAERR, "%s.safetensors: tensor '%s' is not the one that %s was written with (its XXH3 differs)",
                   f->path, m->external, f->path);
  m->raw = (ProtobufCBinaryData){tensor->bytes, data};
  m->external = (char *)(uintptr_t)protobuf_c_empty_string;
  m->xxh3 = 0;
  return DP_OK;
}

typedef struct {
  search s;
  ProtobufCMessage *message;
} looking;

static dp_status look_inside(void *arg) {
  looking *l = arg;
  return visit_tensors(&l->s, l->message, NULL);
}

dp_status dp_external_read(dp_arena *arena, ProtobufCMessage *message, const char *path) {
  fetching f = {.path = path};
  looking l = {{arena, bring_in, &f}, message};
  // dp_arena_run, so that the file is closed even when the arena is full.
  dp_status status = dp_arena_run(arena, look_inside, &l);
  if (f.open) dp_safetensors_close(&f.file);
  return status;
}
