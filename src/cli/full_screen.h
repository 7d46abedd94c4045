// The whole terminal for one command, and as it was afterwards.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <termios.h>

#include "cli/terminal.h"

namespace muster {

// One at a time. While it is there, Ctrl-C, SIGTERM, SIGHUP and a resized window are told by wait() instead of doing
// anything by themselves, so that the terminal is always put back.
class FullScreen {
public:
    // Throws CommandFailure when standard input and output are not a terminal that can be drawn on.
    FullScreen();
    ~FullScreen();
    FullScreen(const FullScreen&) = delete;
    FullScreen& operator=(const FullScreen&) = delete;

    struct Input {
        enum class Kind : std::uint8_t { nothing, key, resized, ended } kind = Kind::nothing;
        char key = 0;
    };
    // The next thing that happens, or nothing within `patience`.
    Input wait(std::chrono::milliseconds patience);

    // In place of all that was shown. Lines may be styled; what does not fit is cut off, with a mark.
    void draw(const std::vector<std::string>& lines);
    TerminalSize size() const;

private:
    std::optional<Input> read_signal();
    std::optional<Input> read_key();

    termios before_{};
    int signals_ = -1;
};

}  // namespace muster
