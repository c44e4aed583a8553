import CCurl

/// The root certificates that libcurl's connections trust, read once.
///
/// libcurl (7.88) would read the system's for each new connection, and keep a copy for as long as it is open: a
/// millisecond and half a megabyte. What the system trusts later counts after a restart, as for HTTP/2 connections.
///
/// `@unchecked Sendable`: OpenSSL guards its store by a lock of its own.
final class SharedRoots: @unchecked Sendable {
    private let roots: OpaquePointer

    /// The system's and those of the operator's file. Nil: libcurl has to read them itself.
    init?(file: String?) {
        guard let roots = ccurl_make_roots(file) else { return nil }
        self.roots = roots
    }

    deinit { ccurl_free_roots(roots) }

    /// Has a transfer trust them.
    func set(on easy: UnsafeMutableRawPointer) -> CURLcode { ccurl_set_roots(easy, roots) }
}
