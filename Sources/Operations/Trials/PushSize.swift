import Foundation
import HTTPLanes

/// How large a push is in the way its service counts, and how large it may be; both in bytes.
struct PushSize: Equatable {
    let count: Int
    let limit: Int

    /// Nil for a platform whose service's limit is not known.
    init?(_ request: HTTPRequest, platform: String) {
        switch platform {
        case "ios":
            let isVoIP = request.headers.contains { $0.name == "apns-push-type" && $0.value == "voip" }
            self.init(count: request.body.count, limit: isVoIP ? 5120 : 4096)
        case "android":
            guard let count = Self.countedByFCM(request.body) else { return nil }
            self.init(count: count, limit: 4096)
        case "ntfy":
            let message = (Self.object(request.body)?["message"] as? String)?.utf8.count ?? 0
            self.init(count: message, limit: 4096)
        case "web", "unifiedpush", "gotify": self.init(count: request.body.count, limit: 4096)
        default: return nil
        }
    }

    private init(count: Int, limit: Int) {
        self.count = count
        self.limit = limit
    }

    /// Keys and values of `data` and `notification`.
    private static func countedByFCM(_ body: [UInt8]) -> Int? {
        guard let message = object(body)?["message"] as? [String: Any] else { return nil }
        return ["data", "notification"].compactMap { message[$0] as? [String: String] }.joined()
            .reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }

    private static func object(_ body: [UInt8]) -> [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any]
    }
}
