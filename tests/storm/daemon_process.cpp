#include "daemon_process.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "process/program_image.h"

namespace muster::storm {
namespace {

constexpr const char* planted_bug_variable = "MUSTER_PLANTED_BUG";

std::string text_of(const std::filesystem::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

// The ports file is one JSON object: {"servers":"127.0.0.1:11032",…}.
std::uint16_t port_in(const std::string& json, const std::string& name) {
    const std::size_t key = json.find('"' + name + '"');
    if (key == json.npos) throw std::runtime_error("no port " + name + " in " + json);
    const std::size_t first = json.find('"', key + name.size() + 2) + 1;
    const std::string address = json.substr(first, json.find('"', first) - first);
    return static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
}

// In memory, not on a disk: a write to a mapped file waits for the file system's journal, and with it the thread that
// times the answers.
int made_block_file() {
    const int file = ::memfd_create("faults", MFD_CLOEXEC);
    if (file < 0 || ::ftruncate(file, sizeof(FaultBlock)) != 0) throw std::runtime_error("cannot make the fault block");
    return file;
}

FaultBlock* mapped_block(int file) {
    void* at = ::mmap(nullptr, sizeof(FaultBlock), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) throw std::runtime_error("cannot map the fault block");
    return new (at) FaultBlock{};
}

// Where another process opens a descriptor of ours.
std::string path_of(int file) {
    return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file);
}

}  // namespace

DaemonProcess::DaemonProcess(std::filesystem::path program, const std::filesystem::path& preload,
                             std::filesystem::path folder)
    : program_(std::move(program)),
      folder_(std::move(folder)),
      ports_file_(folder_ / "ports.json"),
      faults_file_(made_block_file()),
      faults_(mapped_block(faults_file_)) {
    machine_ = {{fault_block_variable, path_of(faults_file_)}, {store_path_variable, (folder_ / "muster.db").string()}};
    if (!preload.empty()) machine_["LD_PRELOAD"] = preload.string();
    // The sanitizers want to be loaded first; our library works behind them, too.
    machine_["ASAN_OPTIONS"] = "verify_asan_link_order=0:exitcode=99:quarantine_size_mb=16";
    machine_["UBSAN_OPTIONS"] = "print_stacktrace=1";
    machine_["TSAN_OPTIONS"] = "exitcode=99:halt_on_error=1";
}

DaemonProcess::~DaemonProcess() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
    ::munmap(faults_, sizeof(FaultBlock));
    ::close(faults_file_);
}

void DaemonProcess::start(const Settings& settings) {
    if (pid_ > 0) throw std::runtime_error("the daemon runs already");
    std::filesystem::remove(ports_file_);
    ports_ = {};
    Settings all = settings;
    all.insert(machine_.begin(), machine_.end());
    all["MUSTER_STORE_PATH"] = (folder_ / "muster.db").string();
    for (const char* port : {"SERVERS", "MATCHMAKERS", "PLAYERS", "HTTP"})
        all[std::string("MUSTER_LISTEN_") + port] = "127.0.0.1:0";
    // Of all that the storm itself was started with, only the zoo's switch is meant for the daemon (docs/ZOO.md).
    if (const char* bug = std::getenv(planted_bug_variable); bug && *bug != '\0') all[planted_bug_variable] = bug;

    const ProgramImage program({program_.string(), "serve", "--ports-file", ports_file_.string()}, all,
                               ProgramImage::Inherit::not_musters);
    const std::string log_file = (folder_ / "log.txt").string();
    const std::string here = folder_.string();
    pid_ = ::fork();
    if (pid_ < 0) throw std::runtime_error("fork");
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it never outlives the storm
        const int log = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        const bool placed = log >= 0 && ::dup2(log, STDERR_FILENO) >= 0 && ::chdir(here.c_str()) == 0;
        if (placed) program.execute();
        ::_exit(127);
    }
}

bool DaemonProcess::ready() {
    if (ports_.http != 0) return true;
    if (!std::filesystem::exists(ports_file_)) return false;
    const std::string json = text_of(ports_file_);
    ports_ = {port_in(json, "servers"), port_in(json, "matchmakers"), port_in(json, "players"), port_in(json, "http")};
    return true;
}

void DaemonProcess::send_signal(int signal) const {
    if (pid_ > 0) ::kill(pid_, signal);
}

std::optional<int> DaemonProcess::ended() {
    int status = 0;
    if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
    pid_ = 0;
    return exit_code_of(status);
}

std::size_t DaemonProcess::limit_descriptors(std::size_t most) const {
    rlimit limit{};
    if (::prlimit(pid_, RLIMIT_NOFILE, nullptr, &limit) != 0) return most;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = std::min<rlim_t>(most, limit.rlim_max);
    ::prlimit(pid_, RLIMIT_NOFILE, &limit, nullptr);
    return before;
}

std::optional<Footprint> DaemonProcess::footprint() const {
    const std::filesystem::path proc = "/proc/" + std::to_string(pid_);
    std::ifstream in(proc / "statm");
    std::size_t all_pages = 0;
    std::size_t resident_pages = 0;
    std::error_code gone;
    const auto table = std::filesystem::directory_iterator(proc / "fd", gone);
    if (pid_ <= 0 || gone || !(in >> all_pages >> resident_pages)) return std::nullopt;
    const auto descriptors = static_cast<std::size_t>(std::distance(begin(table), end(table)));
    return Footprint{resident_pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), descriptors};
}

std::size_t DaemonProcess::store_bytes() const {
    std::size_t bytes = 0;
    for (const char* end : {"", "-wal"}) {
        std::error_code gone;
        const auto size = std::filesystem::file_size(folder_ / (std::string("muster.db") + end), gone);
        if (!gone) bytes += size;
    }
    return bytes;
}

std::string DaemonProcess::log_end() const {
    constexpr std::size_t enough = 6'000;
    const std::string all = text_of(folder_ / "log.txt");
    return all.size() <= enough ? all : all.substr(all.size() - enough);
}

}  // namespace muster::storm
