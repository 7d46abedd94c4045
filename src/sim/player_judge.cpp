#include "sim/player_judge.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <fmt/format.h>

namespace muster::sim {
namespace {

constexpr std::string_view malformed = "Malformed message: ";

bool is_malformed(std::string_view reason) {
    return reason.starts_with(malformed) || reason == "Not logged in" || reason == "Already logged in";
}

}  // namespace

void PlayerJudge::opened(const Scene&, LinkNumber link, Port port) {
    if (port == Port::players) places_[link] = {};
}

// Its session is kept for its grace.
void PlayerJudge::closed(const Scene& scene, LinkNumber link) {
    if (KnownSession* session = mutable_on(link)) {
        by_link_.erase(link);
        changed_ = true;
        session->link = 0;
        session->lost_at = scene.running;
        grace_over_from_ = std::min(grace_over_from_, scene.running + rules_.resume_grace + lateness_max);
    }
    places_.erase(link);
}

void PlayerJudge::close_asked(const Scene& scene, LinkNumber link) {
    Place* place = place_of(link);
    if (!place) return;
    if (!place->last_word && !place->logged_out) object(scene, "P-5", "a link is closed without a word");
    place->closing = true;
    touched_.push_back(link);
}

void PlayerJudge::heard(const Scene&, LinkNumber link, const PlayerLogin& login) {
    Place* place = place_of(link);
    if (!place || place->login || place->last_word) return;
    place->login = login;
    touched_.push_back(link);
    const auto session = sessions_.find(login.player_name.string());
    place->expects_resume = session != sessions_.end() && !session->second.token.empty() &&
                            login.resume_token.view() == session->second.token;
    if (!told_.contains(login.player_name.string())) place->waits = ++waits_;
}

void PlayerJudge::heard(const Scene&, LinkNumber link, const PlayerLogout&) {
    Place* place = place_of(link);
    const bool is_in = place && (on(link) || (place->waits != 0 && !place->answered));
    if (!is_in || place->last_word) return;
    place->logged_out = true;
    touched_.push_back(link);
}

void PlayerJudge::kicked(const Scene&, AccountId player) {
    kicked_.insert(player);
}

void PlayerJudge::shut_down(const Scene&) {
    shutting_down_ = true;
}

// The link whose login core was handling, or the first of those that waited for the name's account; 0 when there is
// none.
LinkNumber PlayerJudge::login_of(const Scene& scene, const std::string& name) {
    const Place* cause = scene.cause == PlayerLogin::code ? place_of(scene.cause_link) : nullptr;
    if (cause && cause->login && cause->login->player_name.view() == name && !on(scene.cause_link))
        return scene.cause_link;
    LinkNumber first = 0;
    for (const auto& [link, place] : places_) {
        if (waits(link, place, name) && (first == 0 || place.waits < place_of(first)->waits)) first = link;
    }
    return first;
}

bool PlayerJudge::waits(LinkNumber link, const Place& place, const std::string& name) const {
    return place.waits != 0 && !place.answered && !place.last_word && !place.closing && !on(link) &&
           place.login->player_name.view() == name;
}

void PlayerJudge::happened(const Scene& scene, const event::PlayerLogin& event) {
    ++logins_;
    const LinkNumber link = login_of(scene, event.player_name);
    const Place* place = place_of(link);
    if (!place) return object(scene, "P-1", "a session begins without a login under its name");
    if (place->expects_resume) return object(scene, "P-6", "the newest token does not take its session back");
    if (sessions_.contains(event.player_name)) return object(scene, "P-7", "a name has two sessions");
    if (of(event.player)) return object(scene, "P-7", "an account has two sessions");
    if (!entities_.insert(event.entity).second) return object(scene, "P-7", "a new session has an old entity");
    KnownSession& begun = sessions_[event.player_name];
    begun = {event.player_name, event.player, event.entity, link, {}, {}, false};
    by_link_[link] = &begun;
    by_player_[event.player] = &begun;
    touched_.push_back(link);
    changed_ = true;
}

void PlayerJudge::happened(const Scene& scene, const event::PlayerResumed& event) {
    ++resumes_;
    const LinkNumber link = login_of(scene, event.player_name);
    const Place* place = place_of(link);
    if (!place) return object(scene, "P-6", "a session is resumed without a login under its name");
    const auto found = sessions_.find(event.player_name);
    if (found == sessions_.end()) return object(scene, "P-6", "a session is resumed that is over");
    KnownSession& session = found->second;
    if (!place->expects_resume) return object(scene, "P-6", "a session is resumed without its newest token");
    if (session.player != event.player) return object(scene, "P-6", "a resumed session has another player id");
    if (const Place* old = place_of(session.link); old && !old->last_word)
        return object(scene, "P-5", "a link whose session went elsewhere is not told");
    by_link_.erase(session.link);
    touched_.push_back(session.link);
    session.link = link;
    by_link_[link] = &session;
    touched_.push_back(link);
    changed_ = true;
    session.token.clear();
}

void PlayerJudge::judge(const Scene& scene, LinkNumber link, Place& place, const PlayerLoginResponse& answer) {
    touched_.push_back(link);
    // A refusal may be of anything that comes before a login, or of a second one (W-6).
    if (const auto* refused = std::get_if<Refused>(&answer.answer)) {
        place.last_word = refused->error.string();
        return;
    }
    if (!place.login) return object(scene, "P-1", "a login is answered that nobody sent");
    if (std::exchange(place.answered, true)) return object(scene, "P-1", "a login is answered twice");
    judge_welcome(scene, link, place, std::get<PlayerLoginResponse::Accepted>(answer.answer));
}

void PlayerJudge::judge_welcome(const Scene& scene, LinkNumber link, Place& place,
                                const PlayerLoginResponse::Accepted& accepted) {
    KnownSession* session = mutable_on(link);
    if (!session) return object(scene, "P-1", "a login is accepted without a session");
    if (session->player != accepted.player) return object(scene, "P-1", "a login is answered with another's id");
    const auto kept = kept_.find(session->name);
    if (kept == kept_.end() || kept->second != accepted.player)
        return object(scene, "invariant 3", "an account id is told that is not on the disk");
    if (told_.try_emplace(session->name, accepted.player).first->second != accepted.player)
        return object(scene, "P-1", "a name's id has changed");
    if (told_names_.try_emplace(accepted.player, session->name).first->second != session->name)
        return object(scene, "P-1", "two names have one id");
    if (accepted.resume_token.view().empty() || !tokens_.insert(accepted.resume_token.string()).second)
        return object(scene, "P-6", "a resume token is given twice");
    session->token = accepted.resume_token.string();
    place.owes_time = true;
}

void PlayerJudge::judge(const Scene& scene, LinkNumber link, Place& place, const ServerClose& last) {
    touched_.push_back(link);
    place.last_word = last.reason.string();
    if (!place.owed.empty() && place.owed != *place.last_word)
        return object(scene, "P-5", fmt::format("\"{}\" is said for \"{}\"", *place.last_word, place.owed));
    if (place.owed.empty()) judge_reason(scene, link, place, *place.last_word);
    place.owed.clear();
}

// Reasons of silence are judged by the judge of silence.
void PlayerJudge::judge_reason(const Scene& scene, LinkNumber link, const Place& place, std::string_view reason) {
    const KnownSession* session = on(link);
    bool right = false;
    if (reason == "Handshake timeout") {
        right = !place.login;
    } else if (reason == "Server shutting down") {
        right = shutting_down_;
    } else if (reason == "Logged in elsewhere") {
        right = session && named_elsewhere(scene, link, session->name);
    } else {
        right = is_malformed(reason);
    }
    if (!right) object(scene, "P-5", fmt::format("\"{}\" is said without cause", reason));
}

bool PlayerJudge::named_elsewhere(const Scene& scene, LinkNumber link, const std::string& name) const {
    const auto cause = places_.find(scene.cause_link);
    if (scene.cause == PlayerLogin::code && scene.cause_link != link && cause != places_.end() && cause->second.login &&
        cause->second.login->player_name.view() == name)
        return true;
    return std::any_of(places_.begin(), places_.end(),
                       [&](const auto& entry) { return waits(entry.first, entry.second, name); });
}

void PlayerJudge::happened(const Scene& scene, const event::EntityDeleted& event) {
    KnownSession* session = mutable_of(event.player);
    if (!session || session->entity != event.entity) return object(scene, "H-4", "an entity is deleted that is not");
    if (std::exchange(session->entity_deleted, true)) object(scene, "H-4", "an entity is deleted twice");
}

void PlayerJudge::happened(const Scene& scene, const event::PlayerClosed& event) {
    const auto found = sessions_.find(event.player_name);
    if (found == sessions_.end() || found->second.player != event.player)
        return object(scene, "P-5", "a session ends that is not there");
    const KnownSession session = found->second;
    by_link_.erase(session.link);
    by_player_.erase(session.player);
    sessions_.erase(found);
    touched_.push_back(session.link);
    changed_ = true;
    ++closes_[is_malformed(event.reason) ? "Malformed message" : event.reason];
    if (!session.entity_deleted) return object(scene, "H-4", "a session ends, and its entity does not");
    if (event.reason == "Kicked" && kicked_.erase(event.player) == 0)
        return object(scene, "P-5", "a player is kicked by nobody");
    if (event.reason == "Server shutting down" && !shutting_down_)
        return object(scene, "P-5", "a session ends with a shutdown that is none");
    if (event.reason == "Logged in elsewhere" && !named_elsewhere(scene, session.link, session.name))
        return object(scene, "P-7", "a session gives way to nobody");
    if (session.link == 0) {
        if (event.reason == "Connection lost" && scene.running - session.lost_at < rules_.resume_grace)
            object(scene, "P-6",
                   fmt::format("a session ends {:.3f} s after its link was lost",
                               to_seconds(scene.running - session.lost_at)));
        return;
    }
    Place& place = places_[session.link];
    if (event.reason == "Logged out" && place.logged_out) return;
    if (!place.last_word) {
        place.owed = event.reason;
    } else if (*place.last_word != event.reason && !(is_malformed(*place.last_word) && is_malformed(event.reason))) {
        object(scene, "P-5", fmt::format("\"{}\" is said for \"{}\"", *place.last_word, event.reason));
    }
}

void PlayerJudge::durable(Time, const RecordBatch& batch) {
    for (const Record& record : batch.records) {
        if (const auto* account = std::get_if<AccountRecord>(&record)) kept_[account->name] = account->account;
    }
}

// Sessions live in memory only; ids are kept.
void PlayerJudge::run_began(const Scene&, const Core&) {
    places_.clear();
    sessions_.clear();
    by_link_.clear();
    by_player_.clear();
    touched_.clear();
    grace_over_from_ = Time::max();
    entities_.clear();
    kicked_.clear();
    shutting_down_ = false;
}

// A place that nothing happened to since the last pass is as it was then.
void PlayerJudge::pass_ended(const Scene& scene, const Core& core) {
    for (const LinkNumber link : touched_) judge_place(scene, link);
    touched_.clear();
    if (scene.running > grace_over_from_) judge_graces(scene);
    kicked_.clear();
    if (!std::exchange(changed_, false) && scene.now - compared_at_ < compare_every) return;
    compared_at_ = scene.now;
    compare(scene, core);
}

void PlayerJudge::judge_place(const Scene& scene, LinkNumber link) {
    const Place* place = place_of(link);
    if (!place) return;
    if (!place->owed.empty())
        return object(scene, "P-5", fmt::format("a session ended, and its link is not told: {}", place->owed));
    if (place->owes_time) return object(scene, "P-1", "the world's time does not follow a login");
    if ((place->last_word || place->logged_out) && !place->closing)
        return object(scene, "P-5", "a link stays open after the last word");
    const bool may_wait = place->waits != 0 && !place->answered;
    if (place->login && !may_wait && !place->last_word && !place->logged_out && !on(link))
        object(scene, "P-1", "a login comes to nothing");
}

void PlayerJudge::judge_graces(const Scene& scene) {
    grace_over_from_ = Time::max();
    for (const auto& [name, session] : sessions_) {
        if (session.link != 0) continue;
        const Time over_from = session.lost_at + rules_.resume_grace + lateness_max;
        if (scene.running > over_from) return object(scene, "P-6", "a session is kept beyond its grace");
        grace_over_from_ = std::min(grace_over_from_, over_from);
    }
}

// An operator is shown what is so (P-8).
void PlayerJudge::compare(const Scene& scene, const Core& core) {
    const Players& players = core.players();
    std::size_t in_grace = 0;
    for (const auto& [name, session] : sessions_) {
        const auto view = players.find(session.player);
        in_grace += session.link == 0;
        if (!view || view->name != name || view->connected != (session.link != 0) || view->entity != session.entity)
            return object(scene, "P-8", fmt::format("the session of {} is shown as it is not", name));
    }
    if (players.sessions().size() != sessions_.size() || players.figures().in_grace != in_grace ||
        players.figures().connected != sessions_.size() - in_grace ||
        core.players().entities().size() != sessions_.size())
        object(scene, "P-8", "sessions are counted that are not there, or not counted");
}

const KnownSession* PlayerJudge::on(LinkNumber link) const {
    const auto found = by_link_.find(link);
    return found == by_link_.end() ? nullptr : found->second;
}

const KnownSession* PlayerJudge::of(AccountId player) const {
    const auto found = by_player_.find(player);
    return found == by_player_.end() ? nullptr : found->second;
}

bool PlayerJudge::welcomed(LinkNumber link) const {
    const auto place = places_.find(link);
    return place != places_.end() && place->second.answered && !place->second.last_word;
}

KnownSession* PlayerJudge::mutable_on(LinkNumber link) {
    const auto found = by_link_.find(link);
    return found == by_link_.end() ? nullptr : found->second;
}

KnownSession* PlayerJudge::mutable_of(AccountId player) {
    const auto found = by_player_.find(player);
    return found == by_player_.end() ? nullptr : found->second;
}

PlayerJudge::Place* PlayerJudge::place_of(LinkNumber link) {
    const auto found = places_.find(link);
    return found == places_.end() ? nullptr : &found->second;
}

void PlayerJudge::object(const Scene& scene, std::string rule, std::string what) {
    objections_.add({std::move(rule), std::move(what), {}, {}, scene.now});
}

}  // namespace muster::sim
