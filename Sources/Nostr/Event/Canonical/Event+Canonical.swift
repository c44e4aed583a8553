private import Cipher

extension Event {
    /// What is hashed for the id (NIP-01), with control characters that NIP-01 gives no escape as `\u00xx`.
    package var canonicalBytes: [UInt8] {
        canonicalBytes(as: .escaped)
    }

    /// The id this event ought to have (NIP-01).
    package var computedID: EventID {
        var digest = Bytes32(words: (0, 0, 0, 0))
        canonicalBytes.withUnsafeBytes { bytes in
            withUnsafeMutableBytes(of: &digest) { SHA256Hasher().hash(bytes, into: $0) }
        }
        return EventID(digest)
    }

    /// The event as JSON: canonical spelling, fields in the order of NIP-01.
    package var json: [UInt8] {
        var text = JSONText(spelling: .escaped)
        text.bytes.reserveCapacity(content.utf8.count + 512)
        text.append("{\"id\":")
        text.appendQuoted(id.bytes)
        text.append(",\"pubkey\":")
        text.appendQuoted(pubkey.bytes)
        text.append(",\"created_at\":")
        text.append(createdAt)
        text.append(",\"kind\":")
        text.append(kind.rawValue)
        text.append(",\"tags\":")
        text.append(tags)
        text.append(",\"content\":")
        text.appendQuoted(content)
        text.append(",\"sig\":\"")
        LowercaseHex.append(signature.first, to: &text.bytes)
        LowercaseHex.append(signature.second, to: &text.bytes)
        text.append("\"}")
        return text.bytes
    }

    /// ``json`` as a string.
    package var jsonString: String {
        String(decoding: json, as: UTF8.self)
    }

    func canonicalBytes(as spelling: JSONSpelling) -> [UInt8] {
        var text = JSONText(spelling: spelling)
        text.bytes.reserveCapacity(content.utf8.count + 256)
        text.appendCanonical(pubkey: pubkey, createdAt: createdAt, kind: kind, tags: tags, content: content)
        return text.bytes
    }
}
