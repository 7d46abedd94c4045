// Answers that are not known yet, and where each of them goes.
//
// An answer leaves as soon as it is known. One rule orders them: answers on one link that name the same lobby leave in
// the order in which they were asked for.
//
// However long answers wait, and whatever a peer asks meanwhile, memory stays bounded (fault 5). Who asks the same
// again joins the one that waits, and equal answers in a row are kept once, with a count. What cannot be joined waits
// behind an answer about the same lobby, up to a limit for each link and for all.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

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
    // So many answers of one link may wait behind others about their lobbies, and of all links. A matchmaker may have a
    // list, a request and a cancel of each of its lobbies waiting; a game server the players of its matches.
    static constexpr std::size_t behind_of_server_max = 16'384;
    static constexpr std::size_t behind_of_matchmaker_max = 32'768;
    static constexpr std::size_t behind_max = 262'144;

    explicit Replies(LinkTable& links) : links_(links) {}

    // Notes that an answer about the lobby is to come on the link. Later answers about that lobby wait for it there.
    // `kind` is what join() goes by.
    ReplyTo expect(ConnectionId link, LobbyId lobby, Code kind = 0);
    // The same is asked again. If an answer of this kind is the last that waits about the lobby on the link, it leaves
    // once more when it is known. Else false, and nothing changed.
    [[nodiscard]] bool join(ConnectionId link, LobbyId lobby, Code kind);

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
        if (!waits(link, lobby)) return links_.send(link, message);
        answer(expect(link, lobby), message);
    }

    // News of the lobby: they overtake neither the first success that is known and waits for an answer before it, nor
    // earlier news.
    template <class M>
    void tell(ConnectionId link, LobbyId lobby, const M& message) {
        if (!holds_back(link, lobby)) return links_.send_soon(link, message);
        put(expect(link, lobby), message, true);
    }

    // The link is gone, and nobody waits on it any more.
    void closed(ConnectionId link);

    // Whether an allocation's success was answered since the last call: a promise, which may not leave before its time
    // (N-4).
    bool take_promised() { return std::exchange(promised_, false); }

    // The questions that were answered since the last call.
    std::vector<AnsweredQuestion> take_answered() { return std::exchange(answered_, {}); }

    // Links with more answers behind others than may wait: the caller closes them.
    bool has_flooding() const { return !flooding_.empty(); }
    std::vector<ConnectionId> take_flooding() { return std::exchange(flooding_, {}); }

    // Answers that wait, for their own outcome or for one before them; joined ones count as one.
    std::size_t size() const { return waiting_.size(); }
    std::size_t size(ConnectionId link) const;

private:
    // The answers of a link about a lobby are neighbours, in the order in which they were asked for.
    struct Key {
        ConnectionId link;
        LobbyId lobby;
        std::uint64_t number = 0;
        friend auto operator<=>(const Key&, const Key&) = default;
        bool is_beside(const Key& other) const { return link == other.link && lobby == other.lobby; }
    };
    struct Place {
        Code kind = 0;
        bool known = false;
        bool before_news = false;  // news of the lobby wait for it
        std::uint32_t times = 1;   // that it leaves
        std::vector<std::byte> frame{};
    };
    using Places = std::map<Key, Place>;
    struct OfLink {
        std::size_t waiting = 0;
        std::size_t behind = 0;  // of them, those that are not the first about their lobby
    };
    struct LinkHash {
        std::size_t operator()(ConnectionId id) const noexcept {
            return std::hash<std::uint64_t>{}(std::uint64_t{id.generation} << 32 | id.slot);
        }
    };

    // Of the answers about one lobby the first is never known: it leaves at once, with those behind it that are known.
    template <class M>
    void put(const ReplyTo& to, const M& message, bool before_news) {
        const auto place = waiting_.find({to.link, to.lobby, to.number});
        if (place == waiting_.end() || place->second.known) return;
        if (is_behind(place->first, place)) {
            place->second.known = true;
            place->second.before_news = before_news;
            encode(message, links_.order(M::port), place->second.frame);
            return merge(place);
        }
        for (std::uint32_t i = 0; i < place->second.times; ++i) links_.send(to.link, message);
        leave(to.link, to.lobby, erase(place));
    }
    Places::const_iterator first(ConnectionId link, LobbyId lobby) const { return waiting_.lower_bound({link, lobby}); }
    bool waits(ConnectionId link, LobbyId lobby) const;
    bool holds_back(ConnectionId link, LobbyId lobby) const;
    // Whether an answer about the same lobby is right before that place.
    bool is_behind(const Key& key, Places::const_iterator place) const {
        return place != waiting_.begin() && std::prev(place)->first.is_beside(key);
    }
    void merge(Places::iterator place);
    void leave(ConnectionId link, LobbyId lobby, Places::iterator first);
    Places::iterator erase(Places::iterator place);
    void look_for_flood(ConnectionId link, const OfLink& of);

    LinkTable& links_;
    Places waiting_;
    // Links on which something waits, or has waited since they were opened.
    boost::unordered_flat_map<ConnectionId, OfLink, LinkHash> of_link_;
    std::size_t behind_ = 0;  // of all
    std::vector<ConnectionId> flooding_;
    std::vector<AnsweredQuestion> answered_;
    std::uint64_t next_number_ = 1;
    bool promised_ = false;
};

}  // namespace muster
