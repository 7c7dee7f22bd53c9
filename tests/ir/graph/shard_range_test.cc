// Tests dp_shard_range by brute force. The elements of small tensors are dealt out one by one according to the
// definition (part i of k blocks over p devices starts at the largest b with b * p <= i * k; a later axis deals out
// what an earlier one left), and every device must hold exactly those, in whole order. Covers all small extents, views
// of blocks and units, meshes of several axes and every n.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "ir/graph/placement.h"

namespace {

using List = std::vector<int64_t>;
using Placements = std::vector<dp_placement>;

dp_mesh MeshOf(const List &sizes) {
  static const char *const names[] = {"a", "b", "c"};
  dp_mesh mesh = {};
  for (int64_t size : sizes) {
    mesh.axes[mesh.n_axes] = {names[mesh.n_axes], size};
    mesh.n_axes++;
  }
  return mesh;
}

// Part `part` of the list, by counting.
List Deal(const List &list, int64_t part, int64_t parts) {
  auto begin_of = [&](int64_t i) {
    size_t b = 0;
    while (int64_t(b + 1) * parts <= i * int64_t(list.size())) b++;
    return b;
  };
  return List(list.begin() + int64_t(begin_of(part)), list.begin() + int64_t(begin_of(part + 1)));
}

// The indices along dim d, of `extent`, that the device at `at` holds, in order.
List IndicesOf(int d, int64_t extent, const Placements &on, const List &sizes, const List &at) {
  int64_t outer = 1, unit = 1;
  for (const dp_placement &p : on)
    if (p.kind == DP_SHARD && p.dim == d) outer = p.outer, unit = p.unit;
  List blocks;
  for (int64_t k = 0; k < extent / (outer * unit); k++) blocks.push_back(k);
  const int64_t whole = int64_t(blocks.size());
  for (size_t a = 0; a < on.size(); a++)
    if (on[a].kind == DP_SHARD && on[a].dim == d) blocks = Deal(blocks, at[a], sizes[a]);
  List indices;
  for (int64_t o = 0; o < outer; o++)
    for (int64_t k : blocks)
      for (int64_t u = 0; u < unit; u++) indices.push_back((o * whole + k) * unit + u);
  return indices;
}

// All tuples with one index from each list, as row-major positions in the whole; the last list varies fastest.
List Positions(const std::vector<List> &indices, const List &extents) {
  List positions = {0};
  for (size_t d = 0; d < indices.size(); d++) {
    List longer;
    for (int64_t position : positions)
      for (int64_t i : indices[d]) longer.push_back(position * extents[d] + i);
    positions = longer;
  }
  return positions;
}

// The elements that the part holds according to the code, in its order.
List Held(const dp_local &local) {
  std::vector<List> indices;
  for (int d = 0; d < local.rank; d++) {
    indices.emplace_back();
    for (int64_t i = 0; i < local.extents[d]; i++) indices.back().push_back(dp_local_to_whole(&local, d, i));
  }
  return Positions(indices, List(local.whole, local.whole + local.rank));
}

struct Extremes {
  std::vector<int64_t> most, least;  // along each dim
  int64_t count = 0;                 // number of elements
};

// Checks one n; `checked` counts the parts.
Extremes HoldAt(const dp_shape &shape, const Placements &on, const List &sizes, int64_t n, int64_t *checked) {
  const dp_mesh mesh = MeshOf(sizes);
  Extremes found{std::vector<int64_t>(size_t(shape.rank), 0), std::vector<int64_t>(size_t(shape.rank), INT64_MAX)};
  std::map<int64_t, int> owners;
  std::vector<dp_local> locals;
  int64_t copies = 1, total = 1;
  for (size_t a = 0; a < on.size(); a++)
    if (on[a].kind != DP_SHARD) copies *= sizes[a];
  for (int64_t device = 0; device < dp_mesh_devices(&mesh); device++) {
    int64_t at[DP_MAX_MESH];
    dp_mesh_coordinate(&mesh, device, at);
    const dp_local local = dp_shard_range(&shape, on.data(), &mesh, at, n);
    std::vector<List> expected;
    List whole;
    for (int d = 0; d < shape.rank; d++) {
      whole.push_back(shape.dims[d].scale * n + shape.dims[d].offset);
      expected.push_back(IndicesOf(d, whole.back(), on, sizes, List(at, at + mesh.n_axes)));
      EXPECT_EQ(local.whole[d], whole.back());
      EXPECT_EQ(local.extents[d], int64_t(expected.back().size()));
      EXPECT_EQ((local.symbolic >> d & 1) != 0, shape.dims[d].scale != 0);
      found.most[size_t(d)] = std::max(found.most[size_t(d)], local.extents[d]);
      found.least[size_t(d)] = std::min(found.least[size_t(d)], local.extents[d]);
    }
    const List held = Held(local);
    EXPECT_EQ(held, Positions(expected, whole));
    EXPECT_TRUE(std::is_sorted(held.begin(), held.end()));
    for (int64_t position : held) owners[position]++;
    EXPECT_EQ(dp_local_count(&local), int64_t(held.size()));
    found.count = std::max(found.count, int64_t(held.size()));
    locals.push_back(local);
    total = 1;
    for (int64_t extent : whole) total *= extent;
    ++*checked;
  }
  EXPECT_EQ(int64_t(owners.size()), total);
  for (const auto &[position, count] : owners) EXPECT_EQ(count, copies) << "element " << position;
  // Each part knows the largest and the smallest part.
  for (const dp_local &local : locals)
    for (int d = 0; d < shape.rank; d++) {
      EXPECT_EQ(dp_local_most(&local, d), found.most[size_t(d)]);
      EXPECT_EQ(dp_local_least(&local, d), found.least[size_t(d)]);
    }
  return found;
}

// Checks every n up to `batch`; dp_local_max_count must give the maximum that occurs.
void Hold(const dp_shape &shape, const Placements &on, const List &sizes, int64_t batch, int64_t *checked) {
  const dp_mesh mesh = MeshOf(sizes);
  dp_status status = dp_placement_check(&shape, on.data(), &mesh);
  const bool legal = !status;
  dp_status_free(status);
  if (!legal) return;
  std::string text;
  char one[64];
  for (size_t a = 0; a < on.size(); a++)
    text += std::string(dp_placement_print(on[a], one, sizeof one)) + " over " + std::to_string(sizes[a]) + "; ";
  char shape_text[256];
  SCOPED_TRACE(text + dp_shape_print(&shape, shape_text, sizeof shape_text));
  int64_t most = 0;
  for (int64_t n = 0; n <= batch && !testing::Test::HasFailure(); n++)
    most = std::max(most, HoldAt(shape, on, sizes, n, checked).count);
  EXPECT_EQ(dp_local_max_count(&shape, on.data(), &mesh, batch), most);
}

// One dim, all views, one to three axes that all split it.
TEST(ShardRange, OneDim) {
  int64_t checked = 0;
  std::vector<List> meshes;
  for (int64_t p = 1; p <= 7; p++) meshes.push_back({p});
  for (int64_t p = 1; p <= 4; p++)
    for (int64_t q = 1; q <= 4; q++) meshes.push_back({p, q});
  for (const List &sizes : {List{2, 3, 2}, List{3, 2, 3}, List{2, 2, 2}, List{1, 3, 2}}) meshes.push_back(sizes);
  for (int64_t outer = 1; outer <= 3; outer++)
    for (int64_t unit = 1; unit <= 3; unit++)
      for (const List &sizes : meshes) {
        const Placements on(sizes.size(), dp_shard_in(0, outer, unit));
        const int64_t block = outer * unit;
        for (int64_t k = 0; k <= 9; k++) Hold({1, {{0, k * block}}}, on, sizes, 0, &checked);
        Hold({1, {{block, 0}}}, on, sizes, 9, &checked);
        Hold({1, {{2 * block, block}}}, on, sizes, 4, &checked);
        ASSERT_FALSE(HasFailure());
      }
  EXPECT_GT(checked, 10000);
}

// Three dims, one of which depends on n, with every pair of placements on two axes.
TEST(ShardRange, SeveralDims) {
  int64_t checked = 0;
  std::vector<dp_placement> placements = {dp_replicate(), dp_partial(DP_SUM)};
  for (int d = 0; d < 3; d++)
    for (dp_placement p : {dp_shard(d), dp_shard_in(d, 2, 1), dp_shard_in(d, 1, 2), dp_shard_in(d, 2, 3)})
      placements.push_back(p);
  const dp_shape shapes[] = {
      {3, {{1, 0}, {0, 6}, {0, 4}}}, {3, {{0, 2}, {2, 0}, {0, 6}}}, {3, {{0, 12}, {0, 1}, {1, 1}}}};
  for (const dp_shape &shape : shapes)
    for (const dp_placement &first : placements)
      for (const dp_placement &second : placements)
        for (const List &sizes : {List{2, 3}, List{3, 1}, List{5, 2}}) {
          Hold(shape, {first, second}, sizes, 5, &checked);
          ASSERT_FALSE(HasFailure());
        }
  EXPECT_GT(checked, 10000);
}

// Three axes, one of which is between the two that split a dim.
TEST(ShardRange, AxesBetween) {
  int64_t checked = 0;
  for (dp_placement between : {dp_replicate(), dp_partial(DP_MAX), dp_shard(1), dp_shard_in(1, 3, 1)})
    for (dp_placement around : {dp_shard(0), dp_shard_in(0, 2, 1), dp_shard_in(0, 1, 2)})
      for (const List &sizes : {List{2, 2, 2}, List{3, 2, 2}, List{2, 5, 3}}) {
        Hold({2, {{2, 0}, {0, 6}}}, {around, between, around}, sizes, 8, &checked);
        Hold({2, {{0, 10}, {3, 0}}}, {around, between, around}, sizes, 4, &checked);
      }
  EXPECT_GT(checked, 3000);
}

// Scalars are whole everywhere, and a tensor without elements is empty everywhere.
TEST(ShardRange, NothingToSplit) {
  int64_t checked = 0;
  Hold({0, {}}, {dp_replicate(), dp_partial(DP_SUM)}, {2, 3}, 3, &checked);
  Hold({2, {{0, 0}, {1, 0}}}, {dp_shard(0), dp_shard(1)}, {2, 3}, 3, &checked);
  EXPECT_EQ(checked, 48);
}

// What a device holds of an image, block by block, is what it holds of the tensor of rank 5: the elements of the whole
// come in the same order. Where some device has no whole blocks, there is no such tensor.
TEST(InBlocks, AreTensorsOfRankFive) {
  const int64_t block = 4, height = 2, width = 3;
  int made = 0, none = 0;
  for (int64_t channels : {0, 4, 8, 12, 16, 6, 24})
    for (int64_t devices : {1, 2, 3})
      for (int64_t unit : {1, 2, 4, 8}) {
        if (channels % unit) continue;
        const dp_shape shape = {4, {dp_dim_batch(), dp_dim_of(channels), dp_dim_of(height), dp_dim_of(width)}};
        const Placements on = {dp_shard_in(1, 1, unit)};
        const dp_mesh mesh = MeshOf({devices});
        const bool whole = channels / unit % devices == 0 && channels / devices % block == 0;
        for (int64_t device = 0; device < devices; device++) {
          const dp_local image = dp_shard_range(&shape, on.data(), &mesh, &device, 2);
          dp_local plain;
          ASSERT_EQ(dp_local_in_blocks(&image, block, &plain), whole) << channels << " on " << devices;
          (whole ? made : none)++;
          if (!whole) continue;
          EXPECT_EQ(plain.rank, 5);
          EXPECT_EQ(dp_local_count(&plain), dp_local_count(&image));
          EXPECT_EQ(plain.extents[4], block);
          for (int64_t b = 0; b < plain.extents[1]; b++)
            for (int64_t c = 0; c < block; c++)
              EXPECT_EQ(dp_local_to_whole(&plain, 1, b) * block + c, dp_local_to_whole(&image, 1, b * block + c));
          EXPECT_EQ(dp_local_most(&plain, 1) * block, dp_local_most(&image, 1));
          EXPECT_EQ(plain.symbolic, image.symbolic);
        }
      }
  EXPECT_GT(made, 10);
  EXPECT_GT(none, 10);
}

TEST(InBlocks, OthersAreNone) {
  const int64_t first = 0;
  const dp_mesh mesh = MeshOf({2});
  dp_local plain;
  const auto has = [&](const dp_shape &shape, dp_placement at, int64_t block) {
    const dp_local local = dp_shard_range(&shape, &at, &mesh, &first, 8);
    return dp_local_in_blocks(&local, block, &plain);
  };
  const dp_dim n = dp_dim_batch(), c = dp_dim_of(16), one = dp_dim_of(1);
  EXPECT_TRUE(has({4, {n, c, one, one}}, dp_replicate(), 8));
  EXPECT_FALSE(has({4, {n, c, one, one}}, dp_replicate(), 0)) << "no blocks";
  EXPECT_FALSE(has({4, {n, c, one, one}}, dp_shard_in(1, 2, 1), 8)) << "the halves of a device's channels lie apart";
  EXPECT_FALSE(has({4, {c, n, one, one}}, dp_replicate(), 8)) << "as many channels as samples";
  EXPECT_FALSE(has({3, {n, c, one}}, dp_replicate(), 8));
  EXPECT_FALSE(has({5, {n, c, one, one, one}}, dp_replicate(), 8));
}

}  // namespace
