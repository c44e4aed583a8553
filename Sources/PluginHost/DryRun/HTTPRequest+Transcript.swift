import HTTPLanes

extension HTTPRequest {
    /// The request as text for a person who asked for it: never for a log, for it holds the token. Credentials are cut
    /// short, because what people see they also paste somewhere.
    ///
    /// A body that is not UTF-8, such as an encrypted one, is shown as its length only.
    package var transcript: String {
        var lines = ["\(method) \(url)"]
        lines += headers.map { "\($0.name): \($0.name == "authorization" ? Self.cutShort($0.value) : $0.value)" }
        if !body.isEmpty {
            lines.append("")
            lines.append(String(validating: body, as: UTF8.self) ?? "(\(body.count) bytes that are not text)")
        }
        return lines.joined(separator: "\n")
    }

    /// The scheme and the beginning of a credential; of a JWT its header and claims, but not the signature.
    private static func cutShort(_ credential: String) -> String {
        guard let end = credential.lastIndex(of: ".") else { return credential.prefix(12) + "…" }
        return credential[...end] + "…"
    }
}
