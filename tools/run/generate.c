// See generate.h.
#include "tools/run/generate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ir/graph/element.h"
#include "tools/run/draw.h"
#include "tools/run/prompt.h"

typedef struct {
  dp_session *session;
  int program;
  const char *input, *output;
  dp_dtype input_type, output_type;
  int64_t window, vocabulary;  // T, V
  int64_t *tokens, count;      // (window), the newest last; how many there are
  dp_dprun_scored *scored;     // (vocabulary)
} generator;

// ---- the model's form -----------------------------------------------------------------------------------------------

static bool is_window(const dp_type *type, int64_t *window) {
  int64_t extents[DP_MAX_RANK];
  if (!(DP_BIT(type->dtype) & DP_INTS) || type->shape.rank != 2) return false;
  dp_shape_at(&type->shape, 1, extents);
  *window = extents[1];
  return extents[0] == 1 && extents[1] >= 1;
}

static bool are_scores(const dp_type *type, int64_t window, int64_t *vocabulary) {
  int64_t extents[DP_MAX_RANK];
  if (!dp_type_is_float(type->dtype) || type->shape.rank != 3) return false;
  dp_shape_at(&type->shape, 1, extents);
  *vocabulary = extents[2];
  return extents[0] == 1 && extents[1] == window && extents[2] >= 1;
}

static const char *list(dp_arena *arena, const char *before, const char *name, const dp_type *type) {
  char text[256];
  return dp_printf(arena, "%s%s'%s' %s", before, *before ? ", " : "", name, dp_type_print(type, text, sizeof text));
}

// Every token must be a number of the input's type.
static dp_status check_type(const generator *g) {
  uint64_t room = 0;
  const double last = (double)(g->vocabulary - 1);
  dp_element_set(g->input_type, &room, last);
  if (dp_element_get(g->input_type, &room) == last) return DP_OK;
  return dp_fail(EX_CONFIG, "--generate: the output '%s' scores %lld tokens, but the input '%s' is %s", g->output,
                 (long long)g->vocabulary, g->input, dp_type_name(g->input_type));
}

static dp_status find_form(dp_arena *arena, generator *g) {
  const dp_graph *graph = dp_session_graph(g->session, g->program);
  const char *inputs = "", *outputs = "";
  int n_inputs = 0, n_windows = 0, n_scores = 0;
  for (int32_t i = 0; i < graph->n_values; i++) {
    const dp_value *v = graph->values[i];
    if (v->kind != DP_VALUE_INPUT) continue;
    inputs = list(arena, inputs, v->name, v->type);
    n_inputs++;
    if (!is_window(v->type, &g->window)) continue;
    n_windows++;
    g->input = v->name;
    g->input_type = v->type->dtype;
  }
  for (int i = 0; i < graph->n_outputs; i++) {
    const dp_output *o = &graph->outputs[i];
    outputs = list(arena, outputs, o->name, o->value->type);
    int64_t vocabulary;
    if (!n_windows || !are_scores(o->value->type, g->window, &vocabulary)) continue;
    n_scores++;
    g->vocabulary = vocabulary;
    g->output = o->name;
    g->output_type = o->value->type->dtype;
  }
  if (n_inputs == 1 && n_windows == 1 && n_scores == 1) return check_type(g);
  return dp_fail(EX_CONFIG,
                 "--generate is for a model with one input of tokens, whole numbers [N,T], and one output of scores "
                 "[N,T,V], for each place those of the next token; this one has the inputs %s and the outputs %s",
                 inputs, outputs);
}

// ---- tokens ---------------------------------------------------------------------------------------------------------

static void append(generator *g, int64_t token) {
  if (g->count == g->window) {
    g->count--;
    memmove(g->tokens, g->tokens + 1, (size_t)g->count * sizeof *g->tokens);
  }
  g->tokens[g->count++] = token;
}

// Runs the model on the window; the scores are those of the next token.
static dp_status score(generator *g, int64_t number) {
  char *input = dp_session_input(g->session, g->program, g->input, 0);
  const size_t in_bytes = dp_type_bytes(g->input_type), out_bytes = dp_type_bytes(g->output_type);
  for (int64_t i = 0; i < g->window; i++)
    dp_element_set(g->input_type, input + (size_t)i * in_bytes, i < g->count ? (double)g->tokens[i] : 0);
  DP_TRY(dp_session_run(g->session, g->program, 0, &(dp_step){.step = number, .n = 1}));
  const char *scores = dp_session_output(g->session, g->program, g->output, NULL);
  scores += (size_t)((g->count - 1) * g->vocabulary) * out_bytes;
  for (int64_t v = 0; v < g->vocabulary; v++)
    g->scored[v] = (dp_dprun_scored){dp_element_get(g->output_type, scores + (size_t)v * out_bytes), v};
  return DP_OK;
}

static dp_status write_token(int64_t token, bool number) {
  const int written = number ? printf("%" PRId64 "\n", token) : putchar((int)token);
  if (written < 0 || fflush(stdout)) return dp_fail(EX_IOERR, "standard output: %s", strerror(errno));
  return DP_OK;
}

static dp_status interrupted(const dp_dprun *run) {
  return dp_fail(EX_TEMPFAIL, "interrupted after token %lld of %lld", (long long)run->steps,
                 (long long)run->options->generate.count);
}

static dp_status generate(dp_dprun *run, generator *g) {
  const dp_dprun_options *o = run->options;
  const dp_dprun_drawing drawing = {o->generate.temperature, o->generate.top_k, o->seed};
  for (; run->steps < o->generate.count; run->steps++) {
    int64_t token;
    if (dp_dprun_signal_came()) return interrupted(run);
    dp_status status = score(g, run->steps);
    if (!status) status = dp_dprun_draw(&drawing, run->steps, g->scored, g->vocabulary, &token);
    if (status) return dp_status_context(status, "token %lld", (long long)run->steps + 1);
    status = write_token(token, o->generate.tokens);
    if (status && dp_dprun_signal_came()) {  // which has ended the writing
      dp_status_free(status);
      return interrupted(run);
    }
    DP_TRY(status);
    append(g, token);
  }
  return DP_OK;
}

static dp_status open_generator(dp_dprun *run, generator *g) {
  const dp_dprun_generate_options *o = &run->options->generate;
  int64_t *prompt, length;
  *g = (generator){.session = run->session, .program = dp_session_find(run->session, "infer")};
  if (g->program < 0) return dp_fail(EX_CONFIG, "--generate: the plan has no program 'infer'");
  DP_TRY(find_form(run->arena, g));
  if (!o->tokens && g->vocabulary > 256)
    return dp_fail(EX_CONFIG, "the model knows %lld tokens, more than there are bytes: add --tokens",
                   (long long)g->vocabulary);
  DP_TRY(dp_dprun_prompt_read(run->arena, o->prompt, o->tokens, g->vocabulary, &prompt, &length));
  if (length > g->window && !run->options->quiet)
    fprintf(stderr, "the model sees %lld tokens at a time: the last ones of the prompt's %lld\n", (long long)g->window,
            (long long)length);
  g->tokens = dp_alloc_n(run->arena, (size_t)g->window, sizeof *g->tokens);
  g->scored = dp_alloc_n(run->arena, (size_t)g->vocabulary, sizeof *g->scored);
  for (int64_t i = dp_max_i64(0, length - g->window); i < length; i++) append(g, prompt[i]);
  return dp_session_prepare(run->session, g->program, 1);
}

dp_status dp_dprun_generate_run(dp_dprun *run) {
  generator g;
  DP_TRY(open_generator(run, &g));
  dp_dprun_note_untrained(run);
  const double begun = dp_progress_now();
  DP_TRY(generate(run, &g));
  const double seconds = dp_progress_now() - begun;
  dp_metrics_infer(&run->metrics, run->steps, seconds * 1e3);
  if (isatty(STDOUT_FILENO) && !run->options->generate.tokens) putchar('\n');
  if (!run->options->quiet && run->steps)
    fprintf(stderr, "%lld tokens  %.1f tokens/s\n", (long long)run->steps, (double)run->steps / seconds);
  return DP_OK;
}
