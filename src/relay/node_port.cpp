#include "relay/node_port.h"

#include <csignal>
#include <string_view>

#include <fmt/format.h>
#include <pthread.h>

#include "base/check.h"
#include "base/thread_name.h"

namespace muster {
namespace {

using namespace std::chrono_literals;

constexpr Duration nodes_wait_max = 250ms;
constexpr ConnectionId listener_name{0, 0};

void block_all_signals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

NodePort::NodePort(const Clock& clock, Log& log, Listener& listener, NodePortOptions options)
    : clock_(clock),
      log_(log),
      listener_(listener),
      options_(std::move(options)),
      answers_(std::make_shared<Answers>()) {
    answers_->poller = &poller_;
    if (!poller_.add(listener_.socket(), listener_name)) throw std::bad_alloc();
    thread_ = std::thread([this] { run(); });
}

NodePort::~NodePort() {
    stop_asked_.store(true, std::memory_order_release);
    poller_.wake();
    thread_.join();
    const std::lock_guard lock(answers_->mutex);
    answers_->is_open = false;
}

CellDoor& NodePort::open(CellDoorOptions options, CellDoor::Parts parts) {
    const std::string cell = options.cell;
    const std::lock_guard lock(turn_mutex_);
    const auto [door, is_new] =
        doors_.try_emplace(cell, std::make_unique<CellDoor>(poller_, std::move(options), std::move(parts)));
    MUSTER_CHECK(is_new, "a cell has one door");
    return *door->second;
}

std::uint32_t NodePort::close(CellDoor& door) {
    const std::lock_guard lock(turn_mutex_);
    obey_loops();
    std::erase_if(links_, [&](const auto& entry) {
        NodeLink& link = *entry.second;
        // The kernel still sends what was written.
        if (link.door == &door) static_cast<void>(link.socket.write());
        return link.door == &door;
    });
    const std::uint32_t generation = door.generation();
    doors_.erase(std::string(door.options().cell));
    return generation;
}

void NodePort::run() {
    block_all_signals();
    name_this_thread("nodes");
    while (!stop_asked_.load(std::memory_order_acquire)) {
        try {
            turn();
        } catch (const std::bad_alloc&) {
            // Whoever needed it reconnects.
            const Time now = clock_.now();
            const std::lock_guard lock(turn_mutex_);
            for (auto& [number, link] : links_) lose(*link, "there is no memory for it", now);
            tell_loops();
        }
    }
    // The kernel still sends what was written.
    for (auto& [number, link] : links_) static_cast<void>(link->socket.write());
}

void NodePort::turn() {
    bool is_unread = false;
    {
        const std::lock_guard lock(turn_mutex_);
        for (const auto& [number, link] : links_) is_unread |= link->socket.is_unread() && may_read(*link);
    }
    const auto events = poller_.wait(is_unread ? Duration{0} : Duration{nodes_wait_max});
    const Time now = clock_.now();
    const std::lock_guard lock(turn_mutex_);
    for (const epoll_event& event : events) {
        const ConnectionId name = Poller::name_of(event);
        if (name == listener_name) may_accept_ = true;
        if (NodeLink* link = find(NodeLinkNumber(name.slot))) link->socket.reported(event.events);
    }
    accept_all(now);
    obey_loops();
    send_answers();
    for (auto& [number, link] : links_)
        if (!link->is_over && link->socket.is_unread() && may_read(*link)) read(*link, now);
    for (auto& [number, link] : links_) look_after(*link, now);
    std::erase_if(links_, [](const auto& entry) { return entry.second->is_over; });
    tell_loops();
}

void NodePort::accept_all(Time now) {
    while (may_accept_) {
        AcceptedSocket newcomer;
        const auto outcome = listener_.accept(newcomer);
        if (outcome == Listener::Outcome::gone) continue;
        // One for whom there is no room now waits for another turn, and is not reported again.
        if (outcome == Listener::Outcome::exhausted) return;
        if (outcome == Listener::Outcome::none) {
            may_accept_ = false;
            return;
        }
        if (links_.size() >= links_max && !make_room(now)) {
            log_.warning("Node port: {} is closed, since {} nodes have links", newcomer.from.to_string(),
                         links_.size());
            continue;
        }
        const NodeLinkNumber number(++last_number_);
        auto tls = options_.tls ? std::make_unique<TlsLink>(options_.tls) : nullptr;
        auto link = std::make_unique<NodeLink>(number, NodeSocket(std::move(newcomer.socket), std::move(tls), false),
                                               newcomer.from, now);
        if (poller_.add(link->socket.number(), {number.value, 1})) links_.emplace(number, std::move(link));
    }
}

// Strangers keep no node out: the one that has said nothing for longest goes.
bool NodePort::make_room(Time now) {
    for (auto& [number, link] : links_) {
        if (!link->node.empty()) continue;
        lose(*link, "others want its place, and it said no hello", now);
        links_.erase(number);
        return true;
    }
    return false;
}

void NodePort::obey_loops() {
    for (auto& [cell, door] : doors_)
        door->obey_loop([this](NodeLinkNumber number) -> std::vector<std::byte>* {
            NodeLink* link = find(number);
            return link && !link->is_over ? &link->socket.out() : nullptr;
        });
}

void NodePort::send_answers() {
    decltype(Answers::waiting) answered;
    {
        const std::lock_guard lock(answers_->mutex);
        answered.swap(answers_->waiting);
    }
    for (const auto& [whose, answer] : answered) {
        NodeLink* link = find(whose.first);
        if (link)
            NodeWriter(link->socket.out()).question(NodeKind::answer, whose.second, std::as_bytes(std::span(answer)));
    }
}

void NodePort::read(NodeLink& link, Time now) {
    const bool is_good = link.socket.read();
    for (;;) {
        const std::size_t length_max = link.node.empty() ? node_hello_max : node_message_max;
        const NodeSplit message = next_node_message(link.socket.received(), length_max);
        if (message.outcome == NodeSplit::Outcome::need_more) break;
        if (message.outcome == NodeSplit::Outcome::error || !handle(link, message, now))
            return lose(link, link.node.empty() ? "it is no node of this cluster" : "unexpected message", now);
        if (link.is_over) return;
        link.heard = now;
        link.socket.consume(message.size);
    }
    if (!is_good) lose(link, link.socket.problem(), now);
}

bool NodePort::handle(NodeLink& link, const NodeSplit& message, Time now) {
    if (link.node.empty()) return message.kind == NodeKind::hello && welcome(link, message.body);
    if (message.kind == NodeKind::beat) {
        link.has_told = true;
        return message.body.empty();
    }
    if (message.kind == NodeKind::question) {
        const auto question = read_node_question(message.body);
        if (question) ask(link, *question);
        return question.has_value();
    }
    return link.door->heard(link.number, message.kind, message.body, now);
}

bool NodePort::welcome(NodeLink& link, std::span<const std::byte> body) {
    const auto hello = read_node_hello(body);
    if (!hello || hello->node.empty()) return false;
    const auto door = doors_.find(hello->cell);
    std::string problem;
    if (options_.is_token && !options_.is_token(hello->token))
        problem = "its node token is wrong (auth.node_token)";
    else if (hello->version != NodeHello::present_version)
        problem = fmt::format("it speaks version {} of the nodes' protocol, and this node {}", hello->version,
                              NodeHello::present_version);
    else if (door == doors_.end())
        problem = fmt::format("it comes for cell {}, which this node does not own", hello->cell);
    else if (hello->term != door->second->options().term)
        problem = fmt::format("it comes for cell {} in term {}, and this node owns it in term {}", hello->cell,
                              hello->term, door->second->options().term);
    if (!problem.empty()) {
        log_.warning("Node port: refused {} ({}): {}", hello->node, link.from.to_string(), problem);
        NodeWriter(link.socket.out()).refused(problem);
        static_cast<void>(link.socket.write());
        link.is_over = true;
        return true;
    }
    // One link for each node and cell: the older one is what a broken network has left.
    for (auto& [number, other] : links_)
        if (other->node == hello->node && other->door == door->second.get())
            lose(*other, "the node has made another link", link.opened);
    link.node = hello->node;
    link.door = door->second.get();
    log_.info("Node {} ({}) relays its peers of cell {} to this one", link.node, link.from.to_string(), hello->cell);
    NodeWriter(link.socket.out()).welcome();
    return true;
}

void NodePort::ask(NodeLink& link, const NodeQuestion& question) {
    link.door->ask(std::string(node_text(question.bytes)),
                   [answers = answers_, number = link.number, asked = question.number](std::string answer) {
                       const std::lock_guard lock(answers->mutex);
                       if (!answers->is_open) return;
                       answers->waiting.emplace_back(std::pair(number, asked), std::move(answer));
                       answers->poller->wake();
                   });
}

void NodePort::look_after(NodeLink& link, Time now) {
    if (link.is_over) return;
    if (link.node.empty() && now - link.opened > hello_max) return lose(link, "it said no hello", now);
    if (!link.node.empty() && now - link.heard > silence_max && may_read(link))
        return lose(link, "it has fallen silent", now);
    if (!link.node.empty() && now - link.beaten >= beat_every) {
        NodeWriter(link.socket.out()).beat();
        link.beaten = now;
    }
    if (!link.socket.write()) return lose(link, link.socket.problem(), now);
    if (link.socket.unsent() > unsent_max) lose(link, "it leaves too much unread", now);
}

void NodePort::lose(NodeLink& link, const std::string& why, Time now) {
    if (link.is_over) return;
    link.is_over = true;
    if (link.node.empty())
        log_.warning("Node port: closed {}: {}", link.from.to_string(), why);
    else
        log_.warning("The link of node {} ({}) is closed: {}", link.node, link.from.to_string(), why);
    if (link.door) link.door->lost(link.number, now);
}

void NodePort::tell_loops() {
    for (auto& [cell, door] : doors_) {
        std::size_t told = 0;
        for (const auto& [number, link] : links_) told += link->has_told && link->door == door.get() ? 1 : 0;
        door->tell_loop(told);
    }
}

NodePort::NodeLink* NodePort::find(NodeLinkNumber number) {
    const auto found = links_.find(number);
    return found == links_.end() ? nullptr : found->second.get();
}

}  // namespace muster
