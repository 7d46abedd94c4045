// Answers that are not known yet, and where each of them goes.
//
// An answer leaves as soon as it is known. One rule orders them: answers on one link that name the same lobby leave in
// the order in which they were asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "core/link_table.h"
#include "protocol/error_texts.h"
#include "protocol/matchmaker_messages.h"

namespace muster {

// Who asked: a peer on its link, or somebody inside this process by the number of the question.
struct ReplyTo {
    ConnectionId link;
    LobbyId lobby;
    std::uint64_t number = 0;  // on a link, which of its questions; else the asker's own number

    bool over_link() const { return link.generation != 0; }
    static ReplyTo question(std::uint64_t number) { return {{}, {}, number}; }
};

// What came of a request for a server.
using AllocationVerdict = Result<AllocationResponse::Accepted, Refusal>;

struct AnsweredQuestion {
    std::uint64_t number = 0;
    AllocationVerdict verdict;
};

// Game thread only. The links outlive it.
class Replies {
public:
    explicit Replies(LinkTable& links) : links_(links) {}

    // Notes that an answer about the lobby is to come on the link. Later answers about that lobby wait for it there.
    ReplyTo expect(ConnectionId link, LobbyId lobby);

    // The answer is known. It may come after its link is gone, or after another answer: then nothing happens.
    template <class M>
    void answer(const ReplyTo& to, const M& message) {
        put(to, message, false);
    }
    // The same for a request for a server, which may have been asked inside this process, too. `first`: no success of
    // the match was answered before, so news of the lobby wait for this one.
    void answer(const ReplyTo& to, LobbyId lobby, const AllocationVerdict& verdict, bool first = false);

    // The same for a list of players: taken, or why not. A question gets a verdict that names the lobby alone.
    void answer_list(const ReplyTo& to, LobbyId lobby, const Result<void, Refusal>& verdict);

    // The same for any other question that was asked inside this process.
    void answer_question(std::uint64_t number, const Result<void, Refusal>& verdict) {
        answer_list(ReplyTo::question(number), LobbyId(0), verdict);
    }

    // An answer about the lobby that is known in the moment it is asked for.
    template <class M>
    void answer_at_once(ConnectionId link, LobbyId lobby, const M& message) {
        if (!waiting_.contains({link, lobby})) return links_.send(link, message);
        answer(expect(link, lobby), message);
    }

    // News of the lobby: they overtake neither the first success that is known and waits for an answer before it, nor
    // earlier news.
    template <class M>
    void tell(ConnectionId link, LobbyId lobby, const M& message) {
        if (!holds_back(link, lobby)) return links_.send(link, message);
        put(expect(link, lobby), message, true);
    }

    // The link is gone, and nobody waits on it any more.
    void closed(ConnectionId link);

    // Whether an allocation's success was answered since the last call: a promise, which may not leave before its time
    // (N-4).
    bool take_promised() { return std::exchange(promised_, false); }

    // The questions that were answered since the last call.
    std::vector<AnsweredQuestion> take_answered() { return std::exchange(answered_, {}); }

    // Answers that wait, for their own outcome or for one before them.
    std::size_t size() const;

private:
    struct Place {
        std::uint64_t number = 0;
        bool known = false;
        bool before_news = false;  // news of the lobby wait for it
        std::vector<std::byte> frame{};
    };
    using Order = std::pair<ConnectionId, LobbyId>;

    template <class M>
    void put(const ReplyTo& to, const M& message, bool before_news) {
        Place* place = find(to);
        if (!place || place->known) return;
        place->known = true;
        place->before_news = before_news;
        encode(message, links_.order(M::port), place->frame);
        leave({to.link, to.lobby});
    }
    Place* find(const ReplyTo& to);
    bool holds_back(ConnectionId link, LobbyId lobby) const;
    void leave(const Order& order);

    LinkTable& links_;
    std::map<Order, std::deque<Place>> waiting_;  // only orders in which something waits
    std::vector<AnsweredQuestion> answered_;
    std::uint64_t next_number_ = 1;
    bool promised_ = false;
};

}  // namespace muster
