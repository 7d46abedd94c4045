#include "process/program_image.h"

#include <sys/wait.h>

#include <string_view>
#include <utility>

#include <unistd.h>

namespace muster {
namespace {

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (std::string& text : texts) pointers.push_back(text.data());
    pointers.push_back(nullptr);
    return pointers;
}

}  // namespace

ProgramImage::ProgramImage(std::vector<std::string> command, const std::map<std::string, std::string>& environment,
                           Inherit inherit)
    : command_(std::move(command)) {
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text = *entry;
        const std::string_view name = text.substr(0, text.find('='));
        const bool replaced = environment.contains(std::string(name));
        const bool musters = name.starts_with("MUSTER_") || name == "JOURNAL_STREAM";
        if (!replaced && (inherit == Inherit::all || !musters)) environment_.emplace_back(text);
    }
    for (const auto& [name, value] : environment) environment_.emplace_back(name).append("=").append(value);
    words_ = pointers_to(command_);
    variables_ = pointers_to(environment_);
}

void ProgramImage::execute() const {
    execvpe(words_[0], words_.data(), variables_.data());
}

int exit_code_of(int wait_status) {
    return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : 128 + WTERMSIG(wait_status);
}

}  // namespace muster
