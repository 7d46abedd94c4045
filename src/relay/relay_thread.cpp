#include "relay/relay_thread.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <netdb.h>
#include <pthread.h>

#include "base/thread_name.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Duration wait_max = 100ms;
constexpr ConnectionId link_name{1, 1};

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

RelayThread::RelayThread(const Clock& clock, Log& log, GamePorts& ports, RelayOptions options)
    : clock_(clock),
      log_(log),
      ports_(ports),
      options_(std::move(options)),
      to_links_(ports.network().links()),
      relay_(ports.book(), to_links_) {
    ports_.wake_relay(true);
    ports_.open();
    thread_ = std::thread([this] { run(); });
}

RelayThread::~RelayThread() {
    stop_asked_.store(true, std::memory_order_release);
    ports_.relay_poller().wake();
    thread_.join();
    ports_.wake_relay(false);
}

void RelayThread::set_target(std::optional<RelayTarget> target) {
    {
        const std::lock_guard lock(mutex_);
        if (wanted_ == target) return;
        wanted_ = std::move(target);
    }
    ports_.relay_poller().wake();
}

void RelayThread::ask(std::string question, OnAnswer answer) {
    {
        const std::lock_guard lock(mutex_);
        if (is_linked() && questions_.size() < questions_max) {
            questions_.push_back({std::move(question), std::move(answer)});
            ports_.relay_poller().wake();
            return;
        }
    }
    answer(std::nullopt);
}

void RelayThread::run() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    name_this_thread("relay");
    while (!stop_asked_.load(std::memory_order_acquire)) {
        try {
            turn();
        } catch (const std::bad_alloc&) {
            lose("there is no memory for it", clock_.now());
        }
    }
    lose("this node ends its relay", clock_.now());
    ports_.network().links().flush();
    // The last questions find nobody.
    std::vector<Question> unsent;
    {
        const std::lock_guard lock(mutex_);
        unsent.swap(questions_);
    }
    for (Question& question : unsent) question.answer(std::nullopt);
}

void RelayThread::turn() {
    const bool is_unread = link_ && link_->is_unread();
    const auto events = ports_.relay_poller().wait(is_unread ? Duration{0} : Duration{wait_max});
    const Time now = clock_.now();
    if (link_ && !events.empty()) link_->reported();
    follow_target(now);
    if (link_ && link_->is_unread()) read(now);
    take_peers();
    send_questions();
    look_after(now);
    ports_.network().links().flush();
    ports_.book().flushed();
    relayed_.store(relay_.has_owner() ? ports_.book().size() : 0, std::memory_order_relaxed);
    unanswered_.store(ports_.book().unanswered(), std::memory_order_relaxed);
}

void RelayThread::follow_target(Time now) {
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
    if (target_ && !link_ && now >= next_try_) connect(now);
}

void RelayThread::connect(Time now) {
    next_try_ = now + retry_after;
    linked_at_ = heard_ = beaten_ = now;
    try {
        const auto [host, port] = host_and_port(target_->address);
        FileDescriptor socket = begin_connect(host, port);
        auto tls = options_.tls ? std::make_unique<TlsLink>(options_.tls, host) : nullptr;
        link_.emplace(std::move(socket), std::move(tls), true);
    } catch (const std::runtime_error& problem) {
        return lose(problem.what(), now);
    }
    if (!ports_.relay_poller().add(link_->number(), link_name)) return lose("the kernel has no room for it", now);
    NodeHello hello;
    hello.cell = options_.cell;
    hello.term = target_->term;
    hello.node = options_.node;
    hello.token = options_.token;
    NodeWriter(link_->out()).hello(hello);
}

void RelayThread::read(Time now) {
    const bool is_good = link_->read();
    for (;;) {
        const NodeSplit message = next_node_message(link_->received(), node_answer_max);
        if (message.outcome == NodeSplit::Outcome::need_more) break;
        if (message.outcome == NodeSplit::Outcome::error || !handle(message, now))
            return lose("it says what no owner says", now);
        if (!link_) return;
        heard_ = now;
        link_->consume(message.size);
    }
    if (!is_good) lose(link_->problem(), now);
}

bool RelayThread::handle(const NodeSplit& message, Time now) {
    if (message.kind == NodeKind::refused && !relay_.has_owner()) {
        lose(fmt::format("it refuses this node: {}", node_text(message.body)), now);
        return true;
    }
    if (message.kind == NodeKind::welcome) {
        if (relay_.has_owner()) return false;
        relay_.owner_found(link_->out());
        NodeWriter(link_->out()).beat();  // these were all
        is_linked_.store(true, std::memory_order_release);
        last_problem_.clear();
        log_.info("Relays {} peers to {}, which owns cell {} in term {}", ports_.book().size(), target_->node,
                  options_.cell, target_->term);
        return true;
    }
    if (!relay_.has_owner()) return false;
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
    return relay_.heard(message.kind, message.body);
}

void RelayThread::take_peers() {
    for (const Port port : ports) {
        if (!relay_.has_owner() || link_->unsent() > unsent_max) return;
        if (!ports_.network().inbox(port).take(batch_)) continue;
        relay_.take(batch_, port, link_->out());
        batch_.clear();
    }
}

void RelayThread::send_questions() {
    if (!relay_.has_owner()) return;
    std::vector<Question> asked;
    {
        const std::lock_guard lock(mutex_);
        asked.swap(questions_);
    }
    for (Question& question : asked) {
        asked_.emplace(++last_question_, std::move(question.answer));
        NodeWriter(link_->out()).question(NodeKind::question, last_question_, std::as_bytes(std::span(question.bytes)));
    }
}

void RelayThread::look_after(Time now) {
    if (!link_) return;
    if (!relay_.has_owner() && now - linked_at_ > hello_max) return lose("it does not answer the hello", now);
    if (relay_.has_owner() && now - heard_ > silence_max) return lose("it has fallen silent", now);
    if (relay_.has_owner() && now - beaten_ >= beat_every) {
        NodeWriter(link_->out()).beat();
        beaten_ = now;
    }
    if (!link_->write()) lose(link_->problem(), now);
}

void RelayThread::lose(const std::string& why, Time now) {
    is_linked_.store(false, std::memory_order_release);
    const bool is_news = target_ && why != last_problem_ && !stop_asked_.load(std::memory_order_relaxed);
    if (is_news)
        log_.warning("No link to {} ({}), which owns cell {}: {}", target_->node, target_->address, options_.cell, why);
    last_problem_ = why;
    link_.reset();
    if (relay_.has_owner()) relay_.owner_lost();
    next_try_ = now + retry_after;
    for (auto& [number, answer] : std::exchange(asked_, {})) answer(std::nullopt);
}

}  // namespace muster
