// Runs every command that the READMEs of examples/*/ show, exactly as written and in their order. A line that follows a
// command is what it prints, fields with two spaces between; each field must come in one line of what it does print,
// with about the same numbers: rounding differs between processors. One of the three with DP_FULL alone.
#include <cmath>
#include <cstdlib>
#include <regex>

#include "tests/tools/documents.h"

namespace {

struct Command {
  std::string line;
  std::vector<std::string> shown;
};

std::vector<Command> CommandsOf(const std::string &text) {
  std::vector<Command> commands;
  bool open = false;
  for (const std::string &line : Lines(text)) {
    const bool block = line.rfind("    ", 0) == 0;
    if (block && IsOurs(line.substr(4)))
      commands.push_back({line.substr(4), {}});
    else if (block && open)
      commands.back().shown.push_back(line.substr(4));
    else
      EXPECT_FALSE(block) << "not a command: " << line;
    open = block;
  }
  return commands;
}

const std::regex number("-?[0-9]+(?:\\.[0-9]+)?");

std::vector<double> Numbers(const std::string &text) {
  std::vector<double> numbers;
  for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; at++)
    numbers.push_back(std::stod(at->str()));
  return numbers;
}

// How far each number may be from what was rounded to it.
std::vector<double> HalvesOfLastDigits(const std::string &text) {
  std::vector<double> halves;
  for (std::sregex_iterator at(text.begin(), text.end(), number), end; at != end; at++) {
    const size_t point = at->str().find('.');
    const size_t decimals = point == std::string::npos ? 0 : at->str().size() - point - 1;
    halves.push_back(0.5 * std::pow(10, -static_cast<double>(decimals)));
  }
  return halves;
}

bool IsAbout(const std::string &shown, const std::string &printed) {
  if (std::regex_replace(shown, number, "#") != std::regex_replace(printed, number, "#")) return false;
  const std::vector<double> a = Numbers(shown), b = Numbers(printed);
  const std::vector<double> halves = HalvesOfLastDigits(shown);
  for (size_t i = 0; i < a.size(); i++)
    if (std::fabs(a[i] - b[i]) > 0.01 * std::fabs(a[i]) + halves[i]) return false;
  return true;
}

std::vector<std::string> Fields(const std::string &line) {
  static const std::regex gap("  +");
  return {std::sregex_token_iterator(line.begin(), line.end(), gap, -1), {}};
}

bool Prints(const std::string &line, const std::vector<std::string> &fields) {
  size_t found = 0;
  for (const std::string &field : Fields(line)) found += found < fields.size() && IsAbout(fields[found], field);
  return found == fields.size();
}

class Stories : public Documents {
 protected:
  void Tell(const std::string &name, size_t commands, size_t figures) {
    const std::string folder = Folder(name);
    const std::vector<Command> told = CommandsOf(Read("examples/" + name + "/README.md"));
    size_t lines = 0;
    for (const Command &command : told) {
      Result result = Shell(command.line, folder);
      ASSERT_EQ(result.code, 0) << command.line << "\n" << result.err;
      for (const std::string &shown : command.shown) {
        bool printed = false;
        for (const std::string &line : Lines(result.out + result.err)) printed |= Prints(line, Fields(shown));
        EXPECT_TRUE(printed) << command.line << "\n" << shown << "\nbut\n" << result.out << result.err;
        lines++;
      }
    }
    EXPECT_GE(told.size(), commands);
    EXPECT_GE(lines, figures);
  }
};

TEST_F(Stories, Cnn) { Tell("cnn", 9, 7); }
TEST_F(Stories, Transfer) {
  if (!getenv("DP_FULL")) GTEST_SKIP() << "trains four times: DP_FULL";
  Tell("transfer", 6, 6);
}
TEST_F(Stories, Language) { Tell("language", 7, 1); }

}  // namespace
