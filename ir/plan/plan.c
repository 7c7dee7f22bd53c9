// Reading and writing plan files. See plan.h.
#include "ir/plan/plan.h"

#include <string.h>

#include "ir/base/file.h"
#include "ir/base/kind.h"
#include "ir/file/external.h"
#include "ir/file/proto.h"
#include "ir/file/wire.h"
#include "ir/plan/form.h"
#include "ir/plan/loops.h"

static const uint8_t magic[8] = {'D', 'P', 'P', 'L', 'A', 'N', '\r', '\n'};

// ---- reading --------------------------------------------------------------------------------------------------------

static uint64_t read_number(const uint8_t *at, int bytes) {
  uint64_t number = 0;
  for (int i = bytes - 1; i >= 0; i--) number = number << 8 | at[i];
  return number;
}

static dp_status check_magic(const char *path, const uint8_t *data, size_t bytes) {
  if (bytes >= 6 && !memcmp(data, magic, 6) && (bytes < 8 || memcmp(data, magic, 8)))
    return dp_fail(EX_DATAERR, "%s: this plan was truncated, or its line ends were converted: copy it as a binary file",
                   path);
  if (bytes < 8 || memcmp(data, magic, 8))
    return dp_file_kind_refuse(path, data, bytes, "a plan, which dpc compile makes");
  if (bytes < DP_PLAN_HEADER_BYTES)
    return dp_fail(EX_DATAERR, "%s: the file ends within the header, after %zu of %d bytes", path, bytes,
                   DP_PLAN_HEADER_BYTES);
  return DP_OK;
}

static dp_status check_header(const char *path, const uint8_t *data, size_t bytes) {
  DP_TRY(check_magic(path, data, bytes));
  uint32_t version = (uint32_t)read_number(data + 8, 4), flags = (uint32_t)read_number(data + 12, 4);
  uint64_t length = read_number(data + 16, 8), hash = read_number(data + 24, 8);
  if (version != DP_PLAN_VERSION)
    return dp_fail(EX_DATAERR, "%s: plan format version %u; this program reads version %d: %s", path, version,
                   DP_PLAN_VERSION,
                   version > DP_PLAN_VERSION ? "it was made by a newer dpc, use the dprun that came with it"
                                             : "compile the model again");
  if (flags) return dp_fail(EX_DATAERR, "%s: flags %#x are not known to this version", path, flags);
  if (length != bytes - DP_PLAN_HEADER_BYTES)
    return dp_fail(EX_DATAERR,
                   "%s: %zu bytes follow the header, which announces %llu: the file was truncated or appended to", path,
                   bytes - DP_PLAN_HEADER_BYTES, (unsigned long long)length);
  if (dp_hash64(data + DP_PLAN_HEADER_BYTES, bytes - DP_PLAN_HEADER_BYTES) != hash)
    return dp_fail(EX_DATAERR, "%s: the checksum differs: the file is damaged", path);
  return DP_OK;
}

// file: for the file's bytes.
static dp_status read_payload(dp_arena *arena, dp_arena *file, const char *path, ProtobufCMessage **message) {
  uint8_t *data;
  size_t bytes;
  DP_TRY(dp_file_read(file, path, 0, &data, &bytes));
  DP_TRY(check_header(path, data, bytes));
  return dp_wire_unpack_shared(arena, &dp__plan__descriptor, data + DP_PLAN_HEADER_BYTES, bytes - DP_PLAN_HEADER_BYTES,
                               path, message);
}

// All but those of variables first: a tensor that is also one of a graph's stays with this.
static dp_status read_external(dp_arena *arena, dp_arena *initial, const char *path, Dp__Plan *plan) {
  const size_t variables = plan->n_variables;
  plan->n_variables = 0;
  dp_status status = dp_external_read(arena, &plan->base, path);
  plan->n_variables = variables;
  return status ? status : dp_external_read(initial, &plan->base, path);
}

dp_status dp_plan_read_apart(dp_arena *arena, dp_arena *initial, const char *path, Dp__Plan **plan) {
  ProtobufCMessage *message;
  dp_arena *file = dp_arena_create_within(arena);
  dp_status status = read_payload(arena, file, path, &message);
  dp_arena_destroy(file);
  DP_TRY(status);
  DP_TRY(read_external(arena, initial, path, (Dp__Plan *)message));
  dp_fault fault = {0};
  DP_TRY(dp_status_context(dp_plan_loops_expand(arena, (Dp__Plan *)message, &fault), "%s", path));
  DP_TRY(dp_status_context(dp_plan_form_check((const Dp__Plan *)message, NULL), "%s", path));
  *plan = (Dp__Plan *)message;
  return DP_OK;
}

dp_status dp_plan_read(dp_arena *arena, const char *path, Dp__Plan **plan) {
  return dp_plan_read_apart(arena, arena, path, plan);
}

dp_status dp_plan_hash(const char *path, uint64_t *hash) {
  uint8_t header[DP_PLAN_HEADER_BYTES];
  dp_file_reader file;
  DP_TRY(dp_file_reader_open(path, &file));
  dp_status status = file.bytes < sizeof header ? dp_fail(EX_DATAERR, "%s: not a plan: it is too short", path)
                                                : dp_file_reader_read(&file, 0, header, sizeof header);
  dp_file_reader_close(&file);
  DP_TRY(status);
  *hash = read_number(header + 24, 8);
  return DP_OK;
}

// ---- writing --------------------------------------------------------------------------------------------------------

static void write_number(uint8_t *at, int bytes, uint64_t number) {
  for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(number >> (8 * i));
}

static dp_status write_parts(const char *path, const uint8_t *header, const uint8_t *data, size_t bytes) {
  dp_file_writer writer;
  DP_TRY(dp_file_writer_open(path, &writer));
  dp_status status = dp_file_writer_write(&writer, header, DP_PLAN_HEADER_BYTES);
  if (!status) status = dp_file_writer_write(&writer, data, bytes);
  if (!status) return dp_file_writer_commit(&writer);
  dp_file_writer_abandon(&writer);
  return status;
}

typedef struct {
  dp_arena *arena;
  Dp__Plan *plan;
  const char *path;
  dp_external external;  // detached while the plan is packed
} writing;

static dp_status detach(void *arg) {
  writing *w = arg;
  if (dp_file_is_standard(w->path)) return DP_OK;  // there is no file beside it
  return dp_external_detach(w->arena, &w->plan->base, &w->external);
}

static dp_status write_detached(void *arg) {
  const writing *w = arg;
  uint8_t header[DP_PLAN_HEADER_BYTES], *data;
  size_t bytes;
  DP_TRY(dp_wire_pack(w->arena, &dp_plan_loops_fold(w->arena, w->plan)->base, w->path, &data, &bytes));
  memcpy(header, magic, sizeof magic);
  write_number(header + 8, 4, DP_PLAN_VERSION);
  write_number(header + 12, 4, 0);
  write_number(header + 16, 8, bytes);
  write_number(header + 24, 8, dp_hash64(data, bytes));
  DP_TRY(dp_external_write(&w->external, w->path));
  return write_parts(w->path, header, data, bytes);
}

dp_status dp_plan_write(const Dp__Plan *plan, const char *path) {
  // Large tensors are detached while the plan is packed and attached again before this returns.
  writing w = {dp_arena_create(0), (Dp__Plan *)(uintptr_t)plan, path, {0}};
  if (!w.arena) return dp_fail(DP_EX_MEMORY, "%s: out of memory while it was written", path);
  dp_status status = dp_arena_run(w.arena, detach, &w);
  if (!status) status = dp_arena_run(w.arena, write_detached, &w);
  dp_external_attach(&w.external);
  dp_arena_destroy(w.arena);
  return status;
}

dp_status dp_plan_model(dp_arena *arena, const Dp__Plan *plan, dp_model **model) {
  dp_model *m = *model = dp_model_create(arena, plan->name);
  m->batch = plan->batch;
  m->opset = plan->opset;
  if (*plan->symbol) m->symbol = plan->symbol;
  DP_TRY(dp_proto_to_mesh(plan->n_mesh, plan->mesh, &m->mesh));
  for (size_t i = 0; i < plan->n_variables; i++) {
    dp_variable p;
    DP_TRY(dp_proto_to_variable(m, plan->variables[i], &m->mesh, &p));
    dp_model_add_variable(m, &p);
  }
  return DP_OK;
}
