import Foundation

/// A command from client to server (NATS client protocol).
enum NATSCommand {
    /// The client's credentials and capabilities.
    struct Connect: Encodable {
        var verbose = false
        var pedantic = false
        var tlsRequired: Bool
        var name: String
        var lang = "swift"
        var version = "1"
        var protocolVersion = 1
        var headers = true
        var noResponders = true
        var user: String?
        var pass: String?
        var authToken: String?
        var jwt: String?
        var nkey: String?
        var sig: String?

        enum CodingKeys: String, CodingKey {
            case verbose, pedantic, name, lang, version, headers, user, pass, jwt, nkey, sig
            case tlsRequired = "tls_required"
            case protocolVersion = "protocol"
            case noResponders = "no_responders"
            case authToken = "auth_token"
        }
    }

    static let ping = Array("PING\r\n".utf8)
    static let pong = Array("PONG\r\n".utf8)

    static func connect(_ connect: Connect) throws(NATSError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let json = try? encoder.encode(connect) else { throw .protocolViolation("credentials that are not text") }
        return Array("CONNECT ".utf8) + json + Array("\r\n".utf8)
    }

    static func subscribe(_ subject: String, queue: String?, number: Int) -> [UInt8] {
        Array("SUB \(subject) \(queue.map { "\($0) " } ?? "")\(number)\r\n".utf8)
    }

    static func unsubscribe(_ number: Int) -> [UInt8] { Array("UNSUB \(number)\r\n".utf8) }

    static func publish(
        _ subject: String,
        replyTo: String?,
        headers: NATSHeaders,
        _ payload: [UInt8]
    ) throws(NATSError) -> [UInt8] {
        let reply = replyTo.map { "\($0) " } ?? ""
        var bytes: [UInt8]
        if headers.isEmpty {
            bytes = Array("PUB \(subject) \(reply)\(payload.count)\r\n".utf8)
            bytes.reserveCapacity(bytes.count + payload.count + 2)
        } else {
            let block = try headers.written()
            bytes = Array("HPUB \(subject) \(reply)\(block.count) \(block.count + payload.count)\r\n".utf8)
            bytes.reserveCapacity(bytes.count + block.count + payload.count + 2)
            bytes += block
        }
        bytes += payload
        bytes += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
        return bytes
    }

    /// Whether a subject is valid to publish to, or with `wildcards` to subscribe to.
    static func isSubject(_ subject: String, wildcards: Bool = false) -> Bool {
        let tokens = subject.split(separator: ".", omittingEmptySubsequences: false)
        guard !subject.isEmpty, subject.utf8.count <= 1024 else { return false }
        return tokens.enumerated().allSatisfy { index, token in
            guard !token.isEmpty, token.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else { return false }
            guard token.contains(where: { $0 == "*" || $0 == ">" }) else { return true }
            return wildcards && (token == "*" || token == ">" && index == tokens.count - 1)
        }
    }
}
