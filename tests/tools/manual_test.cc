// Manual pages and completion have every option that --help shows, and no other.
#include <algorithm>
#include <regex>
#include <set>
#include <sstream>

#include "tests/tools/tool.h"

namespace {

using Words = std::set<std::string>;

const char *const kCommands[] = {"dprun",         "dprun report", "dpc compile", "dpc show",  "dpc verify",
                                 "dpc calibrate", "dpc ops",      "dpc import",  "dpc export"};

class Manual : public Tools {
 protected:
  // Long options where a line of --help begins.
  Words Helped(const std::string &command) {
    Words options;
    const std::string all = Must(command + " --help").out, help = all.substr(0, all.find("\nExamples:"));
    const std::regex option("\n {2,6}(?:-[a-zA-Z?], *)?--([a-z0-9-]+)");
    for (std::sregex_iterator at(help.begin(), help.end(), option), end; at != end; at++) options.insert((*at)[1]);
    EXPECT_TRUE(options.count("help") && options.size() > 3) << help;
    // Where an option's own text is so long that its description begins on a line of its own, glibc may write the
    // margin of that line too early.
    const std::string table = help.substr(help.find("\n      --"), help.rfind("--version") - help.find("\n      --"));
    EXPECT_FALSE(std::regex_search(table, std::regex("\n[^ \n]"))) << table;
    return options;
  }

  static std::string Page(std::string command) {
    std::replace(command.begin(), command.end(), ' ', '-');
    return "tools/manual/" + command + ".1";
  }

  // The options that a manual page describes, each in an entry of its own.
  static Words Described(const std::string &page) {
    Words options;
    const std::string text = Read(page);
    const std::regex entry("\n\\.TP\n(?:\\\\fB\\\\-.\\\\fR, )?\\\\fB\\\\-\\\\-([a-z0-9\\\\-]+)\\\\fR");
    for (std::sregex_iterator at(text.begin(), text.end(), entry), end; at != end; at++)
      EXPECT_TRUE(options.insert(std::regex_replace((*at)[1].str(), std::regex("\\\\-"), "-")).second) << (*at)[1];
    return options;
  }

  // What bash offers for the last word of a command line.
  Words Completed(const std::vector<std::string> &words) {
    std::string line;
    for (const std::string &word : words) line += "'" + word + "' ";
    const Result result =
        Shell("bash -c '. ./tools/manual/dpc.bash; COMP_WORDS=(" + std::regex_replace(line, std::regex("'"), "\"") +
              "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _dp_complete " + words[0] +
              "; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
    EXPECT_EQ(result.code, 0) << result.err;
    Words offered;
    std::istringstream in(result.out);
    for (std::string word; std::getline(in, word);)
      if (!word.empty()) offered.insert(word);
    return offered;
  }
};

TEST_F(Manual, HasEveryOption) {
  for (const char *command : kCommands) {
    SCOPED_TRACE(command);
    EXPECT_EQ(Described(Page(command)), Helped(command));
    const std::string page = Read(Page(command));
    for (const char *part : {".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n", ".SH EXAMPLES\n"})
      EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  const std::string page = Read("tools/manual/dpc.1");
  for (const char *command : kCommands) {
    const std::string word = command;
    if (word.rfind("dprun", 0) == 0) continue;
    EXPECT_NE(page.find("\\fB" + word.substr(4) + "\\fR"), std::string::npos) << word;
  }
}

// The lines of a page's synopsis, without fonts.
std::vector<std::string> Usages(const std::string &page) {
  const std::string begin = ".SH SYNOPSIS\n";
  const size_t at = page.find(begin) + begin.size(), end = page.find(".SH DESCRIPTION\n");
  std::istringstream in(std::regex_replace(page.substr(at, end - at), std::regex("\\\\f[BIR]"), ""));
  std::vector<std::string> usages;
  bool begins = true;  // man fills lines up, unless they are broken
  for (std::string line; std::getline(in, line); begins = line == ".br") {
    if (line == ".br") continue;
    EXPECT_TRUE(begins) << line;
    usages.push_back(line);
  }
  return usages;
}

TEST_F(Manual, EachUsageHasALine) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(Usages(Read(Page("dprun"))), (Lines{"dprun [OPTION...] PLAN", "dprun report [OPTION...] DIR"}));
  EXPECT_EQ(Usages(Read(Page("dpc compile"))), (Lines{"dpc compile [OPTION...] MODEL"}));
  EXPECT_EQ(Usages(Read(Page("dpc ops"))), (Lines{"dpc ops [OPTION...] [OPERATOR...]"}));
}

TEST_F(Manual, TellsTheShortHelp) {
  for (const std::string command : kCommands) {
    const std::string help = Must(command + " --help").out;
    EXPECT_EQ(Must(command + " -h").out, help);
    EXPECT_TRUE(std::regex_search(help, std::regex("\n  -h  +The same as --help\n"))) << help;
    EXPECT_NE(Read(Page(command)).find("\\fB\\-h\\fR, \\fB\\-\\-help\\fR\n"), std::string::npos) << command;
  }
}

TEST_F(Manual, TellsTheExitCodes) {
  const std::string help = Must("dprun --help").out, codes = help.substr(help.find("\nExit codes"));
  for (const char *code : {"64", "65", "66", "69", "70", "71", "73", "74", "75", "76", "78"})
    EXPECT_NE(codes.find(code), std::string::npos) << code;
}

TEST_F(Manual, GroffAcceptsIt) {
  if (Shell("command -v groff").code) GTEST_SKIP() << "groff is not installed";
  for (const char *command : kCommands) {
    const Result page = Shell("groff -man -Tascii -P-cbou -ww " + Page(command));
    EXPECT_EQ(page.code, 0);
    EXPECT_EQ(page.err, "") << command;
    EXPECT_NE(page.out.find("EXAMPLES"), std::string::npos);
  }
}

TEST_F(Manual, BashCompletes) {
  for (const char *command : kCommands) {
    SCOPED_TRACE(command);
    std::vector<std::string> words = {command};
    const std::string name = command;
    if (const size_t space = name.find(' '); space != std::string::npos)
      words = {name.substr(0, space), name.substr(space + 1)};
    words.push_back("--");
    Words offered;
    for (std::string word : Completed(words)) {
      if (word.back() == '=') word.pop_back();
      offered.insert(word.substr(2));
    }
    EXPECT_EQ(offered, Helped(command));
  }
  EXPECT_EQ(Completed({"dprun", "plan.bin", "--early"}), Words{"--early-stop="});
  EXPECT_EQ(Completed({"dprun", "plan.bin", "--resu"}), Words{"--resume"});  // its value is optional
  EXPECT_EQ(Completed({"dpc", "ve"}), Words{"verify"});
  EXPECT_EQ(Completed({"dprun", "pl"}), Words{});  // a file, which bash completes itself
}

}  // namespace
