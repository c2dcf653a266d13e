// The calls that stock libraries make to the kernel whatever the provider, answered here: which call of which library
// leads to which function of ours.
#pragma once

namespace vroce::provider {

/// Puts our answers in place in every library of the table that is loaded now. Cheap to repeat: it is done again at
/// each opened device, because a library may have been loaded since. False when libibverbs' own calls could not be
/// taken.
bool answer_kernel_calls();

}  // namespace vroce::provider
