#include "process/signals.h"

#include <cerrno>
#include <system_error>

namespace muster {
namespace {

void mask_reload(int how) {
    sigset_t reload;
    sigemptyset(&reload);
    sigaddset(&reload, SIGHUP);
    const int error = pthread_sigmask(how, &reload, nullptr);
    if (error != 0) throw std::system_error(error, std::generic_category(), "cannot block signals");
}

}  // namespace

void hold_reload() {
    mask_reload(SIG_BLOCK);
}

void release_reload() {
    mask_reload(SIG_UNBLOCK);
}

Signals::Signals() {
    sigemptyset(&ours_);
    for (const int number : {SIGTERM, SIGINT, SIGQUIT, SIGHUP}) sigaddset(&ours_, number);
    const int error = pthread_sigmask(SIG_BLOCK, &ours_, &before_);
    if (error != 0) throw std::system_error(error, std::generic_category(), "cannot block signals");
    for (const int number : {SIGPIPE, SIGXFSZ}) std::signal(number, SIG_IGN);
}

Signals::~Signals() {
    // Who asked again while we were stopping has got it: let through now, it would end us by signal instead of with 0.
    while (wait(Duration{0})) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

std::optional<Signal> Signals::wait(Duration at_most) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
    const timespec limit{seconds.count(), (at_most - seconds).count()};
    const int number = sigtimedwait(&ours_, nullptr, &limit);
    // Interrupted by a signal that is not ours: as good as the time having passed.
    if (number < 0) return std::nullopt;
    return number == SIGHUP ? Signal::reload : Signal::stop;
}

}  // namespace muster
