import Cipher
import Core
import JSON
import Nostr
import Push

@testable import Listeners
@testable import WebIngress

/// A push message at the sealed ingress: lines `NAME: VALUE` of its head with `target` among them, an empty line, and
/// the body. Every result for any input fits into a notification and is JSON.
enum WebPushJudge {
    private static let limit = 4_096
    private static let platform = IngressPlatform(
        name: "ios",
        block: #"{"alert":{"loc-key":"{{loc_key}}"},"mutable-content":1}"#,
        limit: ByteCount(limit)
    )
    private static let payload = PushPayload(platform, locKey: "apns-default-message")
    private static let privateKey = promised("1 is a private key") {
        try P256PrivateKey(rawRepresentation: Array(repeating: 0, count: 31) + [1])
    }

    static func judge(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let (request, target, forwarded) = read(bytes)
        var id = "account"
        if case .push(let resource) = IngressRoute(method: "POST", target: target) {
            promise(Hex.decode(resource.deviceToken) != nil, "a device token is hexadecimal")
            id = resource.id
        }
        _ = ClientAddress(peer: "127.0.0.1", forwardedFor: forwarded) { $0 == "127.0.0.1" }
        let now = Timestamp(seconds: 1_700_000_000)
        let terms = MessageTerms(request, now: now)
        promise(terms.expiresAt == .epoch || terms.expiresAt > now, "nothing expired when it came")
        let message = EncryptedMessage(request)
        if let message {
            promise(message.salt.count == 16 && message.senderKey.count == 65, "salt and key have their sizes")
        }
        let secret = [UInt8](repeating: 9, count: 16)
        let body = request.body ?? []
        if let text = try? WebPushEncryption.decrypt(body, privateKey: privateKey, authenticationSecret: secret) {
            promise(text.count < body.count, "what was encrypted is longer than its text")
        }
        let notification = payload.notification(for: id, message, terms)
        let json = #"{"aps":\#(notification.native["ios"] ?? ""),"# + notification.data.dropFirst()
        promise(json.utf8.count <= limit, "what goes on fits")
        guard case .object(let object)? = try? JSONValue(parsing: json) else {
            promise(false, "what goes on is a JSON object")
            return true
        }
        promise(object["i"] == .string(id), "it names the account")
        return true
    }

    private static func read(_ bytes: UnsafeRawBufferPointer) -> (PushRequest, target: String, forwarded: [String]) {
        var request = PushRequest()
        var target = "/push/00ff/account"
        var forwarded: [String] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = rest[rest.startIndex..<end]
            rest = rest[end...].dropFirst()
            if line.isEmpty { break }
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? String(decoding: parts[1], as: UTF8.self) : ""
            switch String(decoding: parts[0], as: UTF8.self) {
            case "content-encoding": request.contentEncoding.append(value)
            case "encryption": request.encryption.append(value)
            case "crypto-key": request.cryptoKey.append(value)
            case "ttl": request.ttl.append(value)
            case "urgency": request.urgency.append(value)
            case "x-forwarded-for": forwarded.append(value)
            case "target": target = value
            default: break
            }
        }
        request.body = Array(rest)
        return (request, target, forwarded)
    }
}
