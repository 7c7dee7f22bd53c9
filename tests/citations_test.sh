#!/bin/sh
# Tests tools/citations on a small project: what it reports and what it ignores.
set -eu
mkdir -p "$TEST_TMPDIR/project/tools" "$TEST_TMPDIR/project/ir/graph" "$TEST_TMPDIR/project/docs"
cp "$1" "$2" "$TEST_TMPDIR/project/tools"
cd "$TEST_TMPDIR/project"

# \043 is the sign that opens this comment: the check reads this file too.
printf 'cc_library(\n    name = "graph",  \043 see graph.h and missing.bzl\n)\n' >ir/graph/BUILD
echo '// See graph.h, ir/graph/BUILD, //ir/graph:graph and <string.h>.' >ir/graph/graph.h
cat >ir/graph/graph.c <<'TEXT'
// See gone.h, ir/graph/gone.c:12 and //ir/graph:absent; ir/graph/*.c and ir/ops/NAME.c are no citations.
#include "ir/gone.h"  // but ir/old/graph is one
const char *text = "ir/none.c";
TEXT
cat >docs/page.md <<'TEXT'
[The graph](../ir/graph/graph.h#top), [nothing](../ir/nothing.md), https://example.org/page/other.md, `ir/graph`.
TEXT

if sh tools/citations 2>found; then
  echo "nothing was found" >&2
  exit 1
fi
sort found >sorted
diff - sorted <<'TEXT'
docs/page.md:1: ../ir/nothing.md is not here
ir/graph/BUILD:2: missing.bzl is not here
ir/graph/graph.c:1: //ir/graph:absent is not here
ir/graph/graph.c:1: gone.h is not here
ir/graph/graph.c:1: ir/graph/gone.c is not here
ir/graph/graph.c:2: ir/old/graph is not here
TEXT

rm ir/graph/graph.c docs/page.md ir/graph/BUILD
echo '// See graph.h and ir/graph/graph.h.' >ir/graph/graph.h
sh tools/citations
