import Foundation
import Nostr

/// A direct message as NIP-17 sends it: a message in a seal (kind 13) in a gift wrap (kind 1059), which hides its author.
enum GiftWrap {
    /// Wraps are dated back at random by up to two days.
    private static let longestBackdating: Int64 = 2 * 24 * 60 * 60

    static func event(around text: String, from sender: Person, to reader: PublicKey) throws -> Event {
        let message = try sender.event(.chatMessage, tags: [["p", reader.hex]], content: text)
        let seal = try sender.event(Kind(13), content: try sender.encrypt(unsigned(message), to: reader))
        let nobody = try Person("")
        return try Event.signed(
            kind: .giftWrap,
            createdAt: Int64(Date().timeIntervalSince1970) - Int64.random(in: 0...longestBackdating),
            tags: [["p", reader.hex]],
            content: try nobody.encrypt(String(decoding: seal.json, as: UTF8.self), to: reader),
            by: nobody.keys
        )
    }

    /// The message without its signature, so that nobody can prove who wrote it (NIP-59, "rumor").
    private static func unsigned(_ event: Event) throws -> String {
        guard var object = try JSONSerialization.jsonObject(with: Data(event.json)) as? [String: Any] else {
            throw DemoError("an event is no JSON object")
        }
        object["sig"] = nil
        return String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
    }
}
