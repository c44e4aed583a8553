import Foundation

extension ReceivedRequest: Encodable {
    private enum CodingKeys: String, CodingKey {
        case sequence
        case service
        case receivedAt = "received_at"
        case connection
        case method
        case path
        case target
        case status
        case reason
        case detail
        case misbehaviour
        case isTaken = "taken"
        case repeats
        case message
        case headers
        case payload
        case body
        case bodyBase64 = "body_base64"
        case decrypted
        case decryptedBase64 = "decrypted_base64"
    }

    /// As one JSON object: `payload` where the content is JSON, `body` where the body is text and `body_base64` where it is not.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(sequence, forKey: .sequence)
        try container.encode(service, forKey: .service)
        try container.encode(receivedAt, forKey: .receivedAt)
        try container.encode(connection, forKey: .connection)
        try container.encode(method, forKey: .method)
        try container.encode(path, forKey: .path)
        try container.encode(target, forKey: .target)
        try container.encode(status, forKey: .status)
        try container.encodeIfPresent(reason, forKey: .reason)
        try container.encodeIfPresent(detail, forKey: .detail)
        try container.encodeIfPresent(misbehaviour?.kind, forKey: .misbehaviour)
        try container.encode(isTaken, forKey: .isTaken)
        try container.encodeIfPresent(message, forKey: .message)
        try container.encodeIfPresent(repeats > 0 ? repeats : nil, forKey: .repeats)
        try container.encode(headers.map { [$0.name, $0.value] }, forKey: .headers)
        try container.encodeIfPresent(payload, forKey: .payload)
        if let text = String(validating: body, as: UTF8.self) {
            try container.encode(text, forKey: .body)
        } else {
            try container.encode(Data(body).base64EncodedString(), forKey: .bodyBase64)
        }
        guard let decrypted else { return }
        if let text = String(validating: decrypted, as: UTF8.self) {
            try container.encode(text, forKey: .decrypted)
        } else {
            try container.encode(Data(decrypted).base64EncodedString(), forKey: .decryptedBase64)
        }
    }

    /// One line of JSON with sorted keys and no line break.
    public func jsonLine() -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(self) else { return "{}" }
        return String(decoding: data, as: UTF8.self)
    }
}
