// How a fuzz target begins: FUZZ_TARGET("fault 24: what holds for all inputs") { … data, size …; return 0; }
//
// The name is a sentence that names its requirement, as that of any test does; tools/check_requirements.py reads it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#define FUZZ_TARGET(name)                                                              \
    static_assert(sizeof(name) > 1);                                                   \
    extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size); \
    extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)

// Before a target whose inputs have a limit, such as plays, where a longer one shows little that a shorter one does
// not: FUZZ_INPUTS_UP_TO(512), and then `if (size > size_max) return -1;`. The fuzzer is told the limit, so that it
// makes none that would count as a run and be turned away. Some plays take fifty times as long as others: it is told to
// change those less often. In the same time fuzz_core does three times as many runs so, and takes more branches.
#define FUZZ_INPUTS_UP_TO(bytes)                                                                                    \
    static constexpr std::size_t size_max = bytes;                                                                  \
    extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments);                                             \
    extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {                                            \
        static std::string options[] = {"-max_len=" + std::to_string(size_max), "-entropic_scale_per_exec_time=1"}; \
        muster::fuzz::give_options(options, *count, *arguments);                                                    \
        return 0;                                                                                                   \
    }                                                                                                               \
    static_assert(size_max > 0)

namespace muster::fuzz {

// Puts options before those of the command line, which may say otherwise. They live as long as the program.
inline void give_options(std::span<std::string> options, int& count, char**& arguments) {
    static std::vector<char*> all;
    all.assign(arguments, arguments + count);
    for (std::string& option : options) all.insert(all.begin() + 1, option.data());
    count = static_cast<int>(all.size());
    all.push_back(nullptr);
    arguments = all.data();
}

}  // namespace muster::fuzz

// Speed: noting where memory came from, keeping much of what was freed and moving stack frames to the heap is a third
// of a run. Whoever looks at a finding sets ASAN_OPTIONS=malloc_context_size=30.
extern "C" const char* __asan_default_options();  // NOLINT: the sanitizer's name
extern "C" const char* __asan_default_options() {
    return "malloc_context_size=0:quarantine_size_mb=8:detect_stack_use_after_return=0";
}
