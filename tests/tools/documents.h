// Commands in documents, and a folder in which they run.
#ifndef DP_TESTS_TOOLS_DOCUMENTS_H
#define DP_TESTS_TOOLS_DOCUMENTS_H

#include <string>
#include <vector>

#include "tests/tools/tool.h"

// The lines of a text; those that a backslash continues are one.
std::vector<std::string> Lines(const std::string &text);
// Whether a line calls dpc or dprun, in any folder. Assignments may precede the program.
bool IsOurs(const std::string &line);

class Documents : public Tools {
 protected:
  // A folder like the project's, with copies of the examples.
  std::string Folder(const std::string &name);
};

#endif
