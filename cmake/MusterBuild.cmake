# How every target of Muster is compiled: C++20, warnings as errors, the sanitizer of the chosen preset.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

option(MUSTER_ZOO "Compile the planted bugs in, for tools/zoo.py; never for use" OFF)
set(MUSTER_SANITIZE "" CACHE STRING "Sanitizers to build with, such as address,undefined or thread")

find_program(MUSTER_CCACHE ccache)
if(MUSTER_CCACHE)
  # Paths count from the source folder, so that two checkouts share what either has compiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${MUSTER_CCACHE})
endif()

# No path of the build machine in what is built: two builds of one commit are the same.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Nobody puts a function of his own in place of one of ours, so g++ may inline those that others could call, as clang does.
  # Without it, position-independent code calls each of them through a table: a timer took a seventh more instructions.
  add_compile_options(-fno-semantic-interposition)
endif()

add_library(muster_build INTERFACE)
target_include_directories(muster_build INTERFACE ${CMAKE_SOURCE_DIR}/src)
# Where files are compiled together, one file's own names look global to its neighbours: only locals are compared there,
# and by clang, which cannot tell them apart, none.
set(shadow_together $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>)
target_compile_options(muster_build INTERFACE
  -Wall -Wextra $<IF:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,${shadow_together},-Wshadow> -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these inside its own standard library once it has inlined it; clang checks the same code in the asan build.
  target_compile_options(muster_build INTERFACE
    -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds -Wno-maybe-uninitialized)
endif()

if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # What g++ means by the same flags: it leaves signs alone, and its library to itself; offsets in classes with bases are
  # fine with both.
  target_compile_options(muster_build INTERFACE -Wno-sign-conversion -Wno-deprecated-declarations -Wno-invalid-offsetof)
endif()

if(MUSTER_ZOO)
  add_compile_definitions(MUSTER_ZOO)
endif()

# Some hundred programs are linked with debug information: mold takes a tenth of the time that GNU's linker does.
find_program(MUSTER_MOLD mold)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_link_options(-fuse-ld=lld)
elseif(MUSTER_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(MUSTER_SANITIZE)
  add_compile_options(-fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MUSTER_SANITIZE})
  if(MUSTER_SANITIZE MATCHES "undefined")
    # The vptr check opens a pipe to look at memory, so it reports nonsense where a test has run out of descriptors on purpose.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=vptr)
  endif()
  if(MUSTER_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # ThreadSanitizer does not model fences; Boost.Asio has one on a path that is guarded by a mutex anyway.
    add_compile_options(-Wno-tsan)
  endif()
endif()
