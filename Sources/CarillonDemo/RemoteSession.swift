import Cipher
import Foundation
import NIOCore
import Nostr

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
    /// router listens is lost. A request without an answer is repeated after two seconds.
    mutating func request(_ method: String, _ params: [String] = []) async throws -> String {
        let request = RemoteSigningRequest(id: Hex.encode(SecureRandom.bytes(8)), method: method, params: params)
        for _ in 1...Self.attempts {
            let content = try client.encrypt(request.json, to: router)
            let event = try client.event(.remoteSigning, tags: [["p", router.hex]], content: content)
            let answer = try await relay.publish(event)
            guard answer.isAccepted else { throw DemoError("the relay refuses a NIP-46 request: \(answer.message)") }
            while let event = try await relay.next(of: answers, patience: .seconds(2)) {
                let text = try client.decrypt(event.content, from: router)
                guard let response = RemoteSigningResponse(json: text), response.id == request.id else { continue }
                switch response.outcome {
                case .result(let result): return result
                case .error(let reason): throw DemoError("the router refuses \(method): \(reason)")
                }
            }
        }
        throw DemoError("the router does not answer at the relay: \(method)")
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
