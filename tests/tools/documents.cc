// See documents.h.
#include "tests/tools/documents.h"

#include <unistd.h>

#include <regex>
#include <sstream>

std::vector<std::string> Lines(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (!lines.empty() && !lines.back().empty() && lines.back().back() == '\\')
      lines.back() += "\n" + line;
    else
      lines.push_back(line);
  }
  return lines;
}

// The program that a line calls, without its folder; "" for none. Assignments may precede it.
static std::string Program(const std::string &line) {
  std::smatch match;
  static const std::regex program("^(?:[A-Z_]+=\\S* +)*((?:[a-z_-]+/)*)([a-z_0-9]+)(?: [\\s\\S]*)?$");
  return std::regex_match(line, match, program) ? match[2].str() : "";
}

bool IsOurs(const std::string &line) { return Program(line) == "dpc" || Program(line) == "dprun"; }

std::string Documents::Folder(const std::string &name) {
  std::string folder = File(name);
  char here[4096];
  EXPECT_NE(getcwd(here, sizeof here), nullptr);
  const std::string from = here;
  EXPECT_EQ(
      Shell("mkdir -p " + folder + "/bazel-bin && ln -s " + from + "/tools " + folder + "/bazel-bin/tools && cp -rL " +
            from + "/examples " + folder + "/ && chmod -R u+w " + folder + "/examples")
          .code,
      0);
  return folder;
}
