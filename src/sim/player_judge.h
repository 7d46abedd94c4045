// Judges players' sessions: one for a name and for an account, taken back with its newest token only, and never ended
// without a word.
// P-1, P-5, P-6, P-7; H-4's "once"; what is told of an account is kept (invariant 3).
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/events.h"
#include "protocol/messages.h"
#include "sim/id_map.h"
#include "sim/judge.h"
#include "sim/rules.h"

namespace muster::sim {

struct KnownSession {
    std::string name;
    AccountId player;
    std::uint64_t entity = 0;
    LinkNumber link = 0;  // 0 in its grace
    Time lost_at{};       // running time; in its grace
    std::string token;    // the newest that its client was told; empty until it is
    bool entity_deleted = false;
};

class PlayerJudge final : public Judge {
public:
    PlayerJudge(Objections& objections, const Rules& rules) : objections_(objections), rules_(rules) {}

    using Judge::happened;
    using Judge::heard;

    void heard(const Scene& scene, LinkNumber link, const PlayerLogin& login);
    void heard(const Scene& scene, LinkNumber link, const PlayerLogout& logout);
    // Whatever is said to a player: nothing follows the last word, and the time follows a login.
    template <class M>
    void said(const Scene& scene, LinkNumber link, const M& message) {
        if constexpr (M::port == Port::players) {
            Place* place = place_of(link);
            if (!place) return object(scene, "P-5", "something is said to a link that is gone");
            if (place->last_word) return object(scene, "P-5", "something is said after the last word");
            if (place->owes_time && M::code != TimeUpdate::code)
                return object(scene, "P-1", "the world's time does not follow a login");
            place->owes_time = false;
            judge(scene, link, *place, message);
        }
    }
    void happened(const Scene& scene, const event::PlayerLogin& event);
    void happened(const Scene& scene, const event::PlayerResumed& event);
    void happened(const Scene& scene, const event::EntityDeleted& event);
    void happened(const Scene& scene, const event::PlayerClosed& event);
    void opened(const Scene& scene, LinkNumber link, Port port);
    void closed(const Scene& scene, LinkNumber link);
    void close_asked(const Scene& scene, LinkNumber link);
    void kicked(const Scene& scene, AccountId player);
    void shut_down(const Scene& scene);
    void durable(Time now, const RecordBatch& batch);
    void run_began(const Scene& scene, const Core& core);
    void pass_ended(const Scene& scene, const Core& core);

    // The session that the link speaks for, or the account's; null when there is none.
    const KnownSession* on(LinkNumber link) const;
    const KnownSession* of(AccountId player) const;
    // Its login was answered.
    bool welcomed(LinkNumber link) const;

    std::uint64_t logins() const { return logins_; }
    std::uint64_t resumes() const { return resumes_; }
    // Sessions that ended, by the reason; all malformed messages as one.
    const std::map<std::string, std::uint64_t>& closes() const { return closes_; }

private:
    // A player's link, from its opening on.
    struct Place {
        std::optional<PlayerLogin> login;  // the first that was heard
        bool expects_resume = false;       // its token was the newest then
        // Its place among the logins under names that had no id then: the session begins when that is kept. 0: it had
        // one.
        std::uint64_t waits = 0;
        bool answered = false;
        bool owes_time = false;  // the world's time must be the next word
        bool logged_out = false;
        std::optional<std::string> last_word;
        std::string owed;  // the reason that must be its last word, in this pass
        bool closing = false;
    };

    // Sessions that nothing was said of are compared with core's this often.
    static constexpr Duration compare_every = std::chrono::seconds(1);

    template <class M>
    void judge(const Scene&, LinkNumber, Place&, const M&) {}
    void judge(const Scene& scene, LinkNumber link, Place& place, const PlayerLoginResponse& answer);
    void judge(const Scene& scene, LinkNumber link, Place& place, const ServerClose& last);
    void judge_welcome(const Scene& scene, LinkNumber link, Place& place,
                       const PlayerLoginResponse::Accepted& accepted);
    void judge_reason(const Scene& scene, LinkNumber link, const Place& place, std::string_view reason);
    bool named_elsewhere(const Scene& scene, LinkNumber link, const std::string& name) const;
    LinkNumber login_of(const Scene& scene, const std::string& name);
    bool waits(LinkNumber link, const Place& place, const std::string& name) const;
    Place* place_of(LinkNumber link);
    void judge_place(const Scene& scene, LinkNumber link);
    void judge_graces(const Scene& scene);
    KnownSession* mutable_on(LinkNumber link);
    KnownSession* mutable_of(AccountId player);
    void compare(const Scene& scene, const Core& core);
    void object(const Scene& scene, std::string rule, std::string what);

    Objections& objections_;
    const Rules rules_;
    IdMap<LinkNumber, Place> places_;
    std::map<std::string, KnownSession> sessions_;  // by name
    IdMap<LinkNumber, KnownSession*> by_link_;      // those that have one
    IdMap<AccountId, KnownSession*> by_player_;
    std::vector<LinkNumber> touched_;              // whose place or session changed since the last pass ended
    Time grace_over_from_ = Time::max();           // nobody's grace is over before
    std::set<std::uint64_t> entities_;             // of this run
    std::unordered_set<std::string> tokens_;       // ever
    std::map<std::string, AccountId> kept_;        // on the disk
    std::map<std::string, AccountId> told_;        // ever
    std::map<AccountId, std::string> told_names_;  // the same
    std::set<AccountId> kicked_;                   // in this pass
    bool shutting_down_ = false;
    bool changed_ = false;  // a session began, ended, or changed its link, and was not compared since
    Time compared_at_{};
    std::uint64_t waits_ = 0;  // logins that waited for their account, ever
    std::uint64_t logins_ = 0;
    std::uint64_t resumes_ = 0;
    std::map<std::string, std::uint64_t> closes_;
};

}  // namespace muster::sim
