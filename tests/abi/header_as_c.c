/* The contract is a C header too: other languages read it. */
#include "provider/abi/vroce_abi.h"

size_t vroce_abi_bytes_seen_by_c(void);

size_t vroce_abi_bytes_seen_by_c(void) {
    return sizeof(struct vroce_hello) + sizeof(struct vroce_create_qp_reply) + sizeof(struct vroce_cqe) +
           sizeof(struct vroce_status_page) + sizeof(struct vroce_doorbell_page);
}
