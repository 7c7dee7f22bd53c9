// dpc: makes plans of models, shows and checks both. This file finds the subcommand.
#include "tools/compile/dpc.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "ir/base/suggest.h"
#include "tools/calibrate/calibrate.h"

static const struct {
  const char *name, *summary;
  dp_status (*run)(dp_arena *arena, int argc, char **argv);
} commands[] = {
    {"compile", "compile a model to a plan", dp_dpc_compile_run},
    {"show", "print a model or a plan as text", dp_dpc_show_run},
    {"verify", "check a plan and print what was proved", dp_dpc_verify_run},
    {"calibrate", "measure this machine's device for compile", dp_dpc_calibrate_run},
    {"ops", "list the operators", dp_dpc_ops_run},
    {"import", "convert ONNX to model.pb", dp_dpc_import_run},
    {"export", "convert a model to ONNX", dp_dpc_export_run},
};

static void print_help(void) {
  puts("Usage: dpc COMMAND [ARGUMENT...]\nCompiles models to plans for many devices.\n");
  for (size_t i = 0; i < DP_COUNT(commands); i++) printf("  %-9s %s\n", commands[i].name, commands[i].summary);
  puts(
      "\n`dpc COMMAND --help` says more.\n\n"
      "Examples:\n"
      "  dpc compile examples/mlp.dpt --strategy=data --devices=4 --batch=64 -o plan.bin\n"
      "  dpc show plan.bin\n"
      "  dpc verify plan.bin --against=examples/mlp.dpt\n"
      "  dpc ops Conv\n"
      "  dpc export examples/mlp.dpt -o mlp.onnx");
}

static bool is_word(const char *word, const char *const *words) {
  while (*words && strcmp(word, *words)) words++;
  return *words;
}

static dp_status run(dp_arena *arena, int argc, char **argv) {
  static const char *const help_words[] = {"--help", "-h", "-?", "--usage", "help", NULL};
  if (argc < 2)
    return dp_fail(EX_USAGE,
                   "no command given: use compile, show, verify, calibrate, ops, import or export (see dpc --help)");
  const char *name = argv[1];
  if (!strcmp(name, "help") && argc > 2) {  // `dpc help COMMAND`
    argv[1] = argv[2];
    argv[2] = (char[]){"--help"};
    return run(arena, 3, argv);
  }
  if (is_word(name, help_words)) {
    print_help();
    return DP_OK;
  }
  if (!strcmp(name, "--version") || !strcmp(name, "-V")) {
    puts("dpc " DP_VERSION);
    return DP_OK;
  }
  dp_suggest suggest = dp_suggest_begin(name);
  for (size_t i = 0; i < DP_COUNT(commands); i++) {
    if (strcmp(name, commands[i].name)) {
      dp_suggest_offer(&suggest, commands[i].name);
      continue;
    }
    argv[1] = dp_printf(arena, "dpc %s", name);
    return commands[i].run(arena, argc - 1, argv + 1);
  }
  char hint[128];
  return dp_fail(EX_USAGE, "unknown command '%s'%s (see dpc --help)", name,
                 dp_suggest_print(&suggest, hint, sizeof hint));
}

typedef struct {
  dp_arena *arena;
  int argc;
  char **argv;
} invocation;

static dp_status run_invocation(void *arg) {
  invocation *i = arg;
  return run(i->arena, i->argc, i->argv);
}

// A compilation takes and gives back megabytes at a time. Small blocks stay with the process, which saves the system
// the work of clearing their pages again; large ones go back at once, as what comes next rarely fits where they were.
static void keep_memory(void) {
  mallopt(M_MMAP_THRESHOLD, 512 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

int main(int argc, char **argv) {
  dp_cli_begin();
  keep_memory();
  dp_arena *arena = dp_arena_create(0);
  argp_program_version = "dpc " DP_VERSION;
  if (!arena) return dp_cli_finish("dpc", dp_fail(DP_EX_MEMORY, "out of memory"));
  dp_status status = dp_arena_run(arena, run_invocation, &(invocation){arena, argc, argv});
  int code = dp_cli_finish("dpc", status);
  dp_arena_destroy(arena);
  return code;
}
