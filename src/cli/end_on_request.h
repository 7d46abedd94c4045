// For commands that go on until Ctrl-C.
#pragma once

namespace muster {

// From now on SIGINT and SIGTERM end the process with ExitCode::ok, at once: what is printed is out already. One that
// whoever started the process had ignored stays ignored.
void end_on_request();

}  // namespace muster
