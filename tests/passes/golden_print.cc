// golden_print FILE.golden: prints the file's cases with their present results. Read them before you accept them.
// golden_print MODEL.dpt PASSES OPTIONS: one model.
#include <cctype>
#include <fstream>
#include <iostream>
#include <sstream>

#include "tests/passes/passes_helper.h"

int main(int argc, char **argv) {
  using dp_test::Transform;
  if (argc == 4) {
    std::cout << Transform(dp_test::ReadText(argv[1]), argv[2], argv[3]);
    return 0;
  }
  if (argc != 2) return 64;
  std::ifstream in(argv[1]);
  for (std::string line; std::getline(in, line) && line.rfind("=== ", 0) != 0;) std::cout << line << "\n";
  const char *gap = "";
  for (const dp_test::GoldenCase &c : dp_test::ReadGoldens(argv[1])) {
    std::cout << gap << "=== " << c.name << "\nrun " << c.passes << "\n";
    if (!c.options.empty()) std::cout << "options " << c.options << "\n";
    std::string out = Transform(c.before, c.passes, c.options);
    bool fails = out.size() > 4 && isdigit(out[0]) && isdigit(out[1]) && out[2] == ':';
    std::cout << "--- before\n" << c.before << (fails ? "--- fails " + out.substr(0, 2) : "--- after") << "\n";
    std::cout << (fails ? out.substr(4) + "\n" : out);
    gap = "\n";
  }
}
