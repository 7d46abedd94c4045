#include "served_process.h"

#include <sys/prctl.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

#include "process/program_image.h"

namespace muster::bench {
namespace {

using namespace std::chrono_literals;

constexpr auto patience = 30s;
constexpr auto look_every = 5ms;

std::string text_of(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

}  // namespace

ScratchFolder::ScratchFolder(const std::filesystem::path& parent) {
    std::string form = (parent / "muster-load-XXXXXX").string();
    if (!mkdtemp(form.data())) throw std::runtime_error("cannot make a folder in " + parent.string());
    path_ = form;
}

ScratchFolder::~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

ServedProcess::ServedProcess(std::vector<std::string> command, std::map<std::string, std::string> environment,
                             const std::filesystem::path& folder)
    : command_(std::move(command)),
      environment_(std::move(environment)),
      ports_file_(folder / "ports.json"),
      log_file_(folder / "log.txt") {
    command_.push_back("--ports-file");
    command_.push_back(ports_file_.string());
    start();
}

ServedProcess::~ServedProcess() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
}

void ServedProcess::start() {
    std::filesystem::remove(ports_file_);
    const ProgramImage program(command_, environment_, ProgramImage::Inherit::not_musters);
    pid_ = fork();
    if (pid_ < 0) throw std::runtime_error("fork");
    if (pid_ == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);  // it does not outlive who measures it
        const int log = open(log_file_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        dup2(log, STDERR_FILENO);
        program.execute();
        _exit(127);
    }
    const auto until = std::chrono::steady_clock::now() + patience;
    while (!std::filesystem::exists(ports_file_)) {
        const bool ended = waitpid(pid_, nullptr, WNOHANG) != 0;
        if (ended) pid_ = 0;
        if (ended || std::chrono::steady_clock::now() > until)
            throw std::runtime_error(command_[0] + " does not start:\n" + log_end());
        std::this_thread::sleep_for(look_every);
    }
    ports_ = text_of(ports_file_);
}

std::string ServedProcess::log_end() const {
    constexpr std::size_t enough = 2'000;
    const std::string all = text_of(log_file_);
    return all.size() <= enough ? all : all.substr(all.size() - enough);
}

// The file is one JSON object of our own making: {"servers":"127.0.0.1:11032",…}.
std::uint16_t ServedProcess::port(const std::string& name) const {
    const std::size_t key = ports_.find('"' + name + '"');
    if (key == std::string::npos) throw std::runtime_error("no port " + name + " in " + ports_);
    const std::size_t value = ports_.find('"', key + name.size() + 2) + 1;
    const std::string address = ports_.substr(value, ports_.find('"', value) - value);
    return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

std::chrono::nanoseconds ServedProcess::cpu() const {
    clockid_t clock{};
    timespec used{};
    if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &used) != 0)
        throw std::runtime_error(command_[0] + " is gone:\n" + log_end());
    return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

std::size_t ServedProcess::status_bytes(const char* key) const {
    std::ifstream in("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(key)) return std::stoul(line.substr(std::strlen(key))) * 1024;
    }
    return 0;
}

int ServedProcess::stop() {
    if (pid_ <= 0) return 0;
    kill(pid_, SIGTERM);
    const auto until = std::chrono::steady_clock::now() + patience;
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
        if (std::chrono::steady_clock::now() > until) kill(pid_, SIGKILL);
        std::this_thread::sleep_for(look_every);
    }
    pid_ = 0;
    return exit_code_of(status);
}

}  // namespace muster::bench
