import Notifications

/// Why bytes are not a notification.
package enum NotificationBlobError: Error, Equatable, CustomStringConvertible {
    case unknownVersion(UInt8)
    case truncated(offset: Int)
    case invalidValue(field: String, offset: Int)
    case invalidUTF8(offset: Int)
    case trailingBytes(Int)

    package var description: String {
        switch self {
        case .unknownVersion(let version):
            "notification of format \(version); expected \(Notification.blobVersion): written by a newer Carillon?"
        case .truncated(let offset): "notification ends at byte \(offset), in the middle of a field"
        case .invalidValue(let field, let offset): "notification has no valid \(field) at byte \(offset)"
        case .invalidUTF8(let offset): "notification has text that is not UTF-8 at byte \(offset)"
        case .trailingBytes(let count): "notification is followed by \(count) unexpected bytes"
        }
    }
}
