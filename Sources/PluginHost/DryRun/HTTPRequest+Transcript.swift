import HTTPLanes

extension HTTPRequest {
    /// The whole request as text for a person who asked for it, secrets included: never for a log.
    ///
    /// A body that is not UTF-8, such as an encrypted one, is shown as its length only.
    package var transcript: String {
        var lines = ["\(method) \(url)"]
        lines += headers.map { "\($0.name): \($0.value)" }
        if !body.isEmpty {
            lines.append("")
            lines.append(String(validating: body, as: UTF8.self) ?? "(\(body.count) bytes that are not text)")
        }
        return lines.joined(separator: "\n")
    }
}
