// What the sides of all SDKs do alike: begin a life, save and restore its session, and take its facts.
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "agent/locked_session.h"
#include "agent/sdk_side.h"
#include "base/log.h"
#include "base/time.h"
#include "loopback/loopback_server.h"

namespace muster {

// `Served` is what the threads that serve the process ask: session() is its LockedSession, and with(now, work) runs
// work(session, now) under its lock.
//
// Only the file that knows what Served is makes the code of it: see agones/side.h.
//
// The agent's thread only. When a life cannot begin or go on, the process is unhealthy, with the reason. When only its
// ports are somebody else's for now, it is not: its session stands still until they can be had.
template <class Served>
class SessionSide : public SdkSide {
public:
    std::vector<SdkFact> take_facts(Time now) final;
    std::optional<Time> next_tick() const final;
    std::string saved() const final;
    void restore(Time now, std::string_view life, std::string_view saved) final;
    void stop(Time now) final;
    void end_life(Time now) override;

protected:
    // The name is the process's.
    SessionSide(std::shared_ptr<Served> served, Log& log, std::string name)
        : served_(std::move(served)), log_(log), name_(std::move(name)) {}

    // Runs open() for a life that begins or goes on. False, and everything closed, when it throws.
    template <class Open>
    bool anew(Open open, std::string_view failing = "") {
        close();
        failures_.clear();
        paused_.reset();
        try {
            open();
            return true;
        } catch (const std::exception& failure) {
            failures_.push_back({SdkFact::Kind::unhealthy, {}, std::string(failing) + failure.what()});
            close();
            return false;
        }
    }

    // Ends the session and gives the ports back.
    virtual void close() = 0;
    // Where the process finds its session: ports, ids. Empty when it finds none.
    virtual boost::json::object place() const = 0;
    // The session goes on in the place that place() told. False when the session cannot be read; throws LoopbackError
    // when the place cannot be had.
    virtual bool go_on(Time now, const boost::json::object& place, std::string_view saved) = 0;

    const std::shared_ptr<Served> served_;

private:
    static constexpr std::chrono::seconds place_look{1};
    struct Paused {
        std::string saved;
        Time look_at;
    };
    // False when the place cannot be had now.
    bool try_restore(Time now, std::string_view saved);

    Log& log_;
    const std::string name_;
    std::vector<SdkFact> failures_;
    std::optional<Paused> paused_;
};

template <class Served>
std::vector<SdkFact> SessionSide<Served>::take_facts(Time now) {
    if (paused_ && now >= paused_->look_at) {
        const Paused paused = *paused_;
        if (!try_restore(now, paused.saved)) paused_ = {paused.saved, now + place_look};
    }
    std::vector<SdkFact> facts = std::exchange(failures_, {});
    served_->with(now, [&](auto& session, Time at) {
        session.tick(at);
        std::ranges::move(session.take_facts(), std::back_inserter(facts));
    });
    return facts;
}

template <class Served>
std::optional<Time> SessionSide<Served>::next_tick() const {
    return paused_ ? std::optional(paused_->look_at) : served_->session().next_tick();
}

template <class Served>
std::string SessionSide<Served>::saved() const {
    if (paused_) return paused_->saved;
    boost::json::object out = place();
    const std::string session = served_->session().saved();
    if (out.empty() || session.empty()) return {};
    out["session"] = session;
    return boost::json::serialize(out);
}

template <class Served>
void SessionSide<Served>::restore(Time now, std::string_view, std::string_view saved) {
    if (try_restore(now, saved)) return;
    paused_ = {std::string(saved), now + place_look};
}

template <class Served>
bool SessionSide<Served>::try_restore(Time now, std::string_view saved) {
    std::string taken;
    const bool was_paused = paused_.has_value();
    const auto open = [&] {
        const boost::json::value parsed = boost::json::parse(saved);
        const boost::json::object& in = parsed.as_object();
        try {
            if (!go_on(now, in, in.at("session").as_string())) throw std::runtime_error("it was not saved whole");
        } catch (const LoopbackError& failure) {
            taken = failure.what();
            close();
        }
    };
    anew(open, "its SDK session cannot be continued: ");
    if (!taken.empty() && !was_paused)
        log_.warning("Process {}: {}; its SDK stands still, and the process goes on, until the port is free", name_,
                     taken);
    return taken.empty();
}

template <class Served>
void SessionSide<Served>::end_life(Time) {
    paused_.reset();
    close();
}

template <class Served>
void SessionSide<Served>::stop(Time now) {
    served_->with(now, [](auto& session, Time at) { session.stop(at); });
}

}  // namespace muster
