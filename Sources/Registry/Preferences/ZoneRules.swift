/// What the clocks of a time zone show and when they change, as a file in TZif format says (RFC 9636). All times are in
/// seconds.
struct ZoneRules: Sendable {
    /// When clocks change, in ascending order, since 1970.
    private let changes: [Int64]
    /// How far clocks are ahead of UTC from each change on; before the first one, and from each one on.
    private let offsets: [Int]
    /// What holds from the last change on; nil: what held from it on.
    private let later: YearlyZoneRule?

    /// Nil unless `file` holds one of version 2 or later.
    init?(file: [UInt8]) {
        var reader = Reader(rest: file[...])
        // A first block has times of 32 bits, and is there for old programs.
        guard let first = reader.header(), reader.skip(first.length(timeSize: 4)),
            let header = reader.header(), header.version >= 2, header.types > 0
        else { return nil }
        var changes: [Int64] = []
        for _ in 0..<header.changes {
            guard let time = reader.integer(8) else { return nil }
            guard changes.last.map({ $0 < time }) ?? true else { return nil }
            changes.append(time)
        }
        guard let indices = reader.take(header.changes) else { return nil }
        var types: [Int] = []
        for _ in 0..<header.types {
            guard let ahead = reader.integer(4), abs(ahead) < 26 * 3600, reader.skip(2) else { return nil }
            types.append(Int(ahead))
        }
        guard indices.allSatisfy({ Int($0) < types.count }) else { return nil }
        let remains = header.designations + header.leapSeconds * 12 + header.standards + header.universals
        guard reader.skip(remains), let footer = reader.footer() else { return nil }
        self.changes = changes
        offsets = [types[0]] + indices.map { types[Int($0)] }
        if footer.isEmpty {
            later = nil
        } else {
            guard let rule = YearlyZoneRule(footer) else { return nil }
            later = rule
        }
    }

    /// How far clocks are ahead of UTC at `time`, since 1970.
    func secondsAhead(at time: Int64) -> Int {
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if changes[middle] <= time { low = middle + 1 } else { high = middle }
        }
        if low == changes.count, let later { return later.secondsAhead(at: time) }
        return offsets[low]
    }

    private struct Header {
        let version: UInt8
        let universals: Int
        let standards: Int
        let leapSeconds: Int
        let changes: Int
        let types: Int
        let designations: Int

        /// Of the block behind it, in bytes, with times of so many.
        func length(timeSize: Int) -> Int {
            changes * (timeSize + 1) + types * 6 + designations + leapSeconds * (timeSize + 4) + standards + universals
        }
    }

    private struct Reader {
        private static let magic = Array("TZif".utf8)
        private static let headerLength = 44
        /// Of anything. Real files have hundreds.
        private static let countLimit: Int64 = 100_000

        var rest: ArraySlice<UInt8>

        mutating func header() -> Header? {
            guard let bytes = take(Self.headerLength), Array(bytes.prefix(4)) == Self.magic else { return nil }
            var counts = Reader(rest: bytes.dropFirst(20))
            var numbers: [Int] = []
            for _ in 0..<6 {
                guard let number = counts.integer(4), (0...Self.countLimit).contains(number) else { return nil }
                numbers.append(Int(number))
            }
            // A digit, which is missing in the first version.
            let version = bytes[bytes.startIndex + 4]
            return Header(
                version: version >= 0x30 ? version - 0x30 : 1,
                universals: numbers[0],
                standards: numbers[1],
                leapSeconds: numbers[2],
                changes: numbers[3],
                types: numbers[4],
                designations: numbers[5]
            )
        }

        mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        mutating func skip(_ count: Int) -> Bool { take(count) != nil }

        /// A signed number, the highest byte first.
        mutating func integer(_ size: Int) -> Int64? {
            guard let bytes = take(size), let first = bytes.first else { return nil }
            let sign: Int64 = first >= 0x80 ? -1 : 0
            return bytes.reduce(sign) { $0 << 8 | Int64($1) }
        }

        /// The line behind everything.
        mutating func footer() -> String? {
            guard rest.popFirst() == 0x0A, let end = rest.firstIndex(of: 0x0A) else { return nil }
            return String(decoding: rest[..<end], as: UTF8.self)
        }
    }
}
