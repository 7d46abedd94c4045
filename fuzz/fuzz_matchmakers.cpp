// Bytes on the matchmaker port.
#include "fuzz/fuzz_port.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return muster::fuzz::run<muster::Port::matchmakers>(data, size);
}
