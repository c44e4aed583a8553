import Push

// Tests write ids of deliveries as texts. Outside tests only a UUID is one.

extension DeliveryID: ExpressibleByStringInterpolation {
    /// The UUID that `text` is, or the one whose bytes are the text, which has 16 at most.
    package init(stringLiteral text: String) {
        let bytes = Array(text.utf8) + Array(repeating: 0, count: max(0, Self.byteCount - text.utf8.count))
        guard let id = DeliveryID(text) ?? bytes.withUnsafeBytes({ DeliveryID(bytes: $0) }) else {
            preconditionFailure("too long for an id, and no UUID: \(text)")
        }
        self = id
    }
}

/// In the order of such texts.
extension DeliveryID: Comparable {
    package static func < (left: DeliveryID, right: DeliveryID) -> Bool { left.description < right.description }
}
