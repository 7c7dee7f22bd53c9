// Batches: every sample once in an epoch, short last batches, the same order for the same seed, with and without
// prefetching.
#include "runtime/data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace {

struct Set {
  std::vector<int32_t> numbers;
  dp_loader *loader = nullptr;

  Set(int64_t samples, dp_loader_options options) : numbers(static_cast<size_t>(samples)) {
    std::iota(numbers.begin(), numbers.end(), 0);
    dp_loader_input input = {"x", 0, {DP_INT32, 1, {samples}, numbers.size() * 4, numbers.data()}};
    EXPECT_EQ(dp_loader_create(&input, 1, &options, &loader), DP_OK);
  }
  ~Set() { dp_loader_destroy(loader); }

  std::vector<int32_t> Batch(int64_t position) {
    std::vector<int32_t> out(1000);
    void *target = out.data();
    out.resize(static_cast<size_t>(dp_loader_fill(loader, position, &target)));
    return out;
  }

  std::vector<int32_t> Epoch(int64_t epoch) {
    std::vector<int32_t> all;
    for (int64_t s = 0; s < dp_loader_steps(loader); s++)
      for (int32_t x : Batch(epoch * dp_loader_steps(loader) + s)) all.push_back(x);
    return all;
  }
};

TEST(Loader, FileOrderWithAShortLastBatch) {
  Set set(10, {4, false, false, 0});
  EXPECT_EQ(dp_loader_steps(set.loader), 3);
  EXPECT_EQ(set.Batch(0), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(set.Batch(2), (std::vector<int32_t>{8, 9}));
  EXPECT_EQ(set.Batch(3), (std::vector<int32_t>{0, 1, 2, 3}));  // wraps around
}

TEST(Loader, DropLast) {
  Set set(10, {4, false, true, 0});
  EXPECT_EQ(dp_loader_steps(set.loader), 2);
  EXPECT_EQ(set.Batch(2), (std::vector<int32_t>{0, 1, 2, 3}));
  Set none(3, {4, false, true, 0});
  EXPECT_EQ(dp_loader_steps(none.loader), 0);
}

TEST(Loader, TheHashIsOfNamesTypesShapesAndData) {
  std::vector<int32_t> x = {1, 2, 3, 4}, y = {5, 6, 7, 8};
  const dp_loader_input a = {"a", 0, {DP_INT32, 1, {4}, 16, x.data()}}, b = {"b", 0, {DP_INT32, 1, {4}, 16, y.data()}};
  auto hash = [](std::vector<dp_loader_input> inputs) {
    const dp_loader_options options = {2, true, false, 7};
    dp_loader *loader = nullptr;
    EXPECT_EQ(dp_loader_create(inputs.data(), static_cast<int>(inputs.size()), &options, &loader), DP_OK);
    const uint64_t hash = dp_loader_hash(loader);
    dp_loader_destroy(loader);
    return hash;
  };
  const uint64_t both = hash({a, b});
  EXPECT_EQ(hash({b, a}), both);
  dp_loader_input other = b;
  other.name = "c";
  EXPECT_NE(hash({a, other}), both);
  other = b;
  other.tensor.dtype = DP_FLOAT32;
  EXPECT_NE(hash({a, other}), both);
  other = b;
  other.tensor.rank = 2;
  other.tensor.extents[1] = 1;
  EXPECT_NE(hash({a, other}), both);
  y[3]++;
  EXPECT_NE(hash({a, b}), both);
}

TEST(Loader, ShuffleIsAPermutationOfSeedAndEpoch) {
  Set a(101, {7, true, false, 5}), b(101, {10, true, false, 5}), c(101, {7, true, false, 6});
  std::vector<int32_t> first = a.Epoch(0), second = a.Epoch(1);
  EXPECT_EQ(first, b.Epoch(0));  // independent of the batch
  EXPECT_NE(first, second);
  EXPECT_NE(first, c.Epoch(0));
  EXPECT_EQ(first, a.Epoch(0));  // again, after another epoch
  EXPECT_FALSE(std::is_sorted(first.begin(), first.end()));
  for (std::vector<int32_t> order : {first, second}) {
    std::sort(order.begin(), order.end());
    EXPECT_EQ(order, a.numbers);
  }
}

TEST(Loader, ShuffleIsEven) {
  // In 2,000 epochs each of 5 samples should come first about 400 times; 5 sigma is 90.
  Set set(5, {5, true, false, 1});
  int counts[5] = {};
  for (int64_t e = 0; e < 2000; e++) counts[set.Batch(e)[0]]++;
  for (int c : counts) EXPECT_NEAR(c, 400, 90);
}

TEST(Loader, BatchDimInTheMiddle) {
  // Samples of shape (2, 3), batched along the second dim: [2, n, 3].
  std::vector<int32_t> numbers(12);
  std::iota(numbers.begin(), numbers.end(), 0);
  dp_loader_input inputs[] = {{"x", 1, {DP_INT32, 3, {2, 2, 3}, 48, numbers.data()}},
                              {"whole", -1, {DP_INT32, 1, {2}, 8, numbers.data() + 3}}};
  dp_loader_options options = {2, false, false, 0};
  dp_loader *loader;
  ASSERT_EQ(dp_loader_create(inputs, 2, &options, &loader), DP_OK);
  std::vector<int32_t> x(12), whole(2);
  void *targets[] = {x.data(), whole.data()};
  EXPECT_EQ(dp_loader_fill(loader, 0, targets), 2);
  EXPECT_EQ(x, (std::vector<int32_t>{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
  EXPECT_EQ(whole, (std::vector<int32_t>{3, 4}));
  dp_loader_destroy(loader);
}

TEST(Loader, DisagreementAndNothingAreRefused) {
  int32_t numbers[4] = {};
  dp_loader_input inputs[] = {{"images", 0, {DP_INT32, 1, {4}, 16, numbers}},
                              {"labels", 0, {DP_INT32, 1, {3}, 12, numbers}}};
  dp_loader_options options = {2, false, false, 0};
  dp_loader *loader;
  dp_status status = dp_loader_create(inputs, 2, &options, &loader);
  EXPECT_EQ(dp_status_code(status), EX_DATAERR);
  EXPECT_STREQ(dp_status_message(status), "'images' has 4 samples but 'labels' has 3");
  dp_status_free(status);
  inputs[0].tensor.extents[0] = 0;
  status = dp_loader_create(inputs, 1, &options, &loader);
  EXPECT_EQ(dp_status_code(status), EX_DATAERR);
  dp_status_free(status);
}

TEST(Prefetch, GivesTheLoadersBatches) {
  Set set(23, {4, true, false, 9});
  int32_t slots[2][4];
  void *targets[] = {slots[0], slots[1]};
  dp_prefetch *prefetch;
  ASSERT_EQ(dp_prefetch_create(set.loader, targets, 2, 40, &prefetch), DP_OK);
  Set same(23, {4, true, false, 9});
  int slot;
  int64_t n, position = 2;
  while (dp_prefetch_next(prefetch, &slot, &n)) {
    EXPECT_EQ(slot, position % 2);
    EXPECT_EQ(std::vector<int32_t>(slots[slot], slots[slot] + n), same.Batch(position)) << position;
    dp_prefetch_release(prefetch);
    position++;
  }
  EXPECT_EQ(position, 40);
  dp_prefetch_destroy(prefetch);
}

TEST(Prefetch, StopsEarly) {
  Set set(23, {4, false, false, 0});
  int32_t slots[2][4];
  void *targets[] = {slots[0], slots[1]};
  dp_prefetch *prefetch;
  ASSERT_EQ(dp_prefetch_create(set.loader, targets, 0, 1000000, &prefetch), DP_OK);
  int slot;
  int64_t n;
  ASSERT_TRUE(dp_prefetch_next(prefetch, &slot, &n));
  dp_prefetch_release(prefetch);
  dp_prefetch_destroy(prefetch);
}

}  // namespace
