#include "store/commit_figures.h"

#include <algorithm>
#include <numeric>

namespace muster {

CommitFigures::CommitFigures() {
    figures_.commit_seconds_counts.resize(commit_seconds_bounds().size() + 1);
}

void CommitFigures::committed(std::size_t records, Duration took) {
    const auto& bounds = commit_seconds_bounds();
    const double seconds = to_seconds(took);
    const auto bucket =
        static_cast<std::size_t>(std::lower_bound(bounds.begin(), bounds.end(), seconds) - bounds.begin());
    const std::lock_guard lock(mutex_);
    ++figures_.commits;
    figures_.records += records;
    ++figures_.commit_seconds_counts[bucket];
    figures_.commit_seconds_sum += seconds;
}

void CommitFigures::failed(StoreFault fault) {
    const std::lock_guard lock(mutex_);
    if (fault == StoreFault::full) ++figures_.faults_full;
    if (fault == StoreFault::transient) ++figures_.faults_transient;
    if (fault == StoreFault::refused) ++figures_.faults_refused;
    if (fault == StoreFault::misplaced) ++figures_.faults_misplaced;
}

void CommitFigures::died() {
    const std::lock_guard lock(mutex_);
    ++figures_.faults_fatal;
}

void CommitFigures::measured(std::int64_t history_bytes, std::int64_t free_bytes, bool misplaced) {
    const std::lock_guard lock(mutex_);
    figures_.history_bytes = history_bytes;
    figures_.free_bytes = free_bytes;
    figures_.misplaced = misplaced;
}

StoreFigures CommitFigures::now() const {
    StoreFigures figures;
    {
        const std::lock_guard lock(mutex_);
        figures = figures_;
    }
    auto& counts = figures.commit_seconds_counts;
    std::partial_sum(counts.begin(), counts.end(), counts.begin());
    return figures;
}

}  // namespace muster
