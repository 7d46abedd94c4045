# The storm: the real program, attacked from outside (docs/STORM.md).
find_package(OpenSSL REQUIRED)
set(storm_folder ${CMAKE_CURRENT_LIST_DIR})

# Preloaded into the daemon. Never sanitized: it works behind the sanitizer's own library.
add_library(storm_preload SHARED ${storm_folder}/preload.cpp)
target_link_libraries(storm_preload PRIVATE muster_build ${CMAKE_DL_LIBS})
if(MUSTER_SANITIZE)
  target_compile_options(storm_preload PRIVATE -fno-sanitize=all)
  target_link_options(storm_preload PRIVATE -fno-sanitize=all)
endif()

add_executable(storm)
foreach(source IN ITEMS attack attack_http attack_links attack_peers attack_secrets credential crowd daemon_process
        honest_matchmaker honest_operator honest_player honest_server honest_server_offers judge latencies lobby_book main plan raid
        raw_socket storm weather)
  target_sources(storm PRIVATE ${storm_folder}/${source}.cpp)
endforeach()
target_sources(storm PRIVATE ${CMAKE_SOURCE_DIR}/bench/peer_links.cpp ${CMAKE_SOURCE_DIR}/src/protocol/sample_frames.cpp)
target_include_directories(storm PRIVATE ${storm_folder} ${CMAKE_SOURCE_DIR}/bench)
target_link_libraries(storm PRIVATE muster_build muster::protocol muster::process muster::tls muster::base fmt::fmt OpenSSL::Crypto Threads::Threads)
muster_together(storm 10)
set_target_properties(storm storm_preload PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
add_dependencies(storm muster storm_preload)

set(storm_flags "")
if(MUSTER_SANITIZE)
  set(storm_flags --sanitized)
endif()
add_test(
  NAME "storm: honest peers notice nothing of attackers and a bad machine (faults 1, 3, 4, 5, 9, 10, 11, 15, 18, 19, 20, 21, 23, 25, 26, 32, 33, 49, 65, 68 and 71)"
  COMMAND storm --program $<TARGET_FILE:muster> --preload $<TARGET_FILE:storm_preload> ${storm_flags})
# Alone: it judges how long things take. The long one takes an hour.
set_tests_properties(
  "storm: honest peers notice nothing of attackers and a bad machine (faults 1, 3, 4, 5, 9, 10, 11, 15, 18, 19, 20, 21, 23, 25, 26, 32, 33, 49, 65, 68 and 71)"
  PROPERTIES LABELS storm TIMEOUT 4500 RUN_SERIAL ON)
