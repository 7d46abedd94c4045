// What of the hosts outlives Muster: who there is, and their processes without their output (G-12).
#pragma once

#include <cstddef>
#include <string_view>

#include "core/known_host.h"
#include "core/ledger.h"
#include "core/records.h"

namespace muster {

// Game thread only. The ledger outlives it.
//
// No promise hangs on a host, so its records never stand in the way: while the store is down or busy, nothing is
// written, and the next save() writes what is stale then. So what waits is bounded by what there is.
class HostRecords {
public:
    // Of one host, in one save().
    static constexpr std::size_t processes_saved_max = 256;
    // With more than this ahead of them, they wait: an agent that changes everything all the time delays nobody's
    // promise by more than the store needs for so few.
    static constexpr std::size_t queue_max = Ledger::few_records;

    explicit HostRecords(Ledger& ledger) : ledger_(ledger) {}

    // Writes what of the host and its processes is stale. What is more than the limit is written by the next call.
    void save(KnownHost& host);
    void forget(const KnownHost& host);
    void forget(std::string_view host, const HostProcess& process);

    // Whether both make the same record.
    static bool same(const ProcessReport& one, const ProcessReport& other);

    // The host as it was stored: it has no link, and no number yet.
    static KnownHost recovered(const HostRecord& record);
    static HostProcess recovered(const HostProcessRecord& record);

private:
    bool takes_more() const;

    Ledger& ledger_;
};

}  // namespace muster
