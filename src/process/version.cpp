#include "process/version.h"

namespace muster {

std::string_view version() {
    return MUSTER_VERSION;
}

}  // namespace muster
