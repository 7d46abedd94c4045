// The name of a thread, as `top -H` and debuggers show it.
#pragma once

#include <string>

#include <pthread.h>

namespace muster {

// At most 15 characters: the kernel takes no more.
inline void name_this_thread(const std::string& name) {
    pthread_setname_np(pthread_self(), name.c_str());
}

}  // namespace muster
