#include "base/log.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/safe_text.h"

namespace muster {
namespace {

using Line = fmt::basic_memory_buffer<char, 512>;

// A name sent by a peer must not be able to fake a line or move the cursor of whoever reads the log.
void append_escaped(Line& line, std::string_view text) {
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~'; };
    if (std::ranges::all_of(text, is_plain)) {
        line.append(text);
    } else {
        line.append(safe_text(text));
    }
}

void append_value(Line& line, std::string_view text) {
    const bool plain = !text.empty() && text.find_first_of(" =\"") == std::string_view::npos;
    if (plain) return append_escaped(line, text);
    line.push_back('"');
    for (std::size_t from = 0; from < text.size();) {
        const std::size_t quote = text.find('"', from);
        append_escaped(line, text.substr(from, quote - from));
        if (quote == std::string_view::npos) break;
        line.append(std::string_view("\\\""));
        from = quote + 1;
    }
    line.push_back('"');
}

void append_field(Line& line, const LogField& field) {
    line.push_back(' ');
    append_escaped(line, field.name);
    line.push_back('=');
    std::visit(
        [&line](const auto& value) {
            if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, std::string_view>) {
                append_value(line, value);
            } else {
                fmt::format_to(std::back_inserter(line), "{}", value);
            }
        },
        field.value);
}

// Of a message that names its peer, the later lines of a window are kept for peers that had none in it: one that floods
// cannot hide the others (S-4).
constexpr std::uint32_t first_come = Log::burst / 2;

// The value of the field "peer"; empty without one.
std::string_view peer_of(LogFields fields) {
    for (const LogField& field : fields) {
        const auto* text = std::get_if<std::string_view>(&field.value);
        if (text && field.name == "peer") return *text;
    }
    return {};
}

}  // namespace

// How often each message was let through lately. Keys are format texts, so there are only as many as the source has.
class Log::Limits {
public:
    struct Verdict {
        bool pass = false;
        bool last = false;            // perhaps of its window: what follows may be held back
        std::uint64_t held_back = 0;  // lines of this message held back since the last that passed
    };
    struct HeldBack {
        LogLevel level;
        std::uint64_t lines;
        std::string example;  // the last line that passed
    };

    Verdict judge(std::string_view message, std::string_view peer, Time now) {
        const std::lock_guard lock(mutex_);
        State& state = states_[message];
        if (now - state.window_start >= Duration(window)) {
            state.window_start = now;
            state.passed = 0;
            state.peers.clear();
        }
        const bool is_new = !peer.empty() && std::ranges::find(state.peers, peer) == state.peers.end();
        const bool may_pass = peer.empty() || is_new || state.passed < first_come;
        if (state.passed >= burst || !may_pass) {
            ++state.held_back;
            return {};
        }
        ++state.passed;
        if (is_new) state.peers.emplace_back(peer);
        const bool last = state.passed == burst || (!peer.empty() && state.passed >= first_come);
        return {true, last, std::exchange(state.held_back, 0)};
    }

    void remember(std::string_view message, LogLevel level, std::string_view line) {
        const std::lock_guard lock(mutex_);
        State& state = states_[message];
        state.level = level;
        state.example = line;
    }

    // Those whose window is over, once.
    std::vector<HeldBack> take_held_back(Time now) {
        std::vector<HeldBack> found;
        const std::lock_guard lock(mutex_);
        for (auto& [message, state] : states_) {
            if (state.held_back == 0 || now - state.window_start < Duration(window)) continue;
            found.push_back({state.level, std::exchange(state.held_back, 0), state.example});
        }
        return found;
    }

private:
    struct State {
        Time window_start{Duration::min() / 2};
        std::uint32_t passed = 0;
        std::vector<std::string> peers{};  // of those that passed: at most as many
        std::uint64_t held_back = 0;
        LogLevel level = LogLevel::info;
        std::string example{};
    };

    std::mutex mutex_;
    std::unordered_map<std::string_view, State> states_;
};

std::string_view to_string(LogLevel level) {
    switch (level) {
        case LogLevel::debug:
            return "debug";
        case LogLevel::info:
            return "info";
        case LogLevel::warning:
            return "warning";
        case LogLevel::error:
            return "error";
    }
    return "unknown";
}

Log::Log(const Clock& clock, LogSink& sink, LogLevel least)
    : clock_(clock), sink_(sink), least_(least), limits_(std::make_unique<Limits>()) {}

Log::~Log() = default;

void Log::write(LogLevel level, LogFields fields, fmt::string_view message, fmt::format_args args) {
    if (level < least()) return;
    const Limits::Verdict verdict = limits_->judge({message.data(), message.size()}, peer_of(fields), clock_.now());
    if (!verdict.pass) {
        suppressed_.fetch_add(1, std::memory_order_relaxed);
        return;
    }

    Line text;
    fmt::vformat_to(std::back_inserter(text), message, args);
    Line line;
    append_escaped(line, {text.data(), text.size()});
    for (const LogField& field : fields) append_field(line, field);
    if (verdict.held_back > 0) append_field(line, LogField("held_back", verdict.held_back));
    if (verdict.last) limits_->remember({message.data(), message.size()}, level, {line.data(), line.size()});
    sink_.write(LogRecord{level, clock_.wall(), {line.data(), line.size()}});
}

void Log::tell_held_back() {
    for (const auto& [level, lines, example] : limits_->take_held_back(clock_.now())) {
        const std::string line = fmt::format("Held back {} more lines like: {}", lines, example);
        sink_.write(LogRecord{level, clock_.wall(), line});
    }
}

}  // namespace muster
