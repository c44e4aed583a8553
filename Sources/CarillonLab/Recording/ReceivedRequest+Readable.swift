import Foundation

extension ReceivedRequest {
    /// A few lines for people: what came, what it got, and the payload indented.
    public var readable: String {
        let time = Date(timeIntervalSince1970: Double(receivedAt) / 1_000)
            .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
        var words = [time, service.rawValue, status.map(String.init) ?? "no answer"]
        words += [reason, misbehaviour.map { "(\($0.kind))" }].compactMap { $0 }
        words += [method, target.isEmpty ? path : "…" + target.suffix(8)]
        words += ["apns-push-type", "apns-priority", "apns-topic", "content-encoding", "ttl", "urgency"].compactMap {
            name in
            header(name).map { "\(name)=\($0)" }
        }
        var lines = [words.joined(separator: " ")]
        if let detail {
            lines.append("  \(detail)")
        }
        lines += content.split(separator: "\n").map { "    \($0)" }
        return lines.joined(separator: "\n")
    }

    private var content: String {
        if let payload { return payload.prettyPrinted }
        let bytes = decrypted ?? body
        return String(validating: bytes, as: UTF8.self) ?? "(\(bytes.count) bytes that are no text)"
    }
}
