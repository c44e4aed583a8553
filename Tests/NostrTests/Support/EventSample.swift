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
