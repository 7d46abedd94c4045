// The server port, once more: what the agent of a host and Muster say to each other.
//
// A link speaks for a game server or for a host, as its first message says. Muster never sends a command line: all it
// can ask for is named here (G-3).
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "base/ids.h"
#include "base/time.h"
#include "protocol/answer_forms.h"
#include "protocol/field_types.h"
#include "protocol/message.h"
#include "protocol/port.h"
#include "protocol/process_state.h"
#include "protocol/text.h"

namespace muster {

struct HostHello {
    static constexpr Code code = 0x1020;
    static constexpr std::string_view name = "NET_HOST_HELLO";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about =
        "The agent of a host. All its processes follow (0x1023), then its first report (0x1022).";

    HandshakeTokenText token{};
    HostNameText host{};
    IpText address{};
    RegionId region{};
    VersionText version{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("token", self.token);
        wire("name", self.host);
        wire("address", self.address);
        wire("region", self.region);
        wire("version", self.version);
    }
    bool operator==(const HostHello&) const = default;
};

struct HostWelcome {
    static constexpr Code code = 0x1021;
    static constexpr std::string_view name = "NET_HOST_WELCOME";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "The host is listed from now on.";
    using Answers = MessageList<HostHello>;

    struct Accepted {
        UnixMs time;

        static constexpr void layout(auto& self, auto& wire) { wire("time_ms", self.time); }
        bool operator==(const Accepted&) const = default;
    };
    using Refused = muster::Refused;

    Either<Accepted, Refused> answer{};

    static constexpr void layout(auto& self, auto& wire) { wire("success", self.answer); }
    bool operator==(const HostWelcome&) const = default;
};

struct HostReport {
    static constexpr Code code = 0x1022;
    static constexpr std::string_view name = "NET_HOST_REPORT";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about =
        "A sign of life with the load, every five seconds. The first one after a hello ends the list of processes: "
        "those "
        "that were not named are gone.";

    float cpu_percent = 0;
    float memory_percent = 0;
    bool draining = false;

    static constexpr void layout(auto& self, auto& wire) {
        wire("cpu", self.cpu_percent);
        wire("memory", self.memory_percent);
        wire("draining", self.draining);
    }
    bool operator==(const HostReport&) const = default;
};

struct ProcessReport {
    static constexpr Code code = 0x1023;
    static constexpr std::string_view name = "NET_HOST_PROCESS";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about =
        "How a process stands. pid, port and server_id are 0 when it has none; exit_at_ms is 0 before the first exit, "
        "exit_code −1 and exit_signal 0 when there was none.";

    ReportedNews news = ReportedNews::none;
    ProcessNameText process{};
    RunNameText run{};
    ProcessState state = ProcessState::starting;
    std::int32_t pid = 0;
    std::int32_t game_port = 0;
    ServerId server{};
    bool registers_itself = false;
    UnixMs started_at{};
    std::int32_t restarts = 0;
    UnixMs exit_at{};
    std::int32_t exit_code = -1;
    std::int32_t exit_signal = 0;
    ReasonText exit_reason{};
    LastLinesText last_lines{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("news", self.news);
        wire("process", self.process);
        wire("run", self.run);
        wire("state", self.state);
        wire("pid", self.pid);
        wire("port", self.game_port);
        wire("server_id", self.server);
        wire("registers_itself", self.registers_itself);
        wire("started_at_ms", self.started_at);
        wire("restarts", self.restarts);
        wire("exit_at_ms", self.exit_at);
        wire("exit_code", self.exit_code);
        wire("exit_signal", self.exit_signal);
        wire("exit_reason", self.exit_reason);
        wire("last_lines", self.last_lines);
    }
    bool operator==(const ProcessReport&) const = default;
};

struct ProcessGone {
    static constexpr Code code = 0x1024;
    static constexpr std::string_view name = "NET_HOST_PROCESS_GONE";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "The process is not the agent's any more: its run has left the config.";

    ProcessNameText process{};

    static constexpr void layout(auto& self, auto& wire) { wire("process", self.process); }
    bool operator==(const ProcessGone&) const = default;
};

struct HostAnswer {
    static constexpr Code code = 0x1025;
    static constexpr std::string_view name = "NET_HOST_ANSWER";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "Answers a command: done, or the agent's reason why not.";

    std::uint32_t question = 0;
    bool done = false;
    ErrorText error{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("question", self.question);
        wire("done", self.done);
        wire("error", self.error);
    }
    bool operator==(const HostAnswer&) const = default;
};

struct HostLogPart {
    static constexpr Code code = 0x1026;
    static constexpr std::string_view name = "NET_HOST_LOG_PART";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about =
        "A part of a log, in order; control characters are made harmless. `position` is where to read on.";

    std::uint32_t question = 0;
    std::int64_t position = 0;
    bool last = false;
    LogText text{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("question", self.question);
        wire("position", self.position);
        wire("last", self.last);
        wire("text", self.text);
    }
    bool operator==(const HostLogPart&) const = default;
};

struct HostGoodbye {
    static constexpr Code code = 0x1027;
    static constexpr std::string_view name = "NET_HOST_GOODBYE";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about = "All processes have ended and the agent leaves: the host is forgotten.";

    static constexpr void layout(auto&, auto&) {}
    bool operator==(const HostGoodbye&) const = default;
};

struct ProcessDraining {
    static constexpr Code code = 0x1028;
    static constexpr std::string_view name = "NET_HOST_PROCESS_DRAINING";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::in;
    static constexpr std::string_view about =
        "Of a process that registered itself: its game server takes no new match, or takes them again. Answered by "
        "0x1029.";

    ProcessNameText process{};
    bool draining = false;

    static constexpr void layout(auto& self, auto& wire) {
        wire("process", self.process);
        wire("draining", self.draining);
    }
    bool operator==(const ProcessDraining&) const = default;
};

struct ProcessMatches {
    static constexpr Code code = 0x1029;
    static constexpr std::string_view name = "NET_HOST_PROCESS_MATCHES";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about =
        "The game server of a process that registered itself, 0 when there is none, and how many matches it has.";

    ProcessNameText process{};
    ServerId server{};
    std::int32_t matches = 0;

    static constexpr void layout(auto& self, auto& wire) {
        wire("process", self.process);
        wire("server_id", self.server);
        wire("matches", self.matches);
    }
    bool operator==(const ProcessMatches&) const = default;
};

struct HostReportAck {
    static constexpr Code code = 0x102A;
    static constexpr std::string_view name = "NET_HOST_REPORT_ACK";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "Muster has heard the report.";

    using Answers = MessageList<HostReport>;

    UnixMs time{};

    static constexpr void layout(auto& self, auto& wire) { wire("time_ms", self.time); }
    bool operator==(const HostReportAck&) const = default;
};

struct DrainHost {
    static constexpr Code code = 0x1030;
    static constexpr std::string_view name = "NET_HOST_DRAIN";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about = "No process takes a new match, or they do again. Answered by 0x1025.";

    std::uint32_t question = 0;
    bool draining = false;

    static constexpr void layout(auto& self, auto& wire) {
        wire("question", self.question);
        wire("draining", self.draining);
    }
    bool operator==(const DrainHost&) const = default;
};

struct RestartProcess {
    static constexpr Code code = 0x1031;
    static constexpr std::string_view name = "NET_HOST_RESTART";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about =
        "Ends the process, once its match is over, and starts it again. Answered by 0x1025.";

    std::uint32_t question = 0;
    ProcessNameText process{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("question", self.question);
        wire("process", self.process);
    }
    bool operator==(const RestartProcess&) const = default;
};

struct ScaleRun {
    static constexpr Code code = 0x1032;
    static constexpr std::string_view name = "NET_HOST_SCALE";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about =
        "How many processes of a run are wanted, up to count_max of the agent's config. Answered by 0x1025.";

    std::uint32_t question = 0;
    RunNameText run{};
    std::int32_t count = 0;

    static constexpr void layout(auto& self, auto& wire) {
        wire("question", self.question);
        wire("run", self.run);
        wire("count", self.count);
    }
    bool operator==(const ScaleRun&) const = default;
};

struct ReadLog {
    static constexpr Code code = 0x1033;
    static constexpr std::string_view name = "NET_HOST_READ_LOG";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about =
        "At most `bytes` of a process's output: from a position that 0x1026 named, or, with −1, its end. Answered by "
        "0x1026, or refused by 0x1025.";

    std::uint32_t question = 0;
    ProcessNameText process{};
    std::int64_t from = -1;
    std::int32_t bytes = 0;

    static constexpr void layout(auto& self, auto& wire) {
        wire("question", self.question);
        wire("process", self.process);
        wire("from", self.from);
        wire("bytes", self.bytes);
    }
    bool operator==(const ReadLog&) const = default;
};

struct HostMatchPlayers {
    static constexpr Code code = 0x1034;
    static constexpr std::string_view name = "NET_HOST_MATCH_PLAYERS";
    static constexpr Port port = Port::servers;
    static constexpr Direction direction = Direction::out;
    static constexpr std::string_view about =
        "Who may play a match that is offered to, or held by, a game server of this host, as 0x2008 listed them.";

    ServerId server{};
    LobbyId lobby{};
    List<std::int8_t, AccountId> accounts{};

    static constexpr void layout(auto& self, auto& wire) {
        wire("server_id", self.server);
        wire("lobby_id", self.lobby);
        wire("accounts", self.accounts);
    }
    bool operator==(const HostMatchPlayers&) const = default;
};

// What an operator may ask of a host; nothing else can be asked (G-3). The number is set when it is sent.
using HostCommand = std::variant<DrainHost, RestartProcess, ScaleRun, ReadLog>;

// By ascending code.
using HostMessages = MessageList<HostHello, HostWelcome, HostReport, ProcessReport, ProcessGone, HostAnswer,
                                 HostLogPart, HostGoodbye, ProcessDraining, ProcessMatches, HostReportAck, DrainHost,
                                 RestartProcess, ScaleRun, ReadLog, HostMatchPlayers>;

inline constexpr Code host_code_first = HostHello::code;
inline constexpr Code host_code_last = HostMatchPlayers::code;

// Whether the message belongs to the link of a host, rather than to that of a game server.
constexpr bool is_host_code(Code code) {
    return code >= host_code_first && code <= host_code_last;
}
template <class M>
concept HostMessage = Message<M> && M::port == Port::servers && is_host_code(M::code);

}  // namespace muster
