#include "sdk/src/c_client.h"

#include <optional>
#include <span>
#include <utility>

using namespace muster::sdk;

// The enums of both languages are passed on by their numbers.
static_assert(static_cast<int>(LinkState::connecting) == MUSTER_CONNECTING);
static_assert(static_cast<int>(LinkState::online) == MUSTER_ONLINE);
static_assert(static_cast<int>(LinkState::isolated) == MUSTER_ISOLATED);
static_assert(static_cast<int>(LinkState::closed) == MUSTER_LEFT);
static_assert(static_cast<int>(ServerStatus::available) == MUSTER_AVAILABLE);
static_assert(static_cast<int>(ServerStatus::full) == MUSTER_FULL);
static_assert(static_cast<int>(ServerStatus::draining) == MUSTER_DRAINING);
static_assert(static_cast<int>(ServerStatus::offline) == MUSTER_OFFLINE);
static_assert(static_cast<int>(MatchEventKind::ready) == MUSTER_READY);
static_assert(static_cast<int>(MatchEventKind::started) == MUSTER_STARTED);
static_assert(static_cast<int>(MatchEventKind::ended) == MUSTER_ENDED);
static_assert(static_cast<int>(MatchEventKind::aborted) == MUSTER_ABORTED);

const char* muster_version(void) {
    return MUSTER_SDK_VERSION;
}

int64_t muster_now_us(void) {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

// Every name is a literal, so it ends with a zero.
const char* muster_error_name(int error) {
    const bool fits = error >= 0 && error <= UINT16_MAX;
    return fits ? to_string(static_cast<ErrorCode>(error)).data() : "unknown";
}

bool muster_client_seed_jitter(muster_client* client, uint64_t seed) {
    return attempt_on(client, [&](muster_client& it) { it.client().seed_jitter(seed); });
}

bool muster_client_wants_connection(const muster_client* client) {
    return client && const_cast<muster_client*>(client)->client().wants_connection();
}

bool muster_client_connected(muster_client* client, int64_t now_us) {
    return attempt_on(client, [&](muster_client& it) {
        it.forget_unsent();
        it.client().connected(c_time(now_us));
    });
}

bool muster_client_disconnected(muster_client* client, int64_t now_us) {
    return attempt_on(client, [&](muster_client& it) {
        it.forget_unsent();
        it.client().disconnected(c_time(now_us));
    });
}

bool muster_client_receive(muster_client* client, const void* bytes, size_t count, int64_t now_us) {
    if (!is_list(bytes, count)) return false;
    const std::span given(static_cast<const std::byte*>(bytes), count);
    return attempt_on(client, [&](muster_client& it) { it.client().receive(given, c_time(now_us)); });
}

size_t muster_client_take_output(muster_client* client, void* buffer, size_t size) {
    if (!client || !buffer) return 0;
    if (client->unsent_from == client->unsent.size()) {
        client->forget_unsent();
        attempt([&] { client->unsent = client->client().take_output(); });
    }
    const std::size_t taken = std::min(size, client->unsent.size() - client->unsent_from);
    if (taken > 0) std::memcpy(buffer, client->unsent.data() + client->unsent_from, taken);
    client->unsent_from += taken;
    return taken;
}

bool muster_client_tick(muster_client* client, int64_t now_us) {
    return attempt_on(client, [&](muster_client& it) { it.client().tick(c_time(now_us)); });
}

int64_t muster_client_next_tick(const muster_client* client) {
    if (!client) return MUSTER_NEVER;
    const std::optional<Time> next = const_cast<muster_client*>(client)->client().next_tick();
    if (!next) return MUSTER_NEVER;
    return std::chrono::ceil<std::chrono::microseconds>(next->time_since_epoch()).count();
}

bool muster_client_clock(const muster_client* client, int64_t now_us, muster_clock* clock) {
    if (!client || !clock || !client->clock().known()) return false;
    const ClockEstimate& estimate = client->clock();
    const Time now = c_time(now_us);
    clock->server_time_us = estimate.server_time(now).time_since_epoch().count();
    clock->error_bound_us = estimate.error_bound(now).count();
    clock->likely_error_us = estimate.likely_error(now).count();
    clock->drift_ppm = estimate.drift_ppm();
    return true;
}

enum muster_link_state muster_client_link_state(const muster_client* client) {
    return client ? static_cast<enum muster_link_state>(client->link_state()) : MUSTER_LEFT;
}
