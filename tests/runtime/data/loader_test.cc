// Batches: every sample once in an epoch, short last batches, the same order for the same seed, with and without
// prefetching.
#include "runtime/data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <numeric>
#include <thread>
#include <vector>

namespace {

// An input that is held in memory; the arena lives as long as the test program.
dp_loader_input InputOf(const char *name, int batch_dim, const dp_tensor &tensor) {
  static dp_arena *arena = dp_arena_create(0);
  dp_loader_input input = {name, batch_dim, {}, nullptr};
  input.data = {dp_data_of_tensor(arena, name, &tensor), tensor.dtype, tensor.rank, {}};
  std::copy(tensor.extents, tensor.extents + tensor.rank, input.data.extents);
  return input;
}

dp_loader_options Options(int64_t batch, bool shuffle = false, bool drop_last = false, uint64_t seed = 0) {
  dp_loader_options options = {};
  options.batch = batch;
  options.shuffle = shuffle;
  options.drop_last = drop_last;
  options.seed = seed;
  return options;
}

struct Set {
  std::vector<int32_t> numbers;
  dp_loader *loader = nullptr;

  Set(int64_t samples, dp_loader_options options) : numbers(static_cast<size_t>(samples)) {
    std::iota(numbers.begin(), numbers.end(), 0);
    dp_loader_input input = InputOf("x", 0, {DP_INT32, 1, {samples}, numbers.size() * 4, numbers.data()});
    EXPECT_EQ(dp_loader_create(&input, 1, &options, &loader), DP_OK);
  }
  ~Set() { dp_loader_destroy(loader); }

  std::vector<int32_t> Batch(int64_t position) {
    std::vector<int32_t> out(1000);
    void *target = out.data();
    int64_t n = 0;
    EXPECT_EQ(dp_loader_fill(loader, position, &target, &n), DP_OK);
    out.resize(static_cast<size_t>(n));
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
  Set set(10, Options(4, false, false, 0));
  EXPECT_EQ(dp_loader_steps(set.loader), 3);
  EXPECT_EQ(set.Batch(0), (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_EQ(set.Batch(2), (std::vector<int32_t>{8, 9}));
  EXPECT_EQ(set.Batch(3), (std::vector<int32_t>{0, 1, 2, 3}));  // wraps around
}

TEST(Loader, DropLast) {
  Set set(10, Options(4, false, true, 0));
  EXPECT_EQ(dp_loader_steps(set.loader), 2);
  EXPECT_EQ(set.Batch(2), (std::vector<int32_t>{0, 1, 2, 3}));
  Set none(3, Options(4, false, true, 0));
  EXPECT_EQ(dp_loader_steps(none.loader), 0);
}

TEST(Loader, TheHashIsOfNamesTypesShapesAndData) {
  std::vector<int32_t> x = {1, 2, 3, 4}, y = {5, 6, 7, 8};
  const dp_loader_input a = InputOf("a", 0, {DP_INT32, 1, {4}, 16, x.data()}),
                        b = InputOf("b", 0, {DP_INT32, 1, {4}, 16, y.data()});
  auto hash = [](std::vector<dp_loader_input> inputs) {
    const dp_loader_options options = Options(2, true, false, 7);
    dp_loader *loader = nullptr;
    EXPECT_EQ(dp_loader_create(inputs.data(), static_cast<int>(inputs.size()), &options, &loader), DP_OK);
    uint64_t hash = 0;
    EXPECT_EQ(dp_loader_hash(loader, &hash), DP_OK);
    dp_loader_destroy(loader);
    return hash;
  };
  const uint64_t both = hash({a, b});
  EXPECT_EQ(hash({b, a}), both);
  dp_loader_input other = b;
  other.name = "c";
  EXPECT_NE(hash({a, other}), both);
  other = b;
  other.data.dtype = DP_FLOAT32;
  EXPECT_NE(hash({a, other}), both);
  other = b;
  other.data.rank = 2;
  other.data.extents[1] = 1;
  EXPECT_NE(hash({a, other}), both);
  y[3]++;
  EXPECT_NE(hash({a, b}), both);
}

TEST(Loader, ShuffleIsAPermutationOfSeedAndEpoch) {
  Set a(101, Options(7, true, false, 5)), b(101, Options(10, true, false, 5)), c(101, Options(7, true, false, 6));
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
  Set set(5, Options(5, true, false, 1));
  int counts[5] = {};
  for (int64_t e = 0; e < 2000; e++) counts[set.Batch(e)[0]]++;
  for (int c : counts) EXPECT_NEAR(c, 400, 90);
}

TEST(Loader, BatchDimInTheMiddle) {
  // Samples of shape (2, 3), batched along the second dim: [2, n, 3].
  std::vector<int32_t> numbers(12);
  std::iota(numbers.begin(), numbers.end(), 0);
  dp_loader_input inputs[] = {InputOf("x", 1, {DP_INT32, 3, {2, 2, 3}, 48, numbers.data()}),
                              InputOf("whole", -1, {DP_INT32, 1, {2}, 8, numbers.data() + 3})};
  dp_loader_options options = Options(2);
  dp_loader *loader;
  ASSERT_EQ(dp_loader_create(inputs, 2, &options, &loader), DP_OK);
  std::vector<int32_t> x(12), whole(2);
  void *targets[] = {x.data(), whole.data()};
  int64_t n;
  EXPECT_EQ(dp_loader_fill(loader, 0, targets, &n), DP_OK);
  EXPECT_EQ(n, 2);
  EXPECT_EQ(x, (std::vector<int32_t>{0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11}));
  EXPECT_EQ(whole, (std::vector<int32_t>{3, 4}));
  dp_loader_destroy(loader);
}

TEST(Loader, PartsAreDisjointAndOfTheSeed) {
  auto part = [](dp_part which, uint64_t seed, double share) {
    dp_loader_options options = Options(7, false, false, seed);
    options.part = which;
    options.validation = share;
    Set set(101, options);
    return set.Epoch(0);
  };
  for (double share : {0.1, 0.4, 0.9}) {
    const std::vector<int32_t> training = part(DP_PART_TRAINING, 3, share),
                               validation = part(DP_PART_VALIDATION, 3, share);
    EXPECT_EQ(validation.size(), static_cast<size_t>(std::lround(101 * share)));
    EXPECT_TRUE(std::is_sorted(training.begin(), training.end()));
    EXPECT_TRUE(std::is_sorted(validation.begin(), validation.end()));
    std::vector<int32_t> all(101), both = training;
    std::iota(all.begin(), all.end(), 0);
    both.insert(both.end(), validation.begin(), validation.end());
    std::sort(both.begin(), both.end());
    EXPECT_EQ(both, all);
    EXPECT_NE(validation, part(DP_PART_VALIDATION, 4, share));
    EXPECT_EQ(validation, part(DP_PART_VALIDATION, 3, share));
  }
}

// A batch does not depend on who loads it. The third input is batched along its second dim, so it is scattered.
TEST(Loader, AnyNumberOfWorkersGivesTheSameBatches) {
  const int64_t samples = 301;
  std::vector<float> pictures(static_cast<size_t>(samples) * 48);
  std::vector<int32_t> labels(static_cast<size_t>(samples));
  for (size_t i = 0; i < pictures.size(); i++) pictures[i] = static_cast<float>(i % 1009);
  std::iota(labels.begin(), labels.end(), 0);
  dp_augment augment = {};
  ASSERT_EQ(dp_augment_parse("flip,crop:1", &augment), DP_OK);
  const dp_type type = {DP_FLOAT32, {4, {{1, 0}, {0, 3}, {0, 4}, {0, 4}}}};
  ASSERT_EQ(dp_augment_fit("image", &type, 0, &augment), DP_OK);
  dp_loader_input inputs[] = {
      InputOf("image", 0, {DP_FLOAT32, 4, {samples, 3, 4, 4}, pictures.size() * 4, pictures.data()}),
      InputOf("label", 0, {DP_INT32, 1, {samples}, labels.size() * 4, labels.data()}),
      InputOf("across", 1, {DP_FLOAT32, 3, {samples, 6, 8}, pictures.size() * 4, pictures.data()})};
  inputs[0].augment = &augment;
  std::vector<std::vector<float>> one;
  for (int workers : {1, 2, 5}) {
    dp_loader_options options = Options(64, true, false, 8);
    options.workers = workers;
    dp_loader *loader = nullptr;
    ASSERT_EQ(dp_loader_create(inputs, 3, &options, &loader), DP_OK);
    for (int64_t position = 0; position < 12; position++) {
      std::vector<float> batch(64 * (48 + 1 + 48), -1);
      void *targets[] = {batch.data(), batch.data() + 64 * 48, batch.data() + 64 * 49};
      int64_t n;
      ASSERT_EQ(dp_loader_fill(loader, position, targets, &n), DP_OK);
      EXPECT_EQ(n, position % 5 == 4 ? 301 - 4 * 64 : 64);
      if (workers == 1)
        one.push_back(batch);
      else
        EXPECT_EQ(batch, one[static_cast<size_t>(position)]) << workers << " " << position;
    }
    dp_loader_destroy(loader);
  }
}

// Each shift and each mirroring comes about as often as it should, and the pixels are those that were there.
TEST(Augment, FlipsAndShifts) {
  const int64_t height = 5, width = 7;
  std::vector<uint8_t> picture(height * width * 3);
  for (size_t i = 0; i < picture.size(); i++) picture[i] = static_cast<uint8_t>(i + 1);
  for (bool channels_first : {false, true}) {
    const dp_type first = {DP_UINT8, {4, {{1, 0}, {0, 3}, {0, height}, {0, width}}}},
                  last = {DP_UINT8, {4, {{1, 0}, {0, height}, {0, width}, {0, 3}}}};
    dp_augment augment = {};
    ASSERT_EQ(dp_augment_parse("crop:2,flip", &augment), DP_OK);
    ASSERT_EQ(dp_augment_fit("image", channels_first ? &first : &last, 0, &augment), DP_OK);
    auto pixel = [&](const std::vector<uint8_t> &p, int64_t y, int64_t x, int64_t c) {
      if (y < 0 || y >= height || x < 0 || x >= width) return uint8_t{0};
      return p[static_cast<size_t>(channels_first ? (c * height + y) * width + x : (y * width + x) * 3 + c)];
    };
    std::map<std::vector<int64_t>, int> counts;
    for (int64_t sample = 0; sample < 5000; sample++) {
      std::vector<uint8_t> changed = picture, scratch(picture.size());
      dp_augment_run(&augment, 11, sample % 3, sample, changed.data(), scratch.data());
      int matches = 0;
      for (int64_t mirror = 0; mirror < 2; mirror++)
        for (int64_t dy = -2; dy <= 2; dy++)
          for (int64_t dx = -2; dx <= 2; dx++) {
            bool same = true;
            for (int64_t y = 0; y < height && same; y++)
              for (int64_t x = 0; x < width && same; x++)
                for (int64_t c = 0; c < 3; c++)
                  same &= pixel(changed, y, x, c) == pixel(picture, y + dy, (mirror ? width - 1 - x : x) + dx, c);
            if (!same) continue;
            counts[{mirror, dy, dx}]++;
            matches++;
          }
      ASSERT_EQ(matches, 1) << sample;
    }
    EXPECT_EQ(counts.size(), 50u);
    for (const auto &count : counts) EXPECT_NEAR(count.second, 100, 50);  // 5 sigma
  }
}

TEST(Augment, DependsOnSeedEpochAndSampleAlone) {
  const dp_type type = {DP_UINT8, {3, {{1, 0}, {0, 16}, {0, 16}}}};
  dp_augment augment = {};
  ASSERT_EQ(dp_augment_parse("crop:8", &augment), DP_OK);
  ASSERT_EQ(dp_augment_fit("image", &type, 0, &augment), DP_OK);
  auto run = [&](uint64_t seed, int64_t epoch, int64_t sample) {
    std::vector<uint8_t> picture(256), scratch(256);
    std::iota(picture.begin(), picture.end(), 0);
    dp_augment_run(&augment, seed, epoch, sample, picture.data(), scratch.data());
    return picture;
  };
  EXPECT_EQ(run(1, 2, 3), run(1, 2, 3));
  EXPECT_NE(run(1, 2, 3), run(2, 2, 3));
  EXPECT_NE(run(1, 2, 3), run(1, 3, 3));
  EXPECT_NE(run(1, 2, 3), run(1, 2, 4));
  EXPECT_NE(run(1, 2, 3), run(1, 2, 3 + (int64_t{1} << 32)));
}

TEST(Loader, DisagreementAndNothingAreRefused) {
  int32_t numbers[4] = {};
  dp_loader_input inputs[] = {InputOf("images", 0, {DP_INT32, 1, {4}, 16, numbers}),
                              InputOf("labels", 0, {DP_INT32, 1, {3}, 12, numbers})};
  dp_loader_options options = Options(2);
  dp_loader *loader;
  dp_status status = dp_loader_create(inputs, 2, &options, &loader);
  EXPECT_EQ(dp_status_code(status), EX_DATAERR);
  EXPECT_STREQ(dp_status_message(status), "'images' has 4 samples but 'labels' has 3");
  dp_status_free(status);
  inputs[0].data.extents[0] = 0;
  status = dp_loader_create(inputs, 1, &options, &loader);
  EXPECT_EQ(dp_status_code(status), EX_DATAERR);
  dp_status_free(status);
}

// However many batches are ready ahead; inputs without samples come with each.
TEST(Prefetch, GivesTheLoadersBatches) {
  std::vector<int32_t> numbers(23), whole = {7, 8, 9};
  std::iota(numbers.begin(), numbers.end(), 0);
  const dp_loader_input inputs[] = {InputOf("x", 0, {DP_INT32, 1, {23}, 92, numbers.data()}),
                                    InputOf("whole", -1, {DP_INT32, 1, {3}, 12, whole.data()})};
  for (int depth : {1, 2, 3, 8, 50}) {
    const dp_loader_options options = Options(4, true, false, 9);
    dp_loader *loader;
    ASSERT_EQ(dp_loader_create(inputs, 2, &options, &loader), DP_OK);
    int32_t slots[2][4], wholes[2][3];
    void *targets[] = {slots[0], wholes[0], slots[1], wholes[1]};
    dp_prefetch *prefetch;
    ASSERT_EQ(dp_prefetch_create(loader, targets, 2, 40, depth, &prefetch), DP_OK);
    Set same(23, Options(4, true, false, 9));
    int slot;
    int64_t n, position = 2;
    while (dp_prefetch_next(prefetch, &slot, &n)) {
      EXPECT_EQ(slot, position % 2);
      EXPECT_EQ(std::vector<int32_t>(slots[slot], slots[slot] + n), same.Batch(position)) << depth << " " << position;
      EXPECT_EQ(std::vector<int32_t>(wholes[slot], wholes[slot] + 3), whole);
      std::fill(slots[slot], slots[slot] + 4, -1);
      std::fill(wholes[slot], wholes[slot] + 3, -1);
      dp_prefetch_release(prefetch);
      position++;
    }
    EXPECT_EQ(position, 40);
    EXPECT_EQ(dp_prefetch_failure(prefetch), DP_OK);
    dp_prefetch_destroy(prefetch);
    dp_loader_destroy(loader);
  }
}

// With a depth of 4 the loader is four batches ahead of what was taken, in the targets and behind them, and no more.
TEST(Prefetch, GoesAsFarAheadAsItIsTold) {
  for (int depth : {1, 4}) {
    std::atomic<int> skipped{0};
    std::vector<int32_t> numbers(100);
    dp_loader_input input = InputOf("x", 0, {DP_INT32, 1, {100}, 400, numbers.data()});
    bool broken[100];
    for (int i = 0; i < 100; i++) broken[i] = i % 2 == 0;  // so that each batch of two tells when it is read
    const_cast<dp_data *>(input.data.data)->broken = broken;
    dp_loader_options options = Options(2);
    options.skip_broken = true;
    options.context = &skipped;
    options.skipped = [](void *context, const char *) { (*static_cast<std::atomic<int> *>(context))++; };
    dp_loader *loader;
    ASSERT_EQ(dp_loader_create(&input, 1, &options, &loader), DP_OK);
    int32_t slots[2][2];
    void *targets[] = {slots[0], slots[1]};
    dp_prefetch *prefetch;
    ASSERT_EQ(dp_prefetch_create(loader, targets, 0, 50, depth, &prefetch), DP_OK);
    int slot;
    int64_t n;
    ASSERT_TRUE(dp_prefetch_next(prefetch, &slot, &n));  // and is not released: it is being trained on
    while (skipped < 1 + depth) std::this_thread::yield();
    for (int i = 0; i < 100; i++) std::this_thread::sleep_for(std::chrono::microseconds(200));
    EXPECT_EQ(skipped, 1 + depth) << depth;
    dp_prefetch_destroy(prefetch);
    dp_loader_destroy(loader);
  }
}

// A batch that cannot be filled ends the data, after those before it.
TEST(Prefetch, AFailureComesInItsTurn) {
  std::vector<int32_t> numbers(20);
  dp_loader_input input = InputOf("x", 0, {DP_INT32, 1, {20}, 80, numbers.data()});
  bool broken[20] = {};
  broken[13] = true;
  const_cast<dp_data *>(input.data.data)->broken = broken;
  for (auto [taken, depth] : {std::pair(true, 1), {false, 1}, {true, 2}, {false, 2}, {true, 4}, {false, 9}}) {
    dp_loader_options options = Options(4);
    options.workers = 3;
    dp_loader *loader;
    ASSERT_EQ(dp_loader_create(&input, 1, &options, &loader), DP_OK);
    int32_t slots[2][4];
    void *targets[] = {slots[0], slots[1]};
    dp_prefetch *prefetch;
    ASSERT_EQ(dp_prefetch_create(loader, targets, 0, 5, depth, &prefetch), DP_OK);
    int slot, batches = 0;
    for (int64_t n; dp_prefetch_next(prefetch, &slot, &n); batches++) dp_prefetch_release(prefetch);
    EXPECT_EQ(batches, 3);
    if (taken) {
      dp_status status = dp_prefetch_failure(prefetch);
      EXPECT_EQ(dp_status_code(status), EX_DATAERR);
      EXPECT_STREQ(dp_status_message(status), "x: record 13 cannot be read");
      dp_status_free(status);
    }
    dp_prefetch_destroy(prefetch);
    dp_loader_destroy(loader);
  }
}

// Each place of a batch stays, whatever is skipped; the next whole sample of the part fills it.
TEST(Loader, BrokenRecordsAreSkippedInAllInputs) {
  std::vector<int32_t> numbers(10);
  std::iota(numbers.begin(), numbers.end(), 0);
  dp_loader_input inputs[] = {InputOf("x", 0, {DP_INT32, 1, {10}, 40, numbers.data()}),
                              InputOf("y", 0, {DP_INT32, 1, {10}, 40, numbers.data()})};
  bool broken_x[10] = {}, broken_y[10] = {};
  broken_x[3] = broken_x[9] = broken_y[4] = true;
  const_cast<dp_data *>(inputs[0].data.data)->broken = broken_x;
  const_cast<dp_data *>(inputs[1].data.data)->broken = broken_y;
  std::vector<std::string> told;
  dp_loader_options options = Options(10);
  options.skip_broken = true;
  options.context = &told;
  options.skipped = [](void *context, const char *message) {
    static_cast<std::vector<std::string> *>(context)->push_back(message);
  };
  dp_loader *loader;
  ASSERT_EQ(dp_loader_create(inputs, 2, &options, &loader), DP_OK);
  const std::vector<int32_t> wanted = {0, 1, 2, 5, 5, 5, 6, 7, 8, 0};
  for (int64_t epoch = 0; epoch < 2; epoch++) {
    std::vector<int32_t> x(10), y(10);
    void *targets[] = {x.data(), y.data()};
    int64_t n;
    ASSERT_EQ(dp_loader_fill(loader, epoch, targets, &n), DP_OK);
    EXPECT_EQ(n, 10);
    EXPECT_EQ(x, wanted);
    EXPECT_EQ(y, wanted);
  }
  EXPECT_EQ(told, (std::vector<std::string>{"x: record 3 cannot be read", "y: record 4 cannot be read",
                                            "x: record 9 cannot be read"}));
  std::fill(broken_x, broken_x + 10, true);
  std::vector<int32_t> x(10), y(10);
  void *targets[] = {x.data(), y.data()};
  int64_t n;
  dp_status status = dp_loader_fill(loader, 0, targets, &n);
  EXPECT_EQ(dp_status_code(status), EX_DATAERR);
  dp_status_free(status);
  dp_loader_destroy(loader);
}

TEST(Prefetch, StopsEarly) {
  for (int depth : {1, 2, 5}) {
    Set set(23, Options(4, false, false, 0));
    int32_t slots[2][4];
    void *targets[] = {slots[0], slots[1]};
    dp_prefetch *prefetch;
    ASSERT_EQ(dp_prefetch_create(set.loader, targets, 0, 1000000, depth, &prefetch), DP_OK);
    int slot;
    int64_t n;
    ASSERT_TRUE(dp_prefetch_next(prefetch, &slot, &n));
    dp_prefetch_release(prefetch);
    dp_prefetch_destroy(prefetch);
  }
}

}  // namespace
