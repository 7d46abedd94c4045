// A flag that is set while something is under way, however that ends.
#pragma once

namespace muster {

// Sets a flag for as long as it lives.
class Flagged {
public:
    explicit Flagged(bool& flag) : flag_(flag) { flag_ = true; }
    Flagged(const Flagged&) = delete;
    Flagged& operator=(const Flagged&) = delete;
    ~Flagged() { flag_ = false; }

private:
    bool& flag_;
};

}  // namespace muster
