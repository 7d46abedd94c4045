#include "cli/full_screen.h"

#include <sys/signalfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "cli/command.h"
#include "process/exit_code.h"

namespace muster {
namespace {

constexpr std::string_view enter = "\x1b[?1049h\x1b[?25l\x1b[H\x1b[2J";  // the other screen, no cursor
constexpr std::string_view leave = "\x1b[0m\x1b[?25h\x1b[?1049l";

sigset_t awaited_signals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int each : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaddset(&set, each);
    return set;
}

// A terminal that is gone is noticed at the next wait.
void write_all(std::string_view text) {
    while (!text.empty()) {
        const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

}  // namespace

FullScreen::FullScreen() {
    const char* kind = std::getenv("TERM");
    const bool draws = isatty(STDOUT_FILENO) == 1 && kind && *kind != '\0' && std::strcmp(kind, "dumb") != 0;
    if (!draws || tcgetattr(STDIN_FILENO, &before_) != 0)
        throw CommandFailure(to_int(ExitCode::usage), "top needs a terminal; `muster status` prints the same once");
    const sigset_t awaited = awaited_signals();
    sigprocmask(SIG_BLOCK, &awaited, nullptr);
    signals_ = signalfd(-1, &awaited, SFD_CLOEXEC | SFD_NONBLOCK);
    termios raw = before_;
    raw.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw);
    write_all(enter);
}

FullScreen::~FullScreen() {
    write_all(leave);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
    if (signals_ >= 0) close(signals_);
    const sigset_t awaited = awaited_signals();
    sigprocmask(SIG_UNBLOCK, &awaited, nullptr);
}

FullScreen::Input FullScreen::wait(std::chrono::milliseconds patience) {
    std::array<pollfd, 2> sources{pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{signals_, POLLIN, 0}};
    const int ready =
        poll(sources.data(), sources.size(), static_cast<int>(std::max<std::int64_t>(patience.count(), 0)));
    if (ready <= 0) return {};
    if (sources[1].revents != 0)
        if (const auto input = read_signal()) return *input;
    if (sources[0].revents != 0)
        if (const auto input = read_key()) return *input;
    return {};
}

std::optional<FullScreen::Input> FullScreen::read_signal() {
    signalfd_siginfo told{};
    if (read(signals_, &told, sizeof told) != static_cast<ssize_t>(sizeof told)) return std::nullopt;
    return Input{told.ssi_signo == SIGWINCH ? Input::Kind::resized : Input::Kind::ended, 0};
}

std::optional<FullScreen::Input> FullScreen::read_key() {
    char key = 0;
    if (read(STDIN_FILENO, &key, 1) != 1) return Input{Input::Kind::ended, 0};  // the terminal is gone
    return Input{Input::Kind::key, key};
}

void FullScreen::draw(const std::vector<std::string>& lines) {
    const TerminalSize room = size();
    const bool plain = !colours_wanted();
    std::string text = "\x1b[H";
    const std::size_t shown = std::min(lines.size(), room.rows);
    for (std::size_t i = 0; i < shown; ++i) {
        // Cleared first: behind a line that fills the row, the last letter would be cleared.
        text += "\x1b[K" + (plain ? cut_marked(lines[i], room.columns) : cut_styled(lines[i], room.columns));
        if (i + 1 < room.rows) text += "\r\n";
    }
    write_all(shown < room.rows ? text + "\x1b[J" : text);
}

TerminalSize FullScreen::size() const {
    return terminal_size(STDOUT_FILENO);
}

}  // namespace muster
