import Cipher

/// An event as JSON for a filter. Its id is a hash of its content; it has no valid signature.
package struct TestEvent {
    package var id: String
    package var pubkey: String
    package var kind: Int
    package var tags: [[String]]
    package var content: String

    /// `author` is any word; the key is derived from it.
    package init(_ kind: Int = 1, _ content: String = "", tags: [[String]] = [], by author: String = "somebody") {
        self.kind = kind
        self.tags = tags
        self.content = content
        pubkey = Self.key(author)
        id = Self.key("\(kind) \(content) \(tags) \(author)")
    }

    /// Returns a key derived from the name.
    package static func key(_ name: String) -> String { Hex.encode(SHA256.hash(Array(name.utf8))) }

    package var json: String {
        let tags = tags.map { "[" + $0.map(Self.quoted).joined(separator: ",") + "]" }.joined(separator: ",")
        return #"{"id":"\#(id)","pubkey":"\#(pubkey)","created_at":1770000000,"kind":\#(kind),"tags":[\#(tags)],"#
            + #""content":\#(Self.quoted(content)),"sig":"\#(String(repeating: "0", count: 128))"}"#
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\n": quoted += "\\n"
            case "\t": quoted += "\\t"
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
