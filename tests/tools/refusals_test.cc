// The refusals that docs/strategies.md lists happen, with the exit code and words in its table. The table and its
// models are read from the document.
#include <sstream>

#include "tests/tools/tool.h"

namespace {

const char kDocument[] = "docs/strategies.md", kColumns[] = "| `dpc compile` | because | exit code | says |";

class Refusals : public Tools {
 protected:
  Refusals() : lines_(Lines(Read(kDocument))) {
    for (size_t i = 0; i < lines_.size(); i++)
      if (lines_[i].rfind("    // ", 0) == 0 && lines_[i].find(".dpt") != std::string::npos) WriteModel(i);
  }

  static std::vector<std::string> Lines(const std::string &text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  }

  // A block of indented lines; the first one names the model.
  void WriteModel(size_t first) {
    const std::string name = lines_[first].substr(7);
    std::string text;
    for (size_t i = first + 1; i < lines_.size() && lines_[i].rfind("    ", 0) == 0; i++)
      text += lines_[i].substr(4) + "\n";
    models_.push_back(name);
    Write(name, text);
  }

  // The cells of a table row, without the backticks of code.
  static std::vector<std::string> Cells(const std::string &line) {
    std::vector<std::string> cells;
    std::istringstream in(line.substr(1));
    for (std::string cell; std::getline(in, cell, '|');) {
      cell = cell.substr(cell.find_first_not_of(" `"), cell.find_last_not_of(" `") - cell.find_first_not_of(" `") + 1);
      cells.push_back(cell);
    }
    return cells;
  }

  // A command line with the document's models replaced by their paths.
  std::string Command(const std::string &words) const {
    for (const std::string &model : models_)
      if (words.rfind(model + " ", 0) == 0) return "dpc compile " + File(words) + " -o " + File("plan.bin");
    return "dpc compile " + words + " -o " + File("plan.bin");
  }

  std::vector<std::string> lines_, models_;
};

TEST_F(Refusals, AreAsDocumented) {
  int rows = 0;
  for (size_t i = 0; i < lines_.size(); i++) {
    if (lines_[i] != kColumns) continue;
    for (i += 2; i < lines_.size() && lines_[i][0] == '|'; i++, rows++) {
      SCOPED_TRACE(lines_[i]);
      const std::vector<std::string> cells = Cells(lines_[i]);
      ASSERT_EQ(cells.size(), 4u);
      Refused(Command(cells[0]), std::stoi(cells[2]), {cells[3]});
      EXPECT_FALSE(Exists(File("plan.bin")));
    }
  }
  EXPECT_GE(rows, 20);
}

}  // namespace
