import CSecp256k1
import Cipher

/// libsecp256k1's context for the process.
///
/// Unsafe in name only: it is blinded once while it is made and never changed after, which is when the library
/// allows several threads to use one. Never freed.
nonisolated(unsafe) let context: OpaquePointer = {
    let context = secp256k1_context_create(UInt32(SECP256K1_CONTEXT_NONE))
    precondition(context != nil, "libsecp256k1 has no memory for a context")
    // Blinds the multiplications that secrets take part in against measurements of time and power.
    let isBlinded = secp256k1_context_randomize(context.unsafelyUnwrapped, SecureRandom.bytes(32))
    precondition(isBlinded == 1, "libsecp256k1 failed to blind its context")
    return context.unsafelyUnwrapped
}()
