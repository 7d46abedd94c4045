// When the machine, or the plan, took something from the daemon: what honest peers may then miss.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "moment.h"

namespace muster::storm {

enum class Trouble : std::uint8_t {
    down,         // killed, ending or starting: links break
    stopped,      // SIGSTOP: nothing is answered
    backlog,      // after a stop: what piled up in its time is worked off, which may take as long again
    slow_disk,    // fsync takes long: promises wait, or are refused
    full_disk,    // no room: promises are refused
    date,         // the date is another
    descriptors,  // none left: new connections wait
    crowded,      // others have most of the processors: what is judged by the millisecond may be refused as too late
    cut_short,    // the storm's own thread did not run: it can judge nobody's silence
};

// One thread. Windows are begun in the order of time.
class Weather {
public:
    // A trouble of one kind at a time.
    void begin(Trouble trouble, Moment at);
    // It is over at `at`, and its traces are gone `traces` later.
    void end(Trouble trouble, Moment at, Span traces);

    // Whether any of them was there at some moment of [from, to].
    bool met(std::initializer_list<Trouble> troubles, Moment from, Moment to) const;
    // Whether it was ever there.
    bool ever(Trouble trouble) const;
    // How much of [from, to] was free of both: how long a daemon that runs has had.
    Span running(Moment from, Moment to) const;

private:
    struct Window {
        Trouble trouble;
        Moment from;
        std::optional<Moment> until;
    };
    std::vector<Window> windows_;
};

}  // namespace muster::storm
