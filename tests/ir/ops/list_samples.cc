// Prints every sample's heading, the input of make_references.py.
#include <cstdio>

#include "tests/ir/ops/samples.h"

int main() {
  for (const dp_test::Case &c : dp_test::AllCases(false)) std::printf("%s\n", c.Heading().c_str());
}
