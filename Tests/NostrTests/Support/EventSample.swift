@testable import Nostr

/// Events as text, in the spellings that clients use.
enum EventSample {
    static let id = String(repeating: "0123456789abcdef", count: 4)
    static let pubkey = String(repeating: "fedcba9876543210", count: 4)
    static let signature = id + pubkey

    /// JSON of an event; each part is JSON itself.
    static func json(
        id: String = "\"\(id)\"",
        pubkey: String = "\"\(pubkey)\"",
        createdAt: String = "1700000000",
        kind: String = "1",
        tags: String = "[]",
        content: String = "\"hello\"",
        signature: String = "\"\(signature)\"",
        rest: String = ""
    ) -> [UInt8] {
        Array(
            """
            {"id":\(id),"pubkey":\(pubkey),"created_at":\(createdAt),"kind":\(kind),"tags":\(tags),\
            "content":\(content),"sig":\(signature)\(rest)}
            """.utf8
        )
    }

    /// A text that is different in every field that matters to a scanner.
    static let varied: [[UInt8]] = [
        json(),
        json(kind: "0", content: #""{\"name\":\"caf\u00e9 \\ud83d\",\"about\":\"日本語 ⚡️ 🔥\"}""#),
        json(kind: "7", tags: #"[["e","\#(id)","wss://relay.example"],["p","\#(pubkey)"]]"#, content: "\"❤️\""),
        json(kind: "65535", tags: #"[["p"],["p",""],["p","\#(pubkey.uppercased())"],["\u0070","\#(id)"]]"#),
        json(tags: #" [ [ "p" , "\#(id)" , "" ] , [ "t" , "\u006eostr" ] ] "#, content: #""line\nline\/\u0001\u001F""#),
        json(createdAt: "0", rest: #", "relays":[{"a":[1,-2.5e+3,true,false,null]},"x",{}],"seen":{"at":[[]]}"#),
        Array(" \r\n\t".utf8) + json(content: #""😀 \ud83d\ude00 \b\f\r\t\"\\ é ߿ ࠀ 𐀀 􏿿""#) + Array(" \n".utf8),
    ]
}

extension Bytes32 {
    /// Thirty-two times the same byte.
    init(repeating byte: UInt8) {
        let word = UInt64(byte) * 0x0101_0101_0101_0101
        self.init(words: (word, word, word, word))
    }
}

extension PublicKey {
    static let alice = PublicKey(Bytes32(repeating: 0xa1))
    static let bob = PublicKey(Bytes32(repeating: 0xb0))
    static let carol = PublicKey(Bytes32(repeating: 0xca))
}

extension EventID {
    static let first = EventID(Bytes32(repeating: 1))
    static let second = EventID(Bytes32(repeating: 2))
    static let third = EventID(Bytes32(repeating: 3))
}

extension Event {
    /// Returns an event with an invalid signature.
    static func sample(
        kind: Kind = .textNote,
        by pubkey: PublicKey = .carol,
        createdAt: Int64 = 1000,
        tags: [[String]] = [],
        content: String = ""
    ) -> Event {
        Event(
            id: .first,
            pubkey: pubkey,
            createdAt: createdAt,
            kind: kind,
            tags: tags,
            content: content,
            signature: Signature(first: Bytes32(repeating: 5), second: Bytes32(repeating: 6))
        )
    }
}

/// Passes a heap block of exactly this size, so that a sanitizer sees any access beyond it.
func withExactBuffer<Result>(_ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { buffer.deallocate() }
    buffer.copyBytes(from: bytes)
    return try body(UnsafeRawBufferPointer(buffer))
}
