// A node's connection to the engine: statements and replies that take their time, are held up, or never come.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/time.h"
#include "nodesim/engine.h"
#include "nodesim/machine.h"

namespace muster::nodesim {

// One thread. Engine and machine outlive it. When it goes, its connection is closed like that of a process that ends.
class EngineLine {
public:
    static constexpr std::chrono::seconds connect_limit{3};
    static constexpr std::chrono::seconds statement_limit{5};

    EngineLine(Engine& engine, Machine& machine);
    ~EngineLine() { drop(); }
    EngineLine(const EngineLine&) = delete;
    EngineLine& operator=(const EngineLine&) = delete;

    // And nothing is asked.
    bool is_connected() const;
    bool is_idle() const;
    // Tries the host that took it last, then the other. `done` is called once.
    void connect(const std::function<void(bool)>& done);
    // The next connection begins with the other one.
    void try_other_host();
    // One at a time. `reply` is called once; after one that broke there is no connection.
    void ask(const Statement& statement, Engine::OnReply reply);
    // Closes it, if it is there. Nobody hears what was asked.
    void drop();
    // The machine has lost its power: the engine is not told.
    void vanish();
    // Somebody between the two resets it.
    void reset();

private:
    struct State;

    std::shared_ptr<State> state_;
};

}  // namespace muster::nodesim
