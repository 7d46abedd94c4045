#include "gsdk/side.h"

#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "agent/locked_session.h"
#include "base/json_fields.h"
#include "base/uuid.h"
#include "gsdk/heartbeat_json.h"

namespace muster::gsdk {
namespace {

constexpr std::string_view hosts_path = "/v1/sessionHosts/";
constexpr std::string_view heartbeats_path = "/heartbeats";
constexpr std::string_view metrics_path = "/v1/metrics/";
constexpr std::string_view info_path = "/gsdkinfo";

// What stands between the two in the path, if it is built so.
std::optional<std::string_view> between(std::string_view path, std::string_view begin, std::string_view end) {
    if (!path.starts_with(begin)) return std::nullopt;
    path.remove_prefix(begin.size());
    if (!path.ends_with(end) || path.size() <= end.size()) return std::nullopt;
    path.remove_suffix(end.size());
    return path;
}

LoopbackAnswer error(unsigned status, std::string_view text) {
    return {status, fmt::format("{{\"error\":{}}}", json_quoted(text)), nullptr};
}

// Whole and readable by our own user only, or an exception.
void write_private(const std::string& path, const std::string& text) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    const auto written = fd < 0 ? -1 : ::write(fd, text.data(), text.size());
    const int failure = errno;
    if (fd >= 0) ::close(fd);
    if (written != static_cast<ssize_t>(text.size()))
        throw std::system_error(failure, std::generic_category(), "cannot write " + path);
}

}  // namespace

// What the loopback thread asks.
class Served final : public LoopbackHandler {
public:
    // A session, and the id that its process must know.
    struct Named : Session {
        Named(Session session, std::string name) : Session(std::move(session)), id(std::move(name)) {}
        std::string id;
    };

    explicit Served(const Services& services) : services_(services) {}

    LoopbackAnswer handle(const LoopbackRequest& request) override {
        if (const auto id = between(request.path, metrics_path, info_path))
            return known(*id) ? LoopbackAnswer{200, "{}", nullptr} : unknown();
        const auto posted = between(request.path, hosts_path, heartbeats_path);
        const auto id = posted ? posted : between(request.path, hosts_path, "");
        if (!id) return unknown();
        // Whatever else it may mean, it is no heartbeat.
        const bool beats = request.method == (posted ? "POST" : "PATCH");
        return heartbeat(*id, beats ? std::string_view(request.body) : std::string_view());
    }

    // What cannot be read is answered as a heartbeat that cannot be read, if it is known whose it is.
    LoopbackAnswer malformed(const LoopbackRequest& request, unsigned status, const std::string& why) override {
        LoopbackAnswer answer = handle({request.method, request.path, request.query, {}});
        return answer.status == 200 ? answer : error(status, why);
    }

    void set(std::optional<Named> named) { session_.set(std::move(named)); }
    template <class Work>
    bool with(Time now, Work work) {
        return session_.with(now, work);
    }
    const LockedSession<Named>& session() const { return session_; }

private:
    static LoopbackAnswer unknown() { return error(404, "no such session host"); }

    bool known(std::string_view id) const {
        bool same = false;
        session_.look([&](const Named& named) { same = named.id == id; });
        return same;
    }

    // To a known id never an HTTP error, whatever it sends: some clients give up for minutes.
    LoopbackAnswer heartbeat(std::string_view id, std::string_view body) {
        const auto beat = heartbeat_of(body);
        bool same = false;
        bool news = false;
        std::string answer = to_json(HeartbeatAnswer{});
        session_.with(services_.clock.now(), [&](Named& named, Time now) {
            same = named.id == id;
            if (same && beat) answer = to_json(named.heartbeat(now, *beat));
            news = named.has_facts();
        });
        if (!same) return unknown();
        if (news) services_.wake();
        return {200, std::move(answer), nullptr};
    }

    const Services services_;
    LockedSession<Named> session_;
};

Side::Side(Process process, Place place, const Services& services)
    : SessionSide(std::make_shared<Served>(services), services.log, place.process),
      process_(process),
      place_(std::move(place)),
      services_(services) {}

Side::~Side() {
    close();
}

std::vector<EnvironmentEntry> Side::begin_life(Time now, std::string_view) {
    const std::string id = random_uuid(services_.entropy);
    std::string endpoint;
    const bool begun = anew([&] {
        served_->set(Served::Named{Session(process_, now), id});
        open(0);
        endpoint = fmt::format("127.0.0.1:{}", port_->number());
        write_private(config_path(), to_json(ConfigFile{.heartbeat_endpoint = endpoint,
                                                        .session_host_id = id,
                                                        .vm_id = place_.host,
                                                        .log_folder = place_.log_folder,
                                                        .shared_folder = place_.folder,
                                                        .certificate_folder = place_.folder,
                                                        .build_id = place_.run,
                                                        .address = place_.address,
                                                        .domain_name = place_.address,
                                                        .port = place_.port,
                                                        .instance_number = place_.instance_number}));
    });
    if (!begun) return {};
    const std::string number = std::to_string(place_.instance_number);
    return {{"GSDK_CONFIG_FILE", config_path()},
            {"HEARTBEAT_ENDPOINT", endpoint},
            {"SESSION_HOST_ID", id},
            {"GSDK_LOG_FOLDER", place_.log_folder},
            {"PF_TITLE_ID", "muster"},
            {"PF_BUILD_ID", place_.run},
            {"PF_REGION", place_.region},
            {"PF_SERVER_INSTANCE_NUMBER", number},
            {"PF_SERVER_LOG_DIRECTORY", place_.log_folder}};
}

void Side::end_life(Time now) {
    SessionSide::end_life(now);
    ::unlink(config_path().c_str());
}

void Side::offer(Time, const SdkMatch& match) {
    const std::string session_id = random_uuid(services_.entropy);
    served_->with({}, [&](Served::Named& session, Time) { session.offer(match, session_id); });
}

void Side::set_players(LobbyId lobby, const std::vector<AccountId>& accounts) {
    served_->with({}, [&](Served::Named& session, Time) { session.set_players(lobby, accounts); });
}

void Side::abort(Time now, LobbyId lobby, std::string_view) {
    served_->with(now, [&](Served::Named& session, Time at) { session.abort(at, lobby); });
    services_.wake();  // it may stand by again
}

boost::json::object Side::place() const {
    boost::json::object out;
    if (port_) served_->session().look([&](const Served::Named& named) { out["id"] = named.id; });
    if (port_) out["port"] = port_->number();
    return out;
}

bool Side::go_on(Time now, const boost::json::object& place, std::string_view saved) {
    auto session = Session::restored(process_, now, saved);
    if (!session) return false;
    served_->set(Served::Named{std::move(*session), std::string(place.at("id").as_string())});
    open(place.at("port").to_number<std::uint16_t>());
    return true;
}

void Side::set_address(std::string address, std::uint16_t port) {
    place_.address = std::move(address);
    place_.port = port;
}

void Side::open(std::uint16_t port) {
    port_ = services_.loopback.open_http(port, served_);
}

void Side::close() {
    served_->set(std::nullopt);
    port_.reset();
}

std::string Side::config_path() const {
    return fmt::format("{}/gsdk-{}.json", place_.folder, place_.process);
}

}  // namespace muster::gsdk

template class muster::SessionSide<muster::gsdk::Served>;
