#include "agent/sdk_server.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "agones/side.h"
#include "gsdk/side.h"

namespace muster {
namespace {

agones::Process agones_process(const Process& process) {
    const RunConfig& run = *process.run;
    agones::Process out;
    out.fleet = run.name;
    out.port = process.port;
    for (const auto& label : run.labels) out.labels.emplace(label.name, label.value);
    out.health_period = run.health_period;
    out.health_delay = run.health_delay;
    out.health_failures = run.health_failures;
    out.player_tracking = run.player_tracking;
    for (const auto& counter : run.counters) out.counters[counter.name] = {counter.count, counter.capacity};
    for (const auto& list : run.lists) out.lists[list.name] = {list.capacity, list.values};
    out.abort_grace = run.stop_grace;
    return out;
}

}  // namespace

SdkServer::SdkServer(Options options, const StateFolder& folder, const Clock& clock, Log& log,
                     std::function<void()> wake)
    : options_(std::move(options)), folder_(folder), clock_(clock), log_(log), wake_(std::move(wake)) {}

std::unique_ptr<SdkSide> SdkServer::make(const Process& process) {
    switch (process.run->sdk) {
        case SdkKind::agones:
            return make_agones(process);
        case SdkKind::gsdk:
            return make_gsdk(process);
        case SdkKind::none:
        case SdkKind::muster:
            break;
    }
    return nullptr;
}

std::unique_ptr<SdkSide> SdkServer::make_agones(const Process& process) {
    agones::Process made = agones_process(process);
    made.process = process.name;
    made.name = fmt::format("{}-{}", options_.host, process.name);
    made.address = options_.address;
    return std::make_unique<agones::Side>(std::move(made),
                                          agones::Services{loopback(), grpc(), clock_, entropy_, log_, wake_});
}

std::unique_ptr<SdkSide> SdkServer::make_gsdk(const Process& process) {
    const std::filesystem::path folder = folder_.process_folder(process.name);
    std::error_code failure;  // told when the config file cannot be written
    std::filesystem::create_directories(folder / "logs", failure);
    gsdk::Place place;
    place.host = options_.host;
    place.run = process.run->name;
    place.process = process.name;
    place.region = std::to_string(options_.region.value);
    place.address = options_.address;
    place.port = process.port;
    place.instance_number = process.number;
    place.folder = folder.string();
    place.log_folder = (folder / "logs").string();
    gsdk::Process rules;
    rules.ignore_health = process.run->ignore_health;
    rules.terminate_grace = process.run->stop_grace;
    return std::make_unique<gsdk::Side>(rules, std::move(place),
                                        gsdk::Services{loopback(), clock_, entropy_, log_, wake_});
}

LoopbackServer& SdkServer::loopback() {
    if (!loopback_) loopback_ = std::make_unique<LoopbackServer>(clock_, log_);
    return *loopback_;
}

agones::GrpcDoor* SdkServer::grpc() {
    if (!grpc_) {
        const auto loaded = agones::load_grpc_door();
        if (!loaded) log_.warning("Agones over HTTP only, not over gRPC: {}", loaded.error());
        grpc_ = loaded ? *loaded : nullptr;
    }
    return *grpc_;
}

}  // namespace muster
