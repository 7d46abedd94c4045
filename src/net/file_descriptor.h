// An open file of the kernel, closed by its owner's destructor.
#pragma once

#include <utility>

#include <unistd.h>

namespace muster {

class FileDescriptor {
public:
    FileDescriptor() = default;
    // Takes over `number`; a negative one is no file.
    explicit FileDescriptor(int number) : number_(number) {}
    FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    FileDescriptor& operator=(FileDescriptor&& other) noexcept {
        if (this != &other) {
            reset();
            number_ = std::exchange(other.number_, -1);
        }
        return *this;
    }
    ~FileDescriptor() { reset(); }

    explicit operator bool() const { return number_ >= 0; }
    int number() const { return number_; }

    void reset() {
        if (number_ >= 0) close(std::exchange(number_, -1));
    }

private:
    int number_ = -1;
};

}  // namespace muster
