#include "cli/end_on_request.h"

#include <csignal>

#include <unistd.h>

#include "process/exit_code.h"

namespace muster {

void end_on_request() {
    for (const int number : {SIGINT, SIGTERM}) {
        struct sigaction present{};
        sigaction(number, nullptr, &present);
        if (present.sa_handler == SIG_IGN) continue;
        struct sigaction wish{};
        wish.sa_handler = [](int) { _exit(to_int(ExitCode::ok)); };
        sigaction(number, &wish, nullptr);
    }
}

}  // namespace muster
