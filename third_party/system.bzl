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

# Where packages of Python are; [] without Python.
def _site_packages(ctx):
    python = ctx.which("python3")
    if not python:
        return []
    program = "import site; print(*site.getsitepackages(), site.getusersitepackages(), sep='\\n')"
    done = ctx.execute([python, "-c", program])
    return done.stdout.strip().split("\n") if done.return_code == 0 else []

def _folder_of(ctx, header, folders):
    for folder in folders:
        if ctx.path(folder + "/" + header).exists:
            return folder
    return None

def _cuda_headers_impl(ctx):
    home = ctx.os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    folders = [home + "/include", "/usr/include"]
    for site in _site_packages(ctx):
        folders += [site + "/nvidia/" + wheel + "/include" for wheel in ctx.attr.wheels]
    found = [_folder_of(ctx, header, folders) for header in ctx.attr.headers]
    includes = []
    for folder in found if found[0] else []:
        # Compilers look into /usr/include by themselves.
        if folder and folder != "/usr/include" and folder not in [of for _, of in includes]:
            includes.append(("include%d" % len(includes), folder))
    for name, folder in includes:
        ctx.symlink(folder, name)
    ctx.file("BUILD", """
cc_library(
    name = "headers",
    hdrs = glob([name + end for name in {names} for end in ["/*.h", "/crt/**", "/nv/**"]], allow_empty = True),
    defines = {defines},
    includes = {names},
    visibility = ["//visibility:public"],
)
""".format(names = [name for name, _ in includes], defines = ctx.attr.defines if found[0] else []))

# The headers of one of CUDA's libraries: the first of `headers` and whichever of the others there are, from the toolkit
# (CUDA_HOME or /usr/local/cuda), the system, or Python's wheels (folders of the package nvidia), in this order. Where
# there are none, `headers` is a library without headers and without `defines`, so what depends on it must build without.
cuda_headers = repository_rule(
    implementation = _cuda_headers_impl,
    attrs = {
        "defines": attr.string_list(),
        "headers": attr.string_list(mandatory = True),
        "wheels": attr.string_list(mandatory = True),
    },
    environ = ["CUDA_HOME"],
    local = True,
)
