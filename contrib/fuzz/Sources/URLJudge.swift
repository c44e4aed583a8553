import CCurl

@testable import HTTPClient

/// Users' URLs: the guard and the connecting code must read the same host. Accepted URLs have one spelling, from which
/// libcurl reads the same host.
enum URLJudge {
    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let text = String(validating: bytes, as: UTF8.self) else { return false }
        guard let url = URLParts(text) else { return true }
        let again = URLParts(url.normalized)
        promise(again == url, "a URL that is spelled anew reads the same")
        promise(again?.normalized == url.normalized, "and is spelled the same")
        promise(url.normalized.utf8.allSatisfy { (0x21...0x7e).contains($0) }, "no byte of it needs a further reading")
        promise(IPAddress(url.origin.host) == url.origin.address, "an address is known as one")
        if let address = url.origin.address {
            promise(IPAddress(address.text) == address, "its one spelling is its own")
        }
        judgeAsLibcurlReadsIt(url)
        return true
    }

    private static func judgeAsLibcurlReadsIt(_ url: URLParts) {
        guard let handle = curl_url() else { return }
        defer { curl_url_cleanup(handle) }
        let code = curl_url_set(handle, CURLUPART_URL, url.normalized, UInt32(CURLU_PATH_AS_IS))
        promise(code == CURLUE_OK, "libcurl takes what passes")
        let isSix = if case .v6 = url.origin.address { true } else { false }
        promise(part(CURLUPART_SCHEME, of: handle) == (url.origin.isSecure ? "https" : "http"), "it sees the scheme")
        promise(part(CURLUPART_HOST, of: handle) == (isSix ? "[\(url.origin.host)]" : url.origin.host), "and the host")
        promise(part(CURLUPART_PORT, of: handle) == String(url.origin.port), "and the port")
        let path = url.target.prefix { $0 != "?" }
        promise(part(CURLUPART_PATH, of: handle) == String(path), "and the path")
        promise(part(CURLUPART_USER, of: handle) == nil, "and nobody's name")
        promise(part(CURLUPART_FRAGMENT, of: handle) == nil, "and no fragment")
    }

    private static func part(_ what: CURLUPart, of handle: OpaquePointer) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, what, &text, UInt32(CURLU_DEFAULT_PORT)) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}
