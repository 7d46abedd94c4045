#include "core/players.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/planted.h"
#include "core/events.h"
#include "core/match_token.h"

namespace muster {
namespace {

constexpr std::string_view connection_lost = "Connection lost";
constexpr std::string_view logged_out = "Logged out";

std::uint64_t seed_from(Entropy& entropy) {
    std::array<std::byte, 8> bytes{};
    entropy.fill(bytes);
    return std::bit_cast<std::uint64_t>(bytes);
}

std::uint32_t in_us(Duration time) {
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(time).count();
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(us, 1, 0xFFFF'FFFF));
}

// As TCP smooths its round trips (RFC 6298): an eighth of what is new, a quarter for the deviation.
void measure(Session& session, std::uint32_t rtt_us) {
    if (session.rtt_us == 0) {
        session.smoothed_us = rtt_us;
        session.jitter_us = rtt_us / 2;
    } else {
        const std::int64_t off = std::int64_t{rtt_us} - session.smoothed_us;
        const std::int64_t deviation = (off < 0 ? -off : off) - std::int64_t{session.jitter_us};
        session.jitter_us = static_cast<std::uint32_t>(session.jitter_us + deviation / 4);
        session.smoothed_us = static_cast<std::uint32_t>(session.smoothed_us + off / 8);
    }
    session.rtt_us = rtt_us;
}

std::string hex_of(std::span<const std::byte> bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (const std::byte each : bytes) {
        text += digits[std::to_integer<std::size_t>(each >> 4)];
        text += digits[std::to_integer<std::size_t>(each & std::byte{15})];
    }
    return text;
}

}  // namespace

Players::Players(const PlayersConfig& config, const Parts& parts)
    : config_(config),
      time_(parts.time),
      timers_(parts.timers),
      events_(parts.events),
      log_(parts.log),
      links_(parts.links),
      issued_(parts.issued),
      entropy_(parts.entropy),
      random_(seed_from(parts.entropy)),
      wheel_(parts.time.running()),
      heartbeats_(config.heartbeats, entities_, sessions_) {}

void Players::configure(const PlayersConfig& config) {
    const HeartbeatsConfig heartbeats = std::exchange(config_, config).heartbeats;
    heartbeats_.set_failures_max(config.heartbeats.failures_max);
    config_.heartbeats = heartbeats;
}

Players::Welcome Players::login(const Pass& pass, Link& link, std::string_view name, AccountId player,
                                std::string_view token) {
    Welcome welcome;
    const Place by_name = sessions_.find(name);
    const Place by_account = sessions_.find(player);
    if (by_name != Sessions::none && by_name == by_account && is_resume_token(by_name, token)) {
        welcome = {by_name, true};
        Session& session = sessions_.at(by_name);
        if (session.connected()) {
            take_from_old_link(by_name);
        } else {
            --figures_.in_grace;
            ++figures_.connected;
            if (session.idle) ++figures_.idle;
        }
        ++figures_.resumes;
        events_.publish(event::PlayerResumed{player, std::string(name)});
    } else {
        if (by_name != Sessions::none) close(pass, by_name, Reason::logged_in_elsewhere);
        if (by_account != Sessions::none && by_account != by_name) close(pass, by_account, Reason::logged_in_elsewhere);
        welcome = {open(pass, name, player), false};
        ++figures_.logins;
        ++figures_.connected;
    }
    connect(pass, welcome.place, link);
    return welcome;
}

Players::Place Players::open(const Pass& pass, std::string_view name, AccountId player) {
    const Place place = sessions_.add(name, player);
    Session& session = sessions_.at(place);
    session.entity = entities_.create(place);
    heartbeats_.created(session.entity);
    session.last_activity = ShortTime(pass.running);
    sessions_.details(place).connected_at = issued_.at(pass.now);
    events_.publish(event::PlayerLogin{player, std::string(name), session.entity.number()});
    return place;
}

// The link is the session's from now on.
void Players::connect(const Pass& pass, Place place, Link& link) {
    Session& session = sessions_.at(place);
    session.link = link.id;
    session.pings_out = 0;
    session.last_echo = ShortTime(pass.running);
    session.last_message = ShortTime(pass.running);
    session.due = ShortTime(next_ping(link.opened.seen_from(pass.running)));
    active(pass, place);
    new_resume_token(place);
    link.speaks_for(SessionPlace(place));
    if (!link.greeted) links_.greeted(link);
    const Time deadline = next_deadline(pass.running, session);
    if (!wheel_.reschedule(session.timer, deadline)) session.timer = wheel_.schedule(deadline, place);
}

void Players::take_from_old_link(Place place) {
    Link* old = links_.find(sessions_.at(place).link);
    if (!old) return;
    // What was asked there cannot be answered here.
    heartbeats_.link_lost(sessions_.at(place).entity);
    links_.send(old->id, ServerClose{ReasonText(text(Reason::logged_in_elsewhere))});
    links_.close(*old);
}

void Players::new_resume_token(Place place) {
    if (planted(Bug::resume_token_kept) && sessions_.details(place).resume_token != SessionDetails{}.resume_token)
        return;
    entropy_.fill(sessions_.details(place).resume_token);
}

std::string Players::resume_token(Place place) const {
    return hex_of(sessions_.details(place).resume_token);
}

bool Players::is_resume_token(Place place, std::string_view token) const {
    return !token.empty() && same_text(token, resume_token(place));
}

Players::Place Players::of(const Link& link) const {
    const auto place = link.session().value;
    if (!link.greeted || place >= sessions_.places()) return Sessions::none;
    return sessions_.at(place).link == link.id ? place : Sessions::none;
}

void Players::heard(const Pass& pass, Place place) {
    sessions_.at(place).last_message = ShortTime(pass.running);
}

void Players::active(const Pass& pass, Place place) {
    Session& session = sessions_.at(place);
    session.last_activity = ShortTime(pass.running);
    if (!session.idle) return;
    session.idle = false;
    --figures_.idle;
    events_.publish(event::PlayerActive{session.player});
}

// Any of them is a sign of life. A round trip is measured only when there is no doubt which ping it answers (P-2).
void Players::echo(const Pass& pass, Place place, Time received) {
    Session& session = sessions_.at(place);
    session.last_echo = ShortTime(pass.running);
    if (planted(Bug::ping_is_activity)) session.last_activity = ShortTime(pass.running);
    if (session.pings_out == 0) return;
    if (--session.pings_out > 0) return;
    const std::uint32_t rtt_us = in_us(received - sessions_.details(place).ping_sent);
    measure(session, rtt_us);
    figures_.rtt_seconds.observe(rtt_us / 1e6);
}

void Players::heartbeat_answered(Place place, const EntityHeartbeatAnswer& answer) {
    heartbeats_.answered(sessions_.at(place).entity, answer);
}

void Players::logout(const Pass& pass, Place place) {
    Link* link = links_.find(sessions_.at(place).link);
    end(pass, place, logged_out, "logout");
    if (link) links_.close(*link);
}

void Players::link_lost(const Pass& pass, const Link& link) {
    const Place place = of(link);
    if (place == Sessions::none) return;
    Session& session = sessions_.at(place);
    session.link = {};
    --figures_.connected;
    ++figures_.in_grace;
    if (session.idle) --figures_.idle;  // it stays so until it acts: its return is heard as that
    heartbeats_.link_lost(session.entity);
    if (config_.resume_grace <= Duration::zero()) return end(pass, place, connection_lost, "connection_lost");
    session.due = ShortTime(pass.running + config_.resume_grace / (planted(Bug::grace_cut_short) ? 2 : 1));
    wheel_.reschedule(session.timer, session.due.seen_from(pass.running));
}

void Players::link_closed(const Pass& pass, const Link& link, std::string_view reason) {
    const Place place = of(link);
    if (place != Sessions::none) end(pass, place, reason, "protocol");
}

void Players::unread(Place place, Duration time) {
    Session& session = sessions_.at(place);
    const auto ms = static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::milliseconds>(time).count());
    const auto now = ShortTime(time_.running());
    const auto moved = [&](ShortTime& moment) { moment.ms += std::min(ms, now.ms - moment.ms); };
    moved(session.last_echo);
    moved(session.last_activity);
}

bool Players::kick(const Pass& pass, AccountId player, std::string_view reason) {
    const Place place = sessions_.find(player);
    if (place == Sessions::none) return false;
    log_.with(LogLevel::info, {{"player", player.value}, {"name", sessions_.name(place)}, {"reason", reason}},
              "Kicked a player");
    close(pass, place, Reason::kicked);
    return true;
}

bool Players::block(const Pass& pass, Place place) {
    if (place == Sessions::none) return false;
    close(pass, place, Reason::blocked);
    return true;
}

void Players::shut_down(const Pass& pass) {
    for (Place place = 0; place < sessions_.places(); ++place) {
        if (sessions_.at(place).taken) close(pass, place, Reason::server_shutting_down);
    }
}

bool Players::set_authority(AccountId player, bool here) {
    const Place place = sessions_.find(player);
    if (place == Sessions::none) return false;
    heartbeats_.set_authority(sessions_.at(place).entity, here);
    return true;
}

std::size_t Players::update(const Pass& pass) {
    const HeartbeatRound& beats = heartbeats_.run(pass);
    for (const auto& [session, request] : beats.requests) links_.send(sessions_.at(session).link, request);
    for (const EntityId entity : beats.failed) close(pass, entities_.session(entity), Reason::heartbeat_failed);
    std::size_t done = beats.done;
    wheel_.advance(pass.running);
    TimerWheel::Due due;
    for (std::size_t i = 0; i < due_per_pass_max && wheel_.pop_due(due); ++i, ++done) {
        deadline_came(pass, static_cast<Place>(due.payload));
    }
    std::optional<Time> next = wheel_.has_due() ? pass.running : wheel_.next_wake();
    if (const auto beat = heartbeats_.next_due(); beat && (!next || *beat < *next)) next = beat;
    wake_for(pass.running, next);
    return done;
}

// The wheel of the sessions is not the loop's own: one timer of the loop stands for all of them.
void Players::wake_for(Time running, std::optional<Time> deadline) {
    if (deadline == wake_at_ && timers_.contains(wake_)) return;
    wake_at_ = deadline;
    if (!deadline) {
        timers_.cancel(wake_);
        return;
    }
    const Duration delay = *deadline - running;
    if (timers_.contains(wake_)) return timers_.restart(wake_, delay);
    wake_ = timers_.start({.first_delay = delay}, [](const TimerFired&) {});  // the pass itself is what is wanted
}

Time Players::next_deadline(Time running, const Session& session) const {
    const Time due = session.due.seen_from(running);
    if (!session.connected()) return due;
    const Time activity = session.last_activity.seen_from(running);
    return std::min(
        {due, session.last_echo.seen_from(running) + config_.ping_timeout,
         activity + (session.idle ? config_.idle_kick_after : std::min(config_.idle_after, config_.idle_kick_after))});
}

void Players::deadline_came(const Pass& pass, Place place) {
    Session& session = sessions_.at(place);
    const Link* link = session.connected() ? links_.find(session.link) : nullptr;
    const bool unread = link && link->paused;
    // What Muster does not hear is no silence; its own doings go on.
    const Time heard_until = unread ? links_.paused_since(*link) : pass.running;
    const auto reached = [&](ShortTime moment, Duration after) {
        return moment.seen_from(pass.running) + after <= heard_until;
    };
    if (!session.connected()) {
        if (reached(session.due, Duration::zero())) return end(pass, place, connection_lost, "connection_lost");
    } else if (reached(session.last_echo, config_.ping_timeout)) {
        log_.warning("Player {} timed out (no pong for {}s)", session.player.value,
                     std::chrono::duration_cast<std::chrono::seconds>(config_.ping_timeout).count());
        return close(pass, place, Reason::ping_timeout);
    } else if (reached(session.last_activity, config_.idle_kick_after)) {
        log_.info("Kicking idle player {}", session.player.value);
        return close(pass, place, Reason::idle_too_long);
    } else {
        if (!session.idle && reached(session.last_activity, config_.idle_after)) {
            session.idle = true;
            ++figures_.idle;
            events_.publish(event::PlayerIdle{session.player});
        }
        if (session.due.seen_from(pass.running) <= pass.running) ping(pass, place);
    }
    Time next = next_deadline(pass.running, session);
    if (unread) next = std::max(next, pass.running + unread_look_every);
    wheel_.reschedule(session.timer, next);
}

void Players::ping(const Pass& pass, Place place) {
    Session& session = sessions_.at(place);
    links_.send(session.link, Ping{});
    if (session.pings_out < 0xFF) ++session.pings_out;
    sessions_.details(place).ping_sent = pass.now;
    session.due = ShortTime(next_ping(pass.running));
}

// 90–97 % of the interval later, each by its own chance: nobody's alarm of one interval rings, and the load is spread.
Time Players::next_ping(Time from) {
    constexpr std::int64_t least = 9'000;
    constexpr std::int64_t spread = 700;
    const auto share = least + static_cast<std::int64_t>(random_.below(spread));
    return from + config_.ping_interval / 10'000 * share;
}

// Says why, and ends it.
void Players::close(const Pass& pass, Place place, Reason reason) {
    Link* link = links_.find(sessions_.at(place).link);
    end(pass, place, text(reason), label(reason));
    if (!link) return;
    links_.send(link->id, ServerClose{ReasonText(text(reason))});
    links_.close(*link);
}

void Players::end(const Pass& pass, Place place, std::string_view reason, std::string_view label) {
    const Session& session = sessions_.at(place);
    const AccountId player = session.player;
    const auto since = issued_.at(pass.now).value - sessions_.details(place).connected_at.value;
    const Duration length = std::chrono::milliseconds(since);
    --(session.connected() ? figures_.connected : figures_.in_grace);
    if (session.idle && session.connected()) --figures_.idle;
    ++figures_.closes[label];
    figures_.session_seconds.observe(to_seconds(length));
    if (entities_.remove(session.entity)) {
        events_.publish(event::EntityDeleted{session.entity.number(), player, std::string(reason)});
    }
    events_.publish(event::PlayerClosed{player, std::string(sessions_.name(place)), std::string(reason), length});
    wheel_.cancel(session.timer);
    sessions_.remove(place);
}

PlayerView Players::view(Place place) const {
    const Session& session = sessions_.at(place);
    const SessionDetails& more = sessions_.details(place);
    const Time running = time_.running();
    const auto ago = [&](ShortTime moment) { return std::max(running - moment.seen_from(running), Duration::zero()); };
    PlayerView view;
    view.player = session.player;
    view.name = more.name_of(session);
    view.connected = session.connected();
    view.idle = session.idle && session.connected();
    view.latency_us = session.smoothed_us;
    view.last_rtt_us = session.rtt_us;
    view.jitter_us = session.jitter_us;
    view.connected_at = more.connected_at;
    view.since_message = ago(session.last_message);
    if (more.ping_sent != Time{}) view.since_ping_sent = time_.now() - more.ping_sent;
    view.since_echo = ago(session.last_echo);
    view.entity = session.entity.number();
    view.failed_heartbeats = std::as_const(entities_).heartbeat(session.entity).failures;
    return view;
}

std::optional<PlayerView> Players::find(AccountId player) const {
    const Place place = sessions_.find(player);
    if (place == Sessions::none) return std::nullopt;
    return view(place);
}

}  // namespace muster
