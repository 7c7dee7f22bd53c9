// See options.h.
#include "tools/report/options.h"

#include <string.h>

#include "ir/base/file.h"

enum { KEY_METRICS = 256, KEY_TRACE, KEY_PLAN };

static const struct argp_option table[] = {
    {"output", 'o', "FILE.html", 0, "The page (default: report.html in DIR)", 0},
    {"metrics", KEY_METRICS, "FILE.jsonl", 0, "What --metrics wrote (default: as DIR says)", 0},
    {"trace", KEY_TRACE, "FILE.json", 0, "What --trace wrote (default: as DIR says)", 0},
    {"plan", KEY_PLAN, "PLAN", 0, "The plan that was run (default: as DIR says)", 0},
    {0},
};

typedef struct {
  dp_report_options *options;
  dp_status status;
} parsing;

static error_t parse(int key, char *text, struct argp_state *state) {
  parsing *p = state->input;
  dp_report_sources *s = &p->options->sources;
  switch (key) {
    case 'o':
      p->options->output = text;
      return 0;
    case KEY_METRICS:
      s->metrics = text;
      return 0;
    case KEY_TRACE:
      s->trace = text;
      return 0;
    case KEY_PLAN:
      s->plan = text;
      return 0;
    case ARGP_KEY_ARG:
      if (s->folder && !p->status) p->status = dp_fail(EX_USAGE, "give one folder, not '%s' and '%s'", s->folder, text);
      s->folder = text;
      return 0;
    default:
      return ARGP_ERR_UNKNOWN;
  }
}

static dp_status check(dp_arena *arena, dp_report_options *o) {
  dp_report_sources *s = &o->sources;
  if (!s->folder || !*s->folder)
    return dp_fail(EX_USAGE, "name the folder of a run: dprun report DIR (see dprun report --help)");
  if (!o->output) o->output = dp_printf(arena, "%s/report.html", s->folder);
  DP_TRY(dp_cli_check_ending("--output", o->output, "HTML", ".html .htm", true));
  const dp_cli_file files[] = {{"--metrics", s->metrics, false},
                               {"--trace", s->trace, false},
                               {"--plan", s->plan, false},
                               {"--output", o->output, true}};
  for (size_t i = 0; i < DP_COUNT(files) - 1; i++) DP_TRY(dp_file_allow_pipe(files[i].path));
  return dp_cli_files_check(files, (int)DP_COUNT(files));
}

dp_status dp_report_options_parse(dp_arena *arena, int argc, char **argv, dp_report_options *options) {
  static const struct argp argp = {
      .options = table,
      .parser = parse,
      .args_doc = "DIR",
      .doc =
          "Makes one page of HTML about a run: curves, learning rate, times of steps, a step's timeline, memory, "
          "placements, machine and commands. The page needs no network and nothing beside it. DIR is the folder of "
          "--save; a part for which DIR has nothing is left out, and the page says so.\v"
          "Examples:\n"
          "  dpc compile examples/mlp.dpt --strategy=data --devices=2 --batch=64 \\\n"
          "    -o plan.bin\n"
          "  digits=examples/data/digits\n"
          "  dprun plan.bin --epochs=3 --shuffle --save=run/ --metrics=run/m.jsonl \\\n"
          "    --trace=run/trace.json --data image=$digits/train-images-idx3-ubyte \\\n"
          "    --data label=$digits/train-labels-idx1-ubyte\n"
          "  dprun report run/ -o report.html\n"
          "  dprun report . --metrics=run/m.jsonl --plan=plan.bin -o - >report.html\n"
          "\n"
          "Exit codes are those of <sysexits.h>: 64 usage, 65 damaged, 66 missing, 73 and 74 cannot write.",
  };
  argp_program_version = "dprun " DP_VERSION;
  *options = (dp_report_options){0};
  parsing p = {options, DP_OK};
  dp_status status = dp_cli_parse(&argp, argc, argv, &p);
  if (status) {
    dp_status_free(p.status);
    return status;
  }
  return p.status ? p.status : check(arena, options);
}
