import CCurl

/// Ends a multi handle's wait from another thread.
///
/// `@unchecked Sendable`: `curl_multi_wakeup` is the one call libcurl allows from any thread, and the client drops this
/// under its lock before the handle is cleaned up.
struct CurlWaker: @unchecked Sendable {
    private let multi: UnsafeMutableRawPointer

    init(multi: UnsafeMutableRawPointer) {
        self.multi = multi
    }

    func wake() {
        curl_multi_wakeup(multi)
    }
}
