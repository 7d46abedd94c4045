// Wakes a thread that waits in poll(), from any other thread and from a signal handler.
#pragma once

namespace muster::sdk {

class WakePipe {
public:
    // Throws std::system_error when the process has no file descriptors left.
    WakePipe();
    ~WakePipe();
    WakePipe(const WakePipe&) = delete;
    WakePipe& operator=(const WakePipe&) = delete;

    void wake() const noexcept;
    // Readable after wake(), until clear().
    int readable_fd() const { return ends_[0]; }
    void clear() const noexcept;

private:
    int ends_[2] = {-1, -1};
};

}  // namespace muster::sdk
