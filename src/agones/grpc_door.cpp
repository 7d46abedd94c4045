#include "agones/grpc_door.h"

#include <filesystem>
#include <system_error>

#include <dlfcn.h>
#include <fmt/core.h>

namespace muster::agones {

Result<GrpcDoor*, std::string> load_grpc_door() {
    std::error_code error;
    const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
    const auto folder = program.parent_path();
    std::string why = "it is not there";
    for (const auto& path : {folder / "libmuster-agones.so", folder / "../lib/muster/libmuster-agones.so"}) {
        if (!std::filesystem::exists(path, error)) continue;
        void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        void* symbol = module ? dlsym(module, grpc_door_symbol) : nullptr;
        if (symbol) return reinterpret_cast<GrpcDoor* (*)()>(symbol)();
        if (const char* text = dlerror()) why = text;
    }
    return Failure<std::string>(fmt::format("cannot load libmuster-agones.so: {}", why));
}

}  // namespace muster::agones
