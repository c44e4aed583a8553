/// What the encoder knows of one field name.
struct FieldLine {
    let policy: IndexingPolicy
    /// In the static table.
    let staticIndex: Int?
    /// Where the encoder keeps the name.
    let nameStart: Int
    let nameCount: Int
    /// Its last entry in the dynamic table, which may be gone from it.
    var latest = DynamicTable.none
    /// How many values it may still insert without having found one again.
    var credit = FieldLine.initialCredit
    /// The last value that was not inserted.
    var candidate: UnsafeMutableBufferPointer<UInt8>?

    init(policy: IndexingPolicy, staticIndex: Int?, nameStart: Int, nameCount: Int) {
        self.policy = policy
        self.staticIndex = staticIndex
        self.nameStart = nameStart
        self.nameCount = nameCount
    }

    mutating func wasFound() {
        credit = min(credit + 1, Self.creditLimit)
    }

    /// Whether a value that the table does not hold should enter it.
    mutating func isWorthInserting(_ value: UnsafeBufferPointer<UInt8>) -> Bool {
        switch policy {
        case .omitted, .secret, .unrepeated:
            return false
        case .credential where value.count < Self.guessable:
            return false
        case .repeated where credit > 0:
            credit -= 1
            return true
        case .credential, .repeated:
            if let candidate, UnsafeBufferPointer(candidate).equals(value) { return true }
            remember(value)
            return false
        }
    }

    private mutating func remember(_ value: UnsafeBufferPointer<UInt8>) {
        candidate?.deallocate()
        let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: value.count)
        _ = copy.update(fromContentsOf: value)
        candidate = copy
    }

    private static let initialCredit = 4
    private static let creditLimit = 16
    /// Shorter secrets could be guessed whole by watching what repeats them (RFC 7541, section 7.1).
    private static let guessable = 64
}

/// Whether a field's value goes into the table of its connection, by the field's name. Apple's rules for APNs come out
/// of it, with the newer of its two on `authorization`.
enum IndexingPolicy {
    /// Has no place in HTTP/2 (RFC 9113, section 8.2.2), or is said by a pseudo-header.
    case omitted
    /// Belongs to one device: it never enters a table, here or with anyone who passes it on (RFC 7541, section 7.1.3).
    case secret
    /// Many requests share it, but it is worth guessing: only what is long and comes twice running enters the table.
    case credential
    /// Differs from request to request: its name enters the table.
    case unrepeated
    /// Enters the table as long as that turns out to be of use.
    case repeated

    init(name: UnsafeBufferPointer<UInt8>) {
        self =
            switch String(decoding: name, as: UTF8.self) {
            case "connection", "host", "keep-alive", "proxy-connection", "te", "transfer-encoding", "upgrade": .omitted
            case ":path", "cookie", "x-gotify-key": .secret
            case "authorization", "proxy-authorization": .credential
            case "apns-id", "apns-expiration", "apns-collapse-id", "apns-request-id", "content-length", "crypto-key",
                "encryption", "topic":
                .unrepeated
            default: .repeated
            }
    }
}
