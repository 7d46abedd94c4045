// The limit that fleet_load measures against: the least a server can do that hands out matches and keeps its word. One
// thread, epoll, the same messages; the next server in turn that has room; what a round of the poller brought is one
// SQLite transaction with a sync, and then its answers leave. No time-outs, no retries, no checks, no history.
//
//   bare_allocator FOLDER --ports-file FILE       serves until it is killed
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unordered_map>
#include <vector>

#include <unistd.h>

#include "protocol/frame_reader.h"
#include "protocol/matchmaker_messages.h"
#include "protocol/server_messages.h"
#include "store/database.h"

namespace {

using namespace muster;

constexpr std::uint16_t any_length = 65'535;

void require(bool works, const char* what) {
    if (works) return;
    std::perror(what);
    std::exit(1);
}

int listen_on_any_port(std::uint16_t& port) {
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    require(listener >= 0, "socket");
    const int on = 1;
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    require(bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "bind");
    require(listen(listener, 4096) == 0, "listen");
    socklen_t size = sizeof address;
    require(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
    port = ntohs(address.sin_port);
    return listener;
}

UnixMs unix_now() {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return UnixMs{std::chrono::duration_cast<std::chrono::milliseconds>(since_1970).count()};
}

template <Message M>
M read(std::span<const std::byte> payload) {
    auto message = decode<M>(payload, ByteOrder::little);
    require(message.has_value(), "a frame that cannot be read");
    return std::move(*message);
}

class BareAllocator {
public:
    explicit BareAllocator(const std::string& folder)
        : database_(made(folder + "/bare.db")),
          begin_(database_.prepare("BEGIN IMMEDIATE")),
          commit_(database_.prepare("COMMIT")),
          allocated_(database_.prepare("INSERT INTO matches (lobby, server, token, state) VALUES (?1, ?2, ?3, 1)")),
          ended_(database_.prepare("UPDATE matches SET state = 2, token = NULL WHERE lobby = ?1")) {
        poll_ = epoll_create1(0);
        server_door_ = listen_on_any_port(server_port_);
        matchmaker_door_ = listen_on_any_port(matchmaker_port_);
        watch(server_door_, EPOLLIN);
        watch(matchmaker_door_, EPOLLIN);
    }

    void write_ports(const std::string& path) const {
        std::ofstream(path + ".draft") << "{\"servers\":\"127.0.0.1:" << server_port_
                                       << "\",\"matchmakers\":\"127.0.0.1:" << matchmaker_port_ << "\"}\n";
        std::filesystem::rename(path + ".draft", path);
    }

    [[noreturn]] void serve() {
        std::vector<epoll_event> events(1024);
        for (;;) {
            const int ready = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
            now_ = unix_now();
            for (int i = 0; i < ready; ++i) {
                const int socket = events[static_cast<std::size_t>(i)].data.fd;
                if (socket == server_door_ || socket == matchmaker_door_) {
                    accept_all(socket);
                } else {
                    hear(socket);
                }
            }
            if (writing_) commit_.run();
            writing_ = false;
            for (const int socket : unsent_) flush(socket);
            unsent_.clear();
        }
    }

private:
    struct Link {
        bool is_server = false;
        bool open = false;
        std::int32_t id = 0;
        GameEndpoint endpoint;
        std::int32_t load = 0;
        std::int32_t max_matches = 0;
        std::vector<std::byte> in;
        std::vector<std::byte> out;
    };
    struct Match {
        int matchmaker = 0;
        int server = 0;
        std::string token;
    };

    static Database made(const std::string& path) {
        std::ofstream(path).flush();
        Database database(path, Database::Access::read_write);
        database.run(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
            "CREATE TABLE matches (lobby INTEGER PRIMARY KEY, server INTEGER, token TEXT, state INTEGER)");
        return database;
    }

    void watch(int socket, std::uint32_t what) const {
        epoll_event interest{};
        interest.events = what;
        interest.data.fd = socket;
        require(epoll_ctl(poll_, EPOLL_CTL_ADD, socket, &interest) == 0, "epoll_ctl");
    }

    Link& link(int socket) { return links_[static_cast<std::size_t>(socket)]; }

    void accept_all(int door) {
        for (;;) {
            const int socket = accept4(door, nullptr, nullptr, SOCK_NONBLOCK);
            if (socket < 0) return;
            if (links_.size() <= static_cast<std::size_t>(socket)) links_.resize(static_cast<std::size_t>(socket) + 1);
            link(socket) = Link{};
            link(socket).is_server = door == server_door_;
            link(socket).open = true;
            watch(socket, EPOLLIN);
        }
    }

    void hear(int socket) {
        const ssize_t got = recv(socket, chunk_.data(), chunk_.size(), 0);
        if (got <= 0) {
            link(socket).open = false;
            close(socket);
            return;
        }
        Link& from = link(socket);
        from.in.insert(from.in.end(), chunk_.data(), chunk_.data() + got);
        std::size_t at = 0;
        for (;;) {
            const FrameSplit split = next_frame(std::span(from.in).subspan(at), ByteOrder::little, any_length);
            if (split.kind != FrameSplit::Kind::frame) break;
            if (from.is_server) {
                server_said(socket, split.code, split.payload);
            } else {
                matchmaker_said(socket, split.code, split.payload);
            }
            at += split.size;
        }
        from.in.erase(from.in.begin(), from.in.begin() + static_cast<std::ptrdiff_t>(at));
    }

    void server_said(int socket, Code code, std::span<const std::byte> payload) {
        Link& server = link(socket);
        switch (code) {
            case ServerHandshake::code: {
                const auto hello = read<ServerHandshake>(payload);
                server.endpoint = hello.endpoint;
                server.max_matches = hello.max_matches;
                server.id = ++last_id_;
                servers_.push_back(socket);
                return send(socket,
                            ServerHandshakeResponse{ServerHandshakeResponse::Accepted{ServerId(server.id), now_}});
            }
            case ServerHeartbeat::code:
                return send(socket, ServerHeartbeatAck{ServerHeartbeatAck::Accepted{now_}});
            case AllocateMatchAck::code: {
                const LobbyId lobby = read<AllocateMatchAck>(payload).lobby;
                const Match& match = matches_[lobby.value];
                write();
                allocated_.run(lobby.value, server.id, match.token);
                return send(match.matchmaker, AllocationResponse{AllocationResponse::Accepted{
                                                  lobby, ServerId(server.id), server.endpoint, match.token, now_}});
            }
            case ReadyForMatch::code: {
                const LobbyId lobby = read<ReadyForMatch>(payload).lobby;
                tell(lobby, MatchEventKind::ready);
                return send(socket, ReadyForMatchResponse{LobbyAccepted{lobby}});
            }
            case MatchStartedReport::code: {
                const LobbyId lobby = read<MatchStartedReport>(payload).lobby;
                tell(lobby, MatchEventKind::started);
                return send(socket, MatchResponse{LobbyAccepted{lobby}});
            }
            case MatchEndedReport::code: {
                const LobbyId lobby = read<MatchEndedReport>(payload).lobby;
                write();
                ended_.run(lobby.value);
                tell(lobby, MatchEventKind::ended);
                matches_.erase(lobby.value);
                --server.load;
                return send(socket, MatchResponse{LobbyAccepted{lobby}});
            }
            default:
                return;
        }
    }

    void matchmaker_said(int socket, Code code, std::span<const std::byte> payload) {
        if (code == MatchmakerHandshake::code)
            return send(socket, MatchmakerHandshakeResponse{MatchmakerHandshakeResponse::Accepted{now_, {}}});
        if (code == MatchmakerHeartbeat::code) return send(socket, MatchmakerHeartbeatAck{{}, now_});
        if (code != AllocationRequest::code) return;
        const auto request = read<AllocationRequest>(payload);
        for (std::size_t tried = 0; tried < servers_.size(); ++tried) {
            const int next = servers_[next_server_++ % servers_.size()];
            Link& server = link(next);
            if (!server.open || server.load == server.max_matches) continue;
            ++server.load;
            std::string token =
                "MATCH_" + std::to_string(request.lobby.value) + "_00000000-0000-4000-8000-000000000000";
            send(next, AllocateMatch{request.lobby, request.game_type, request.game_mode, token});
            matches_[request.lobby.value] = Match{socket, next, std::move(token)};
            return;
        }
        send(socket, AllocationResponse{LobbyRefused{request.lobby, "No servers available"}});
    }

    void tell(LobbyId lobby, MatchEventKind event) {
        send(matches_[lobby.value].matchmaker, MatchEventNotice{lobby, event, {}});
    }

    void write() {
        if (!writing_) begin_.run();
        writing_ = true;
    }

    template <Message M>
    void send(int socket, const M& message) {
        Link& to = link(socket);
        if (to.out.empty()) unsent_.push_back(socket);
        encode(message, ByteOrder::little, to.out);
    }

    void flush(int socket) {
        Link& to = link(socket);
        if (to.open &&
            ::send(socket, to.out.data(), to.out.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(to.out.size()))
            std::fprintf(stderr, "a peer does not read\n");
        to.out.clear();
    }

    Database database_;
    Statement begin_;
    Statement commit_;
    Statement allocated_;
    Statement ended_;
    int poll_ = -1;
    int server_door_ = -1;
    int matchmaker_door_ = -1;
    std::uint16_t server_port_ = 0;
    std::uint16_t matchmaker_port_ = 0;
    UnixMs now_{};
    bool writing_ = false;
    std::vector<Link> links_;  // by socket
    std::vector<int> servers_;
    std::size_t next_server_ = 0;
    std::int32_t last_id_ = 0;
    std::unordered_map<std::int32_t, Match> matches_;
    std::vector<int> unsent_;
    std::array<std::byte, 64 * 1024> chunk_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: bare_allocator FOLDER --ports-file FILE\n");
        return 64;
    }
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    BareAllocator server(argv[1]);
    server.write_ports(argv[3]);
    server.serve();
}
