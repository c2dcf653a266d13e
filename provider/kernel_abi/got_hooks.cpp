#include "provider/kernel_abi/got_hooks.hpp"

#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>

namespace vroce::provider {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kJumpSlot = R_X86_64_JUMP_SLOT;
constexpr std::uint32_t kGlobalData = R_X86_64_GLOB_DAT;
#elif defined(__aarch64__)
constexpr std::uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT;
constexpr std::uint32_t kGlobalData = R_AARCH64_GLOB_DAT;
#else
#error "relocation types of this architecture are not known here"
#endif

/// What the dynamic section of one library says about its imports.
struct Imports {
    std::uintptr_t base = 0;
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    std::span<const ElfW(Rela)> plt;
    std::span<const ElfW(Rela)> data;
    std::uintptr_t relro_begin = 0;
    std::uintptr_t relro_end = 0;
};

/// ELF gives addresses as numbers.
template <typename T>
T* at_address(std::uintptr_t address) {
    return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// glibc relocates these addresses in place on our architectures; other loaders leave offsets.
template <typename T>
const T* pointer_at(std::uintptr_t base, ElfW(Addr) value) {
    return at_address<const T>(value < base ? base + value : value);
}

Imports read_dynamic(std::uintptr_t base, const ElfW(Dyn) * entry) {
    Imports imports;
    imports.base = base;
    const ElfW(Rela)* plt = nullptr;
    const ElfW(Rela)* data = nullptr;
    std::size_t plt_bytes = 0;
    std::size_t data_bytes = 0;
    for (; entry->d_tag != DT_NULL; ++entry) {
        switch (entry->d_tag) {
            case DT_SYMTAB:
                imports.symbols = pointer_at<ElfW(Sym)>(base, entry->d_un.d_ptr);
                break;
            case DT_STRTAB:
                imports.strings = pointer_at<char>(base, entry->d_un.d_ptr);
                break;
            case DT_JMPREL:
                plt = pointer_at<ElfW(Rela)>(base, entry->d_un.d_ptr);
                break;
            case DT_RELA:
                data = pointer_at<ElfW(Rela)>(base, entry->d_un.d_ptr);
                break;
            case DT_PLTRELSZ:
                plt_bytes = entry->d_un.d_val;
                break;
            case DT_RELASZ:
                data_bytes = entry->d_un.d_val;
                break;
            default:
                break;
        }
    }
    imports.plt = {plt, plt != nullptr ? plt_bytes / sizeof *plt : 0};
    imports.data = {data, data != nullptr ? data_bytes / sizeof *data : 0};
    return imports;
}

Imports imports_of(const dl_phdr_info& library) {
    const ElfW(Dyn)* dynamic = nullptr;
    std::uintptr_t relro = 0;
    std::uintptr_t relro_bytes = 0;
    for (int i = 0; i < library.dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = library.dlpi_phdr[i];
        if (header.p_type == PT_DYNAMIC) {
            dynamic = at_address<const ElfW(Dyn)>(library.dlpi_addr + header.p_vaddr);
        } else if (header.p_type == PT_GNU_RELRO) {
            relro = library.dlpi_addr + header.p_vaddr;
            relro_bytes = header.p_memsz;
        }
    }
    if (dynamic == nullptr) return {};
    Imports imports = read_dynamic(library.dlpi_addr, dynamic);
    imports.relro_begin = relro;
    imports.relro_end = relro + relro_bytes;
    return imports;
}

/// Stores into a slot that the loader may have made read-only, and makes its page read-only again.
bool store_slot(const Imports& imports, std::uintptr_t slot, void* value) {
    const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    void* page = at_address<void>(slot & ~(page_bytes - 1));
    const bool read_only = slot >= imports.relro_begin && slot < imports.relro_end;
    if (read_only && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return false;
    std::atomic_ref<void*>(*at_address<void*>(slot)).store(value);
    if (read_only) mprotect(page, page_bytes, PROT_READ);
    return true;
}

std::size_t patch(const Imports& imports, std::span<const ElfW(Rela)> relocations, const GotHook& hook) {
    std::size_t patched = 0;
    for (const ElfW(Rela) & relocation : relocations) {
        const auto type = static_cast<std::uint32_t>(ELF64_R_TYPE(relocation.r_info));
        if (type != kJumpSlot && type != kGlobalData) continue;
        const ElfW(Sym)& symbol = imports.symbols[ELF64_R_SYM(relocation.r_info)];
        if (std::strcmp(imports.strings + symbol.st_name, hook.symbol) != 0) continue;
        const std::uintptr_t slot = imports.base + relocation.r_offset;
        const void* now = std::atomic_ref<void*>(*at_address<void*>(slot)).load();
        if (now == hook.replacement || store_slot(imports, slot, hook.replacement)) ++patched;
    }
    return patched;
}

bool is_named(const char* path, const char* library) {
    if (path == nullptr) return false;
    const char* slash = std::strrchr(path, '/');
    const char* name = slash != nullptr ? slash + 1 : path;
    return std::strncmp(name, library, std::strlen(library)) == 0;
}

struct Visit {
    std::span<const GotHook> hooks;
    std::size_t patched = 0;
};

int visit_library(dl_phdr_info* library, std::size_t, void* argument) {
    Visit& visit = *static_cast<Visit*>(argument);
    for (const GotHook& hook : visit.hooks) {
        if (!is_named(library->dlpi_name, hook.library)) continue;
        const Imports imports = imports_of(*library);
        if (imports.symbols == nullptr || imports.strings == nullptr) continue;
        visit.patched += patch(imports, imports.plt, hook) + patch(imports, imports.data, hook);
    }
    return 0;
}

}  // namespace

std::size_t install_got_hooks(std::span<const GotHook> hooks) {
    Visit visit{hooks};
    dl_iterate_phdr(visit_library, &visit);
    return visit.patched;
}

}  // namespace vroce::provider
