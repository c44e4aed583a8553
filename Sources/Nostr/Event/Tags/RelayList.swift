/// A list of relays (NIP-65, kind 10002). URLs are as the author wrote them.
package struct RelayList: Hashable, Sendable {
    /// Where the author reads: what is addressed to him is to be published there.
    package var read: [String]
    /// Where the author publishes.
    package var write: [String]

    package init(read: [String] = [], write: [String] = []) {
        self.read = read
        self.write = write
    }

    /// Reads the `r` tags, in their order; a relay without a marker is for both, and one with another marker for neither.
    package init(_ event: Event) {
        self.init()
        for tag in event.tags where tag.count > 1 && tag[0] == "r" {
            let marker = tag.count > 2 ? tag[2] : ""
            if marker.isEmpty || marker == "read" { read.append(tag[1]) }
            if marker.isEmpty || marker == "write" { write.append(tag[1]) }
        }
    }
}
