"""Repositories for libraries that the distribution installs.

`system_library(name = "zlib", headers = [...], libs = {"zlib": ["z"]})` makes `@zlib//:zlib` (or `@zlib`): the headers,
by their names under /usr/include, and the libraries to link. `libs` maps each target of the repository to the names
that follow `-l`, in link order. A header of which the package is absent fails the build with the command that installs it.
"""

def _system_library_impl(ctx):
    for header in ctx.attr.headers:
        path = ctx.path("/usr/include/" + header)
        if not path.exists:
            fail("/usr/include/%s is absent: run tools/setup, which installs what the build needs" % header)
        ctx.symlink(path, "include/" + header)
    build = ['package(default_visibility = ["//visibility:public"])']
    for target, libs in ctx.attr.libs.items():
        build.append("""
cc_library(
    name = "{name}",
    hdrs = glob(["include/**"]),
    includes = ["include"],
    linkopts = {linkopts},
)""".format(name = target, linkopts = ["-l" + lib for lib in libs]))
    ctx.file("BUILD", "\n".join(build) + "\n")

system_library = repository_rule(
    implementation = _system_library_impl,
    attrs = {
        "headers": attr.string_list(mandatory = True),
        "libs": attr.string_list_dict(mandatory = True),
    },
    local = True,
)

def _cuda_toolkit_impl(ctx):
    home = ctx.os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    build = ['package(default_visibility = ["//visibility:public"])']
    if ctx.path(home + "/include/cuda.h").exists:
        ctx.symlink(home + "/include", "include")
        build.append("""
cc_library(
    name = "headers",
    hdrs = glob(["include/*.h", "include/crt/**", "include/nv/**"]),
    defines = ["DP_CUDA_TOOLKIT"],
    includes = ["include"],
)""")
    else:
        build.append('cc_library(name = "headers")')
    ctx.file("BUILD", "\n".join(build) + "\n")

# The headers of the CUDA toolkit in CUDA_HOME or /usr/local/cuda, with DP_CUDA_TOOLKIT defined. Where there is no
# toolkit the library is empty, so what depends on it must build without.
cuda_toolkit = repository_rule(
    implementation = _cuda_toolkit_impl,
    environ = ["CUDA_HOME"],
    local = True,
)
