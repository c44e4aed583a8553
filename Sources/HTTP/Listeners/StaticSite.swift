import Cipher

/// Files for browsers below one directory of our URL, such as `/subscribe/`. A proxy may add a path prefix.
package struct StaticSite: Sendable {
    /// One file of the site.
    package struct File: Sendable {
        let name: String
        let bytes: [UInt8]
        let headers: [Header]
        let tag: String

        /// `index.html` is served for the directory itself. `policy` is the Content-Security-Policy.
        package init(name: String, bytes: [UInt8], policy: String) {
            self.name = name
            self.bytes = bytes
            tag = "\"\(Hex.encode(SHA256.hash(bytes).prefix(12)))\""
            headers = [
                Header("content-type", Self.contentType(of: name)),
                Header("content-security-policy", policy),
                Header("etag", tag),
                // Browsers revalidate each time, mostly with a 304.
                Header("cache-control", "no-cache"),
            ]
        }

        /// For files that are not documents: opened as a document, they can do nothing.
        static let inert = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

        private static func contentType(of name: String) -> String {
            switch name.split(separator: ".").last {
            case "html": "text/html; charset=utf-8"
            case "css": "text/css; charset=utf-8"
            case "js": "text/javascript; charset=utf-8"
            case "json": "application/json"
            case "webmanifest": "application/manifest+json"
            case "svg": "image/svg+xml"
            case "png": "image/png"
            default: "application/octet-stream"
            }
        }
    }

    /// A header field.
    package struct Header: Sendable, Equatable {
        package let name: String
        package let value: String

        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// A response to a browser.
    package struct Answer: Sendable, Equatable {
        package let status: Int
        /// All fields except Connection and Content-Length.
        package let headers: [Header]
        /// The content that Content-Length counts; nil for a status without a body.
        package let body: [UInt8]?
        /// Whether the request wants only the head.
        package let isHeadAlone: Bool
    }

    private static let common = [
        Header("x-content-type-options", "nosniff"),
        Header("x-frame-options", "DENY"),
        Header("referrer-policy", "no-referrer"),
        Header("cross-origin-opener-policy", "same-origin"),
        Header("cross-origin-resource-policy", "same-origin"),
        Header("permissions-policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
    ]

    private let folder: String
    private let isAtRoot: Bool
    private let files: [String: File]

    /// `isAtRoot`: the directory must be the first part of the path.
    package init(folder: String, isAtRoot: Bool = false, files: [File]) {
        self.folder = folder
        self.isAtRoot = isAtRoot
        self.files = Dictionary(files.map { ($0.name, $0) }) { $1 }
    }

    /// The response to a request; nil if `target` is outside the site's directory. `knownTags` are the values of
    /// If-None-Match.
    package func answer(method: String, target: String, knownTags: [String]) -> Answer? {
        let path = target.prefix { $0 != "?" && $0 != "#" }.split(separator: "/", omittingEmptySubsequences: false)
        guard let last = path.last, path.count >= 2 else { return nil }
        let isBelow = path.count >= 3 && path[path.count - 2] == folder
        guard isBelow || last == folder, !isAtRoot || path.count == (isBelow ? 3 : 2) else { return nil }
        let isHead = method == "HEAD"
        guard isHead || method == "GET" else {
            return sentence(405, "Only GET and HEAD are allowed here.", [Header("allow", "GET, HEAD")], isHead)
        }
        guard isBelow else {
            // Relative, so that it works behind any proxy.
            return sentence(308, "The page is at \(folder)/", [Header("location", "\(folder)/")], isHead)
        }
        guard let file = files[last.isEmpty ? "index.html" : String(last)] else {
            return sentence(404, "File not found.", [], isHead)
        }
        let isKnown = EntityTag.isNamed(file.tag, in: knownTags)
        return Answer(
            status: isKnown ? 304 : 200,
            headers: file.headers + Self.common,
            body: isKnown ? nil : file.bytes,
            isHeadAlone: isHead
        )
    }

    private func sentence(_ status: Int, _ words: String, _ headers: [Header], _ isHead: Bool) -> Answer {
        Answer(
            status: status,
            headers: headers + [Header("content-type", "text/plain; charset=utf-8")] + Self.common,
            body: Array((words + "\n").utf8),
            isHeadAlone: isHead
        )
    }
}

/// Compares ETags, so that clients do not download unchanged content.
package enum EntityTag {
    /// Whether the values of If-None-Match include the tag (RFC 9110 section 13.1.2).
    package static func isNamed(_ tag: String, in values: [String]) -> Bool {
        values.contains { value in
            value.split(separator: ",").contains { word in
                let word = word.trimmingPrefix { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
                return word == "*" || word == tag || word == "W/" + tag
            }
        }
    }
}
