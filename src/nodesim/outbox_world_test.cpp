// Two cells, one with matches and one with players, and the rows between them (N-8): owners of both die at any moment,
// rows are read late, or read and not taken. Core is the real one; the rows are a model of the table.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "base/random.h"
#include "core/player_fixture.h"
#include "store/latest_state.h"

namespace muster::nodesim {
namespace {

using namespace muster::testing;
using Kind = PlayerNotice::Kind;

// Ways to break it; each is objected to.
enum class OutboxSabotage : std::uint8_t {
    none,
    forgets_what_it_took,  // reads all rows each time
    drops_what_is_ready,   // though the next owner of the players needs it
    writes_later,          // not in the match's own batch: an owner that dies has not written it
    hides_what_is_ready,   // a later word replaces it before the players' cell has read it
};

constexpr int players_max = 4;
constexpr int steps_max = 120;

// A cell over its owners: what they made durable, and the one that is there.
struct SimCell {
    explicit SimCell(bool others) : others_have_players(others) { take_over(); }

    void take_over() {
        const RecoveredState recovered = kept.recovered(UnixMs{0});
        world = std::make_unique<CoreWorld>(
            recovered, [this](CoreConfig& config) { config.others_have_players = others_have_players; });
        read = 0;
        ++owners;
    }
    // What became durable since the last call, told to `visit`.
    template <class Visit>
    void take_durable(Visit visit) {
        for (; read < world->store.durable.size(); ++read) {
            kept.apply(world->store.durable[read], world->clock.wall());
            visit(world->store.durable[read]);
        }
    }

    const bool others_have_players;
    LatestState kept;
    std::unique_ptr<CoreWorld> world;
    std::size_t read = 0;
    int owners = 0;
};

// What one session of a player was told of a lobby.
struct ToldOfLobby {
    int starts = 0;
    int aborts = 0;
};

struct SimSession {
    int login = 0;                       // tells it from the player's other sessions
    std::optional<TestPlayer> player{};  // none: it is not here
    std::map<std::int32_t, ToldOfLobby> told{};
};

struct SimLobby {
    TestMatch match;
    std::set<std::int32_t> accounts;
    MatchState state = MatchState::allocated;
    // The logins of those who were here when the match became ready, and when it fell through.
    std::set<int> to_be_told_to_come{};
    std::set<int> to_be_told_it_fell_through{};
};

class OutboxWorld {
public:
    OutboxWorld(std::uint64_t seed, OutboxSabotage sabotage)
        : random_(seed), sabotage_(sabotage), sessions_(players_max) {
        for (int i = 0; i < players_max; ++i) log_in_player(i);
        drop_rows();  // accounts are there to stay
        join_matches();
    }

    // What is wrong; empty: nothing.
    std::string play() {
        for (int step = 0; step < steps_max && wrong_.empty(); ++step) {
            act();
            write_rows();
            if (random_.chance(0.5)) drop_rows();
            look_at_players();
        }
        // Calm: what was written is read and told.
        for (int i = 0; i < 3; ++i) {
            read_rows(false);
            drop_rows();
            look_at_players();
        }
        judge_the_end();
        return wrong_;
    }
    int takeovers() const { return matches_.owners + people_.owners - 2; }
    int told() const { return told_; }

private:
    void act() {
        switch (random_.below(12)) {
            case 0:
                return log_in_player(static_cast<int>(random_.below(players_max)));
            case 1:
                return lose_player(static_cast<int>(random_.below(players_max)));
            case 2:
                return lose_matches_owner();
            case 3:
                return lose_people_owner(false);
            case 4:
                return lose_people_owner(true);
            case 5:
            case 6:
            case 7:
                return read_rows(random_.chance(0.2));
            default:
                return move_a_match();
        }
    }

    void log_in_player(int number) {
        lose_player(number);
        begin_session(number);
    }
    void begin_session(int number) {
        sessions_[static_cast<std::size_t>(number)] = {++last_login_,
                                                       log_in(*people_.world, fmt::format("player-{}", number))};
    }
    // Without a grace that would keep the session: another login would be the same one.
    void lose_player(int number) {
        SimSession& session = sessions_[static_cast<std::size_t>(number)];
        look_at_players();
        if (session.player) {
            people_.world->in_pass([&](const Pass& pass) { people_.world->core->kick(pass, session.player->id, ""); });
            people_.world->disconnect(session.player->link);
        }
        session = {};
    }

    void join_matches() {
        server_ = join(*matches_.world, 5000, CoreWorld::eu, 1'000);
        matchmaker_ = join_matchmaker(*matches_.world, "chat");
    }

    // A lobby begins, becomes ready, starts or falls through.
    void move_a_match() {
        CoreWorld& world = *matches_.world;
        world.forget_frames(server_.link);
        world.forget_frames(matchmaker_);
        if (lobbies_.empty() || random_.chance(0.4)) return begin_match();
        auto chosen = lobbies_.begin();
        std::advance(chosen, random_.below(lobbies_.size()));
        SimLobby& lobby = chosen->second;
        const LobbyId id = lobby.match.lobby;
        if (random_.chance(0.3)) {
            bool is_there = false;
            world.in_pass([&](const Pass& pass) { is_there = world.core->abort_match(pass, id, "aborted"); });
            if (!is_there) return;
            lobby.state = MatchState::aborted;
            lobby.to_be_told_it_fell_through = logins_here(lobby);
        } else if (lobby.state == MatchState::allocated) {
            world.send(server_.link, ReadyForMatch{server_.id, id, MatchTokenText(lobby.match.token)});
            lobby.state = MatchState::ready;
            lobby.to_be_told_to_come = logins_here(lobby);
        } else if (lobby.state == MatchState::ready) {
            world.send(server_.link, MatchStartedReport{server_.id, id});
            lobby.state = MatchState::started;
        }
    }
    std::set<int> logins_here(const SimLobby& lobby) const {
        std::set<int> logins;
        for (const std::int32_t account : lobby.accounts) {
            const SimSession& session = sessions_[static_cast<std::size_t>(account - 1)];
            if (session.player) logins.insert(session.login);
        }
        return logins;
    }
    void begin_match() {
        const std::int32_t number = ++last_lobby_;
        std::vector<AccountId> accounts;
        SimLobby& lobby = lobbies_[number];
        for (std::int32_t account = 1; account <= players_max; ++account) {
            if (!random_.chance(0.5)) continue;
            lobby.accounts.insert(account);
            accounts.emplace_back(account);
        }
        if (!accounts.empty()) matches_.world->send(matchmaker_, MatchPlayers{LobbyId(number), {accounts}});
        matches_.world->forget_frames(matchmaker_);
        lobby.match = allocate(*matches_.world, matchmaker_, server_, number);
    }

    void lose_matches_owner() {
        write_rows();
        matches_.take_over();
        join_matches();
        write_rows();
    }

    // `in_mid_batch`: it has read rows and told its players, and dies before it could write so.
    void lose_people_owner(bool in_mid_batch) {
        if (in_mid_batch) hear();
        people_.take_over();
        taken_ = 0;
        for (int i = 0; i < players_max; ++i) {
            SimSession& session = sessions_[static_cast<std::size_t>(i)];
            const bool was_here = session.player.has_value();
            session = {};
            if (was_here) begin_session(i);
        }
    }

    // As the batches of the cell with the matches write them.
    void write_rows() {
        matches_.take_durable([this](const Record& record) {
            const auto* notice = std::get_if<PlayerNotice>(&record);
            if (!notice) return;
            if (sabotage_ == OutboxSabotage::writes_later && random_.chance(0.2)) return;
            if (sabotage_ == OutboxSabotage::hides_what_is_ready) drop_ready_rows(notice->lobby, last_row_ + 1);
            rows_.push_back({"matches", ++last_row_, *notice});
        });
    }

    // As those of the other cell drop them.
    void drop_rows() {
        people_.take_durable([this](const Record& record) {
            const auto* told = std::get_if<NoticeTold>(&record);
            if (!told) return;
            const auto of = std::ranges::find(rows_, told->number, &CellNews::Notice::number);
            if (of == rows_.end()) return;
            const PlayerNotice notice = of->notice;
            if (notice.kind != Kind::ready) rows_.erase(of);
            drop_ready_rows(notice.lobby, told->number);
        });
    }
    void drop_ready_rows(LobbyId lobby, std::int64_t before) {
        std::erase_if(rows_, [&](const CellNews::Notice& row) {
            return row.notice.lobby == lobby && row.number < before && row.notice.kind == Kind::ready;
        });
    }

    // The rows that are new; the number of the last of them.
    std::int64_t hear() {
        CellNews news;
        std::int64_t last = taken_;
        for (const CellNews::Notice& row : rows_) {
            if (row.number <= taken_) continue;
            news.notices.push_back(row);
            last = row.number;
        }
        people_.world->in_pass([&](const Pass& pass) { people_.world->core->take_news(pass, news); });
        return last;
    }
    void read_rows(bool refused) {
        if (refused) return;
        const std::int64_t last = hear();
        if (sabotage_ != OutboxSabotage::forgets_what_it_took) taken_ = last;
        if (sabotage_ == OutboxSabotage::drops_what_is_ready)
            std::erase_if(rows_, [](const CellNews::Notice& row) { return row.notice.kind == Kind::ready; });
    }

    void look_at_players() {
        for (SimSession& session : sessions_) {
            if (!session.player) continue;
            auto& frames = people_.world->links.peers[session.player->link].frames;
            while (!frames.empty()) {
                const Code code = frames.front().code;
                if (code == PlayerMatchStart::code) {
                    note(session, people_.world->next<PlayerMatchStart>(session.player->link).lobby,
                         &ToldOfLobby::starts);
                } else if (code == PlayerMatchAborted::code) {
                    note(session, people_.world->next<PlayerMatchAborted>(session.player->link).lobby,
                         &ToldOfLobby::aborts);
                } else {
                    frames.pop_front();
                }
            }
        }
    }
    void note(SimSession& session, LobbyId lobby, int ToldOfLobby::* what) {
        ++told_;
        if (++(session.told[lobby.value].*what) > 1) object("a session is told twice of lobby", lobby.value);
    }

    void judge_the_end() {
        for (const auto& [number, lobby] : lobbies_) {
            for (const std::int32_t account : lobby.accounts) {
                SimSession& session = sessions_[static_cast<std::size_t>(account - 1)];
                if (!session.player) continue;
                const ToldOfLobby told = session.told[number];
                if (lobby.state == MatchState::ready && told.starts != 1)
                    object("a player is not told to come to lobby", number);
                if (lobby.to_be_told_to_come.contains(session.login) && told.starts != 1)
                    object("a player was here, and is never told to come to lobby", number);
                if (lobby.to_be_told_it_fell_through.contains(session.login) && told.aborts != 1)
                    object("a player was here, and is never told that it fell through: lobby", number);
                if (lobby.state == MatchState::aborted && told.starts == 1 && told.aborts != 1)
                    object("a player was told to come, and not that it fell through: lobby", number);
            }
        }
        for (const CellNews::Notice& row : rows_)
            if (row.notice.kind != Kind::ready || lobbies_.at(row.notice.lobby.value).state != MatchState::ready)
                object("a row is left of lobby", row.notice.lobby.value);
    }

    void object(const char* what, std::int32_t lobby) {
        if (wrong_.empty()) wrong_ = fmt::format("{} {}", what, lobby);
    }

    Random random_;
    const OutboxSabotage sabotage_;
    SimCell matches_{true};
    SimCell people_{false};
    std::vector<SimSession> sessions_;  // of each player, its present one
    std::map<std::int32_t, SimLobby> lobbies_;
    std::int32_t last_lobby_ = 0;
    int last_login_ = 0;
    TestServer server_;
    ConnectionId matchmaker_;
    std::vector<CellNews::Notice> rows_;
    std::int64_t last_row_ = 0;
    std::int64_t taken_ = 0;
    std::string wrong_;
    int told_ = 0;
};

}  // namespace

TEST_CASE("N-8, fault 80: what players hear of another cell's match they hear once and not never, whoever dies") {
    std::uint64_t first = 1;
    std::uint64_t last = std::getenv("MUSTER_TEST_LONG") ? 3'000 : 100;
    if (const char* one = std::getenv("MUSTER_TEST_SEED")) first = last = std::strtoull(one, nullptr, 10);
    int takeovers = 0;
    int told = 0;
    for (std::uint64_t seed = first; seed <= last; ++seed) {
        OutboxWorld world(seed, OutboxSabotage::none);
        const std::string wrong = world.play();
        CHECK_MESSAGE(wrong.empty(), fmt::format("seed {}: {}", seed, wrong));
        if (!wrong.empty()) break;
        takeovers += world.takeovers();
        told += world.told();
    }
    MESSAGE(fmt::format("{} takeovers, {} notices told", takeovers, told));
    CHECK(takeovers > 0);
    CHECK(told > 0);
}

TEST_CASE("N-8: rows that are read again, dropped or replaced too soon or written too late are objected to") {
    for (const auto sabotage : {OutboxSabotage::forgets_what_it_took, OutboxSabotage::drops_what_is_ready,
                                OutboxSabotage::writes_later, OutboxSabotage::hides_what_is_ready}) {
        CAPTURE(static_cast<int>(sabotage));
        bool is_found = false;
        for (std::uint64_t seed = 1; seed <= 100 && !is_found; ++seed)
            is_found = !OutboxWorld(seed, sabotage).play().empty();
        CHECK(is_found);
    }
}

}  // namespace muster::nodesim
