import Foundation

/// The bytes that FCM counts against its limit of 4096: keys and values of `data`, and the notifications' strings.
enum FCMSize {
    static func counted(_ body: [UInt8]) throws -> Int {
        let object = try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any]
        guard let message = object?["message"] as? [String: Any] else { return .max }
        let data = message["data"] as? [String: String] ?? [:]
        let notification = message["notification"] as? [String: String] ?? [:]
        return (Array(data) + Array(notification)).reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }
}
