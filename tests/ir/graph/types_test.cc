// Types that are shared, and graphs that are finished.
#include "ir/graph/types.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "ir/graph/graph.h"

namespace {

dp_type Type(dp_dtype dtype, int rank, int64_t extent) {
  dp_type type{dtype, {rank, {}}};
  for (int d = 0; d < rank; d++) type.shape.dims[d] = d ? dp_dim_of(extent) : dp_dim_batch();
  return type;
}

TEST(Types, EqualOnesAreOnePointer) {
  dp_arena *arena = dp_arena_create(0);
  dp_types *types = dp_types_create(arena);
  std::set<const dp_type *> all;
  for (int round = 0; round < 2; round++)
    for (dp_dtype dtype : {DP_FLOAT32, DP_INT64})
      for (int rank = 0; rank <= DP_MAX_RANK; rank++)
        for (int64_t extent = 0; extent < 50; extent++) {
          dp_type type = Type(dtype, rank, extent);
          const dp_type *own = dp_types_share(types, &type);
          EXPECT_NE(own, &type);
          EXPECT_TRUE(dp_type_equal(own, &type));
          all.insert(own);
        }
  EXPECT_EQ(all.size(), 2u * (1 + 1 + 7 * 50));  // the first dim is the batch, so ranks 0 and 1 have one type each
  dp_arena_destroy(arena);
}

TEST(Types, DimsBeyondTheRankDoNotCount) {
  dp_arena *arena = dp_arena_create(0);
  dp_types *types = dp_types_create(arena);
  dp_type a = Type(DP_FLOAT32, 2, 3), b = a;
  b.shape.dims[2] = dp_dim_of(7);
  EXPECT_EQ(dp_types_share(types, &a), dp_types_share(types, &b));
  dp_arena_destroy(arena);
}

// As of names (base_test).
TEST(Types, MadeUpToCollideAreFoundAsFastAsOthers) {
  enum { COUNT = 500, SLOTS = 1024 };
  dp_arena *arena = dp_arena_create(0);
  dp_types *types = dp_types_create(arena);
  int count = 0;
  for (int64_t extent = 1; count < COUNT; extent++) {
    const dp_type type = Type(DP_FLOAT32, 2, extent);
    if (dp_hash64(type.shape.dims, 2 * sizeof(dp_dim)) % SLOTS) continue;
    dp_types_share(types, &type);
    count++;
  }
  EXPECT_GE(dp_types_probes(types), size_t{COUNT});
  EXPECT_LT(dp_types_probes(types), size_t{20 * COUNT});  // by dp_hash64 alone 125,250
  dp_arena_destroy(arena);
}

// What is added to a model whose graphs are finished has names as before.
TEST(FinishedModel, KeepsNamesAndTakesOthers) {
  dp_arena *arena = dp_arena_create(0);
  dp_model *model = dp_model_create(arena, "m");
  dp_graph *graph = dp_graph_create(model, "main");
  dp_model_add_graph(model, graph);
  const std::string longer(40, 'x');
  const dp_value *x = dp_graph_add_value(graph, DP_VALUE_INPUT, longer.c_str(), Type(DP_FLOAT32, 2, 3));
  const dp_value *y = dp_graph_add_value(graph, DP_VALUE_INPUT, longer.c_str(), Type(DP_FLOAT32, 2, 3));
  const size_t before = dp_arena_bytes(arena);
  dp_model_finish(model);
  EXPECT_LT(dp_arena_bytes(arena), before);
  EXPECT_EQ(x->name, longer);
  EXPECT_EQ(y->name, longer + ".1");
  EXPECT_EQ(dp_graph_verify(graph), DP_OK);
  dp_graph *other = dp_graph_create(model, "other");
  EXPECT_EQ(dp_graph_add_value(other, DP_VALUE_INPUT, longer.c_str(), Type(DP_FLOAT32, 2, 3))->name, longer);
  dp_arena_destroy(arena);
}

TEST(FinishedGraph, FindsValuesAndVerifies) {
  dp_arena *arena = dp_arena_create(0);
  dp_graph *graph = dp_graph_create(dp_model_create(arena, "m"), "main");
  dp_value *x = dp_graph_add_value(graph, DP_VALUE_INPUT, "x", Type(DP_FLOAT32, 2, 3));
  dp_value *y = dp_graph_add_value(graph, DP_VALUE_INPUT, "y", Type(DP_FLOAT32, 2, 3));
  dp_graph_finish(graph);
  EXPECT_EQ(dp_graph_find_value(graph, "y"), y);
  EXPECT_EQ(dp_graph_find_value(graph, "z"), nullptr);
  EXPECT_EQ(dp_graph_verify(graph), DP_OK);
  y->name = x->name;
  dp_status status = dp_graph_verify(graph);
  EXPECT_STREQ(dp_status_message(status), "the name 'x' stands for two values");
  dp_status_free(status);
  dp_arena_destroy(arena);
}

}  // namespace
