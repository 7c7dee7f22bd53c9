"""fuzz_test: a libFuzzer harness, NAME.c, in two forms.

`NAME` starts from the seeds of its kind and runs as a test (20,000 runs unless --test_arg says otherwise); `NAME_binary` is the
program itself, for campaigns. What makes the seeds is given the files of `samples`.
"""

def fuzz_test(name, deps, runs = 20000, max_len = 4096, hdrs = [], samples = None):
    kind = name[len("fuzz_"):]
    native.cc_binary(
        name = name + "_binary",
        testonly = True,
        srcs = [name + ".c", "fuzz.h", "fuzz.c"] + hdrs,
        linkopts = ["-fsanitize=fuzzer"],
        tags = ["manual"],
        deps = deps,
    )
    native.genrule(
        name = name + "_seeds",
        testonly = True,
        outs = [name + "_seeds.tar"],
        cmd = "mkdir -p $(@D)/{kind}_seeds && $(location :make_seeds) {kind} $(@D)/{kind}_seeds {samples} && ".format(
            kind = kind,
            samples = "$(locations %s)" % samples if samples else "",
        ) +
              "tar -C $(@D)/{kind}_seeds --sort=name --owner=0 --group=0 --mtime=@0 -cf $@ .".format(kind = kind),
        tags = ["manual"],
        srcs = [":make_seeds"] + ([samples] if samples else []),
    )
    native.sh_test(
        name = name,
        size = "large",
        srcs = ["run.sh"],
        args = [
            "$(location :%s_binary)" % name,
            "$(location :%s_seeds)" % name,
            str(runs),
            str(max_len),
        ],
        data = [":%s_binary" % name, ":%s_seeds" % name],
        tags = ["manual"],
    )
