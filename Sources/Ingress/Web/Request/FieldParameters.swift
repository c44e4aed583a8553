/// The parameters of `Encryption` and `Crypto-Key` (draft-ietf-httpbis-encryption-encoding): sets of names and values.
/// Senders disagree about `;` and `,`, quotes and padding, so all variants are accepted.
struct FieldParameters: Equatable {
    /// In the order of the lines. Names are in lower case; the last value of a repeated name counts.
    let sets: [[String: String]]

    /// Reads the lines of one field, which form one value (RFC 9110 section 5.3).
    init(_ lines: [String]) {
        var reader = Reader()
        for line in lines {
            for byte in line.utf8 { reader.read(byte) }
            reader.endSet()
        }
        sets = reader.sets
    }

    /// The last set that has `name`, preferably one with the same `keyid` as `other`.
    func set(with name: String, of other: [String: String]? = nil) -> [String: String]? {
        let candidates = sets.filter { $0[name] != nil }
        guard let keyID = other?["keyid"] else { return candidates.last }
        return candidates.last { $0["keyid"] == keyID } ?? candidates.last
    }

    private struct Reader {
        var sets: [[String: String]] = []
        private var set: [String: String] = [:]
        private var name: [UInt8]?
        private var text: [UInt8] = []
        private var isQuoted = false
        private var isEscaped = false

        mutating func read(_ byte: UInt8) {
            if isEscaped {
                isEscaped = false
                text.append(byte)
                return
            }
            switch byte {
            case UInt8(ascii: "\\") where isQuoted: isEscaped = true
            case UInt8(ascii: "\""): isQuoted.toggle()
            case _ where isQuoted: text.append(byte)
            case UInt8(ascii: ";"): endParameter()
            case UInt8(ascii: ","): endSet()
            case UInt8(ascii: "=") where name == nil:
                name = text
                text = []
            case UInt8(ascii: " "), UInt8(ascii: "\t"): break
            default: text.append(byte)
            }
        }

        mutating func endSet() {
            endParameter()
            if !set.isEmpty { sets.append(set) }
            set = [:]
        }

        private mutating func endParameter() {
            if let name, !name.isEmpty {
                set[String(decoding: name, as: UTF8.self).lowercased()] = String(decoding: text, as: UTF8.self)
            }
            name = nil
            text = []
            isQuoted = false
            isEscaped = false
        }
    }
}
