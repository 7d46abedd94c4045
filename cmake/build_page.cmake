# Builds the page in web/ with npm and makes it part of the binary (run at build time, for the program alone).
#
#   cmake -DWEB=dir -DSCRIPTS=dir -DBUILD=dir -DOUTPUT=page.cpp -DBUILT=file -DREQUIRED=ON|OFF -P build_page.cmake
#
# What is missing or fails leaves a program without the page, which says so itself, and no file BUILT; with REQUIRED it
# fails the build.

cmake_policy(VERSION 3.25)

function(give_up why)
  if(REQUIRED)
    message(FATAL_ERROR "The page cannot be built: ${why}")
  endif()
  message(STATUS "Muster is built without its page: ${why}")
  file(REMOVE "${BUILT}")
  # Only written when it changes, so that nothing is compiled or linked again.
  file(CONFIGURE OUTPUT "${OUTPUT}" CONTENT "// The page was not built.\n")
endfunction()

function(run_npm what result)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${WEB}" RESULT_VARIABLE failed TIMEOUT 300
    OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    string(STRIP "${said}" said)
    set(${result} "${what} failed (${failed})\n${said}" PARENT_SCOPE)
  else()
    set(${result} "" PARENT_SCOPE)
  endif()
endfunction()

# What a page is made from says which page it is: one that was made before, for whichever build folder, needs no npm.
file(GLOB_RECURSE sources RELATIVE "${WEB}" "${WEB}/src/*" "${WEB}/public/*")
list(APPEND sources index.html package-lock.json vite.config.ts)
list(SORT sources)
set(hashes "")
foreach(source IN LISTS sources)
  file(SHA256 "${WEB}/${source}" hash)
  string(APPEND hashes "${source} ${hash}\n")
endforeach()
string(SHA256 hash "${hashes}")
set(kept "${WEB}/node_modules/.muster_page/${hash}")

function(embed)
  file(GLOB files RELATIVE "${BUILD}" "${BUILD}/*")
  list(SORT files)
  string(REPLACE ";" "," FILES "${files}")
  set(FOLDER "${BUILD}")
  set(SYMBOL embedded_page)
  include("${SCRIPTS}/embed_files.cmake")
  file(TOUCH "${BUILT}")
endfunction()

if(EXISTS "${kept}/index.html")
  file(REMOVE_RECURSE "${BUILD}")
  file(COPY "${kept}/" DESTINATION "${BUILD}")
  embed()
  return()
endif()

find_program(NPM npm)
if(NOT NPM)
  give_up("npm was not found")
  return()
endif()

# Several build folders share the one of npm: one at a time.
file(MAKE_DIRECTORY "${WEB}/node_modules")
file(LOCK "${WEB}/node_modules" DIRECTORY GUARD PROCESS TIMEOUT 600)

set(installed "${WEB}/node_modules/.package-lock.json")
if(NOT EXISTS "${installed}" OR "${WEB}/package-lock.json" IS_NEWER_THAN "${installed}")
  run_npm("npm ci" problem ${NPM} ci --no-audit --no-fund --prefer-offline)
  if(problem)
    give_up("${problem}")
    return()
  endif()
endif()

run_npm("vite" problem ${NPM} exec --offline -- vite build --logLevel warn --emptyOutDir --outDir "${BUILD}")
if(problem)
  give_up("${problem}")
  return()
endif()
if(NOT EXISTS "${BUILD}/index.html")
  give_up("vite made no index.html")
  return()
endif()

# The last page is kept, no older one. Renamed into place, so that it is there whole or not at all.
file(REMOVE_RECURSE "${WEB}/node_modules/.muster_page")
file(COPY "${BUILD}/" DESTINATION "${WEB}/node_modules/.muster_page/new")
file(RENAME "${WEB}/node_modules/.muster_page/new" "${kept}")
embed()
