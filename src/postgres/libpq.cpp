#include "postgres/libpq.h"

#include <string>

#include <dlfcn.h>

#include "store/store.h"
#include "store/store_fault.h"

namespace muster {
namespace {

constexpr const char* library = "libpq.so.5";

template <class Call>
void find(void* module, const char* name, Call& call) {
    call = reinterpret_cast<Call>(dlsym(module, name));
    if (!call)
        throw StoreError(exit_config, std::string("store.url needs a newer ") + library + ": it has no " + name +
                                          "; install libpq5 of version 14 or later");
}

Libpq load() {
    void* module = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        const char* why = dlerror();
        throw StoreError(exit_config, std::string("store.url needs PostgreSQL's client library; install libpq5 (") +
                                          (why ? why : library) + ")");
    }
    Libpq calls;
#define MUSTER_LIBPQ_FIND(name) find(module, #name, calls.name);
    MUSTER_LIBPQ_CALLS(MUSTER_LIBPQ_FIND)
#undef MUSTER_LIBPQ_FIND
    return calls;
}

}  // namespace

const Libpq& libpq() {
    static const Libpq calls = load();
    return calls;
}

}  // namespace muster
