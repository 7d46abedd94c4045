// The latest view of the game for readers: fresh enough for them, and cheap for the game thread however many there are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"
#include "http/http_server.h"

namespace muster {

// HTTP thread only. The clock and the thread outlive it.
//
// Infrequent readers get a fresh view; under load, readers get one at most `age_max` old. Making views may take 1/200
// of the game thread's time in the long run. Time that was not used is saved up, to `saved_up_max`, and spent on fresh
// views.
template <class View>
class LatestView {
public:
    static constexpr int cost_share = 200;
    static constexpr std::chrono::milliseconds saved_up_max{20};
    static constexpr std::chrono::seconds age_max{1};
    static constexpr std::chrono::seconds patience{3};
    // Answers that are kept for as long as their view is.
    static constexpr std::size_t answers_max = 64;
    static constexpr std::size_t answer_bytes_max = 1024 * 1024;

    // Asks the game thread for a view. False when it takes no more questions; otherwise made() follows with the same
    // number, unless the game thread comes to it only after `not_after`.
    using Ask = std::function<bool(std::uint64_t number, Time not_after)>;
    // Null when the game loop did not answer in time.
    using OnView = std::function<void(const View* view)>;
    using Answer = std::shared_ptr<const std::string>;

    LatestView(const Clock& clock, HttpThread& thread, Ask ask)
        : clock_(clock), thread_(thread), ask_(std::move(ask)) {}

    // Calls back once: now, or when a fresh view is there.
    void with_view(OnView on_view) {
        is_read_ = true;
        with_any_view(std::move(on_view));
    }
    // The same for who looks every few seconds for ever. A view that was made for nobody else, and that later readers
    // would not get, is not kept: of a large fleet it takes megabytes.
    void with_sample(OnView on_view) { with_any_view(std::move(on_view)); }

    // The game thread made the view of that number; it took `cost`.
    void made(std::uint64_t number, const std::shared_ptr<const View>& view, Duration cost) {
        saved_up_ = std::max<Duration>(saved_up() - cost, -saved_up_max);
        view_ = view;
        answers_.clear();
        made_at_ = clock_.now();
        outdated_ = number <= changed_;
        if (!is_read_ && !good_enough()) forget();
        is_read_ = !after_change_.empty();
        // With another number it is stale: the readers that wait now wait for a later view.
        for (OnView& on_view : number == asked_ ? next_waiting() : std::vector<OnView>())
            thread_.in_turn([on_view = std::move(on_view), view] { on_view(view.get()); });
        // Past its age nobody gets it any more.
        thread_.after(age_max, [this, at = made_at_] {
            if (at == made_at_) forget();
        });
    }

    // An action changed something: the latest view is stale, and so is one that is being made.
    void outdated() {
        outdated_ = true;
        changed_ = asked_;
    }

    // The text made for `key` from a view that is good enough now; null when there is none.
    Answer kept_answer(const std::string& key) const { return good_enough() ? kept_answer(key, view_.get()) : nullptr; }
    // The same from `view`, which a callback was given.
    Answer kept_answer(const std::string& key, const View* view) const {
        const auto found = view == view_.get() ? answers_.find(key) : answers_.end();
        return found == answers_.end() ? nullptr : found->second;
    }
    // Forgotten with `view`; ignored when there is a later one by now.
    void keep_answer(const std::string& key, const View* view, const std::string& answer) {
        if (view != view_.get()) return;
        if (answers_.size() < answers_max && answer.size() <= answer_bytes_max)
            answers_[key] = std::make_shared<const std::string>(answer);
    }

private:
    void with_any_view(OnView on_view) {
        if (good_enough()) return on_view(view_.get());
        // One is being made, but a view begun before a change may not show the change.
        if (!waiting_.empty() && asked_ <= changed_) return after_change_.push_back(std::move(on_view));
        waiting_.push_back(std::move(on_view));
        if (waiting_.size() == 1) ask();
    }

    bool good_enough() const {
        return view_ && !outdated_ && saved_up() <= Duration{0} && clock_.now() - made_at_ < Duration(age_max);
    }
    // The game thread's time that the next view may take.
    Duration saved_up() const {
        return std::min<Duration>(saved_up_ + (clock_.now() - made_at_) / cost_share, saved_up_max);
    }

    void ask() {
        const std::uint64_t number = ++asked_;
        forget();  // nobody gets it any more: two views of a large fleet are not held at once
        try {
            thread_.after(patience, [this, number] { gave_up(number); });
            if (ask_(number, clock_.now() + patience)) return;
        } catch (const std::exception&) {
            // No memory: nobody may wait for ever because of it (fault 8).
        }
        gave_up(number);
    }
    void forget() {
        view_.reset();
        answers_.clear();
    }
    void gave_up(std::uint64_t number) {
        if (number != asked_) return;
        for (const OnView& on_view : next_waiting()) on_view(nullptr);
    }
    // Those whose waiting is over. For who came after the change, the next view is begun.
    std::vector<OnView> next_waiting() {
        std::vector<OnView> over = std::exchange(waiting_, std::exchange(after_change_, {}));
        if (!waiting_.empty()) ask();
        return over;
    }

    const Clock& clock_;
    HttpThread& thread_;
    const Ask ask_;
    std::shared_ptr<const View> view_;
    Time made_at_{};
    Duration saved_up_ = saved_up_max;
    bool outdated_ = false;
    bool is_read_ = false;       // somebody but samplers wants the view that is being made
    std::uint64_t asked_ = 0;    // the number of the latest question, which is under way while somebody waits
    std::uint64_t changed_ = 0;  // the latest question when something was changed last: later ones show it
    std::vector<OnView> waiting_;
    std::vector<OnView> after_change_;
    std::unordered_map<std::string, Answer> answers_;
};

}  // namespace muster
