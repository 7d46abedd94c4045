// How a fuzz target begins: FUZZ_TARGET("fault 24: what holds for all inputs") { … data, size …; return 0; }
//
// The name is a sentence that names its requirement, as that of any test does; tools/check_requirements.py reads it.
#pragma once

#include <cstddef>
#include <cstdint>

#define FUZZ_TARGET(name)                                                              \
    static_assert(sizeof(name) > 1);                                                   \
    extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size); \
    extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)

// Speed: noting where memory came from, keeping much of what was freed and moving stack frames to the heap is a third
// of a run. Whoever looks at a finding sets ASAN_OPTIONS=malloc_context_size=30.
extern "C" const char* __asan_default_options();  // NOLINT: the sanitizer's name
extern "C" const char* __asan_default_options() {
    return "malloc_context_size=0:quarantine_size_mb=8:detect_stack_use_after_return=0";
}
