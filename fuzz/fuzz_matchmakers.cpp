// Bytes on the matchmaker port.
#include "fuzz/fuzz_port.h"
#include "fuzz/fuzz_target.h"

FUZZ_TARGET("fault 24, fault 40, fault 42: any bytes on the matchmaker port are whole messages, or refused") {
    return muster::fuzz::run<muster::Port::matchmakers>(data, size);
}
