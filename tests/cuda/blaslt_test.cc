// Products by cuBLASLt, and by our own function, against the CPU's reference, on the stand-in, which computes from
// the library's descriptors.
#include <gtest/gtest.h>

#include <cmath>

#include "backends/cuda/blaslt/product.h"
#include "backends/cuda/gpu/memory.h"
#include "backends/cuda/gpu/queue.h"
#include "tests/cuda/library_kernels.h"

namespace dp_test {
namespace {

constexpr char kGemm[] = "cuda.blaslt.Gemm", kMatMul[] = "cuda.blaslt.MatMul";
constexpr char kOwnGemm[] = "cuda.device.Gemm", kOwnMatMul[] = "cuda.device.MatMul";

TEST(Blaslt, Samples) {
  CheckSamples("Gemm", "", kGemm);
  CheckSamples("MatMul", "", kMatMul);
  CheckSamples("Gemm", "", kOwnGemm);
  CheckSamples("MatMul", "", kOwnMatMul);
}

std::string DrawType(Random &random) {
  const char *types[] = {"float32", "float32", "float64", "float16", "bfloat16", "int32", "int64"};
  return types[random.Int(0, 6)];
}

// cuBLASLt takes floats; of 16 bits none with a factor of C, which would be rounded by itself.
bool MultipliesByLibrary(const Problem &p, const std::string &type, bool adds) {
  const bool half = type == "float16" || type == "bfloat16";
  return type[0] != 'i' && (!half || !adds || p.attrs.find("beta") == std::string::npos);
}

// Transpositions, factors, and every way in which C can be broadcast; extents of 0 and 1 among them; sums that are long
// enough to be taken in parts.
TEST(Blaslt, RandomGemm) {
  Random random(1);
  for (int i = 0; i < 120; i++) {
    auto extent = [&] { return random.Int(0, 9) ? random.Int(1, 20) : random.Int(0, 1); };
    const int64_t n = extent(), k = random.Int(0, 5) ? extent() : random.Int(60, 140);
    const bool a = random.Int(0, 1), b = random.Int(0, 1);
    const int64_t batch = extent();
    const std::string type = DrawType(random), of_n = std::to_string(n), of_k = std::to_string(k);
    const std::string shapes[] = {"[]",   "[1]", "[" + of_n + "]", "[1," + of_n + "]", "[N,1]", "[N," + of_n + "]",
                                  "[1,1]"};
    const char *factors[] = {"", ", beta=-2.0", ", alpha=3.0, beta=0.0", type[0] != 'i' ? ", alpha=0.5" : ""};
    std::string inputs = type + (a ? "[" + of_k + ",N]" : "[N," + of_k + "]") + ", " + type +
                         (b ? "[" + of_n + "," + of_k + "]" : "[" + of_k + "," + of_n + "]");
    if (random.Int(0, 5)) inputs += ", " + type + shapes[random.Int(0, 6)];
    const Problem p{"Gemm", "",
                    inputs, "transA=" + std::to_string(a) + ", transB=" + std::to_string(b) + factors[random.Int(0, 3)],
                    batch,  double(k + 10)};
    const bool adds = inputs.find(", " + type, type.size()) != inputs.rfind(", " + type);
    if (MultipliesByLibrary(p, type, adds)) Check(p, kGemm);
    Check(p, kOwnGemm);
    if (HasFatalFailure()) return;
  }
}

// Of 16 bits, sums are in float32 and are rounded once: hardly an element is another than the reference's.
TEST(Blaslt, SumsOf16BitsAreRoundedOnce) {
  for (const char *type : {"float16", "bfloat16"})
    for (const char *name : {kGemm, kOwnGemm}) {
      const std::string t = type;
      for (const char *attrs : {"", "alpha=0.5", "beta=0.3"})
        for (const char *c : {"", "[90]", "[N,90]", "[]", "[N,1]"}) {
          if (name == kGemm && *c && attrs[0] == 'b') continue;
          const Problem p{"Gemm", "", t + "[N,140], " + t + "[140,90]" + (*c ? ", " + t + c : ""), attrs, 40, 150};
          Halves() = {};
          Check(p, name);
          EXPECT_GT(Halves().elements, 3000);
          EXPECT_LT(Halves().others * 100, Halves().elements) << p.Print() << name;
        }
    }
}

// Leading dims that are equal, broadcast on either side, absent, or 0.
TEST(Blaslt, RandomMatMul) {
  Random random(2);
  for (int i = 0; i < 120; i++) {
    const int rank = int(random.Int(0, 4));
    std::vector<int64_t> a, b;
    for (int d = 0; d < rank; d++) {
      const int64_t extent = random.Int(0, 15) ? random.Int(1, 4) : 0;
      const int64_t which = random.Int(0, 5);
      a.push_back(which == 0 ? 1 : extent);
      b.push_back(which == 1 ? 1 : extent);
    }
    if (random.Int(0, 3) == 0) a.erase(a.begin(), a.begin() + random.Int(0, rank));
    if (random.Int(0, 3) == 0) b.erase(b.begin(), b.begin() + random.Int(0, rank));
    const int64_t k = random.Int(0, 5) ? random.Int(0, 9) : random.Int(60, 140), m = random.Int(1, 9);
    a.push_back(m);
    a.push_back(k);
    b.push_back(k);
    b.push_back(random.Int(1, 9));
    if (random.Int(0, 9) == 0) a = {k};
    if (random.Int(0, 9) == 0) b = {k};
    const std::string type = DrawType(random);
    const Problem p{"MatMul", "", type + List(a) + ", " + type + List(b), "", 1, double(k + 1)};
    if (type[0] != 'i') Check(p, kMatMul);
    Check(p, kOwnMatMul);
    if (HasFatalFailure()) return;
  }
}

TEST(Blaslt, MatchesEmptyParts) {
  EXPECT_EQ(Selected({"Gemm", "", "float32[N,4], float32[4,3]", "", 0, 1}), kGemm);
  EXPECT_EQ(Selected({"MatMul", "", "float64[N,4], float64[4,3]", "", 0, 1}), kMatMul);
  EXPECT_EQ(Selected({"Gemm", "", "bfloat16[N,4], bfloat16[4,3], bfloat16[3]", "", 2, 1}), kGemm);
  EXPECT_EQ(Selected({"Gemm", "", "float16[N,4], float16[4,3], float16[3]", "beta=0.5", 2, 1}), kOwnGemm);
  EXPECT_EQ(Selected({"MatMul", "", "float16[N,4], float16[4,3]", "", 0, 1}), kMatMul);
  EXPECT_EQ(Selected({"MatMul", "", "int32[N,4], int32[4,3]", "", 2, 1}), kOwnMatMul);
}

// NaN in C counts, even times 0, and so does NaN in a row of it.
TEST(Blaslt, KeepsNaN) {
  for (const char *attrs : {"beta=0.0", "beta=1.0", "beta=2.0"})
    for (const char *c : {"[3]", "[2,3]", "[2,1]"}) {
      Ready ready = Draw({"Gemm", "", "float32[2,4], float32[4,3], float32" + std::string(c), attrs, 1, 4});
      ready.in[2].Set(0, NAN);
      Outcome found = RunCuda(kGemm, ready.built->node, ready.in, ready.out);
      ASSERT_EQ(found.error, "");
      EXPECT_TRUE(std::isnan(found.results[0].Get(0))) << attrs << c;
      EXPECT_FALSE(std::isnan(found.results[0].Get(c[1] == '3' ? 5 : 4 + (c[3] == '3')))) << attrs << c;
    }
}

// A product as described, and with one thing in its descriptors changed: the result must change, or be refused. The
// stand-in thus reads each of them.
class Described : public testing::Test {
 protected:
  void SetUp() override {
    spec.dtype = DP_FLOAT32;
    spec.m = 3;
    spec.n = 4;
    spec.k = 5;
    spec.batches = 2;
    spec.a_stride = 15;
    spec.b_stride = 20;
    spec.alpha = 2;
    spec.beta = 3;
    spec.bias = true;
    spec.alignment = 4;
    for (size_t i = 0; i < 64; i++)
      a[i] = float(i % 7) - 3, b[i] = float(i % 13) - 6, c[i] = float(i % 11), bias[i] = float(i);
    ASSERT_EQ(OpenDevice(), "");
    for (float **room : {&a_, &b_, &c_, &bias_, &y_})
      *room = static_cast<float *>(dp_cuda_allocate({false, 0}, 256, 256));
    scratch_ = dp_cuda_allocate({false, 0}, dp_blaslt_workspace(0), 256);
    Write(a_, a);
    Write(b_, b);
    Write(c_, c);
    Write(bias_, bias);
    ASSERT_EQ(dp_cuda_queue_create(0, false, &queue_), DP_OK);
    ASSERT_EQ(dp_blaslt_product_make(&spec, &product, &found), DP_OK);
    ASSERT_TRUE(found);
  }
  void TearDown() override {
    dp_cuda_queue_destroy(queue_);
    for (float *room : {a_, b_, c_, bias_, y_}) dp_cuda_release({false, 0}, room, 256);
    dp_cuda_release({false, 0}, scratch_, dp_blaslt_workspace(0));
  }
  void Write(float *to, const float *from) { ASSERT_EQ(dp_cuda_upload(0, to, from, 256), DP_OK); }
  std::vector<float> Run() {
    std::vector<float> y(64, -1);
    Write(y_, y.data());
    dp_blaslt_data data{a_, b_, c_, bias_, y_};
    status = dp_blaslt_product_enqueue(&product, queue_, &data, scratch_);
    if (status) y.clear();
    dp_status_free(status);
    int instruction;
    EXPECT_EQ(dp_cuda_queue_finish(queue_, &instruction), DP_OK);
    if (y.empty()) return y;
    EXPECT_EQ(dp_cuda_download(0, y.data(), y_, 256), DP_OK);
    return y;
  }
  template <typename Change>
  void ExpectOther(const char *what, Change change) {
    const dp_blaslt_product held = product;
    const std::vector<float> as_described = Run();
    change();
    EXPECT_NE(Run(), as_described) << what;
    product = held;
    EXPECT_EQ(Run(), as_described);
  }
  template <typename T>
  void Set(cublasLtMatrixLayoutOpaque_t *layout, int attribute, T value) {
    ASSERT_EQ(product.blaslt->calls.cublasLtMatrixLayoutSetAttribute(layout, attribute, &value, sizeof value),
              CUBLAS_STATUS_SUCCESS);
  }
  void Lay(cublasLtMatrixLayoutOpaque_t *layout, uint64_t rows, uint64_t columns, int64_t ld, int64_t stride) {
    ASSERT_EQ(
        product.blaslt->calls.cublasLtMatrixLayoutInit_internal(layout, sizeof *layout, CUDA_R_32F, rows, columns, ld),
        CUBLAS_STATUS_SUCCESS);
    Set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t(2));
    Set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
  }

  dp_blaslt_spec spec{};
  dp_blaslt_product product{};
  dp_status status = DP_OK;
  bool found = false;
  float a[64], b[64], c[64], bias[64];
  float *a_, *b_, *c_, *bias_, *y_;  // on the device
  void *scratch_;
  dp_queue *queue_ = nullptr;
};

TEST_F(Described, ComputesAsDescribed) {
  const std::vector<float> y = Run();
  for (int batch = 0; batch < 2; batch++)
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 4; j++) {
        float sum = 0;
        for (int k = 0; k < 5; k++) sum += a[batch * 15 + i * 5 + k] * b[batch * 20 + k * 4 + j];
        const int at = batch * 12 + i * 4 + j;
        EXPECT_EQ(y[size_t(at)], 2 * sum + 3 * c[at] + bias[j]);
      }
  EXPECT_EQ(y[24], -1);
}

TEST_F(Described, EveryDescriptionCounts) {
  ExpectOther("a's distance between matrices",
              [&] { Set(&product.a, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t(14)); });
  ExpectOther("b's distance between matrices",
              [&] { Set(&product.b, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t(0)); });
  ExpectOther("y's distance between matrices",
              [&] { Set(&product.y, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t(16)); });
  ExpectOther("the number of products", [&] {
    for (auto *layout : {&product.a, &product.b, &product.y})
      Set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t(1));
  });
  ExpectOther("numbers of products that differ",
              [&] { Set(&product.a, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t(1)); });
  ExpectOther("a's leading dimension", [&] { Lay(&product.a, 5, 3, 6, 15); });
  ExpectOther("b's leading dimension", [&] { Lay(&product.b, 4, 5, 5, 20); });
  ExpectOther("y's leading dimension", [&] { Lay(&product.y, 4, 3, 5, 15); });
  ExpectOther("a's extents", [&] { Lay(&product.a, 4, 3, 5, 15); });
  ExpectOther("a transposition that does not fit", [&] { product.spec.trans_a = true; });
  ExpectOther("a's order", [&] { Set(&product.a, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t(CUBLASLT_ORDER_ROW)); });
  ExpectOther("alpha", [&] { product.spec.alpha = 1; });
  ExpectOther("beta", [&] { product.spec.beta = 0; });
  ExpectOther("the bias", [&] { product.spec.bias = false; });
  ExpectOther("the type", [&] { product.spec.dtype = DP_FLOAT64; });
  for (float &x : a) x += 0x1p-11f * x;
  Write(a_, a);
  if (!IsStandin()) GTEST_SKIP() << "the library computes what is small without TF32";
  ExpectOther("TF32", [&] { product.spec.tf32 = true; });
}

// Square matrices fit whether they are transposed or not.
TEST_F(Described, TranspositionsCount) {
  spec = {};
  spec.dtype = DP_FLOAT32;
  spec.m = spec.n = spec.k = spec.batches = spec.alpha = 1;
  spec.m = spec.n = spec.k = 4;
  spec.alignment = 4;
  ASSERT_EQ(dp_blaslt_product_make(&spec, &product, &found), DP_OK);
  ExpectOther("a's transposition", [&] { product.spec.trans_a = true; });
  ExpectOther("b's transposition", [&] { product.spec.trans_b = true; });
  ExpectOther("both", [&] { product.spec.trans_a = product.spec.trans_b = true; });
}

// A row-major layout is the transposition of a column-major one.
TEST_F(Described, OrdersAreTranspositions) {
  spec.m = spec.n = spec.k = 4;
  spec.a_stride = spec.b_stride = 16;
  ASSERT_EQ(dp_blaslt_product_make(&spec, &product, &found), DP_OK);
  const dp_blaslt_product held = product;
  product.spec.trans_a = true;
  const std::vector<float> transposed = Run();
  product = held;
  Set(&product.a, CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t(CUBLASLT_ORDER_ROW));
  EXPECT_EQ(Run(), transposed);
}

TEST_F(Described, RefusesLessAlignmentThanPromised) {
  if (!IsStandin()) GTEST_SKIP() << "the library does not look";
  spec.alignment = 16;
  ASSERT_EQ(dp_blaslt_product_make(&spec, &product, &found), DP_OK);
  dp_blaslt_data data{a_ + 1, b_, c_, bias_, y_};
  status = dp_blaslt_product_enqueue(&product, queue_, &data, scratch_);
  EXPECT_EQ(dp_status_code(status), EX_UNAVAILABLE);
  EXPECT_NE(std::string(dp_status_message(status)).find("CUBLAS_STATUS_INVALID_VALUE"), std::string::npos);
  dp_status_free(status);
}

// Few results of long sums are products of blocks of the sum, which are added in order: with any C, transposed, with
// sums that divide and that do not, and of nothing.
TEST(Blaslt, LongSumsAreDivided) {
  const Problem problems[] = {
      {"Gemm", "", "float32[N,4096], float32[4096,7], float32[7]", "", 3, 4096},
      {"Gemm", "", "float32[N,4096], float32[7,4096], float32[N,7]", "transB=1, beta=0.5, alpha=2", 3, 4096},
      {"Gemm", "", "float32[N,5], float32[N,9]", "transA=1", 4800, 4800},
      {"Gemm", "", "float32[N,5], float32[9,N], float32[5,1]", "transA=1, transB=1", 5000, 5000},
      {"Gemm", "", "float64[N,2052], float64[2052,3]", "", 2, 2052},
      {"Gemm", "", "float32[N,2053], float32[2053,3]", "", 2, 2053},
      {"Gemm", "", "float32[N,4096], float32[4096,7], float32[7]", "", 0, 4096},
  };
  for (const Problem &p : problems) Check(p, kGemm);
}

// Whatever a program may do with fewer samples fits.
TEST(Blaslt, FewerSamplesNeedNoMoreScratch) {
  const dp_kernel *kernel = nullptr;
  for (const dp_kernel *const *k = dp_cuda_library_kernels; *k; k++)
    if ((*k)->name == std::string(kGemm)) kernel = *k;
  ASSERT_NE(kernel, nullptr);
  for (const auto &[inputs, attrs] :
       {std::pair("float32[N,4096], float32[4096,64]", ""), std::pair("float32[N,256], float32[N,512]", "transA=1"),
        std::pair("float64[N,3], float64[N,5]", "transA=1")}) {
    uint64_t most = 0;
    for (int64_t n : {0, 1, 2, 896, 1024, 2048, 2052, 2053, 4096, 4800, 5000, 9000, 9001}) {
      const Ready ready = Draw({"Gemm", "", inputs, attrs, n, 1});
      const Spec spec(ready.built->node, ready.in, ready.out);
      const uint64_t bytes = kernel->scratch_bytes(&spec);
      EXPECT_GE(bytes, most) << inputs << " " << n;
      most = bytes;
    }
  }
}

// Every call of preparing and running fails once, those of the driver included: each ends with a sentence, except where
// the library cannot add the bias: then a function of our own does.
TEST(Blaslt, EveryCallMayFail) {
  if (!IsStandin()) GTEST_SKIP() << kSteers;
  Ready ready = Draw({"Gemm", "", "float32[N,4], float32[4,3], float32[3]", "", 2, 4});
  const Outcome whole = RunCuda(kGemm, ready.built->node, ready.in, ready.out);
  ASSERT_EQ(whole.error, "");
  const Standin standin;
  standin.reset();
  RunCuda(kGemm, ready.built->node, ready.in, ready.out);
  const int64_t count = standin.count().calls;
  EXPECT_GT(count, 40);
  int64_t failed = 0;
  for (int64_t i = 1; i <= count; i++) {
    standin.reset();
    standin.fail(i, CUDA_ERROR_OUT_OF_MEMORY);
    const Outcome outcome = RunCuda(kGemm, ready.built->node, ready.in, ready.out);
    failed += !outcome.error.empty();
    if (!outcome.error.empty()) continue;
    EXPECT_EQ(Numbers(outcome.results[0]), Numbers(whole.results[0])) << "call " << i;
  }
  standin.reset();
  EXPECT_GT(failed, count / 2);
  EXPECT_EQ(RunCuda(kGemm, ready.built->node, ready.in, ready.out).error, "");
}

}  // namespace
}  // namespace dp_test
