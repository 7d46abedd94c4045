// What happens on hosts, as typed events. See core/events.h for all others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/ids.h"

namespace muster::event {

struct HostJoined {
    static constexpr std::string_view name = "host.joined";
    std::string host;
    std::string address;
    RegionId region;
    std::string version;
    bool again = false;  // it was lost, and is back

    void describe(FieldSink& out) const {
        out.text("host", host);
        out.text("address", address);
        out.integer("region", region.value);
        out.text("version", version);
        out.flag("again", again);
    }
};

struct HostLeft {
    static constexpr std::string_view name = "host.left";
    std::string host;
    std::string_view reason;
    std::size_t processes = 0;

    void describe(FieldSink& out) const {
        out.text("host", host);
        out.text("reason", reason);
        out.integer("processes", static_cast<std::int64_t>(processes));
    }
};

// It was not connected, and is not shown any more.
struct HostForgotten {
    static constexpr std::string_view name = "host.forgotten";
    std::string host;
    std::string_view reason;

    void describe(FieldSink& out) const {
        out.text("host", host);
        out.text("reason", reason);
    }
};

// Whose process it is that something happened to.
struct OfProcess {
    std::string host;
    std::string process;
    std::string run;
    std::int32_t pid = 0;
    std::int32_t port = 0;
    ServerId server;

    void describe(FieldSink& out) const {
        out.text("host", host);
        out.text("process", process);
        out.text("run", run);
        if (pid != 0) out.integer("pid", pid);
        if (port != 0) out.integer("port", port);
        if (server.value != 0) out.integer("server_id", server.value);
    }
};

struct ProcessStarted {
    static constexpr std::string_view name = "process.started";
    OfProcess of;

    void describe(FieldSink& out) const { of.describe(out); }
};

struct ProcessReady {
    static constexpr std::string_view name = "process.ready";
    OfProcess of;

    void describe(FieldSink& out) const { of.describe(out); }
};

struct ProcessExited {
    static constexpr std::string_view name = "process.exited";
    OfProcess of;
    std::optional<std::int32_t> code;
    std::optional<std::int32_t> signal;
    std::string reason;  // nothing of its output, which may hold secrets: whoever may read, reads events

    void describe(FieldSink& out) const {
        of.describe(out);
        if (code) out.integer("code", *code);
        if (signal) out.integer("signal", *signal);
        out.text("reason", reason);
    }
};

struct ProcessUnhealthy {
    static constexpr std::string_view name = "process.unhealthy";
    OfProcess of;

    void describe(FieldSink& out) const { of.describe(out); }
};

struct ProcessCrashLoop {
    static constexpr std::string_view name = "process.crash_loop";
    OfProcess of;
    std::int32_t restarts = 0;
    std::string reason;  // of the last exit

    void describe(FieldSink& out) const {
        of.describe(out);
        out.integer("restarts", restarts);
        out.text("reason", reason);
    }
};

}  // namespace muster::event
