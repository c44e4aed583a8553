import Delivery

/// How far a relay was read such that everything before is kept: where the next reader goes on.
package struct RelayMark: Hashable, Sendable {
    /// The relay's URL.
    package var relay: String
    /// In seconds since 1970; nil: it is not read any more.
    package var moment: Int64?

    package init(relay: String, moment: Int64?) {
        self.relay = relay
        self.moment = moment
    }
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
