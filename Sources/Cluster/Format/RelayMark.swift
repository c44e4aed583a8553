import Delivery

/// A relay's read position: all its events up to then were read and stored. The next reader continues there.
struct RelayMark: Hashable, Sendable {
    /// The relay's URL.
    var relay: String
    /// In seconds since 1970; nil: the relay is no longer read.
    var moment: Int64?
}

extension BlobWriter {
    mutating func write(_ mark: RelayMark) {
        write(mark.relay)
        write(mark.moment) { $0.write(signed: $1) }
    }
}

extension BlobReader {
    mutating func relayMark() throws(BlobError) -> RelayMark {
        RelayMark(
            relay: try text(),
            moment: try optional { reader throws(BlobError) in try reader.signed() }
        )
    }
}
