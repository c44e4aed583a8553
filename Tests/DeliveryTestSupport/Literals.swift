import Push

// Tests write delivery ids as strings. Outside tests only UUIDs are valid.

extension DeliveryID: ExpressibleByStringInterpolation {
    /// Creates the UUID in `text`, or one whose bytes are the text, up to 16.
    package init(stringLiteral text: String) {
        let bytes = Array(text.utf8) + Array(repeating: 0, count: max(0, Self.byteCount - text.utf8.count))
        guard let id = DeliveryID(text) ?? bytes.withUnsafeBytes({ DeliveryID(bytes: $0) }) else {
            preconditionFailure("too long for an id, and no UUID: \(text)")
        }
        self = id
    }
}

/// Sorts like such strings.
extension DeliveryID: Comparable {
    package static func < (left: DeliveryID, right: DeliveryID) -> Bool { left.description < right.description }
}
