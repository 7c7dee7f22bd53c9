// Runs every command that README.md, docs/*.md and --help show, exactly as written, in the order of its document.
// Commands are found in the text, so new ones are run too.
//
// In a document, a command is a line of an indented block that starts with dpc or dprun (with any path; a backslash
// continues it on the next line). Models that a document contains in full, below a line `// NAME.dpt`, become files. In
// a help text, a command is a line below "Examples:". Other commands of a block (tools/..., bazel, python3) are checked
// for existence: the script and its options; labels and Python have their own tests (tests/documented_labels,
// tests/frontends).
#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <regex>
#include <sstream>

#include "tests/tools/documents.h"

namespace {

class Commands : public Documents {
 protected:
  // Runs the commands in one shell, one after another, so that later ones see what earlier ones set or write.
  int RunAll(const std::string &document, const std::vector<std::string> &commands) {
    std::string script;
    for (const std::string &command : commands) {
      std::string quoted = std::regex_replace(command, std::regex("'"), "'\\''");
      script += "echo '>>> " + quoted + "' >&2\n" + command + " || { echo \"status $?\" >&2; exit 1; }\n";
    }
    Result result = Shell(script, Folder(std::regex_replace(document, std::regex("[^a-z]"), "_")));
    EXPECT_EQ(result.code, 0) << document << "\n" << result.err.substr(result.err.rfind(">>>") + 1);
    EXPECT_EQ(result.err.find("not found"), std::string::npos) << result.err;
    return static_cast<int>(commands.size());
  }

  static std::vector<std::string> FilesOf(const std::string &folder, const std::string &ending) {
    std::vector<std::string> files;
    DIR *dir = opendir(folder.c_str());
    for (dirent *e; dir && (e = readdir(dir));) {
      const std::string name = e->d_name;
      if (name.size() > ending.size() && name.substr(name.size() - ending.size()) == ending) files.push_back(name);
    }
    if (dir) closedir(dir);
    std::sort(files.begin(), files.end());
    return files;
  }

  // A script tools/NAME, with options that its own --help shows.
  void CheckScript(const std::string &line) {
    std::istringstream words(line);
    std::string script, word;
    words >> script;
    Result help = Shell(script + " --help");
    EXPECT_EQ(help.code, 0) << line << help.err;
    while (words >> word && word[0] != '#') {
      const bool known = word.rfind("--", 0) != 0 || help.out.find(word.substr(0, word.find('='))) != std::string::npos;
      EXPECT_TRUE(known) << line << "\n" << help.out;
    }
  }

  // The commands of a document, preceded by its models.
  std::vector<std::string> CommandsOf(const std::string &path) {
    std::vector<std::string> commands, models;
    const std::vector<std::string> lines = Lines(Read(path));
    for (size_t i = 0; i < lines.size(); i++) {
      if (lines[i].rfind("    ", 0) != 0) continue;
      const std::string line = lines[i].substr(4);
      std::smatch model;
      if (std::regex_match(line, model, std::regex("// ([a-z_]+\\.dpt)"))) {
        std::string text;
        while (i + 1 < lines.size() && lines[i + 1].rfind("    ", 0) == 0) text += lines[++i].substr(4) + "\n";
        models.push_back("cat > " + model[1].str() + " <<'END'\n" + text + "END\ntrue");
      } else if (IsOurs(line)) {
        commands.push_back(line);
      } else if (line.rfind("tools/", 0) == 0) {
        CheckScript(line);
      }
    }
    models.insert(models.end(), commands.begin(), commands.end());
    return commands.empty() ? commands : models;
  }

  // The lines below "Examples:", up to one that is not indented.
  static std::vector<std::string> ExamplesOf(const std::string &help) {
    std::vector<std::string> commands;
    bool on = false;
    for (const std::string &line : Lines(help)) {
      if (on && line.rfind("  ", 0) == 0) commands.push_back(line.substr(2));
      on = line == "Examples:" || (on && line.rfind("  ", 0) == 0);
    }
    return commands;
  }

  void Help(const std::string &command, size_t at_least) {
    SCOPED_TRACE(command);
    const std::string text = Must(command + " --help").out;
    EXPECT_EQ(Must(command + " -h").out, text);
    std::vector<std::string> commands = ExamplesOf(text);
    EXPECT_GE(commands.size(), at_least);
    for (const std::string &line : commands)
      EXPECT_TRUE(IsOurs(line) || std::regex_match(line, std::regex("[a-z]+=\\S+"))) << "no command: " << line;
    RunAll(command, commands);
  }
};

TEST_F(Commands, Readme) { EXPECT_GE(RunAll("README.md", CommandsOf("README.md")), 10); }

TEST_F(Commands, Docs) {
  int count = 0;
  for (const std::string &name : FilesOf("docs", ".md")) {
    SCOPED_TRACE(name);
    count += RunAll(name, CommandsOf("docs/" + name));
  }
  EXPECT_GE(count, 7);
}

TEST_F(Commands, HelpOfDpc) {
  const std::string overview = Must("dpc --help").out;
  Help("dpc", 5);
  int commands = 0;
  for (const std::string &line : Lines(overview)) {
    std::smatch match;
    if (!std::regex_match(line, match, std::regex("  ([a-z]+) +.*")) || match[1] == "dpc") continue;
    Help("dpc " + match[1].str(), 2);
    commands++;
  }
  EXPECT_GE(commands, 6);
}

TEST_F(Commands, HelpOfDprun) {
  Help("dprun", 4);
  Help("dprun report", 4);
}

// docs/strategies.md gives the bytes per device of a pipeline; its plans take as many.
TEST_F(Commands, MemoryOfSchedules) {
  const std::regex space("\\s+");
  const std::string text = std::regex_replace(Read("docs/strategies.md"), space, " ");
  std::smatch said;
  ASSERT_TRUE(std::regex_search(
      text, said,
      std::regex("`(examples/\\S+)` on (\\d+) stages with (\\d+) micro-batches of (\\d+) samples takes (\\d+) MiB per "
                 "device under `1f1b` and (\\d+) MiB under `gpipe`")));
  const std::string batch = std::to_string(std::stol(said[3]) * std::stol(said[4]));
  for (int i = 0; i < 2; i++) {
    const std::string err = Must("dpc compile " + said[1].str() + " --strategy=pipeline --devices=" + said[2].str() +
                                 " --threads=1 --microbatches=" + said[3].str() + " --batch=" + batch +
                                 (i ? " --schedule=gpipe" : " --schedule=1f1b") + " -o " + File("plan.bin"))
                                .err;
    std::smatch kib;
    ASSERT_TRUE(std::regex_search(err, kib, std::regex("([0-9.]+) KiB"))) << err;
    EXPECT_EQ(std::to_string(std::lround(std::stod(kib[1]) / 1024)), said[5 + i].str()) << err;
  }
}

// Commands in the middle of a sentence, such as `dpc compile --batchnorm`, use options that exist.
TEST_F(Commands, OptionsInSentences) {
  std::vector<std::string> paths = {"README.md"};
  for (const std::string &name : FilesOf("docs", ".md")) paths.push_back("docs/" + name);
  int count = 0;
  for (const std::string &path : paths) {
    const std::string text = Read(path);
    const std::regex command("`(dpc [a-z]+|dprun report|dprun)((?: [^`]*)?)`"), option("--([a-z-]+)");
    for (std::sregex_iterator at(text.begin(), text.end(), command), end; at != end; at++) {
      const std::string program = (*at)[1], rest = (*at)[2];
      const std::string help = Must(program + " --help").out;
      for (std::sregex_iterator o(rest.begin(), rest.end(), option); o != end; o++, count++)
        EXPECT_NE(help.find((*o)[0].str()), std::string::npos) << path << ": " << (*at)[0];
    }
  }
  EXPECT_GE(count, 5);
}

}  // namespace
