import Cipher
import Nostr

/// Signed events of the kinds, sizes and spellings that relays carry, by estimate; always the same ones.
struct EventMix {
    /// JSON of all events, one behind the other.
    private(set) var bytes: [UInt8] = []
    private(set) var ranges: [Range<Int>] = []
    private var random = Random(state: 0x6361_7269_6c6c_6f6e)
    private let authors: [(secret: SecretKey, key: PublicKey)]

    init(count: Int) throws {
        var generator = Random(state: 1)
        authors = try (0..<64).map { _ in
            let secret = try SecretKey(bytes: (0..<32).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
            return (secret, PublicKey(Self.bytes32(secret.publicKeyBytes)))
        }
        for _ in 0..<count { append(spell(try sign(makeEvent()))) }
    }

    private mutating func append(_ json: [UInt8]) {
        ranges.append(bytes.count..<bytes.count + json.count)
        bytes.append(contentsOf: json)
    }

    private mutating func makeEvent() -> (kind: UInt16, tags: [[String]], content: String) {
        switch random.below(1000) {
        case ..<380: (1, (0..<random.below(5)).flatMap { _ in [eTag(), pTag()] } + [["t", "nostr"]], prose(40...900))
        case ..<640: (7, [eTag(), pTag(), ["k", "1"]], "+")
        case ..<740: (1059, [pTag()], base64(1200...3200))
        case ..<800: (6, [eTag(), pTag()], "{\"content\":\"\(prose(40...400))\"}")
        case ..<850: (9735, [pTag(), eTag(), ["bolt11", base64(300...400)], ["description", prose(300...500)]], "")
        case ..<900: (10002, (0..<6).map { ["r", "wss://relay\($0).example.com", "read"] }, "")
        case ..<940: (0, [], "{\"name\":\"x\",\"about\":\"\(prose(60...400))\"}")
        case ..<970: (4, [pTag()], base64(80...300) + "?iv=" + base64(24...24))
        case ..<985: (3, (0..<50 + random.below(400)).map { _ in pTag() }, "")
        default: (5, [eTag()], "")
        }
    }

    private mutating func sign(_ parts: (kind: UInt16, tags: [[String]], content: String)) throws -> Event {
        let author = authors[random.below(authors.count)]
        let nothing = Bytes32(words: (0, 0, 0, 0))
        var event = Event(
            id: EventID(nothing),
            pubkey: author.key,
            createdAt: Int64(1_700_000_000 + random.below(1 << 24)),
            kind: Kind(parts.kind),
            tags: parts.tags,
            content: parts.content,
            signature: Signature(first: nothing, second: nothing)
        )
        event.id = event.computedID
        let id = withUnsafeBytes(of: event.id.bytes.words) { Array($0) }
        let signature = try author.secret.sign(id, auxiliaryRandomness: Array(repeating: 0, count: 32))
        event.signature = Signature(
            first: Self.bytes32(Array(signature[..<32])),
            second: Self.bytes32(Array(signature[32...]))
        )
        return event
    }

    /// Most clients write canonical text; some put spaces between tokens, some escape more than they must.
    private mutating func spell(_ event: Event) -> [UInt8] {
        let json = event.json
        switch random.below(100) {
        case ..<15: return Self.spaced(json)
        case ..<19: return json.flatMap { $0 == UInt8(ascii: "/") ? Array("\\/".utf8) : [$0] }
        case ..<25:
            return event.jsonString.unicodeScalars.flatMap { scalar in
                scalar.value < 0x80
                    ? Array(String(scalar).utf8)
                    : String(scalar).utf16.flatMap { Array("\\u\(String($0, radix: 16).leftPadded)".utf8) }
            }
        default: return json
        }
    }

    private static func spaced(_ json: [UInt8]) -> [UInt8] {
        var isInString = false
        var isEscaped = false
        return json.flatMap { byte -> [UInt8] in
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString.toggle()
            }
            let isSeparator = byte == UInt8(ascii: ",") || byte == UInt8(ascii: ":")
            return isSeparator && !isInString ? [byte, 0x20] : [byte]
        }
    }

    private mutating func eTag() -> [String] { ["e", hex(), "wss://relay.example.com", "reply"] }
    private mutating func pTag() -> [String] { ["p", hex()] }

    private mutating func hex() -> String {
        (0..<4).map { _ in String(random.next(), radix: 16).leftPadded(to: 16) }.joined()
    }

    private mutating func base64(_ length: ClosedRange<Int>) -> String {
        let bytes = (0..<length.lowerBound + random.below(length.count)).map { _ in
            UInt8(truncatingIfNeeded: random.next())
        }
        return String(Base64.encode(bytes).prefix(bytes.count))
    }

    private mutating func prose(_ length: ClosedRange<Int>) -> String {
        let words = [
            "the ", "relay ", "https://example.com/picture.jpg ", "good morning ", "🔥 ", "日本語のノート ", "über ", "\n\n",
            "nostr:note1 ", "said \"yes\" ", "zap ", "and then ", "of ", "a ", "notification ", "в сети ",
        ]
        var text = ""
        let wanted = length.lowerBound + random.below(length.count)
        while text.utf8.count < wanted {
            // Other scripts and escapes in a sixth of the notes.
            let word = words[random.below(words.count)]
            text += word.utf8.allSatisfy { $0 < 0x80 } || wanted % 6 == 0 ? word : "plain "
        }
        return text
    }

    private static func bytes32(_ bytes: [UInt8]) -> Bytes32 {
        bytes.withUnsafeBytes { bytes in
            func word(_ index: Int) -> UInt64 { bytes.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self) }
            return Bytes32(words: (word(0), word(1), word(2), word(3)))
        }
    }
}

extension String {
    fileprivate var leftPadded: String { leftPadded(to: 4) }

    fileprivate func leftPadded(to length: Int) -> String {
        String(repeating: "0", count: max(0, length - utf8.count)) + self
    }
}
