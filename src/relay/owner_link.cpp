#include "relay/owner_link.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <span>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <netdb.h>

namespace muster {
namespace {

// "host:port" or "[address]:port", split.
std::pair<std::string, std::string> host_and_port(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos) return {address, ""};
    std::string host = address.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    return {host, address.substr(colon + 1)};
}

// A socket that is being connected. Throws a sentence.
FileDescriptor begin_connect(const std::string& host, const std::string& port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV;
    addrinfo* found = nullptr;
    if (const int failed = getaddrinfo(host.c_str(), port.c_str(), &hints, &found); failed != 0)
        throw std::runtime_error(fmt::format("{} cannot be found: {}", host, gai_strerror(failed)));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
    std::string problem = "it has no address";
    for (const addrinfo* each = found; each; each = each->ai_next) {
        FileDescriptor made(::socket(each->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        const int one = 1;
        if (made) setsockopt(made.number(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        if (made && (::connect(made.number(), each->ai_addr, each->ai_addrlen) == 0 || errno == EINPROGRESS))
            return made;
        problem = std::generic_category().message(errno);
    }
    throw std::runtime_error(problem);
}

}  // namespace

bool OwnerLink::set_target(std::optional<RelayTarget> target) {
    const std::lock_guard lock(mutex_);
    if (wanted_ == target) return false;
    wanted_ = std::move(target);
    return true;
}

void OwnerLink::ask(std::string question, OnAnswer answer) {
    {
        const std::lock_guard lock(mutex_);
        if (is_linked() && !is_over_ && questions_.size() < questions_max) {
            questions_.push_back({std::move(question), std::move(answer)});
            return;
        }
    }
    answer(std::nullopt);
}

void OwnerLink::turn(Time now) {
    follow_target(now);
    if (is_unread()) read(now);
}

void OwnerLink::follow_target(Time now) {
    std::optional<RelayTarget> wanted;
    {
        const std::lock_guard lock(mutex_);
        wanted = wanted_;
    }
    if (wanted != target_) {
        lose("the owner has changed", now);
        target_ = std::move(wanted);
        last_problem_.clear();
        next_try_ = now;
    }
    if (target_ && !socket_ && now >= next_try_) connect(now);
}

void OwnerLink::connect(Time now) {
    next_try_ = now + retry_after;
    linked_at_ = heard_ = beaten_ = now;
    try {
        const auto [host, port] = host_and_port(target_->near_by.empty() ? target_->address : target_->near_by);
        FileDescriptor socket = begin_connect(host, port);
        // Its certificate is for where others reach it.
        const std::string certified = host_and_port(target_->address).first;
        auto tls = options_.tls ? std::make_unique<TlsLink>(options_.tls, certified) : nullptr;
        socket_.emplace(std::move(socket), std::move(tls), true);
    } catch (const std::runtime_error& problem) {
        return lose(problem.what(), now);
    }
    if (!poller_.add(socket_->number(), name())) return lose("the kernel has no room for it", now);
    NodeHello hello;
    hello.cell = relays_.routes().name(cell_);
    hello.term = target_->term;
    hello.node = options_.node;
    hello.token = options_.token;
    NodeWriter(socket_->out()).hello(hello);
}

void OwnerLink::read(Time now) {
    const bool is_good = socket_->read();
    for (;;) {
        const NodeSplit message = next_node_message(socket_->received(), node_answer_max);
        if (message.outcome == NodeSplit::Outcome::need_more) break;
        if (message.outcome == NodeSplit::Outcome::error || !handle(message, now))
            return lose("unexpected message", now);
        if (!socket_) return;
        heard_ = now;
        socket_->consume(message.size);
    }
    if (!is_good) lose(socket_->problem(), now);
}

bool OwnerLink::handle(const NodeSplit& message, Time now) {
    const bool has_owner = relays_.has_owner(cell_);
    if (message.kind == NodeKind::refused && !has_owner) {
        lose(fmt::format("it refuses this node: {}", node_text(message.body)), now);
        return true;
    }
    if (message.kind == NodeKind::welcome) {
        if (has_owner) return false;
        welcomed();
        return true;
    }
    if (!has_owner) return false;
    if (message.kind == NodeKind::beat) return true;
    if (message.kind == NodeKind::answer) {
        const auto answer = read_node_question(message.body);
        if (!answer) return false;
        const auto found = asked_.find(answer->number);
        if (found == asked_.end()) return true;
        const OnAnswer told = std::move(found->second);
        asked_.erase(found);
        told(std::string(node_text(answer->bytes)));
        return true;
    }
    return relays_.heard(cell_, message.kind, message.body);
}

void OwnerLink::welcomed() {
    relays_.owner_found(cell_, socket_->out());
    NodeWriter(socket_->out()).beat();  // these were all
    is_linked_.store(true, std::memory_order_release);
    last_problem_.clear();
    log_.info("Relays {} peers to {}, which owns cell {} in term {}", relays_.peers_of(cell_), target_->node,
              relays_.routes().name(cell_), target_->term);
}

void OwnerLink::send_questions() {
    std::vector<Question> asked;
    {
        const std::lock_guard lock(mutex_);
        asked.swap(questions_);
    }
    for (Question& question : asked) {
        asked_.emplace(++last_question_, std::move(question.answer));
        NodeWriter(socket_->out())
            .question(NodeKind::question, last_question_, std::as_bytes(std::span(question.bytes)));
    }
}

void OwnerLink::send(Time now) {
    if (!socket_) return;
    const bool has_owner = relays_.has_owner(cell_);
    if (has_owner) send_questions();
    if (!has_owner && now - linked_at_ > hello_max) return lose("it does not answer the hello", now);
    if (has_owner && now - heard_ > silence_max) return lose("it has fallen silent", now);
    if (has_owner && now - beaten_ >= beat_every) {
        NodeWriter(socket_->out()).beat();
        beaten_ = now;
    }
    if (!socket_->write()) lose(socket_->problem(), now);
}

void OwnerLink::lose(const std::string& why, Time now) {
    is_linked_.store(false, std::memory_order_release);
    if (target_ && why != last_problem_ && !why.empty())
        log_.warning("No link to {} ({}), which owns cell {}: {}", target_->node, target_->address,
                     relays_.routes().name(cell_), why);
    last_problem_ = why;
    socket_.reset();
    relays_.owner_lost(cell_);
    next_try_ = now + retry_after;
    for (auto& [number, answer] : std::exchange(asked_, {})) answer(std::nullopt);
}

void OwnerLink::end(Time now) {
    lose("", now);
    std::vector<Question> unsent;
    {
        const std::lock_guard lock(mutex_);
        is_over_ = true;
        unsent.swap(questions_);
    }
    for (const Question& question : unsent) question.answer(std::nullopt);
}

}  // namespace muster
