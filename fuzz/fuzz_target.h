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
