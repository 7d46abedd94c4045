// Which process this is, in words that another process on the same machine can check: is that one still there?
#pragma once

#include <string>

namespace muster {

// The machine's boot, the pid namespace, the pid and when the process began. A later process never has the same one.
// Empty when /proc does not tell.
std::string process_identity();

// True when the process certainly has ended: it was of this boot of this machine and of our pid namespace, and is not
// there any more. False when it is there, and when nobody here can know.
bool has_ended(const std::string& identity);

}  // namespace muster
