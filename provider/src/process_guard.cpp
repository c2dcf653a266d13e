#include "provider/src/process_guard.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <new>

namespace vroce::provider {

std::atomic<std::uint32_t>* ProcessGuard::page_ = nullptr;
std::uint32_t ProcessGuard::epochs_ = 0;

namespace {

void* map_page(std::size_t bytes) {
    void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return nullptr;
    if (madvise(page, bytes, MADV_WIPEONFORK) == 0) return page;
    munmap(page, bytes);
    return nullptr;
}

}  // namespace

std::uint32_t ProcessGuard::enter() {
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    if (page_ == nullptr) {
        if (void* page = map_page(static_cast<std::size_t>(sysconf(_SC_PAGESIZE)))) {
            page_ = new (page) std::atomic<std::uint32_t>(0);
        }
    }
    std::uint32_t epoch = 0;
    if (page_ != nullptr) {
        if (page_->load() == 0) page_->store(++epochs_);
        epoch = page_->load();
    }
    pthread_mutex_unlock(&mutex);
    return epoch;
}

}  // namespace vroce::provider
