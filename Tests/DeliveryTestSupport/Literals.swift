import Notifications

// Tests write ids of deliveries as texts. Outside tests only a UUID is one.

extension DeliveryID: ExpressibleByStringInterpolation {
    /// The UUID that `text` is, or the one whose bytes are the text, which has 16 at most.
    package init(stringLiteral text: String) {
        let utf8 = Array(text.utf8)
        precondition(utf8.count == Self.textLength || utf8.count <= Self.byteCount, "too long for an id: \(text)")
        let bytes = utf8 + Array(repeating: 0, count: max(0, Self.byteCount - utf8.count))
        self = DeliveryID(text) ?? bytes.withUnsafeBytes { DeliveryID(bytes: $0) } ?? .unknown
    }
}

/// In the order of such texts.
extension DeliveryID: Comparable {
    package static func < (left: DeliveryID, right: DeliveryID) -> Bool { left.description < right.description }
}
