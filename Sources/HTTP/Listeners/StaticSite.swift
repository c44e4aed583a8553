import Cipher

/// Files below one folder of our URL, such as `/subscribe/`, for browsers. A proxy before us may add a path.
package struct StaticSite: Sendable {
    /// One file of the site.
    package struct File: Sendable {
        let name: String
        let bytes: [UInt8]
        let headers: [Header]
        let tag: String

        /// `index.html` is the folder itself. `policy` is the Content-Security-Policy.
        package init(name: String, bytes: [UInt8], policy: String) {
            self.name = name
            self.bytes = bytes
            tag = "\"\(Hex.encode(SHA256.hash(bytes).prefix(12)))\""
            headers = [
                Header("content-type", Self.contentType(of: name)),
                Header("content-security-policy", policy),
                Header("etag", tag),
                // A browser asks each time, and mostly hears that nothing changed.
                Header("cache-control", "no-cache"),
            ]
        }

        /// For what is no document: if somebody opens it as one, it does nothing.
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

    /// What a browser gets.
    package struct Answer: Sendable, Equatable {
        package let status: Int
        /// All but Connection and Content-Length.
        package let headers: [Header]
        /// What Content-Length counts; nil for a status that has no body.
        package let body: [UInt8]?
        /// Whether the request wants the head alone.
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

    /// `isAtRoot`: the folder is the first part of the path, and nothing else is answered.
    package init(folder: String, isAtRoot: Bool = false, files: [File]) {
        self.folder = folder
        self.isAtRoot = isAtRoot
        self.files = Dictionary(files.map { ($0.name, $0) }) { $1 }
    }

    /// The answer to a request; nil where `target` is not in the site's folder. `knownTags` are the values of
    /// If-None-Match.
    package func answer(method: String, target: String, knownTags: [String]) -> Answer? {
        let path = target.prefix { $0 != "?" && $0 != "#" }.split(separator: "/", omittingEmptySubsequences: false)
        guard let last = path.last, path.count >= 2 else { return nil }
        let isBelow = path.count >= 3 && path[path.count - 2] == folder
        guard isBelow || last == folder, !isAtRoot || path.count == (isBelow ? 3 : 2) else { return nil }
        let isHead = method == "HEAD"
        guard isHead || method == "GET" else {
            return sentence(405, "Only GET and HEAD are served here.", [Header("allow", "GET, HEAD")], isHead)
        }
        guard isBelow else {
            // Relative, so that it holds behind any proxy.
            return sentence(308, "The page is at \(folder)/", [Header("location", "\(folder)/")], isHead)
        }
        guard let file = files[last.isEmpty ? "index.html" : String(last)] else {
            return sentence(404, "There is no such file.", [], isHead)
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

/// A tag by which a client sees whether it already has what it asks for.
package enum EntityTag {
    /// Whether the values of If-None-Match name the tag (RFC 9110 section 13.1.2).
    package static func isNamed(_ tag: String, in values: [String]) -> Bool {
        values.contains { value in
            value.split(separator: ",").contains { word in
                let word = word.trimmingPrefix { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
                return word == "*" || word == tag || word == "W/" + tag
            }
        }
    }
}
