// Destruction waits for the application's acknowledgements, as libibverbs promises (ibv_get_cq_event(3),
// ibv_get_async_event(3)): until then a thread may still hold the event's pointer.
#pragma once

#include <pthread.h>

#include <cstdint>

namespace vroce::provider {

/// libibverbs counts in `completed` under `mutex` and signals `condition`.
inline void wait_until_acknowledged(pthread_mutex_t& mutex, pthread_cond_t& condition, const std::uint32_t& completed,
                                    std::uint32_t expected) {
    pthread_mutex_lock(&mutex);
    while (completed != expected) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
}

}  // namespace vroce::provider
