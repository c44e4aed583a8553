/// Apple's extensions of push certificates.
enum ApplePushExtension {
    /// A sequence of topics, each followed by a sequence of what it is for.
    static let topics = "1.2.840.113635.100.6.3.6"
    static let sandbox = "1.2.840.113635.100.6.3.1"
    static let production = "1.2.840.113635.100.6.3.2"
    /// NULL: that such an extension is there says it all.
    static let present: [UInt8] = [0x05, 0x00]

    /// In DER (X.690).
    static func encode(_ topics: [String]) -> [UInt8] {
        let members = topics.flatMap { topic in
            let purpose = APNsPushType.suffix(of: topic).dropFirst()
            return tagged(0x0c, Array(topic.utf8))
                + tagged(0x30, tagged(0x0c, Array((purpose.isEmpty ? "app" : purpose).utf8)))
        }
        return tagged(0x30, members)
    }

    /// The texts of the outer sequence; nil where it is none.
    static func decode(_ der: [UInt8]) -> [String]? {
        guard let (tag, content, rest) = element(der[...]), tag == 0x30, rest.isEmpty else { return nil }
        var topics: [String] = []
        var left = content
        while !left.isEmpty {
            guard let (tag, content, rest) = element(left) else { return nil }
            if tag == 0x0c {
                topics.append(String(decoding: content, as: UTF8.self))
            }
            left = rest
        }
        return topics
    }

    private static func tagged(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let low = UInt8(truncatingIfNeeded: content.count)
        let length: [UInt8] =
            switch content.count {
            case 0..<0x80: [low]
            case 0x80...0xff: [0x81, low]
            default: [0x82, UInt8(truncatingIfNeeded: content.count >> 8), low]
            }
        return [tag] + length + content
    }

    private static func element(
        _ bytes: ArraySlice<UInt8>
    ) -> (tag: UInt8, content: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)? {
        guard bytes.count >= 2, let tag = bytes.first else { return nil }
        let first = bytes[bytes.startIndex + 1]
        let lengthBytes = first < 0x80 ? 0 : Int(first & 0x7f)
        guard lengthBytes <= 2, bytes.count >= 2 + lengthBytes else { return nil }
        let body = bytes.dropFirst(2)
        let length = first < 0x80 ? Int(first) : body.prefix(lengthBytes).reduce(0) { $0 << 8 | Int($1) }
        let content = body.dropFirst(lengthBytes)
        guard content.count >= length else { return nil }
        return (tag, content.prefix(length), content.dropFirst(length))
    }
}
