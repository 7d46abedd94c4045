#include "agones/grpc/grpc_messages.h"

#include <limits>
#include <utility>

#include <alpha.pb.h>
#include <beta.pb.h>
#include <sdk.pb.h>

namespace muster::agones {
namespace {

namespace sdk = ::agones::dev::sdk;

// A message of this kind, and the call that `make` finds in it.
template <class Message, class Make>
std::optional<Call> decoded(const std::string& bytes, Make make) {
    Message message;
    if (!message.ParseFromString(bytes)) return std::nullopt;
    return Call{make(message)};
}

template <class Plain>
std::optional<Call> plain(const std::string& bytes) {
    return decoded<sdk::Empty>(bytes, [](const auto&) { return Plain{}; });
}

std::optional<Call> streamed_ping(const std::string& bytes) {
    return decoded<sdk::Empty>(bytes, [](const auto&) { return HealthPing{.by_stream = true}; });
}

template <class KeyValue>
std::optional<Call> key_value(const std::string& bytes) {
    return decoded<sdk::KeyValue>(bytes, [](const auto& in) { return KeyValue{in.key(), in.value()}; });
}

template <class PlayerCall>
std::optional<Call> player(const std::string& bytes) {
    return decoded<sdk::alpha::PlayerID>(bytes, [](const auto& in) { return PlayerCall{in.playerid()}; });
}

template <class Message, class Named>
std::optional<Call> named(const std::string& bytes) {
    return decoded<Message>(bytes, [](const auto& in) { return Named{in.name()}; });
}

template <class Message, class Valued>
std::optional<Call> valued(const std::string& bytes) {
    return decoded<Message>(bytes, [](const auto& in) { return Valued{in.name(), in.value()}; });
}

std::optional<Call> reserve(const std::string& bytes) {
    return decoded<sdk::Duration>(bytes, [](const auto& in) { return Reserve{in.seconds()}; });
}

std::optional<Call> set_player_capacity(const std::string& bytes) {
    return decoded<sdk::alpha::Count>(bytes, [](const auto& in) { return SetPlayerCapacity{in.count()}; });
}

std::optional<Call> update_counter(const std::string& bytes) {
    return decoded<sdk::beta::UpdateCounterRequest>(bytes, [](const auto& in) {
        const auto& of = in.counterupdaterequest();
        UpdateCounter call{of.name(), std::nullopt, std::nullopt, of.countdiff()};
        if (of.has_count()) call.count = of.count().value();
        if (of.has_capacity()) call.capacity = of.capacity().value();
        return call;
    });
}

std::optional<Call> update_list(const std::string& bytes) {
    return decoded<sdk::beta::UpdateListRequest>(bytes, [](const auto& in) {
        return UpdateList{in.list().name(),
                          {in.list().capacity(), {in.list().values().begin(), in.list().values().end()}},
                          {in.update_mask().paths().begin(), in.update_mask().paths().end()}};
    });
}

constexpr GrpcMethod methods[] = {
    {"/agones.dev.sdk.SDK/Health", GrpcMethod::Kind::health, streamed_ping},
    {"/agones.dev.sdk.SDK/Ready", GrpcMethod::Kind::unary, plain<Ready>},
    {"/agones.dev.sdk.SDK/Allocate", GrpcMethod::Kind::unary, plain<Allocate>},
    {"/agones.dev.sdk.SDK/Shutdown", GrpcMethod::Kind::unary, plain<Shutdown>},
    {"/agones.dev.sdk.SDK/GetGameServer", GrpcMethod::Kind::unary, plain<GetGameServer>},
    {"/agones.dev.sdk.SDK/WatchGameServer", GrpcMethod::Kind::watch, plain<GetGameServer>},
    {"/agones.dev.sdk.SDK/SetLabel", GrpcMethod::Kind::unary, key_value<SetLabel>},
    {"/agones.dev.sdk.SDK/SetAnnotation", GrpcMethod::Kind::unary, key_value<SetAnnotation>},
    {"/agones.dev.sdk.SDK/Reserve", GrpcMethod::Kind::unary, reserve},
    {"/agones.dev.sdk.alpha.SDK/PlayerConnect", GrpcMethod::Kind::unary, player<PlayerConnect>},
    {"/agones.dev.sdk.alpha.SDK/PlayerDisconnect", GrpcMethod::Kind::unary, player<PlayerDisconnect>},
    {"/agones.dev.sdk.alpha.SDK/IsPlayerConnected", GrpcMethod::Kind::unary, player<IsPlayerConnected>},
    {"/agones.dev.sdk.alpha.SDK/GetConnectedPlayers", GrpcMethod::Kind::unary, plain<GetConnectedPlayers>},
    {"/agones.dev.sdk.alpha.SDK/GetPlayerCount", GrpcMethod::Kind::unary, plain<GetPlayerCount>},
    {"/agones.dev.sdk.alpha.SDK/GetPlayerCapacity", GrpcMethod::Kind::unary, plain<GetPlayerCapacity>},
    {"/agones.dev.sdk.alpha.SDK/SetPlayerCapacity", GrpcMethod::Kind::unary, set_player_capacity},
    {"/agones.dev.sdk.beta.SDK/GetCounter", GrpcMethod::Kind::unary, named<sdk::beta::GetCounterRequest, GetCounter>},
    {"/agones.dev.sdk.beta.SDK/UpdateCounter", GrpcMethod::Kind::unary, update_counter},
    {"/agones.dev.sdk.beta.SDK/GetList", GrpcMethod::Kind::unary, named<sdk::beta::GetListRequest, GetList>},
    {"/agones.dev.sdk.beta.SDK/UpdateList", GrpcMethod::Kind::unary, update_list},
    {"/agones.dev.sdk.beta.SDK/AddListValue", GrpcMethod::Kind::unary,
     valued<sdk::beta::AddListValueRequest, AddListValue>},
    {"/agones.dev.sdk.beta.SDK/RemoveListValue", GrpcMethod::Kind::unary,
     valued<sdk::beta::RemoveListValueRequest, RemoveListValue>},
};

sdk::GameServer to_message(const GameServer& server) {
    sdk::GameServer out;
    auto& meta = *out.mutable_object_meta();
    meta.set_name(server.name);
    meta.set_namespace_(server.namespace_name);
    meta.set_uid(server.uid);
    meta.set_resource_version(std::to_string(server.version));
    meta.set_generation(server.version);
    meta.set_creation_timestamp(server.created_at);
    meta.set_deletion_timestamp(server.deleted_at);
    for (const auto& [key, value] : server.annotations) (*meta.mutable_annotations())[key] = value;
    for (const auto& [key, value] : server.labels) (*meta.mutable_labels())[key] = value;

    auto& health = *out.mutable_spec()->mutable_health();
    health.set_disabled(server.health.disabled);
    health.set_period_seconds(server.health.period_seconds);
    health.set_failure_threshold(server.health.failure_threshold);
    health.set_initial_delay_seconds(server.health.initial_delay_seconds);

    auto& status = *out.mutable_status();
    status.set_state(std::string(to_string(server.state)));
    status.set_address(server.address);
    if (!server.address.empty()) {
        auto& address = *status.add_addresses();
        address.set_type("ExternalIP");
        address.set_address(server.address);
    }
    auto& port = *status.add_ports();
    port.set_name("default");
    port.set_port(server.port);
    if (server.players) {
        status.mutable_players()->set_count(std::ssize(server.players->ids));
        status.mutable_players()->set_capacity(server.players->capacity);
        for (const auto& id : server.players->ids) status.mutable_players()->add_ids(id);
    }
    for (const auto& [name, counter] : server.counters) {
        auto& into = (*status.mutable_counters())[name];
        into.set_count(counter.count);
        into.set_capacity(counter.capacity);
    }
    for (const auto& [name, list] : server.lists) {
        auto& into = (*status.mutable_lists())[name];
        into.set_capacity(list.capacity);
        for (const auto& value : list.values) into.add_values(value);
    }
    return out;
}

sdk::Empty to_message(const Empty&) {
    return {};
}
sdk::GameServer to_message(const SharedGameServer& server) {
    return to_message(*server);
}
sdk::alpha::Bool to_message(const Flag& flag) {
    sdk::alpha::Bool out;
    out.set_bool_(flag.value);
    return out;
}
sdk::alpha::Count to_message(const Count& count) {
    sdk::alpha::Count out;
    out.set_count(count.value);
    return out;
}
sdk::alpha::PlayerIDList to_message(const PlayerIds& ids) {
    sdk::alpha::PlayerIDList out;
    for (const auto& id : ids.values) out.add_list(id);
    return out;
}
sdk::beta::Counter to_message(const NamedCounter& named_counter) {
    sdk::beta::Counter out;
    out.set_name(named_counter.name);
    out.set_count(named_counter.counter.count);
    out.set_capacity(named_counter.counter.capacity);
    return out;
}
sdk::beta::List to_message(const NamedList& named_list) {
    sdk::beta::List out;
    out.set_name(named_list.name);
    out.set_capacity(named_list.list.capacity);
    for (const auto& value : named_list.list.values) out.add_values(value);
    return out;
}

}  // namespace

const GrpcMethod* grpc_method(std::string_view path) {
    for (const GrpcMethod& method : methods)
        if (method.path == path) return &method;
    return nullptr;
}

std::string grpc_bytes(const Answer& answer) {
    return std::visit([](const auto& value) { return to_message(value).SerializeAsString(); }, answer);
}

}  // namespace muster::agones
