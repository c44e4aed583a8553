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
