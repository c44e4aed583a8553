import COpenSSL

/// How failures of libcrypto are met.
enum Library {
    /// Stops the process when libcrypto cannot do what no input can make it refuse: without memory, a digest or
    /// entropy, going on would mean wrong signatures or guessable keys.
    static func require(_ condition: Bool, _ operation: StaticString) {
        precondition(condition, "libcrypto failed at \(operation): no memory, no entropy or a broken installation")
    }

    /// Forgets what libcrypto noted about a refused input: its queue belongs to the thread, and other users of
    /// the library on that thread would take the note for theirs.
    static func clearErrors() {
        ERR_clear_error()
    }
}
