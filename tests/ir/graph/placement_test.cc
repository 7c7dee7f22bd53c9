// Placements: each element of a tensor is in exactly one part, and parts are in order, for any mesh and n.
#include "ir/graph/placement.h"

#include <gtest/gtest.h>

#include <vector>

namespace {

dp_shape Shape(std::initializer_list<dp_dim> dims) {
  dp_shape s = {};
  for (dp_dim d : dims) s.dims[s.rank++] = d;
  return s;
}

dp_mesh Mesh(std::initializer_list<int64_t> sizes) {
  static const char *const names[] = {"a", "b", "c", "d"};
  dp_mesh m = {};
  for (int64_t size : sizes) {
    m.axes[m.n_axes] = {names[m.n_axes], size};
    m.n_axes++;
  }
  return m;
}

TEST(Placement, RangesAreFloorOfIKOverP) {
  dp_shape shape = Shape({{1, 0}});
  dp_mesh mesh = Mesh({4});
  dp_placement on[DP_MAX_MESH] = {dp_shard(0)};
  // 10 samples on 4 devices: 2, 3, 2, 3 by [floor(i*10/4), floor((i+1)*10/4)).
  const int64_t bounds[] = {0, 2, 5, 7, 10};
  for (int64_t i = 0; i < 4; i++) {
    int64_t at[DP_MAX_MESH] = {i};
    dp_local local = dp_shard_range(&shape, on, &mesh, at, 10);
    EXPECT_EQ(local.lo[0], bounds[i]);
    EXPECT_EQ(local.hi[0], bounds[i + 1]);
    EXPECT_EQ(local.extents[0], bounds[i + 1] - bounds[i]);
  }
  EXPECT_EQ(dp_local_max_count(&shape, on, &mesh, 10), 3);
}

// Counts how often each whole index is held, over all devices.
void ExpectPartition(const dp_shape &shape, const dp_placement *on, const dp_mesh &mesh, int64_t n) {
  std::vector<int> held(static_cast<size_t>(dp_shape_count(&shape, n)), 0);
  int64_t most = 0;
  for (int64_t device = 0; device < dp_mesh_devices(&mesh); device++) {
    int64_t at[DP_MAX_MESH];
    dp_mesh_coordinate(&mesh, device, at);
    EXPECT_EQ(dp_mesh_device(&mesh, at), device);
    dp_local local = dp_shard_range(&shape, on, &mesh, at, n);
    most = std::max(most, dp_local_count(&local));
    for (int64_t i = 0; i < dp_local_count(&local); i++) {
      int64_t rest = i, whole = 0, index[DP_MAX_RANK];
      for (int d = local.rank - 1; d >= 0; d--) {
        index[d] = rest % local.extents[d];
        rest /= local.extents[d];
      }
      for (int d = 0; d < local.rank; d++) whole = whole * local.whole[d] + dp_local_to_whole(&local, d, index[d]);
      ASSERT_LT(static_cast<size_t>(whole), held.size());
      held[static_cast<size_t>(whole)]++;
    }
  }
  for (int h : held) EXPECT_EQ(h, 1);
  EXPECT_EQ(dp_local_max_count(&shape, on, &mesh, n), most);
}

// Micro-batches are parts of the batch but not devices: every device of the mesh handles all micro-batches.
TEST(Placement, MicroBatchesAreNoDevices) {
  dp_mesh mesh = {};
  mesh.n_axes = 3;
  mesh.axes[0] = {"micro", 3};
  mesh.axes[1] = {"data", 2};
  mesh.axes[2] = {"pipe", 4};
  EXPECT_TRUE(dp_mesh_is_sequential(&mesh.axes[0]));
  EXPECT_FALSE(dp_mesh_is_sequential(&mesh.axes[1]));
  EXPECT_TRUE(dp_mesh_is_staged(&mesh.axes[2]));
  EXPECT_EQ(dp_mesh_devices(&mesh), 8);
  EXPECT_EQ(dp_mesh_stages(&mesh), 4);
  EXPECT_EQ(dp_mesh_microbatches(&mesh), 3);
  dp_shape shape = Shape({{1, 0}});
  dp_placement on[DP_MAX_MESH] = {dp_shard(0), dp_shard(0)};
  std::vector<int> held(7, 0);
  for (int64_t device = 0; device < 8; device++) {
    int64_t at[DP_MAX_MESH];
    dp_mesh_coordinate(&mesh, device, at);
    EXPECT_EQ(at[0], 0);
    EXPECT_EQ(at[1], device / 4);
    EXPECT_EQ(at[2], device % 4);
    EXPECT_EQ(dp_mesh_device(&mesh, at), device);
    for (at[0] = 0; at[0] < 3 && !at[2]; at[0]++) {
      EXPECT_EQ(dp_mesh_device(&mesh, at), device);
      dp_local local = dp_shard_range(&shape, on, &mesh, at, 7);
      for (int64_t i = local.lo[0]; i < local.hi[0]; i++) held[static_cast<size_t>(i)]++;
    }
  }
  EXPECT_EQ(held, std::vector<int>(7, 1));
  EXPECT_EQ(dp_local_max_count(&shape, on, &mesh, 7), 2);
}

TEST(Placement, PartsMakeTheWhole) {
  dp_shape shape = Shape({{1, 0}, {0, 12}, {2, 0}});
  for (int64_t n : {0, 1, 2, 7}) {
    dp_placement nested[DP_MAX_MESH] = {dp_shard(0), dp_shard(0)};
    ExpectPartition(shape, nested, Mesh({3, 2}), n);
    dp_placement blocks[DP_MAX_MESH] = {dp_shard_in(1, 3, 2), dp_shard(2)};
    ExpectPartition(shape, blocks, Mesh({5, 2}), n);
    dp_placement blocks_nested[DP_MAX_MESH] = {dp_shard_in(1, 3, 1), dp_shard_in(1, 3, 1), dp_shard_in(2, 2, 1)};
    ExpectPartition(shape, blocks_nested, Mesh({2, 2, 3}), n);
  }
}

TEST(Placement, ChecksViews) {
  dp_shape shape = Shape({{3, 0}, {0, 12}});
  dp_mesh mesh = Mesh({2, 2});
  auto code = [&](dp_placement a, dp_placement b) {
    dp_placement on[DP_MAX_MESH] = {a, b};
    dp_status s = dp_placement_check(&shape, on, &mesh);
    int c = dp_status_code(s);
    dp_status_free(s);
    return c;
  };
  EXPECT_EQ(code(dp_shard(0), dp_shard(1)), 0);
  EXPECT_EQ(code(dp_shard_in(0, 1, 3), dp_shard_in(1, 4, 3)), 0);
  EXPECT_EQ(code(dp_shard_in(0, 1, 2), dp_replicate()), EX_DATAERR);        // 2 does not divide 3 N
  EXPECT_EQ(code(dp_shard_in(1, 5, 1), dp_replicate()), EX_DATAERR);        // nor 5 divide 12
  EXPECT_EQ(code(dp_shard(2), dp_replicate()), EX_DATAERR);                 // no such dim
  EXPECT_EQ(code(dp_shard_in(1, 3, 1), dp_shard_in(1, 2, 1)), EX_DATAERR);  // two views of one dim
}

TEST(Placement, TextReadsBack) {
  for (dp_placement p :
       {dp_replicate(), dp_shard(0), dp_shard(7), dp_shard_in(1, 3, 64), dp_partial(DP_SUM), dp_partial(DP_MAX)}) {
    char text[64];
    dp_placement back;
    ASSERT_TRUE(dp_placement_parse(dp_placement_print(p, text, sizeof text), &back)) << text;
    EXPECT_TRUE(dp_placement_equal(p, back)) << text;
  }
  dp_placement p;
  for (const char *wrong : {"", "S", "S()", "S(1", "S(-1)", "S(1,0,1)", "P(min)", "R ", "S(1)x"})
    EXPECT_FALSE(dp_placement_parse(wrong, &p)) << wrong;
}

TEST(Shape, ProductStaysAffineOrIsRefused) {
  dp_shape shape = Shape({{1, 0}, {0, 3}, {2, 1}});
  dp_dim p;
  ASSERT_TRUE(dp_shape_product(&shape, 0, 2, &p));
  EXPECT_TRUE(dp_dim_equal(p, dp_dim{3, 0}));
  ASSERT_TRUE(dp_shape_product(&shape, 1, 3, &p));
  EXPECT_TRUE(dp_dim_equal(p, dp_dim{6, 3}));
  EXPECT_FALSE(dp_shape_product(&shape, 0, 3, &p));  // n squared
}

TEST(Shape, OverflowIsRefused) {
  auto code = [](const dp_shape &s, int64_t n) {
    dp_status status = dp_shape_check(&s, n);
    int c = dp_status_code(status);
    dp_status_free(status);
    return c;
  };
  EXPECT_EQ(code(Shape({{0, 4194305}, {0, 4194305}, {0, 211106198978564}}), 1), EX_DATAERR);  // wraps to 4
  EXPECT_EQ(code(Shape({{0, 0}, {0, INT64_MAX}}), 1), EX_DATAERR);
  EXPECT_EQ(code(Shape({{0, -1}}), 1), EX_DATAERR);
  EXPECT_EQ(code(Shape({{0, INT64_MIN}}), 1), EX_DATAERR);
  EXPECT_EQ(code(Shape({{1, -3}}), 5), EX_DATAERR);  // negative at n = 0
  EXPECT_EQ(code(Shape({{1, 0}, {0, 0}, {0, 5}}), 64), 0);
}

TEST(Shape, Broadcast) {
  dp_shape a = Shape({{1, 0}, {0, 1}, {0, 4}}), b = Shape({{0, 3}, {0, 1}}), r;
  ASSERT_EQ(dp_shape_broadcast(&a, &b, &r), DP_OK);
  char text[64];
  EXPECT_STREQ(dp_shape_print(&r, text, sizeof text), "[N,3,4]");
  dp_shape c = Shape({{0, 2}});
  dp_status s = dp_shape_broadcast(&a, &c, &r);
  EXPECT_EQ(dp_status_code(s), EX_DATAERR);
  dp_status_free(s);
}

}  // namespace
