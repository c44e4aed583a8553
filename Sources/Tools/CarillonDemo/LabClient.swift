import CarillonLab
import Cipher
import Core
import Foundation
import FoundationNetworking
import NIOCore
import Nostr

/// The lab's control endpoint.
struct LabClient {
    private let control: String

    init(_ addresses: LabAddresses) throws {
        guard let control = addresses.control else { throw DemoError("the lab was started without a control endpoint") }
        self.control = control
    }

    /// Gives the lab the keys to decrypt messages to `receiver`.
    func declare(_ receiver: WebPushReceiver) async throws {
        let object = [
            "topic": receiver.topic,
            "private_key": Base64URL.encode(receiver.privateKey),
            "auth": Base64URL.encode(receiver.auth),
        ]
        _ = try await send("POST", "/receivers", body: try JSONEncoder().encode(object))
    }

    /// Subscribes like a browser at the lab's push service. Returns the endpoint.
    func subscribe(_ receiver: WebPushReceiver) async throws -> String {
        let object = [
            "id": receiver.topic,
            "private_key": Base64URL.encode(receiver.privateKey),
            "auth": Base64URL.encode(receiver.auth),
        ]
        let answer = try await send("POST", "/subscriptions", body: try JSONEncoder().encode(object))
        guard let endpoint = JSON(parsing: Array(answer.utf8))?["endpoint"]?.string else {
            throw DemoError("the lab's response to a subscription has no endpoint: \(answer)")
        }
        return endpoint
    }

    /// Returns the pushes after the request `sequence`, in order: immediately if there are at least `count`, otherwise
    /// after at most `timeout`.
    func pushes(
        after sequence: Int64,
        atLeast count: Int = 0,
        timeout: Duration = .seconds(10)
    ) async throws -> [Push] {
        var wanted = count
        while true {
            let query = "after=\(sequence)&wait=\(wanted)&timeout_ms=\(timeout.milliseconds)"
            let lines = try await send("GET", "/received?\(query)").split(separator: "\n")
            let pushes = lines.compactMap { JSON(parsing: Array($0.utf8)).flatMap(Push.init) }
            guard pushes.count < count, lines.count >= wanted else { return pushes }
            // Some of the requests were not pushes.
            wanted = lines.count + count - pushes.count
        }
    }

    private func send(_ method: String, _ path: String, body: Data? = nil) async throws -> String {
        guard let url = URL(string: control + path) else { throw DemoError("\(control) is not a valid URL") }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body
        do {
            let (data, response) = try await URLSession.shared.data(for: request)
            // 408: fewer requests than expected. The caller notices that.
            guard let status = (response as? HTTPURLResponse)?.statusCode, [200, 201, 408].contains(status) else {
                throw DemoError("the lab refused \(method) \(path): \(String(decoding: data, as: UTF8.self))")
            }
            return String(decoding: data, as: UTF8.self)
        } catch let error as URLError {
            throw DemoError("the lab does not respond at \(control): \(error.localizedDescription)")
        }
    }
}

/// A push in the lab's record.
struct Push {
    let sequence: Int64
    /// The device token, topic or subscription.
    let target: String
    /// The status of the service's response.
    let status: Int64
    /// Why the service refused it, or why the device could not read it.
    let complaint: String?
    let headers: [String: String]
    /// Everything that the push service received: path, headers and body, unchanged.
    let wire: [UInt8]
    /// The payload for the device, decrypted if it was encrypted.
    let payload: JSON
    let wasDecrypted: Bool

    /// Nil for a request for an access token, which is not a push.
    init?(_ record: JSON) {
        guard let sequence = record["sequence"]?.integer, record["service"]?.string != LabService.oauth.rawValue else {
            return nil
        }
        self.sequence = sequence
        target = record["target"]?.string ?? ""
        status = record["status"]?.integer ?? 0
        let words = [record["reason"]?.string, record["detail"]?.string].compactMap { $0 }
        complaint = words.isEmpty ? nil : words.joined(separator: ", ")
        payload = record["payload"] ?? .null
        wasDecrypted = record["decrypted"] != nil || record["decrypted_base64"] != nil
        var headers: [String: String] = [:]
        if case .array(let fields) = record["headers"] {
            for field in fields {
                if let name = field[0]?.string, let value = field[1]?.string { headers[name] = value }
            }
        }
        self.headers = headers
        let texts = [record["path"]?.string ?? "", record["body"]?.string ?? ""] + headers.map { "\($0): \($1)" }
        wire = Array(texts.joined(separator: "\n").utf8) + (record["body_base64"]?.string.flatMap(Base64.decode) ?? [])
    }

    var isAccepted: Bool { (200..<300).contains(status) }

    /// On one line, with sorted keys.
    var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(payload)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
}

extension WebPushReceiver {
    /// A new receiver.
    static func fresh() -> WebPushReceiver {
        WebPushReceiver(topic: "up" + Hex.encode(SecureRandom.bytes(6)))
    }
}

/// The lab's type for JSON values.
typealias JSON = CarillonLab.JSONValue

/// An app's session with the router by NIP-46: encrypted events of kind 24133 at a relay.
struct RemoteSession {
    private static let attempts = 5

    private let router: PublicKey
    /// A key that the app made for the session.
    private let client: Person
    private let answers: SubscriptionID
    private var relay: RelayClient

    init(with router: PublicKey, at relay: RelayClient) async throws {
        self.router = router
        self.relay = relay
        client = try Person("app")
        let filter = Filter(authors: [router], kinds: [.remoteSigning], tags: ["p": [client.hex]])
        answers = try await self.relay.subscribe("answers", to: filter)
    }

    /// Calls a method and returns its result. A relay does not store events of this kind, so a request before the
    /// router listens is lost. A request without a response is repeated after two seconds.
    mutating func request(_ method: String, _ params: [String] = []) async throws -> String {
        let request = RemoteSigningRequest(id: Hex.encode(SecureRandom.bytes(8)), method: method, params: params)
        for _ in 1...Self.attempts {
            let content = try client.encrypt(request.json, to: router)
            let event = try client.event(.remoteSigning, tags: [["p", router.hex]], content: content)
            let answer = try await relay.publish(event)
            guard answer.isAccepted else { throw DemoError("the relay refused a NIP-46 request: \(answer.message)") }
            while let event = try await relay.next(of: answers, timeout: .seconds(2)) {
                let text = try client.decrypt(event.content, from: router)
                guard let response = RemoteSigningResponse(json: text), response.id == request.id else { continue }
                switch response.outcome {
                case .result(let result): return result
                case .error(let reason): throw DemoError("the router refused \(method): \(reason)")
                }
            }
        }
        throw DemoError("the router does not respond at the relay: \(method)")
    }
}

extension BunkerURL {
    /// Parses the output of `carillon keys bunker`.
    init(reading text: String) throws {
        guard let parts = URLComponents(string: text), parts.scheme == "bunker",
            let signer = parts.host.flatMap(PublicKey.init(hex:))
        else { throw DemoError("--bunker: expected bunker://<key>?relay=<url>&secret=<text>") }
        let items = parts.queryItems ?? []
        self.init(
            signer: signer,
            relays: items.filter { $0.name == "relay" }.compactMap(\.value),
            secret: items.first { $0.name == "secret" }?.value
        )
    }
}
