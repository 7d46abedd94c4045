#include "core/chat_servers.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/link_table.h"

namespace muster {
namespace {

bool is_chat_server_id(std::string_view id) {
    const auto fits = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
               c == '.';
    };
    return !id.empty() && id.size() <= ChatServerIdText::size_max && std::all_of(id.begin(), id.end(), fits);
}

}  // namespace

bool ChatServer::serves(RegionId region) const {
    return std::find(regions.begin(), regions.end(), region) != regions.end();
}

ChatServers::ChatServers(ChatServersConfig config, const LoopTime& time, Timers& timers, OnSilent on_silent)
    : config_(std::move(config)), time_(time), timers_(timers), on_silent_(std::move(on_silent)) {}

void ChatServers::configure(ChatServersConfig config) {
    config.regions = std::move(config_.regions);
    config_ = std::move(config);
}

Result<ChatServers::Greeting, Refusal> ChatServers::handshake(const Pass& pass, ConnectionId from,
                                                              const ManagerHandshake& hello) {
    if (!is_chat_server_id(hello.chat_server.view())) return Failure(Refusal::invalid_chat_server_id);
    const auto configured = [this](RegionId id) {
        return std::any_of(config_.regions.begin(), config_.regions.end(),
                           [id](const Region& region) { return region.id == id; });
    };
    const auto& regions = hello.regions.items;
    if (regions.empty() || !std::all_of(regions.begin(), regions.end(), configured))
        return Failure(Refusal::invalid_region);

    ConnectionId replaced;
    if (const ChatServer* known = find(hello.chat_server.view())) {
        if (known->heard_until(pass.running) - known->last_seen < config_.heartbeat_interval * 3 / 2)
            return Failure(Refusal::chat_server_already_registered);
        replaced = known->link;
        forget(known->number);
    }
    const std::int32_t number = next_number_++;
    ChatServer& chat_server = by_number_[number];
    chat_server.id = hello.chat_server.string();
    chat_server.number = number;
    chat_server.link = from;
    chat_server.regions = regions;
    chat_server.last_seen = pass.running;
    by_id_[chat_server.id] = number;
    auto timer = timers_.schedule({.first_delay = config_.heartbeat_timeout}, [this, number](const TimerFired&) {
        silence_due(Pass{time_.now(), time_.running()}, number);
    });
    MUSTER_CHECK(timer.has_value(), "heartbeat times are valid delays");
    chat_server.silence = *timer;
    return Greeting{number, replaced};
}

void ChatServers::heard(const Pass& pass, std::int32_t number) {
    const auto found = by_number_.find(number);
    if (found != by_number_.end()) found->second.last_seen = pass.running;
}

void ChatServers::link_lost(std::int32_t number, ConnectionId link) {
    const ChatServer* chat_server = find(number);
    if (chat_server && chat_server->link == link) forget(number);
}

void ChatServers::paused(const Pass& pass, std::int32_t number) {
    const auto found = by_number_.find(number);
    if (found != by_number_.end() && !found->second.unread_since) found->second.unread_since = pass.running;
}

void ChatServers::resumed(const Pass& pass, std::int32_t number) {
    const auto found = by_number_.find(number);
    if (found == by_number_.end() || !found->second.unread_since) return;
    ChatServer& chat_server = found->second;
    const Duration unread = pass.running - *chat_server.unread_since;
    chat_server.unread_since.reset();
    // What was read last may have been a sign of life.
    chat_server.last_seen = std::min(chat_server.last_seen + unread, pass.running);
}

const ChatServer* ChatServers::find(std::int32_t number) const {
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? nullptr : &found->second;
}

const ChatServer* ChatServers::find(std::string_view id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : find(found->second);
}

// A sign of life only notes its time; the timer looks at that time when it fires, and moves itself on.
void ChatServers::silence_due(const Pass& pass, std::int32_t number) {
    const ChatServer* chat_server = find(number);
    MUSTER_CHECK(chat_server != nullptr, "a forgotten chat server's timer is cancelled");
    const Time due = chat_server->last_seen + config_.heartbeat_timeout;
    const Time heard_until = chat_server->heard_until(pass.running);
    if (heard_until < due) {
        const Duration least = chat_server->unread_since ? unread_look_every : Timers::delay_least;
        const auto moved = timers_.reschedule(chat_server->silence, std::max<Duration>(due - heard_until, least));
        MUSTER_CHECK(moved.has_value(), "a chat server's timer lives as long as its link");
        return;
    }
    const ConnectionId link = chat_server->link;
    forget(number);
    on_silent_(pass, link);
}

void ChatServers::forget(std::int32_t number) {
    const auto found = by_number_.find(number);
    timers_.cancel(found->second.silence);
    by_id_.erase(found->second.id);
    by_number_.erase(found);
}

}  // namespace muster
