// Calls into code that may throw, made so that the caller goes on to the next one (L-5).
#pragma once

#include <exception>
#include <string_view>

namespace muster {

// Runs `call()`. If it throws, calls `failed(why)`; what that throws, for example for lack of memory, is ignored. True
// when nothing was thrown.
template <class Call, class Failed>
bool guarded_call(Call&& call, Failed&& failed) noexcept {
    const auto tell = [&failed](std::string_view why) noexcept {
        try {
            failed(why);
        } catch (...) {  // NOLINT(bugprone-empty-catch): there is nobody left to tell
        }
    };
    try {
        call();
        return true;
    } catch (const std::exception& error) {
        tell(error.what());
    } catch (...) {
        tell("unknown exception");
    }
    return false;
}

}  // namespace muster
