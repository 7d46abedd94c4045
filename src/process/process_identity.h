// Which process this is, in words that another process on the same machine can check: is that one still there?
#pragma once

#include <string>

namespace muster {

// The machine's boot, the pid namespace, the pid and when the process began. No other process ever has the same one.
// Where /proc does not tell, it is a random one, of which nobody can know whether it has ended.
std::string process_identity();

// True when the process certainly has ended: it was of this boot of this machine and of our pid namespace, and is not
// there any more. False when it is there, and when nobody here can know.
bool has_ended(const std::string& identity);

}  // namespace muster
