"""dp_test: a GoogleTest.

`dp_test(name = "split_test", deps = ["//ir"])` compiles split_test.cc, with GoogleTest and its main() linked. The
tag "san" puts a test into the short set that tools/test also runs under the address, undefined-behaviour and thread
sanitizers; it belongs on tests that take no more than a few seconds there. "nosan" keeps a test out of them even with
--full: what it looks at is not so where everything is instrumented. "onethread" keeps one that takes
long and starts no thread from the thread sanitizer.
"""

def dp_test(name, srcs = None, deps = [], tags = [], size = "small", **kwargs):
    native.cc_test(
        name = name,
        size = size,
        srcs = srcs or [name + ".cc"],
        tags = tags,
        deps = deps + ["@gtest//:gtest_main"],
        **kwargs
    )
