"""dp_test: a GoogleTest.

`dp_test(name = "split_test", deps = ["//ir"])` compiles split_test.cc, with GoogleTest and its main() linked. The
tag "san" puts a test into the short set that tools/test also runs under the address, undefined-behaviour and thread
sanitizers; it belongs on tests that take no more than a few seconds there. "nosan" keeps a test out of them even with
--full: what it looks at is not so where everything is instrumented. "threads" is for those that take longer and whose
threads do what those of no other test do: they run under the thread sanitizer with --full.
"""

# Compilers take half as long over GoogleTest's and the standard library's templates. What takes a test's time is in
# libraries, which are optimised.
QUICK = ["-O0"]
COMMON_HEADERS = [
    "-include",
    "$(BINDIR)/tests/precompiled/common_headers.h",
]

def dp_test(name, srcs = None, deps = [], tags = [], size = "small", copts = [], **kwargs):
    native.cc_test(
        name = name,
        size = size,
        srcs = srcs or [name + ".cc"],
        copts = QUICK + COMMON_HEADERS + copts,
        tags = tags,
        deps = deps + [
            "//tests:common_headers",
            "@gtest//:gtest_main",
        ],
        **kwargs
    )
