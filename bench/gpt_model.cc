// gpt_model LAYERS WIDTH HEADS VOCABULARY POSITIONS [tied]: prints the text of a transformer, for bench/compile_time.
#include <cstdio>
#include <cstdlib>

#include "tests/end_to_end/gpt.h"

int main(int argc, char **argv) {
  if (argc < 6) {
    fputs("usage: gpt_model LAYERS WIDTH HEADS VOCABULARY POSITIONS [tied]\n", stderr);
    return 64;
  }
  const std::string text =
      dp_test::Gpt(atoi(argv[1]), atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), argc > 6);
  return fputs(text.c_str(), stdout) < 0 ? 74 : 0;
}
