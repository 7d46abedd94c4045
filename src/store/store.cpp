#include "store/store.h"

namespace muster {

const std::vector<double>& commit_seconds_bounds() {
    static const std::vector<double> bounds{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
                                            0.05,   0.1,     0.25,   0.5,   1,      2.5,   5,    10};
    return bounds;
}

}  // namespace muster
