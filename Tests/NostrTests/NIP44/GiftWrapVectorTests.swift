import Cipher
import Foundation
import Nostr
import Testing

/// The gift wraps printed in NIP-59 and NIP-17: payloads that other implementations encrypted, one inside the other.
@Suite struct GiftWrapVectorTests {
    private struct Examples: Decodable {
        struct Example: Decodable {
            let nip: String
            let event: Layer
        }

        struct NIP59Keys: Decodable {
            let recipient_sk: String
        }

        struct NIP17Keys: Decodable {
            let sender_sk: String
            let receiver_sk: String
        }

        let nip59_keys: NIP59Keys
        let nip17_keys: NIP17Keys
        let events: [Example]
    }

    private struct Layer: Decodable {
        let kind: Int
        let pubkey: String
        let content: String
    }

    private let examples: Examples

    init() throws {
        let url = try #require(Bundle.module.url(forResource: "Vectors/nostr-nip-examples", withExtension: "json"))
        self.examples = try JSONDecoder().decode(Examples.self, from: Data(contentsOf: url))
    }

    private func wraps(of nip: String) -> [Layer] {
        self.examples.events.filter { $0.nip == nip && $0.event.kind == 1059 }.map(\.event)
    }

    /// Opens the payload of one layer, and reads the event in it.
    private func open(_ layer: Layer, with secret: String) throws -> Layer {
        let key = try ConversationKey(
            secret: SecretKey(bytes: #require(Hex.decode(secret))),
            public: #require(PublicKey(hex: layer.pubkey))
        )
        return try JSONDecoder().decode(Layer.self, from: Data(NIP44.decrypt(layer.content, key: key)))
    }

    @Test func theWrapOfNIP59HoldsASealAndARumor() throws {
        let wraps = self.wraps(of: "59.md")
        #expect(wraps.count == 1)
        for wrap in wraps {
            let seal = try self.open(wrap, with: self.examples.nip59_keys.recipient_sk)
            #expect(seal.kind == 13)
            let rumor = try self.open(seal, with: self.examples.nip59_keys.recipient_sk)
            #expect(rumor.kind == 1)
            #expect(rumor.pubkey == seal.pubkey)
            #expect(rumor.content == "Are you going to the party tonight?")
        }
    }

    @Test func theWrapsOfNIP17HoldTheSameMessage() throws {
        let wraps = self.wraps(of: "17.md")
        let secrets = [self.examples.nip17_keys.receiver_sk, self.examples.nip17_keys.sender_sk]
        #expect(wraps.count == 2)
        for (wrap, secret) in zip(wraps, secrets) {
            let seal = try self.open(wrap, with: secret)
            #expect(seal.kind == 13)
            let rumor = try self.open(seal, with: secret)
            #expect(rumor.kind == 14)
            #expect(rumor.content == "Hola, que tal?")
        }
    }
}
